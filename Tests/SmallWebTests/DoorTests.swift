// SPDX-License-Identifier: MIT
import SmallWeb
import SmallWebTesting
import SmallWebTestSupport
import Testing

/// The ways into a fetch: a closure, a sequence, a collected page.
@Suite(.timeLimit(.minutes(30)))
struct DoorTests {
    private let bench: Bench
    private let server: LoopbackServer

    init() throws {
        bench = try Bench()
        server = try .capsule()
    }

    @Test func theSequenceHasTheEventsOfTheClosureAndThenTheEnd() async throws {
        let web = try bench.web()
        let played = await bench.play(server.url("/redirect/2"))
        var events: [Event] = []
        for try await event in web.events(server.url("/redirect/2")) {
            events.append(event)
        }
        guard case .end(let ending) = events.last else {
            Issue.record("the last event is not the end")
            return
        }
        #expect(ending.head == played.ending?.head)
        #expect(ending.traffic == played.ending?.traffic)
        #expect(ending.connection?.tls?.certificate == played.ending?.connection?.tls?.certificate)
        let sequence = Played(events: events, result: .success(ending))
        #expect(sequence.body == played.body)
        #expect(sequence.redirects == played.redirects)
        #expect(sequence.heads == played.heads)
    }

    @Test func theSequenceThrowsWhatTheFetchThrows() async throws {
        let web = try bench.web()
        let iterator = web.events(server.url("/malformed")).makeAsyncIterator()
        let error = await #expect(throws: FetchError.self) {
            while try await iterator.next() != nil {}
        }
        #expect(error?.outcome == .protocolError)
    }

    @Test func leavingTheSequenceClosesTheConnection() async throws {
        let web = try bench.web()
        for try await event in web.events(server.url("/endless"), limits: .init(bodyBytesMax: nil))
        {
            if case .body = event { break }
        }
        #expect(try server.waitForConnections(1).count == 1)
        #expect(server.clientSockets == 0)
    }

    @Test func aConsumerThatWaitsMakesTheServerWait() async throws {
        let (written, report) = AsyncStream<Int>.makeStream()
        let stalling = try LoopbackServer { peer in
            _ = peer.readLine()
            report.yield(peer.writeUntilBlocked(most: 1 << 30))
            peer.hang()
        }
        let web = try bench.web()
        var iterator: Client.Events.Iterator? =
            web.events(stalling.url("/9/x", scheme: "gopher")).makeAsyncIterator()
        while let event = try await iterator?.next() {
            if case .body = event { break }
        }
        for await count in written {
            // More than the kernel's buffers hold.
            #expect(count < 128 << 20)
            break
        }
        iterator = nil
        #expect(try stalling.waitForConnections(1).count == 1)
    }

    @Test func aPageIsCollected() async throws {
        let web = try bench.web()
        let page = try await web.fetch(server.url("/1k"))
        #expect(page.body == DemoSites.page)
        #expect(page.outcome == .ok)
        #expect(page.status == 20)
        let gopher = try LoopbackServer(handler: DemoSites.gopher)
        let menu = try await web.fetch(gopher.url("/1/", scheme: "gopher"))
        #expect(menu.items.count == 10)
        let error = await #expect(throws: FetchError.self) {
            try await web.fetch(server.url("/big/2000"), limits: .init(bodyBytesMax: 1000))
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
            try? server.waitForClient()
            task.cancel()
        }
        #expect(await task.value.error?.outcome == .interrupted)
        await canceller.value
        #expect(server.clientSockets == 0)
    }

    @Test func cancellingTheConsumerEndsTheSequence() async throws {
        let web = try bench.web()
        var request = try web.request(server.url("/silent"))
        (request.limits.connectSeconds, request.limits.idleSeconds) = (nil, nil)
        let end = try await cancelling(web.events(request)) { server.clientSockets > 0 }
        #expect(end == .interrupted)
        #expect(try server.waitForConnections(1).count == 1)
    }

    @Test func aHundredFetchesRunAtOnce() async throws {
        let server = server
        let web = try bench.web()
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<100 {
                group.addTask { try await web.fetch(server.url("/1k")).body }
            }
            for try await body in group { #expect(body == DemoSites.page) }
        }
        #expect(server.clientSockets == 0)
    }

    /// An app's own types may have the names of ours: the module's name tells them apart.
    @Test func anAppMayHaveAPageOfItsOwn() {
        struct Page { let number: Int }
        struct Link { let page: Page }
        func size(of page: SmallWeb.Page) -> Int { page.body.count }
        func target(of link: SmallWeb.Link) -> SmallWeb.URI? { link.uri }
        #expect(Link(page: Page(number: 1)).page.number == 1)
        #expect(SmallWeb.Connection.TLS.self != SmallWeb.Connection.Trust.self)
    }
}
