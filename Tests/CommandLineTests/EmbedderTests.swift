// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebRecords
import SmallWebTestSupport
import Testing

/// A program's records are the command line's, byte for byte.
@Suite struct EmbedderTests {
    /// Masks values that differ from run to run, and sentences that name options.
    private static func masked(_ line: Substring) -> String {
        var text = String(line)
        for pattern in [
            #""time":\{[^}]*\}"#, #""date":"[^"]*""#, #""first_seen":"[^"]*""#,
            #""hint":("([^"\\]|\\.)*"|null)"#, #""expected":("([^"\\]|\\.)*"|null)"#,
            #" after [0-9]+ ms"#,
        ] {
            text = text.replacingOccurrences(of: pattern, with: "", options: .regularExpression)
        }
        return text
    }

    @Test(arguments: [false, true])
    func theLinesOfARunAreTheSame(_ hasEvents: Bool) async throws {
        let smallweb = Smallweb()
        let capsule = try Capsule()
        let gopher = try LoopbackServer(handler: DemoSites.gopher)
        // One for each request: it closes its connections, which another request may not have seen.
        let webs = try (0..<2).map { _ in try LoopbackServer(handler: DemoSites.web) }
        let finger = try LoopbackServer(handler: DemoSites.finger)
        let paths = [
            "/about", "/latin1", "/1k", "/empty", "/input", "/loop", "/redirect/3", "/truncated",
            "/reset", "/no-reply", "/malformed", "/bad-redirect", "/cross-scheme", "/status/44",
            "/status/51", "/status/62", "/relative/dir/page",
        ]
        var urls = paths.map { capsule.place + $0 }
        for path in ["/1/", "/0/about.txt", "/0/no-terminator", "/0/nope", "/0/reset"] {
            urls.append("gopher://127.0.0.1:\(gopher.port)" + path)
        }
        for (path, web) in zip(["/about", "/nope"], webs) {
            urls.append("http://127.0.0.1:\(web.port)" + path)
        }
        for path in ["/ada", "/nope"] { urls.append("finger://127.0.0.1:\(finger.port)" + path) }
        urls += ["nowhere://x/", "not a URL", "gopher://127.0.0.1:1/", "http://u:p@127.0.0.1:1/"]
        let words = ["get", "--json", "--deadline", "300"] + (hasEvents ? ["--events"] : [])
        let result = try smallweb.run(
            words + ["--ledger", smallweb.home.file("one"), "--ordered"] + urls)

        var options = Client.Options()
        options.trust = TrustStore(path: smallweb.home.file("trust"))
        let version = try smallweb.run(["--version"]).text.split(separator: " ")[1]
        options.http.userAgent = "smallweb/\(version.prefix { !$0.isWhitespace })"
        var records = RecordOptions()
        records.includesEvents = hasEvents
        let lines = Locked<[UInt8]>([])
        let writer = RecordWriter(
            options: records, ledger: smallweb.home.file("two")
        ) { line in lines.withLock { $0 += line } }
        var run = RunOptions()
        run.deadline = .seconds(300)
        let summary = try await Client(options: options).run(urls, options: run).write(to: writer)

        let theirs = String(decoding: lines.withLock { $0 }, as: UTF8.self)
        let (ours, others) = (result.text.split(separator: "\n"), theirs.split(separator: "\n"))
        #expect(ours.count == others.count && ours.count > urls.count)
        for (one, other) in zip(ours, others) {
            #expect(Self.masked(one) == Self.masked(other))
        }
        #expect(summary.exitStatus == result.status)
        #expect(summary.requests == urls.count)
        let ledgers = try ["one", "two"].map { name in
            let text = try String(contentsOfFile: smallweb.home.file(name), encoding: .utf8)
            return text.split(separator: "\n").map(Self.masked)
        }
        #expect(ledgers[0] == ledgers[1] && ledgers[0].count == urls.count)
    }
}
