// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

/// The requests that the cache answers, the replies that it keeps, and those it shows (RFC 9111).
@Suite(.timeLimit(.minutes(30))) struct CacheRuleTests {
    private let smallweb = Smallweb()
    private static let hour = ["--cache", "--max-age", "1h"]

    private func get(_ words: [String], stdin: String? = nil) throws -> Smallweb.Result {
        try smallweb.run(["get", "-k", "-s"] + words, stdin: stdin)
    }

    private func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: smallweb.home.file(name)))
    }

    /// A server of one exchange a connection, and its requests.
    final class Site: Sendable {
        let asked = Recorder<WebRequest>()
        let server: LoopbackServer
        var url: String { "http://127.0.0.1:\(server.port)/p" }

        /// - Parameter reply: Status and fields, and body, of a request by its number.
        init(_ reply: @escaping @Sendable (WebRequest, Int) -> (String, String)) throws {
            let asked = asked
            server = try LoopbackServer { peer in
                guard let request = WebRequest(from: peer) else { return }
                asked.add(request)
                let (head, body) = reply(request, asked.values.count)
                let fields = "Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n"
                peer.write("HTTP/1.1 \(head)\r\n\(fields)\(request.method == "HEAD" ? "" : body)")
            }
        }
    }

    // MARK: Requests for a change

    private static let methods = ["DELETE", "PATCH", "POST", "PUT", "LOCK"]

    /// The words, the standard input and a config file that make a request by a method.
    private static let ways:
        [@Sendable (String) -> (words: [String], stdin: String?, config: String?)] = [
            { (["-X", $0, "URL"], nil, nil) },
            { (["-X", $0, "-d", "a=b", "URL"], nil, nil) },
            { (["-"], "{\"url\":\"URL\",\"method\":\"\($0)\"}\n", nil) },
            { (["-"], "{\"url\":\"URL\",\"method\":\"\($0)\",\"data\":\"x\"}\n", nil) },
            { (["URL"], nil, "request = \($0)\n") },
            { (["URL"], nil, "[host 127.0.0.1]\nrequest = \($0)\n") },
            // A redirect that keeps the method leads to the page.
            { (["-X", $0, "URL/307"], nil, nil) },
        ]

    @Test(arguments: ways.indices)
    func aRequestForAChangeIsSentEachTimeAndVoidsThePage(_ way: Int) throws {
        let site = try Site { request, number in
            request.target == "/p/307"
                ? ("307 Elsewhere\r\nLocation: /p", "") : ("200 OK", "page \(number)")
        }
        for method in Self.methods {
            let (words, stdin, config) = Self.ways[way](method)
            let named = words.map { $0.replacingOccurrences(of: "URL", with: site.url) }
            let input = stdin?.replacingOccurrences(of: "URL", with: site.url)
            if let config { try write(config, to: "conf") }
            let all = named + (config == nil ? [] : ["-K", "conf"])
            let first = try get(["--cache", site.url]).text
            for option in [["--cache"], Self.hour] {
                let before = site.asked.values.count { $0.method == method && $0.target == "/p" }
                #expect(try get(option + all, stdin: input).status == 0)
                let after = site.asked.values.count { $0.method == method && $0.target == "/p" }
                #expect(after == before + 1, "\(method) \(named)")
            }
            let before = site.asked.values.count
            #expect(try get(["--offline"] + all, stdin: input).status == 103, "\(method) \(named)")
            // The page that was kept is out of date, and not listed.
            #expect(try get(["--offline", site.url]).status == 103, "\(method)")
            #expect(try !smallweb.run(["cache"]).text.contains("\t\(site.url)\n"))
            #expect(site.asked.values.count == before)
            let again = try get(Self.hour + [site.url]).text
            #expect(again.hasPrefix("page") && again != first, "\(method)")
            #expect(try get(Self.hour + [site.url]).text == again)
        }
    }

    @Test func aChangeThatFailsLeavesThePage() throws {
        for status in ["404 No", "409 Conflict", "503 Away"] {
            let site = try Site { request, _ in
                (request.method == "GET" ? "200 OK" : status, "page")
            }
            #expect(try get(["--cache", site.url]).status == 0)
            for _ in 0..<2 {
                #expect(try get(Self.hour + ["-X", "DELETE", site.url]).status != 0, "\(status)")
            }
            #expect(try get(["--offline", site.url]).text == "page", "\(status)")
            #expect(site.asked.values.count == 3)
        }
    }

    /// Uploads go to the server of the page, which may have another scheme, and lead on.
    @Test(arguments: ["/a", "/to"])
    func anUploadVoidsThePageOfItsReply(_ path: String) throws {
        let version = Monitor(0)
        let titan = try LoopbackServer(tls: .make()) { peer in
            let line = String(decoding: peer.readLine() ?? [], as: UTF8.self)
            if let size = line.firstMatch(of: /^titan:.*;size=(\d+)/) {
                _ = peer.read(Int(size.1) ?? 0)
                version.update { $0 += 1 }
                let place = line.split(separator: "/")[1]
                peer.write(
                    line.contains("/to;") ? "30 gemini://\(place)/a\r\n" : "20 text/plain\r\n")
            } else {
                peer.write("20 text/plain\r\nversion \(version.update { $0 })\n")
            }
        }
        let place = "127.0.0.1:\(titan.port)"
        for number in 0..<2 {
            #expect(try get(["--cache", "gemini://\(place)/a"]).text == "version \(number)\n")
            let put = ["put", "-k", "-s"] + Self.hour + ["titan://\(place)\(path)", "-"]
            #expect(try smallweb.run(put, stdin: "hello").status == 0)
            #expect(version.update { $0 } == number + 1)
            let next = "version \(number + 1)\n"
            #expect(try get(Self.hour + ["gemini://\(place)/a"]).text == next)
        }
        let before = version.update { $0 }
        let put = ["put", "-k", "-s", "--offline", "titan://\(place)/a", "-"]
        #expect(try smallweb.run(put, stdin: "hello").status == 103)
        #expect(version.update { $0 } == before)
    }

    @Test func dataOfSpartanIsSentEachTime() throws {
        let count = Monitor(0)
        let server = try LoopbackServer { peer in
            let line = String(decoding: peer.readLine() ?? [], as: UTF8.self)
            let bytes = Int(line.split(separator: " ").last?.dropLast(1) ?? "") ?? 0
            _ = peer.read(bytes)
            peer.write("2 text/plain\r\nreply \(count.update { $0 += 1; return $0 })\n")
        }
        let url = "spartan://127.0.0.1:\(server.port)/a"
        for words in [["get", url, "-d", "x"], ["get", url + "?x"], ["put", url, "-"]] {
            #expect(try get(["--cache", url]).status == 0)
            for _ in 0..<2 {
                let before = count.update { $0 }
                #expect(try smallweb.run(words + Self.hour, stdin: "x").status == 0)
                #expect(count.update { $0 } == before + 1, "\(words)")
            }
            #expect(try smallweb.run(words + ["--offline"], stdin: "x").status == 103)
            guard words[1] == url else { continue }
            #expect(try get(["--offline", url]).status == 103)
        }
    }

    // MARK: Replies that are not kept

    @Test func aRefusalDoesNotHideThePage() throws {
        for status in [400, 401, 402, 403, 405, 406, 407, 409, 421, 429, 451, 500, 503] {
            let site = try Site { _, number in
                number == 2 ? ("\(status) No", "no") : ("200 OK", "page \(number)")
            }
            #expect(try get(["--cache", site.url]).text == "page 1")
            _ = try get(["--cache", site.url])
            #expect(try get(["--offline", site.url]).text == "page 1", "\(status)")
            #expect(try smallweb.run(["cache", "clear"]).status == 0)
            let blocked = try Site { _, number in
                number == 1 ? ("\(status) No", "no") : ("200 OK", "page")
            }
            #expect(try get(Self.hour + [blocked.url]).status != 0)
            #expect(try get(Self.hour + [blocked.url]).text == "page", "\(status)")
        }
        for status in [404, 410] {
            let site = try Site { _, _ in ("\(status) No", "no") }
            for _ in 0..<2 { #expect(try get(Self.hour + [site.url]).status == 22) }
            #expect(site.asked.values.count == 1, "\(status)")
        }
    }

    @Test func whatIsNotToBeStoredIsNot() throws {
        for (field, isKept) in [
            ("no-store", false), ("private, no-store", false), ("No-Store , max-age=0", false),
            ("private, no-cache", true), ("max-age=0, x=no-store-y", true),
        ] {
            for isReply in [true, false] {
                let site = try Site { _, _ in
                    (isReply ? "200 OK\r\nCache-Control: \(field)" : "200 OK", "page")
                }
                let asked = isReply ? [] : ["-H", "Cache-Control: \(field)"]
                #expect(try get(["--cache"] + asked + [site.url]).text == "page")
                let status = try get(["--offline", site.url]).status
                #expect(status == (isKept ? 0 : 103), "\(field) \(isReply)")
            }
        }
    }

    @Test func theSizeHoldsAlsoWithinARun() throws {
        let site = try Site { request, _ in
            let isLarge = request.target.hasPrefix("/p/large")
            let text = (0..<(isLarge ? 60_000 : 100)).map { _ in "\(UInt64.random(in: 0...(.max)))"
            }
            return ("200 OK", text.joined())
        }
        let size = ["--cache", "--cache-size", "400k"]
        func total() throws -> Int {
            let lines = try smallweb.run(["cache", "size"]).text.split(separator: "\n")
            return Int(lines.last?.split(separator: "\t").first ?? "") ?? 0
        }
        let small = (0..<20).map { "\(site.url)/\($0)" }
        #expect(try get(size + small).status == 0)
        // A body that cannot be kept costs no page.
        #expect(try get(size + ["-o", "/dev/null", site.url + "/large"]).status == 0)
        #expect(try get(["--offline"] + small).status == 0)
        #expect(try get(["--offline", site.url + "/large"]).status == 103)
        #expect(try get(size + (20..<600).map { "\(site.url)/\($0)" }).status == 0)
        let bytes = try total()
        #expect(bytes > 100_000 && bytes <= 400_000, "\(bytes)")
        #expect(try get(["--offline", site.url + "/599"]).status == 0)
        #expect(try get(["--offline", site.url + "/0"]).status == 103)
    }

    // MARK: Conditions and parts

    private static let day = "Sun, 06 Nov 1994 08:49:37 GMT"

    /// Options, the status, and the body that is written; `nil` for none.
    private static let conditions: [(words: [String], body: String?)] = [
        (["--if-changed", "-o", "f"], nil), (["--etag-compare", "same", "-o", "g"], nil),
        (["--etag-compare", "other", "-o", "g"], "page"), (["-z", "2025-01-01", "-o", "g"], nil),
        (["-z", "1990-01-01", "-o", "g"], "page"), (["-H", "If-None-Match: \"a\"", "-o", "g"], ""),
        (["-H", "If-None-Match: W/\"b\", W/\"a\"", "-o", "g"], ""),
        (["-H", "If-None-Match: \"b\"", "-o", "g"], "page"),
        (["-H", "If-Modified-Since: \(day)", "-o", "g"], ""),
        (["-H", "Range: bytes=1-2", "-o", "g"], "ag"),
        (["-H", "Range: bytes=2-", "-o", "g"], "ge"),
        (["-H", "Range: bytes=1-2", "-H", "If-Range: \"b\"", "-o", "g"], "page"),
        (["-C", "1", "-o", "g"], "age"), (["-C", "4", "-o", "g"], nil),
    ]

    /// Whatever keeps the server from answering.
    @Test(arguments: ["offline", "young", "refused", "gone"])
    func aConditionFindsThePage(_ why: String) throws {
        let isAway = Monitor(false)
        let site = try Site { request, _ in
            let fields = "ETag: \"a\"\r\nLast-Modified: \(Self.day)\r\nContent-Type: text/plain"
            return isAway.update { $0 } ? ("503 Away", "") : ("200 OK\r\n" + fields, "page")
        }
        try write("\"a\"", to: "same")
        try write("\"b\"", to: "other")
        #expect(try get(["--cache", "--if-changed", "-o", "f", site.url]).status == 0)
        isAway.update { $0 = why == "refused" }
        if why == "gone" { site.server.stop() }
        let options = ["offline": ["--offline"], "young": Self.hour][why] ?? ["--cache"]
        let before = site.asked.values.count
        for (words, body) in Self.conditions {
            try? FileManager.default.removeItem(atPath: smallweb.home.file("g"))
            let result = try get(options + words + [site.url])
            #expect(result.status == 0, "\(words): \(result.errors)")
            let found = smallweb.home.content("g").map { String(decoding: $0, as: UTF8.self) }
            #expect(found ?? "" == body ?? "", "\(words)")
        }
        #expect(smallweb.home.content("f") == Array("page".utf8))
        // The head of a page that was kept is known as well.
        let head = try smallweb.run(["head", "-k", "-s", "--json"] + options + [site.url])
        let record = try #require(try Records(head.output).terminal.first)
        #expect(record["status"]?.int == 200 && record["body"]?["size"]?.int ?? 0 == 0)
        #expect((site.asked.values.count == before) == (why != "refused"))
    }

    // MARK: The latest

    /// Other requests for the URL are kept as well.
    @Test func nothingHidesAPageThatIsKept() throws {
        let site = try Site { request, number in
            (request["x"].isEmpty ? "200 OK" : "200 OK\r\nX: y", "page \(number)")
        }
        #expect(try get(["--cache", site.url]).status == 0)
        for number in 0..<20 {
            #expect(try smallweb.run(["head", "-s", "--cache", site.url]).status == 0)
            #expect(try get(["--cache", "-H", "Range: bytes=0-\(number)", site.url]).status == 0)
        }
        #expect(try get(["--offline", site.url]).text.hasPrefix("page"))
        let own = try get(["--cache", "-H", "X: own", site.url]).text
        for _ in 0..<20 { #expect(try get(["--cache", site.url]).status == 0) }
        #expect(try get(["--offline", "-H", "X: own", site.url]).text == own)
        let before = site.asked.values.count
        #expect(try get(Self.hour + ["-H", "X: own", site.url]).text == own)
        #expect(site.asked.values.count == before)
    }

    /// A process that is running shows what others and itself have kept since it began.
    @Test func aRunningProcessShowsTheLatest() throws {
        let version = Monitor(0)
        let site = try Site { _, _ in
            let number = version.update {
                $0 += 1; return $0
            }
            return (number % 4 == 0 ? "503 Away" : "200 OK", "version \(number)")
        }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Smallweb.binary)
        process.arguments = ["get", "-s", "--json", "--cache", "-"]
        process.environment = Smallweb.poller.merging(["HOME": smallweb.home.path]) { $1 }
        let (input, output) = (Pipe(), Pipe())
        (process.standardInput, process.standardOutput) = (input, output)
        process.standardError = FileHandle.nullDevice
        try process.run()
        defer { process.terminate() }
        func ask() throws -> String {
            try input.send("\(site.url)\n")
            var line = Data()
            while line.last != 0x0A { line += output.fileHandleForReading.availableData }
            return try Records(Array(line)).terminal.first?["body"]?["text"]?.string ?? ""
        }
        #expect(try ask() == "version 1")
        #expect(try get(["--cache", site.url]).text == "version 2")
        #expect(try ask() == "version 3")
        // The fourth is refused: of its own.
        #expect(try ask() == "version 3")
        #expect(try ask() == "version 5")
        #expect(try get(["--cache", site.url]).text == "version 6")
        #expect(try get(["--cache", site.url]).text == "version 7")
        // The eighth is refused: of another process.
        #expect(try ask() == "version 7")
        for words in [["--offline"], Self.hour] {
            #expect(try get(words + [site.url]).text == "version 7")
        }
        #expect(try smallweb.run(["cache", "cat", site.url]).text == "version 7")
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
        #expect(try get(["--offline", site.url]).text == "version 7")
    }

    /// Questions to a repository are found again, whatever else was asked, and listed is what can
    /// be read.
    @Test(arguments: ["git", "git+http"])
    func repositoriesAreReadOffline(_ scheme: String) throws {
        let git = try LoopbackServer(handler: DemoSites.git)
        let asked = Recorder<WebRequest>()
        let web = try LoopbackServer(handler: DemoSites.web(noting: asked))
        let base = "\(scheme)://127.0.0.1:\((scheme == "git" ? git : web).port)/demo.git"
        let questions = [
            ["refs", base], ["log", base], ["get", base], ["get", base + "//docs/guide.md?ref=v1"],
            ["get", base + "//docs/"],
        ]
        var live: [String] = []
        for words in questions {
            let result = try smallweb.run(words + ["-s", "--cache"])
            #expect(result.status == 0, "\(words): \(result.errors)")
            live.append(result.text)
        }
        for _ in 0..<20 { #expect(try smallweb.run(["refs", base, "-s", "--cache"]).status == 0) }
        let before = asked.values.count
        for options in [["--offline"], Self.hour] {
            for (words, text) in zip(questions, live) {
                let result = try smallweb.run(words + ["-s"] + options)
                #expect(result.status == 0 && result.text == text, "\(words): \(result.errors)")
            }
        }
        #expect(asked.values.count == before)
        let listed = try smallweb.run(["cache"]).text.split(separator: "\n").map {
            String($0.split(separator: "\t")[2])
        }
        #expect(!listed.isEmpty)
        for url in Set(listed) { #expect(try get(["--offline", url]).status == 0, "\(url)") }
    }

    /// Of several recordings the latest is shown, wherever it is, by the name of each command.
    @Test func theLatestRecordingIsTheLatestByItsTime() throws {
        let site = try Site { _, number in ("200 OK", "server \(number)") }
        func archive(_ name: String, _ pages: [(String, minutes: Double)]) throws {
            let text = pages.map { body, minutes in
                let time = Date(timeIntervalSinceNow: -minutes * 60)
                let date = time.ISO8601Format(.init(includingFractionalSeconds: true))
                let block = "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
                return """
                    WARC/1.1\r
                    WARC-Type: response\r
                    WARC-Target-URI: \(site.url)\r
                    WARC-Date: \(date)\r
                    WARC-Record-ID: <urn:uuid:\(UUID())>\r
                    Content-Type: application/http; msgtype=response\r
                    Content-Length: \(block.utf8.count)\r
                    \r
                    \(block)\r
                    \r

                    """
            }
            try write(text.joined(), to: name)
        }
        try archive("one", [("first", 4), ("last", 3), ("middle", 3.5)])
        try archive("new", [("younger", 2), ("old", 9)])
        // Of one second.
        try archive("same", [("b", 0.9999), ("a", 1)])
        for (files, text) in [
            (["one"], "last"), (["one", "new"], "younger"), (["new", "one"], "younger"),
            (["same"], "b"), (["same", "new"], "b"),
        ] {
            for hasIndex in [false, true] {
                for file in files where hasIndex {
                    #expect(try smallweb.run(["warc", "index", file]).status == 0)
                }
                let replays = files.flatMap { ["--replay", $0] }
                let both = ["--warc", "\(UUID()).warc"] + replays
                for options in [both, both + ["--max-age", "1h"]] {
                    #expect(try get(options + [site.url]).text == text, "\(files) \(options)")
                }
                if files.count == 1 {
                    let cat = try smallweb.run(["warc", "cat", files[0], site.url])
                    #expect(cat.text == text, "\(files) \(hasIndex)")
                }
                // All of them are played in the order of their times, then the last again.
                let count = files == ["same"] ? 2 : 9
                let all = try get(replays + [String](repeating: site.url, count: count)).text
                #expect(all.hasSuffix(text), "\(all)")
                for file in files {
                    // Of the next turn there is no index at first.
                    try? FileManager.default.removeItem(
                        atPath: smallweb.home.file(file + ".cdxj"))
                }
            }
        }
        #expect(site.asked.values.isEmpty)
        let renewed = ["--warc", "x.warc", "--replay", "one", "--max-age", "60", site.url]
        #expect(try get(renewed).text == "server 1")
    }

    /// A job that keeps a journal begins with an archive that is not there.
    @Test func anArchiveIsReadAndContinuedFromTheFirstRunOn() throws {
        let site = try Site { _, number in ("200 OK", "page \(number)") }
        try FileManager.default.createDirectory(
            atPath: smallweb.home.file("d"), withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(
            atPath: smallweb.home.file("link.warc.gz"), withDestinationPath: "d/b.warc.gz")
        for (number, names) in [
            ("a.warc.gz", "a.warc.gz"), ("./d/../c.warc", "c.warc"),
            ("link.warc.gz", "d/b.warc.gz"), ("d/e.warc", smallweb.home.file("d/e.warc")),
        ].enumerated() {
            for _ in 0..<3 {
                let both = ["--warc", names.0, "--replay", names.1, site.url]
                let result = try get(both)
                #expect(result.text == "page \(number + 1)", "\(names): \(result.errors)")
            }
            #expect(site.asked.values.count == number + 1)
        }
        #expect(try get(["--warc", "f.warc", "--replay", "none", site.url]).status == 26)
    }
}
