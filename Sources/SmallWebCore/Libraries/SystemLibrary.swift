// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc

/// Libraries of the system, opened by their names when they are first needed, and never closed.
package enum SystemLibrary {
    /// Opens the first of some libraries that can be used.
    ///
    /// - Parameters:
    ///   - names: Each time libraries that belong together, the wanted one last.
    ///   - mode: For dlopen(3).
    ///   - need: Begins the message: what needs which library.
    ///   - packages: Their names in Debian.
    ///   - load: Looks functions up. Returns an error, valid until the next dl call, or `nil`.
    /// - Throws: `not-built-in`, with the reason of the first one that was found, or else of the
    ///   first name.
    @discardableResult
    package static func open(
        _ names: [[StaticString]], _ mode: Int32, for need: String, in packages: String,
        _ phase: FetchError.Phase = .input,
        load: (UnsafeMutableRawPointer) -> UnsafePointer<CChar>?
    ) throws(FetchError) -> UnsafeMutableRawPointer {
        var (missing, broken): (String?, String?)
        for group in names {
            var (opened, failed): (UnsafeMutableRawPointer?, StaticString?)
            for name in group where failed == nil {
                opened = name.withUTF8Buffer {
                    $0.withMemoryRebound(to: CChar.self) { dlopen($0.baseAddress, mode) }
                }
                if opened == nil { failed = name }
            }
            let problem = opened.map(load) ?? UnsafePointer(dlerror())
            if let opened, problem == nil { return opened }
            let words = problem.map { String(cString: $0) } ?? ""
            // A file that was found is named by its path, and what it needs by its own name.
            if let failed, words.hasPrefix("\(failed):") {
                missing = missing ?? words
            } else {
                broken = broken ?? words
            }
        }
        throw FetchError(
            .notBuiltIn, phase, "\(need): \(broken ?? missing ?? "")",
            hint: "install the package \(packages)")
    }

    /// Opens libssl or libcrypto, of OpenSSL 3 or else 4; first of that which the process has
    /// already, by libcurl or by a program that uses ours.
    ///
    /// - Parameter isTLS: True for libssl.
    package static func openSSL(
        isTLS: Bool, for need: String, _ phase: FetchError.Phase = .input,
        load: (UnsafeMutableRawPointer) -> UnsafePointer<CChar>?
    ) throws(FetchError) {
        // libcrypto first, so that libssl gets the one of its own number.
        let names: [[StaticString]] =
            isTLS
            ? [["libcrypto.so.3", "libssl.so.3"], ["libcrypto.so.4", "libssl.so.4"]]
            : [["libcrypto.so.3"], ["libcrypto.so.4"]]
        try open(
            swposix_openssl_number() == 4 ? names.reversed() : names,
            (isTLS ? RTLD_NOW : RTLD_LAZY) | swposix_library_scope(0),
            for: "\(need) needs OpenSSL 3 or 4", in: "libssl3 or libssl4", phase, load: load)
    }
}
