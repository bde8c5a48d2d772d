// SPDX-License-Identifier: MIT
internal import CSmallWebTLS
internal import Glibc

/// A self-signed certificate with its key, made in the process and forgotten with it.
public struct TestCertificate: Sendable, Hashable {
    public enum Key: Sendable, Hashable, CaseIterable {
        case ecdsaP256, rsa2048, ed25519
    }

    /// The certificate.
    public let der: [UInt8]
    /// SHA-256 of ``der``.
    public let sha256: [UInt8]
    /// SHA-256 of the DER SubjectPublicKeyInfo: what is pinned.
    public let spkiSHA256: [UInt8]
    /// PKCS #8 or the key's traditional form.
    public let keyDER: [UInt8]
    /// Certificate and key for other programs.
    public let certificatePEM: String
    public let keyPEM: String

    /// Makes one. What the process cannot make is a mistake of the test: it traps.
    ///
    /// - Parameters:
    ///   - names: DNS names of the subjectAltName.
    ///   - ips: IP literals of the subjectAltName.
    ///   - notBefore: Unix seconds; an hour ago by default.
    ///   - notAfter: Unix seconds; in a year by default.
    public static func make(
        names: [String] = ["localhost"], ips: [String] = ["127.0.0.1"], notBefore: Int? = nil,
        notAfter: Int? = nil, key: Key = .ecdsaP256, commonName: String = "smallweb test"
    ) -> TestCertificate {
        guard let pair = generate(key), let certificate = X509_new() else {
            preconditionFailure("OpenSSL makes keys and certificates")
        }
        defer {
            EVP_PKEY_free(pair)
            X509_free(certificate)
        }
        X509_set_version(certificate, 2)
        ASN1_INTEGER_set(X509_get_serialNumber(certificate), Int.random(in: 1...Int.max))
        let now = time(nil)
        ASN1_TIME_set(X509_getm_notBefore(certificate), notBefore ?? now - 3600)
        ASN1_TIME_set(X509_getm_notAfter(certificate), notAfter ?? now + 365 * 86_400)
        X509_set_pubkey(certificate, pair)
        let name = X509_get_subject_name(certificate)
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_FLAG | 0, commonName, -1, -1, 0)
        X509_set_issuer_name(certificate, name)
        let alternatives = (names.map { "DNS:\($0)" } + ips.map { "IP:\($0)" })
        if !alternatives.isEmpty {
            let text = alternatives.joined(separator: ",")
            guard let names = X509V3_EXT_conf_nid(nil, nil, NID_subject_alt_name, text) else {
                preconditionFailure("not a subjectAltName: \(text)")
            }
            X509_add_ext(certificate, names, -1)
            X509_EXTENSION_free(names)
        }
        // Ed25519 brings its own digest.
        let signed = X509_sign(certificate, pair, key == .ed25519 ? nil : EVP_sha256())
        precondition(signed > 0, "the certificate can be signed")

        let der = encoded { i2d_X509(certificate, $0) }
        let publicKey = encoded { i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), $0) }
        return TestCertificate(
            der: der, sha256: digest(der), spkiSHA256: digest(publicKey),
            keyDER: encoded { i2d_PrivateKey(pair, $0) },
            certificatePEM: text { PEM_write_bio_X509($0, certificate) },
            keyPEM: text { PEM_write_bio_PrivateKey($0, pair, nil, nil, 0, nil, nil) })
    }

    private static func generate(_ key: Key) -> OpaquePointer? {
        let name =
            switch key {
            case .ecdsaP256: "EC"
            case .rsa2048: "RSA"
            case .ed25519: "ED25519"
            }
        guard let context = EVP_PKEY_CTX_new_from_name(nil, name, nil) else { return nil }
        defer { EVP_PKEY_CTX_free(context) }
        EVP_PKEY_keygen_init(context)
        switch key {
        case .ecdsaP256: EVP_PKEY_CTX_set_group_name(context, "P-256")
        case .rsa2048: EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2048)
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

    private static func digest(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil)
        return digest
    }
}
