// SPDX-License-Identifier: MIT
import SmallWeb
import SmallWebTestSupport
import SmallWebTransport
import Testing

/// Failures between us, libcurl and a server, and the outcome of each.
@Suite(.timeLimit(.minutes(30)))
struct HTTPErrorTests {
    private let bench: Bench
    private let web: Web

    init() throws {
        bench = try Bench()
        web = try Web()
    }

    @Test(arguments: [
        ("/status/404", Outcome.permanentFailure), ("/status/410", .permanentFailure),
        ("/status/429", .temporaryFailure), ("/status/500", .temporaryFailure),
        ("/status/503", .temporaryFailure), ("/status/408", .temporaryFailure),
        ("/status/304", .ok), ("/no-location", .ok), ("/no-reply", .emptyReply),
        ("/truncated", .truncated), ("/truncated-chunks", .truncated), ("/reset", .truncated),
        ("/reset-header", .receive), ("/garbage", .protocolError), ("/bad-status", .protocolError),
        ("/bad-chunk", .protocolError), ("/bad-length", .protocolError),
        ("/bad-gzip", .protocolError), ("/gzip-unknown", .protocolError),
        ("/nul-in-header", .protocolError), ("/endless-header", .protocolError),
        ("/endless-headers", .protocolError), ("/many-headers", .protocolError),
        ("/endless-1xx", .protocolError), ("/bad-redirect", .protocolError),
    ])
    func everyReplyHasItsOutcome(_ path: String, _ outcome: Outcome) async {
        let played = await bench.play(web.url(path))
        #expect(played.outcome == outcome, "\(played.result)")
        let message = played.error?.message ?? played.ending?.message ?? ""
        #expect(outcome == .ok || !message.isEmpty && !message.contains("\n"))
    }

    @Test func theBodyOfARefusalIsDelivered() async {
        let played = await bench.play(web.url("/status/404"))
        #expect(played.text == "This is status 404.\n")
        #expect(played.ending?.message == "the server refused: 404 Not Found")
    }

    @Test func theServerSaysHowLongToWait() async {
        for path in ["/status/429", "/status/503"] {
            let played = await bench.play(web.url(path))
            #expect(played.ending?.head?.retryAfter == .seconds(7))
        }
        let date = await bench.play(web.url("/status/503?date"))
        #expect(date.ending?.head?.retryAfter == .seconds(90))
        let silent = await bench.play(web.url("/status/500"))
        #expect(silent.ending?.head?.retryAfter == nil)
    }

    @Test func whatCameBeforeACutIsDelivered() async {
        for path in ["/truncated", "/truncated-chunks"] {
            let played = await bench.play(web.url(path))
            #expect(played.ending?.completeness == .truncated)
            #expect(!played.body.isEmpty)
        }
    }

    @Test func anErrorLeavesNothingToTheNextFetch() async throws {
        let refusing = try RefusingPort()
        for _ in 0..<2 {
            let refused = await bench.play("http://127.0.0.1:\(refusing.port)/")
            #expect(refused.error?.outcome == .connect)
            let family = await bench.play(web.url("/"), options: { $0.resolver.family = .v6 })
            #expect(family.error?.outcome == .resolve)
            #expect(await bench.play(web.url("/reset")).outcome == .truncated)
            #expect(await bench.play(web.url("/bad-chunk")).outcome == .protocolError)
            let timeout = await bench.play(web.url("/silent")) { $0.limits.idleSeconds = 0.1 }
            #expect(timeout.error?.outcome == .timeout)
            #expect(await bench.play(web.url("/1k")).body == DemoSites.page)
        }
    }

    // MARK: Before the request

    @Test func anAddressOfTheOtherFamilyIsNotResolved() async {
        let played = await bench.play(web.url("/"), options: { $0.resolver.family = .v6 })
        #expect(played.error?.outcome == .resolve)
    }

    @Test func aNameThatCannotExistIsNotResolved() async {
        // Too long a label, which our own URLs cannot have: no server is asked.
        let name = String(repeating: "a", count: 64) + ".test"
        let played = await bench.play(
            "http://name.test/", options: { $0.http.connectTo = ["name.test:80:\(name):80"] })
        #expect(played.error?.outcome == .resolve)
        #expect(played.error?.phase == .resolve)
    }

    @Test func overridesAreUsedAndKeepTheName() async {
        let played = await bench.play(web.url("/echo", host: "name.test")) { _ in
        } options: {
            $0.resolver.overrides["name.test:\(web.server.port)"] = ["127.0.0.1"]
        }
        #expect(played.outcome == .ok)
        #expect(web.requests.first?["host"] == ["name.test:\(web.server.port)"])
    }

    @Test func aRefusedConnectionIsAConnectError() async throws {
        let refusing = try RefusingPort()
        let played = await bench.play("http://127.0.0.1:\(refusing.port)/")
        #expect(played.error?.outcome == .connect)
        #expect(played.error?.phase == .connect)
    }

    @Test func aServerWithoutTLSIsATLSError() async throws {
        let plain = try LoopbackServer { peer in
            _ = peer.read(5)
            peer.write("HTTP/1.1 400 Bad Request\r\n\r\n")
        }
        let played = await bench.play(plain.url("/", scheme: "https"))
        #expect(played.error?.outcome == .tls)
        #expect(played.error?.phase == .tls)
    }

    @Test(arguments: [
        "http://127.0.0.1:1/%0d%0aX:%201", "http://127.0.0.1:1/ a", "http://:80/", "http:///path",
    ])
    func aBadURLIsNotSent(_ url: String) async {
        // Encoded characters stay encoded; the other URLs are invalid.
        let outcome = await bench.play(url).outcome
        #expect(outcome == (url.contains("%0d") ? .connect : .badURL))
    }

    @Test func noOptionCanAddALineToTheRequest() async {
        let evil = "a\r\nX-Injected: 1"
        let changes: [@Sendable (inout Request) -> Void] = [
            { $0.http.fields = [HTTPField("X-One", evil)] },
            { $0.http.fields = [HTTPField("X-One: 1\r\nX-Injected", "1")] },
            { $0.http.fields = [HTTPField("X-One", "a\nb")] },
            { $0.http.fields = [HTTPField("X-One", "a\0b")] },
            { $0.http.method = "GET / HTTP/1.1\r\nX-Injected: 1\r\n\r\nGET" },
            { $0.http.method = "GET /other" }, { $0.http.method = "" },
        ]
        for change in changes {
            let played = await bench.play(web.url("/"), request: change)
            #expect(played.error?.phase == .input, "\(played.result)")
            #expect([.badURL, .usage].contains(played.outcome))
        }
        let agent = await bench.play(web.url("/"), options: { $0.http.userAgent = evil })
        #expect(agent.error?.phase == .input)
        #expect(web.requests.isEmpty)
    }

    // MARK: Trust

    @Test func aSelfSignedCertificateIsUntrusted() async throws {
        let secure = try Web(tls: .make())
        let played = await bench.play(secure.url("/1k"))
        #expect(played.error?.outcome == .untrusted)
        #expect(played.error?.phase == .tls)
        #expect(secure.requests.isEmpty)
    }

    @Test func aCertificateForAnotherHostIsUntrusted() async throws {
        let secure = try Web(tls: .make(names: ["other.test"], ips: ["127.0.0.2"]))
        let played = await bench.play(secure.url("/1k"), options: secure.trust)
        #expect(played.error?.outcome == .untrusted)
    }

    @Test func anExpiredCertificateIsUntrusted() async throws {
        let secure = try Web(tls: .make(notBefore: 900_000_000, notAfter: 1_000_000_000))
        let played = await bench.play(secure.url("/1k"), options: secure.trust)
        #expect(played.error?.outcome == .untrusted)
    }

    @Test func anotherKeyThanThePinnedOneIsRefused() async throws {
        let certificate = TestCertificate.make()
        let secure = try Web(tls: certificate)
        let played = await bench.play(secure.url("/1k")) { _ in
        } options: {
            secure.trust(&$0)
            $0.judge(.pin(certificate.sha256))
        }
        #expect(played.error?.outcome == .trustChanged)
        #expect(secure.requests.isEmpty)
    }

    @Test func anAuthorityFileThatIsMissingIsUntrusted() async throws {
        let secure = try Web(tls: .make())
        let played = await bench.play(
            secure.url("/1k"), options: { $0.http.authorityFile = "/nowhere/authority.pem" })
        #expect(played.error?.outcome == .untrusted)
    }

    @Test func aConnectionMadeWithoutTrustIsNotReusedByThoseWhoWantIt() async throws {
        let certificate = TestCertificate.make()
        let secure = try Web(tls: certificate)
        let careless = await bench.play(secure.url("/1k"), options: { $0.judge(.skip) })
        #expect(careless.outcome == .ok)
        #expect(await bench.play(secure.url("/1k")).outcome == .untrusted)
        let pinned = await bench.play(
            secure.url("/1k"), options: { $0.judge(.pin(certificate.sha256)) })
        #expect(pinned.outcome == .trustChanged)
        #expect(secure.requests.count == 1)
    }

    @Test func oldTLSIsATLSError() async throws {
        let secure = try Web(tls: .make(), versions: TLSVersion.one...TLSVersion.oneOne)
        let played = await bench.play(secure.url("/1k"), options: secure.trust)
        #expect(played.error?.outcome == .tls)
    }

    @Test func aBodyThatMayBeCutOffIsNotComplete() async throws {
        // Neither a length nor close_notify: an error from libcurl 8.14 on, before not to be told
        // from close_notify alone.
        let secure = try Web(tls: .make())
        let played = await bench.play(secure.url("/close-delimited-cut"), options: secure.trust)
        #expect(played.ending?.completeness == .unverified || played.outcome == .truncated)
        let proper = await bench.play(secure.url("/close-delimited"), options: secure.trust)
        #expect(proper.outcome == .ok)
        #expect(proper.body == DemoSites.page)
    }

    // MARK: Limits

    @Test func connectingHasALimitOfItsOwn() async throws {
        let silent = try SilentPort()
        let played = await bench.play("http://127.0.0.1:\(silent.port)/") {
            $0.limits.connectSeconds = 0.1
        }
        #expect(played.error?.outcome == .timeout)
        #expect(played.error?.phase == .connect)
        #expect(silent.clientSockets == 0)
    }

    @Test func theHandshakeCountsAsConnecting() async throws {
        let silent = try LoopbackServer { $0.hang() }
        let played = await bench.play(silent.url("/", scheme: "https")) {
            $0.limits.connectSeconds = 0.2
        }
        #expect(played.error?.outcome == .timeout)
        #expect(silent.clientSockets == 0)
    }

    /// No other limit could end it before the suite's own does.
    @Test(arguments: ["/silent", "/silent-header", "/silent-body"])
    func silenceEndsAFetch(_ path: String) async {
        let wanted = path == "/silent-body" ? "and then nothing" : ""
        // A busy machine may be silent before that: then the limit is longer.
        for seconds in [0.2, 2, 10, 60] {
            let played = await bench.play(web.url(path)) {
                $0.limits.idleSeconds = seconds
                $0.limits.connectSeconds = 1000
                $0.limits.totalSeconds = nil
            }
            #expect(played.error?.outcome == .timeout)
            #expect(web.server.clientSockets == 0)
            if played.text != wanted && seconds < 60 { continue }
            #expect(played.text == wanted)
            return
        }
    }

    @Test(arguments: ["/silent", "/silent-header", "/silent-body", "/endless"])
    func theTotalTimeEndsAFetch(_ path: String) async {
        let played = await bench.play(web.url(path)) {
            $0.limits.totalSeconds = 0.2
            $0.limits.idleSeconds = nil
            $0.limits.bodyBytesMax = nil
        }
        #expect(played.error?.outcome == .timeout)
        #expect(web.server.clientSockets == 0)
    }

    @Test func aSlowServerIsNoSilentOne() async {
        let played = await bench.play(web.url("/slow")) { $0.limits.idleSeconds = 60 }
        #expect(played.outcome == .ok)
    }

    @Test(arguments: [("/big/100001", 1...1), ("/endless", 0...0), ("/gzip-bomb", 0...1)])
    func aBodyBeyondItsLimitEndsInTheMiddle(_ path: String, kept: ClosedRange<Int>) async {
        let played = await bench.play(web.url(path)) { $0.limits.bodyBytesMax = 100_000 }
        #expect(played.error?.outcome == .tooLarge, "\(played.result)")
        #expect(played.error?.expected == "100000")
        #expect(played.body.count <= 100_000)
        // A finished exchange may keep its connection; the bomb is finished if it came in one
        // piece.
        #expect(kept.contains(web.server.clientSockets))
    }

    /// One piece from the network may unpack to a thousand times its size.
    @Test func aBodyThatUnpacksToManyMegabytesArrives() async {
        let played = await bench.play(web.url("/gzip-zeros")) { $0.limits.bodyBytesMax = nil }
        #expect(played.outcome == .ok, "\(played.error?.message ?? "")")
        #expect(played.ending?.bodyBytes == 80 << 20)
    }

    @Test(
        arguments: [
            ("", [], Outcome.ok), ("gzip", [], .ok), ("gzip", DemoSites.gzipBytes, .ok),
            ("X-GZip", DemoSites.gzipBytes, .ok),
            ("gzip", DemoSites.gzipBytes.dropLast(), .truncated),
            ("gzip", DemoSites.gzipBytes + DemoSites.gzipBytes, .ok),
            ("gzip", DemoSites.gzipBytes + DemoSites.gzipBytes.prefix(1), .truncated),
            ("gzip", DemoSites.gzipBytes + [0, 0], .protocolError),
            ("gzip", DemoSites.gzipBytes.dropLast() + [1], .protocolError),
            ("gzip, gzip", DemoSites.gzipBytes, .protocolError), ("br", [0x3B], .protocolError),
            ("br", [], .ok), ("identity", Array("as it is".utf8), .ok),
            (" ", Array("as it is".utf8), .ok), ("identity,\tgzip ", DemoSites.gzipBytes, .ok),
            ("gzip\r\nContent-Encoding: br", [0x3B], .protocolError),
        ] as [(String, [UInt8], Outcome)])
    func anEncodedBodyIsWholeOrNot(
        _ coding: String, _ body: [UInt8], _ outcome: Outcome
    ) async throws {
        let server = try LoopbackServer { peer in
            guard WebRequest(from: peer) != nil else { return }
            let field = coding.isEmpty ? "" : "Content-Encoding: \(coding)\r\n"
            peer.write("HTTP/1.1 200 OK\r\n\(field)Content-Length: \(body.count)\r\n\r\n")
            for byte in body { peer.write([byte]) }
        }
        let played = await bench.play(server.url("/", scheme: "http"))
        #expect(played.outcome == outcome, "\(played.result)")
        guard let ending = played.ending else {
            let isOther = !coding.lowercased().hasSuffix("gzip") || coding.contains(",")
            #expect(played.error?.remedy == (isOther ? .takeEncoded : nil))
            return
        }
        #expect(ending.completeness == (outcome == .ok ? .complete : .truncated))
        if coding.lowercased().contains("gzip") && !body.isEmpty {
            #expect(played.text.hasPrefix(DemoSites.gzipText))
        } else {
            #expect(played.body == body)
        }
    }

    @Test func aBodyMayHaveExactlyItsLimit() async {
        let played = await bench.play(web.url("/big/100000")) { $0.limits.bodyBytesMax = 100_000 }
        #expect(played.outcome == .ok)
        #expect(played.body.count == 100_000)
    }

    // MARK: Cancellation

    @Test(arguments: ["/silent", "/silent-header", "/silent-body", "/endless"])
    func cancellingAFetchClosesItsConnection(_ path: String) async throws {
        let (bench, web) = (bench, web)
        let task = Task {
            await bench.play(web.url(path)) { $0.limits.bodyBytesMax = nil }
        }
        try await eventually("it has asked") { !web.requests.isEmpty }
        task.cancel()
        #expect(await task.value.error?.outcome == .interrupted)
        #expect(web.server.clientSockets == 0)
    }

    @Test func cancellingBeforeTheConnectionClosesIt() async throws {
        let silent = try SilentPort()
        let (bench, port) = (bench, silent.port)
        let task = Task { await bench.play("http://127.0.0.1:\(port)/") }
        try await eventually("the client has come") { silent.clientSockets > 0 }
        task.cancel()
        #expect(await task.value.error?.outcome == .interrupted)
        #expect(silent.clientSockets == 0)
    }

    @Test(arguments: ["http", "https"])
    func cancellingWhileWeSendOrShakeHandsClosesTheConnection(_ scheme: String) async throws {
        let stubborn = try LoopbackServer { $0.hangWithoutReading() }
        let (bench, url) = (bench, stubborn.url("/", scheme: scheme))
        let task = Task {
            await bench.play(url) { $0.input = [UInt8](repeating: 0, count: 32 << 20) }
        }
        try await eventually("the client has come") { stubborn.clientSockets > 0 }
        task.cancel()
        #expect(await task.value.error?.outcome == .interrupted)
        #expect(stubborn.clientSockets == 0)
    }

    // MARK: Proxies

    @Test func aDeadProxyIsAConnectError() async throws {
        let refusing = try RefusingPort()
        for kind in ["http", "socks5h"] {
            let played = await bench.play(
                web.url("/"),
                options: { $0.proxies = .through("\(kind)://127.0.0.1:\(refusing.port)") })
            #expect(played.error?.outcome == .connect)
        }
        #expect(web.requests.isEmpty)
    }

    @Test func aProxyThatCannotBeResolvedHasItsOwnOutcome() async {
        let name = String(repeating: "a", count: 64) + ".test"
        let played = await bench.play(
            web.url("/"),
            options: { $0.proxies.source = .proxy(Proxy(.http, host: name, port: 80)) })
        #expect(played.error?.outcome == .proxyResolve)
    }

    @Test func aProxyGetsTheWholeURL() async throws {
        let played = await bench.play("http://name.test/echo?q") { _ in
        } options: {
            $0.proxies = .through("http://127.0.0.1:\(web.server.port)")
        }
        #expect(played.outcome == .permanentFailure, "the site is no proxy")
        #expect(web.requests.map(\.target) == ["http://name.test/echo?q"])
    }

    @Test func aProxyThatRefusesATunnelIsAProxyError() async throws {
        let played = await bench.play("https://name.test/") { _ in
        } options: {
            $0.proxies = .through("http://127.0.0.1:\(web.server.port)")
        }
        #expect(played.error?.outcome == .proxy, "\(played.result)")
        #expect(played.heads.isEmpty)
        #expect(web.requests.map(\.method) == ["CONNECT"])
    }

    @Test func aProxyThatSpeaksNoSOCKSIsAProxyError() async throws {
        let deaf = try LoopbackServer { peer in
            _ = peer.read(3)
            peer.write([5, 0xFF])
        }
        let played = await bench.play(
            web.url("/"), options: { $0.proxies = .through("socks5h://127.0.0.1:\(deaf.port)") })
        #expect(played.error?.outcome == .proxy, "\(played.result)")
    }
}
