// SPDX-License-Identifier: MIT
import SmallWeb
import SmallWebTestSupport
import Testing

/// A stream without a handler, and what peers and bodies may do to it.
@Suite(.timeLimit(.minutes(30)))
struct StreamTests {
    private let bench: Bench
    private let states = Recorder<ByteStream.State>()

    init() throws { bench = try Bench() }

    private struct Own: Error, Hashable {}

    /// Takes a stream out of its body, as a program with a mistake does.
    private final class Thief: @unchecked Sendable {
        var stream: ByteStream?
    }

    private func place(
        _ server: LoopbackServer, _ security: Endpoint.Security = .none
    ) -> Endpoint {
        Endpoint(host: "127.0.0.1", port: server.port, security: security)
    }

    /// The outcome of using a stream to `server`; `nil` without an error.
    private func outcome(
        _ server: LoopbackServer, _ limits: Limits = Limits(),
        _ body: @escaping @Sendable (ByteStream) async throws -> Void
    ) async throws -> Outcome? {
        do {
            let states = states
            try await bench.web().withStream(
                to: place(server), limits: limits, onState: { states.add($0) }, body)
            return nil
        } catch let error as FetchError {
            #expect(error.url == "127.0.0.1:\(server.port)")
            return error.outcome
        }
    }

    /// The states of one stream, the last one without its error.
    private func checkStates(_ last: Outcome?) {
        let values = states.values
        #expect(values.dropLast() == [.initialised, .starting, .started])
        guard case .stopped(let error)? = values.last else {
            Issue.record("it has not stopped: \(values)")
            return
        }
        #expect(error?.outcome == last)
    }

    @Test func aRequestIsWrittenAndItsReplyReadOverTLS() async throws {
        let server = try LoopbackServer.capsule()
        let states = states
        let web = try bench.web()
        for _ in 0..<2 {
            let body = try await web.withStream(
                to: place(server, .tls), onState: { states.add($0) }
            ) { stream in
                try await stream.writeAll("gemini://127.0.0.1/about\r\n".utf8)
                let head = try await stream.readMessage(by: LineFramer(lineBytesMax: 1024))
                #expect(head?.prefix(3) == Array("20 ".utf8)[...])
                var body: [UInt8] = []
                #expect(try await stream.readToEnd { body += $0 } == .closeNotify)
                return body
            }
            #expect(!body.isEmpty)
        }
        #expect(states.values.prefix(4) == [.initialised, .starting, .started, .stopped(nil)])
        #expect(server.clientSockets == 0)
    }

    @Test func aKeyThatIsNotTrustedGetsNoBody() async throws {
        let server = try LoopbackServer.capsule()
        let states = states
        let web = try bench.web {
            $0.trust = TrustStore(path: bench.storePath, policy: .locked)
        }
        let error = await #expect(throws: FetchError.self) {
            try await web.withStream(to: place(server, .tls), onState: { states.add($0) }) { _ in
                Issue.record("the stream was handed out")
            }
        }
        #expect(error?.outcome == .untrusted)
        #expect(states.values == [.initialised, .starting, .stopped(error?.withoutURL)])
        server.stop()
        #expect(server.connections.allSatisfy { $0.received.isEmpty })
    }

    @Test(arguments: ["socks4a", "socks5h", "http"])
    func theProxyIsThatOfAFetch(_ kind: String) async throws {
        let server = try LoopbackServer { $0.write($0.readLine() ?? []) }
        let proxy = try DemoProxy()
        let web = try bench.web { $0.proxies = .through(proxy.url(kind)) }
        let line = try await web.withStream(to: place(server)) { stream in
            try await stream.writeAll([65, 10][...])
            return Array(try await stream.readLine(upTo: 10))
        }
        #expect(line == [65, 10])
        #expect(proxy.orders.map(\.host) == ["127.0.0.1"])
    }

    @Test func anAddressThatIsRefusedIsNotAsked() async throws {
        let server = try LoopbackServer.capsule()
        let web = try bench.web { $0.resolver.isPublicOnly = true }
        for host in ["127.0.0.1", "localhost"] {
            let endpoint = Endpoint(host: host, port: server.port, security: .none)
            let error = await #expect(throws: FetchError.self) {
                try await web.withStream(to: endpoint) { _ in }
            }
            #expect(error?.outcome == .refusedAddress)
        }
        server.stop()
        #expect(server.connections.isEmpty)
    }

    @Test(arguments: ["", " ", "a b", "a\r\nb", "a/b", "a@b", "a:b", "[", "\u{0}"])
    func anEndpointWithoutAHostIsRefused(_ host: String) async throws {
        let web = try bench.web()
        let endpoint = Endpoint(host: host, port: 1, security: .none)
        let states = states
        let error = await #expect(throws: FetchError.self) {
            try await web.withStream(to: endpoint, onState: { states.add($0) }) { _ in }
        }
        #expect(states.values == [.initialised, .starting, .stopped(error?.withoutURL)])
    }

    // MARK: Peers

    @Test func aPeerThatNeverSendsEndsAtTheLimit() async throws {
        let server = try LoopbackServer { $0.hang() }
        for (limits, words) in [
            (Limits(idle: .milliseconds(100)), "the server was silent for too long"),
            (
                Limits(total: .milliseconds(100), idle: nil),
                "the stream was open for longer than 0.1 s"
            ),
            (
                Limits(total: .milliseconds(100), idle: .seconds(60)),
                "the stream was open for longer than 0.1 s"
            ),
        ] {
            let error = await #expect(throws: FetchError.self) {
                try await bench.web().withStream(to: place(server), limits: limits) {
                    _ = try await $0.readSome()
                }
            }
            #expect(error?.outcome == .timeout && error?.message == words)
        }
        #expect(server.clientSockets == 0)
    }

    @Test func aBodyThatPassesOverItsEndIsLate() async throws {
        let server = try LoopbackServer { $0.hang() }
        let limits = Limits(total: .milliseconds(100))
        let error = await #expect(throws: FetchError.self) {
            try await bench.web().withStream(to: place(server), limits: limits) { _ in
                try? await Task.sleep(for: .seconds(600))
                return "value"
            }
        }
        #expect(error?.outcome == .timeout)
        // One who cancels gets what there is.
        let task = Task {
            try await bench.web().withStream(to: place(server)) { _ in
                try? await Task.sleep(for: .seconds(600))
                return "value"
            }
        }
        try server.waitForClient()
        task.cancel()
        #expect(try await task.value == "value")
    }

    @Test func aPeerThatTakesNothingEndsAtTheLimit() async throws {
        let server = try LoopbackServer { $0.hangWithoutReading() }
        let found = try await outcome(server, Limits(idle: .milliseconds(100))) { stream in
            try await stream.writeAll(repeatElement(0, count: 64 << 20))
        }
        #expect(found == .timeout)
    }

    @Test func aPeerThatClosesWithinAMessageHasNotSentIt() async throws {
        let server = try LoopbackServer { $0.write("half a li") }
        let found = try await outcome(server) { stream in
            _ = try await stream.readMessage(by: LineFramer(lineBytesMax: 100))
        }
        #expect(found == .truncated)
        checkStates(nil)
    }

    @Test func aPeerThatResetsIsToldFromOneThatEnds() async throws {
        let server = try LoopbackServer { peer in
            peer.write("a")
            _ = peer.read(1)
            peer.reset()
        }
        let found = try await outcome(server) { stream in
            #expect(try await stream.readExactly(1) == [97])
            try await stream.writeAll([98])
            #expect(try await stream.readToEnd { _ in } == .reset)
            try await stream.writeAll([99])
        }
        #expect(found == .send)
        checkStates(nil)
    }

    @Test func noMoreComesThanTheLimit() async throws {
        let server = try LoopbackServer { $0.write(.init(repeating: 65, count: 100_001)) }
        for (limit, wanted) in [(100_000, Outcome.tooLarge), (100_001, nil)] {
            let found = try await outcome(server, Limits(bodyBytesMax: limit)) { stream in
                _ = try await stream.readToEnd { _ in }
            }
            #expect(found == wanted)
        }
    }

    @Test func aLengthThatNoMessageCanHaveIsRefused() async throws {
        let server = try LoopbackServer { peer in
            peer.write([0x80, 0, 0, 0, 0, 0, 0, 0])
            peer.hang()
        }
        let found = try await outcome(server) { stream in
            _ = try await stream.readMessage(by: LengthFramer(prefixBytes: 8))
        }
        #expect(found == .protocolError)
    }

    @Test func anAnswerComesAfterTheEndOfWriting() async throws {
        let handler: @Sendable (Peer) -> Void = { peer in
            peer.write("\(peer.read(1000).count) bytes")
        }
        for tls in [nil, TestCertificate.make()] {
            let server = try LoopbackServer(tls: tls, handler: handler)
            let web = try bench.web()
            let answer = try await web.withStream(
                to: place(server, tls == nil ? .none : .tls)
            ) { stream in
                try await stream.writeAll([1, 2, 3])
                try await stream.finishWriting()
                try await stream.finishWriting()
                var answer: [UInt8] = []
                _ = try await stream.readToEnd { answer += $0 }
                try await stream.finishWriting()
                return answer
            }
            #expect(String(decoding: answer, as: UTF8.self) == "3 bytes")
        }
    }

    @Test func nothingIsWrittenAfterTheEndOfWriting() async throws {
        let server = try LoopbackServer { $0.hang() }
        let found = try await outcome(server) { stream in
            try await stream.finishWriting()
            try await stream.writeAll([1])
        }
        #expect(found == .usage)
        checkStates(.usage)
    }

    // MARK: Bodies

    @Test func aBodyThatThrowsHasItsErrorThrownAndTheConnectionClosed() async throws {
        let server = try LoopbackServer { $0.hang() }
        await #expect(throws: Own()) { try await outcome(server) { _ in throw Own() } }
        checkStates(nil)
        #expect(server.clientSockets == 0)
    }

    @Test func aBodyThatReturnsEarlyClosesTheConnection() async throws {
        let server = try LoopbackServer { $0.hang() }
        #expect(try await outcome(server) { try await $0.writeAll([1]) } == nil)
        checkStates(nil)
        #expect(try server.waitForConnections(1).count == 1)
    }

    @Test func aStreamOutsideOfItsBodyThrows() async throws {
        let server = try LoopbackServer { peer in
            peer.write("ab")
            peer.hang()
        }
        let thief = Thief()
        let found = try await outcome(server) { stream in
            let first = try await stream.readExactly(1)
            #expect(first == [97])
            thief.stream = stream
        }
        #expect(found == nil)
        let stream = try #require(thief.stream)
        #expect(stream.state == .stopped(nil))
        let uses: [(ByteStream) async throws -> Void] = [
            { _ = try await $0.readSome() }, { _ = try await $0.readExactly(1) },
            { _ = try await $0.readLine(upTo: 9) }, { _ = try await $0.readToEnd { _ in } },
            { _ = try await $0.readMessage(by: LineFramer(lineBytesMax: 9)) },
            { try await $0.writeAll([1]) }, { try await $0.finishWriting() },
        ]
        for use in uses { await #expect(throws: FetchError.self) { try await use(stream) } }
        stream.close()
    }

    /// A number may come from a peer.
    @Test(arguments: [0, -1, Int.min])
    func noNumberOfBytesIsATrap(_ count: Int) async throws {
        let server = try LoopbackServer { peer in
            peer.write("ab")
            peer.hang()
        }
        let found = try await outcome(server) { stream in
            let reads: [(ByteStream) async throws -> Void] = [
                { _ = try await $0.readSome(upTo: count) },
                { _ = try await $0.readExactly(min(count, -1)) },
                { _ = try await $0.readLine(upTo: min(count, -1)) },
                { _ = try await $0.readMessage(by: Needy(count: count)) },
            ]
            for read in reads {
                let error = await #expect(throws: FetchError.self) { try await read(stream) }
                #expect(error?.outcome == .usage)
            }
        }
        #expect(found == nil)
    }

    private struct Needy: Framer {
        let count: Int
        func frame(_ message: Int) -> [UInt8] { [] }
        func needs(_ bytes: ArraySlice<UInt8>) -> Int { count }
        func unframe(_ frame: ArraySlice<UInt8>) -> Int { frame.count }
    }

    @Test func aStreamThatHasEndedThrowsOutsideOfItsBody() async throws {
        let server = try LoopbackServer { $0.write("a") }
        let thief = Thief()
        _ = try await outcome(server) { stream in
            _ = try await stream.readToEnd { _ in }
            thief.stream = stream
        }
        let stream = try #require(thief.stream)
        await #expect(throws: FetchError.self) { try await stream.readSome() }
    }

    @Test func cancellingEndsAReadAndASleep() async throws {
        let server = try LoopbackServer { $0.hang() }
        let web = try bench.web()
        let endpoint = place(server)
        for sleeps in [false, true] {
            let begun = Locked(false)
            let task = Task {
                try await web.withStream(to: endpoint, limits: Limits(total: .seconds(600))) {
                    stream in
                    begun.withLock { $0 = true }
                    if sleeps { try await Task.sleep(for: .seconds(600)) }
                    _ = try await stream.readSome()
                }
            }
            try await eventually("the body has begun") { begun.withLock { $0 } }
            task.cancel()
            let result = await task.result
            #expect(throws: (any Error).self) { try result.get() }
            if !sleeps {
                #expect(throws: FetchError.self) { try result.get() }
            }
        }
        #expect(server.clientSockets == 0)
    }

    @Test func aBodyThatSleepsIsEndedByTheTotal() async throws {
        let server = try LoopbackServer { $0.hang() }
        let found = try await outcome(server, Limits(total: .milliseconds(100))) { _ in
            try await Task.sleep(for: .seconds(600))
        }
        #expect(found == .timeout)
        #expect(server.clientSockets == 0)
    }

    #if compiler(>=6.3)  // closures of functions that are on an actor
    @Test @MainActor func aBodyMayAwaitTheMainActor() async throws {
        let server = try LoopbackServer { $0.write($0.readLine() ?? []) }
        var lines = 0
        let line = try await bench.web().withStream(to: place(server)) { stream in
            await MainActor.run { lines += 1 }
            try await stream.writeAll([65, 10])
            await MainActor.run { lines += 1 }
            return Array(try await stream.readLine(upTo: 10))
        }
        #expect(line == [65, 10] && lines == 2)
    }
    #endif

    @Test func aHundredStreamsAreOpenAtOnce() async throws {
        let server = try LoopbackServer { $0.write($0.readLine() ?? []) }
        let (web, endpoint) = (try bench.web(), place(server))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<100 {
                group.addTask {
                    let line = Array("\(number)\n".utf8)
                    let answer = try await web.withStream(to: endpoint) { stream in
                        try await stream.writeAll(line)
                        return Array(try await stream.readLine(upTo: 10))
                    }
                    #expect(answer == line)
                }
            }
            try await group.waitForAll()
        }
    }
}

extension FetchError {
    fileprivate var withoutURL: FetchError {
        var copy = self
        copy.url = nil
        return copy
    }
}
