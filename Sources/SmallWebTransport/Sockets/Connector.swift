// SPDX-License-Identifier: MIT
package import SmallWebCore

/// Makes one connection to a server by TCP, or over another route, with or without TLS.
package struct Connector {
    /// Judges a server's key after the handshake and before any data is sent.
    package typealias TrustCheck =
        (_ endpoint: Endpoint, _ facts: Connection.TLS) async throws(FetchError) -> Connection.Trust

    package struct Handshake {
        /// True if `trust` needs the verdict of the certificate authorities.
        let asksAuthorities: Bool
        /// True if the server's certificates are to be reported as sent.
        let wantsChain: Bool
        /// Client certificate for servers that ask for one.
        let identity: ClientIdentity?
        /// Sessions of earlier connections on the same loop.
        let sessions: TLSSessionCache?
        /// Cache key of the sessions; `nil` for the endpoint itself.
        let sessionPlace: Endpoint?
        let trust: TrustCheck

        package init(
            asksAuthorities: Bool = false, wantsChain: Bool = false,
            identity: ClientIdentity? = nil, sessions: TLSSessionCache? = nil,
            sessionPlace: Endpoint? = nil,
            trust: @escaping TrustCheck
        ) {
            self.asksAuthorities = asksAuthorities
            self.wantsChain = wantsChain
            self.identity = identity
            self.sessions = sessions
            self.sessionPlace = sessionPlace
            self.trust = trust
        }
    }

    /// Set when ``connect(by:)`` has returned; without a verdict if the trust check threw.
    package private(set) var connection: Connection?

    private let endpoint: Endpoint
    private let loop: EventLoop
    private let resolver: Resolver
    private let route: Route
    private let handshake: Handshake
    private let onAttempt: (_ address: String) async throws(FetchError) -> Void

    /// - Parameter onAttempt: Called before each connection attempt, with `address:port`.
    package init(
        endpoint: Endpoint, loop: EventLoop, resolver: Resolver, route: Route = .direct,
        handshake: Handshake,
        onAttempt: @escaping (_ address: String) async throws(FetchError) -> Void
    ) {
        self.endpoint = endpoint
        self.loop = loop
        self.resolver = resolver
        self.route = route
        self.handshake = handshake
        self.onAttempt = onAttempt
    }

    /// Resolves, connects, does the TLS handshake and has the key judged.
    ///
    /// - Throws: `resolve`, `connect`, `tls`, `timeout`, `interrupted`, errors of the proxy route
    ///   and of the trust check.
    package mutating func connect(by deadline: Instant) async throws(FetchError) -> any Carrier {
        var moments = Connection.Moments()
        var connected = try await connect(by: deadline, &moments)
        guard endpoint.security == .tls else {
            moments.ready = .now
            connection = connection(connected, nil, nil, moments)
            return connected.carrier
        }
        let tls = try await secure(&connected, by: deadline, &moments)
        let facts = try facts(tls)
        connection = connection(connected, facts, nil, moments)
        let verdict = try await handshake.trust(endpoint, facts)
        moments.secured = .now
        moments.ready = .now
        connection = connection(connected, facts, verdict, moments)
        return tls
    }

    /// Begins TLS over an existing connection, and has the key judged (STARTTLS). The endpoint of
    /// this connector is a secure one.
    ///
    /// - Throws: `tls`, `timeout`, `interrupted`, errors of the trust check; `protocol-error` when
    ///   the server answers with plain text.
    package mutating func upgrade(
        _ carrier: any Carrier, of earlier: Connection?, by deadline: Instant
    ) async throws(FetchError) -> any Carrier {
        let tls = try makeSession(over: FirstRecord(carrier))
        try await shakeHands(tls, by: deadline)
        let facts = try facts(tls)
        var moments = earlier?.moments ?? Connection.Moments()
        func described(_ trust: Connection.Trust?) -> Connection {
            let connection = Connection(
                endpoint: endpoint, address: earlier?.address, port: endpoint.port, tls: facts,
                trust: trust, moments: moments)
            connection.proxy = earlier?.proxy
            return connection
        }
        connection = described(nil)
        let verdict = try await handshake.trust(endpoint, facts)
        moments.secured = .now
        connection = described(verdict)
        return tls
    }

    private func facts(_ tls: TLSSession) throws(FetchError) -> Connection.TLS {
        let facts = try tls.facts(host: name, asksAuthorities: handshake.asksAuthorities)
        if handshake.wantsChain { facts.chain = tls.chain() }
        if tls.hasShownIdentity { facts.shownIdentity = handshake.identity?.facts.sha256 }
        return facts
    }

    private func connection(
        _ connected: RouteConnector.Connected, _ tls: Connection.TLS?, _ trust: Connection.Trust?,
        _ moments: Connection.Moments
    ) -> Connection {
        let connection = Connection(
            endpoint: endpoint, address: connected.address, port: endpoint.port, tls: tls,
            trust: trust, moments: moments)
        connection.proxy = route.name
        connection.notes = connected.notes
        return connection
    }

    /// The host's name for certificates and SNI, without a root dot at its end.
    private var name: String {
        endpoint.host.hasSuffix(".") ? String(endpoint.host.dropLast()) : endpoint.host
    }

    private func connect(
        by deadline: Instant, _ moments: inout Connection.Moments
    ) async throws(FetchError) -> RouteConnector.Connected {
        let needsTLS = endpoint.security == .tls
        return try await RouteConnector(
            loop: loop, resolver: resolver, route: route, deadline: deadline, onAttempt: onAttempt
        ).connect(to: endpoint, &moments) { () throws(FetchError) in
            // Loading OpenSSL takes longer than most round trips: do it during one.
            if needsTLS { _ = try TLSContext.shared() }
        }
    }

    /// Does the handshake. If a server aborts one that offers a session of its own, retries once
    /// over a new connection: some servers ask for client certificates without a session id
    /// context, which OpenSSL treats as an error when the session is resumed.
    private func secure(
        _ connected: inout RouteConnector.Connected, by deadline: Instant,
        _ moments: inout Connection.Moments
    ) async throws(FetchError) -> TLSSession {
        let session = try makeSession(over: connected.carrier)
        do throws(FetchError) {
            try await shakeHands(session, by: deadline)
            return session
        } catch {
            guard session.hasOfferedSession, error.outcome == .tls else { throw error }
            handshake.sessions?.giveUp(sessionPlace)
        }
        session.close()
        connected = try await connect(by: deadline, &moments)
        let second = try makeSession(over: connected.carrier)
        try await shakeHands(second, by: deadline)
        return second
    }

    private var sessionPlace: TLSSessionCache.Key {
        TLSSessionCache.Key(
            endpoint: handshake.sessionPlace ?? endpoint,
            identity: handshake.identity?.facts.sha256, route: route)
    }

    private func makeSession(over carrier: any Carrier) throws(FetchError) -> TLSSession {
        let isLiteral = SocketAddress(literal: endpoint.host, port: 0) != nil
        return try TLSSession(
            over: carrier, serverName: isLiteral ? nil : name, identity: handshake.identity,
            sessions: handshake.sessions.map { ($0, sessionPlace) })
    }

    private func shakeHands(
        _ session: TLSSession, by deadline: Instant
    ) async throws(FetchError) {
        while let readiness = try session.handshake() {
            do throws(FetchError) {
                try await session.wait(for: readiness, by: deadline)
            } catch  where error.outcome == .timeout {
                throw FetchError(
                    .timeout, .tls, "the TLS handshake with \(endpoint) took too long",
                    remedy: .raise(.connectTime))
            }
        }
    }
}

/// A carrier that requires the first byte to begin a TLS record. Otherwise, plain text that a
/// server sends after it has agreed to TLS could pass as the reply to a request made over TLS.
private final class FirstRecord: CarrierWrapper {
    var wrapped: any Carrier
    private var isChecked = false

    init(_ carrier: any Carrier) { wrapped = carrier }

    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(FetchError) -> TransportRead {
        let read = try wrapped.receive(into: buffer)
        if !isChecked, case .bytes = read {
            isChecked = true
            // An alert or a handshake message (RFC 8446 §5.1).
            guard buffer[0] == 21 || buffer[0] == 22 else {
                throw FetchError(
                    .protocolError, .tls, "the server sent plain text where TLS begins")
            }
        }
        return read
    }
}
