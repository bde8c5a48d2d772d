// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebTransport

/// Makes the connections of one run of a program.
final class ProgramDialer: ProgramNetwork {
    private let dialer: NetworkDialer
    private var hop: Hop { dialer.hop }
    /// Facts of the connection of the URL, once it is made.
    private var first: Connection?
    /// Connections that the program has opened, by their numbers.
    private var opened: [Int: (endpoint: Endpoint, facts: Connection?)] = [:]
    private var fetches: [ProgramFetch] = []
    /// TLS sessions that the program has begun on the first connection, for its others to resume:
    /// some servers need that, to know that it is the same client. Not shared with other exchanges,
    /// since a connection that breaks off because of a resumed session could not be made again.
    private var sessions: TLSSessionCache?

    init(dialer: NetworkDialer) {
        self.dialer = dialer
        hop.programConnections = 0
    }

    func noteSent(_ bytes: [UInt8], over number: Int) async throws(FetchError) {
        hop.add(Ending.Traffic(sent: bytes.count))
        try await hop.show(sent: bytes, over: number)
    }

    func noteReceived(_ count: Int) { hop.add(Ending.Traffic(received: count)) }

    func finish() async {
        for fetch in fetches { hop.add(await fetch.end()) }
    }

    func dial(for program: ProgramRequest) async throws(FetchError) -> any Carrier {
        switch program.transport {
        case .none: throw FetchError(.internal, .plugin, "there is no server to connect to")
        case .stream(let endpoint):
            let (carrier, facts) = try await dialer.connection(
                to: endpoint, try await hop.resolver(ofProgramFor: endpoint))
            first = facts
            add(carrier)
            return hop.tap?.tee(carrier, keepsDatagrams: false) ?? carrier
        case .datagrams(let endpoint):
            hop.tap?.dials()
            _ = try hop.way(to: endpoint)
            let (socket, connection) = try await DatagramSocket.connect(
                to: endpoint, acceptsAnyPort: program.acceptsAnyPort,
                try await hop.resolver(ofProgramFor: endpoint), on: hop.loop,
                by: hop.connectDeadline)
            first = connection
            add(socket)
            try await sayConnecting(endpoint, connection)
            try await hop.say(.connected(connection))
            return hop.tap?.tee(socket, keepsDatagrams: true) ?? socket
        }
    }

    private func add(_ carrier: any Carrier) {
        hop.add(carrier)
        hop.programConnections? += 1
    }

    private func sayConnecting(
        _ endpoint: Endpoint, _ connection: Connection
    ) async throws(FetchError) {
        let host = connection.address?.bracketedHost ?? endpoint.host
        try await hop.say(.connecting(endpoint, address: "\(host):\(endpoint.port)"))
    }

    // MARK: After the first

    /// Connects to an endpoint that the manifest allows. The URL's own host keeps the address of
    /// its connection: another answer for the same name does not count.
    func open(
        _ number: Int, _ kind: ProgramConnection, _ endpoint: Endpoint, for program: ProgramRequest
    ) async throws(FetchError) -> Opened {
        let isDirect = try hop.way(to: endpoint).route == .direct
        var resolver = hop.fetcher.options.resolver
        if endpoint.host == program.host, let address = first?.address, isDirect {
            resolver.overrides[endpoint.description] = [address]
        } else if !(try await hop.isPrivate(program, first)) {
            resolver = try resolver.refusingPrivate(endpoint)
        }
        switch kind {
        case .tcp:
            var connector = try dialer.connector(
                to: endpoint, resolver,
                store(program, for: place(of: endpoint, program) ?? endpoint),
                judgedAs: place(of: endpoint, program),
                sessions: sessions)
            let carrier = try await connector.connect(by: hop.connectDeadline)
            opened[number] = (endpoint, connector.connection)
            add(carrier)
            return (carrier, connector.connection?.address)
        case .udp:
            guard isDirect else {
                throw FetchError(.connect, .proxy, "no proxy carries datagrams to \(endpoint)")
            }
            let (socket, connection) = try await DatagramSocket.connect(
                to: endpoint, resolver, on: hop.loop, by: hop.connectDeadline)
            add(socket)
            try await sayConnecting(endpoint, connection)
            return (socket, connection.address)
        }
    }

    /// Fetches a URL that the manifest allows, without anything that is the user's alone, such as
    /// the identities.
    func fetch(
        _ url: String, for program: ProgramRequest
    ) async throws(FetchError) -> FetchedReply {
        let registry = hop.fetcher.registry
        let allows = { @Sendable (uri: URI) in
            let usual = registry[uri.scheme]?.scheme.defaultPort ?? 0
            let port = uri.port ?? usual
            return program.mayFetch(uri, port, port == usual)
        }
        let uri: URI
        do throws(FetchError) {
            uri = try hop.fetcher.uri(of: url).withASCIIHost().removingDotSegments()
        } catch {
            throw .plugin("the program opens \(url): \(error.message)")
        }
        guard allows(uri) else {
            throw .plugin(
                "the program opens \(url), which its manifest does not allow in \"opens\"")
        }
        var request = try hop.fetcher.request(uri)
        guard registry[uri.scheme]?.handler.programVersion == nil else {
            throw FetchError(
                .unsupportedScheme, .input, "a program cannot open what another program fetches")
        }
        let endpoint = try request.endpoint
        let mayBePrivate = try await hop.isPrivate(program, first)
        // A proxy looks names up: only a literal address is known here.
        let isAllowed = { @Sendable (uri: URI) in
            allows(uri) && (mayBePrivate || !Resolver.isPrivate(literal: uri.host ?? ""))
        }
        guard isAllowed(uri) else { throw .privateAddress(endpoint.host) }
        request.limits = hop.limits
        request.programSecrets = hop.secrets
        if hop.deadline != .never {
            request.limits.totalSeconds = hop.deadline.seconds(since: .now)
        }
        var fetcher = try hop.fetcher.afterRedirect(to: uri)
        let isDirect = try fetcher.way(for: request.scheme, to: endpoint).route == .direct
        let own = endpoint.host == program.host && isDirect ? first?.address : nil
        fetcher = fetcher.changed { options in
            options.leaveOutWhatIsForTheUser()
            if !mayBePrivate { options.resolver.refusesPrivate = true }
            if let own { options.resolver.overrides[endpoint.description] = [own] }
            let opens = options.opens
            options.opens = { redirect in
                guard isAllowed(redirect.to) else { return false }
                return await opens?(redirect) ?? true
            }
            options.network = options.network.withoutOthers
        }
        let fetch = try ProgramFetch(fetcher, request, for: hop)
        fetches.append(fetch)
        let reply = try await fetch.reply()
        hop.programConnections? += 1
        return reply
    }

    /// The endpoint whose key is expected: a data connection has the key of its server, whatever
    /// its port; `nil` for its own.
    private func place(of endpoint: Endpoint, _ program: ProgramRequest) -> Endpoint? {
        guard endpoint.host == program.host, let own = first?.endpoint, own.security == .tls else {
            return nil
        }
        return own
    }

    /// The trust store by the rules of the manifest: TLS that a program asks for has no scheme of
    /// its own.
    private func store(_ program: ProgramRequest, for endpoint: Endpoint) -> TrustStore? {
        guard program.asksAuthorities else { return nil }
        var scheme = hop.scheme
        scheme.trust = .ca
        return hop.fetcher.options.trustStore.applied(to: scheme, endpoint)
    }

    /// STARTTLS: TLS over a connection that is open.
    func secure(
        _ number: Int, _ channel: any Carrier, for program: ProgramRequest
    ) async throws(FetchError) -> Opened {
        guard let plain = number == 0 ? program.endpoint : opened[number]?.endpoint else {
            preconditionFailure("the connection is open")
        }
        let endpoint = Endpoint(host: plain.host, port: plain.port, security: .tls)
        let expected = number == 0 ? endpoint : place(of: endpoint, program) ?? endpoint
        let store = store(program, for: expected) ?? hop.trustStore(for: expected)
        let sessions = number == 0 ? TLSSessionCache() : sessions ?? TLSSessionCache()
        if number == 0 { self.sessions = sessions }
        var connector = try dialer.connector(
            to: endpoint, nil, store, judgedAs: expected,
            sessions: sessions)
        let wrapper = channel as? any CarrierWrapper
        let carrier: any Carrier
        do throws(FetchError) {
            carrier = try await connector.upgrade(
                wrapper?.wrapped ?? channel, of: number == 0 ? first : opened[number]?.facts,
                by: hop.connectDeadline)
        } catch {
            if let connection = connector.connection {
                try await hop.say(.connected(connection.refused(error, by: store)))
            }
            throw error
        }
        hop.add(carrier)
        let address = connector.connection?.address
        if number == 0, let connection = connector.connection {
            first = connection
            try await hop.say(.connected(connection))
            for note in connection.remarks { try await hop.emit(.note(note)) }
        }
        guard let wrapper else { return (carrier, address) }
        wrapper.wrapped = carrier
        return (wrapper, address)
    }
}

extension ProgramRequest {
    /// The server of its URL; `nil` if it needs none.
    var endpoint: Endpoint? {
        switch transport {
        case .none: nil
        case .stream(let endpoint), .datagrams(let endpoint): endpoint
        }
    }
}
