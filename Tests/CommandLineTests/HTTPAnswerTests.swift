// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

/// Answers of HTTP servers that are not pages, ~/.netrc, and limits of redirects.
@Suite struct HTTPAnswerTests {
    private let smallweb = Smallweb()

    private func server(
        _ asked: Recorder<WebRequest> = Recorder(), _ reply: @escaping @Sendable (String) -> String
    ) throws -> LoopbackServer {
        try LoopbackServer { peer in
            guard let request = WebRequest(from: peer) else { return }
            asked.add(request)
            peer.write("HTTP/1.1 " + reply(request.target))
        }
    }

    private static let page = "200 OK\r\nContent-Length: 3\r\n\r\nok\n"

    // MARK: Redirects

    @Test(
        arguments: [
            ([0xE9], "%E9"), ([0xC3, 0xA9], "%C3%A9"), ([0x80, 0xFF], "%80%FF"),
            ([0xC3, 0xA9, 0x2F, 0xE9], "%C3%A9/%E9"), ([0x25, 0x45, 0x39, 0xE9], "%E9%E9"),
        ] as [([UInt8], String)])
    func aLocationKeepsItsBytes(_ bytes: [UInt8], _ sent: String) throws {
        let asked = Recorder<WebRequest>()
        let server = try LoopbackServer { peer in
            guard let request = WebRequest(from: peer) else { return }
            asked.add(request)
            guard request.target == "/" else { return _ = peer.write("HTTP/1.1 " + Self.page) }
            peer.write(
                Array("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /a".utf8) + bytes
                    + Array("?".utf8) + bytes + Array("\r\n\r\n".utf8))
        }
        #expect(try smallweb.run(["http://127.0.0.1:\(server.port)/"]).status == 0)
        #expect(asked.values.map(\.target) == ["/", "/a\(sent)?\(sent)"])
    }

    /// From a URL that is not at a private address.
    @Test(arguments: ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433", "127.1"])
    func noRedirectLeadsIntoAPrivateNetwork(_ host: String) throws {
        let asked = Recorder<WebRequest>()
        let server = try server(asked) { _ in Self.page }
        let target = "http://\(host):\(server.port)/"
        let folder = try smallweb.plugin(
            """
            #!/bin/sh
            echo '{"type":"head","class":"redirect","redirect":"\(target)"}' >&3
            """, scheme: Smallweb.noServer)
        let words = ["get", "--plugin", folder, "--proto-redir", "http", "trial:x"]
        let refused = try smallweb.run(words + ["--no-private"])
        #expect(refused.status == 102, "\(refused.errors)")
        #expect(refused.errors.contains("private address"), "\(refused.errors)")
        #expect(asked.values.isEmpty)
        #expect(try smallweb.run(["--no-private", "http://127.0.0.1:\(server.port)/"]).status == 0)
        try Data("no-private = true\n".utf8).write(
            to: URL(fileURLWithPath: smallweb.home.file("config")))
        #expect(try smallweb.run(words + ["-K", "config"]).status == refused.status)
        #expect(asked.values.count == 1)
    }

    /// The typed URL is itself at a private address.
    @Test func aPrivateURLMayLeadToAnother() throws {
        let server = try LoopbackServer(handler: DemoSites.web)
        let url = "http://127.0.0.1:\(server.port)/redirect/2"
        #expect(try smallweb.run(["--no-private", url]).status == 0)
        let other = try LoopbackServer(handler: DemoSites.web)
        let target = "http://localhost:\(other.port)/about"
        let result = try smallweb.run([
            "--no-private", "http://127.0.0.1:\(server.port)/to/" + target,
        ])
        #expect(result.status == 0, "\(result.errors)")
    }

    // MARK: Git hosts

    @Test(arguments: [
        (
            "403 Forbidden\r\nContent-Type: text/plain", "\u{1B}[1mNo\r\n access \u{202E}\n",
            "No access"
        ),
        ("404 Not Found\r\nContent-Type: Text/Plain; charset=utf-8", "No\nsuch one", "No such one"),
        ("503 Busy\r\nContent-Type: text/plain", "wait", "503 Busy: wait"),
        ("403 Forbidden\r\nContent-Type: text/html", "<p>secret", nil),
        ("403 Forbidden\r\nContent-Type: text/plain", "<html>secret", nil),
        ("403 Forbidden\r\nContent-Type: text/plain", "", nil),
        ("302 Found\r\nLocation: /users/sign_in", "secret", "/users/sign_in, which is not"),
        ("302 Found\r\nLocation: https://login.test/?a=b", "", "https://login.test/?a=b, which"),
    ])
    func aRefusalHasItsReason(_ head: String, _ body: String, _ reason: String?) throws {
        let server = try server { _ in
            "\(head)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        }
        let result = try smallweb.run(["refs", "git+http://127.0.0.1:\(server.port)/r.git"])
        #expect(result.status != 0 && !result.errors.contains("secret"), "\(result.errors)")
        let line = result.errors.split(separator: "\n").first.map(String.init) ?? ""
        for character in ["\u{1B}", "\u{202E}"] { #expect(!result.errors.contains(character)) }
        if let reason {
            #expect(line.replacing("\\x1B[1m", with: "").contains(reason), "\(line)")
        } else {
            #expect(line.hasSuffix("Forbidden"), "\(line)")
        }
    }

    /// A long one is cut, and not waited for.
    @Test func aReasonHasABound() throws {
        let server = try LoopbackServer { peer in
            guard WebRequest(from: peer) != nil else { return }
            peer.write("HTTP/1.1 403 No\r\nContent-Type: text/plain\r\n\r\n")
            peer.write([UInt8](repeating: 0x61, count: 5000))
            peer.hang()
        }
        let result = try smallweb.run(["refs", "git+http://127.0.0.1:\(server.port)/r.git"])
        #expect(result.status == 22)
        #expect(result.errors.contains("aaaa") && result.errors.utf8.count < 1300)
    }

    // MARK: ~/.netrc

    private func write(_ netrc: String, mode: Int = 0o600) throws {
        let path = smallweb.home.file(".netrc")
        try Data(netrc.utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    @Test(arguments: [
        ("machine 127.0.0.1 login joe password secret", "", "joe:secret"),
        (
            "machine a.test login x password y\nmachine 127.0.0.1\n\tlogin joe\n\tpassword s\n", "",
            "joe:s"
        ),
        ("machine 127.0.0.1 login \"j o\" password \"a\\\"b\\\\c\"", "", "j o:a\"b\\c"),
        ("# machine 127.0.0.1 login no password no\ndefault login joe password s", "", "joe:s"),
        (
            "macdef x\nmachine 127.0.0.1 login no password no\n\nmachine 127.0.0.1 login joe", "",
            "joe:"
        ),
        (
            "machine 127.0.0.1 login a password b machine 127.0.0.1 login joe password c", "joe@",
            "joe:c"
        ),
        ("machine 127.0.0.1 password b", "joe@", "joe:b"),
        ("machine 127.0.0.1 login joe password s", "joe:own@", "joe:own"),
        ("machine 127.0.0.1 login joe account x password s", "", "joe:s"),
        ("machine other.test login joe password s", "", nil), ("", "", nil),
        ("machine", "", nil), ("login a password b", "", nil),
    ])
    func aHostHasItsLogin(_ netrc: String, _ user: String, _ sent: String?) throws {
        let asked = Recorder<WebRequest>()
        let server = try server(asked) { _ in Self.page }
        try write(netrc)
        let result = try smallweb.run([
            "get", "--netrc", "-v", "http://\(user)127.0.0.1:\(server.port)/",
        ])
        #expect(result.status == 0, "\(result.errors)")
        let field = sent.map { "Basic " + Data($0.utf8).base64EncodedString() }
        #expect(asked.values.last?["authorization"] == [field].compactMap(\.self))
        #expect(field.map { !result.errors.contains($0.dropFirst(6)) } ?? true)
    }

    @Test func aLoginGoesToItsHostAlone() throws {
        let (asked, other) = (Recorder<WebRequest>(), Recorder<WebRequest>())
        let elsewhere = try server(other) { _ in Self.page }
        let target = "http://localhost:\(elsewhere.port)/"
        let server = try server(asked) { path in
            path == "/"
                ? "302 Found\r\nContent-Length: 0\r\nLocation: \(target)\r\n\r\n" : Self.page
        }
        try write("machine 127.0.0.1 login joe password s\nmachine localhost login a password b")
        let url = "http://127.0.0.1:\(server.port)/"
        #expect(try smallweb.run(["get", "--netrc", url]).status == 0)
        #expect(asked.values.last?["authorization"].count == 1)
        #expect(other.values.last?["authorization"] == [])
        _ = try smallweb.run(["get", "--netrc", "-H", "Authorization: Bearer x", url + "a"])
        #expect(asked.values.last?["authorization"] == ["Bearer x"])
        _ = try smallweb.run(["get", url + "a"])
        #expect(asked.values.last?["authorization"] == [])
        _ = try smallweb.run(["refs", "--netrc", "git+http://127.0.0.1:\(server.port)/r.git"])
        #expect(asked.values.last?["authorization"].count == 1)
        let shown = try smallweb.run(["explain", "--netrc", url])
        #expect(shown.text.contains("Authorization: ***"), "\(shown.text)")
    }

    @Test func theFileIsTheUsersAlone() throws {
        let server = try server { _ in Self.page }
        let url = "http://127.0.0.1:\(server.port)/"
        #expect(try smallweb.run(["get", "--netrc", url]).status != 0)
        for mode in [0o644, 0o640, 0o604, 0o620] {
            try write("machine 127.0.0.1 login joe password s", mode: mode)
            let result = try smallweb.run(["get", "--netrc", url])
            #expect(result.status != 0 && result.errors.contains("you alone can read"))
            #expect(try smallweb.run(["get", url]).status == 0)
        }
    }
}
