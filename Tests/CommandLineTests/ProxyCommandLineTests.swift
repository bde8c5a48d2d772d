// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

/// Proxies by options, config file and environment, and messages about them.
@Suite(.timeLimit(.minutes(30)))
struct ProxyCommandLineTests {
    private let smallweb = Smallweb()
    private let hole: Hole
    private let web: LoopbackServer

    init() throws {
        hole = try Hole()
        web = try LoopbackServer(handler: DemoSites.web)
    }

    private var urls: [String] { [hole.place + "/0/about.txt", web.url("/about", "http")] }

    private func write(_ text: String, _ name: String) throws -> String {
        let path = smallweb.home.file(name)
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    @Test func aProxyMayBeNamedInThreePlaces() throws {
        for (kind, order) in [("socks5h", "socks5"), ("http", "CONNECT")] {
            let proxy = try DemoProxy()
            let config = try write("proxy = \(proxy.url(kind))\n", "config")
            let section = try write("[scheme gopher]\nproxy = \(proxy.url(kind))\n", "section")
            var smallweb = smallweb
            smallweb.environment = ["gopher_proxy": proxy.url(kind)]
            let plain = self.smallweb
            for result in try [
                plain.run(["get", "-x", proxy.url(kind), urls[0]]),
                plain.run(["get", "-K", config, urls[0]]),
                plain.run(["get", "-K", section, urls[0]]), smallweb.run(["get", urls[0]]),
            ] {
                #expect(result.status == 0 && result.text.hasPrefix("This hole"), "\(result)")
            }
            #expect(proxy.orders.map(\.kind) == Array(repeating: order, count: 4))
            let direct = try smallweb.run(["get", "-x", "", urls[0]])
            #expect(direct.status == 0 && proxy.orders.count == 4)
            let exempted = try smallweb.run(["get", "--noproxy", "127.0.0.0/8", urls[0]])
            #expect(exempted.status == 0 && proxy.orders.count == 4)
        }
    }

    @Test func aPasswordIsShownNowhere() throws {
        var smallweb = smallweb
        let refusing = try RefusingPort()
        let file = try write("joe:secret\n", "login")
        for (kind, takesUsers) in [("socks5h", true), ("socks5", false), ("http", false)] {
            let proxy = try DemoProxy(.init(takesUsers: takesUsers))
            let (named, plain) = (proxy.url(kind, user: "joe:secret@"), proxy.url(kind))
            smallweb.environment = ["ALL_PROXY": named]
            let dead = named.replacingOccurrences(
                of: ":\(proxy.server.port)", with: ":\(refusing.port)")
            for url in urls + ["gopher://127.0.0.1:\(refusing.port)/"] {
                for arguments in [
                    ["get", "-v", url], ["get", "--json", "--events", url], ["explain", url],
                    ["explain", "--json", url], ["get", "-v", "-x", dead, url],
                    ["get", "--json", "-x", named + "/path", url],
                    ["get", "-v", "-x", named, "--isolate", url],
                    ["get", "-v", "--proxy-auth", file, "-x", plain, url],
                    ["get", "--json", "--ledger", "ledger", url], ["history"],
                ] {
                    let result = try smallweb.run(arguments)
                    let ledger = smallweb.home.content("ledger") ?? []
                    let text = result.text + result.errors + String(decoding: ledger, as: UTF8.self)
                    #expect(!text.contains("secret") && !text.contains("am9lOnNlY3JldA"), "\(text)")
                }
            }
            if kind != "socks5" {
                let users = Set(proxy.orders.map(\.user))
                #expect(users == [kind == "http" ? "Basic am9lOnNlY3JldA==" : "joe"])
            }
        }
        for name in smallweb.home.files(below: ".") where name != "login" {
            let text = String(decoding: smallweb.home.content(name) ?? [], as: UTF8.self)
            #expect(!text.contains("secret"), "\(name)")
        }
    }

    @Test func aFileOfCredentialsIsReadOrRefused() throws {
        let proxy = try DemoProxy(.init(takesUsers: true))
        for (text, user) in [("joe:secret", "joe"), ("a b:c:d\r\n", "a b"), ("j:\u{E4}\n", "j")] {
            let file = try write(text, "login")
            let result = try smallweb.run(
                ["get", "-x", proxy.url("socks5h"), "--proxy-auth", file, urls[0]])
            #expect(result.status == 0, "\(result.errors)")
            #expect(proxy.orders.last?.user == user)
        }
        let count = proxy.orders.count
        for text in ["", "\n", "secret", ":secret"] {
            let file = try write(text, "login")
            let result = try smallweb.run(
                ["get", "-x", proxy.url("socks5h"), "--proxy-auth", file, urls[0]])
            #expect(result.status == 2 && !result.errors.contains("secret"), "\(result.errors)")
        }
        let missing = try smallweb.run(
            ["get", "-x", proxy.url("socks5h"), "--proxy-auth", "/nonexistent/file", urls[0]])
        #expect(missing.status == 26, "\(missing)")
        #expect(proxy.orders.count == count)
    }

    @Test func waysThatExcludeEachOtherAreRefused() throws {
        let proxy = try DemoProxy()
        for (arguments, status) in [
            (["--isolate", "-x", proxy.url("http")], 97),
            (["--isolate", "-x", proxy.url("socks5h")], 97),
            (["--isolate"], 2), (["--isolate", "-x", ""], 2),
            (["--isolate", "--proxy-command", "exit 1"], 2),
            (["-x", proxy.url("http"), "--proxy-command", "exit 1"], 2),
        ] as [([String], Int32)] {
            for url in urls {
                let result = try smallweb.run(["get"] + arguments + [url])
                #expect(result.status == status, "\(arguments): \(result.errors)")
            }
        }
        #expect(hole.server.connections.isEmpty && web.connections.isEmpty)
    }

    @Test func recordsTellTheWay() throws {
        for (kind, address) in [("socks5h", nil), ("socks5", "127.0.0.1"), ("http", nil)] {
            let proxy = try DemoProxy()
            for url in urls.map({ $0.replacingOccurrences(of: "127.0.0.1", with: "a.test") }) {
                let port = url.split(separator: "/")[1].split(separator: ":")[1]
                var options = ["-x", proxy.url(kind)]
                if address != nil { options += ["--resolve", "a.test:\(port):127.0.0.1"] }
                let (records, result) = try smallweb.records(options + [url])
                #expect(result.status == 0, "\(result.errors)")
                let remote = records.terminal.first?["remote"]
                #expect(remote?["proxy"]?.string == proxy.url(kind))
                #expect(remote?["ip"] == address.map { .string($0) } ?? .null)
                let time = records.terminal.first?["time"]
                let moments = ["connect", "proxy", "pretransfer"].map { time?[$0]?.double ?? -1 }
                #expect(moments == moments.sorted() && moments[0] > 0, "\(moments)")
            }
        }
        let (records, _) = try smallweb.records(urls)
        #expect(records.terminal.allSatisfy { $0["time"]?["proxy"] == .null })
        #expect(records.terminal.allSatisfy { $0["remote"]?["proxy"] == .null })
    }

    @Test func explainTellsTheWayAndWhy() throws {
        let p = "socks5h://p.test:1080"
        let config = try write("proxy = \(p)\n", "config")
        let cases:
            [(arguments: [String], environment: [String: String], way: String?, why: String?)] = [
                ([], [:], nil, nil), (["-x", p], [:], p, "--proxy"),
                (["-K", config], [:], p, "--proxy"), ([], ["gopher_proxy": p], p, "gopher_proxy"),
                ([], ["ALL_PROXY": p], p, "ALL_PROXY"),
                (["--proxy-command", "secret %h"], [:], "command", "--proxy-command"),
                ([], ["all_proxy": p, "NO_PROXY": "x,.test"], nil, "NO_PROXY has .test"),
                (["-x", p, "--noproxy", "*"], [:], nil, "--noproxy has *"),
                (["-x", ""], ["ALL_PROXY": p], nil, nil),
            ]
        for (arguments, environment, way, why) in cases {
            var smallweb = smallweb
            smallweb.environment = environment
            let words = ["explain"] + arguments + ["--resolve", "a.test:70:192.0.2.7"]
            let result = try smallweb.run(words + ["--json", "gopher://a.test/"])
            let record = try #require(try Records(result.output)["explanation"].first)
            #expect(record["proxy"]?.string == way && record["proxy_reason"]?.string == why)
            let text = try smallweb.run(words + ["gopher://a.test/"]).text
            let row = text.split(separator: "\n").first { $0.hasPrefix("  proxy ") } ?? ""
            // For an option from the config file the text names file and line instead.
            let place = arguments.first == "-K" ? ", by \(config):1" : why
            for part in [way ?? "none", place ?? ""] where !part.isEmpty {
                #expect(row.contains(part), "\(row)")
            }
            #expect(!text.contains("secret"))
        }
    }

    @Test func aTrustCheckGoesTheSameWay() throws {
        let (proxy, capsule) = (try DemoProxy(), try Capsule())
        let place = "a.test:\(capsule.server.port)"
        let through = try smallweb.run(["trust", "check", "-x", proxy.url("socks5h"), place])
        #expect(proxy.orders.map(\.host) == ["a.test"], "\(through)")
        #expect(try capsule.server.waitForConnections(1)[0].serverName == "a.test")
        let marker = smallweb.home.file("marker")
        for place in ["-oProxyCommand=x:1965", "-a.test"] {
            let result = try smallweb.run(
                ["trust", "check", "--proxy-command", "touch \(marker)", "--", place])
            #expect(result.status == 3, "\(result)")
            for url in ["gemini://\(place)/", "http://\(place)/", "gopher://\(place)/"] {
                let fetched = try smallweb.run(
                    ["get", "--proxy-command", "touch \(marker)", url])
                #expect(fetched.status == 3, "\(url): \(fetched)")
            }
        }
        #expect(smallweb.home.content("marker") == nil)
        let hidden = try smallweb.run(["trust", "check", "a.onion:1965"])
        #expect(hidden.status == 7, "\(hidden)")
    }

    /// As some parents leave it: the system then keeps no status of children.
    @Test func aCommandMayEndWithoutAStatus() throws {
        for (command, statuses) in [(Programs.relay, [0]), ("exit 3", [97])] {
            for url in urls {
                let result = try smallweb.run(
                    ["get", "--proxy-command", command, url],
                    shell: "exec env --ignore-signal=CHLD \"$@\"")
                #expect(statuses.contains(Int(result.status)), "\(command): \(result)")
            }
        }
    }

    /// The authorities of the environment count for proxies, and nothing else does.
    @Test func aProxyOverTLSIsJudgedByAuthorities() throws {
        let certificate = TestCertificate.make()
        let proxy = try DemoProxy(tls: certificate)
        let capsule = try Capsule()
        var smallweb = smallweb
        let urls = urls + [capsule.place + "/about"]
        for url in urls {
            let result = try smallweb.run(["get", "-k", "-x", proxy.url("https"), url])
            #expect(result.status == 60 && proxy.orders.isEmpty, "\(result)")
        }
        smallweb.environment = ["SSL_CERT_FILE": try write(certificate.certificatePEM, "ca.pem")]
        for url in urls {
            let result = try smallweb.run(["get", "-k", "-x", proxy.url("https"), url])
            #expect(result.status == 0, "\(url): \(result)")
        }
        #expect(proxy.orders.map(\.kind) == ["CONNECT", "GET", "CONNECT"])
        // For another name it is another proxy's.
        let wrong = "https://127.0.0.2:\(proxy.server.port)"
        #expect(try smallweb.run(["get", "-x", wrong, urls[0]]).status != 0)
    }

    /// The proxy may echo the password: in its reason phrase, in fields, with any status.
    @Test(arguments: ["407", "403", "200"])
    func aPasswordThatTheProxyRepeatsIsShownNowhere(_ status: String) throws {
        let echoes = "joe:sec/ret sec%2fret sec%2Fret am9lOnNlYy9yZXQ= c2VjL3JldA=="
        let server = try LoopbackServer { peer in
            while let line = peer.readLine() {
                guard line.count <= 1 || line == Array("\r\n".utf8) else { continue }
                peer.write("HTTP/1.1 \(status) No \(echoes)\r\n")
                peer.write("X-You: \(echoes)\r\nContent-Length: 0\r\n\r\n")
                return
            }
        }
        let proxy = "http://joe:sec%2Fret@127.0.0.1:\(server.port)"
        for url in ["gopher://a.test/0/x", "http://a.test/x", "https://a.test/x"] {
            for words in [
                ["-v"], ["-v", "-D", "headers"], ["--json", "--events"], ["-i"],
                ["--json", "--ledger", "ledger"], ["-w", "%{json}%{errormsg}%{header_json}"],
            ] {
                let result = try smallweb.run(["get", "-m", "20", "-x", proxy] + words + [url])
                let files = ["headers", "ledger"].flatMap { smallweb.home.content($0) ?? [] }
                let text =
                    result.text + result.errors + String(decoding: files, as: UTF8.self)
                for secret in ["sec/ret", "sec%2", "am9lOnNl", "c2VjL3"] {
                    #expect(!text.contains(secret), "\(url) \(words): \(text)")
                }
                if status != "200" { #expect(text.contains("***"), "\(url) \(words): \(text)") }
            }
        }
    }

    /// Hosts of Tor are kept apart unasked, and not when that is refused.
    @Test func isolationCanBeTurnedOff() throws {
        let url = hole.place.replacingOccurrences(of: "127.0.0.1", with: "a.onion") + "/0/about.txt"
        let proxy = try DemoProxy(.init(takesUsers: true))
        let (plain, tor) = (proxy.url("socks5h"), proxy.url("tor"))
        for (words, user) in [
            (["-x", plain], "a.onion"), (["-x", plain, "--isolate"], "a.onion"),
            (["-x", tor], "a.onion"),
        ] {
            #expect(try smallweb.run(["get"] + words + [url]).status == 0)
            #expect(proxy.orders.last?.user == user)
        }
        let open = try DemoProxy()
        for kind in ["socks5h", "tor"] {
            let result = try smallweb.run(
                ["get", "--json", "--no-isolate", "-x", open.url(kind), url])
            #expect(result.status == 0, "\(kind): \(result.errors)")
            #expect(!result.text.contains("not-isolated"), "\(result.text)")
        }
        let config = try write("isolate = false\n", "config")
        let result = try smallweb.run(["get", "-v", "-K", config, "-x", open.url("socks5h"), url])
        #expect(result.status == 0 && !result.errors.contains("user names"), "\(result.errors)")
        #expect(open.orders.count == 3 && open.orders.allSatisfy { $0.user == nil })
    }
}

extension LoopbackServer {
    fileprivate func url(_ path: String, _ scheme: String) -> String {
        "\(scheme)://127.0.0.1:\(port)\(path)"
    }
}
