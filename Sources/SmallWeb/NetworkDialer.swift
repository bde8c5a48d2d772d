// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebTransport

/// What one hop uses, and has used.
final class Wire {
    /// The last one.
    var connection: Connection?
    private(set) var traffic = Traffic()
    private var streams: [ByteStream] = []

    func add(_ stream: ByteStream) { streams.append(stream) }

    func add(_ more: Traffic) {
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
    }
}

/// Dials for one hop: real sockets, the trust store, and events about what happens.
struct NetworkDialer: Dialer {
    let loop: EventLoop
    let options: Fetcher.Options
    let limits: Limits
    /// End of the whole fetch.
    let deadline: Deadline
    let wire: Wire
    /// Of this hop alone.
    var identity: ClientIdentity?
    let emit: Emit

    func dial(_ endpoint: Endpoint) async throws(FetchError) -> ByteStream {
        let (loop, emit, store) = (loop, emit, options.trustStore)
        let connectDeadline = min(deadline, .after(seconds: limits.connectSeconds))
        let transport = SocketTransport(
            endpoint: endpoint, loop: loop, resolver: options.resolver,
            asksAuthorities: store.policy.asksAuthorities, identity: identity,
            trust: { endpoint, facts async throws(FetchError) in
                try await store.judge(
                    endpoint, facts, now: UTCDate.now, loop: loop, by: connectDeadline)
            },
            onAttempt: { address async throws(FetchError) in
                try await emit(.connecting(endpoint, address: address))
            })
        let stream = ByteStream(
            transport: transport, idleSeconds: limits.idleSeconds, deadline: deadline
        ) { bytes async throws(FetchError) in
            try await emit(.sent(bytes))
        }
        wire.add(stream)
        try await stream.start(by: connectDeadline)
        if let connection = transport.connection {
            try await emit(.connected(connection))
            // What the policy lets pass, a person may want to know all the same.
            if let tls = connection.tls {
                if identity != nil && tls.version != "TLSv1.3" {
                    try await emit(
                        .note(
                            Note(
                                "identity-in-clear",
                                "before TLS 1.3 whoever listens sees the client certificate")))
                }
                for problem in tls.problems(at: UTCDate.now) {
                    try await emit(.note(Note(problem.rawValue, tls.describe(problem))))
                }
            }
        }
        return stream
    }

    func httpClient() throws(FetchError) -> any HTTPClient {
        if let policy = options.http.unableTo {
            throw FetchError(
                .usage, .input, "libcurl cannot judge keys by --trust \(policy)",
                hint: "http and https know --trust ca (the default), --pin and --insecure")
        }
        return try CurlClient(
            loop: loop, settings: options.http, resolver: options.resolver, deadline: deadline,
            emit: emit
        ) { [wire] in wire.add($0) }
    }
}
