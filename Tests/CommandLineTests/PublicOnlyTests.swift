// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

@testable import SmallWebCLI

/// `--public-only`: no server of this machine or of a private network is asked. Each server here is
/// on this machine, so that one that must not be asked has no connection; those that count as
/// public are behind a proxy, which looks names up.
@Suite(.timeLimit(.minutes(30)))
struct PublicOnlyTests {
    private let smallweb = Smallweb()
    private static let status = Outcome.refusedAddress.exitStatus
    private static let hosts = [
        "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1",
        "017700000001", "%31%32%37.0.0.1", "\u{FF11}27.0.0.1", "localhost", "LOCALHOST.",
        "a.localhost", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]",
        "[64:ff9b::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::1]", "[2002:7f00:1::]",
        "0.0.0.0", "0", "[::]", "10.0.0.1", "[::ffff:10.0.0.1]", "172.31.255.255", "192.168.1.1",
        "169.254.169.254", "100.64.0.1", "192.0.0.192", "198.18.0.1", "192.0.2.1",
        "198.51.100.7", "203.0.113.9", "[2001:db8::1]", "[3fff::1]", "[2001:2::1]", "[fe80::1]",
        "[fd00::1]", "[fec0::1]", "[ff02::1]", "224.0.0.1", "240.0.0.1", "255.255.255.255",
        "inner.test", "both.test",
    ]

    /// One that must get no connection.
    private func silent() throws -> LoopbackServer { try LoopbackServer { _ = $0.read(.max) } }

    private func names(_ port: UInt16) -> [String] {
        ["inner.test:\(port):10.0.0.1", "both.test:\(port):127.0.0.1,[::1],192.168.0.1"].flatMap {
            ["--resolve", $0]
        }
    }

    @Test func noSchemeAsksThemHoweverTheyAreWritten() throws {
        let server = try silent()
        let program = #""transport": "PROTOCOL", "port": \#(server.port)"#
        let plugins = try ["tcp", "udp"].flatMap { name in
            let scheme = program.replacing("PROTOCOL", with: name)
            return [
                "--plugin", try smallweb.plugin("#!/bin/sh\necho x", scheme: scheme, name: name),
            ]
        }
        let schemes = Registry.builtIn.schemes.map(\.name) + ["tcp", "udp", "dict", "ftp"]
        #expect(schemes.count > 12)
        let urls = schemes.flatMap { scheme in
            Self.hosts.map { "\(scheme)://\($0):\(server.port)/x" }
        }
        let lines = urls.map {
            "{\"url\":\"\($0)\"\($0.hasPrefix("titan") ? ",\"put\":\"x\"" : "")}\n"
        }
        let (records, result) = try smallweb.records(
            ["--public-only", "--fallback-curl", "-s", "-m", "60", "-"] + plugins
                + names(server.port), stdin: lines.joined())
        #expect(records.terminal.count == urls.count && result.status == Self.status)
        for (url, record) in zip(urls, records.terminal) {
            #expect(record["outcome"]?.string == "refused-address", "\(url): \(record)")
            let error = record["error"]
            #expect(error?["retryable"]?.bool == false)
            #expect(error?["hint"]?.string?.contains("--public-only") == true)
            let message = error?["message"]?.string ?? ""
            #expect(message.contains("not a public address"), "\(message)")
        }
        server.stop()
        #expect(server.connections.isEmpty)
    }

    // MARK: Commands and settings

    @Test func eachCommandThatConnectsTakesIt() throws {
        let server = try silent()
        let place = "127.1:\(server.port)"
        let git = "git://\(place)/r"
        let words: [String: [String]] = [
            "put": ["--delete", "titan://\(place)/x"], "edit": ["titan://\(place)/x"],
            "trust": ["check", place],
            "diff": [git, "a..b"],
        ]
        let option = try #require(Option.of(.publicOnly))
        let commands = Command.all.filter { $0.takes(option) }.map(\.name)
        let daily: Set = [
            "get", "head", "links", "open", "put", "edit", "feed", "watch", "crawl", "refs",
        ]
        #expect(daily.isSubset(of: commands), "\(commands)")
        for name in commands where name != "explain" {
            let isOfGit = name == "refs" || Command.named(name)?.taker == .verbs
            let operands = words[name] ?? [isOfGit ? git : "http://\(place)/"]
            for given in [["--public-only"], []] {
                var smallweb = smallweb
                smallweb.environment["SMALLWEB_CONFIG"] = smallweb.home.file("config")
                try smallweb.write(
                    given.isEmpty ? "public-only = true\n" : "",
                    to: smallweb.home.file("config"), mode: 0o600)
                let result = try smallweb.run([name] + operands + given)
                #expect(result.status == Self.status, "\(name) \(given): \(result.errors)")
                #expect(
                    name == "crawl" || result.errors.contains("127.0.0.1"), "\(result.errors)")
            }
        }
        let plan = try smallweb.run(["explain", "--public-only", "gopher://\(place)/"])
        #expect(!plan.text.contains("addresses     127"), "\(plan.text)")
        server.stop()
        #expect(server.connections.isEmpty)
    }

    /// Whoever writes lines of a list cannot take it back.
    @Test func aLineCanOnlyTighten() throws {
        let hole = try Hole()
        let url = hole.place + "/0/about.txt"
        func outcomes(_ words: [String], _ members: String) throws -> [String?] {
            let lines = "{\"url\":\"\(url)\"\(members)}\n{\"url\":\"\(url)\"}\n"
            return try smallweb.records(words + ["-"], stdin: lines).records.terminal.map {
                $0["outcome"]?.string
            }
        }
        #expect(try outcomes([], #","public_only":true"#) == ["refused-address", "ok"])
        let count = hole.server.connections.count
        for value in ["false", "null", "0", "\"no\""] {
            #expect(
                try outcomes(["--public-only"], ",\"public_only\":\(value)")
                    == ["usage", "refused-address"])
        }
        let proxy = try DemoProxy()
        #expect(
            try outcomes(["--public-only"], ",\"proxy\":\"\(proxy.url("socks5h"))\"")
                == ["usage", "refused-address"])
        #expect(proxy.orders.isEmpty && hole.server.connections.count == count)
        try smallweb.write("public-only = true\n", to: smallweb.home.file("c"), mode: 0o600)
        #expect(try smallweb.run(["get", "-K", "c", "--no-public-only", url]).status == 0)
    }

    // MARK: Ways

    @Test func noOptionForAddressesLeadsThere() throws {
        let asked = Recorder<WebRequest>()
        let server = try LoopbackServer(handler: DemoSites.web(noting: asked))
        let path = smallweb.home.file("s")
        let unix = try UnixSocketServer(path: path, handler: DemoSites.web(noting: asked))
        let url = "http://public.test:\(server.port)/about"
        var count = 0
        for words in [
            ["--resolve", "public.test:\(server.port):127.0.0.1"], ["--unix-socket", path],
            ["--connect-to", "::127.0.0.1:"], ["--connect-to", "::localhost:"],
            ["--connect-to", "::[::ffff:127.0.0.1]:"],
        ] {
            let result = try smallweb.run(["get", "--public-only", url] + words)
            #expect(result.status == Self.status, "\(words): \(result.errors)")
            #expect(asked.values.count == count)
            // Nor over a connection that another request has left.
            let lines = "{\"url\":\"\(url)\"}\n{\"url\":\"\(url)\",\"public_only\":true}\n"
            let (records, _) = try smallweb.records(["--ordered", "-"] + words, stdin: lines)
            let outcomes = records.terminal.map { $0["outcome"]?.string }
            #expect(outcomes.last == "refused-address", "\(words)")
            count += 1
            #expect(asked.values.count == count, "\(words)")
        }
        withExtendedLifetime(unix) {}
    }

    /// A proxy may be at a private address, and looks names up; the names that it gets are judged.
    @Test(arguments: ["socks4", "socks4a", "socks5", "socks5h", "http", "https", "command"])
    func aProxyIsAskedForPublicAddressesAlone(_ kind: String) throws {
        let hole = try Hole()
        let web = try LoopbackServer(handler: DemoSites.web)
        let certificate = TestCertificate.make()
        let proxy = try DemoProxy(tls: kind == "https" ? certificate : nil)
        let smallweb = try smallweb.trusting(certificate)
        let way =
            kind == "command"
            ? ["--proxy-command", "echo x >>called; exec nc 127.0.0.1 %p"]
            : ["-x", proxy.url(kind)]
        for (scheme, port, path) in [
            ("gopher", hole.server.port, "0/about.txt"), ("http", web.port, "about"),
        ] {
            let urls = Self.hosts.map { "\(scheme)://\($0):\(port)/\(path)" }
            // A proxy that looks names up knows these; the others are asked for their addresses.
            let isNamed = ["socks4a", "socks5h", "http", "https", "command"].contains(kind)
            let resolved = isNamed ? [] : names(port)
            let asked = isNamed ? urls.filter { !$0.contains(".test") } : urls
            let (records, result) = try smallweb.records(
                ["--public-only", "-s", "-"] + way + resolved,
                stdin: asked.map { $0 + "\n" }.joined())
            for record in records.terminal {
                #expect(
                    record["outcome"]?.string == "refused-address", "\(record) \(result.errors)")
            }
            #expect(records.terminal.count == asked.count && proxy.orders.isEmpty)
            #expect(!smallweb.home.names.contains("called"))
        }
        guard kind != "command" else { return }
        // Of several addresses the public ones alone; by name if the proxy looks up.
        for (scheme, port, path) in [
            ("gopher", hole.server.port, "0/about.txt"), ("http", web.port, "about"),
        ] {
            let count = proxy.orders.count
            let url = "\(scheme)://public.test:\(port)/\(path)"
            let mixed = ["--resolve", "public.test:\(port):127.0.0.1,9.9.9.9,10.0.0.1,192.0.2.1"]
            let isFixed = !(scheme == "http" && kind.hasPrefix("http"))
            let result = try smallweb.run(["get", "--public-only", url] + way + mixed)
            #expect(result.status == 0, "\(kind) \(scheme): \(result.errors)")
            let orders = proxy.orders.dropFirst(count).map(\.host)
            #expect(orders == [isFixed ? "9.9.9.9" : "public.test"], "\(kind) \(scheme)")
            // One without the option has left a connection of this proxy.
            let inner = url.replacing("public.test", with: "inner.test")
            let lines = "{\"url\":\"\(inner)\"}\n{\"url\":\"\(inner)\",\"public_only\":true}\n"
            let resolve = ["--resolve", "inner.test:\(port):10.0.0.1", "--ordered", "-"]
            let (records, _) = try smallweb.records(way + resolve, stdin: lines)
            let last = records.terminal.last?["outcome"]?.string
            #expect(last == (isFixed ? "refused-address" : "ok"), "\(kind) \(scheme)")
        }
    }

    /// A redirect is sent by a public server; the private one that it leads to is not asked.
    @Test(arguments: ["http", "gemini"])
    func noRedirectLeadsThere(_ scheme: String) throws {
        let inner = try silent()
        let proxy = try DemoProxy()
        for host in Self.hosts where !host.contains(".test") && !host.contains("\u{FF11}") {
            let target = "\(scheme)://\(host):\(inner.port)/"
            let server =
                scheme == "gemini"
                ? try Capsule(page: Array("30 \(target)\r\n".utf8)).server
                : try LoopbackServer { peer in
                    guard WebRequest(from: peer) != nil else { return }
                    peer.write(
                        "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: \(target)\r\n\r\n")
                }
            let url = "\(scheme)://public.test:\(server.port)/"
            let words = ["-x", proxy.url("socks5h"), url]
            let (records, _) = try smallweb.records(["--public-only", "-s"] + words)
            let record = try #require(records.terminal.first)
            #expect(record["exit"]?.int == 105, "\(target): \(record)")
            let message = record["error"]?["message"]?.string ?? ""
            #expect(message.hasPrefix("the redirect leads to \(scheme)://"), "\(message)")
            #expect(record["redirects"]?.array.count == 1)
            // The stricter of two options says so in its own way.
            let both = try smallweb.records(["--public-only", "--no-private", "-s"] + words)
            let status = both.records.terminal.first?["exit"]?.int
            #expect([102, 105].contains(status), "\(target)")
        }
        #expect(Set(proxy.orders.map(\.host)) == ["public.test"])
        inner.stop()
        #expect(inner.connections.isEmpty)
    }

    // MARK: Second connections

    /// Links, redirects and the robots file of public pages.
    @Test func noCrawlLeadsThere() throws {
        let inner = try silent()
        let place = "inner.test:\(inner.port)"
        let proxy = try DemoProxy()
        let pages = [
            "/": "20 text/gemini\r\n=> /to T\n"
                + Self.hosts.filter { !$0.hasSuffix(".test") }.map {
                    "=> gemini://\($0):\(inner.port)/\n"
                }.joined(),
            "/to": "30 gemini://127.1:\(inner.port)/\r\n",
        ]
        let capsule = try ChangingCapsule(pages)
        let url = "gemini://public.test:\(capsule.server.port)/"
        let words = ["--public-only", "-x", proxy.url("socks5h"), "--per-host-delay", "0", "-k"]
        for more in [["--scope", "any"], ["--check"]] {
            let result = try smallweb.run(
                ["crawl", "--state", "s\(more.count)"] + words + more + [url])
            #expect(result.errors.contains("private"), "\(result.errors)")
        }
        #expect(Set(proxy.orders.map(\.host)) == ["public.test"])
        // The robots file is asked for first.
        for words in [["get", "--robots"], ["crawl"], ["crawl", "--check"]] {
            let result = try smallweb.run(
                words + ["--public-only", "--resolve", place + ":127.0.0.1", "gemini://\(place)/"])
            #expect(result.status == Self.status, "\(words): \(result.errors)")
        }
        // It may lead elsewhere, too: RFC 9309 takes that for no answer.
        for target in ["gemini://127.0.0.1:\(inner.port)/", "gemini://localhost:\(inner.port)/"] {
            capsule.set("/robots.txt", "30 \(target)\r\n")
            let result = try smallweb.run(
                ["get", "--robots", "--public-only", "-x", proxy.url("socks5h"), "-k", url])
            #expect([104, 105].contains(result.status), "\(result.errors)")
        }
        inner.stop()
        #expect(inner.connections.isEmpty)
    }

    @Test func noProgramLeadsThere() throws {
        let server = try silent()
        let more = #""connections": 2, "answers": true, "opens": ["tcp://*:*", "http://*:*/*"],"#
        for host in ["127.0.0.1", "127.1", "localhost", "[::ffff:10.0.0.1]", "203.0.113.9"] {
            for scheme in ["tcp", "http"] {
                let url = "\(scheme)://\(host):\(server.port)\(scheme == "tcp" ? "" : "/")"
                let folder = try smallweb.plugin(
                    """
                    #!/bin/sh
                    echo '{"type":"open","connection":1,"url":"\(url)"}' >&3
                    read -r a <&6; echo "$a" >&4
                    """, more: more)
                let result = try smallweb.run([
                    "get", "--public-only", "--plugin", folder, "trial:x",
                ])
                #expect(result.text.contains("\"ok\":false"), "\(url): \(result.text)")
                #expect(result.text.contains(" public") || result.text.contains("private"))
            }
        }
        server.stop()
        #expect(server.connections.isEmpty)
    }

    /// What came from a private server before is not shown to whoever may not ask it.
    @Test func noRecordingOfThemAnswers() throws {
        let sites = try WarcTests.Sites()
        let fetched = try smallweb.records(["--cache", "-s"] + sites.urls).records.terminal
        _ = try smallweb.run(["get", "-k", "-s", "--warc", "a.warc"] + sites.urls)
        sites.stop()
        #expect(fetched.count { $0["outcome"]?.string == "ok" } > 8)
        for (words, outcome) in [
            (["--cache", "--max-age", "1h"], "refused-address"), (["--offline"], "not-recorded"),
            (["--replay", "a.warc"], "not-recorded"),
        ] {
            let again = try smallweb.records(["--public-only", "-s"] + words + sites.urls)
            for record in again.records.terminal {
                #expect(record["outcome"]?.string == outcome, "\(words): \(record)")
                #expect(record["body"] == nil || record["body"] == .null)
            }
        }
    }
}

/// In a network of its own.
extension PublicOnlyTests {
    private static func alone(_ script: String) -> String {
        "exec unshare --map-root-user --net sh -ec 'ip link set lo up; \(script)' sh \"$@\""
    }
    static let canHaveANetwork =
        (try? Smallweb().run([], shell: alone("command -v python3 >/dev/null")))?.status == 0

    /// Also one that the rest of the world can ask.
    @Test(.enabled(if: canHaveANetwork, "no network namespaces here"))
    func noAddressOfThisMachineIsPublic() throws {
        for url in ["http://9.9.9.9:1/", "gopher://9.9.9.9:1/", "http://[2620:fe::fe]:1/"] {
            let result = try smallweb.run(
                ["get", "--public-only", url],
                shell: Self.alone(
                    """
                    ip addr add 9.9.9.9/32 dev lo; ip addr add 2620:fe::fe/128 dev lo nodad
                    exec "$@"
                    """))
            #expect(result.status == Self.status, "\(result.errors)")
            let there = try smallweb.run(
                ["get", "--public-only", url], shell: Self.alone("exec \"$@\""))
            #expect(there.status == 7, "\(there.errors)")
        }
    }

    /// libcurl gets all addresses of a name, and tries the public one.
    @Test(.enabled(if: canHaveANetwork, "no network namespaces here"))
    func ofSeveralAddressesThePublicOneIsTried() throws {
        let server = """
            import http.server as h
            class H(h.BaseHTTPRequestHandler):
                def do_GET(self):
                    self.send_response(200); self.end_headers()
                    self.wfile.write(self.connection.getsockname()[0].encode())
            h.ThreadingHTTPServer(("0.0.0.0", 8000), H).serve_forever()
            """
        try smallweb.write(server, to: smallweb.home.file("server.py"), mode: 0o600)
        for order in ["127.0.0.1,9.9.9.9", "9.9.9.9,127.0.0.1", "10.0.0.1,127.0.0.1,9.9.9.9"] {
            let result = try smallweb.run(
                [
                    "get", "--public-only", "--retry", "50", "--retry-delay", "0.1", "-s",
                    "--resolve", "both.test:8000:" + order, "http://both.test:8000/",
                ],
                shell: Self.alone(
                    """
                    ip route add local 9.9.9.9/32 dev lo; ip route add local 10.0.0.1/32 dev lo
                    python3 server.py 2>/dev/null & \"$@\"; end=$?; kill $!; exit $end
                    """))
            #expect(result.text == "9.9.9.9" && result.status == 0, "\(order): \(result.errors)")
        }
    }
}
