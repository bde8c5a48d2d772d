// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
package import SmallWebCore

extension URI {
    /// A copy with A-labels for an international host, as DNS, SNI, certificates, the trust store
    /// and request lines need it.
    ///
    /// - Throws: `bad-url` when the name is not allowed, `not-built-in` without libidn2.
    package func withASCIIHost() throws(FetchError) -> URI {
        guard let host, !InternationalHostName.isASCII(host) else { return self }
        // The mapping turns look-alikes such as U+FF0F into delimiters: checked again.
        return try replacingHost(InternationalHostName.toASCII(host))
    }

    /// ``display(_:)``, with the A-labels of an international host, whose letters may look like
    /// another name's.
    package static func shown(_ text: String) -> String {
        let shown = display(text)
        guard !InternationalHostName.isASCII(text), let uri = try? URI(parsing: text),
            let host = uri.host, let ascii = try? uri.withASCIIHost().host, ascii != host
        else { return shown }
        return "\(shown) (\(ascii))"
    }
}

/// Converts international host names to A-labels (UTS #46, non-transitional) with libidn2, which is
/// opened on first use.
package enum InternationalHostName {
    /// `IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL` of idn2.h.
    private static let flags: Int32 = 1 | 8

    fileprivate static func isASCII(_ host: String) -> Bool { host.utf8.allSatisfy { $0 < 0x80 } }

    /// - Throws: `bad-url` when the name is not allowed, `not-built-in` without libidn2.
    package static func toASCII(_ host: String) throws(FetchError) -> String {
        if isASCII(host) { return host }
        let convert = try loaded.get()
        var output: UnsafeMutablePointer<CChar>?
        let status = convert(host, &output, flags)
        defer { free(output) }
        guard status == 0, let output else {
            throw FetchError(
                .badURL, .input, "\"\(host)\" is not a valid international host name",
                hint: "check the spelling, or write the host as xn--…")
        }
        return String(cString: output).lowercased()
    }

    private static let loaded = Result { () throws(FetchError) -> swposix_idn2_to_ascii_8z in
        guard let library = dlopen("libidn2.so.0", RTLD_NOW | RTLD_LOCAL),
            let symbol = dlsym(library, "idn2_to_ascii_8z")
        else {
            throw FetchError(
                .notBuiltIn, .input, "an international host name needs libidn2",
                hint: "install the package libidn2-0, or write the host as xn--…")
        }
        return unsafeBitCast(symbol, to: swposix_idn2_to_ascii_8z.self)
    }
}
