// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebPlugins
import SmallWebTestSupport
import Testing

@testable import SmallWebCLI

/// `smallweb explain`: the truth about the first request, and no connection.
@Suite(.timeLimit(.minutes(30)))
struct ExplainTests {
    private let smallweb = Smallweb()

    private func explanation(_ arguments: [String]) throws -> JSON {
        let result = try smallweb.run(["explain", "--json"] + arguments)
        #expect(result.status == 0, "\(result.errors)")
        return try #require(try Records(result.output)["explanation"].first)
    }

    /// For every scheme: the rest of a URL after the place, and options.
    private static let cases: [String: [(rest: String, options: [String])]] = [
        "gemini": [("", []), ("/a?b#c", ["-d", "small web"])],
        "titan": [("/a/b.gmi", ["-d", "hello"])],
        "gopher": [("/1/x", []), ("/7/search", ["-d", "small web"])],
        "gophers": [("/0/y", [])],
        "finger": [("/bob", [])],
        "nex": [("", []), ("/info/a%20b", [])],
        "spartan": [
            ("", []), ("/a%20b?c%20d#e", []), ("/a", ["-d", "small\r\nweb"]),
            ("/a", ["-d", String(repeating: "long ", count: 4000)]),
        ],
        "git": [("/r.git", []), ("/r.git//docs?ref=v1", [])],
        "git+http": [("/r.git", []), ("/r.git//docs", ["-A", "me"])],
        "git+https": [("/r.git", [])],
        "http": [
            ("/x?q", ["-H", "Accept: text/plain", "-A", "me"]),
            ("", ["-X", "PUT", "-d", "a=b", "-H", "Transfer-Encoding:"]), ("/a", ["-I", "-4"]),
        ],
        "https": [("/x", ["-d", "body"])],
    ]

    @Test(arguments: Registry.builtIn.schemes)
    func whatIsExplainedIsWhatIsSent(_ scheme: Scheme) throws {
        let cases = try #require(Self.cases[scheme.name], "a scheme without a case")
        let certificate = TestCertificate.make()
        let isTLS = scheme.trust != .none
        for (rest, options) in cases {
            let expected = Locked(1)
            let server = try LoopbackServer(tls: isTLS ? certificate : nil) { peer in
                // No reply is needed: the server ends after the request.
                _ = peer.read(expected.withLock { $0 })
            }
            let url = "\(scheme.name)://127.0.0.1:\(server.port)\(rest)"
            let explained = try explanation([url] + options)
            #expect(explained["addresses"]?.array.map(\.string) == ["127.0.0.1"])
            #expect(explained["port"]?.int == Int(server.port))
            let raw = try #require(explained["raw"]?.string)
            #expect(server.connections.isEmpty && server.clientSockets == 0)
            #expect(explained["sends"]?.int == raw.utf8.count)
            expected.withLock { $0 = raw.utf8.count }

            var words = ["get", "-k", "-s", url] + options
            if scheme.name == "titan" {
                try Data(options[1].utf8).write(
                    to: URL(fileURLWithPath: smallweb.home.file("body.gmi")))
                words = ["put", "-k", "-s", url, smallweb.home.file("body.gmi")]
            }
            _ = try smallweb.run(words)
            let sent = try server.waitForConnections(1)[0].received
            #expect(sent == Array(raw.utf8), "\(url)")
        }
        #expect(smallweb.home.names.filter { $0 != "body.gmi" }.isEmpty, "nothing is written")
    }

    @Test func secretsAreNotShown() throws {
        try Data("hush\n".utf8).write(to: URL(fileURLWithPath: smallweb.home.file("token")))
        let texts = try [
            ["-H", "Authorization: Bearer hush", "http://127.0.0.1/"],
            ["-H", "Cookie: hush", "https://u:hush@127.0.0.1/"],
            ["-H", "Authorization : hush", "-H", "X-Api-Key: hush", "http://127.0.0.1/"],
            ["-H", "PRIVATE-TOKEN: hush", "http://127.0.0.1/"],
            ["-x", "http://u:hush@127.0.0.1:3128", "https://127.0.0.1/"],
            ["--token-file", smallweb.home.file("token"), "titan://127.0.0.1/a"],
        ].map { try smallweb.run(["explain"] + $0) }
        for text in texts {
            #expect(text.status == 0, "\(text.errors)")
            #expect(
                text.text.contains("***") || text.text.contains("http://127.0.0.1:3128, by --proxy")
            )
            #expect(!text.text.contains("hush") && !text.errors.contains("hush"))
        }
    }

    @Test func optionsAndConfigFileCount() throws {
        let config = smallweb.home.file("config")
        try Data(
            """
            [host 127.0.0.1]
            max-redirs = 2
            remote-name = true
            [scheme gemini]
            trust = locked
            """.utf8
        ).write(to: URL(fileURLWithPath: config))
        let explained = try explanation([
            "-K", config, "--output-dir", "d", "--proto-redir", "gopher", "gemini://127.0.0.1/a",
        ])
        #expect(explained["output"]?.string == "d/a")
        #expect(explained["redirects"]?["max"]?.int == 2)
        #expect(explained["redirects"]?["other_schemes"]?.array == [.string("gopher")])
        #expect(explained["trust"]?["policy"]?.string == "locked")
        #expect(explained["trust"]?["known"]?.bool == false)
    }

    @Test func aKnownServerAndABoundIdentityAreNamed() throws {
        let capsule = try Capsule()
        #expect(try smallweb.run(["get", "-s", capsule.place + "/"]).status == 0)
        #expect(try smallweb.run(["identity", "new", "ada", capsule.place + "/app"]).status == 0)
        let explained = try explanation([capsule.place + "/app/x"])
        #expect(explained["trust"]?["known"]?.bool == true)
        #expect(explained["trust"]?["key"]?.string?.hasPrefix("sha256:") == true)
        #expect(explained["identity"]?.string == "ada")
        #expect(try explanation([capsule.place + "/"])["identity"] == .null)
    }

    @Test func aMistakeHasTheStatusThatTheFetchWouldHave() throws {
        let long = "gemini://127.0.0.1/" + String(repeating: "a", count: 1100)
        for (url, status) in [
            ("gemini://no-such-host.invalid/", 6), ("nope://x/", 1), (long, 3), ("gemini://", 3),
        ] as [(String, Int32)] {
            let result = try smallweb.run(["explain", url])
            #expect(result.status == status, "\(url): \(result.errors)")
            #expect(result.errors.hasPrefix("smallweb: ") && result.errors.hasSuffix("\n"))
        }
        // With --json there is a record for each, and the same message.
        let urls = ["nope://x/", "gemini://127.0.0.1/", "gemini://"]
        let text = try smallweb.run(["explain"] + urls)
        let told = try smallweb.run(["explain", "--json"] + urls)
        let records = try Records(told.output)
        #expect(told.status == 1 && told.errors == text.errors, "\(told.errors)")
        #expect(records.exits == [1, 3] && records["explanation"].count == 1)
        #expect(records["error"].map { $0["url"]?.string } == [urls[0], urls[2]])
        #expect(records["error"].map { $0["n"]?.int } == [0, 2])
        // A name that cannot be resolved does not hide the rest of the explanation.
        let result = try smallweb.run(["explain", "gemini://no-such-host.invalid/"])
        #expect(result.text.contains("gemini://no-such-host.invalid/\\r\\n"))
    }
}
