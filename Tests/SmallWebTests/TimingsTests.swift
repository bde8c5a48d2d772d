// SPDX-License-Identifier: MIT
import SmallWeb
import SmallWebTestSupport
import Testing

/// Timings and sizes of a fetch.
@Suite(.timeLimit(.minutes(30)))
struct TimingsTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    /// The steps that were taken, in the order in which they must have been.
    private func steps(_ timings: Ending.Timings) -> [Duration] {
        [
            timings.redirect, timings.nameLookup, timings.connect, timings.appConnect,
            timings.preTransfer, timings.startTransfer, timings.total,
        ].compactMap { $0 }
    }

    private func expectOrder(_ timings: Ending.Timings?, count: Int) throws {
        try expectOrder(timings, counts: count...count)
    }

    private func expectOrder(_ timings: Ending.Timings?, counts: ClosedRange<Int>) throws {
        let timings = try #require(timings)
        let steps = steps(timings)
        #expect(counts.contains(steps.count), "\(timings)")
        #expect(steps == steps.sorted(), "\(timings)")
        #expect(steps.allSatisfy { $0 >= .zero && $0 < .seconds(60) }, "\(timings)")
        #expect(timings.startTime > 1.7e9)
    }

    @Test func plainConnectionsHaveNoHandshake() async throws {
        let server = try LoopbackServer(handler: DemoSites.gopher)
        let ending = await bench.play(server.url("/0/1k", scheme: "gopher")).ending
        try expectOrder(ending?.timings, count: 5)
        #expect(ending?.timings.appConnect == nil)
        #expect(ending?.connection?.port == server.port)
        #expect(ending?.traffic.sent == "/1k\r\n".utf8.count)
        #expect(ending?.traffic.received ?? 0 >= 1024)
    }

    @Test func redirectsComeFirst() async throws {
        let server = try LoopbackServer.capsule()
        let ending = await bench.play(server.url("/redirect/2")).ending
        try expectOrder(ending?.timings, count: 7)
        // Three requests and three replies are counted.
        #expect(ending?.traffic.sent ?? 0 > 3 * server.url("/").utf8.count)
    }

    @Test func libcurlSaysTheSame() async throws {
        let web = try Web(tls: .make())
        let ending = await bench.play(web.url("/1k"), options: web.trust).ending
        try expectOrder(ending?.timings, count: 6)
        #expect(
            ending?.head?.facts == [
                "http": .object(["version": .text("1.1"), "method": .text("GET")])
            ])
        #expect(ending?.traffic.received ?? 0 > 1024)
        #expect(ending?.connection?.tls?.version == "TLSv1.3")
        let again = await bench.play(web.url("/redirect/1"), options: web.trust).ending
        // libcurl 8.14 no longer says when the name of a connection that it keeps was looked up.
        try expectOrder(again?.timings, counts: 4...5)
    }
}
