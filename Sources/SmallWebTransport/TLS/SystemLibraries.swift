// SPDX-License-Identifier: MIT
internal import CSmallWebTLS

/// The libraries of the system that fetches use, opened to look at them.
package enum SystemLibraries {
    /// Each with its version; `nil` for one that is not installed.
    package static func versions() -> [(name: String, version: String?)] {
        let openSSL = (try? TLSLibrary.shared())?.functions.OpenSSL_version(OPENSSL_VERSION_STRING)
        return [
            ("libcurl", (try? CurlLibrary.shared())?.version),
            ("OpenSSL", openSSL.map { String(cString: $0) }),
        ]
    }
}
