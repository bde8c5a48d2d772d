// SPDX-License-Identifier: MIT
internal import CSmallWebTLS
package import SmallWebCore

package struct RecordedHandshake: Sendable {
    /// The certificates as sent, DER, the server's own first.
    package var chain: [[UInt8]]
    package var version = ""
    package var cipher = ""
    package var serverName: String?
    package var applicationProtocol: String?
    package var isResumed = false
    package var chainLength: Int?
    /// SHA-256 of the client certificate.
    package var shownIdentity: [UInt8]?

    package init(chain: [[UInt8]]) { self.chain = chain }

    /// The facts of such a handshake, with today's verdict of the authorities.
    ///
    /// - Parameter host: The name or IP literal that the certificate should be for.
    /// - Throws: `tls` for bytes that are not a certificate; `not-built-in` without libssl.
    package func facts(
        host: String, asksAuthorities: Bool
    ) throws(FetchError) -> Connection.TLS {
        let library = try TLSContext.shared().library
        let functions = library.functions
        let certificates = chain.compactMap { der in
            der.withUnsafeBufferPointer { bytes in
                var start = bytes.baseAddress
                return functions.d2i_X509(nil, &start, bytes.count)
            }
        }
        defer {
            for certificate in certificates { functions.X509_free(certificate) }
            functions.ERR_clear_error()
        }
        guard let own = certificates.first, certificates.count == chain.count else {
            throw FetchError(.tls, .tls, "the recorded certificate cannot be read")
        }
        var authority = Connection.Authority.unchecked
        if asksAuthorities {
            let stack = functions.OPENSSL_sk_new_null()
            defer { functions.OPENSSL_sk_free(stack) }
            for certificate in certificates {
                _ = functions.OPENSSL_sk_push(stack, UnsafeRawPointer(certificate))
            }
            authority = try Authorities.shared().judge(own, stack)
        }
        let facts = Connection.TLS(
            version: version, cipher: cipher, serverName: serverName,
            certificate: try CertificateReader(library: library, certificate: own)
                .facts(host: host),
            authority: authority, isResumed: isResumed)
        facts.applicationProtocol = applicationProtocol
        facts.chainLength = chainLength ?? chain.count
        facts.shownIdentity = shownIdentity
        return facts
    }
}
