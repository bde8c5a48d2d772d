// SPDX-License-Identifier: MIT
import Glibc
import SmallWeb
import SmallWebTestSupport
import Testing

/// The public API of the library.
@Suite(.timeLimit(.minutes(30)))
struct FrontDoorTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    @Test func aPageHasItsLinks() async throws {
        let server = try LoopbackServer.capsule()
        let page = try await bench.web().fetch(server.url("/links/"))
        #expect(page.mediaType?.essence == "text/gemini")
        #expect(page.links.contains { $0.url == "https://example.org/a.png" })
        #expect(page.links.first { $0.url.hasSuffix("a.png") }?.label == "A picture")
        #expect(page.links.first { $0.url.hasSuffix("a.png") }?.kind == .image)
        #expect(!page.links.contains { $0.url.isEmpty })
    }

    @Test func aMenuHasItsLinks() async throws {
        let server = try LoopbackServer(handler: DemoSites.gopher)
        let page = try await bench.web().fetch(server.url("/1/", scheme: "gopher"))
        #expect(page.links.count > 3)
        #expect(page.links.allSatisfy { !$0.url.isEmpty && $0.kind != .info })
        #expect(page.items.count > page.links.count)
    }

    @Test func textIsInTheCharsetOfTheServer() async throws {
        let server = try LoopbackServer.capsule()
        let page = try await bench.web().fetch(server.url("/latin1"))
        #expect(page.text == "na\u{EF}ve")
    }

    @Test func aRefusalIsAPageAndACutIsAnError() async throws {
        let server = try LoopbackServer.capsule()
        let web = try bench.web()
        let page = try await web.fetch(server.url("/nothing"))
        #expect(page.status == 51)
        #expect(page.outcome == .permanentFailure)
        let error = await #expect(throws: FetchError.self) {
            try await web.fetch(server.url("/truncated"))
        }
        #expect(error?.outcome == .truncated)
    }

    /// A missing repository, and a missing version or path in a list of those that are there.
    @Test(arguments: [
        "/none.git", "/demo.git//README?ref=none", "/demo.git//none", "/demo.git?log=none",
        "/demo.git?tar&ref=none", "/demo.git?describe=none", "/demo.git?diff=none..main",
        "/demo.git?object=refs/tags/none", "/demo.git//none?tar",
    ])
    func whatAServerDoesNotHaveIsAPage(_ path: String) async throws {
        let server = try LoopbackServer(handler: DemoSites.git)
        let (web, url) = (try bench.web(), server.url(path, scheme: "git"))
        let page = try await web.fetch(url)
        #expect(page.outcome == .permanentFailure && page.body.isEmpty)
        #expect(page.ending.message?.hasPrefix("the server refused: ") == true)
        #expect(page.ending.connection != nil && page.ending.traffic.received > 0)
        for try await result in web.run([url]) {
            #expect(try result.get().ending.message == page.ending.message)
        }
        var heads: [Head.Class] = []
        for try await case .head(let head) in web.events(url) { heads.append(head.replyClass) }
        #expect(heads == [.permanentFailure])
        let read = await #expect(throws: FetchError.self) {
            try await web.response(url).body.collect(upTo: 100)
        }
        #expect(read?.outcome == .permanentFailure)
    }

    /// Over every scheme that has a server: over TCP, over TLS and by libcurl.
    @Test(arguments: Registry.builtIn.schemes.filter { $0.transport != .none })
    func aRefusedConnectionHasItsErrno(_ scheme: Scheme) async throws {
        let web = try bench.web()
        var request = try web.request("\(scheme.name)://127.0.0.1:1/0/r.git")
        if scheme.uploads != nil { request.upload = .init("a".utf8) }
        let error = await #expect(throws: FetchError.self) { try await web.fetch(request) }
        #expect(error?.outcome == .connect && error?.errnoName == "ECONNREFUSED")
    }

    @Test func aServerThatIsNotPublicIsNotAsked() async throws {
        let server = try LoopbackServer.capsule()
        let web = try bench.web { $0.resolver.isPublicOnly = true }
        for host in ["127.0.0.1", "localhost"] {
            let error = await #expect(throws: FetchError.self) {
                try await web.fetch("gemini://\(host):\(server.port)/")
            }
            #expect(error?.outcome == .refusedAddress && error?.isRetryable == false)
        }
        server.stop()
        #expect(server.connections.isEmpty)
    }

    @Test func inputAnswersAServer() async throws {
        let server = try LoopbackServer.capsule()
        let web = try bench.web()
        #expect(try await web.fetch(server.url("/input")).outcome == .needsInput)
        let page = try await web.fetch(server.url("/input"), input: "a b")
        #expect(page.text == "you said: a%20b\r\n")
    }

    @Test func anErrorIsASentenceWithWhatWasFetched() async throws {
        let web = try bench.web()
        let error = await #expect(throws: FetchError.self) { try await web.fetch("nowhere://x/") }
        #expect(error.map { "\($0)" } == #"nowhere://x/: no plugin handles the scheme "nowhere""#)
        var hostile = FetchError(.protocolError, .header, "bad \u{1B}[2J")
        hostile.url = "http://ada:secret@x/"
        #expect("\(hostile)" == #"http://ada:***@x/: bad \x1B[2J"#)
    }

    @Test func limitsAreDurations() async throws {
        let server = try LoopbackServer { peer in peer.hang() }
        let web = try bench.web()
        let error = await #expect(throws: FetchError.self) {
            let limits = Limits(total: .milliseconds(50))
            for try await _ in web.events(server.url("/", scheme: "finger"), limits: limits) {}
        }
        #expect(error?.outcome == .timeout)
        #expect(error?.url == server.url("/", scheme: "finger"))
    }

    @Test func aPluginOfOnesOwnIsRegistered() async throws {
        let server = try LoopbackServer { peer in peer.write("Saturday\r\n") }
        let web = try bench.web(plugins: Registry.builtIn.adding(Daytime()))
        let page = try await web.fetch(server.url("/", scheme: "daytime"))
        #expect(page.text == "Saturday\r\n")
        #expect(page.facts["zone"] == .text("UTC"))
        #expect(throws: FetchError.self) { try web.plugins.adding(Daytime()) }
    }

    @Test func theThreadEndsWithTheLastReference() async throws {
        let server = try LoopbackServer.capsule()
        let loops = Locked<[Weak]>([])
        do {
            let web = try bench.web()
            loops.withLock { $0.append(Weak(web.fetcher.loop)) }
            _ = try await web.fetch(server.url("/1k"))
        }
        try await eventually("the loop is gone") {
            loops.withLock { $0.allSatisfy { $0.object == nil } }
        }
        #expect(!Task.isCancelled)
    }
}

/// Refers to an object without keeping it.
private struct Weak: Sendable {
    weak let object: (any AnyObject & Sendable)?
    init(_ object: any AnyObject & Sendable) { self.object = object }
}

/// Daytime (RFC 867): the server sends the time.
private struct Daytime: ProtocolHandler {
    let schemes = [
        Scheme(
            "daytime", plugin: "daytime", port: 13, transport: .tcp,
            summary: "What time it is at a server (RFC 867)")
    ]

    func fetch(
        _ request: Request, dialer: any Dialer, emit: Emit
    ) async throws(FetchError) -> Completeness {
        let stream = try await dialer.dial(request.endpoint)
        defer { stream.close() }
        var head = Head(.success, mediaType: MediaType("text/plain"))
        head.facts["zone"] = .text("UTC")
        try await emit(.head(head))
        let ending = try await stream.readToEnd { bytes async throws(FetchError) in
            try await emit(.body(bytes))
        }
        return ending.completenessOfClose
    }
}
