// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebHTTP
internal import SmallWebTransport

/// What one hop uses, and has used.
final class Wire {
    private(set) var traffic = Ending.Traffic()
    private var streams: [ByteStream] = []
    private var carriers: [any Carrier] = []

    func add(_ stream: ByteStream) { streams.append(stream) }

    func add(_ carrier: any Carrier) { carriers.append(carrier) }

    func add(_ more: Ending.Traffic) {
        traffic.sent += more.sent
        traffic.received += more.received
    }

    /// Closes whatever the plugin left open, and breaks the circle of streams that refer to it.
    func close() {
        for stream in streams {
            stream.close()
            traffic.sent += stream.bytesSent
            traffic.received += stream.bytesReceived
        }
        streams = []
        for carrier in carriers { carrier.close() }
        carriers = []
    }
}

/// Dials for one hop: real sockets, the trust store, and events about what happens.
struct NetworkDialer: Dialer {
    let loop: EventLoop
    let options: Fetcher.Options
    /// Of the URL that is fetched.
    let scheme: Scheme
    let limits: Limits
    /// End of the whole fetch.
    let deadline: Instant
    let wire: Wire
    /// To resume; `nil` for a handshake in full.
    var sessions: TLSSessionCache?
    /// Of this hop alone.
    var identity: ClientIdentity?
    let emit: Emit

    private var trustStore: TrustStore { options.trustStore.applied(to: scheme) }

    /// Which way a connection goes.
    func way(to endpoint: Endpoint) throws(FetchError) -> ProxySettings.Choice {
        try options.way(for: scheme, to: endpoint)
    }

    func dial(_ endpoint: Endpoint) async throws(FetchError) -> ByteStream {
        let carrier = try await carrier(to: endpoint)
        let emit = emit
        let stream = ByteStream(
            carrier, idleSeconds: limits.idleSeconds, deadline: deadline
        ) { bytes async throws(FetchError) in
            try await emit(.sent(bytes))
        }
        wire.add(stream)
        return stream
    }

    private var connectDeadline: Instant {
        min(deadline, .after(seconds: limits.connectSeconds))
    }

    private func connector(to endpoint: Endpoint) throws(FetchError) -> Connector {
        let route = try way(to: endpoint).route
        let (loop, emit, store) = (loop, emit, trustStore)
        let connectDeadline = connectDeadline
        return Connector(
            endpoint: endpoint, loop: loop, resolver: options.resolver, route: route,
            handshake: .init(
                asksAuthorities: store.policy.asksAuthorities, identity: identity,
                sessions: sessions
            ) { endpoint, facts async throws(FetchError) in
                try await store.judge(
                    endpoint, facts, now: UTCDate.now, loop: loop, by: connectDeadline)
            },
            onAttempt: { address async throws(FetchError) in
                try await emit(.connecting(endpoint, address: address))
            })
    }

    /// Connects, and says what came of it.
    private func carrier(to endpoint: Endpoint) async throws(FetchError) -> any Carrier {
        var connector = try connector(to: endpoint)
        let carrier: any Carrier
        do throws(FetchError) {
            carrier = try await connector.connect(by: connectDeadline)
        } catch {
            // Whether to accept a refused key is decided by its facts.
            if let connection = connector.connection {
                try await emit(.connected(connection.refused(error, by: trustStore)))
            }
            throw error
        }
        if let connection = connector.connection {
            try await emit(.connected(connection))
            for note in connection.notes + connection.remarks { try await emit(.note(note)) }
        }
        return carrier
    }

    private var programRunner: any ProgramRunner {
        let (wire, emit) = (wire, emit)
        return ProgramExchange(
            on: loop, by: deadline,
            .init(connect: channel) { bytes async throws(FetchError) in
                wire.add(Ending.Traffic(sent: bytes.count))
                try await emit(.sent(bytes))
            } onReceived: {
                wire.add(Ending.Traffic(received: $0))
            })
    }

    private func channel(
        _ program: ProgramRequest
    ) async throws(FetchError) -> any Carrier {
        switch program.transport {
        case .none: throw FetchError(.internal, .plugin, "there is no server to connect to")
        case .stream(let endpoint):
            let carrier = try await carrier(to: endpoint)
            wire.add(carrier)
            return carrier
        case .datagrams(let endpoint):
            _ = try way(to: endpoint)
            let (socket, connection) = try await DatagramSocket.connect(
                to: endpoint, options.resolver, on: loop, by: connectDeadline)
            let host = connection.address?.bracketedHost ?? endpoint.host
            try await emit(.connecting(endpoint, address: "\(host):\(endpoint.port)"))
            try await emit(.connected(connection))
            return socket
        }
    }

    func engine<Engine>(
        _ type: Engine.Type, for endpoint: Endpoint?
    ) throws(FetchError) -> Engine {
        let engine: Any? =
            if type == (any HTTPClient).self { try endpoint.map(curlClient) } else { programRunner }
        guard let engine = engine as? Engine else { throw .noEngine(type) }
        return engine
    }

    func curlClient(for endpoint: Endpoint) throws(FetchError) -> CurlClient {
        let trust = try trustStore.judgedByCurl()
        var client = try CurlClient(
            loop: loop, settings: options.http, resolver: options.resolver,
            route: try way(to: endpoint).route, deadline: deadline, emit: emit
        ) { [wire] in wire.add($0) }
        (client.trust, client.identity) = (trust, identity)
        return client
    }
}

extension Connection {
    /// What the policy lets pass, and a person may want to know all the same.
    fileprivate var remarks: [Note] {
        guard let tls else { return [] }
        var notes: [Note] = []
        if trust?.verdict == .renewed {
            notes.append(
                Note(
                    "key-renewed",
                    "the key is a new one, after the certificate of the old one had expired"))
        }
        if tls.shownIdentity != nil && tls.version != "TLSv1.3" {
            notes.append(
                Note(
                    "identity-in-clear",
                    "before TLS 1.3 the client certificate is sent unencrypted"))
        }
        return notes + tls.certificate.weaknesses(of: endpoint.description)
            + tls.problems(at: UTCDate.now).map { Note($0.rawValue, tls.describe($0)) }
    }

    /// After the trust check threw `error`.
    fileprivate func refused(_ error: FetchError, by store: TrustStore) -> Connection {
        let verdict: Connection.Trust.Verdict = error.outcome == .trustChanged ? .changed : .refused
        let known = store.policy.usesStore ? try? store.hosts().pins(of: endpoint.description) : []
        var refused = Connection(
            endpoint: endpoint, address: address, port: port, tls: tls,
            trust: Connection.Trust(
                verdict: verdict, firstSeen: known?.last?.first, policy: store.policy.rule),
            moments: moments)
        refused.proxy = proxy
        return refused
    }
}
