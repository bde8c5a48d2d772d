// SPDX-License-Identifier: MIT
internal import CSmallWebTLS
internal import Glibc
internal import SmallWebCore

/// Takes facts out of an X.509 certificate. `certificate` stays its owner's.
struct CertificateReader {
    let library: TLSLibrary
    let certificate: OpaquePointer

    private var functions: swtls_functions { library.functions }

    func facts(host: String) throws(FetchError) -> CertificateFacts {
        let key = functions.X509_get_X509_PUBKEY(certificate)
        return CertificateFacts(
            sha256: try sha256 { functions.i2d_X509(certificate, $0) },
            spkiSHA256: try sha256 { functions.i2d_X509_PUBKEY(key, $0) },
            subject: name(functions.X509_get_subject_name(certificate)),
            issuer: name(functions.X509_get_issuer_name(certificate)),
            notBefore: unixTime(functions.X509_get0_notBefore(certificate)),
            notAfter: unixTime(functions.X509_get0_notAfter(certificate)),
            matchesHost: matches(host))
    }

    /// The digest of what an `i2d` function writes.
    private func sha256(
        _ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32
    ) throws(FetchError) -> [UInt8] {
        var der: UnsafeMutablePointer<UInt8>?
        let count = encode(&der)
        guard count > 0, let der else {
            throw FetchError(.tls, .tls, "the server's certificate cannot be read")
        }
        defer { functions.CRYPTO_free(der, nil, 0) }
        var digest = [UInt8](repeating: 0, count: 32)
        _ = functions.EVP_Digest(der, Int(count), &digest, nil, functions.EVP_sha256(), nil)
        return digest
    }

    private func name(_ name: OpaquePointer?) -> String {
        guard let bio = functions.BIO_new(functions.BIO_s_mem()) else { return "" }
        defer { _ = functions.BIO_free(bio) }
        _ = functions.X509_NAME_print_ex(bio, name, 0, UInt(swtls_name_flags))
        // A name may be as large as the certificate; people need the beginning.
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
        if functions.X509_check_ip_asc(certificate, host, 0) == 1 { return true }
        return host.withCString {
            functions.X509_check_host(certificate, $0, strlen($0), 0, nil) == 1
        }
    }
}
