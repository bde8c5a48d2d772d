// SPDX-License-Identifier: MIT
internal import CSmallWebTLS
internal import Glibc

/// A certificate with its key, self-signed or signed by another, made in the process and forgotten
/// with it.
public struct TestCertificate: Sendable, Hashable {
    public enum Key: Sendable, Hashable, CaseIterable {
        case ecdsaP256, rsa2048, ed25519

        /// Too short for today.
        case rsa1024
    }

    /// Hash algorithm of a signature.
    public enum Digest: Sendable, Hashable {
        case sha256, sha1, md5
    }

    /// The certificate.
    public let der: [UInt8]
    /// SHA-256 of ``der``.
    public let sha256: [UInt8]
    /// SHA-256 of the DER SubjectPublicKeyInfo, the value of a pin.
    public let spkiSHA256: [UInt8]
    /// PKCS #8 or the key's traditional form.
    public let keyDER: [UInt8]
    /// DER certificates of the authorities that a server sends along.
    public var chain: [[UInt8]] = []
    /// Certificate and key for other programs.
    public let certificatePEM: String
    public let keyPEM: String

    /// Makes a certificate. Traps if it cannot be made: a mistake of the test.
    ///
    /// - Parameters:
    ///   - names: DNS names of the subjectAltName.
    ///   - ips: IP literals of the subjectAltName.
    ///   - notBefore: Unix seconds; an hour ago by default.
    ///   - notAfter: Unix seconds; in a year by default.
    /// - old: Certificate that lends its key; a new key by default.
    /// - issuer: Certificate that signs it; itself by default.
    /// - isAuthority: True if it may sign others.
    ///   - padding: Bytes of a comment that make it that much larger.
    ///   - digest: Of its signature.
    ///   - serial: Its number, which may be below 0.
    public static func make(
        names: [String] = ["localhost"], ips: [String] = ["127.0.0.1"], notBefore: Int? = nil,
        notAfter: Int? = nil, key: Key = .ecdsaP256, commonName: String = "smallweb test",
        keyOf old: TestCertificate? = nil, issuer: TestCertificate? = nil,
        isAuthority: Bool = false, padding: Int = 0, digest: Digest = .sha256,
        serial: Int = .random(in: 1...Int.max)
    ) -> TestCertificate {
        guard let pair = old.map({ privateKey($0.keyDER) }) ?? generate(key),
            let certificate = X509_new()
        else {
            preconditionFailure("OpenSSL makes keys and certificates")
        }
        defer {
            EVP_PKEY_free(pair)
            X509_free(certificate)
        }
        X509_set_version(certificate, 2)
        ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial)
        let now = time(nil)
        ASN1_TIME_set(X509_getm_notBefore(certificate), notBefore ?? now - 3600)
        ASN1_TIME_set(X509_getm_notAfter(certificate), notAfter ?? now + 365 * 86_400)
        X509_set_pubkey(certificate, pair)
        let name = X509_get_subject_name(certificate)
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_FLAG | 0, commonName, -1, -1, 0)
        let signer = issuer.map { (certificate: x509($0.der), key: privateKey($0.keyDER)) }
        defer {
            X509_free(signer?.certificate)
            EVP_PKEY_free(signer?.key)
        }
        X509_set_issuer_name(
            certificate, signer.map { X509_get_subject_name($0.certificate) } ?? name)
        if isAuthority { add(NID_basic_constraints, "critical,CA:TRUE", to: certificate) }
        if padding > 0 {
            add(NID_netscape_comment, String(repeating: "x", count: padding), to: certificate)
        }
        if !(names + ips).isEmpty {
            addNames(names, ips, to: certificate)
        }
        // Ed25519 brings its own digest.
        let signerKey = signer?.key ?? pair
        let isEd25519 = EVP_PKEY_is_a(signerKey, "ED25519") == 1
        let algorithm =
            switch digest {
            case .sha256: EVP_sha256()
            case .sha1: EVP_sha1()
            case .md5: EVP_md5()
            }
        let signed = X509_sign(certificate, signerKey, isEd25519 ? nil : algorithm)
        precondition(signed > 0, "the certificate can be signed")

        let der = encoded { i2d_X509(certificate, $0) }
        let publicKey = encoded { i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), $0) }
        return TestCertificate(
            der: der, sha256: sha256(der), spkiSHA256: sha256(publicKey),
            keyDER: encoded { i2d_PrivateKey(pair, $0) },
            certificatePEM: text { PEM_write_bio_X509($0, certificate) },
            keyPEM: text { PEM_write_bio_PrivateKey($0, pair, nil, nil, 0, nil, nil) })
    }

    /// The same, sent with its authorities.
    public func with(chain: [TestCertificate]) -> TestCertificate {
        var copy = self
        copy.chain = chain.map(\.der)
        return copy
    }

    /// The key, which only the password opens.
    public func encryptedKeyPEM(password: String) -> String {
        let key = Self.privateKey(keyDER)
        defer { EVP_PKEY_free(key) }
        return Self.text {
            PEM_write_bio_PKCS8PrivateKey(
                $0, key, EVP_aes_256_cbc(), password, Int32(password.utf8.count), nil, nil)
        }
    }

    private static func add(_ extensionID: Int32, _ text: String, to certificate: OpaquePointer) {
        guard let value = X509V3_EXT_conf_nid(nil, nil, extensionID, text) else {
            preconditionFailure("not an extension: \(text.prefix(80))")
        }
        X509_add_ext(certificate, value, -1)
        X509_EXTENSION_free(value)
    }

    /// Byte by byte, so that a name may hold a NUL.
    private static func addNames(
        _ names: [String], _ ips: [String], to certificate: OpaquePointer
    ) {
        func tagged(_ tag: UInt8, _ bytes: [UInt8]) -> [UInt8] {
            precondition(bytes.count < 65_536, "a length of two bytes")
            let length: [UInt8] =
                bytes.count < 128
                ? [UInt8(bytes.count)]
                : [0x82, UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)]
            return [tag] + length + bytes
        }
        let addresses = ips.map { text -> [UInt8] in
            var bytes = [UInt8](repeating: 0, count: text.contains(":") ? 16 : 4)
            inet_pton(text.contains(":") ? AF_INET6 : AF_INET, text, &bytes)
            return bytes
        }
        let entries =
            names.flatMap { tagged(0x82, Array($0.utf8)) } + addresses.flatMap { tagged(0x87, $0) }
        let der = tagged(0x30, entries)
        guard let string = ASN1_OCTET_STRING_new() else { preconditionFailure("out of memory") }
        ASN1_OCTET_STRING_set(string, der, Int32(der.count))
        let value = X509_EXTENSION_create_by_NID(nil, NID_subject_alt_name, 0, string)
        X509_add_ext(certificate, value, -1)
        X509_EXTENSION_free(value)
        ASN1_OCTET_STRING_free(string)
    }

    private static func privateKey(_ der: [UInt8]) -> OpaquePointer? {
        der.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return d2i_AutoPrivateKey(nil, &start, bytes.count)
        }
    }

    private static func x509(_ der: [UInt8]) -> OpaquePointer? {
        der.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return d2i_X509(nil, &start, bytes.count)
        }
    }

    private static func generate(_ key: Key) -> OpaquePointer? {
        let name =
            switch key {
            case .ecdsaP256: "EC"
            case .rsa2048, .rsa1024: "RSA"
            case .ed25519: "ED25519"
            }
        guard let context = EVP_PKEY_CTX_new_from_name(nil, name, nil) else { return nil }
        defer { EVP_PKEY_CTX_free(context) }
        EVP_PKEY_keygen_init(context)
        switch key {
        case .ecdsaP256: EVP_PKEY_CTX_set_group_name(context, "P-256")
        case .rsa2048: EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2048)
        case .rsa1024: EVP_PKEY_CTX_set_rsa_keygen_bits(context, 1024)
        case .ed25519: break
        }
        var pair: OpaquePointer?
        EVP_PKEY_generate(context, &pair)
        return pair
    }

    private static func encoded(
        _ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32
    ) -> [UInt8] {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = write(&bytes)
        defer { CRYPTO_free(bytes, nil, 0) }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(max(0, count))))
    }

    private static func text(_ write: (OpaquePointer?) -> Int32) -> String {
        let bio = BIO_new(BIO_s_mem())
        defer { BIO_free(bio) }
        _ = write(bio)
        let bytes = [UInt8](unsafeUninitializedCapacity: 16_384) { buffer, count in
            count = Int(max(0, BIO_read(bio, buffer.baseAddress, Int32(buffer.count))))
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil)
        return digest
    }
}
