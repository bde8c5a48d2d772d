// SPDX-License-Identifier: MIT
import Glibc
import SmallWebCore
import SmallWebTestSupport
import Testing

@testable import SmallWebTransport

/// Runs `body` on an event loop of its own thread, which ends with it.
//
// `@concurrent` as in `Fetcher.run`: the preference would not cover a body entered from an actor.
@concurrent
func onLoop<Value: Sendable>(
    _ body: @Sendable (EventLoop) async throws -> Value
) async throws -> Value {
    let thread = try LoopThread()
    defer { thread.end() }
    let loop = thread.loop
    return try await withTaskExecutorPreference(loop) {
        // Load-bearing: without it Swift 6.3.1 drops the hop to the loop, because the closure does
        // nothing but await another nonsending one.
        precondition(loop.isCurrent)
        return try await body(loop)
    }
}

/// Error thrown by `body`, or `nil`.
func failure(_ body: () async throws(FetchError) -> Void) async -> FetchError? {
    do throws(FetchError) {
        try await body()
        return nil
    } catch {
        return error
    }
}

/// Seconds that `body` takes.
func elapsed(_ body: () async throws -> Void) async rethrows -> Double {
    let start = ProcessClock.monotonic
    try await body()
    return Double(ProcessClock.monotonic - start) / 1e9
}

typealias Trust = Connector.TrustCheck

func trustAll(_: Endpoint, _: Connection.TLS) async throws(FetchError) -> Connection.Trust {
    Connection.Trust(verdict: .skipped, firstSeen: nil, policy: .skip)
}

/// A stream to `port` of 127.0.0.1.
func stream(
    to port: UInt16, as host: String = "127.0.0.1", _ security: Endpoint.Security = .none,
    on loop: EventLoop, connect: Instant = .after(seconds: 10), idle: Double? = 20,
    deadline: Instant = .after(seconds: 30), trust: @escaping Trust = trustAll
) async throws(FetchError) -> ByteStream {
    var connector = connector(to: port, as: host, security, on: loop, trust: trust)
    return ByteStream(
        try await connector.connect(by: min(connect, deadline)), idleSeconds: idle,
        deadline: deadline)
}

func connector(
    to port: UInt16, as host: String = "127.0.0.1", _ security: Endpoint.Security,
    on loop: EventLoop, trust: @escaping Trust = trustAll
) -> Connector {
    let endpoint = Endpoint(host: host, port: port, security: security)
    return Connector(
        endpoint: endpoint, loop: loop,
        resolver: Resolver(overrides: [endpoint.description: ["127.0.0.1"]]),
        handshake: .init(trust: trust), onAttempt: { _ in })
}

/// Plain TCP and TLS, for tests that must hold over both.
enum Layer: CaseIterable, Sendable {
    case tcp, tls

    var security: Endpoint.Security { self == .tls ? .tls : .none }

    func server(_ handler: @escaping @Sendable (Peer) -> Void) throws -> LoopbackServer {
        try LoopbackServer(tls: self == .tls ? .shared : nil, handler: handler)
    }

    func stream(
        to server: LoopbackServer, on loop: EventLoop, connect: Instant = .after(seconds: 10),
        idle: Double? = 20, deadline: Instant = .after(seconds: 60)
    ) async throws(FetchError) -> ByteStream {
        try await SmallWebTransportTests.stream(
            to: server.port, security, on: loop, connect: connect, idle: idle, deadline: deadline)
    }
}

extension TestCertificate {
    /// For tests that do not care.
    static let shared = TestCertificate.make()
}

/// Two connected descriptors; the first is for a transport, the second stays blocking.
func socketPair(sendBuffer: Int32? = nil) throws -> (Int32, Int32) {
    var pair: [Int32] = [0, 0]
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    _ = try systemCall { socketpair(AF_UNIX, kind, 0, &pair) }
    if var size = sendBuffer {
        for descriptor in pair {
            setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, 4)
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, 4)
        }
    }
    return (pair[0], pair[1])
}

/// A stream over one end of a socket pair.
func adopt(
    _ descriptor: Int32, on loop: EventLoop, idle: Double? = 20,
    deadline: Instant = .after(seconds: 30)
) async throws(FetchError) -> ByteStream {
    do throws(SystemError) {
        return ByteStream(
            try TCPSocket(adopting: descriptor, on: loop), idleSeconds: idle, deadline: deadline)
    } catch {
        throw FetchError(.connect, .connect, error.sentence)
    }
}

/// Runs blocking `body` on a thread of its own.
func onThread(_ body: @escaping @Sendable () -> Void) throws(FetchError) {
    try Thread.detach(body)
}
