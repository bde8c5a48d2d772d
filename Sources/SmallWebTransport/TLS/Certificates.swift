// SPDX-License-Identifier: MIT
internal import CSmallWebTLS
internal import Glibc
package import SmallWebCore

/// Reads the facts of an X.509 certificate. `certificate` is borrowed.
struct CertificateReader {
    let library: TLSLibrary
    let certificate: OpaquePointer

    private var functions: swtls_functions { library.functions }

    func facts(host: String) throws(FetchError) -> Connection.Certificate {
        let key = functions.X509_get_X509_PUBKEY(certificate)
        var facts = Connection.Certificate(
            sha256: try digest { functions.i2d_X509(certificate, $0) },
            spkiSHA256: try digest { functions.i2d_X509_PUBKEY(key, $0) },
            subject: name(functions.X509_get_subject_name(certificate)),
            issuer: name(functions.X509_get_issuer_name(certificate)),
            notBefore: unixTime(functions.X509_get0_notBefore(certificate)),
            notAfter: unixTime(functions.X509_get0_notAfter(certificate)),
            matchesHost: matches(host))
        facts.sha512 = try digest(functions.EVP_sha512(), 64) {
            functions.i2d_X509(certificate, $0)
        }
        let serial = functions.X509_get0_serialNumber(certificate)
        facts.serial = bytes(serial)
        facts.isSerialNegative =
            serial.map { functions.ASN1_STRING_type($0) == V_ASN1_NEG_INTEGER } ?? false
        (facts.dnsNames, facts.ipNames) = alternativeNames()
        let publicKey = functions.X509_get0_pubkey(certificate)
        facts.keyName = keyName(publicKey)
        if let publicKey, let type = functions.EVP_PKEY_get0_type_name(publicKey) {
            facts.weakKey = Self.weakness(
                ofKey: String(cString: type), bits: Int(functions.EVP_PKEY_get_bits(publicKey)))
        }
        var digest = NID_undef
        _ = functions.X509_get_signature_info(certificate, &digest, nil, nil, nil)
        facts.weakDigest = Self.weakDigests[digest]
        return facts
    }

    /// Weaknesses are keys below 112 bits of security (NIST SP 800-131A).
    static func weakness(ofKey type: String, bits: Int) -> String? {
        let bitsMin = ["RSA": 2048, "RSA-PSS": 2048, "DSA": 2048, "EC": 224][type] ?? 0
        return bits < bitsMin ? "\(type) with \(bits) bits" : nil
    }

    private static let weakDigests = [
        NID_md2: "MD2", NID_md4: "MD4", NID_md5: "MD5", NID_sha1: "SHA-1",
    ]

    private func bytes(_ string: UnsafePointer<ASN1_STRING>?) -> [UInt8] {
        guard let string, let data = functions.ASN1_STRING_get0_data(string) else { return [] }
        let count = Int(functions.ASN1_STRING_length(string))
        return Array(UnsafeBufferPointer(start: data, count: max(0, count)))
    }

    /// The subjectAltName (RFC 5280 §4.2.1.6).
    private func alternativeNames() -> (dns: [String], ip: [String]) {
        guard let names = functions.X509_get_ext_d2i(certificate, NID_subject_alt_name, nil, nil)
        else { return ([], []) }
        let stack = OpaquePointer(names)
        defer { functions.GENERAL_NAMES_free(stack) }
        var (dns, ip): ([String], [String]) = ([], [])
        for index in 0..<max(0, functions.OPENSSL_sk_num(stack)) {
            guard let entry = functions.OPENSSL_sk_value(stack, index) else { continue }
            var kind: Int32 = 0
            let name = entry.assumingMemoryBound(to: GENERAL_NAME.self)
            let value = functions.GENERAL_NAME_get0_value(name, &kind)
            guard let value, kind == GEN_DNS || kind == GEN_IPADD else { continue }
            let text = bytes(value.assumingMemoryBound(to: ASN1_STRING.self))
            if kind == GEN_DNS {
                dns.append(String(decoding: text, as: UTF8.self))
            } else if text.count == 4 || text.count == 16 {
                ip.append(SocketAddress.text(text))
            }
        }
        return (dns, ip)
    }

    /// For example `ecdsa-p256`, `rsa-2048`, `ed25519`.
    private func keyName(_ key: OpaquePointer?) -> String? {
        guard let key, let name = functions.EVP_PKEY_get0_type_name(key) else { return nil }
        switch String(cString: name) {
        case "RSA": return "rsa-\(functions.EVP_PKEY_get_bits(key))"
        case "EC":
            var group = [CChar](repeating: 0, count: 64)
            guard functions.EVP_PKEY_get_group_name(key, &group, group.count, nil) == 1 else {
                return "ecdsa-\(functions.EVP_PKEY_get_bits(key))"
            }
            let name = String(buffer: group)
            let known = ["prime256v1": "p256", "secp384r1": "p384", "secp521r1": "p521"]
            return "ecdsa-" + (known[name] ?? name)
        case let name: return name.lowercased()
        }
    }

    /// The digest of the output of an `i2d` function; SHA-256 by default.
    private func digest(
        _ algorithm: OpaquePointer? = nil, _ byteCount: Int = 32,
        _ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32
    ) throws(FetchError) -> [UInt8] {
        var der: UnsafeMutablePointer<UInt8>?
        let count = encode(&der)
        guard count > 0, let der else {
            throw FetchError(.tls, .tls, "the server's certificate cannot be read")
        }
        defer { functions.CRYPTO_free(der, nil, 0) }
        var digest = [UInt8](repeating: 0, count: byteCount)
        _ = functions.EVP_Digest(
            der, Int(count), &digest, nil, algorithm ?? functions.EVP_sha256(), nil)
        return digest
    }

    private func name(_ name: OpaquePointer?) -> String {
        guard let bio = functions.BIO_new(functions.BIO_s_mem()) else { return "" }
        defer { _ = functions.BIO_free(bio) }
        _ = functions.X509_NAME_print_ex(bio, name, 0, UInt(swtls_name_flags))
        // A name may be as large as the certificate; its beginning is enough for people.
        let bytes = [UInt8](unsafeUninitializedCapacity: 1024) { buffer, count in
            count = Int(max(0, functions.BIO_read(bio, buffer.baseAddress, Int32(buffer.count))))
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func unixTime(_ time: UnsafePointer<ASN1_TIME>?) -> Int? {
        var calendar = tm()
        guard let time, functions.ASN1_TIME_to_tm(time, &calendar) == 1 else { return nil }
        return timegm(&calendar)
    }

    private func matches(_ host: String) -> Bool {
        // Only addresses match a literal, even if a DNS name looks like one.
        if SocketAddress(literal: host, port: 0) != nil {
            return functions.X509_check_ip_asc(certificate, host, 0) == 1
        }
        return host.withCString {
            functions.X509_check_host(certificate, $0, strlen($0), 0, nil) == 1
        }
    }
}

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

    /// What a chain says, and today's verdict of the authorities.
    package typealias Judged = (certificate: Connection.Certificate, Connection.Authority)

    /// - Parameter host: The name or IP literal that the certificate should be for.
    /// - Throws: `tls` for bytes that are not a certificate; `not-built-in` without libssl.
    package func judged(host: String, asksAuthorities: Bool) throws(FetchError) -> Judged {
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
        let reader = CertificateReader(library: library, certificate: own)
        return (try reader.facts(host: host), authority)
    }

    /// The facts of such a handshake.
    package func facts(_ judged: Judged) -> Connection.TLS {
        let facts = Connection.TLS(
            version: version, cipher: cipher, serverName: serverName,
            certificate: judged.certificate, authority: judged.1, isResumed: isResumed)
        facts.applicationProtocol = applicationProtocol
        facts.chainLength = chainLength ?? chain.count
        facts.shownIdentity = shownIdentity
        return facts
    }
}

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
        return .refused(
            (reason.map { String(cString: $0) } ?? "for reason \(error)")
                + (areMissing ? "; there is none here: install the package ca-certificates" : ""))
    }

    /// True if there is neither their file nor one in their directories, which are separated by
    /// colons: that is found by the hash of its name, such as `3513523f.0`.
    private var areMissing: Bool {
        let functions = library.functions
        let file = environmentVariable("SSL_CERT_FILE")
        let directories = environmentVariable("SSL_CERT_DIR")
        guard let usualFile = functions.X509_get_default_cert_file(),
            let usualDirectory = functions.X509_get_default_cert_dir(),
            access(file ?? String(cString: usualFile), F_OK) != 0
        else { return false }
        let places = directories ?? String(cString: usualDirectory)
        return !places.split(separator: ":").contains { place in
            ((try? directoryNames(String(place))) ?? []).contains { $0.hasSuffix(".0") }
        }
    }
}
