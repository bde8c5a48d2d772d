// SPDX-License-Identifier: MIT
import SmallWeb
import SmallWebTestSupport
import Testing

@Suite(.timeLimit(.minutes(30)))
struct RedirectTests {
    private let bench: Bench
    private let server: LoopbackServer

    init() throws {
        bench = try Bench()
        server = try .capsule()
    }

    @Test func fiveRedirectsAreFollowed() async {
        let played = await bench.play(server.url("/redirect/5"))
        #expect(played.outcome == .ok)
        #expect(played.ending?.uri.path == "/about")
        #expect(played.redirects.count == 5)
        #expect(played.redirects.first?.from.path == "/redirect/5")
        #expect(played.redirects.first?.status == 30)
        #expect(played.heads.map(\.status) == [20], "heads of redirects are not shown")
    }

    /// Notes its requests; `/` leads to `/next`.
    private struct Noting: ProtocolHandler {
        let requests = Locked<[Request]>([])
        let schemes = [
            Scheme("noting", plugin: "noting", port: 1, transport: .tcp, summary: "A test") {
                $0.hasReferences = true
                $0.canResume = true
            }
        ]
        let options = [
            Request.Option("tags", .flag, .init("A test", "", manual: "", example: ""))
        ]

        func fetch(
            _ request: Request, dialer: any Dialer, emit: Emit
        ) async throws(FetchError) -> Completeness {
            requests.withLock { $0.append(request) }
            var head = Head(request.uri.path == "/" ? .redirect : .success)
            if request.uri.path == "/" { head.redirectTarget = request.uri.query ?? "/next" }
            try await emit(.head(head))
            return .complete
        }
    }

    @Test func whatWasAskedForIsAskedForAgainAfterARedirect() async throws {
        let plugin = Noting()
        let web = try bench.web(plugins: Registry.builtIn.adding(plugin))
        var request = try web.request("noting://h.test/")
        request.referencePatterns = ["v*"]
        request.resumeOffset = 7
        request.wantsItems = false
        request.options["tags"] = .flag(true)
        #expect(try await web.fetch(request).outcome == .ok)
        let requests = plugin.requests.withLock { $0 }
        #expect(requests.map(\.uri.path) == ["/", "/next"])
        for request in requests {
            #expect(request.referencePatterns == ["v*"])
            #expect(request.resumeOffset == 7)
            #expect(!request.wantsItems)
            #expect(request.options.flag("tags"))
        }
    }

    /// A server does not choose the port of another service; a user does, and stays there.
    @Test func noRedirectLeadsToAnotherService() async throws {
        let plugin = Noting()
        let web = try bench.web(plugins: Registry.builtIn.adding(plugin))
        for port in [22, 25, 53, 111, 139, 445, 2049, 5060, 6000, 6667, 6697, 10_080, 11_211] {
            let target = "noting://h.test:\(port)/next"
            let response = try await web.fetch(web.request("noting://h.test/?\(target)"))
            #expect(response.outcome == .redirectRefused, "\(port)")
            #expect(plugin.requests.withLock { $0.removeLast() }.uri.path == "/")
            let chosen = try web.request("noting://h.test:\(port)/?\(target)")
            #expect(try await web.fetch(chosen).outcome == .ok, "\(port)")
            #expect(plugin.requests.withLock { $0.removeLast() }.uri.path == "/next")
        }
        let own = try web.request("noting://h.test/?//other.test:1/next")
        #expect(try await web.fetch(own).outcome == .ok, "the scheme's own port")
    }

    @Test func theSixthRedirectIsTooMany() async {
        let played = await bench.play(server.url("/redirect/6"))
        #expect(played.outcome == .tooManyRedirects)
        #expect(played.redirects.count == 5)
        let more = await bench.play(
            server.url("/redirect/6"), options: { $0.redirects.limit = 6 })
        #expect(more.outcome == .ok)
    }

    @Test func aLoopIsNoticedWhenItCloses() async {
        let played = await bench.play(server.url("/loop"))
        #expect(played.outcome == .tooManyRedirects)
        #expect(played.redirects.count == 1)
    }

    /// A page that takes data and sends back to itself is asked for twice, which is no loop.
    @Test(arguments: [303, 307])
    func dataMayLeadToThePageThatTookIt(_ status: Int) async throws {
        let server = try LoopbackServer { peer in
            guard let request = WebRequest(from: peer) else { return }
            peer.write(
                request.method == "GET"
                    ? "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
                    : "HTTP/1.1 \(status) There\r\nContent-Length: 0\r\nLocation: /form\r\n\r\n")
        }
        let played = await bench.play(server.url("/form", scheme: "http")) {
            $0.input = Array("data".utf8)
        }
        // With 307 the data goes there again, for ever.
        #expect(played.outcome == (status == 303 ? .ok : .tooManyRedirects), "\(played.result)")
        #expect(played.redirects.count == (status == 303 ? 1 : 0))
    }

    @Test func anotherSchemeIsRefusedAndNotContacted() async throws {
        let gopher = try LoopbackServer(handler: DemoSites.gopher)
        let capsule = try LoopbackServer.capsule(elsewhere: gopher.url("/0/1k", scheme: "gopher"))
        let played = await bench.play(capsule.url("/cross-scheme"))
        #expect(played.outcome == .redirectRefused)
        #expect(played.ending?.head?.redirectTarget == gopher.url("/0/1k", scheme: "gopher"))
        #expect(played.ending?.message?.contains("gopher://") == true)
        #expect(played.heads.count == 1)
        gopher.stop()
        #expect(gopher.connections == [])
    }

    @Test func anotherSchemeIsFollowedWhenAllowed() async throws {
        let gopher = try LoopbackServer(handler: DemoSites.gopher)
        let capsule = try LoopbackServer.capsule(elsewhere: gopher.url("/0/1k", scheme: "gopher"))
        let played = await bench.play(
            capsule.url("/cross-scheme"), options: { $0.redirects.otherSchemes = ["gopher"] })
        #expect(played.outcome == .ok)
        #expect(played.ending?.uri.scheme == "gopher")
        #expect(played.body == DemoSites.page)
    }

    @Test func aSchemeThatNobodyHandlesIsRefused() async throws {
        let capsule = try LoopbackServer.capsule(elsewhere: "nosuch://example.org/")
        let played = await bench.play(
            capsule.url("/cross-scheme"), options: { $0.redirects.otherSchemes = ["nosuch"] })
        #expect(played.outcome == .redirectRefused)
    }

    @Test func redirectsAreOnlyShownWhenNotFollowed() async {
        let played = await bench.play(
            server.url("/redirect/1"), options: { $0.redirects.follows = false })
        #expect(played.outcome == .redirectRefused)
        #expect(played.heads.map(\.redirectTarget) == ["/about"])
    }

    @Test func relativeTargetsAreResolvedAgainstTheirPage() async {
        let played = await bench.play(server.url("/relative/dir/page"))
        #expect(played.outcome == .ok)
        #expect(
            played.redirects.map { $0.to.path } == ["/relative/other", "/about"])
        #expect(played.redirects.map(\.isPermanent) == [true, false])
        server.stop()
        #expect(
            server.requestLines
                == ["/relative/dir/page", "/relative/other", "/about"].map { server.url($0) })
    }

    @Test func theFragmentIsKeptUnlessTheServerGivesOne() async throws {
        let kept = await bench.play(server.url("/redirect/1#mine"))
        #expect(kept.ending?.uri.fragment == "mine")
        let giving = try LoopbackServer(tls: .make()) { peer in
            let line = String(decoding: peer.readLine() ?? [], as: UTF8.self)
            peer.write(line.contains("/start") ? "30 /end#theirs\r\n" : "20 text/plain\r\n")
        }
        let replaced = await bench.play(giving.url("/start#mine"))
        #expect(replaced.ending?.uri.fragment == "theirs")
        giving.stop()
        #expect(giving.requestLines == [giving.url("/start"), giving.url("/end")])
    }

    @Test func queryAndInputAreNotCarriedOver() async throws {
        let played = await bench.play(server.url("/redirect/1?secret"))
        #expect(played.outcome == .ok)
        let asked = await bench.play(
            server.url("/redirect/1"), request: { $0.input = Array("secret".utf8) })
        #expect(asked.outcome == .ok)
        server.stop()
        let lines = server.requestLines
        #expect(lines[0] == server.url("/redirect/1?secret"))
        #expect(lines[1] == server.url("/about"))
        #expect(lines[2] == server.url("/redirect/1?secret"))
        #expect(lines[3] == server.url("/about"))
    }

    @Test func aTargetThatIsNoURLIsAProtocolError() async {
        let played = await bench.play(server.url("/bad-redirect"))
        #expect(played.outcome == .protocolError)
    }

    /// The server has chosen it, whatever protocol finds it unfit.
    @Test(arguments: [
        "gemini://user@127.0.0.1/", "//user@127.0.0.1/", "gopher://user@127.0.0.1/",
        "gopher://127.0.0.1/0a%09b%09c%09d", "finger://a@127.0.0.1/b", "gemini:///",
        "git://127.0.0.1/",
    ])
    func aTargetThatCannotBeAskedForIsAProtocolError(_ target: String) async throws {
        let capsule = try LoopbackServer.capsule(elsewhere: target)
        let played = await bench.play(
            capsule.url("/cross-scheme"),
            options: { $0.redirects.otherSchemes = ["gopher", "finger", "git"] })
        #expect(played.error?.outcome == .protocolError, "\(played.result)")
        #expect(played.error?.phase == .header)
        let direct = await bench.play(target.hasPrefix("//") ? "gemini:" + target : target)
        #expect(direct.error?.outcome == .badURL, "\(direct.result)")
    }

    @Test func aTargetTooLongForItsProtocolIsAProtocolError() async throws {
        let place = server.url("/" + String(repeating: "a", count: 1024))
        let web = try LoopbackServer { peer in
            guard WebRequest(from: peer) != nil else { return }
            peer.write("HTTP/1.1 302 Found\r\nLocation: \(place)\r\n\r\n")
        }
        let played = await bench.play(
            web.url("/", scheme: "http"), options: { $0.redirects.otherSchemes = ["gemini"] })
        #expect(played.error?.outcome == .protocolError, "\(played.result)")
    }
}
