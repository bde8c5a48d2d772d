// SPDX-License-Identifier: MIT
package import SmallWebCore

/// Connects to a server by TCP, or by what a route has instead, with or without TLS: once.
package struct Connector {
    /// Judges a server's key once the handshake is done and before anything is sent.
    package typealias TrustCheck =
        (_ endpoint: Endpoint, _ facts: Connection.TLS) async throws(FetchError) -> Connection.Trust

    /// How a connection becomes a secure one.
    package struct Handshake {
        /// Whether `trust` wants to know if one vouches for the certificate.
        let asksAuthorities: Bool
        /// Whether the certificates are wanted as they were sent.
        let wantsChain: Bool
        /// Shown if the server asks for one.
        let identity: ClientIdentity?
        /// Of earlier connections on the same loop.
        let sessions: TLSSessionCache?
        /// Whose sessions those are; `nil` for the endpoint's own.
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

    /// Set when ``connect(by:)`` has returned; without a verdict when it was the trust check that
    /// threw.
    package private(set) var connection: Connection?

    private let endpoint: Endpoint
    private let loop: EventLoop
    private let resolver: Resolver
    private let route: Route
    private let handshake: Handshake
    private let onAttempt: (_ address: String) async throws(FetchError) -> Void

    /// - Parameter onAttempt: Called before each attempt to connect, with `address:port`.
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

    /// Resolves, connects, shakes hands and has the key judged.
    ///
    /// - Throws: `resolve`, `connect`, `tls`, `timeout`, `interrupted`, and what a proxy's route
    ///   and the trust check throw.
    package mutating func connect(by deadline: Instant) async throws(FetchError) -> any Carrier {
        var moments = Connection.Moments()
        var connected = try await connect(by: deadline, &moments)
        guard endpoint.security == .tls else {
            moments.ready = .now
            connection = connection(connected, nil, nil, moments)
            return connected.carrier
        }
        let tls = try await secure(&connected, by: deadline, &moments)
        let facts = try tls.facts(host: name, asksAuthorities: handshake.asksAuthorities)
        if handshake.wantsChain { facts.chain = tls.chain() }
        if tls.hasShownIdentity { facts.shownIdentity = handshake.identity?.facts.sha256 }
        connection = connection(connected, facts, nil, moments)
        let verdict = try await handshake.trust(endpoint, facts)
        moments.secured = .now
        moments.ready = .now
        connection = connection(connected, facts, verdict, moments)
        return tls
    }

    /// Begins TLS over a connection that is there already, and has the key judged (STARTTLS). The
    /// endpoint of this connector is a secure one.
    ///
    /// - Throws: `tls`, `timeout`, `interrupted`, what the trust check throws; `protocol-error`
    ///   when the server answers with plain text.
    package mutating func upgrade(
        _ carrier: any Carrier, of earlier: Connection?, by deadline: Instant
    ) async throws(FetchError) -> any Carrier {
        let tls = try makeSession(over: FirstRecord(carrier))
        try await shakeHands(tls, by: deadline)
        let facts = try tls.facts(host: name, asksAuthorities: handshake.asksAuthorities)
        if handshake.wantsChain { facts.chain = tls.chain() }
        if tls.hasShownIdentity { facts.shownIdentity = handshake.identity?.facts.sha256 }
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

    /// As certificates and SNI have it: a name that is rooted by a dot is the same name.
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

    /// A handshake, and another over a new connection when a server breaks off at the
    /// sight of a session that it has offered itself: some ask for client certificates and forgot
    /// to name the context of their sessions, which OpenSSL then takes for a fault.
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

    private var sessionPlace: TLSSessionCache.Place {
        TLSSessionCache.Place(
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
