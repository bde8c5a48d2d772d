// SPDX-License-Identifier: MIT
package import SmallWebCore
internal import SmallWebTransport

/// Dials over real sockets, judges keys by the trust store, and reports events.
struct NetworkDialer: ProgramHost {
    let hop: Hop

    var isRecorded: Bool { hop.tap != nil }

    func dial(_ endpoint: Endpoint) async throws(FetchError) -> ByteStream {
        let carrier = try await carrier(to: endpoint)
        let stream = hop.stream(over: hop.tap?.tee(carrier, keepsDatagrams: false) ?? carrier)
        stream.isPlain = endpoint.security == .none
        stream.secureForm = hop.scheme.secureForm
        return stream
    }

    /// - Parameters:
    ///   - resolver: `nil` for the fetch's.
    ///   - store: `nil` for the fetch's.
    ///   - place: The server whose key is expected, and whose sessions are resumed; `nil` for
    ///     `endpoint`.
    ///   - sessions: `nil` for the fetch's.
    func connector(
        to endpoint: Endpoint, _ resolver: Resolver? = nil, _ store: TrustStore? = nil,
        judgedAs place: Endpoint? = nil, sessions: TLSSessionCache? = nil
    ) throws(FetchError) -> Connector {
        let route = try hop.way(to: endpoint).route
        let (loop, hop, store) = (hop.loop, hop, store ?? hop.trustStore(for: place ?? endpoint))
        let (connectDeadline, deadline) = (hop.connectDeadline, hop.deadline)
        return Connector(
            endpoint: endpoint, loop: loop, resolver: resolver ?? hop.fetcher.options.resolver,
            route: route,
            handshake: .init(
                asksAuthorities: store.policy.asksAuthorities, wantsChain: hop.tap != nil,
                identity: hop.identity(for: endpoint), sessions: sessions ?? hop.sessions,
                sessionPlace: place
            ) { endpoint, facts async throws(FetchError) in
                try await store.judge(
                    place ?? endpoint, facts, now: UTCDate.now, loop: loop, by: connectDeadline,
                    askingUntil: deadline)
            },
            onAttempt: { address async throws(FetchError) in
                try await hop.say(.connecting(endpoint, address: address))
            })
    }

    private func carrier(to endpoint: Endpoint) async throws(FetchError) -> any Carrier {
        try await connection(to: endpoint).carrier
    }

    /// - Parameter resolver: `nil` for the fetch's.
    func connection(
        to endpoint: Endpoint, _ resolver: Resolver? = nil
    ) async throws(FetchError) -> (carrier: any Carrier, facts: Connection?) {
        hop.tap?.dials()
        var connector = try connector(to: endpoint, resolver)
        let carrier: any Carrier
        do throws(FetchError) {
            carrier = try await connector.connect(by: hop.connectDeadline)
        } catch {
            // The user decides by these facts if a refused key is to be accepted.
            if let connection = connector.connection {
                try await hop.say(
                    .connected(connection.refused(error, by: hop.trustStore(for: endpoint))))
            }
            throw error
        }
        if let connection = connector.connection {
            try await hop.say(.connected(connection))
            for note in connection.notes + connection.remarks { try await hop.emit(.note(note)) }
        }
        return (carrier, connector.connection)
    }

    func programRunner() -> any ProgramRunner {
        ProgramExchange(on: hop.loop, by: hop.deadline, network: ProgramDialer(dialer: self))
    }

    func httpClient(for endpoint: Endpoint) throws(FetchError) -> any HTTPClient {
        hop.tap?.dials()
        let curl = try curlClient(for: endpoint)
        return DecodingClient(
            hop.tap?.tee(curl) ?? curl, loop: hop.loop, deadline: hop.deadline)
    }

    /// Reports the certificate that libcurl has refused without showing it: the server shows it in
    /// another handshake, in which it gets neither a request nor a client certificate.
    func reportRefused(_ error: FetchError, _ request: Request) async {
        guard [.untrusted, .trustChanged].contains(error.outcome), hop.connection == nil,
            request.scheme.dialsForItself, !hop.fetcher.options.http.isSpecial,
            let place = try? request.endpoint, let resolver = try? hop.resolver(for: place),
            let route = try? hop.way(to: place).route
        else { return }
        let endpoint = Endpoint(host: place.host, port: place.port, security: .tls)
        let store = hop.trustStore(for: endpoint)
        var connector = Connector(
            endpoint: endpoint, loop: hop.loop, resolver: resolver, route: route,
            handshake: .init(
                asksAuthorities: store.policy.asksAuthorities, wantsChain: hop.tap != nil
            ) { _, _ throws(FetchError) in throw error },
            onAttempt: { _ in })
        // Only the facts of its handshake are wanted.
        _ = try? await connector.connect(by: hop.connectDeadline)
        guard let connection = connector.connection else { return }
        try? await hop.say(.connected(connection.refused(error, by: store)))
    }

    func curlClient(for endpoint: Endpoint) throws(FetchError) -> CurlClient {
        let trust = try hop.trustStore(for: endpoint).judgedByCurl(endpoint)
        var settings = hop.fetcher.options.http
        if hop.tap != nil { settings.reportsRequests = true }
        var client = try CurlClient(
            loop: hop.loop, settings: settings, resolver: try hop.resolver(for: endpoint),
            route: try hop.way(to: endpoint).route, deadline: hop.deadline
        ) { [hop] event async throws(FetchError) in
            try await hop.say(event)
        } onEnd: { [hop] traffic, header in
            hop.add(traffic)
            hop.tap?.note(sent: header, traffic)
        }
        (client.trust, client.identity) = (trust, hop.identity(for: endpoint))
        client.wantsChain = hop.tap != nil
        return client
    }
}

extension Connection {
    /// After the trust check threw `error`.
    func refused(_ error: FetchError, by store: TrustStore) -> Connection {
        let verdict: Connection.Trust.Verdict = error.outcome == .trustChanged ? .changed : .refused
        let known =
            store.policy.usesStore && store.keeper == nil
            ? try? store.hosts().pins(of: endpoint.description) : []
        let refused = Connection(
            endpoint: endpoint, address: address, port: port, tls: tls,
            trust: Connection.Trust(
                verdict: verdict, firstSeen: known?.last?.first, policy: store.policy.rule),
            moments: moments)
        refused.proxy = proxy
        return refused
    }
}

extension Fetcher {
    /// Connects to `endpoint`, judges its key and closes, without sending a request.
    ///
    /// Runs on the fetcher's loop, where the caller already is.
    ///
    /// - Returns: The connection, as far as it came, and the error of ``Dialer/dial(_:)``.
    package func probe(
        _ endpoint: Endpoint, of scheme: Scheme, limits: Limits = Limits()
    ) async -> (Connection?, FetchError?) {
        var connection: Connection?
        let hop = Hop(self, scheme, limits, by: .never) { event in
            if case .connected(let made) = event { connection = made }
        }
        defer { hop.close() }
        do throws(FetchError) {
            _ = try await NetworkDialer(hop: hop).dial(endpoint)
        } catch {
            return (connection, error)
        }
        return (connection, nil)
    }
}
