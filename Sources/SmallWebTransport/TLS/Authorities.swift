// SPDX-License-Identifier: MIT
internal import CSmallWebTLS
internal import Glibc
internal import SmallWebCore

/// The system's certificate authorities, or those named by SSL_CERT_FILE and SSL_CERT_DIR, loaded
/// at the first use.
//
// @unchecked: the store does not change after `init`; OpenSSL counts references and looks things up
// in it under its own lock.
final class Authorities: @unchecked Sendable {
    private let library: TLSLibrary
    private let store: OpaquePointer

    private static let read = Result { () throws(FetchError) in try Authorities() }

    /// - Throws: `not-built-in` when libssl is not installed.
    static func shared() throws(FetchError) -> Authorities { try read.get() }

    private init() throws(FetchError) {
        library = try TLSContext.shared().library
        guard let store = library.functions.X509_STORE_new() else {
            throw FetchError(.internal, .tls, "OpenSSL could not make a certificate store")
        }
        // If the file is missing or broken, the store is empty: no certificate is vouched for.
        _ = library.functions.X509_STORE_set_default_paths(store)
        library.functions.ERR_clear_error()
        self.store = store
    }

    /// Verifies the certificate of a finished handshake against the authorities, dates included,
    /// the host name not.
    func judge(_ ssl: OpaquePointer) -> Connection.Authority {
        let functions = library.functions
        guard let certificate = functions.SSL_get1_peer_certificate(ssl) else {
            return .refused("OpenSSL could not check the certificate")
        }
        defer { functions.X509_free(certificate) }
        return judge(certificate, functions.SSL_get_peer_cert_chain(ssl))
    }

    /// - Parameter chain: The stack of certificates that were sent with it.
    func judge(_ certificate: OpaquePointer, _ chain: OpaquePointer?) -> Connection.Authority {
        let functions = library.functions
        guard let context = functions.X509_STORE_CTX_new() else {
            return .refused("OpenSSL could not check the certificate")
        }
        defer {
            functions.X509_STORE_CTX_free(context)
            functions.ERR_clear_error()
        }
        guard functions.X509_STORE_CTX_init(context, store, certificate, chain) == 1,
            functions.X509_STORE_CTX_set_default(context, "ssl_server") == 1
        else { return .refused("OpenSSL could not check the certificate") }
        if functions.X509_verify_cert(context) == 1 { return .vouched }
        let error = Int(functions.X509_STORE_CTX_get_error(context))
        let reason = functions.X509_verify_cert_error_string(error)
        return .refused(reason.map { String(cString: $0) } ?? "for reason \(error)")
    }
}
