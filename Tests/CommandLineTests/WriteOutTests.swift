// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

@testable import SmallWebCLI

/// `--write-out`, and options that are about records alone.
@Suite struct WriteOutTests {
    private let smallweb = Smallweb()

    @Test func aFormatSaysWhatTheRecordSays() throws {
        let hole = try Hole()
        let url = hole.place + "/0/about.txt"
        let format = "%{exitcode} %{url} %{size_download} %{gopher.type}|%{http_code}\\t100%%\\n"
        let result = try smallweb.run(["-s", "-O", "-w", format, url, hole.place + "/0/nosuch"])
        let size = try #require(smallweb.home.content("about.txt")).count
        let lines = result.text.split(separator: "\n")
        #expect(lines.first == "0 \(url) \(size) 0|000\t100%")
        #expect(lines.last?.hasPrefix("22 ") == true && lines.count == 2, "\(result.text)")
    }

    @Test func aBodyComesBeforeItsWords() throws {
        let (hole, capsule) = (try Hole(), try Capsule())
        let urls = [capsule.place + "/big/70000", hole.place + "/0/about.txt"]
        let body = try urls.map { try smallweb.run(["-k", $0]).text }
        let both = try smallweb.run(["-k", "-Z", "-w", "<%{urlnum}>"] + urls)
        #expect(both.text == body[0] + "<0>" + body[1] + "<1>")
    }

    @Test func theWholeRecordAndOtherStreams() throws {
        let hole = try Hole()
        hole.server.stop()
        let result = try smallweb.run([
            "-s", "-w", "%{json}\\n%{stderr}%{errormsg}", hole.place,
        ])
        #expect(try Records(result.output).terminal[0]["outcome"]?.string == "connect")
        #expect(result.errors.hasPrefix("cannot connect"), "\(result.errors)")
        try Data("%{num_redirects}!".utf8).write(
            to: URL(fileURLWithPath: smallweb.home.file("format")))
        #expect(try smallweb.run(["-s", "-w", "@format", hole.place]).text == "0!")
    }

    @Test(arguments: [
        ("%{http_cod}", "no name \"http_cod\""), ("%{url", "has no }"),
    ])
    func aBadFormatIsAMistake(_ format: String, _ message: String) throws {
        let result = try smallweb.run(["-w", format, "gopher://127.0.0.1:1/"])
        #expect(result.status == 2 && result.errors.contains(message), "\(result.errors)")
    }

    @Test(arguments: [
        ["--fields", "url"], ["--events"], ["--stream"], ["--inline-max", "1"], ["--ordered"],
        ["--summary"], ["--body", "base64"],
    ])
    func withoutRecordsWhatIsAboutThemIsRefused(_ words: [String]) throws {
        let result = try smallweb.run(words + ["gopher://127.0.0.1:1/"])
        #expect(result.status == 2 && result.errors.contains("\(words[0]) is about JSON records"))
    }

    @Test func noBodyIsNoBody() throws {
        let hole = try Hole()
        let result = try smallweb.run(["--body", "none", hole.place + "/0/about.txt"])
        #expect(result.status == 0 && result.output.isEmpty)
        #expect(try smallweb.run(["--body", "none", hole.place + "/0/nosuch"]).status == 22)
    }

    /// A ledger without outcomes would have everything fetched again.
    @Test func fieldsLeaveTheLedgerWhatItNeeds() throws {
        let hole = try Hole()
        let words = [
            "--json", "--summary", "--fields", "status", "--ledger", "done",
            hole.place + "/0/about.txt",
        ]
        #expect(try smallweb.run(words).status == 0)
        hole.server.stop()
        let again = try smallweb.run(words)
        #expect(again.status == 0 && again.text.contains("\"skipped\":1"), "\(again.text)")
    }
}
