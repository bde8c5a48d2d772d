// SPDX-License-Identifier: MIT
import SmallWeb
import SmallWebTestSupport
import Testing

/// The ways into a fetch: a closure, a sequence, a collected response.
@Suite(.timeLimit(.minutes(5)))
struct DoorTests {
    private let bench: Bench
    private let server: LoopbackServer

    init() throws {
        bench = try Bench()
        server = try .capsule()
    }

    @Test func theSequenceHasTheEventsOfTheClosureAndThenTheEnd() async throws {
        let fetcher = bench.fetcher()
        let played = await bench.play(server.url("/redirect/2"))
        var events: [Event] = []
        for try await event in fetcher.events(try fetcher.request(server.url("/redirect/2"))) {
            events.append(event)
        }
        guard case .end(let ending) = events.last else {
            Issue.record("the last event is not the end")
            return
        }
        #expect(ending.head == played.ending?.head)
        #expect(ending.traffic == played.ending?.traffic)
        #expect(ending.connection?.tls == played.ending?.connection?.tls)
        let sequence = Played(events: events, result: .success(ending))
        #expect(sequence.body == played.body)
        #expect(sequence.redirects == played.redirects)
        #expect(sequence.heads == played.heads)
    }

    @Test func theSequenceThrowsWhatTheFetchThrows() async throws {
        let fetcher = bench.fetcher()
        let iterator = fetcher.events(try fetcher.request(server.url("/malformed")))
            .makeAsyncIterator()
        let error = await #expect(throws: FetchError.self) {
            while try await iterator.next() != nil {}
        }
        #expect(error?.outcome == .protocolError)
    }

    @Test func leavingTheSequenceClosesTheConnection() async throws {
        let fetcher = bench.fetcher()
        var request = try fetcher.request(server.url("/endless"))
        request.limits.bodyBytesMax = nil
        for try await event in fetcher.events(request) {
            if case .body = event { break }
        }
        #expect(server.waitForConnections(1).count == 1)
        #expect(server.clientSockets == 0)
    }

    @Test func aConsumerThatWaitsMakesTheServerWait() async throws {
        let (written, report) = AsyncStream<Int>.makeStream()
        let stalling = try LoopbackServer { peer in
            _ = peer.readLine()
            report.yield(peer.writeUntilBlocked(most: 1 << 30))
            peer.hang()
        }
        let fetcher = bench.fetcher()
        var iterator: FetchEvents.Iterator? =
            fetcher.events(try fetcher.request(stalling.url("/9/x", scheme: "gopher")))
            .makeAsyncIterator()
        while let event = try await iterator?.next() {
            if case .body = event { break }
        }
        for await count in written {
            // What the kernel's buffers hold, and a little.
            #expect(count < 128 << 20)
            break
        }
        iterator = nil
        #expect(stalling.waitForConnections(1).count == 1)
    }

    @Test func aResponseIsCollected() async throws {
        let response = try await bench.fetcher().fetch(server.url("/1k"))
        #expect(response.body == DemoSites.page)
        #expect(response.ending.outcome == .ok)
        let gopher = try LoopbackServer(handler: DemoSites.gopher)
        let menu = try await bench.fetcher().fetch(gopher.url("/1/", scheme: "gopher"))
        #expect(menu.items.count == 10)
        let error = await #expect(throws: FetchError.self) {
            try await bench.fetcher().fetch(server.url("/big/2000"), bodyBytesMax: 1000)
        }
        #expect(error?.outcome == .tooLarge)
    }

    @Test(arguments: ["/silent", "/silent-body", "/endless"])
    func cancellingAFetchClosesItsConnection(_ path: String) async throws {
        let (bench, server) = (bench, server)
        let task = Task {
            await bench.play(server.url(path)) { $0.limits.bodyBytesMax = nil }
        }
        let canceller = Task.detached {
            server.waitForClient()
            task.cancel()
        }
        #expect(await task.value.error?.outcome == .interrupted)
        await canceller.value
        #expect(server.clientSockets == 0)
    }

    @Test func cancellingTheConsumerEndsTheSequence() async throws {
        let fetcher = bench.fetcher()
        let request = try fetcher.request(server.url("/silent"))
        let task = Task { () -> FetchError? in
            do throws(FetchError) {
                for try await _ in fetcher.events(request) {}
                return nil
            } catch {
                return error
            }
        }
        server.waitForClient()
        task.cancel()
        #expect(await task.value?.outcome == .interrupted)
        #expect(server.waitForConnections(1).count == 1)
    }

    @Test func aHundredFetchesRunAtOnce() async throws {
        let (bench, server) = (bench, server)
        let fetcher = bench.fetcher()
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<100 {
                group.addTask { try await fetcher.fetch(server.url("/1k")).body }
            }
            for try await body in group { #expect(body == DemoSites.page) }
        }
        #expect(server.clientSockets == 0)
    }
}
