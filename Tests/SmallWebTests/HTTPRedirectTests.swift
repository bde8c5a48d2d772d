// SPDX-License-Identifier: MIT
import SmallWeb
import SmallWebTesting
import SmallWebTestSupport
import SmallWebTransport
import Testing

/// Redirects of HTTP, which our fetcher follows, not libcurl.
@Suite(.timeLimit(.minutes(30)))
struct HTTPRedirectTests {
    private let bench: Bench
    private let web: Web

    init() throws {
        bench = try Bench()
        web = try Web()
    }

    // MARK: Where they lead

    @Test func fiveRedirectsAreFollowedAndTheSixthIsTooMany() async {
        let five = await bench.play(web.url("/redirect/5"))
        #expect(five.outcome == .ok)
        #expect(five.ending?.uri.path == "/about")
        #expect(five.redirects.map(\.status) == [302, 302, 302, 302, 302])
        #expect(five.heads.map(\.status) == [200], "heads of redirects are not shown")
        let six = await bench.play(web.url("/redirect/6"))
        #expect(six.outcome == .tooManyRedirects)
        #expect(six.redirects.count == 5)
        let more = await bench.play(web.url("/redirect/6"), options: { $0.redirects.limit = 6 })
        #expect(more.outcome == .ok)
    }

    @Test func theBodyOfARedirectIsNotDelivered() async throws {
        let played = await bench.play(web.url("/redirect/2"))
        #expect(played.text == "This site is part of the tests of smallweb.\n")
        #expect(played.ending?.bodyBytes == played.body.count)
        let response = try await bench.web().fetch(web.url("/redirect/1"))
        #expect(response.body == played.body)
    }

    @Test func aRefusedRedirectIsTheHeadAlone() async {
        let played = await bench.play(web.url(to: "gemini://127.0.0.1/"))
        #expect(played.outcome == .redirectRefused)
        #expect(played.heads.map(\.redirectTarget) == ["gemini://127.0.0.1/"])
        guard case .head = played.events.last else {
            Issue.record("there is something behind the head")
            return
        }
        #expect(played.body == [])
    }

    @Test func aRedirectThatIsNotFollowedIsShownWithItsBody() async {
        let played = await bench.play(
            web.url("/redirect/1"), options: { $0.redirects.follows = false })
        #expect(played.outcome == .redirectRefused)
        #expect(played.heads.map(\.status) == [302])
        #expect(played.text == "<p>It is elsewhere.\n")
    }

    @Test func aLoopIsNoticedWhenItCloses() async {
        let played = await bench.play(web.url("/loop"))
        #expect(played.outcome == .tooManyRedirects)
        #expect(played.redirects.count == 1)
        #expect(web.requests.count == 2)
    }

    @Test(arguments: [("/moved", true), ("/308", true), ("/found", false), ("/307", false)])
    func permanenceIsReported(_ path: String, _ isPermanent: Bool) async {
        let played = await bench.play(web.url(path))
        #expect(played.redirects.map(\.isPermanent) == [isPermanent])
    }

    @Test func plainMayLeadToTLSButNotBack() async throws {
        let secure = try Web(tls: .make())
        let up = await bench.play(web.url(to: secure.url("/1k")), options: secure.trust)
        #expect(up.outcome == .ok)
        #expect(up.body == DemoSites.page)
        #expect(up.connections.map { $0.tls != nil } == [false, true])
        let count = web.requests.count
        let down = await bench.play(secure.url(to: web.url("/1k")), options: secure.trust)
        #expect(down.outcome == .redirectRefused)
        #expect(down.ending?.message?.contains(web.url("/1k")) == true)
        #expect(web.requests.count == count, "it was not asked")
        let allowed = await bench.play(secure.url(to: web.url("/1k"))) { _ in
        } options: {
            secure.trust(&$0)
            $0.redirects.otherSchemes = ["http"]
        }
        #expect(allowed.body == DemoSites.page)
    }

    @Test func anotherProtocolIsRefusedUnlessAllowed() async throws {
        let capsule = try LoopbackServer.capsule()
        let refused = await bench.play(web.url(to: capsule.url("/1k")))
        #expect(refused.outcome == .redirectRefused)
        #expect(refused.ending?.remedy == .allowRedirectScheme)
        let followed = await bench.play(
            web.url(to: capsule.url("/1k")), options: { $0.redirects.otherSchemes = ["gemini"] })
        #expect(followed.outcome == .ok)
        #expect(followed.body == DemoSites.page)
        #expect(followed.ending?.uri.scheme == "gemini")
        capsule.stop()
        #expect(capsule.connections.count == 1)
    }

    @Test(arguments: ["file:///etc/passwd", "ftp://127.0.0.1/", "javascript:alert(1)"])
    func libcurlFollowsNothingByItself(_ target: String) async {
        let played = await bench.play(web.url(to: target))
        // A file has no host, which makes the first of them no URL of ours at all.
        #expect([.redirectRefused, .protocolError].contains(played.outcome))
        #expect(played.body == [])
    }

    @Test func aRedirectWithAnEndlessBodyEnds() async throws {
        let server = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write("HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n")
            while peer.write(DemoSites.block) {}
        }
        let played = await bench.play(server.url("/", scheme: "http")) {
            $0.limits.bodyBytesMax = nil
        }
        #expect(played.outcome == .tooLarge)
        #expect(played.events.count == 2, "connecting, connected")
        #expect(server.clientSockets == 0)
    }

    @Test(arguments: ["/next", "next", "//HOST/next", "?q", "/a%20b", "/a b"])
    func relativeTargetsAreResolved(_ reference: String) async {
        let place = "127.0.0.1:\(web.server.port)"
        let target = reference.replacing("HOST", with: place)
        _ = await bench.play(web.url(to: target))
        let expected =
            switch reference {
            case "next": "/to/next"
            case "?q": web.requests[0].target + "?q"
            case "/a b": "/a%20b"
            case "//HOST/next": "/next"
            default: reference
            }
        #expect(web.requests.map(\.target).last == expected)
    }

    @Test func theFragmentStaysWithUs() async {
        let played = await bench.play(web.url("/redirect/1#part"))
        #expect(played.ending?.uri.fragment == "part")
        #expect(web.requests.map(\.target) == ["/redirect/1", "/about"])
    }

    // MARK: Method, body and fields

    @Test(arguments: [
        ("/moved", "POST", "GET"), ("/found", "POST", "GET"), ("/see-other", "POST", "GET"),
        ("/307", "POST", "POST"), ("/308", "POST", "POST"),
        ("/see-other", "PUT", "GET"), ("/307", "PUT", "PUT"),
        ("/see-other", "DELETE", "GET"), ("/found", "DELETE", "DELETE"),
        ("/see-other", "HEAD", "HEAD"), ("/found", "HEAD", "HEAD"), ("/see-other", "GET", "GET"),
    ])
    func theMethodFollowsTheRules(_ path: String, _ method: String, _ next: String) async {
        let hasBody = ["POST", "PUT"].contains(method)
        _ = await bench.play(web.url(path)) {
            $0.http.method = ["POST", "GET"].contains(method) ? nil : method
            if hasBody {
                $0.http.body = Array("a body".utf8)
                $0.http.fields = [HTTPField("Content-Type", "text/x-test")]
            }
        }
        #expect(web.requests.map(\.method) == [method, next])
        let keepsBody = hasBody && next == method
        #expect(web.requests.last?.body == (keepsBody ? Array("a body".utf8) : []))
        #expect(web.requests.last?["content-type"] == (keepsBody ? ["text/x-test"] : []))
    }

    @Test func inputIsRepeatedOnlyWhereTheServerSaysSo() async {
        for path in ["/307", "/found"] {
            _ = await bench.play(web.url(path)) { $0.input = Array("input".utf8) }
        }
        #expect(web.requests.map(\.method) == ["POST", "POST", "POST", "GET"])
        #expect(web.requests[1].body == Array("input".utf8))
        #expect(web.requests[3].body == [])
    }

    private static func addSecrets(_ request: inout Request) {
        request.http.fields = [
            HTTPField("Authorization", "Bearer secret"), HTTPField("cookie", "id=secret"),
            HTTPField("Cookie ", "id=secret"), HTTPField("X-Api-Key", "secret"),
            HTTPField("Accept-Language", "eo"), HTTPField("If-None-Match", "x"),
            HTTPField("Referer", ""),
        ]
    }

    private func notes(_ played: Played) -> [Note] {
        played.events.compactMap { if case .note(let note) = $0 { note } else { nil } }
    }

    @Test func secretsStayOnTheirHost() async throws {
        let other = try Web()
        let same = await bench.play(web.url(to: "/echo"), request: Self.addSecrets)
        #expect(same.outcome == .ok)
        #expect(web.requests.last?["authorization"] == ["Bearer secret"])
        #expect(web.requests.last?["cookie"] == ["id=secret", "id=secret"])
        #expect(web.requests.last?["x-api-key"] == ["secret"])
        #expect(notes(same).isEmpty)
        let played = await bench.play(web.url(to: other.url("/echo")), request: Self.addSecrets)
        let request = try #require(other.requests.last)
        #expect(!request.fields.contains { $0.value.contains("secret") })
        #expect(request["accept-language"] == ["eo"])
        #expect(request["if-none-match"] == ["x"])
        #expect(
            notes(played) == [
                Note(
                    "other-origin",
                    "not sent on to 127.0.0.1:\(other.server.port): "
                        + "Authorization, cookie, Cookie, X-Api-Key")
            ])
    }

    @Test(arguments: [301, 302, 303, 307, 308], [nil, "PUT"])
    func noBodyGoesToAnotherOrigin(_ status: Int, _ method: String?) async throws {
        let other = try Web()
        let target = other.url("/echo")
        let first = try LoopbackServer { peer in
            guard WebRequest(from: peer) != nil else { return }
            peer.write("HTTP/1.1 \(status) Elsewhere\r\nLocation: \(target)\r\n\r\n")
        }
        let played = await bench.play(first.url("/", scheme: "http")) {
            $0.http.method = method
            $0.input = Array("a secret".utf8)
            $0.http.fields = [HTTPField("Content-Type", "text/x-test")]
        }
        #expect(played.outcome == .ok, "\(played.result)")
        let request = try #require(other.requests.first)
        #expect(request.method == "GET", "an empty PUT would empty a file")
        #expect(request.body == [])
        #expect(request["content-type"] == [])
        #expect(notes(played).map(\.code) == (status >= 307 ? ["other-origin"] : []))
    }

    @Test func aSecretDoesNotComeBackFromAnotherProtocol() async throws {
        let capsule = try LoopbackServer.capsule(elsewhere: web.url("/echo"))
        let played = await bench.play(
            web.url(to: capsule.url("/cross-scheme")), request: Self.addSecrets,
            options: { $0.redirects.otherSchemes = ["gemini", "http"] })
        #expect(played.redirects.count == 2, "\(played.result)")
        #expect(web.requests.last?.target == "/echo")
        #expect(web.requests.last?.fields.contains { $0.value.contains("secret") } == false)
    }

    @Test func thePortThatASchemeHasAnywayIsTheSameOrigin() async {
        let played = await bench.play(
            "http://name.test/to/" + PercentEncoding.encode(Array("http://name.test:80/echo".utf8)),
            request: Self.addSecrets,
            options: { $0.http.connectTo = ["name.test:80:127.0.0.1:\(web.server.port)"] })
        #expect(played.outcome == .ok, "\(played.result)")
        #expect(web.requests.last?["x-api-key"] == ["secret"])
    }

    @Test func secretsDoNotComeBackFromAnotherHost() async throws {
        let other = try Web()
        let there = other.url(to: web.url("/echo"))
        let played = await bench.play(web.url(to: there), request: Self.addSecrets)
        #expect(played.redirects.count == 2)
        #expect(web.requests.first?["cookie"] == ["id=secret", "id=secret"])
        #expect(web.requests.last?.target == "/echo")
        #expect(web.requests.last?["authorization"] == [])
        #expect(web.requests.last?["cookie"] == [])
    }

    @Test func anotherNameOfTheSameServerIsAnotherHost() async throws {
        let place = "other.test:\(web.server.port)"
        _ = await bench.play(web.url(to: "http://\(place)/echo"), request: Self.addSecrets) {
            $0.resolver.overrides[place] = ["127.0.0.1"]
        }
        #expect(web.requests.last?["host"] == [place])
        #expect(web.requests.last?["authorization"] == [])
    }

    @Test func theSameHostOverTLSIsAnotherOrigin() async throws {
        let secure = try Web(tls: .make())
        _ = await bench.play(
            web.url(to: secure.url("/echo")), request: Self.addSecrets, options: secure.trust)
        #expect(secure.requests.first?["authorization"] == [])
    }

    @Test func theUserOfAURLStaysOnItsHost() async throws {
        let other = try Web()
        let url = { (path: String) in
            web.url(path, host: "ada:secret@127.0.0.1")
        }
        _ = await bench.play(url("/see-other"))
        #expect(web.requests.map { $0["authorization"] } == Array(repeating: basic, count: 2))
        let target = web.url(to: other.url("/redirect/1")).dropFirst(web.url("").count)
        let played = await bench.play(url(String(target)))
        #expect(played.outcome == .ok)
        #expect(web.requests.last?["authorization"] == basic)
        #expect(other.requests.count == 2)
        for request in other.requests {
            #expect(request["authorization"] == [])
            #expect(!request.fields.contains { $0.value.contains("secret") })
        }
        #expect(played.ending?.uri.userinfo == nil)
        // Nor does a connection or a handle remember them.
        _ = await bench.play(web.url("/echo"))
        #expect(web.requests.last?["authorization"] == [])
    }

    private let basic = ["Basic YWRhOnNlY3JldA=="]

    @Test func theTotalTimeCountsAcrossRedirects() async {
        let played = await bench.play(web.url(to: "/silent")) {
            $0.limits.totalSeconds = 0.3
            $0.limits.idleSeconds = nil
        }
        #expect(played.error?.outcome == .timeout)
        #expect(web.server.clientSockets == 0)
    }
}
