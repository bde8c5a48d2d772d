// SPDX-License-Identifier: MIT
internal import CSmallWebTLS
public import SmallWebCore

/// A client certificate and its key, ready to be shown to a server that asks for one.
//
// @unchecked: the objects do not change after `init`; OpenSSL counts references to them.
public final class ClientIdentity: @unchecked Sendable {
    /// Facts of its certificate.
    public let facts: Connection.Certificate
    private let certificate: OpaquePointer
    /// Intermediate certificates up to an authority that the server knows. Owned, like the rest.
    private let chain: [OpaquePointer]
    private let key: OpaquePointer
    private let library: TLSLibrary

    /// Longest certificate chain accepted.
    private static let chainMax = 16

    /// Kinds of a new identity's key.
    @nonexhaustive
    public enum KeyType: String, Sendable, CaseIterable {
        /// ECDSA with P-256.
        case ecdsa
        /// Ed25519.
        case ed25519
    }

    /// - Parameters:
    ///   - certificate: PEM; the first certificate in it is the identity's, the others are its
    ///     chain.
    ///   - key: PEM, PKCS #8 or older; may be the same text.
    ///   - password: For an encrypted key.
    ///   - now: Unix seconds.
    /// - Throws: `identity-unusable` if either cannot be read, if they do not belong together, or
    ///   if the certificate has expired; `not-built-in` when libssl is not installed.
    public init(
        certificate: [UInt8], key: [UInt8], password: [UInt8]? = nil, now: Int
    ) throws(FetchError) {
        let library = try TLSContext.shared().library
        let functions = library.functions
        functions.ERR_clear_error()
        defer { functions.ERR_clear_error() }
        var certificates: [OpaquePointer] = []
        _ = Self.reading(certificate, library) { bio in
            while certificates.count <= Self.chainMax,
                let next = functions.PEM_read_bio_X509(bio, nil, nil, nil)
            { certificates.append(next) }
            return nil
        }
        guard let x509 = certificates.first else {
            throw Self.unusable("there is no certificate in it that can be read")
        }
        if Self.isEncrypted(key) { Self.addCiphersOfKeys(functions) }
        // An empty password keeps OpenSSL from asking at the terminal.
        var secret = (password ?? []) + [0]
        let pair = Self.reading(key, library) { bio in
            functions.PEM_read_bio_PrivateKey(bio, nil, nil, &secret)
        }
        guard let pair else {
            for certificate in certificates { functions.X509_free(certificate) }
            throw Self.unusable(
                Self.isEncrypted(key)
                    ? "the password does not open its key"
                    : "there is no key in it that can be read; name the file of the key as well")
        }
        // A class that throws before all properties are set runs no deinit.
        do throws(FetchError) {
            facts = try CertificateReader(library: library, certificate: x509).facts(host: "")
        } catch {
            for certificate in certificates { functions.X509_free(certificate) }
            functions.EVP_PKEY_free(pair)
            throw error
        }
        self.library = library
        self.certificate = x509
        chain = Array(certificates.dropFirst())
        self.key = pair
        guard functions.X509_check_private_key(x509, pair) == 1 else {
            throw Self.unusable("the key does not belong to the certificate")
        }
        if let end = facts.notAfter, end < now {
            throw Self.unusable("its certificate has expired")
        }
    }

    deinit {
        for certificate in chain + [certificate] { library.functions.X509_free(certificate) }
        library.functions.EVP_PKEY_free(key)
    }

    func use(on ssl: OpaquePointer) {
        _ = library.functions.SSL_use_certificate(ssl, certificate)
        for certificate in chain {
            // The macro SSL_add1_chain_cert.
            _ = library.functions.SSL_ctrl(
                ssl, SSL_CTRL_CHAIN_CERT, 1, UnsafeMutableRawPointer(certificate))
        }
        _ = library.functions.SSL_use_PrivateKey(ssl, key)
    }

    /// Certificates and key as one PEM text, the key not encrypted: for libcurl's memory alone.
    func pem() throws(FetchError) -> [UInt8] {
        let functions = library.functions
        return try Self.writing(library) { bio in
            functions.PEM_write_bio_X509(bio, certificate) == 1
                && chain.allSatisfy { functions.PEM_write_bio_X509(bio, $0) == 1 }
                && functions.PEM_write_bio_PKCS8PrivateKey(bio, key, nil, nil, 0, nil, nil) == 1
        }
    }

    /// Facts of the first certificate in `pem`. The key is not needed.
    ///
    /// - Throws: `identity-unusable` if there is no readable certificate; `not-built-in` when
    ///   libssl is not installed.
    public static func certificateFacts(_ pem: [UInt8]) throws(FetchError) -> Connection.Certificate
    {
        let library = try TLSContext.shared().library
        defer { library.functions.ERR_clear_error() }
        let certificate = reading(pem, library) {
            library.functions.PEM_read_bio_X509($0, nil, nil, nil)
        }
        guard let certificate else {
            throw unusable("there is no certificate in it that can be read")
        }
        defer { library.functions.X509_free(certificate) }
        return try CertificateReader(library: library, certificate: certificate).facts(host: "")
    }

    /// True if the key in `pem` is encrypted, so that a password is needed.
    public static func isEncrypted(_ pem: [UInt8]) -> Bool {
        String(decoding: pem, as: UTF8.self).contains(text: "ENCRYPTED")
    }

    /// Adds the ciphers of encrypted keys to OpenSSL's table of names, which is empty at the start
    /// of the release binary. Without the legacy provider OpenSSL has no others.
    private static func addCiphersOfKeys(_ functions: swtls_functions) {
        let ciphers: [@convention(c) () -> OpaquePointer?] = [
            functions.EVP_des_ede3_cbc,
            functions.EVP_aes_128_cbc, functions.EVP_aes_192_cbc, functions.EVP_aes_256_cbc,
            functions.EVP_camellia_128_cbc, functions.EVP_camellia_192_cbc,
            functions.EVP_camellia_256_cbc,
            functions.EVP_aria_128_cbc, functions.EVP_aria_192_cbc, functions.EVP_aria_256_cbc,
        ]
        for cipher in ciphers { _ = functions.EVP_add_cipher(cipher()) }
    }

    /// The last second of the year 9999, beyond which X.509 has no dates.
    private static let latestEnd = 253_402_300_799

    /// A new self-signed certificate and its key, as PEM.
    ///
    /// - Parameters:
    ///   - name: Its common name, for people.
    ///   - type: The kind of its key.
    ///   - now: The start of its validity, in Unix seconds.
    ///   - time: The length of its validity, in whole seconds. By default, and at most, it ends
    ///     with the year 9999: the accounts that it opens are lost with it.
    /// - Throws: `usage` for a validity of less than a second; `not-built-in` when libssl is not
    ///   installed; `internal` when OpenSSL fails.
    public static func make(
        name: String, type: KeyType = .ecdsa, now: Int, validFor time: Duration? = nil
    ) throws(FetchError) -> [UInt8] {
        let seconds = Int(clamping: time?.components.seconds ?? .max)
        guard seconds > 0 else {
            throw usageError("a certificate that is valid for less than a second is of no use")
        }
        let (sum, isBeyond) = now.addingReportingOverflow(seconds)
        let end = isBeyond ? latestEnd : min(sum, latestEnd)
        let library = try TLSContext.shared().library
        let functions = library.functions
        let algorithm = type == .ecdsa ? "EC" : "ED25519"
        guard let context = functions.EVP_PKEY_CTX_new_from_name(nil, algorithm, nil),
            let certificate = functions.X509_new()
        else { throw FetchError(.internal, .input, "OpenSSL could not make a key") }
        var pair: OpaquePointer?
        defer {
            functions.EVP_PKEY_CTX_free(context)
            functions.X509_free(certificate)
            functions.EVP_PKEY_free(pair)
        }
        _ = functions.EVP_PKEY_keygen_init(context)
        if type == .ecdsa { _ = functions.EVP_PKEY_CTX_set_group_name(context, "P-256") }
        _ = functions.EVP_PKEY_generate(context, &pair)
        _ = functions.X509_set_version(certificate, 2)
        _ = functions.ASN1_INTEGER_set_uint64(
            functions.X509_get_serialNumber(certificate), UInt64.random(in: 1...UInt64(Int64.max)))
        _ = functions.ASN1_TIME_set(functions.X509_getm_notBefore(certificate), now)
        _ = functions.ASN1_TIME_set(functions.X509_getm_notAfter(certificate), end)
        _ = functions.X509_set_pubkey(certificate, pair)
        let subject = functions.X509_get_subject_name(certificate)
        _ = functions.X509_NAME_add_entry_by_txt(
            subject, "CN", Int32(MBSTRING_FLAG), Array(name.utf8), Int32(name.utf8.count), -1, 0)
        _ = functions.X509_set_issuer_name(certificate, subject)
        let digest = type == .ecdsa ? functions.EVP_sha256() : nil
        guard functions.X509_sign(certificate, pair, digest) > 0 else {
            throw FetchError(.internal, .input, "OpenSSL could not sign a certificate")
        }
        return try writing(library) { bio in
            functions.PEM_write_bio_X509(bio, certificate) == 1
                && functions.PEM_write_bio_PKCS8PrivateKey(bio, pair, nil, nil, 0, nil, nil) == 1
        }
    }

    private static func writing(
        _ library: TLSLibrary, _ write: (OpaquePointer) -> Bool
    ) throws(FetchError) -> [UInt8] {
        guard let bio = library.functions.BIO_new(library.functions.BIO_s_mem()) else {
            throw FetchError(.internal, .input, "OpenSSL could not make a BIO")
        }
        defer { _ = library.functions.BIO_free(bio) }
        guard write(bio) else {
            throw FetchError(.internal, .input, "OpenSSL could not write a certificate")
        }
        var text: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = Int(library.functions.BIO_read(bio, &piece, Int32(piece.count)))
            guard count > 0 else { return text }
            text += piece[..<count]
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
            .identityUnusable, .tls, "the identity cannot be used: \(why)", remedy: .makeIdentity)
    }
}

extension ClientIdentity: TerminalText.Line {
    /// The name in its certificate.
    public var description: String {
        TerminalText.escapeLine("client certificate of \(facts.subject)")
    }
}
