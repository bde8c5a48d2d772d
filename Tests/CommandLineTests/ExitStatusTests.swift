// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// One case per outcome, each seen from outside.
@Suite struct ExitStatusTests {
    /// Outcomes that no command line can bring about yet, and where they are tested instead.
    static let unreachable: [Outcome: String] = [
        .proxyResolve: "a name that fails needs a name server",
        .plugin: "no helper programs yet", .internal: "a bug by definition",
        .send: "a request fits the socket's buffer: ByteStream's own tests",
    ]

    static let cases: [Outcome: @Sendable () throws -> Smallweb.Result] = [
        .ok: { try fetch("/about") },
        .unsupportedScheme: { try Smallweb().run(["get", "nosuch://example.org/"]) },
        .usage: { try Smallweb().run(["get", "--nosuch"]) },
        .badURL: { try Smallweb().run(["get", "gemini://example.org/a%0d%0ab c"]) },
        .notBuiltIn: {
            // Libraries that are none stand before the real one.
            var smallweb = Smallweb()
            let fake = Data("not a library".utf8)
            for name in ["libssl.so.3", "libssl.so.4"] {
                try fake.write(to: URL(fileURLWithPath: smallweb.home.file(name)))
            }
            smallweb.environment["LD_LIBRARY_PATH"] = smallweb.home.path
            let capsule = try Capsule()
            return try smallweb.run(["get", capsule.place + "/"])
        },
        .resolve: { try Smallweb().run(["get", "-6", "gopher://127.0.0.1:9/"]) },
        .connect: {
            let hole = try Hole()
            hole.server.stop()
            return try Smallweb().run(["get", hole.place])
        },
        .protocolError: { try fetch("/malformed") },
        .truncated: { try fetch("/truncated") },
        .permanentFailure: { try fetch("/status/51") },
        .write: { try fetch("/about", output: "/dev/full") },
        .read: { try fetch("/input", ["-d", "@missing"]) },
        .timeout: { try fetch("/silent", ["--read-timeout", "0.2"]) },
        .tls: {
            let hole = try Hole()
            let url = hole.place.replacingOccurrences(of: "gopher", with: "gophers")
            return try Smallweb().run(["get", url])
        },
        .tooManyRedirects: { try fetch("/redirect/6") },
        .emptyReply: { try fetch("/no-reply") },
        .receive: {
            let server = try LoopbackServer(tls: .make()) { peer in
                _ = peer.readLine()
                peer.write("20 text")
                peer.reset()
            }
            return try Smallweb().run(["get", "gemini://127.0.0.1:\(server.port)/"])
        },
        .identityUnusable: { try fetch("/about", ["-E", "/dev/null"]) },
        .untrusted: {
            let server = try LoopbackServer(tls: .make()) { _ = $0.readLine() }
            return try Smallweb().run(["get", "https://127.0.0.1:\(server.port)/"])
        },
        .proxy: {
            let server = try LoopbackServer { peer in
                _ = peer.readLine()
                peer.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            }
            let proxy = "http://127.0.0.1:\(server.port)"
            return try Smallweb().trusting().run(["get", "-x", proxy, "https://name.test/"])
        },
        .tooLarge: { try fetch("/big/5000", ["--max-filesize", "4k"]) },
        .temporaryFailure: { try fetch("/status/41") },
        .trustChanged: {
            let capsule = try Capsule()
            var smallweb = Smallweb()
            smallweb.environment["SMALLWEB_KNOWN_HOSTS"] = smallweb.home.file("hosts")
            let pin = String(repeating: "a", count: 64)
            let line = "127.0.0.1:\(capsule.server.port) k sha256:\(pin) expires=9999999999\n"
            try Data(line.utf8).write(to: URL(fileURLWithPath: smallweb.home.file("hosts")))
            return try smallweb.run(["get", capsule.place + "/"])
        },
        .needsIdentity: { try fetch("/status/60") },
        .needsInput: { try fetch("/input") },
        .redirectRefused: { try fetch("/cross-scheme") },
        .notRecorded: {
            let smallweb = Smallweb()
            let empty = smallweb.home.file("empty.warc")
            _ = FileManager.default.createFile(atPath: empty, contents: nil)
            return try smallweb.run(["--replay", empty, "gopher://127.0.0.1/"])
        },
        .robots: {
            let server = try LoopbackServer { peer in
                _ = peer.readLine()
                peer.write("User-agent: *\nDisallow: /\n")
            }
            return try Smallweb().run(["get", "--robots", "nex://127.0.0.1:\(server.port)/a"])
        },
        .refusedAddress: { try fetch("/", ["--public-only"]) },
        .interrupted: {
            let capsule = try Capsule()
            return try Smallweb().run(["get", "-o", "never", capsule.place + "/silent"]) {
                process in
                try capsule.server.waitForClient()
                kill(process, SIGINT)
            }
        },
    ]

    @Test func everyOutcomeHasACaseOrAReasonForNone() {
        for outcome in Outcome.allCases {
            #expect(
                (Self.cases[outcome] == nil) != (Self.unreachable[outcome] == nil),
                "\(outcome.rawValue) needs a case, or a reason why it has none")
        }
    }

    @Test(arguments: cases.keys.sorted { $0.exitStatus < $1.exitStatus })
    func exitsWithTheOutcomesStatus(_ outcome: Outcome) throws {
        let bringAbout = try #require(Self.cases[outcome])
        let result = try bringAbout()
        let expected = outcome == .interrupted ? -SIGINT : outcome.exitStatus
        #expect(result.status == expected, "\(result.errors)")
        // One line that names the URL and says why; the dates and the keys if they are why, and
        // what helps, if anything does. A signal needs no words.
        let lines = result.errors.split(separator: "\n").filter { !$0.hasPrefix("hint: ") }
        let isQuiet = outcome == .ok || outcome == .interrupted
        // A key that changed is shown below, beside the one that was known.
        let keys = outcome == .trustChanged ? 3 : 0
        let isHelped = [.untrusted, .trustChanged, .needsIdentity].contains(outcome)
        #expect(lines.count == (isQuiet ? 0 : 1 + keys), "\(result.errors)")
        #expect(!isHelped || result.errors.contains("\nhint: "), "\(result.errors)")
        if !isQuiet { #expect(result.errors.hasPrefix("smallweb: ")) }
        let namesURL = ![.ok, .interrupted, .usage, .read, .identityUnusable].contains(outcome)
        if namesURL { #expect(result.errors.contains("://")) }
    }

    @Test func theTopicExitStatusListsEveryOutcome() throws {
        let text = try Smallweb().run(["help", "exit-status"]).text
        for outcome in Outcome.allCases {
            #expect(text.contains(" \(outcome.exitStatus)  \(outcome.rawValue)"))
        }
    }

    @Test func severalURLsExitWithTheFirstFailureInInputOrder() throws {
        let capsule = try Capsule()
        let urls = ["/about", "/status/41", "/status/51", "/about"].map { capsule.place + $0 }
        let result = try Smallweb().run(["get"] + urls)
        #expect(result.status == Outcome.temporaryFailure.exitStatus)
        #expect(result.text == "# About\r\nNothing much.\r\n# About\r\nNothing much.\r\n")
    }

    static func fetch(
        _ path: String, _ options: [String] = [], output: String? = nil
    ) throws -> Smallweb.Result {
        let capsule = try Capsule()
        return try Smallweb().run(["get"] + options + [capsule.place + path], output: output)
    }
}
