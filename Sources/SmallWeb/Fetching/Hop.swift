// SPDX-License-Identifier: MIT
package import SmallWebCore
package import SmallWebTransport

/// One exchange of a fetch: its settings, connections and traffic.
package final class Hop {
    /// The fetcher with the options for the URL of this hop.
    let fetcher: Fetcher
    package var loop: EventLoop { fetcher.loop }
    package var registry: Registry { fetcher.registry }
    /// The trust store with the policy for a server.
    package func trustStore(for endpoint: Endpoint) -> TrustStore {
        fetcher.options.trustStore.applied(to: scheme, endpoint)
    }
    let scheme: Scheme
    package let limits: Limits
    /// Deadline of the whole fetch.
    package let deadline: Instant
    /// Deadline of a connection that begins now.
    var connectDeadline: Instant { min(deadline, .end(of: limits.connectSeconds)) }
    /// Sessions to resume; `nil` for a full handshake.
    var sessions: TLSSessionCache?
    /// The client certificate of this hop alone, for the server of its URL.
    private var identity: (shown: ClientIdentity, endpoint: Endpoint)?
    /// The URI that was asked for, if a redirect has led here.
    var origin: URI?
    var reach = Reach()
    /// The connection to the server of the URL.
    private(set) var connection: Connection?
    /// Number of the attempt, from 1.
    package internal(set) var attempt = 1
    /// Time of the recording that is played, in microseconds since 1970; `nil` before one is.
    package var recorded: Int?
    /// Records the traffic; `nil` if nothing is recorded.
    package var tap: (any HopTap)?
    package let emit: Emit

    /// True if the plugin is a program.
    var isOfProgram = false
    /// Secrets to mask in the program's requests and in the URLs it opens.
    package internal(set) var secrets: [[UInt8]] = []
    /// By connection number of the program: a secret may come in pieces, with bytes of other
    /// connections in between.
    private var masks: [Int: SecretMask] = [:]

    private(set) var traffic = Ending.Traffic()
    /// Connections of its program; `nil` without one.
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

    func show(_ identity: ClientIdentity, to endpoint: Endpoint) {
        self.identity = (identity, endpoint)
    }

    package var hasIdentity: Bool { identity != nil }

    /// The client certificate for a server; `nil` for one that a reply has named, which gets
    /// nothing meant for another. The server is the same where TLS begins later.
    func identity(for endpoint: Endpoint) -> ClientIdentity? {
        identity.flatMap { $0.endpoint.isSameServer(as: endpoint) ? $0.shown : nil }
    }

    func way(to endpoint: Endpoint) throws(FetchError) -> ProxySettings.Choice {
        try fetcher.way(for: scheme, to: endpoint)
    }

    /// A stream that keeps the limits, reports the bytes it sends, and is closed with the hop.
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

    /// Reports bytes that a program has sent over the connection with this number, without secrets.
    package func show(sent bytes: [UInt8], over number: Int) async throws(FetchError) {
        let shown = masks[number, default: SecretMask(secrets)].add(bytes)
        // All of them may be the beginning of a secret.
        if !shown.isEmpty || bytes.isEmpty { try await emit(.sent(shown)) }
    }

    /// Reports the bytes held back as a possible beginning of a secret.
    func endSent() async throws(FetchError) {
        for number in masks.keys.sorted() {
            let rest = masks[number]?.finish() ?? []
            if !rest.isEmpty { try await emit(.sent(rest)) }
        }
    }

    package func add(_ carrier: any Carrier) { carriers.append(carrier) }

    /// Reports an event, to the tap with its secrets.
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

    func close() {
        for stream in streams {
            stream.letGo()
            traffic.sent += stream.bytesSent
            traffic.received += stream.bytesReceived
        }
        streams = []
        for carrier in carriers { carrier.close() }
        carriers = []
    }
}
