// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

/// Archives that are not as they should be, and the way from a bug report to a fixture.
@Suite(.timeLimit(.minutes(5))) struct WarcInputTests {
    private let smallweb = Smallweb()

    private func write(_ bytes: some Sequence<UInt8>, to name: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: smallweb.home.file(name)))
    }

    private func content(_ name: String) -> [UInt8] { smallweb.home.content(name) ?? [] }

    @Test func whatIsNotAFileIsRefused() throws {
        let hole = try Hole()
        let shell = "[ -p fifo ] || mkfifo fifo; mkdir -p folder; exec \"$@\""
        for name in ["folder", "fifo"] {
            let result = try smallweb.run(["--warc", name, hole.place], shell: shell)
            #expect(result.status == 23 && result.output.isEmpty, "\(name)")
            for words in [["--replay", name, hole.place], ["warc", "list", name]] {
                let result = try smallweb.run(words, shell: shell)
                #expect(result.status == 26 && result.errors.contains(name), "\(words)")
            }
        }
    }

    @Test func anArchiveInUseIsRefused() throws {
        let hole = try Hole()
        let result = try smallweb.run(
            ["--warc", "a.warc", hole.place],
            shell: "exec flock -n a.warc \"$@\"")
        #expect(result.status == 23)
        #expect(result.errors.contains("is in use: process "))
        #expect(content("a.warc").isEmpty)
    }

    /// An older version, and gzip of something else, of other methods, and of a whole archive.
    @Test func aFileOfAnotherKindIsToldAndLeftAlone() throws {
        let hole = try Hole()
        let old = "WARC/0.18 4 response\r\nWARC-Type: response\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
        let record = "WARC/1.1\r\nWARC-Type: x\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
        try write(old.utf8, to: "old.warc")
        try write("my letters\n".utf8, to: "letters")
        try write((record + record).utf8, to: "two")
        try write(
            [0x1F, 0x8B, 7, 0] + Array("of a method that never was".utf8), to: "method.warc.gz")
        try write([0x1F, 0x9D, 0x90] + Array("of compress(1)".utf8), to: "lzw.warc.gz")
        let made = "for i in letters two; do gzip -nkf $i && mv $i.gz $i.warc.gz; done; exec \"$@\""
        _ = try smallweb.run(["--version"], shell: made)
        let names = ["letters", "two", "method", "lzw"].map { $0 + ".warc.gz" }
        for name in ["old.warc"] + names {
            let before = content(name)
            #expect(!before.isEmpty, "\(name)")
            for words in [["warc", "check", name], ["--replay", name, hole.place]] {
                let result = try smallweb.run(words)
                #expect(result.status == 8, "\(words)")
                #expect(result.errors.contains("\(name): at byte 0: "), "\(result.errors)")
            }
            let result = try smallweb.run(["--warc", name, hole.place])
            #expect(result.status == 23 && result.output.isEmpty, "\(name): \(result.errors)")
            #expect(content(name) == before)
        }
    }

    /// An archive that would be read or written by another option, under the same name or another.
    @Test func anArchiveIsNotASecondFileOfTheRun() throws {
        let hole = try Hole()
        let url = hole.place + "/0/about.txt"
        _ = try smallweb.run(["--warc", "a.warc", url])
        let before = content("a.warc")
        let linked = "ln -sf a.warc soft; ln -f a.warc hard; exec \"$@\""
        for words in [
            ["--warc", "a.warc", "--replay", "a.warc", url],
            ["--warc", "a.warc", "-o", "a.warc", url],
            ["--warc", "soft", "-o", "a.warc", url], ["--replay", "a.warc", "-o", "hard", url],
            ["watch", "--warc", "a.warc", "--state", "hard", url],
            ["feed", "--replay", "soft", "--state", "a.warc", url],
        ] {
            let result = try smallweb.run(words, shell: linked)
            #expect(result.status == 2 && result.output.isEmpty, "\(words): \(result.errors)")
            #expect(content("a.warc") == before, "\(words)")
        }
    }

    /// A length that is wrong by one in either direction, and a type that is wrong.
    @Test func aRecordThatLiesIsToldWithItsOffset() throws {
        let hole = try Hole()
        let url = hole.place + "/0/about.txt"
        _ = try smallweb.run(["--warc", "a.warc", url])
        let text = String(decoding: content("a.warc"), as: UTF8.self)
        let type = try #require(text.range(of: "WARC-Type: response"))
        let record = try #require(
            text.range(
                of: "WARC/1.1", options: .backwards, range: text.startIndex..<type.lowerBound))
        let field = try #require(
            text.range(
                of: "Content-Length: [0-9]+", options: .regularExpression,
                range: type.upperBound..<text.endIndex))
        let offset = text.utf8.distance(from: text.startIndex, to: record.lowerBound)
        let length = try #require(Int(text[field].dropFirst(16)))
        for wrong in [length - 1, length + 1] {
            let lie = text.replacingCharacters(in: field, with: "Content-Length: \(wrong)")
            try write(lie.utf8, to: "lie.warc")
            for words in [["warc", "check", "lie.warc"], ["--replay", "lie.warc", url]] {
                let result = try smallweb.run(words)
                #expect(result.status == 8, "\(words)")
                #expect(result.errors.contains("lie.warc: at byte \(offset): "), "\(result.errors)")
            }
            // It is no end that a crash has torn.
            #expect(try smallweb.run(["--warc", "lie.warc", url]).status == 23)
            #expect(content("lie.warc") == Array(lie.utf8))
        }
        // The plugin of the URL says what a block is.
        let other = text.replacingOccurrences(
            of: "gopher; msgtype=resp", with: "http; msgtype=resp")
        try write(other.utf8, to: "other.warc")
        #expect(try smallweb.run(["--replay", "other.warc", url]).text.hasPrefix("This hole"))
    }

    /// A request without a response, and two responses for one request.
    @Test func pairsThatAreNoneAreTold() throws {
        let request = """
            WARC/1.1\r\nWARC-Type: request\r\nWARC-Record-ID: <urn:uuid:1>\r\n\
            WARC-Date: 2026-11-20T22:17:13Z\r\nWARC-Target-URI: gopher://example.org/0/a\r\n\
            Content-Type: application/gopher; msgtype=request\r\nContent-Length: 4\r\n\r\n\
            /a\r\n\r\n\r\n
            """
        func response(_ number: Int) -> String {
            """
            WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:\(number)>\r\n\
            WARC-Concurrent-To: <urn:uuid:1>\r\n\
            WARC-Date: 2026-11-20T22:17:13Z\r\nWARC-Target-URI: gopher://example.org/0/a\r\n\
            Content-Type: application/gopher; msgtype=response\r\nContent-Length: 6\r\n\r\n\
            body\(number)\n\r\n\r\n
            """
        }
        let url = "gopher://example.org/0/a"
        let web = (request + response(2)).replacingOccurrences(of: "gopher", with: "http")
        try write(web.utf8, to: "web.warc")
        let words = ["--replay", "web.warc", "--replay-loose", "http://example.org/0/a"]
        let headless = try smallweb.run(words)
        #expect(headless.status == 8 && headless.errors.contains("no whole header"))
        try write(request.utf8, to: "alone.warc")
        let alone = try smallweb.run(["warc", "check", "alone.warc"])
        #expect(alone.status == 0 && alone.errors.contains("1 request without a reply"))
        #expect(try smallweb.run(["--replay", "alone.warc", url]).status == 103)
        try write((request + response(2) + response(3)).utf8, to: "two.warc")
        let two = try smallweb.run(["warc", "check", "two.warc"])
        #expect(two.status == 8 && two.errors.contains("two replies"))
        // Each has its turn.
        #expect(try smallweb.run(["--replay", "two.warc", url, url]).text == "body2\nbody3\n")
    }

    private func record(
        _ type: String, _ id: Int, _ url: String, _ fields: [String], _ block: String
    ) -> String {
        let kind = type == "request" ? "request" : "response"
        let scheme = url.prefix { $0 != ":" }
        let lines =
            [
                "WARC/1.1", "WARC-Type: \(type)", "WARC-Record-ID: <urn:uuid:\(id)>",
                "WARC-Date: 2026-01-01T00:00:00Z", "WARC-Target-URI: \(url)",
                "Content-Type: application/\(scheme); msgtype=\(kind)",
            ] + fields + ["Content-Length: \(block.utf8.count)", "", block, "", ""]
        return lines.joined(separator: "\r\n")
    }

    /// The body of a revisit is found by URL and date; without it there is no page.
    @Test func aRevisitWithoutItsReplyIsNotRecorded() throws {
        let (url, first) = ("http://h.example/x", "http://h.example/first")
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\n"
        let revisit = record(
            "revisit", 2, url,
            [
                "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
                "WARC-Refers-To-Target-URI: \(first)",
                "WARC-Refers-To-Date: 2026-01-01T00:00:00Z",
            ], head)
        let reply = record("response", 1, first, [], head + "hello\n")
        try write((reply + revisit).utf8, to: "a.warc")
        #expect(try smallweb.run(["--replay", "a.warc", url]).text == "hello\n")
        try write(revisit.utf8, to: "b.warc")
        let alone = try smallweb.run(["--replay", "b.warc", url])
        #expect(alone.status == 103 && alone.output.isEmpty, "\(alone.errors)")
        let hole = "gopher://h.example/"
        let gopher = record("revisit", 1, hole, ["WARC-Refers-To: <urn:uuid:9>"], "")
        try write(gopher.utf8, to: "c.warc")
        #expect(try smallweb.run(["--replay", "c.warc", "--replay-loose", hole]).status == 103)
    }

    /// A segment is cut off, and so is a reply of HTTP that is shorter than its length.
    @Test func aPartOfAReplyIsCutOff() throws {
        let url = "gopher://h.example/9/x"
        let part = record("response", 1, url, ["WARC-Segment-Number: 1"], "half")
        try write(part.utf8, to: "a.warc")
        let segment = try smallweb.run(["--replay", "a.warc", "--replay-loose", url])
        #expect(segment.status == 18 && segment.text == "half", "\(segment.errors)")
        let web = "http://h.example/x"
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n"
        try write(record("response", 1, web, [], head).utf8, to: "b.warc")
        #expect(try smallweb.run(["--replay", "b.warc", web]).status == 18)
        #expect(try smallweb.run(["--replay", "b.warc", "-I", "--replay-loose", web]).status == 0)
    }

    /// Their sums are too large for a number.
    @Test func hugeCountsDoNotEndTheProgram() throws {
        let web = "http://h.example/"
        var text = ""
        for (id, reply) in [
            (1, "HTTP/1.1 301 X\r\nLocation: /2\r\nContent-Length: 0\r\n\r\n"),
            (2, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi\n"),
        ] {
            text += record("response", id, web + "\(id)", [], reply)
            text += record(
                "metadata", id + 2, web + "\(id)", ["WARC-Refers-To: <urn:uuid:\(id)>"],
                #"{"bytes":{"sent":9223372036854775807,"received":9223372036854775807}}"#
            ).replacingOccurrences(
                of: "http; msgtype=response\r\nWARC-Ref", with: "x-smallweb-exchange\r\nWARC-Ref")
        }
        try write(text.utf8, to: "a.warc")
        let result = try smallweb.run(["-L", "--replay", "a.warc", web + "1"])
        #expect(result.status == 0 && result.text == "hi\n", "\(result.errors)")
    }

    /// A run that records while another one replays what is there so far.
    @Test func aGrowingArchiveIsReplayedAsFarAsItGoes() throws {
        let hole = try Hole()
        let url = hole.place + "/0/about.txt"
        let live = try smallweb.run(["--warc", "a.warc", url])
        let whole = content("a.warc")
        try write(whole + whole.prefix(whole.count / 2), to: "torn.warc")
        let words = ["--replay", "torn.warc", url]
        let held = try smallweb.run(words, shell: "exec 9<>torn.warc; flock 9; exec \"$@\"")
        #expect(held.status == 0 && held.output == live.output)
        // Without a run that has it, it is a damaged file.
        #expect(try smallweb.run(words).status == 8)
    }

    /// What a server did wrong, as one file, becomes a test that sees the same.
    @Test(arguments: [
        ("20 text/gemini; charset=utf-8\nline end\r\n", 8, "error  protocol-error"),
        ("2\r\n", 8, "error  protocol-error"), ("", 52, "error  empty-reply"),
        ("20 text/gemini\r\n# cut", 18, #""completeness":"truncated""#),
        ("44 soon\r\n", 75, #""status":44"#),
    ])
    func aBugReportBecomesAFixture(_ reply: String, _ status: Int32, _ sign: String) throws {
        let server = try LoopbackServer(tls: .make()) { peer in
            _ = peer.readLine()
            peer.write(reply)
            if status == 18 { peer.reset() }
        }
        let url = "gemini://127.0.0.1:\(server.port)/x"
        let live = try smallweb.run(["get", "--warc", "bug.warc.gz", url])
        server.stop()
        #expect(live.status == status, "\(live.errors)")
        #expect(try smallweb.run(["--replay", "bug.warc.gz", url]).status == status)
        let made = try smallweb.run(["warc", "wire", "bug.warc.gz", "Fixtures"])
        #expect(made.status == 0 && made.text.hasSuffix(".wire\n"))
        let path = String(made.text.dropLast())
        let fixture = String(decoding: content(path), as: UTF8.self)
        #expect(fixture.contains(sign), "\(fixture)")
        // And back: the fixture is in the archive as it stands.
        #expect(try smallweb.run(["warc", "from", "Fixtures", "b.warc.gz"]).status == 0)
        #expect(try smallweb.run(["warc", "wire", "b.warc.gz", "Again"]).status == 0)
        let again = path.replacingOccurrences(of: "Fixtures", with: "Again")
        #expect(String(decoding: content(again), as: UTF8.self) == fixture)
    }
}
