// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// `--slice`: the parts of a page are the page, and 0 is a part of it as it is.
@Suite(.timeLimit(.minutes(30))) struct SliceTests {
    private let smallweb = Smallweb()

    /// A web server whose reply to each path is a type, a body and the length that it announces;
    /// every `failing`th request is refused for now.
    private final class Web: Sendable {
        let server: LoopbackServer
        private let asked = Monitor(0)
        var requests: Int { asked.update { $0 } }
        func url(_ path: String) -> String { "http://127.0.0.1:\(server.port)/\(path)" }

        init(_ type: String, _ body: [UInt8], length: Int? = nil, failing: Int = 0) throws {
            let asked = asked
            server = try LoopbackServer { peer in
                while let line = peer.readLine(), line.count > 2 {}
                let number = asked.update { count in
                    count += 1
                    return count
                }
                let status = failing > 0 && number % failing == 0 ? "503 Later" : "200 OK"
                peer.write("HTTP/1.1 \(status)\r\nContent-Type: \(type)\r\n")
                peer.write("Content-Length: \(length ?? body.count)\r\nConnection: close\r\n\r\n")
                peer.write(body)
            }
        }
    }

    private static let text = Array(String(repeating: "Bäume – 😀\r\n", count: 60).utf8)

    /// All parts, by `next` of records; each must be a success.
    private func parts(_ url: String, _ count: Int, _ options: [String] = []) throws -> [JSON] {
        var (parts, start, hash): ([JSON], Int?, String) = ([], 0, "")
        while let place = start {
            let words = ["-s", "--slice", "\(place):\(count)\(hash)"] + options + [url]
            let (records, result) = try smallweb.records(words)
            let body = try #require(records.all.first?["body"], "\(result.errors)")
            #expect(result.status == 0 && body["offset"]?.int == place)
            hash = ":" + (body["sha256"]?.string ?? "")
            start = body["next"]?.int
            parts.append(body)
        }
        return parts
    }

    private func bytes(_ part: JSON) -> [UInt8] {
        part["text"]?.string.map { Array($0.utf8) }
            ?? part["base64"]?.string.flatMap { Data(base64Encoded: $0) }.map { Array($0) } ?? []
    }

    /// Every scheme, as it came and laid out, in records and on standard output.
    @Test func thePartsAreThePageOfEveryScheme() throws {
        let sites = try WarcTests.Sites()
        var count = 0
        for options in [
            [], ["--render", "text"], ["--render", "markdown"], ["--render", "html"],
        ] {
            for url in sites.urls {
                let whole = try smallweb.run(["get", "-s", "-k"] + options + [url])
                guard whole.status == 0, !url.contains("/big/") else { continue }
                for size in [31, 200, 5000] where whole.output.count / size < 12 {
                    count += 1
                    let parts = try parts(url, size, options)
                    #expect(parts.flatMap(bytes) == whole.output, "\(url)")
                    #expect(parts.allSatisfy { $0["total"]?.int == whole.output.count })
                    let shown = try smallweb.run(
                        ["get", "-k", "--slice", "0:\(size)"] + options + [url])
                    #expect(shown.output == bytes(parts[0]), "\(url)")
                }
            }
        }
        #expect(count > 60)
    }

    @Test(arguments: [
        "", "é", "a\r\nb\r\n", "no line end", String(repeating: "€", count: 50),
        String(repeating: "aé€😀", count: 30), String(repeating: "\r\n", count: 40),
    ])
    func thePartsAreTheBytes(_ text: String) throws {
        let web = try Web("text/plain", Array(text.utf8))
        for count in [1, 6, 50, 9000] where text.utf8.count / count < 40 {
            #expect(try parts(web.url("a"), count).flatMap(bytes) == Array(text.utf8))
        }
    }

    @Test func aTextOfNoCharsetKeepsItsBytesAndOneOfAnotherIsUTF8() throws {
        let bytes = Array(repeating: [0x6E, 0xE4, 0xEF, 0x76, 0x0A], count: 20).flatMap { $0 }
        let unknown = try Web("text/plain", bytes.map { UInt8($0) })
        #expect(try parts(unknown.url("a"), 7).flatMap(self.bytes) == bytes.map { UInt8($0) })
        let known = try Web("text/plain; charset=iso-8859-1", bytes.map { UInt8($0) })
        let parts = try parts(known.url("a"), 7)
        let text = String(repeating: "näïv\n", count: 20)
        #expect(parts.compactMap { $0["text"]?.string }.joined() == text)
        #expect(parts.allSatisfy { $0["transcoded"]?.string == "iso-8859-1" })
    }

    /// The message on standard error leads through the page, and is the last one's no more.
    @Test func aMessageSaysWhereToGoOn() throws {
        let web = try Web("text/plain", Self.text)
        var (output, option): ([UInt8], String?) = ([], "0:100")
        while let range = option {
            let result = try smallweb.run(["get", "--slice", range, web.url("a")])
            #expect(result.status == 0)
            output += result.output
            option = result.errors.range(of: "--slice ").map {
                String(result.errors[$0.upperBound...].dropLast())
            }
            #expect(option == nil ? result.errors.isEmpty : range.contains(":100"))
            let quiet = try smallweb.run(["get", "-q", "--slice", range, web.url("a")])
            #expect(quiet.output == result.output && quiet.errors.isEmpty)
        }
        #expect(output == Self.text)
    }

    /// What 0, 18, 22, 23 and 75 claim: nothing of a page that is not the one that was meant.
    @Test func aStatusIsAStatement() throws {
        let text = Self.text
        let hash = TestDigest.sha256(text) ?? ""
        let page = try Web("text/plain", text)
        let empty = try Web("text/plain", [])
        let image = try Web("image/png", text)
        let short = try Web("text/plain", text, length: text.count + 1)
        let later = try Web("text/plain", text, failing: 1)
        let all = String(decoding: text, as: UTF8.self)
        let cases: [(Web, String, Int32, text: String?, omitted: String?)] = [
            (page, "0:9000", 0, all, nil), (page, "0:9000:\(hash)", 0, all, nil),
            (page, "0:9000:\(hash.prefix(8).uppercased())", 0, all, nil),
            (page, "\(text.count):5", 0, "", nil), (empty, "0:5", 0, "", nil),
            (page, "\(text.count + 1):5", 22, nil, "beyond-end"),
            (empty, "1:5", 22, nil, "beyond-end"),
            (page, "0:5:00000000", 22, nil, "changed"),
            (page, "9000:5:00000000", 22, nil, "changed"),
            (image, "0:5", 23, nil, "not-text"), (image, "9000:5:00000000", 23, nil, "not-text"),
            (short, "0:9000:00000000", 18, all, nil), (short, "9000:5", 18, "", nil),
            (later, "0:5", 75, nil, "error-status"),
            (later, "0:5:00000000", 75, nil, "error-status"),
        ]
        for (web, range, status, text, omitted) in cases {
            let (records, result) = try smallweb.records(["--slice", range, web.url("a")])
            #expect(result.status == status, "\(range): \(result.errors)")
            let record = records.all[0]
            let body = record["body"] ?? record["partial"]?["body"]
            #expect(body?["text"]?.string == text && body?["omitted"]?.string == omitted)
            if status == 18 { #expect(body?["next"]?.int != nil && body?["total"] == .null) }
            if omitted == "changed" { #expect(body?["sha256"]?.string == hash) }
            let plain = try smallweb.run(["get", "--slice", range, web.url("a")])
            #expect(plain.status == status && plain.text == text ?? "", "\(range)")
            #expect(plain.errors.isEmpty == (status == 0))
        }
    }

    /// The page of a refusal is not the one whose hash is known, and its status stays.
    @Test func aRefusalIsNoChange() throws {
        let later = try Web("text/plain", Self.text, failing: 1)
        let words = ["--slice", "0:12:00000000", later.url("a")]
        for option in ["--fail-with-body", "--fail"] {
            #expect(try smallweb.run(["get", option] + words).status == 75)
        }
        #expect(try smallweb.run(["get", "--no-fail"] + words).status == 22)
    }

    @Test func aCacheIsAskedInsteadOfTheServer() throws {
        let web = try Web("text/plain", Self.text)
        for options in [[], ["--render", "markdown"]] {
            let parts = try parts(web.url("a"), 100, ["--cache", "--max-age", "1h"] + options)
            #expect(parts.count > 8 && web.requests == 1)
        }
        #expect(try parts(web.url("a"), 500, ["--cache"]).count == web.requests - 1)
    }

    /// One request of five is refused for now: with --retry all is there, and without it each
    /// part is whole or not there.
    @Test(arguments: [[], ["--retry", "9", "--retry-delay", "0.01"]])
    func aServerThatFailsNowAndThen(_ options: [String]) throws {
        let web = try Web("text/plain", Self.text, failing: 5)
        let starts = stride(from: 0, to: Self.text.count, by: 50)
        let lines = starts.map {
            "{\"url\":\"\(web.url("a"))\",\"slice\":\"\($0):50\",\"tag\":\($0)}\n"
        }
        let (records, result) = try smallweb.records(
            ["-s", "-Z", "--ordered", "-"] + options, stdin: lines.joined())
        let failed = records.terminal.filter { $0["exit"]?.int != 0 }
        #expect(result.status == (options.isEmpty ? 75 : 0))
        #expect(failed.count == (options.isEmpty ? lines.count / 5 : 0))
        for record in records.terminal where record["ok"]?.bool == true {
            let part = bytes(record["body"] ?? .null)
            let offset = try #require(record["body"]?["offset"]?.int)
            #expect((0..<4).contains((record["tag"]?.int ?? 0) - offset))
            #expect(part[...] == Self.text[offset..<(offset + part.count)])
        }
        #expect(failed.allSatisfy { $0["body"]?["text"] == nil })
    }

    @Test(arguments: [["get"], ["get", "--json"]])
    func whatIsKilledGivesNoPart(_ words: [String]) throws {
        let (isSent, isOver) = (Monitor(false), Monitor(false))
        let server = try LoopbackServer { peer in
            while let line = peer.readLine(), line.count > 2 {}
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 900\r\nContent-Type: text/plain\r\n\r\n")
            peer.write("some of it\n")
            isSent.update { $0 = true }
            try? isOver.wait(for: "the end") { $0 ? () : nil }
        }
        // The server is silent until the process has ended.
        defer { isOver.update { $0 = true } }
        let url = "http://127.0.0.1:\(server.port)/"
        let result = try smallweb.run(words + ["--slice", "0:4", url]) { process in
            try isSent.wait(for: "a part") { $0 ? () : nil }
            kill(process, words.count > 1 ? SIGTERM : SIGKILL)
        }
        #expect(result.status == (words.count > 1 ? -SIGTERM : -SIGKILL))
        guard words.count > 1 else { return #expect(result.output.isEmpty) }
        let record = try #require(try Records(result.output).terminal.first)
        #expect(record["exit"]?.int == 130)
        let part = record["partial"]?["body"]
        #expect(part == nil || part?["complete"]?.bool == false && part?["next"] != .null)
    }

    @Test func aFullDiskIsAFailure() throws {
        let web = try Web("text/plain", Self.text)
        for words in [["get"], ["get", "--json"]] {
            let result = try smallweb.run(
                words + ["--slice", "0:50", web.url("a")], output: "/dev/full")
            #expect(result.status == 23)
        }
        var full = smallweb
        full.environment["TMPDIR"] = smallweb.home.file("missing")
        let large = try Web("text/plain", [UInt8](repeating: 0x61, count: 300_000))
        #expect(try full.run(["get", "--slice", "0:200000", large.url("a")]).status == 23)
        #expect(try full.run(["get", "--slice", "100000:50000", large.url("a")]).status == 0)
    }

    /// A text beyond --inline-max is there in parts, any other body is not.
    @Test func aLargeTextBeginsInItsRecord() throws {
        let web = try Web("text/plain", Self.text)
        for options in [[], ["--render", "html"], ["--body", "base64"], ["--body", "text"]] {
            let whole = bytes(
                try smallweb.records(options + [web.url("a")]).records.all[0]["body"]!)
            let words = ["--inline-max", "100"] + options
            let record = try smallweb.records(words + [web.url("a")]).records.all[0]
            let body = try #require(record["body"])
            #expect(record["size"]?.int == Self.text.count && body["complete"]?.bool == true)
            #expect(body["total"]?.int == whole.count && bytes(body).count == body["next"]?.int)
            #expect(record["warnings"]?.array.first?["code"]?.string == "inline-limit")
            // --inline-max holds for each part.
            let parts = try parts(web.url("a"), 5000, words)
            #expect(parts.count > 5 && parts.flatMap(bytes) == whole)
            #expect(bytes(parts[0]) == bytes(body))
        }
        let fits = ["--inline-max", "\(Self.text.count)", web.url("a")]
        #expect(try smallweb.records(fits).records.all[0]["body"]?["next"] == nil)
        let image = try Web("image/png", Self.text)
        for words in [
            ["--inline-max", "100", image.url("a")], ["--inline-max", "0", web.url("a")],
        ] {
            let body = try smallweb.records(words).records.all[0]["body"]
            #expect(body?["omitted"]?.string == "inline-limit")
        }
    }

    /// A page of 8 MB takes the memory of one of 1 MB: that of its part.
    @Test(arguments: [[], ["--json"], ["--render", "markdown"], ["--json", "--inline-max", "9k"]])
    func memoryIsThatOfThePart(_ options: [String]) throws {
        let (small, large) = (try peak(16, options), try peak(120, options))
        #expect(large < small + 4096, "\(small) and \(large) KiB")
    }

    /// The most memory, in KiB, that a page of `count` times 64 KiB took before its end came.
    private func peak(_ count: Int, _ options: [String]) throws -> Int {
        let (isSent, isOver) = (Monitor(false), Monitor(false))
        let line = String(repeating: "sixteen bytes € ", count: 256) + "\n"
        let block = Array(String(repeating: line, count: 16).utf8)
        let server = try LoopbackServer { peer in
            while let line = peer.readLine(), line.count > 2 {}
            peer.write("HTTP/1.0 200 OK\r\nContent-Type: text/gemini\r\n\r\n")
            for _ in 0..<count { peer.write(block) }
            isSent.update { $0 = true }
            try? isOver.wait(for: "the measurement") { $0 ? () : nil }
        }
        let slice =
            options.count > 1 && options[1] == "--inline-max" ? [] : ["--slice", "9000:8000"]
        let url = "http://127.0.0.1:\(server.port)/"
        var peak: Int?
        let result = try smallweb.run(
            ["get", "--max-filesize", "1G"] + slice + options + [url]
        ) { process in
            defer { isOver.update { $0 = true } }
            try isSent.wait(for: "all of it") { $0 ? () : nil }
            let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
            let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
            peak = line.flatMap { Int($0.filter(\.isNumber)) }
        }
        #expect(result.status == 0, "\(result.errors)")
        return try #require(peak)
    }

    @Test func aRequestNamesItsPart() throws {
        let web = try Web("text/plain", Self.text)
        let lines = [
            "\"slice\":\"0:50\"", "\"slice\":\"50:50\",\"body\":\"base64\"", "\"slice\":50",
            "\"slice\":\"0:0\"", "\"slice\":\"0:9\",\"output\":\"f\"", "\"tag\":1",
        ].map { "{\"url\":\"\(web.url("a"))\",\($0)}\n" }
        let (records, _) = try smallweb.records(["-s", "-"], stdin: lines.joined())
        #expect(records.exits == [0, 0, 2, 2, 2, 0])
        let found = records.terminal.map { bytes($0["body"] ?? .null).count }
        #expect(found[0] <= 50 && found[0] > 40 && found[1] > 40 && found[5] == Self.text.count)
        #expect(smallweb.home.names.contains("f") == false)
    }

    @Test(arguments: [
        "", "5", ":5", "5:", "0:0", "-1:5", "1:2:3", "1:2:zzzzzzzz", "1:2:12345678:9", "a:b",
        "99999999999999999999:1",
    ])
    func aRangeIsTwoNumbers(_ value: String) throws {
        let result = try smallweb.run(["get", "--slice", value, "gopher://127.0.0.1:1/"])
        #expect(result.status == 2 && result.errors.contains("--slice wants START:COUNT"))
    }

    @Test(arguments: [
        ["--head"], ["--json", "--stream"], ["-c"], ["-C", "5"], ["-o", "f"], ["-O"], ["--tree"],
        ["--body", "none"], ["--json", "--body", "file"], ["--render", "ansi"],
        ["--hyperlink", "always"],
    ])
    func whatHasNoPartIsRefused(_ options: [String]) throws {
        let words = ["get", "--slice", "0:5"] + options + ["gopher://127.0.0.1:1/"]
        let result = try smallweb.run(words)
        #expect(result.status == 2 && result.errors.contains("--slice"), "\(result.errors)")
        #expect(result.errors.contains("exclude each other"))
        #expect(smallweb.home.names.isEmpty)
    }
}
