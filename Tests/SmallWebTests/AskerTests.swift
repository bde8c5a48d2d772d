// SPDX-License-Identifier: MIT
import SmallWebCore
import SmallWebTestSupport
import Testing

@testable import SmallWeb

/// A person, or a program, that takes its time to answer for a key.
@Suite(.timeLimit(.minutes(30)))
struct AskerTests {
    private let bench: Bench
    private let questions = Recorder<String>()
    private let log = Monitor(State())

    private struct State {
        var under = 0
        var most = 0
    }

    init() throws { bench = try Bench() }

    /// A client whose asker awaits something before it says `answer`.
    private func web(_ answer: TrustStore.Answer) throws -> Client {
        let (questions, log) = (questions, log)
        return try bench.web { options in
            var store = TrustStore(path: bench.storePath, policy: .ask)
            store.asker = { question in
                questions.add(question.error.actual ?? "")
                log.update {
                    $0.under += 1
                    $0.most = max($0.most, $0.under)
                }
                for _ in 0..<20 { await Task.yield() }
                log.update { $0.under -= 1 }
                return answer
            }
            options.trust = store
        }
    }

    @Test func oneQuestionSettlesTheKeyForAllThatWait() async throws {
        let server = try LoopbackServer.capsule()
        let web = try web(.always)
        let urls = (0..<16).map { _ in server.url("/about") }
        for try await result in web.run(urls, parallel: 16, options: .init(perHost: 16)) {
            #expect(try result.get().outcome == .ok)
        }
        #expect(questions.values.count == 1)
    }

    /// Over every scheme whose keys are pinned: new ones and changed ones.
    @Test(arguments: Registry.builtIn.schemes.filter { $0.trust == .tofu })
    func onceIsNotRemembered(_ scheme: Scheme) async throws {
        let server = try LoopbackServer(tls: .make()) { peer in
            guard let line = peer.readLine() else { return }
            if String(decoding: line, as: UTF8.self).contains("size=1") { _ = peer.read(1) }
            peer.write("20 text/plain\r\n")
        }
        let web = try web(.once)
        let endpoint = Endpoint(host: "127.0.0.1", port: server.port, security: .tls)
        for hasPin in [false, true] {
            let store = TrustStore(path: bench.storePath)
            if hasPin {
                let other = String(repeating: "0", count: 64)
                let pin = try #require(
                    KnownHosts.Pin(
                        place: "\(endpoint)", .key, .sha256, digest: other, first: nil, via: "-"))
                try await store.change(loop: bench.loop) { $0.add(pin) }
            }
            let before = try store.hosts()
            for _ in 0..<2 {
                var request = try web.request(server.url("/0/a", scheme: scheme.name))
                if scheme.uploads != nil { request.upload = Request.Upload("a".utf8) }
                let count = questions.values.count
                let ending = try await web.fetch(request).ending
                #expect(ending.connection?.trust?.verdict == (hasPin ? .changed : .firstUse))
                #expect(questions.values.count == count + 1)
            }
            #expect(try store.hosts() == before)
        }
    }

    @Test func oneQuestionIsAskedAtATime() async throws {
        let servers = try (0..<6).map { _ in try LoopbackServer.capsule() }
        let plain = try LoopbackServer { $0.write("no question\n") }
        let web = try web(.always)
        let urls = servers.map { $0.url("/about") } + [plain.url("/", scheme: "finger")]
        var count = 0
        for try await result in web.run(urls, parallel: 8) where (try? result.get()) != nil {
            count += 1
        }
        #expect(count == 7)
        #expect(questions.values.count == 6)
        #expect(log.update(\.most) == 1)
    }

    @Test func aNoIsTheEndOfAFetchAndOfNoOther() async throws {
        let server = try LoopbackServer.capsule()
        let web = try web(.no)
        for try await result in web.run([server.url("/a"), server.url("/b")], parallel: 2) {
            guard case .failure(let error) = result.result else {
                Issue.record("it was trusted")
                continue
            }
            #expect(error.outcome == .untrusted)
        }
        #expect(questions.values.count == 2)
        #expect(server.requestLines.joined().isEmpty)
    }

    /// The first question is not answered before others, which wait for their turn, have ended:
    /// one is given up, the time of the other is over.
    @Test func aFetchThatIsOverIsNotAskedAbout() async throws {
        let questions = questions
        let (answer, come) = (Monitor<CheckedContinuation<Void, Never>?>(nil), Monitor(0))
        let first = try LoopbackServer.capsule()
        // The handler runs after the handshake: then only the verdict is still to come.
        let others = try (0..<2).map { _ in
            try LoopbackServer(tls: .make()) { peer in
                come.update { $0 += 1 }
                _ = peer.readLine()
            }
        }
        let web = try bench.web { options in
            var store = TrustStore(path: bench.storePath, policy: .ask)
            store.asker = { question in
                questions.add(question.error.actual ?? "")
                await withCheckedContinuation { asked in answer.update { $0 = asked } }
                return true
            }
            options.trust = store
        }
        let urls = ([first] + others).map { $0.url("/about") }
        let answered = Task { try await web.fetch(urls[0]).outcome }
        try await eventually("it is asked about the first") { answer.update { $0 != nil } }
        let givenUp = Task { try await web.fetch(urls[1]).outcome }
        try await eventually("the second has come") { come.update { $0 == 1 } }
        givenUp.cancel()
        let cancelled = await #expect(throws: FetchError.self) { _ = try await givenUp.value }
        #expect(cancelled?.outcome == .interrupted)
        // A busy machine may need longer for the handshake.
        for seconds in [0.2, 2, 20] {
            let late = await #expect(throws: FetchError.self) {
                try await web.fetch(urls[2], limits: Limits(total: .seconds(seconds)))
            }
            #expect(late?.outcome == .timeout)
            if late?.phase == .tls { break }
        }
        answer.update { $0?.resume() }
        #expect(try await answered.value == .ok)
        #expect(questions.values.count == 1)
        #expect(others.allSatisfy { $0.requestLines.joined().isEmpty })
        // The turn of those that left has not been lost.
        let last = Task { try await web.fetch(urls[1]).outcome }
        try await eventually("it is asked about the second") { questions.values.count == 2 }
        last.cancel()
        answer.update { $0?.resume() }
        _ = try? await last.value
    }
}
