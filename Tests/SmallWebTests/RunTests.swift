// SPDX-License-Identifier: MIT
import Glibc
import SmallWeb
import SmallWebTestSupport
import Testing

/// Many URLs through the front door.
@Suite(.timeLimit(.minutes(30)))
struct RunTests {
    private let bench: Bench
    private let web: Client

    init() throws {
        bench = try Bench()
        web = try bench.web()
    }

    /// Serves finger; `reply` gets the number of the request, from 1, and the query.
    private func server(
        _ reply: @escaping @Sendable (Int, String, Peer) -> Void
    ) throws -> LoopbackServer {
        let count = Locked(0)
        return try LoopbackServer { peer in
            guard let line = peer.readLine() else { return }
            let number = count.withLock { count in
                count += 1
                return count
            }
            reply(number, String(decoding: line.dropLast(2), as: UTF8.self), peer)
        }
    }

    private func collect(_ results: Client.Results) async throws -> [FetchResult] {
        var all: [FetchResult] = []
        for try await result in results { all.append(result) }
        return all
    }

    private func texts(_ results: [FetchResult]) throws -> [String] {
        try results.map { result in try result.get().text }
    }

    @Test func resultsKeepTheOrderOfTheURLs() async throws {
        let isSecondThere = Monitor(false)
        let server = try server { _, name, peer in
            if name == "b" { isSecondThere.update { $0 = true } }
            if name == "a" { try? isSecondThere.wait(for: "b is there") { $0 ? () : nil } }
            peer.write(name)
        }
        let urls = ["a", "b", "c"].map { server.url("/\($0)", scheme: "finger") }
        let results = try await collect(web.run(urls, parallel: 3))
        #expect(results.map(\.index) == [0, 1, 2])
        #expect(results.map(\.url) == urls)
        #expect(try texts(results) == ["a", "b", "c"])
        #expect(results.allSatisfy { $0.attempts == 1 })
    }

    @Test func resultsComeAsTheyAreThereWhenOrderDoesNotMatter() async throws {
        let isTaken = Monitor(false)
        let server = try server { _, name, peer in
            if name == "a" { try? isTaken.wait(for: "b is taken") { $0 ? () : nil } }
            peer.write(name)
        }
        let urls = ["a", "b"].map { server.url("/\($0)", scheme: "finger") }
        var indices: [Int] = []
        for try await result in web.run(urls, parallel: 2, options: .init(keepsOrder: false)) {
            indices.append(result.index)
            isTaken.update { $0 = true }
        }
        #expect(indices == [1, 0])
    }

    @Test func aHostHasNoMoreThanItsLimitAtATime() async throws {
        let load = Locked((now: 0, most: 0))
        let server = try server { _, name, peer in
            load.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            peer.write(name)
            load.withLock { $0.now -= 1 }
        }
        let urls = (0..<40).map { server.url("/\($0)", scheme: "finger") }
        let results = try await collect(web.run(urls, parallel: 40, options: .init(perHost: 3)))
        #expect(try texts(results) == (0..<40).map { String($0) })
        #expect(load.withLock { $0.most } <= 3)
    }

    @Test func whatMayPassIsTriedAgain() async throws {
        let server = try server { number, _, peer in
            if number < 3 { peer.reset() } else { peer.write("third") }
        }
        let url = server.url("/x", scheme: "finger")
        let again = try await collect(
            web.run([url], options: .init(retries: 2, retryDelay: .milliseconds(1))))
        #expect(try texts(again) == ["third"])
        #expect(again.map(\.attempts) == [3])
    }

    @Test func aHostThatAsksForALongPauseIsLeftAlone() async throws {
        let server = try LoopbackServer(tls: .make()) { peer in
            _ = peer.readLine()
            peer.write("44 7200\r\n")
        }
        let results = try await collect(
            web.run(["/a", "/b"].map { server.url($0) }, options: .init(retries: 5)))
        #expect(results.map(\.attempts) == [1, 0])
        #expect(try results[0].get().outcome == .temporaryFailure)
        guard case .failure(let error) = results[1].result else {
            Issue.record("the second one was fetched")
            return
        }
        #expect(error.outcome == .temporaryFailure)
        #expect(
            error.description
                == "\(server.url("/b")): the host asked clients to wait 7200 seconds")
    }

    @Test func startsKeepTheirDistance() async throws {
        let server = try server { _, name, peer in peer.write(name) }
        let urls = (0..<4).map { server.url("/\($0)", scheme: "finger") }
        let start = ContinuousClock.now
        _ = try await collect(
            web.run(urls, parallel: 4, options: .init(hostInterval: .milliseconds(50))))
        #expect(ContinuousClock.now - start >= .milliseconds(140))
    }

    @Test func badURLsAreResults() async throws {
        let results = try await collect(web.run(["nowhere://x/", "", "gemini://"]))
        #expect(results.map(\.attempts) == [0, 0, 0])
        let outcomes = results.map { result -> Outcome? in
            if case .failure(let error) = result.result { error.outcome } else { nil }
        }
        #expect(outcomes == [.unsupportedScheme, .badURL, .badURL])
    }

    // MARK: Input

    private struct Broken: Error {}

    @Test func aFailingListEndsTheRunAfterItsResults() async throws {
        let server = try server { _, name, peer in peer.write(name) }
        let url = server.url("/x", scheme: "finger")
        let urls = AsyncThrowingStream<String, any Error> { continuation in
            continuation.yield(url)
            continuation.finish(throwing: Broken())
        }
        let iterator = web.run(urls, parallel: 2).makeAsyncIterator()
        #expect(try await iterator.next()?.get().text == "x")
        let error = await #expect(throws: FetchError.self) { try await iterator.next() }
        #expect(error?.outcome == .read)
    }

    /// An error is thrown once; then the sequence has ended, as iterators have it.
    @Test func afterAnErrorThereIsNothing() async throws {
        let urls = AsyncThrowingStream<String, any Error> { $0.finish(throwing: Broken()) }
        let results = web.run(urls).makeAsyncIterator()
        await #expect(throws: FetchError.self) { try await results.next() }
        let events = web.events("gemini://127.0.0.1:1/").makeAsyncIterator()
        await #expect(throws: FetchError.self) {
            while try await events.next() != nil {}
        }
        let cancelled = web.run(["gemini://127.0.0.1:1/"]).makeAsyncIterator()
        nonisolated(unsafe) let iterator = cancelled
        let task = Task { @Sendable in
            withUnsafeCurrentTask { @Sendable in $0?.cancel() }
            _ = try await iterator.next()
        }
        await #expect(throws: FetchError.self) { try await task.value }
        for _ in 0..<3 {
            #expect(try await results.next() == nil)
            #expect(try await events.next() == nil)
            #expect(try await cancelled.next() == nil)
        }
    }

    /// Numbers and times at their ends are neither a trap nor a wait.
    @Test func everyOptionHasItsEnds() async throws {
        let server = try server { _, name, peer in peer.write(name) }
        let url = server.url("/x", scheme: "finger")
        for number in [Int.min, -1, 0, .max] {
            let numbers: [WritableKeyPath<RunOptions, Int>] = [\.perHost, \.retries, \.loops]
            for path in numbers {
                var options = RunOptions()
                options[keyPath: path] = number
                // Only one that fails is tried again.
                let urls = [url] + (number == .max ? [] : ["finger://127.0.0.1:1/"])
                let results = try await collect(
                    web.run(urls, parallel: number, options: options))
                #expect(try results[0].get().text == "x", "\(path), \(number)")
            }
        }
        for time in [Duration.seconds(Int64.min), .seconds(-1), .zero] {
            let times: [WritableKeyPath<RunOptions, Duration>] = [
                \.startInterval, \.hostInterval, \.pauseMax,
            ]
            for path in times {
                var options = RunOptions()
                options[keyPath: path] = time
                let results = try await collect(web.run([url, url], options: options))
                #expect(try texts(results) == ["x", "x"], "\(path), \(time)")
            }
        }
    }

    @Test func anEndlessListIsReadAsThereIsRoom() async throws {
        let server = try server { _, name, peer in peer.write(name) }
        let url = server.url("/x", scheme: "finger")
        let asked = Locked(0)
        let urls = AsyncStream {
            asked.withLock { $0 += 1 }
            return url
        }
        var count = 0
        for try await result in web.run(urls, parallel: 2) {
            #expect(try result.get().text == "x")
            count += 1
            if count == 10 { break }
        }
        // Ten results taken, two waiting to be taken, and four URLs for each running request.
        let most = 20
        #expect(asked.withLock { $0 } <= most)
    }

    @Test func aConsumerThatWaitsStopsTheRun() async throws {
        let server = try server { _, name, peer in peer.write(name) }
        let urls = (0..<100).map { server.url("/\($0)", scheme: "finger") }
        let iterator = web.run(urls, parallel: 2, options: .init(keepsOrder: false))
            .makeAsyncIterator()
        _ = try await iterator.next()
        // One that is ready, one that waits to be, and two that have ended behind them.
        try await eventually("three are over") { server.connections.count >= 3 }
        let most = 5
        #expect(server.connections.count <= most)
    }

    @Test func cancellingTheConsumerEndsAllFetches() async throws {
        let server = try LoopbackServer { peer in peer.hang() }
        let urls = (0..<4).map { server.url("/\($0)", scheme: "finger") }
        let results = web.run(urls, parallel: 4, options: .init(perHost: 4))
        let end = try await cancelling(results) { server.clientSockets == 4 }
        #expect(end == .interrupted)
        #expect(server.clientSockets == 0)
    }
}
