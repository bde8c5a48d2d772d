// SPDX-License-Identifier: MIT
package import SmallWebCore

/// A ``StreamTransport`` over TCP, or over what a route has instead, with or without TLS.
package final class SocketTransport: StreamTransport, ProgramChannel {
    /// Judges a server's key once the handshake is done and before anything is sent.
    package typealias TrustCheck =
        (_ endpoint: Endpoint, _ facts: Connection.TLS) async throws(FetchError) -> Connection.Trust

    /// How a connection becomes a secure one.
    package struct Handshake {
        /// Whether `trust` wants to know if one vouches for the certificate.
        let asksAuthorities: Bool
        /// Shown if the server asks for one.
        let identity: ClientIdentity?
        /// Of earlier connections on the same loop.
        let sessions: TLSSessionCache?
        let trust: TrustCheck

        package init(
            asksAuthorities: Bool = false, identity: ClientIdentity? = nil,
            sessions: TLSSessionCache? = nil, trust: @escaping TrustCheck
        ) {
            self.asksAuthorities = asksAuthorities
            self.identity = identity
            self.sessions = sessions
            self.trust = trust
        }
    }

    /// Set when ``start(by:)`` has returned; without a verdict when it was the trust check that
    /// threw.
    package private(set) var connection: Connection?

    private let endpoint: Endpoint
    private let loop: EventLoop
    private let resolver: Resolver
    private let route: Route
    private let handshake: Handshake
    private let onAttempt: (_ address: String) async throws(FetchError) -> Void
    private var connected: RouteConnector.Connected?
    private var tls: TLSSession?

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

    /// Takes over a connected socket, without TLS.
    ///
    /// - Parameter descriptor: Owned by the transport from here on.
    package init(adopting descriptor: Int32, endpoint: Endpoint, loop: EventLoop)
        throws(FetchError)
    {
        self.endpoint = endpoint
        self.loop = loop
        resolver = Resolver()
        route = .direct
        handshake = Handshake { _, _ in
            Connection.Trust(verdict: .skipped, firstSeen: nil, policy: .skip)
        }
        onAttempt = { _ in }
        do throws(SystemError) {
            let socket = try TCPSocket(adopting: descriptor, on: loop)
            connected = .init(carrier: socket, address: socket.address.host)
        } catch {
            throw FetchError(
                .connect, .connect, error.sentence, errnoName: error.name, remedy: error.remedy)
        }
    }

    package func start(by deadline: Instant) async throws(FetchError) {
        var moments = Connection.Moments()
        if connected == nil {
            connected = try await connect(by: deadline, &moments)
        } else {
            moments.connected = .now
        }
        var facts: Connection.TLS?
        var verdict: Connection.Trust?
        if endpoint.security == .tls {
            let tls = try await secure(by: deadline, &moments)
            self.tls = tls
            var agreed = try tls.facts(host: name, asksAuthorities: handshake.asksAuthorities)
            if tls.hasShownIdentity { agreed.shownIdentity = handshake.identity?.facts.sha256 }
            facts = agreed
            connection = connection(facts, nil, moments)
            verdict = try await handshake.trust(endpoint, agreed)
            moments.secured = .now
        }
        moments.ready = .now
        connection = connection(facts, verdict, moments)
    }

    private func connection(
        _ tls: Connection.TLS?, _ trust: Connection.Trust?, _ moments: Connection.Moments
    ) -> Connection {
        var connection = Connection(
            endpoint: endpoint, address: connected?.address, port: endpoint.port, tls: tls,
            trust: trust, moments: moments)
        connection.proxy = route.name
        connection.notes = connected?.notes ?? []
        return connection
    }

    /// As certificates and SNI have it: a name that is rooted by a dot is no other name.
    private var name: String {
        endpoint.host.hasSuffix(".") ? String(endpoint.host.dropLast()) : endpoint.host
    }

    package func receive(
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(FetchError) -> TransportRead {
        if let tls { return try tls.receive(into: buffer) }
        guard let carrier = connected?.carrier else { return .ended(.endOfFile) }
        return try carrier.receive(into: buffer)
    }

    package func send(_ bytes: UnsafeRawBufferPointer) throws(FetchError) -> TransportWrite {
        if let tls { return try tls.send(bytes) }
        guard let carrier = connected?.carrier else {
            throw FetchError(.send, .send, "the connection is closed")
        }
        return try carrier.send(bytes)
    }

    package func wait(
        for readiness: Readiness, by deadline: Instant
    ) async throws(FetchError) {
        try await connected?.carrier.wait(for: readiness, by: deadline)
    }

    package func interests(_ readiness: Readiness) -> [Interest]? {
        connected?.carrier.interests(readiness) ?? []
    }

    package func endSending() {
        // A server takes TLS's goodbye for the end of both sides.
        if tls == nil { connected?.carrier.endSending() }
    }

    package func close() {
        tls?.close()
        tls = nil
        connected = nil
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
        by deadline: Instant, _ moments: inout Connection.Moments
    ) async throws(FetchError) -> TLSSession {
        let place = TLSSessionCache.Place(
            endpoint: endpoint, identity: handshake.identity?.facts.sha256, route: route)
        let session = try makeSession(place)
        do throws(FetchError) {
            try await shakeHands(session, by: deadline)
            return session
        } catch {
            guard session.hasOfferedSession, error.outcome == .tls else { throw error }
            handshake.sessions?.giveUp(place)
        }
        session.close()
        connected = try await connect(by: deadline, &moments)
        let second = try makeSession(place)
        try await shakeHands(second, by: deadline)
        return second
    }

    private func makeSession(_ place: TLSSessionCache.Place) throws(FetchError) -> TLSSession {
        guard let carrier = connected?.carrier else {
            throw FetchError(.internal, .tls, "there is no connection")
        }
        let isLiteral = SocketAddress(literal: endpoint.host, port: 0) != nil
        return try TLSSession(
            over: carrier, serverName: isLiteral ? nil : name, identity: handshake.identity,
            sessions: handshake.sessions.map { ($0, place) })
    }

    private func shakeHands(
        _ session: TLSSession, by deadline: Instant
    ) async throws(FetchError) {
        while let readiness = try session.handshake() {
            do throws(FetchError) {
                try await connected?.carrier.wait(for: readiness, by: deadline)
            } catch  where error.outcome == .timeout {
                throw FetchError(
                    .timeout, .tls, "the TLS handshake with \(endpoint) took too long",
                    remedy: .raise(.connectTime))
            }
        }
    }
}
