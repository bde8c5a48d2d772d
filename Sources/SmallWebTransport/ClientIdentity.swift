// SPDX-License-Identifier: MIT
internal import CSmallWebTLS
internal import Glibc
public import SmallWebCore

/// A client certificate and its key, ready to be shown to a server that asks for one.
//
// @unchecked: nobody changes the two objects after `init`; OpenSSL counts references to them.
public final class ClientIdentity: @unchecked Sendable {
    public let facts: CertificateFacts
    let certificate: OpaquePointer
    let key: OpaquePointer
    private let library: TLSLibrary

    /// - Parameters:
    ///   - certificate: PEM; the first certificate in it counts.
    ///   - key: PEM, PKCS #8 or older; may be the same text.
    ///   - password: For an encrypted key.
    ///   - now: Unix seconds.
    /// - Throws: `identity-unusable` for what cannot be read, does not belong together or has
    ///   expired; `not-built-in` when libssl is not installed.
    public init(
        certificate: [UInt8], key: [UInt8], password: [UInt8]? = nil, now: Int
    ) throws(FetchError) {
        let library = try TLSContext.shared().library
        let functions = library.functions
        functions.ERR_clear_error()
        defer { functions.ERR_clear_error() }
        let x509 = Self.reading(certificate, library) {
            functions.PEM_read_bio_X509($0, nil, nil, nil)
        }
        guard let x509 else {
            throw Self.unusable("there is no certificate in it that can be read")
        }
        // An empty password, so that OpenSSL never asks at the terminal.
        var secret = (password ?? []) + [0]
        let pair = Self.reading(key, library) { bio in
            functions.PEM_read_bio_PrivateKey(bio, nil, nil, &secret)
        }
        guard let pair else {
            functions.X509_free(x509)
            throw Self.unusable(
                Self.isEncrypted(key)
                    ? "the password does not open its key" : "its key cannot be read")
        }
        self.library = library
        self.certificate = x509
        self.key = pair
        facts = try CertificateReader(library: library, certificate: x509).facts(host: "")
        guard functions.X509_check_private_key(x509, pair) == 1 else {
            throw Self.unusable("the key does not belong to the certificate")
        }
        if let end = facts.notAfter, end < now {
            throw Self.unusable("its certificate has expired")
        }
    }

    deinit {
        library.functions.X509_free(certificate)
        library.functions.EVP_PKEY_free(key)
    }

    /// Whether a password is needed.
    public static func isEncrypted(_ pem: [UInt8]) -> Bool {
        String(decoding: pem, as: UTF8.self).contains("ENCRYPTED")
    }

    /// A new self-signed certificate and its key, as PEM. The key is ECDSA P-256.
    ///
    /// It does not expire before the year 9999: with it would go the account that it opens.
    public static func make(name: String, now: Int) throws(FetchError) -> [UInt8] {
        let library = try TLSContext.shared().library
        let functions = library.functions
        guard let context = functions.EVP_PKEY_CTX_new_from_name(nil, "EC", nil),
            let certificate = functions.X509_new()
        else { throw FetchError(.internal, .input, "OpenSSL could not make a key") }
        var pair: OpaquePointer?
        defer {
            functions.EVP_PKEY_CTX_free(context)
            functions.X509_free(certificate)
            functions.EVP_PKEY_free(pair)
        }
        _ = functions.EVP_PKEY_keygen_init(context)
        _ = functions.EVP_PKEY_CTX_set_group_name(context, "P-256")
        _ = functions.EVP_PKEY_generate(context, &pair)
        _ = functions.X509_set_version(certificate, 2)
        _ = functions.ASN1_INTEGER_set_uint64(
            functions.X509_get_serialNumber(certificate), UInt64.random(in: 1...UInt64(Int64.max)))
        _ = functions.ASN1_TIME_set(functions.X509_getm_notBefore(certificate), now)
        _ = functions.ASN1_TIME_set(functions.X509_getm_notAfter(certificate), 253_402_300_799)
        _ = functions.X509_set_pubkey(certificate, pair)
        let subject = functions.X509_get_subject_name(certificate)
        _ = functions.X509_NAME_add_entry_by_txt(
            subject, "CN", Int32(MBSTRING_FLAG), Array(name.utf8), Int32(name.utf8.count), -1, 0)
        _ = functions.X509_set_issuer_name(certificate, subject)
        guard functions.X509_sign(certificate, pair, functions.EVP_sha256()) > 0,
            let bio = functions.BIO_new(functions.BIO_s_mem())
        else { throw FetchError(.internal, .input, "OpenSSL could not sign a certificate") }
        defer { _ = functions.BIO_free(bio) }
        _ = functions.PEM_write_bio_X509(bio, certificate)
        _ = functions.PEM_write_bio_PKCS8PrivateKey(bio, pair, nil, nil, 0, nil, nil)
        return [UInt8](unsafeUninitializedCapacity: 16_384) { buffer, count in
            count = Int(max(0, functions.BIO_read(bio, buffer.baseAddress, Int32(buffer.count))))
        }
    }

    private static func reading(
        _ pem: [UInt8], _ library: TLSLibrary, _ read: (OpaquePointer) -> OpaquePointer?
    ) -> OpaquePointer? {
        pem.withUnsafeBytes { bytes in
            guard
                let bio = library.functions.BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count))
            else { return nil }
            defer { _ = library.functions.BIO_free(bio) }
            return read(bio)
        }
    }

    private static func unusable(_ why: String) -> FetchError {
        FetchError(
            .identityUnusable, .tls, "the identity cannot be used: \(why)",
            hint: "'smallweb identity new' makes one")
    }
}
