// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// Programs that have smallweb fetch a URL: they get its body, or a reason; no foreign URL is
/// fetched, and no foreign secret is sent or shown.
@Suite(.timeLimit(.minutes(30)))
struct ProgramFetchTests {
    private let smallweb = Smallweb()

    /// An HTTP server that answers each path with a status line's rest, fields and a body.
    private func web(
        _ replies: [String: String], tls: TestCertificate? = nil
    ) throws -> LoopbackServer {
        try LoopbackServer(tls: tls) { peer in
            while let request = peer.readRequest() {
                let path = request.split(separator: " ").dropFirst().first ?? ""
                peer.write(
                    replies[String(path)]
                        ?? "HTTP/1.1 404 None\r\nContent-Length: 4\r\n\r\nnone")
            }
        }
    }

    private static func page(_ text: String, _ more: String = "") -> String {
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\(more)"
            + "Content-Length: \(text.utf8.count)\r\n\r\n\(text)"
    }

    private static func redirect(_ target: String) -> String {
        "HTTP/1.1 302 Found\r\nLocation: \(target)\r\nContent-Length: 0\r\n\r\n"
    }

    private func open(_ url: String, _ number: Int = 1) -> String {
        #"echo '{"type":"open","connection":\#(number),"url":"\#(url)"}' >&3"#
    }

    private static let show = #"read -r a <&6; echo "$a" >&4; cat <&7 >&4"#

    /// Runs a program whose own server is on this machine, or which has none.
    private func run(
        _ lines: [String], opens: String, answers: Bool = true, connections: String = "2",
        isLocal: Bool = true, url: String? = nil, _ words: [String] = []
    ) throws -> Smallweb.Result {
        let own = try LoopbackServer { _ = $0.read(.max) }
        let transport = isLocal ? #""tcp", "port": \#(own.port)"# : #""none", "port": 0"#
        let folder = try smallweb.plugin(
            (["#!/bin/sh"] + lines).joined(separator: "\n"), scheme: #""transport": \#(transport)"#,
            more: #""connections": \#(connections), "answers": \#(answers), "opens": [\#(opens)],"#)
        defer { own.stop() }
        let url = url ?? (isLocal ? "trial://127.0.0.1/" : "trial:x")
        return try smallweb.run(["get", "-m", "60", "--plugin", folder, url] + words)
    }

    private func answer(_ result: Smallweb.Result) throws -> JSON {
        try JSON.parse(result.text.prefix { $0 != "\n" })
    }

    @Test func theBodyIsReadAndTheHeadIsAnswered() throws {
        let text = String(repeating: "a page\n", count: 100_000)
        let server = try web(["/a?b": Self.page(text, "X-Test: yes\r\n")])
        let url = "http://127.0.0.1:\(server.port)/a?b"
        let result = try run([open(url), Self.show], opens: #""http://{host}:*/*""#)
        #expect(result.status == 0, "\(result.errors)")
        let answer = try answer(result)
        #expect(answer["ok"]?.bool == true && answer["url"]?.string == url)
        let head = try #require(answer["head"])
        #expect(head["class"]?.string == "success" && head["status"]?.int == 200)
        #expect(head["mime"]?.string == "text/plain" && head["size"]?.int == text.utf8.count)
        #expect(result.text.hasSuffix("\n" + text))
        server.stop()
    }

    /// Two at a time, and one of a protocol of the small web.
    @Test func severalAreFetchedAtATime() throws {
        let server = try web(["/a": Self.page("from a\n")])
        let nex = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write("from b\n")
        }
        let result = try run(
            [
                open("http://127.0.0.1:\(server.port)/a"),
                open("nex://127.0.0.1:\(nex.port)/b", 2),
                "read -r a <&9; read -r b <&7; echo $b $a >&4",
            ], opens: #""http://*:*/*", "nex://{host}:*/*""#, connections: "3")
        #expect(result.text == "from a from b\n" && result.status == 0, "\(result.errors)")
    }

    /// An error page is not taken for the body.
    @Test(arguments: [true, false])
    func aRefusalHasNoBody(_ wantsAnswers: Bool) throws {
        let server = try web([:])
        let lines = [open("http://127.0.0.1:\(server.port)/none")]
        let result = try run(
            lines + (wantsAnswers ? [Self.show] : ["cat <&7 >&4"]), opens: #""http://*:*/*""#,
            answers: wantsAnswers)
        guard wantsAnswers else {
            #expect(result.status == 22 && result.text.isEmpty, "\(result.text)\(result.errors)")
            return
        }
        let answer = try answer(result)
        #expect(answer["ok"]?.bool == false && answer["outcome"]?.string == "permanent-failure")
        #expect(answer["head"]?["status"]?.int == 404)
        #expect(!result.text.contains("none\n") && result.text.hasSuffix("}\n"), "\(result.text)")
    }

    /// A URL that matches no pattern ends the exchange before anything is connected.
    @Test(arguments: [
        ("http://{host}:*/*", "https://127.0.0.1:PORT/"),
        ("http://{host}/*", "http://127.0.0.1:PORT/"),
        ("http://*:*/a/*", "http://127.0.0.1:PORT/ab"),
        ("http://*:*/a/*", "http://127.0.0.1:PORT/a/../b"),
        ("http://*:*/a/*", "http://127.0.0.1:PORT/a/%2e%2e/b"),
        ("http://*:*/a/*", "http://127.0.0.1:PORT/a/..%2fb"),
        ("http://*:*/a/*", #"http://127.0.0.1:PORT/a/..%5Cb"#),
        ("http://*:*/a", "http://127.0.0.1:PORT/a?b"), ("http://*:*/a", "http://127.0.0.1:PORT/ab"),
        ("http://localhost:*/*", "http://127.0.0.1:PORT/"),
        ("http://*.example.org:*/*", "http://example.org:PORT/"),
        ("http://*.example.org:*/*", "http://badexample.org:PORT/"),
        ("http://doi.org:*/*", "http://doi.org@127.0.0.1:PORT/"),
        ("http://*:*/*", "http://me:secret@127.0.0.1:PORT/"),
        ("http://*:*/*", "HTTP:127.0.0.1:PORT"), ("http://*:*/*", "http:///a"),
        ("http://*:*/*", ""),
        ("http://*:*/*", "tcp://127.0.0.1:PORT"), ("tcp://*:*", "http://127.0.0.1:PORT/"),
    ])
    func whatIsNotAllowedEndsTheExchange(_ opens: String, _ url: String) throws {
        let server = try web([:])
        let url = url.replacing("PORT", with: "\(server.port)")
        let result = try run([open(url), "cat <&6"], opens: "\"\(opens)\"")
        #expect(result.status == 110, "\(result.text)\(result.errors)")
        server.stop()
        #expect(server.connections.isEmpty)
    }

    /// Redirects are followed as far as `opens` goes.
    @Test func redirectsStayWithinThePatterns() throws {
        let elsewhere = try web(["/": Self.page("elsewhere\n")])
        let server = try web([
            "/a/in": Self.redirect("b?c"), "/a/b?c": Self.page("within\n"),
            "/a/out": Self.redirect("../b"), "/b": Self.page("out\n"),
            "/a/away": Self.redirect("http://127.0.0.1:\(elsewhere.port)/"),
        ])
        for (path, text) in [("in", "within\n"), ("out", nil), ("away", nil)] {
            let result = try run(
                [open("http://127.0.0.1:\(server.port)/a/\(path)"), Self.show],
                opens: #""http://{host}:\#(server.port)/a/*""#)
            let answer = try answer(result)
            guard let text else {
                #expect(answer["outcome"]?.string == "redirect-refused", "\(result.text)")
                continue
            }
            #expect(result.text.hasSuffix("}\n" + text), "\(result.text)\(result.errors)")
            #expect(answer["url"]?.string?.hasSuffix("/a/b?c") == true)
        }
        for server in [server, elsewhere] { server.stop() }
        #expect(elsewhere.connections.isEmpty)
    }

    /// A URL of the internet does not lead into the network at home, by an address, a name, a
    /// redirect, or a connection that another fetch has left.
    @Test(arguments: [
        "127.0.0.1", "localhost", "[::1]", "10.0.0.1", "169.254.169.254", "rebound.example.org",
        "[::ffff:127.0.0.1]", "0.0.0.0", "inner.example.org",
    ])
    func privateAddressesAreRefused(_ host: String) throws {
        let server = try web(["/": Self.page("secret\n")])
        let names = [
            "--resolve", "rebound.example.org:\(server.port):127.0.0.1",
            "--resolve", "inner.example.org:\(server.port):10.0.0.1",
        ]
        for scheme in ["http", "https", "nex", "gemini"] {
            let result = try run(
                [open("\(scheme)://\(host):\(server.port)/"), Self.show],
                opens: #""\#(scheme)://*:*/*""#, isLocal: false, names)
            #expect(
                result.text.contains(#""ok":false,"outcome":"connect""#)
                    && result.text.contains("private address"), "\(result.text)\(result.errors)")
        }
        server.stop()
        #expect(server.connections.isEmpty)
    }

    @Test func aConnectionThatIsThereLeadsNowhereElse() throws {
        let server = try web(["/": Self.page("page\n"), "/inner": Self.page("secret\n")])
        let place = "rebound.example.org:\(server.port)"
        let folder = try smallweb.plugin(
            "#!/bin/sh\n" + open("http://\(place)/inner") + "\n" + Self.show,
            scheme: #""transport": "none", "port": 0"#,
            more: #""connections": 2, "answers": true, "opens": ["http://*:*/*"],"#)
        let result = try smallweb.run([
            "get", "--plugin", folder, "--resolve", place + ":127.0.0.1", "-P", "1",
            "http://\(place)/", "trial:x",
        ])
        #expect(result.text.hasPrefix("page\n"), "\(result.errors)")
        #expect(result.text.contains("private address"), "\(result.text)")
        server.stop()
        for connection in server.connections {
            #expect(!String(decoding: connection.received, as: UTF8.self).contains("inner"))
        }
    }

    /// The limits of the exchange hold for the URLs that it opens.
    @Test func limitsHold() throws {
        let server = try web([
            "/large": Self.page(String(repeating: "x", count: 100_000)),
            "/cut": "HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\nhalf",
        ])
        let base = "http://127.0.0.1:\(server.port)"
        let large = try run(
            [open(base + "/large"), "cat <&7 >/dev/null"], opens: #""http://*:*/*""#,
            ["--max-filesize", "50000"])
        #expect(large.status == 63, "\(large.errors)")
        let silent = try LoopbackServer { _ = $0.read(.max) }
        let late = try run(
            [open("http://127.0.0.1:\(silent.port)/"), Self.show], opens: #""http://*:*/*""#,
            ["--read-timeout", "0.5"])
        #expect(late.text.contains(#""outcome":"timeout""#), "\(late.text)\(late.errors)")
    }

    /// A program that calls a truncated body complete is not believed.
    @Test func aBodyThatWasCutOffIsNotTakenForAWholeOne() throws {
        let server = try LoopbackServer { peer in
            _ = peer.readRequest()
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\nhalf")
        }
        let result = try run(
            [
                open("http://127.0.0.1:\(server.port)/"), "cat <&7 >&4",
                #"echo '{"type":"end","complete":true}' >&3"#,
            ], opens: #""http://*:*/*""#)
        #expect(result.status == 18, "\(result.text)\(result.errors)")
    }

    /// The exit of a program ends the fetches that it started.
    @Test func whatIsNotReadIsEnded() throws {
        let server = try LoopbackServer { peer in
            _ = peer.readRequest()
            peer.write("HTTP/1.1 200 OK\r\n\r\n")
            while peer.write(String(repeating: "endless\n", count: 1000)) {}
        }
        let result = try run(
            [open("http://127.0.0.1:\(server.port)/"), "read -r a <&6", "echo done >&4"],
            opens: #""http://*:*/*""#)
        #expect(result.text == "done\n" && result.status == 0, "\(result.errors)")
        server.stop()
    }

    /// The user's client certificate is not shown for a program's request.
    @Test func noIdentityIsShown() throws {
        let server = try LoopbackServer(tls: .make(), identity: .requested) { peer in
            _ = peer.readLine()
            peer.write("20 text/plain\r\nhello\n")
        }
        let place = "gemini://127.0.0.1:\(server.port)"
        #expect(try smallweb.run(["identity", "new", "me", place + "/"]).status == 0)
        let result = try run([open(place + "/"), Self.show], opens: #""gemini://{host}:*/*""#)
        #expect(result.text.hasSuffix("}\nhello\n"), "\(result.text)\(result.errors)")
        server.stop()
        #expect(server.connections.map(\.identity) == [nil])
    }

    /// Schemes of other programs, unknown schemes and schemes that the user excluded are refused.
    @Test func onlyBuiltInSchemesAreFetched() throws {
        for (scheme, words) in [
            ("trial", []), ("none", []), ("gopher", ["--proto", "trial,http"]),
        ] {
            let result = try run(
                [open("\(scheme)://127.0.0.1:1/"), Self.show], opens: #""\#(scheme)://*:*/*""#,
                words)
            #expect(
                result.text.contains(#""outcome":"unsupported-scheme""#),
                "\(result.text)\(result.errors)")
        }
    }

    /// The trace shows the request, without the secrets of the URL.
    @Test func aSecretInItIsMasked() throws {
        let server = try web(["/?key=hunter2": Self.page("ok\n")])
        let result = try run(
            [
                #"echo "{\"type\":\"open\",\"connection\":1,\"url\":\"http://127.0.0.1:"#
                    + #"\#(server.port)/?key=${SMALLWEB_USERINFO#*:}\"}" >&3"#,
                "read -r a <&6; cat <&7 >&4",
            ], opens: #""http://*:*/*""#, url: "trial://me:hunter2@127.0.0.1/", ["-v"])
        #expect(result.text == "ok\n", "\(result.errors)")
        #expect(result.errors.contains("GET /?key=***"), "\(result.errors)")
        #expect(!result.errors.contains("hunter2"), "\(result.errors)")
    }

    /// Also not after a redirect, and where the server says it.
    @Test func aSecretInItIsInNoArchive() throws {
        let server = try web([
            "/?key=hunter2": Self.redirect("/b?key=hunter2"),
            "/b?key=hunter2": Self.page("the key is hunter2\n"),
        ])
        let archive = smallweb.home.file("a.warc")
        let result = try run(
            [
                #"echo "{\"type\":\"open\",\"connection\":1,\"url\":\"http://127.0.0.1:"#
                    + #"\#(server.port)/?key=${SMALLWEB_USERINFO#*:}\"}" >&3"#,
                "read -r a <&6; cat <&7 >&4",
            ], opens: #""http://*:*/*""#, url: "trial://me:hunter2@127.0.0.1/",
            ["--warc", archive])
        #expect(result.text == "the key is hunter2\n", "\(result.errors)")
        let text = String(decoding: try Data(contentsOf: URL(filePath: archive)), as: UTF8.self)
        #expect(text.contains("/b?key=***"), "\(text)")
        #expect(!text.contains("hunter2"), "\(text)")
    }

    /// A page of an error may have no end.
    @Test func theBodyOfARefusalIsNotFetched() throws {
        let server = try LoopbackServer { peer in
            _ = peer.readRequest()
            peer.write("HTTP/1.1 404 None\r\n\r\n")
            while peer.write(String(repeating: "endless\n", count: 1000)) {}
        }
        let archive = smallweb.home.file("a.warc")
        let result = try run(
            [open("http://127.0.0.1:\(server.port)/"), Self.show], opens: #""http://*:*/*""#,
            ["--warc", archive])
        let answer = try answer(result)
        #expect(answer["outcome"]?.string == "permanent-failure", "\(result.text)")
        #expect(answer["head"]?["status"]?.int == 404)
        let text = String(decoding: try Data(contentsOf: URL(filePath: archive)), as: UTF8.self)
        #expect(text.contains("404 None"), "what is known of it is recorded")
    }

    /// The head in an answer has all members of a head event.
    @Test func aHeadHasAllMembers() throws {
        let server = try web(["/": "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"])
        let result = try run(
            [open("http://127.0.0.1:\(server.port)/"), Self.show], opens: #""http://*:*/*""#)
        let head = try #require(try answer(result)["head"])
        #expect(head["gone"]?.bool == true, "\(result.text)")
        for name in ["permanent", "sensitive", "unchanged"] {
            #expect(head[name]?.bool == false, "\(name)")
        }
    }
}

extension Peer {
    /// The first line of a request of HTTP, whose fields are passed over.
    fileprivate func readRequest() -> String? {
        guard let line = readLine() else { return nil }
        while let field = readLine(), field.count > 2 {}
        return String(decoding: line, as: UTF8.self)
    }
}
