// SPDX-License-Identifier: MIT
import Glibc
import SmallWeb
import SmallWebTestSupport
import SmallWebTransport
import Testing

/// Every scheme through every kind of proxy, as long as the proxy behaves.
@Suite(.timeLimit(.minutes(30)))
struct ProxyTests {
    private static let kinds = ["socks4", "socks4a", "socks5", "socks5h", "http"]
    private let bench: Bench
    private let web: Web

    init() throws {
        bench = try Bench()
        web = try Web()
    }

    /// One server of each kind, and a URL of it.
    private final class Sites: Sendable {
        let urls: [String]
        let secure: Web
        private let servers: [LoopbackServer]

        init() throws {
            let titan: @Sendable (Peer) -> Void = { peer in
                let line = peer.readLine() ?? []
                peer.write(Array("20 text/plain\r\n".utf8) + line + peer.read(5))
            }
            secure = try Web(tls: .make())
            servers = try [
                .capsule(), LoopbackServer(handler: DemoSites.gopher),
                LoopbackServer(handler: DemoSites.finger), LoopbackServer(handler: DemoSites.nex),
                LoopbackServer(handler: DemoSites.git),
                LoopbackServer(tls: .make(), handler: titan),
            ]
            urls = [
                servers[0].url("/1k"), servers[1].url("/0/1k", scheme: "gopher"),
                servers[2].url("/1k", scheme: "finger"), servers[3].url("/1k", scheme: "nex"),
                servers[4].url("/demo.git//README.md", scheme: "git"),
                servers[5].url("/a", scheme: "titan"), secure.url("/1k"),
            ]
        }
    }

    @Test func everySchemeGoesThroughEveryKindOfProxy() async throws {
        let sites = try Sites()
        for url in sites.urls + [web.url("/1k")] {
            let trust = sites.secure
            let request: @Sendable (inout Request) -> Void = { request in
                guard url.hasPrefix("titan:") else { return }
                let rest = Locked(Array("hello".utf8))
                request.upload = Request.Upload(byteCount: 5, mediaType: "text/plain") {
                    () throws(FetchError) in
                    rest.withLock { rest in
                        defer { rest = [] }
                        return rest
                    }
                }
            }
            let direct = await bench.play(url, request: request, options: trust.trust)
            #expect(!direct.body.isEmpty, "\(url): \(direct.result)")
            for (kind, step) in Self.kinds.flatMap({ [($0, Int.max), ($0, 1)] }) {
                let proxy = try DemoProxy(.init(step: step))
                let played = await bench.play(url, request: request) {
                    trust.trust(&$0)
                    $0.proxies = .through(proxy.url(kind))
                }
                #expect(played.body == direct.body, "\(kind) \(url): \(played.result)")
                #expect(played.outcome == direct.outcome)
                #expect(proxy.orders.map(\.host) == ["127.0.0.1"], "\(kind) \(url)")
                let connection = played.connections.first
                #expect(connection?.proxy == proxy.url(kind))
                let isForwarded = kind == "http" && url.hasPrefix("http:")
                #expect(connection?.address == (isForwarded ? nil : "127.0.0.1"), "\(kind) \(url)")
                #expect(proxy.orders.first?.kind == (isForwarded ? "GET" : Self.order(kind)))
                let moments = connection?.moments
                #expect(moments?.proxied != nil)
                #expect((moments?.connected ?? .now) <= (moments?.proxied ?? .now))
                #expect((moments?.proxied ?? .now) <= (moments?.ready ?? .now))
            }
        }
    }

    private static func order(_ kind: String) -> String {
        kind == "http" ? "CONNECT" : String(kind.prefix(6))
    }

    @Test func theProxyLooksNamesUp() async throws {
        let hole = try LoopbackServer(handler: DemoSites.gopher)
        for kind in ["socks4a", "socks5h", "http"] {
            for url in [
                hole.url("/0/1k", scheme: "gopher", host: "a.test"), web.url("/1k", host: "a.test"),
            ] {
                let proxy = try DemoProxy()
                let played = await bench.play(
                    url, options: { $0.proxies = .through(proxy.url(kind)) })
                #expect(played.outcome == .ok, "\(kind) \(url): \(played.result)")
                #expect(proxy.orders.map(\.host) == ["a.test"])
                #expect(played.connections.map(\.address) == [nil])
            }
        }
    }

    @Test func anOverrideIsUsedInsteadOfTheName() async throws {
        let proxy = try DemoProxy()
        let hole = try LoopbackServer(handler: DemoSites.gopher)
        for kind in Self.kinds {
            let played = await bench.play(
                hole.url("/0/1k", scheme: "gopher", host: "a.onion"),
                options: {
                    $0.resolver.overrides["a.onion:\(hole.port)"] = ["127.0.0.9"]
                    $0.proxies = .through(proxy.url(kind))
                })
            #expect(played.outcome == .ok, "\(kind): \(played.result)")
        }
        #expect(proxy.orders.map(\.host) == Array(repeating: "127.0.0.9", count: 5))
    }

    @Test func whatGoesElsewhereIsTunnelled() async throws {
        let proxy = try DemoProxy()
        let played = await bench.play(
            "http://a.test/1k",
            options: {
                $0.http.connectTo = ["a.test:80:b.test:\(web.server.port)"]
                $0.proxies = .through(proxy.url("http"))
            })
        #expect(played.body == DemoSites.page, "\(played.result)")
        #expect(proxy.orders.map(\.kind) == ["CONNECT"] && proxy.orders.map(\.host) == ["b.test"])
        #expect(web.requests.map(\.target) == ["/1k"])
    }

    // MARK: Hidden networks

    @Test func aHiddenNameIsDialledThroughAProxyAlone() async throws {
        let proxy = try DemoProxy()
        let hole = try LoopbackServer(handler: DemoSites.gopher)
        for name in ["a.onion", "a.i2p", "A.Onion."] {
            for url in [
                hole.url("/0/1k", scheme: "gopher", host: name), web.url("/1k", host: name),
            ] {
                let settings: [@Sendable (inout ProxySettings) -> Void] = [
                    { _ in }, { $0.source = .none }, { $0 = .environment([:]) },
                    { $0 = .environment(["all_proxy": proxy.url("http"), "no_proxy": "*"]) },
                    {
                        $0 = .through(proxy.url("http"))
                        $0.exemptions = "onion,i2p"
                    },
                ]
                for change in settings {
                    let played = await bench.play(url, options: { change(&$0.proxies) })
                    #expect(played.error?.outcome == .connect, "\(url): \(played.result)")
                    guard case .useProxy? = played.error?.remedy else {
                        Issue.record("no hint")
                        continue
                    }
                }
                let before = proxy.orders.count
                for kind in ["socks4", "socks5"] {
                    let played = await bench.play(
                        url, options: { $0.proxies = .through(proxy.url(kind)) })
                    #expect(played.outcome == .ok, "\(kind) \(url): \(played.result)")
                    #expect(played.connections.first?.address == nil)
                }
                #expect(proxy.orders.count == before + 2)
            }
        }
        #expect(Set(proxy.orders.map { $0.host.lowercased() }) == ["a.onion", "a.i2p", "a.onion."])
    }

    // MARK: Isolation

    @Test func everyHostHasAUserOfItsOwn() async throws {
        let hole = try LoopbackServer(handler: DemoSites.gopher)
        for kind in ["socks4", "socks4a", "socks5", "socks5h"] {
            let proxy = try DemoProxy(.init(takesUsers: true))
            for host in ["a.test", "b.test", "a.test"] {
                for url in [
                    hole.url("/0/1k", scheme: "gopher", host: host), web.url("/1k", host: host),
                ] {
                    let played = await bench.play(
                        url,
                        options: {
                            // Behind the same address, hosts are no less apart.
                            $0.resolver.overrides["\(host):\(hole.port)"] = ["127.0.0.1"]
                            $0.resolver.overrides["\(host):\(web.server.port)"] = ["127.0.0.1"]
                            $0.proxies = .through(proxy.url(kind))
                            $0.proxies.isolates = true
                        })
                    #expect(played.outcome == .ok, "\(kind): \(played.result)")
                }
            }
            let users = proxy.orders.map(\.user)
            // The last of HTTP uses the connection of the first.
            #expect(users == ["a.test", "a.test", "b.test", "b.test", "a.test"], "\(kind)")
        }
    }

    @Test func isolationThatIsNotOfferedIsAnErrorOrANote() async throws {
        let proxy = try DemoProxy()
        let hole = try LoopbackServer(handler: DemoSites.gopher)
        for place in [
            hole.url("/0/1k", scheme: "gopher", host: "a.onion"),
            web.url("/1k", host: "a.onion"),
        ] {
            let preferred = await bench.play(
                place, options: { $0.proxies = .through(proxy.url("socks5h")) })
            #expect(preferred.outcome == .ok)
            let codes = preferred.events.compactMap {
                if case .note(let note) = $0 { note.code } else { nil }
            }
            #expect(codes == ["not-isolated"])
            let required = await bench.play(
                place,
                options: {
                    $0.proxies = .through(proxy.url("socks5h"))
                    $0.proxies.isolates = true
                })
            #expect(required.error?.outcome == .proxy, "\(required.result)")
        }
    }

    // MARK: libcurl's connections

    @Test func oneConnectionServesMoreRequests() async throws {
        let secure = try Web(tls: .make())
        for (site, kinds) in [(web, Self.kinds.dropLast()), (secure, Self.kinds[...])] {
            for kind in kinds {
                let proxy = try DemoProxy()
                for _ in 0..<3 {
                    let played = await bench.play(site.url("/1k")) { _ in
                    } options: {
                        site.trust(&$0)
                        if site === web { $0.http.authorityFile = nil }
                        $0.proxies = .through(proxy.url(kind))
                    }
                    #expect(played.body == DemoSites.page)
                    #expect(played.connections.first?.proxy == proxy.url(kind))
                }
                #expect(proxy.orders.count == 1, "\(kind)")
            }
        }
    }

    @Test func noConnectionIsUsedForAnotherRoute() async throws {
        let proxy = try DemoProxy(.init(takesUsers: true))
        let routes: [@Sendable (inout ProxySettings) -> Void] = [
            { $0.source = .none }, { $0 = .through(proxy.url("socks5h", user: "a:b@")) },
            { $0 = .through(proxy.url("socks5h", user: "c:d@")) },
            { $0 = .through(proxy.url("socks4a", user: "a:b@")) },
            {
                $0 = .through(proxy.url("socks5h"))
                $0.isolates = true
            },
            { $0.source = .command(Programs.relay) },
        ]
        for route in routes {
            for _ in 0..<2 {
                let played = await bench.play(web.url("/1k"), options: { route(&$0.proxies) })
                #expect(played.body == DemoSites.page, "\(played.result)")
            }
        }
        #expect(proxy.orders.map(\.user) == ["a", "c", "a", "127.0.0.1"])
        bench.loop.stop()
        web.server.stop()
        #expect(web.server.connections.count == 6, "one of each route")
    }

    // MARK: Redirects

    @Test func aRedirectDoesNotLeaveTheProxy() async throws {
        let (proxy, hole) = (try DemoProxy(), try LoopbackServer(handler: DemoSites.gopher))
        let other = try Web()
        let capsule = try LoopbackServer.capsule(
            elsewhere: hole.url("/0/1k", scheme: "gopher", host: "127.0.0.2"))
        for (url, exempted) in [
            (web.url(to: other.url("/1k", host: "127.0.0.2")), "127.0.0.2"),
            (capsule.url("/cross-scheme"), "127.0.0.2"),
        ] {
            let played = await bench.play(
                url,
                options: {
                    $0.redirects.otherSchemes = ["gopher"]
                    $0.proxies = .environment([
                        "all_proxy": proxy.url("socks5h"), "no_proxy": exempted,
                    ])
                })
            #expect(played.outcome == .redirectRefused, "\(played.result)")
            #expect(played.redirects.isEmpty)
            #expect(played.ending?.message?.hasPrefix("not leaving the proxy") == true)
        }
        #expect(other.requests.isEmpty && hole.connections.isEmpty && hole.clientSockets == 0)
        // Another proxy is no way out.
        let second = try DemoProxy()
        let moved = await bench.play(
            capsule.url("/cross-scheme"),
            options: {
                $0.redirects.otherSchemes = ["gopher"]
                $0.proxies = .environment([
                    "gemini_proxy": proxy.url("socks5h"), "gopher_proxy": second.url("http"),
                ])
            })
        #expect(moved.body == DemoSites.page, "\(moved.result)")
        #expect(second.orders.map(\.kind) == ["CONNECT"])
    }

    @Test func aRedirectToAHostThatIsAnOptionIsAProtocolError() async throws {
        let capsule = try LoopbackServer(tls: .make()) { peer in
            _ = peer.readLine()
            peer.write("31 gemini://-oProxyCommand=id/\r\n")
        }
        for url in [capsule.url("/"), web.url(to: "http://-o/")] {
            let played = await bench.play(
                url, options: { $0.proxies.source = .command(Programs.relay) })
            #expect(played.error?.outcome == .protocolError, "\(played.result)")
        }
    }

    // MARK: Sizes and leaks

    @Test func bigBodiesPassUnchanged() async throws {
        let size = 8 << 20
        let secure = try Web(tls: .make())
        let received = Recorder<Int>()
        let sink = try LoopbackServer { peer in
            guard let request = WebRequest(from: peer) else { return }
            received.add(DemoSites.isBlock(request.body[...], at: 0) ? request.body.count : -1)
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        for kind in ["socks5h", "http", "command"] {
            let proxy = try DemoProxy()
            func go(_ options: inout Fetcher.Options) {
                options.proxies.source = .command(Programs.relay)
                if kind != "command" { options.proxies = .through(proxy.url(kind)) }
            }
            for site in [web, secure] {
                let played = await bench.play(site.url("/big/\(size)")) {
                    $0.limits.bodyBytesMax = nil
                } options: {
                    if site === secure { site.trust(&$0) }
                    go(&$0)
                }
                #expect(played.ending?.bodyBytes == size, "\(kind) \(played.result)")
                #expect(DemoSites.isBlock(played.body[...], at: 0), "\(kind)")
            }
            let block = DemoSites.block
            let upload = (0..<(size / block.count)).flatMap { _ in block }
            let sent = await bench.play(sink.url("/", scheme: "http")) {
                $0.input = upload
            } options: {
                go(&$0)
            }
            #expect(sent.text == "ok", "\(kind) \(sent.result)")
            #expect(received.values.last == size)
        }
    }

    @Test func nothingIsLeftAfterManyFetches() async throws {
        let hole = try LoopbackServer(handler: DemoSites.gopher)
        let proxy = try DemoProxy()
        let refusing = try RefusingPort()
        for round in 0..<50 {
            let kind = Self.kinds[round % Self.kinds.count]
            for url in [
                hole.url("/0/1k", scheme: "gopher"), web.url("/close-delimited"),
                "gopher://127.0.0.1:\(refusing.port)/", "http://127.0.0.1:\(refusing.port)/",
            ] {
                let played = await bench.play(
                    url, options: { $0.proxies = .through(proxy.url(kind)) })
                #expect(played.outcome != nil)
            }
        }
        try await eventually("no client of a server is left") {
            [proxy.server, hole, web.server].allSatisfy { $0.clientSockets == 0 }
        }
    }
}
