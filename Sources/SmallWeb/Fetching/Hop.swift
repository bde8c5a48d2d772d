// SPDX-License-Identifier: MIT
package import SmallWebCore
package import SmallWebTransport

/// One exchange of a fetch: what holds for its connections, and what they have used.
package final class Hop {
    /// With the options that hold for the URL of this hop.
    let fetcher: Fetcher
    package var loop: EventLoop { fetcher.loop }
    package var registry: Registry { fetcher.registry }
    /// With the policy of the scheme.
    package var trustStore: TrustStore { fetcher.options.trustStore.applied(to: scheme) }
    /// Of the URL that is fetched.
    let scheme: Scheme
    package let limits: Limits
    /// End of the whole fetch.
    package let deadline: Instant
    /// To resume; `nil` for a handshake in full.
    var sessions: TLSSessionCache?
    /// Of this hop alone, for the server of its URL.
    private var identity: (shown: ClientIdentity, endpoint: Endpoint)?
    /// What was asked for, where a redirect has led here.
    var origin: URI?
    /// Whether all servers that have led here were at private addresses.
    var mayLeadToPrivate = true
    /// The first, which is to the server of the URL.
    private(set) var connection: Connection?
    /// Which attempt of its request it is part of, from 1.
    package internal(set) var attempt = 1
    /// Sees what is sent and received; `nil` where nothing is recorded.
    package var tap: (any HopTap)?
    package let emit: Emit

    /// What must not be shown or kept of what a program has sent or opened.
    package internal(set) var secrets: [[UInt8]] = []
    /// By the numbers of a program's connections: a secret may come in pieces, between which others
    /// send.
    private var masks: [Int: SecretMask] = [:]

    private(set) var traffic = Ending.Traffic()
    /// How many connections its program has had; `nil` without one.
    var programConnections: Int?
    private var streams: [ByteStream] = []
    private var carriers: [any Carrier] = []

    init(
        _ fetcher: Fetcher, _ scheme: Scheme, _ limits: Limits, by deadline: Instant,
        emit: @escaping Emit
    ) {
        self.fetcher = fetcher
        self.scheme = scheme
        self.limits = limits
        self.deadline = deadline
        self.emit = emit
    }

    /// Sets what is shown to the server of the URL that is fetched.
    func show(_ identity: ClientIdentity, to endpoint: Endpoint) {
        self.identity = (identity, endpoint)
    }

    /// Whether the user has one for the URL.
    var hasIdentity: Bool { identity != nil }

    /// What a server may be shown: one that a reply has named gets nothing that was meant for
    /// another. The server is the same where TLS begins later.
    func identity(for endpoint: Endpoint) -> ClientIdentity? {
        identity?.endpoint.description == endpoint.description ? identity?.shown : nil
    }

    /// How the servers are looked up that a reply names. Those of the internet lead to no private
    /// address.
    ///
    /// - Throws: `connect` where `endpoint` is one.
    func resolver(for endpoint: Endpoint) throws(FetchError) -> Resolver {
        var resolver = fetcher.options.resolver
        // Where the user has named the way, nothing else is reached.
        guard let connection, !(connection.isPrivate && mayLeadToPrivate),
            !fetcher.options.http.isSpecial
        else { return resolver }
        guard !Resolver.isPrivate(literal: endpoint.host) else {
            throw .privateAddress(endpoint.host)
        }
        resolver.refusesPrivate = true
        return resolver
    }

    func way(to endpoint: Endpoint) throws(FetchError) -> ProxySettings.Choice {
        try fetcher.options.way(for: scheme, to: endpoint)
    }

    /// A stream that keeps the limits, says what it sends, and is closed with the hop.
    package func stream(over carrier: any Carrier) -> ByteStream {
        let emit = emit
        let stream = ByteStream(
            carrier, idleSeconds: limits.idleSeconds, deadline: deadline
        ) { bytes async throws(FetchError) in
            try await emit(.sent(bytes))
        }
        streams.append(stream)
        return stream
    }

    /// Says what a program has sent over the connection with this number, without its secrets.
    package func show(sent bytes: [UInt8], over number: Int) async throws(FetchError) {
        let shown = masks[number, default: SecretMask(secrets)].add(bytes)
        // All of it may be the beginning of a secret.
        if !shown.isEmpty || bytes.isEmpty { try await emit(.sent(shown)) }
    }

    /// Shows the rest of what was sent.
    func endSent() async throws(FetchError) {
        for number in masks.keys.sorted() {
            let rest = masks[number]?.finish() ?? []
            if !rest.isEmpty { try await emit(.sent(rest)) }
        }
    }

    package func add(_ carrier: any Carrier) { carriers.append(carrier) }

    /// Says what happens: to the tap with the secrets that are in it.
    package func say(_ event: Event) async throws(FetchError) {
        tap?.note(event)
        if case .connected(let connection) = event {
            self.connection = self.connection ?? connection
        }
        try await emit(event)
    }

    package func add(_ more: Ending.Traffic) {
        traffic.sent += more.sent
        traffic.received += more.received
    }

    /// Closes whatever the plugin left open.
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

extension Connection {
    /// Whether it is to a private address.
    var isPrivate: Bool { Resolver.isPrivate(literal: address ?? endpoint.host) }
}
