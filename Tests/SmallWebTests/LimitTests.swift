// SPDX-License-Identifier: MIT
import SmallWeb
import SmallWebTestSupport
import Testing

@Suite(.timeLimit(.minutes(30)))
struct LimitTests {
    private let bench: Bench
    private let server: LoopbackServer

    init() throws {
        bench = try Bench()
        server = try .capsule()
    }

    @Test func aBodyMayHaveItsLimitAndNotOneByteMore() async {
        let whole = await bench.play(server.url("/big/100000")) {
            $0.limits.bodyBytesMax = 100_000
        }
        #expect(whole.outcome == .ok)
        #expect(whole.ending?.bodyBytes == 100_000)
        #expect(DemoSites.isBlock(whole.body[...], at: 0))
        let tooLarge = await bench.play(server.url("/big/100001")) {
            $0.limits.bodyBytesMax = 100_000
        }
        #expect(tooLarge.error?.outcome == .tooLarge)
        #expect(tooLarge.error?.expected == "100000")
        #expect(tooLarge.body.count <= 100_000)
    }

    @Test func anEndlessBodyEndsAtTheLimitAndTheConnectionWithIt() async {
        let played = await bench.play(server.url("/endless")) {
            $0.limits.bodyBytesMax = 1 << 20
        }
        #expect(played.outcome == .tooLarge)
        #expect(server.clientSockets == 0)
    }

    @Test func anEndlessHeaderIsAProtocolError() async {
        let played = await bench.play(server.url("/endless-header"))
        #expect(played.outcome == .protocolError)
        #expect(server.clientSockets == 0)
    }

    @Test(arguments: ["/silent", "/silent-body", "/endless"])
    func theTotalTimeEndsAFetch(_ path: String) async {
        let played = await bench.play(server.url(path)) {
            $0.limits.totalSeconds = 0.2
            $0.limits.idleSeconds = nil
            $0.limits.bodyBytesMax = nil
        }
        #expect(played.error?.outcome == .timeout)
        #expect(played.error?.phase == (path == "/silent" ? .header : .body))
        #expect(server.clientSockets == 0)
    }

    /// Before its head, the body has not begun: for every limit and scheme.
    @Test(arguments: Registry.builtIn.schemes.filter { $0.transport == .tcp }.map(\.name))
    func aServerThatSaysNothingHasNoBody(_ scheme: String) async throws {
        let server = try LoopbackServer { peer in peer.hang() }
        for limit in [\.idleSeconds, \.totalSeconds] as [WritableKeyPath<Limits, Double?>] {
            let played = await bench.play(server.url("/a//b", scheme: scheme)) {
                ($0.limits.idleSeconds, $0.limits.totalSeconds) = (nil, nil)
                $0.limits[keyPath: limit] = 0.1
            }
            #expect(played.error?.outcome == .timeout, "\(scheme)")
            #expect(played.error?.phase == .header, "\(scheme)")
        }
    }

    /// A time that is 0 or less is no time, of every limit and for every kind of scheme.
    @Test(arguments: ["gemini", "gopher", "http", "finger"], [0.0, -1, -.infinity, .nan])
    func aLimitThatIsOverIsOverAtOnce(_ scheme: String, _ seconds: Double) async throws {
        let server = try LoopbackServer { peer in peer.hang() }
        let limits: [WritableKeyPath<Limits, Double?>] = [
            \.connectSeconds, \.idleSeconds, \.totalSeconds,
        ]
        // None is `NaN` seconds long.
        for limit in limits where !seconds.isNaN || limit == \.totalSeconds {
            let played = await bench.play(server.url("/", scheme: scheme)) {
                $0.limits[keyPath: limit] = seconds
            }
            #expect(played.error?.outcome == .timeout, "\(scheme), \(limit)")
        }
        server.stop()
        #expect(server.connections.isEmpty)
    }

    @Test(arguments: [Duration.zero, .seconds(-1), .seconds(Int64.min), .seconds(Int64.max), nil])
    func limitsAreWhatTheirDurationsSay(_ time: Duration?) async {
        let limits = [
            Limits(total: time), Limits(connect: time), Limits(idle: time),
            Limits(total: time, connect: time, idle: time),
        ]
        let web = try? LoopbackServer(handler: DemoSites.web)
        for url in [server.url("/about"), web?.url("/about", scheme: "http") ?? ""] {
            for limit in limits {
                let played = await bench.play(url) { $0.limits = limit }
                #expect(played.outcome == (time.map { $0 > .zero } ?? true ? .ok : .timeout))
            }
        }
    }

    @Test(arguments: [0, -1, Int.min])
    func noBytesAreNoBytes(_ count: Int) async {
        for limit in [\Limits.bodyBytesMax] {
            let played = await bench.play(server.url("/1k")) { $0.limits[keyPath: limit] = count }
            #expect(played.error?.outcome == (count < 0 ? .usage : .tooLarge))
        }
    }

    @Test func silenceEndsAFetchAfterWhatCameBefore() async {
        // A busy machine may be silent before that: then the limit is longer.
        for seconds in [0.1, 1, 10, 60] {
            let played = await bench.play(server.url("/silent-body")) {
                $0.limits.idleSeconds = seconds
            }
            if played.body.isEmpty && seconds < 60 { continue }
            #expect(played.error?.outcome == .timeout)
            #expect(played.body == Array("and then nothing".utf8))
            return
        }
    }

    @Test func connectingHasALimitOfItsOwn() async throws {
        let silent = try SilentPort()
        let played = await bench.play("gopher://127.0.0.1:\(silent.port)/") {
            $0.limits.connectSeconds = 0.1
        }
        #expect(played.error?.outcome == .timeout)
        #expect(played.error?.phase == .connect)
        #expect(silent.clientSockets == 0)
    }

    @Test(arguments: [
        ("/truncated", Outcome.truncated), ("/reset", .truncated), ("/no-reply", .emptyReply),
        ("/malformed", .protocolError), ("/status/51", .permanentFailure),
        ("/status/44", .temporaryFailure), ("/status/60", .needsIdentity), ("/input", .needsInput),
        ("/empty", .ok), ("/split", .ok), ("/slow", .ok), ("/status/29", .ok),
    ])
    func everyReplyHasItsOutcome(_ path: String, _ outcome: Outcome) async {
        let played = await bench.play(server.url(path))
        #expect(played.outcome == outcome)
    }

    @Test func gopherAndFingerWorkOverRealConnections() async throws {
        let gopher = try LoopbackServer(handler: DemoSites.gopher)
        let menu = await bench.play(gopher.url("/1/", scheme: "gopher"))
        #expect(menu.outcome == .ok)
        #expect(menu.items.count == 10)
        #expect(menu.ending?.completeness == .complete)
        let dots = await bench.play(gopher.url("/0/dots.txt", scheme: "gopher"))
        #expect(
            dots.body == Array("one\r\n.two begins with a dot\r\n..\r\nthree\r\n".utf8))
        let big = await bench.play(gopher.url("/9/big/3000000", scheme: "gopher"))
        #expect(big.ending?.bodyBytes == 3_000_000)
        #expect(DemoSites.isBlock(big.body[...], at: 0))
        let missing = await bench.play(gopher.url("/0/missing", scheme: "gopher"))
        #expect(missing.outcome == .permanentFailure)

        let secure = try LoopbackServer(tls: .make(), handler: DemoSites.gopher)
        let page = await bench.play(secure.url("/0/1k", scheme: "gophers"))
        #expect(page.body == DemoSites.page)

        let finger = try LoopbackServer(handler: DemoSites.finger)
        let ada = await bench.play(finger.url("/ada", scheme: "finger"))
        #expect(ada.body.starts(with: Array("Login: ada\r\n".utf8)))
        #expect(ada.ending?.completeness == .unverified)
    }
}
