// SPDX-License-Identifier: MIT
internal import CSmallWebTLS

/// The system's libraries that fetches use. Asking for the versions loads them.
package enum SystemLibraries {
    /// Names and versions; `nil` for a library that is not installed.
    package static func versions() -> [(name: String, version: String?)] {
        let openSSL = (try? TLSLibrary.shared())?.functions.OpenSSL_version(OPENSSL_VERSION_STRING)
        return [
            ("libcurl", (try? CurlLibrary.shared())?.version),
            ("OpenSSL", openSSL.map { String(cString: $0) }),
        ]
    }
}
