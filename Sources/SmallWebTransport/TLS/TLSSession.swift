// SPDX-License-Identifier: MIT
internal import CSmallWebTLS
internal import SmallWebCore

/// One TLS connection over a carrier. Owns the `SSL`.
final class TLSSession: Carrier {
    private let library: TLSLibrary
    private let ssl: OpaquePointer
    private let bioState = SocketBIOState()
    private let serverName: String?
    /// The end of the TLS session with a proxy proves nothing about the target's data in it.
    private let isOfProxy: Bool
    /// After a fatal error OpenSSL forbids further calls, close_notify included.
    private var isBroken = false
    private var hasReceived = false
    /// True if the handshake began with a session of an earlier connection.
    private(set) var hasOfferedSession = false

    /// - Parameters:
    ///   - serverName: Host name for SNI; `nil` for an IP literal.
    ///   - identity: Client certificate, if the server asks for one.
    ///   - sessions: Cache for a session to resume, and for sessions that the server offers.
    ///   - isOfProxy: True if the peer is a proxy.
    init(
        over carrier: any Carrier, serverName: String?, identity: ClientIdentity? = nil,
        sessions: (cache: TLSSessionCache, place: TLSSessionCache.Key)? = nil,
        isOfProxy: Bool = false
    ) throws(FetchError) {
        let context = try TLSContext.shared()
        library = context.library
        self.serverName = serverName
        self.isOfProxy = isOfProxy
        bioState.hasIdentity = identity != nil
        guard let ssl = library.functions.SSL_new(context.pointer) else {
            throw FetchError(.internal, .tls, "OpenSSL could not make a connection")
        }
        guard let bio = library.functions.BIO_new(context.socketMethod) else {
            library.functions.SSL_free(ssl)
            throw FetchError(.internal, .tls, "OpenSSL could not make a BIO")
        }
        self.ssl = ssl
        bioState.carrier = carrier
        // Unretained: this object owns both the state and, through `ssl`, the BIO.
        library.functions.BIO_set_data(bio, Unmanaged.passUnretained(bioState).toOpaque())
        library.functions.BIO_set_init(bio, 1)
        library.functions.SSL_set_bio(ssl, bio, bio)
        library.functions.SSL_set_connect_state(ssl)
        // OpenSSL calls this when the server asks for a certificate.
        library.functions.SSL_set_cert_cb(
            ssl,
            { _, state in
                guard let state else { return 1 }
                let bioState = Unmanaged<SocketBIOState>.fromOpaque(state).takeUnretainedValue()
                bioState.isAskedForIdentity = true
                return 1
            }, Unmanaged.passUnretained(bioState).toOpaque())
        identity?.use(on: ssl)
        bioState.sessions = sessions
        if let (cache, place) = sessions, let entry = cache.take(place, library) {
            hasOfferedSession = library.functions.SSL_set_session(ssl, entry.session) == 1
            bioState.certificate = entry.certificate
            bioState.hasShownIdentityBefore = entry.hasShownIdentity
            TLSSessionCache.release(entry)
        }
        if let serverName {
            _ = serverName.withCString { name in
                library.functions.SSL_ctrl(
                    ssl, Int32(swtls_hostname_command),
                    Int(swtls_hostname_type), UnsafeMutablePointer(mutating: name))
            }
        }
    }

    deinit {
        close()
        library.functions.SSL_free(ssl)
    }

    /// One step of the handshake: `nil` when it is done, else the readiness to wait for.
    ///
    /// - Throws: `tls`, also when the server closes or resets; `send`, `receive`.
    func handshake() throws(FetchError) -> Readiness? {
        library.functions.ERR_clear_error()
        let status = library.functions.SSL_do_handshake(ssl)
        if status == 1 { return nil }
        let error = library.functions.SSL_get_error(ssl, status)
        if let readiness = Self.readiness(error) { return readiness }
        isBroken = true
        if let failure = bioState.failure, bioState.ending == nil { throw failure }
        let reason: String
        switch bioState.ending {
        case .reset: reason = "the server reset the connection"
        case .some: reason = "the server closed the connection"
        case nil:
            let error = library.takeError()
            let isPlain = error.words == "wrong version number"
            reason = isPlain ? "the server answers without TLS" : error.words
            if isAboutIdentity(error.reason) { throw identityDemand(reason) }
        }
        throw FetchError(
            .tls, .tls, "TLS handshake failed: \(reason)",
            hint: "check that this port speaks TLS, 1.2 or later")
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(FetchError) -> TransportRead {
        library.functions.ERR_clear_error()
        var count = 0
        let status = library.functions.SSL_read_ex(ssl, buffer.baseAddress, buffer.count, &count)
        if status == 1 {
            hasReceived = true
            return .bytes(count)
        }
        let error = library.functions.SSL_get_error(ssl, status)
        if let readiness = Self.readiness(error) { return .wouldBlock(readiness) }
        if error == SSL_ERROR_ZERO_RETURN { return .ended(isOfProxy ? .endOfFile : .closeNotify) }
        isBroken = true
        // OpenSSL 4 answers an unexpected end with an alert, which may fail.
        if let ending = bioState.ending { return .ended(ending) }
        if let failure = bioState.failure { throw failure }
        let (number, reason) = library.takeError()
        // With TLS 1.3 the server can complain only after the handshake.
        if isAboutIdentity(number) && !hasReceived { throw identityDemand(reason) }
        throw FetchError(.receive, .body, "TLS failed: \(reason)")
    }

    func send(_ bytes: UnsafeRawBufferPointer) throws(FetchError) -> TransportWrite {
        library.functions.ERR_clear_error()
        var count = 0
        let status = library.functions.SSL_write_ex(ssl, bytes.baseAddress, bytes.count, &count)
        if status == 1 { return .bytes(count) }
        let error = library.functions.SSL_get_error(ssl, status)
        if let readiness = Self.readiness(error) { return .wouldBlock(readiness) }
        isBroken = true
        // Thrown once: data that had arrived before can still be read.
        if let failure = bioState.failure.take() { throw failure }
        throw FetchError(.send, .send, "TLS failed: \(library.takeError().words)")
    }

    func wait(for readiness: Readiness, by deadline: Instant) async throws(FetchError) {
        try await bioState.carrier?.wait(for: readiness, by: deadline)
    }

    func interests(_ readiness: Readiness) -> [Interest]? {
        bioState.carrier?.interests(readiness) ?? []
    }

    func finishSending() -> Bool {
        guard !isBroken, bioState.carrier != nil else { return true }
        library.functions.ERR_clear_error()
        let status = library.functions.SSL_shutdown(ssl)
        return status >= 0
            || library.functions.SSL_get_error(ssl, status) != SSL_ERROR_WANT_WRITE
    }

    /// Sends close_notify if the carrier accepts it at once, and releases the carrier.
    func close() {
        if !isBroken, bioState.carrier != nil {
            library.functions.ERR_clear_error()
            _ = library.functions.SSL_shutdown(ssl)
        }
        isBroken = true
        bioState.carrier = nil
    }

    /// Facts about the finished handshake.
    ///
    /// - Parameter host: The name or IP literal that the certificate should be for.
    /// - Parameter asksAuthorities: True to verify the certificate against the authorities.
    /// - Throws: `tls` when the server sent no certificate that can be read.
    func facts(host: String, asksAuthorities: Bool) throws(FetchError) -> Connection.TLS {
        let authority =
            asksAuthorities
            ? try Authorities.shared().judge(ssl) : Connection.Authority.unchecked
        let facts = try Self.facts(
            ssl, library: library, host: host, serverName: serverName, authority: authority,
            known: bioState.certificate)
        if !facts.isResumed { bioState.hasShownIdentityBefore = false }
        bioState.certificate = facts.certificate
        return facts
    }

    /// Facts about the handshake of an `SSL` that is owned elsewhere.
    ///
    /// - Parameter known: The certificate of the session, for the case that it is resumed.
    static func facts(
        _ ssl: OpaquePointer, library: TLSLibrary, host: String, serverName: String?,
        authority: Connection.Authority = .unchecked, known: Connection.Certificate? = nil
    ) throws(FetchError) -> Connection.TLS {
        let functions = library.functions
        let isResumed = functions.SSL_session_reused(ssl) == 1
        let certificate =
            if isResumed, let known { known } else {
                try certificate(of: ssl, library, host: host)
            }
        let cipher = functions.SSL_CIPHER_get_name(functions.SSL_get_current_cipher(ssl))
        let facts = Connection.TLS(
            version: functions.SSL_get_version(ssl).map { String(cString: $0) } ?? "",
            cipher: cipher.map { String(cString: $0) } ?? "",
            serverName: serverName,
            certificate: certificate, authority: authority, isResumed: isResumed)
        let suite = functions.SSL_CIPHER_standard_name(functions.SSL_get_current_cipher(ssl))
        facts.cipherSuite = suite.map { String(cString: $0) }
        facts.chainLength = functions.SSL_get_peer_cert_chain(ssl).map {
            Int(functions.OPENSSL_sk_num($0))
        }
        var (name, count) = (UnsafePointer<UInt8>?.none, UInt32(0))
        functions.SSL_get0_alpn_selected(ssl, &name, &count)
        if let name {
            let bytes = UnsafeBufferPointer(start: name, count: Int(count))
            facts.applicationProtocol = String(decoding: bytes, as: UTF8.self)
        }
        return facts
    }

    /// The certificates that the server sent when the session began, DER, its own first.
    func chain() -> [[UInt8]] { Self.chain(of: ssl, library) }

    /// The chain of an `SSL` that is owned elsewhere.
    static func chain(of ssl: OpaquePointer, _ library: TLSLibrary) -> [[UInt8]] {
        let functions = library.functions
        guard let stack = functions.SSL_get_peer_cert_chain(ssl) else { return [] }
        return (0..<max(0, functions.OPENSSL_sk_num(stack))).compactMap { index in
            guard let entry = functions.OPENSSL_sk_value(stack, index) else { return nil }
            var der: UnsafeMutablePointer<UInt8>?
            let count = functions.i2d_X509(OpaquePointer(entry), &der)
            guard count > 0, let der else { return nil }
            defer { functions.CRYPTO_free(der, nil, 0) }
            return Array(UnsafeBufferPointer(start: der, count: Int(count)))
        }
    }

    private static func certificate(
        of ssl: OpaquePointer, _ library: TLSLibrary, host: String
    ) throws(FetchError) -> Connection.Certificate {
        guard let certificate = library.functions.SSL_get1_peer_certificate(ssl) else {
            throw FetchError(.tls, .tls, "the server sent no certificate")
        }
        defer { library.functions.X509_free(certificate) }
        return try CertificateReader(library: library, certificate: certificate).facts(host: host)
    }

    /// True if the server asked for a client certificate and got one, or if the session that is
    /// resumed was begun with one.
    var hasShownIdentity: Bool { bioState.hasShownIdentity }

    /// True if an alert means that the server wants a client certificate, or another one: alerts
    /// about certificates, and handshake_failure, TLS 1.2's general alert (RFC 8446 §6.2).
    private func isAboutIdentity(_ reason: Int32) -> Bool {
        // OpenSSL's reasons for received alerts are the alert's number plus 1000.
        let alerts: [Int32] = [40, 41, 42, 43, 44, 45, 46, 48, 49, 116]
        return bioState.isAskedForIdentity && alerts.contains(reason - SSL_AD_REASON_OFFSET)
    }

    private func identityDemand(_ reason: String) -> FetchError {
        FetchError(
            .needsIdentity, .tls,
            bioState.hasIdentity
                ? "the server refused the client certificate: \(reason)"
                : "the server asks for a client certificate: \(reason)",
            remedy: .bindIdentity(nil))
    }

    private static func readiness(_ error: Int32) -> Readiness? {
        switch error {
        case SSL_ERROR_WANT_READ: .readable
        case SSL_ERROR_WANT_WRITE: .writable
        default: nil
        }
    }
}
