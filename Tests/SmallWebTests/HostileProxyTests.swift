// SPDX-License-Identifier: MIT
import Glibc
import SmallWeb
import SmallWebTesting
import SmallWebTestSupport
import SmallWebTransport
import Testing

/// Every refusal, cut and lie of a proxy has the right outcome, for schemes of ours and through
/// libcurl alike; and limits of proxy commands.
@Suite(.timeLimit(.minutes(30)))
struct HostileProxyTests {
    private static let targets = ["gopher://a.test/", "http://a.test/", "https://a.test/"]
    private let bench: Bench

    init() throws { bench = try Bench() }

    /// The end of the connection after the proxy's bytes.
    private enum End: CaseIterable {
        case fin, reset, silence
    }

    /// Says something without listening first.
    private func liar(_ reply: [UInt8], step: Int = .max, _ end: End = .fin) throws
        -> LoopbackServer
    {
        try LoopbackServer { peer in
            _ = peer.read(1)
            peer.writeSlowly(reply, step: min(step, max(1, reply.count)))
            switch end {
            case .fin: return
            case .reset: peer.reset()
            case .silence: peer.hang()
            }
        }
    }

    private func play(
        _ url: String, through kind: String, _ server: LoopbackServer, connectSeconds: Double = 20
    ) async -> Played {
        await bench.play(url) {
            $0.limits.connectSeconds = connectSeconds
        } options: {
            $0.proxies = .through("\(kind)://127.0.0.1:\(server.port)")
        }
    }

    private func expect(
        _ outcome: Outcome, _ reply: [UInt8], through kind: String, step: Int = .max,
        _ end: End = .fin, for targets: [String] = targets
    ) async throws {
        let server = try liar(reply, step: step, end)
        // Silence needs little time, unless the machine is too busy to reach the proxy in it.
        let limits: [Double] = end == .silence ? [0.2, 2, 20] : [20]
        for url in targets where kind != "http" || !url.hasPrefix("http:") {
            var played = await play(url, through: kind, server, connectSeconds: limits[0])
            for seconds in limits.dropFirst() where played.error?.phase != .proxy {
                played = await play(url, through: kind, server, connectSeconds: seconds)
            }
            let what = "\(kind) \(url) \(reply.prefix(60)) \(end): \(played.result)"
            #expect(played.error?.outcome == outcome, "\(what)")
            #expect(played.error?.phase == .proxy, "\(what)")
            #expect(
                played.error?.message.contains("\(kind)://127.0.0.1:\(server.port)") == true,
                "\(what)")
        }
    }

    /// Replies that open the connection to a target, by the kind of proxy.
    private static let successes: [(kind: String, reply: [UInt8])] = [
        ("socks5h", [5, 0, 5, 0, 0, 3, 1, 97, 7, 173]), ("socks4a", [0, 90, 0, 0, 0, 0, 0, 0]),
        ("http", Array("HTTP/1.1 100 x\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\n\r\n".utf8)),
    ]

    @Test func everyReplyCodeIsARefusal() async throws {
        for code: UInt8 in [1, 2, 3, 4, 5, 6, 7, 8, 9, 0x7F, 0xF0, 0xF7, 0xFF] {
            try await expect(.proxy, [5, 0, 5, code, 0, 1, 0, 0, 0, 0, 0, 0], through: "socks5h")
        }
        for code: UInt8 in [0, 1, 89, 91, 92, 93, 255] {
            try await expect(.proxy, [0, code, 0, 0, 0, 0, 0, 0], through: "socks4a")
        }
        for kind: UInt8 in [0, 2, 5, 255] {
            try await expect(.proxy, [5, 0, 5, 0, 0, kind, 9, 9, 9, 9], through: "socks5h")
        }
        for way: UInt8 in [1, 2, 3, 255] {
            try await expect(.proxy, [5, way], through: "socks5h")
        }
        for status in ["301 Moved", "400 x", "403 x", "407 x", "500 x", "101 x", "000 x"] {
            try await expect(
                .proxy, Array("HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n".utf8),
                through: "http")
        }
    }

    @Test func everyCutIsTheProxysFault() async throws {
        for (kind, reply) in Self.successes {
            for count in reply.indices {
                let targets = [Self.targets[count % 3], Self.targets[(count + 2) % 3]]
                let cut = Array(reply.prefix(count))
                for end in [End.fin, .reset] {
                    try await expect(.proxy, cut, through: kind, step: 1, end, for: targets)
                }
            }
        }
    }

    @Test func silenceIsATimeout() async throws {
        for (kind, reply) in Self.successes {
            for count in [0, 2, reply.count - 1] {
                try await expect(
                    .timeout, Array(reply.prefix(count)), through: kind, .silence)
            }
        }
    }

    @Test func endlessHeadersEnd() async throws {
        for line in [
            "HTTP/1.1 200 OK\r\nA: ", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 103 x\r\n\r\n",
            "SSH-2.0-x\r\n",
        ] {
            let server = try LoopbackServer { peer in
                while peer.write(line) {
                    if line.hasSuffix(" ") {
                        while peer.write(DemoSites.page.filter { $0 > 31 }) {}
                    }
                }
            }
            for url in ["gopher://a.test/", "https://a.test/"] {
                let played = await play(url, through: "http", server)
                #expect(played.error?.outcome == .proxy, "\(line): \(played.result)")
            }
        }
    }

    @Test func aForwardingProxyThatWantsALoginIsAProxyError() async throws {
        let server = try LoopbackServer { peer in
            while WebRequest(from: peer) != nil {
                peer.write("HTTP/1.1 407 Log In\r\nContent-Length: 4\r\n\r\nauth")
            }
        }
        let played = await play("http://a.test/", through: "http", server)
        #expect(played.error?.outcome == .proxy)
        #expect(played.error?.remedy == .giveProxyCredentials)
        #expect(played.error?.message.hasSuffix("407 Log In") == true)
        #expect(played.body.isEmpty && played.heads.isEmpty)
        // From the server itself it is a status like others.
        let direct = await bench.play(server.url("/", scheme: "http"))
        #expect(direct.outcome == .permanentFailure)
    }

    // MARK: TLS to the proxy

    @Test func aProxyThatAnyoneCouldBeIsNotTrusted() async throws {
        let (proxy, web) = (try DemoProxy(tls: .make()), try Web())
        let hole = try LoopbackServer(handler: DemoSites.gopher)
        for url in [web.url("/1k"), hole.url("/0/1k", scheme: "gopher")] {
            for skips in [false, true] {
                let played = await bench.play(url) { _ in
                } options: {
                    if skips { $0.trustStore = TrustStore(path: "", policy: .skip) }
                    $0.proxies = .through(proxy.url("https"))
                }
                #expect(played.error?.outcome == .untrusted, "\(url): \(played.result)")
                #expect(played.error?.phase == .proxy)
                #expect(played.error?.remedy == .nameProxyAuthority)
            }
        }
        #expect(proxy.orders.isEmpty)
        for (kind, url) in [("http", "gopher://a.test/"), ("http", "http://a.test/")] {
            // One that speaks no TLS.
            let plain = try LoopbackServer { peer in
                _ = peer.read(5)
                peer.write("\(kind) 400 Bad Request\r\n\r\n")
            }
            let played = await play(url, through: "https", plain)
            #expect(played.error?.outcome == .proxy, "\(played.result)")
        }
    }

    // MARK: Cancellation

    @Test(arguments: ["socks5h", "socks4a", "http", "https"])
    func cancellingDuringTheHandshakeClosesTheConnection(_ kind: String) async throws {
        for url in ["gopher://a.test/", "https://a.test/", "http://a.test/"] {
            let server = try LoopbackServer { $0.hang() }
            let (bench, port) = (bench, server.port)
            let task = Task {
                await bench.play(
                    url, options: { $0.proxies = .through("\(kind)://127.0.0.1:\(port)") })
            }
            try await eventually("the client has come") { server.clientSockets > 0 }
            task.cancel()
            #expect(await task.value.error?.outcome == .interrupted)
            try await eventually("the client has gone") { server.clientSockets == 0 }
        }
    }

    // MARK: Commands

    private func play(
        _ url: String, command: String, connectSeconds: Double = 20, idleSeconds: Double = 20
    ) async -> Played {
        await bench.play(url) {
            $0.limits.connectSeconds = connectSeconds
            $0.limits.idleSeconds = idleSeconds
        } options: {
            $0.proxies.source = .command(command)
        }
    }

    @Test func aCommandIsTheConnection() async throws {
        let (web, secure) = (try Web(), try Web(tls: .make()))
        let capsule = try LoopbackServer.capsule()
        for url in [web.url("/1k"), secure.url("/1k"), capsule.url("/1k")] {
            let played = await bench.play(url) { _ in
            } options: {
                if url.hasPrefix("https") { secure.trust(&$0) }
                $0.proxies.source = .command(Programs.relay)
            }
            #expect(played.body == DemoSites.page, "\(url): \(played.result)")
            #expect(played.connections.first?.proxy == "command")
            #expect(played.connections.first?.address == nil)
        }
    }

    @Test func aCommandGetsHostAndPortAsWords() async throws {
        let file = bench.directory + "/link"
        let played = await play(
            "gopher://a.test:71/", command: "printf '%%s|' %h %p 100%% >\(file); exit 3")
        #expect(played.error?.message == "the proxy command ended with exit status 3")
        let text = try String(contentsOfFile: file)
        #expect(text == "a.test|71|100%|")
    }

    @Test(arguments: targets)
    func aCommandThatDiesIsAProxyError(_ url: String) async {
        for command in ["exit 1", "exit 255", "kill -9 $$", "/nonexistent/program"] {
            let played = await play(url, command: command)
            #expect(played.error?.outcome == .proxy, "\(command): \(played.result)")
        }
        let played = await play(url, command: "%x")
        #expect(played.error?.outcome == .usage, "\(played.result)")
    }

    @Test(arguments: targets)
    func aCommandThatSaysNothingIsATimeout(_ url: String) async {
        let played = await play(
            url, command: "exec sleep 1000", connectSeconds: 0.2, idleSeconds: 0.2)
        #expect(played.error?.outcome == .timeout, "\(played.result)")
    }

    /// It has closed the connection, and is no longer waited for.
    @Test(arguments: targets)
    func aCommandThatStaysWithoutItsConnectionIsNotWaitedFor(_ url: String) async {
        let played = await play(url, command: "exec <&- >&-; exec sleep 1000")
        #expect([.emptyReply, .tls, .send].contains(played.outcome), "\(played.result)")
    }

    @Test(arguments: ["gopher://a.test/", "http://a.test/"])
    func aCommandEndsWithItsFetch(_ url: String) async throws {
        let file = bench.directory + "/link"
        for isCancelled in [false, true] {
            unlink(file)
            let command = "echo $$ >\(file).new; mv \(file).new \(file); exec sleep 1000"
            let bench = bench
            // On a busy machine the first limit may be over before the command has begun.
            for seconds in isCancelled ? [1000] : [0.5, 5, 50] where access(file, F_OK) != 0 {
                let task = Task {
                    await bench.play(url) {
                        $0.limits.idleSeconds = seconds
                    } options: {
                        $0.proxies.source = .command(command)
                    }
                }
                if isCancelled {
                    try await eventually("the command has begun") { access(file, F_OK) == 0 }
                    task.cancel()
                }
                let outcome = await task.value.outcome
                #expect(outcome == (isCancelled ? .interrupted : .timeout))
            }
            let text = try String(contentsOfFile: file)
            let process = try #require(Int32(text.filter { $0 != "\n" }))
            try await eventually("the command is gone") { kill(process, 0) != 0 }
        }
    }
}

extension String {
    /// Reads a file of at most 4096 bytes.
    fileprivate init(contentsOfFile path: String) throws {
        let file = try #require(fopen(path, "re"))
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = fread(&bytes, 1, bytes.count, file)
        self = String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
