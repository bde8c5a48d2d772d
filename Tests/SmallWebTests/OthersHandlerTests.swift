// SPDX-License-Identifier: MIT
import Glibc
import SmallWebTestSupport
import SmallWebTransport
import Synchronization
import Testing

@testable import SmallWeb

/// Handlers as others write them: they call actors, choose executors, wait and block.
@Suite(.timeLimit(.minutes(30)))
struct OthersHandlerTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    private func web(
        _ body: @escaping Wanderer.Body, _ onEvent: @escaping @Sendable () -> Void = {}
    ) throws -> Client {
        try bench.web(plugins: Registry.builtIn.adding(Wanderer(body: body)))
    }

    /// Where a handler goes to before each call.
    @Test(arguments: [Excursion.none, .mainActor, .actor, .pool, .loop, .task])
    func itsCallsReturnToTheLoop(_ excursion: Excursion) async throws {
        let server = try LoopbackServer { peer in
            guard peer.readLine() != nil else { return }
            peer.write("one\ntwo and three")
            _ = peer.readLine()
            peer.write(" four")
        }
        let web = try web { request, dialer, emit async throws(FetchError) in
            try await excursion.take { () async throws(FetchError) in
                let stream = try await dialer.dial(request.endpoint)
                defer { stream.close() }
                // @unchecked: one call at a time.
                nonisolated(unsafe) let (there, tell) = (stream, emit)
                try await excursion.take { () async throws(FetchError) in
                    try await there.writeAll(Array("hello\r\n".utf8))
                }
                try await excursion.take { () async throws(FetchError) in
                    try await tell(.head(Head(.success, mediaType: MediaType("text/plain"))))
                }
                for step in 0..<3 {
                    try await excursion.take { () async throws(FetchError) in
                        let bytes =
                            switch step {
                            case 0: try await there.readLine(upTo: 100)
                            case 1: try await there.readExactly(3)
                            default: try await there.readSome(upTo: 4)
                            }
                        try await tell(.body(bytes))
                    }
                }
                try await excursion.take { () async throws(FetchError) in
                    try await there.awaitReply(to: request)
                    _ = try await there.writeUnlessAnswered([10])
                    try await there.writeAll([10])
                    _ = try await there.readToEnd { bytes async throws(FetchError) in
                        await excursion.visit()
                        try await tell(.body(bytes))
                    }
                }
            }
            return .complete
        }
        for _ in 0..<4 {
            let page = try await web.fetch(server.url("/", scheme: "wander"))
            #expect(page.text == "one\ntwo and three four")
        }
        #expect(server.clientSockets == 0)
    }

    /// One that a handler finds in the answer of a server; without an answer it is an error.
    @Test(arguments: [Outcome.permanentFailure, .temporaryFailure, .protocolError], [true, false])
    func itsRefusalIsAPage(_ outcome: Outcome, _ isAnswered: Bool) async throws {
        let server = try LoopbackServer { $0.write("no\n") }
        let web = try web { request, dialer, _ async throws(FetchError) in
            if isAnswered { _ = try await dialer.dial(request.endpoint).readLine(upTo: 10) }
            throw FetchError(outcome, .body, "not there", hint: "look elsewhere")
        }
        let url = server.url("/", scheme: "wander")
        guard isAnswered, outcome != .protocolError else {
            let error = await #expect(throws: FetchError.self) { try await web.fetch(url) }
            #expect(error?.outcome == outcome)
            return
        }
        let page = try await web.fetch(url)
        #expect(page.outcome == outcome)
        #expect(page.ending.message == "the server refused: not there: look elsewhere")
    }

    @Test(arguments: [Excursion.mainActor, .pool, .task])
    func itsHTTPReturnsToTheLoop(_ excursion: Excursion) async throws {
        let server = try LoopbackServer(handler: DemoSites.web)
        let web = try web { request, dialer, emit async throws(FetchError) in
            let client = try dialer.httpClient(for: request.endpoint)
            var uri = request.uri
            uri.scheme = "http"
            let asked = try HTTPRequest(request, uri: uri, options: HTTPOptions())
            // @unchecked: one call at a time.
            nonisolated(unsafe) let (there, tell) = (client, emit)
            try await excursion.take { () async throws(FetchError) in
                _ = try await there.exchange(asked) { reply async throws(FetchError) in
                    await excursion.visit()
                    try await tell(.head(Head(.success)))
                } onBody: { bytes async throws(FetchError) in
                    await excursion.visit()
                    try await tell(.body(bytes))
                }
            }
            return .complete
        }
        let page = try await web.fetch(server.url("/1k", scheme: "wander"))
        #expect(page.body.count == 1024)
    }

    /// In a process of its own, since all tests share few threads.
    @Test func aThreadThatItBlocksIsNotWaitedFor() async {
        await #expect(processExitsWith: .success) {
            let server = try LoopbackServer { peer in peer.hang() }
            let plain = try LoopbackServer { $0.write("y") }
            let (isFreed, hasEnded) = (Monitor(false), Monitor(false))
            let handler = Wanderer { request, dialer, _ async throws(FetchError) in
                let stream = try await dialer.dial(request.endpoint)
                while !isFreed.update({ $0 }) { usleep(1000) }
                hasEnded.update { $0 = true }
                _ = try await stream.readSome()
                return .complete
            }
            let web = try Bench().web(plugins: Registry.builtIn.adding(handler))
            let error = await #expect(throws: FetchError.self) {
                let limits = Limits(total: .milliseconds(300))
                return try await web.fetch(server.url("/", scheme: "wander"), limits: limits)
            }
            let page = try await web.fetch(plain.url("/", scheme: "finger"))
            let isLeft = !hasEnded.update { $0 }
            isFreed.update { $0 = true }
            exit(error?.outcome == .timeout && isLeft && page.text == "y" ? 0 : 1)
        }
    }

    /// Every way to wait ends with the time of the fetch, which other fetches do not wait for.
    @Test(arguments: Rest.allCases)
    func itsRestEndsWithTheFetch(_ rest: Rest) async throws {
        let server = try LoopbackServer { peer in
            peer.write("x")
            peer.hang()
        }
        let plain = try LoopbackServer { $0.write("y") }
        let (isResting, hasEnded, isFreed) = (Monitor(false), Monitor(false), Monitor(false))
        let said = Recorder<FetchError?>()
        let web = try web { request, dialer, emit async throws(FetchError) in
            defer { hasEnded.update { $0 = true } }
            let stream = try await dialer.dial(request.endpoint)
            defer { stream.close() }
            try await emit(.head(Head(.success)))
            try await emit(.body(stream.readSome()))
            isResting.update { $0 = true }
            await rest.take(isFreed)
            for call in 0..<3 {
                do throws(FetchError) {
                    switch call {
                    case 0: try await emit(.body([1]))
                    case 1: _ = try await stream.readSome()
                    default: _ = try await dialer.dial(request.endpoint)
                    }
                    said.add(nil)
                } catch {
                    said.add(error)
                }
            }
            return .complete
        }
        let url = server.url("/", scheme: "wander")
        // A busy machine may need longer until it rests.
        for seconds in [0.2, 2, 20] {
            let error = await #expect(throws: FetchError.self) {
                try await web.fetch(url, limits: Limits(total: .seconds(seconds)))
            }
            #expect(error?.outcome == .timeout)
            if isResting.update({ $0 }) { break }
        }
        #expect(server.clientSockets == 0)
        let cancelled = Task { try await web.fetch(url) }
        try await eventually("it has connected") { server.clientSockets == 1 }
        #expect(try await web.fetch(plain.url("/", scheme: "finger")).text == "y")
        cancelled.cancel()
        let error = await #expect(throws: FetchError.self) { _ = try await cancelled.value }
        #expect(error?.outcome == .interrupted)
        try await eventually("its connection is closed") { server.clientSockets == 0 }
        isFreed.update { $0 = true }
        try await eventually("it has ended") { hasEnded.update { $0 } }
        // Its acts have no effect when nobody waits for it any more.
        try await eventually("its calls fail") { said.values.count >= 3 }
        #expect(said.values.allSatisfy { $0 != nil })
    }
}

/// A protocol whose exchange is a closure.
struct Wanderer: ProtocolHandler {
    typealias Body =
        @Sendable (Request, any Dialer, Emit) async throws(FetchError) -> Completeness

    let body: Body
    let schemes = [
        Scheme("wander", plugin: "wander", port: 1, transport: .tcp, summary: "A test's protocol")
    ]

    func fetch(
        _ request: Request, dialer: any Dialer, emit: Emit
    ) async throws(FetchError) -> Completeness {
        try await body(request, dialer, emit)
    }
}

private actor Elsewhere {
    static let shared = Elsewhere()
    private var count = 0

    func add() { count += 1 }
}

@MainActor private enum Log {
    static var count = 0
}

/// A place that a handler goes to.
enum Excursion: Sendable, CaseIterable {
    case none, mainActor, actor
    /// The pool of threads, by `@concurrent`.
    case pool
    /// The thread of another loop, by its preference.
    case loop
    /// A task of its own.
    case task

    private static let other = try? LoopThread()

    @MainActor private static func count() { Log.count += 1 }

    @concurrent private static func leave() async { await Task.yield() }

    /// Goes there and returns, as far as the compiler lets it.
    @inline(never)
    func visit() async {
        switch self {
        case .mainActor: await Self.count()
        case .actor: await Elsewhere.shared.add()
        case .pool: await Self.leave()
        case .none, .loop, .task: break
        }
    }

    @concurrent private static func result(
        of body: () async throws(FetchError) -> Void
    ) async -> Result<Void, FetchError> {
        do throws(FetchError) {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }

    /// Runs `body` there.
    func take(_ body: () async throws(FetchError) -> Void) async throws(FetchError) {
        await visit()
        // @unchecked: the caller waits.
        nonisolated(unsafe) let body = body
        switch self {
        case .loop:
            try await withTaskExecutorPreference(Self.other?.loop) { () async throws(FetchError) in
                try await body()
            }
        case .task:
            async let result = Self.result(of: body)
            try await result.get()
        default: try await body()
        }
        await visit()
    }
}

/// A handler's way to wait.
enum Rest: Sendable, CaseIterable {
    case sleeping
    /// For somebody else, through a cancellation.
    case waiting

    func take(_ isFreed: Monitor<Bool>) async {
        switch self {
        case .sleeping: try? await Task.sleep(for: .seconds(1000))
        case .waiting:
            await withCheckedContinuation { continuation in
                Task.detached {
                    try? await eventually("it is freed") { isFreed.update { $0 } }
                    continuation.resume()
                }
            }
        }
    }
}
