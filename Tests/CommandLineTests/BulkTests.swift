// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// Many URLs: lists, concurrency, and their results.
@Suite(.anyNumberOfLoops) struct BulkTests {
    private let smallweb = Smallweb()

    /// A gopher server whose handler sees the selector.
    private static func hole(
        _ handler: @escaping @Sendable (String, Peer) -> Void
    ) throws -> Hole {
        Hole(
            server: try LoopbackServer { peer in
                guard let line = peer.readLine() else { return }
                handler(String(decoding: line.dropLast(2), as: UTF8.self), peer)
            })
    }

    private func write(_ text: String, _ name: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: smallweb.home.file(name)))
    }

    // MARK: Input

    @Test func listsComeFromStandardInputAndFiles() throws {
        let hole = try Hole()
        let url = hole.place + "/0/about.txt"
        try write("\u{FEFF}# a comment\n\n  \(url)?1  \r\n\(url)?2", "list")
        let (records, _) = try smallweb.records(
            [url + "?0", "@list", "-", "--input-file", "list"], stdin: "\(url)?3\n")
        #expect(
            records.terminal.compactMap { $0["url"]?.string?.last } == [
                "0", "1", "2", "3", "1", "2",
            ])
        let plain = try smallweb.run(["get", "-"], stdin: "\(url)\n\n\(url)")
        #expect(
            plain.text
                == String(repeating: "This hole is part of the tests of smallweb.\r\n", count: 2))
    }

    @Test func aRequestSaysMoreThanItsURL() throws {
        let capsule = try Capsule()
        let echo = capsule.place + "/echo"
        let lines = [
            #"{"url":"\#(echo)","data":"a b","id":"q","tag":{ "x" : [1, null] }}"#,
            #"{"url":"\#(echo)","data":{"base64":"YyZk"},"id":123456789012345678901}"#,
            #"{"url":"\#(echo)","data":{"path":"words"},"output":"saved","x-mine":1}"#,
            #"{"url":"\#(capsule.place)/1k","max_filesize":10,"type":"request","id":null}"#,
            #"{"url":"\#(capsule.place)/silent","max_time":0.2,"id":1.50}"#,
        ]
        try write("from a file", "words")
        let (records, result) = try smallweb.records(["-"], stdin: lines.joined(separator: "\n"))
        #expect(records.exits == [0, 0, 0, 63, 28])
        let bodies = records.terminal.map { $0["body"]?["text"]?.string }
        #expect(bodies[0] == "/echo?a%20b\r\n" && bodies[1] == "/echo?c%26d\r\n")
        #expect(smallweb.home.content("saved") == Array("/echo?from%20a%20file\r\n".utf8))
        // Echoed as they are, though no double can hold them.
        #expect(result.text.contains(#""n":0,"id":"q","tag":{"x":[1,null]},"#))
        #expect(result.text.contains(#""n":1,"id":123456789012345678901,"#))
        #expect(result.text.contains(#""n":4,"id":1.50,"#))
    }

    static let badLines: [(line: [UInt8], exit: Int)] = [
        (Array("not a url".utf8), 3), ([0xFF, 0xFE], 3), (Array("{".utf8), 2),
        (Array(#"{"url":1}"#.utf8), 2), (Array(#"{"id":1}"#.utf8), 2),
        (Array(#"{"url":"gopher://x/","url":"gopher://y/"}"#.utf8), 2),
        (Array(#"{"url":"\ud800"}"#.utf8), 2), (Array(#"{"url":"\udc00\ud800"}"#.utf8), 2),
        (Array(#"{"url":"gopher://x/","max_time":1e999}"#.utf8), 2),
        (Array(#"{"url":"gopher://x/","max_filesize":99999999999999999999}"#.utf8), 2),
        (Array(#"{"url":"gopher://x/","max_filesize":01}"#.utf8), 2),
        (Array(#"{"url":"gopher://x/","id":[1]}"#.utf8), 2),
        (Array(#"{"url":"gopher://x/","colour":1}"#.utf8), 2),
        (Array(#"{"url":"gopher://x/","data":{"text":"a","path":"b"}}"#.utf8), 2),
        (Array(#"{"url":"gemini://x/","data":{"path":"missing"}}"#.utf8), 26),
        (Array(#"{"url":"gopher://x/","identity":"me"}"#.utf8), 58),
        (Array(#"{"type":"response","url":"gopher://x/"}"#.utf8), 2),
        (Array(#"{"url":"gopher://x/a\u0000b"}"#.utf8), 3),
        (Array(#"{"url":"gopher://x/0/%0d%0a"}"#.utf8), 3),
        (Array("{\"url\":\"gopher://x/\u{1}\"}".utf8), 2),
        (Array("{\"url\":\"".utf8) + [0xC3] + Array("\"}".utf8), 2),
        (Array(String(repeating: "[", count: 100_000).utf8), 3),
        (Array("{\"a\":".utf8) + Array(String(repeating: "[", count: 100_000).utf8), 2),
        (Array("gopher://x/\u{0}".utf8), 3), ([UInt8](repeating: 0x78, count: 10_000_000), 2),
    ]

    @Test func aBadLineIsOneErrorAndNotTheEnd() throws {
        let hole = try Hole()
        let good = hole.place + "/0/about.txt"
        var list: [UInt8] = []
        for (line, _) in Self.badLines { list += line + [0x0A] + Array((good + "\n").utf8) }
        try Data(list).write(to: URL(fileURLWithPath: smallweb.home.file("list")))
        let (records, result) = try smallweb.records(["-s", "@list"])
        #expect(records.exits == Self.badLines.flatMap { [$0.exit, 0] })
        #expect(records.terminal.map { $0["n"]?.int } == Array(0..<(2 * Self.badLines.count)))
        #expect(result.status == 3)
        let lines = records["error"].compactMap { $0["error"]?["line"]?.int }
        #expect(lines.contains(1) && lines.contains(2 * Self.badLines.count - 1))
    }

    @Test func aMissingListIsOneError() throws {
        let hole = try Hole()
        let (records, result) = try smallweb.records(["@missing", hole.place, "@."])
        #expect(records.exits == [26, 0, 26])
        #expect(result.status == 26)
    }

    @Test func itAnswersEachLineBeforeTheNextOne() throws {
        let hole = try Hole()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Smallweb.binary)
        process.arguments = ["get", "--json", "-"]
        process.environment = Smallweb.poller.merging(["HOME": smallweb.home.path]) { $1 }
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        for number in 0..<5 {
            let line = #"{"url":"\#(hole.place)/0/about.txt","id":\#(number)}"# + "\n"
            try input.send(line)
            var answer = Data()
            while answer.last != 0x0A {
                let piece = output.fileHandleForReading.availableData
                if piece.isEmpty { break }
                answer += piece
            }
            let records = try Records(Array(answer))
            #expect(records.all.count == 1 && records.all[0]["id"]?.int == number)
        }
        try input.fileHandleForWriting.close()
        let rest = output.fileHandleForReading.readDataToEndOfFile()
        process.waitInTime()
        #expect(process.terminationStatus == 0)
        #expect(try Records(Array(rest)).summary?["requests"]?.int == 5)
    }

    /// Any mix of requests and options gets as many answers as requests.
    @Test(arguments: 0..<6)
    func everyRequestGetsOneAnswer(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let (capsule, hole) = (try Capsule(), try Hole())
        let places = [
            "/about", "/1k", "/status/51", "/status/41", "/truncated", "/reset", "/malformed",
            "/no-reply", "/loop", "/redirect/3", "/input", "/latin1", "/big/30000", "/empty",
        ]
        let bad = Self.badLines.map(\.line).filter { $0.count < 1000 }
        var list: [UInt8] = []
        let count = Int.random(in: 20...60, using: &random)
        for _ in 0..<count {
            switch Int.random(in: 0..<4, using: &random) {
            case 0: list += bad.randomElement(using: &random) ?? []
            case 1: list += Array((hole.place + "/0/about.txt").utf8)
            default:
                list += Array((capsule.place + (places.randomElement(using: &random) ?? "")).utf8)
            }
            list += Array(["\n", "\r\n", "\n\n# x\n"].randomElement(using: &random)!.utf8)
        }
        try Data(list).write(to: URL(fileURLWithPath: smallweb.home.file("list")))
        let options = [
            ["-Z"], ["--ordered", "-j", "5"], ["--stream", "--events"], ["--body", "none", "-Z"],
            ["--retry", "1", "--retry-delay", "0.01"], ["-Z", "--per-host", "8", "--body", "text"],
        ]
        let (records, _) = try smallweb.records(["-s"] + options[Int(seed)] + ["@list"])
        #expect(records.terminal.map { $0["n"]?.int } == Array(0..<count))
        #expect(records.summary?["requests"]?.int == count)
    }

    // MARK: Together

    @Test func aParallelRunGivesWhatASerialOneGives() throws {
        var random = SeededGenerator(seed: 3)
        let bodies = (0..<40).map { number -> [UInt8] in
            let count = [0, 10, 5000, 70_000][number % 4]
            return (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
        }
        let servers = try (0..<7).map { _ in try JSONTests.server(bodies) }
        var urls = bodies.indices.map { "gopher://127.0.0.1:\(servers[$0 % 7].port)/9/\($0)" }
        urls[5] = "nosuch://x/"
        urls[9] = "gopher://127.0.0.1:1/"
        let list = urls.joined(separator: "\n")
        let serial = try smallweb.run(["get", "-s", "-"], stdin: list)
        let parallel = try smallweb.run(
            ["get", "-s", "-j", "16", "--per-host", "16", "-"], stdin: list)
        #expect(serial.output == parallel.output && !serial.output.isEmpty)
        #expect(serial.status == 1 && parallel.status == 1)
        let comparable = { (options: [String]) throws in
            try smallweb.records(["-s"] + options + ["-"], stdin: list).records.terminal.map {
                [$0["n"], $0["url"], $0["exit"], $0["body"], $0["size"], $0["meta"]]
            }
        }
        #expect(try comparable([]) == comparable(["-Z", "--per-host", "8"]))
        let ordered = try smallweb.records(["-s", "-Z", "--ordered", "-"], stdin: list).records.all
        #expect(ordered.dropLast().map { $0["n"]?.int } == Array(urls.indices))
    }

    @Test(arguments: [["-D", "-"], ["-D", "head"], ["-O", "--overwrite", "-D", "head"]])
    func headersComeInTheOrderOfTheURLs(_ words: [String]) throws {
        let capsule = try Capsule()
        let urls = ["/slow", "/about", "/latin1"].map { capsule.place + $0 }
        let serial = try smallweb.run(["-k"] + words + urls)
        let headers = smallweb.home.content("head")
        #expect(headers.map { !$0.isEmpty } ?? (words == ["-D", "-"]))
        let parallel = try smallweb.run(["-k", "-j", "4"] + words + urls)
        #expect(parallel.output == serial.output && smallweb.home.content("head") == headers)
    }

    /// As where the temporary directory is full: the size of files is bounded, in half KiB.
    @Test(arguments: [8, 200])
    func aBodyWithoutRoomIsTheOnlyOneThatFails(_ limit: Int) throws {
        let hole = try Hole()
        let urls = ["/0/about.txt", "/9/big/3000000", "/0/about.txt", "/0/1k"].map {
            hole.place + $0
        }
        // Standard output is no file, and has no bound.
        let shell =
            "( trap '' XFSZ; ulimit -f \(limit); \"$@\"; echo \"status $?\" >&2 ) | cat"
        let result = try smallweb.run(["get", "-s", "-j", "2"] + urls, shell: shell)
        #expect(result.errors.hasSuffix("status 23\n"), "\(result.errors)")
        let whole = try [urls[0], urls[3]].map { try smallweb.run([$0]).output }
        let (first, rest) = (whole[0], whole[0] + whole[1])
        #expect(result.output.starts(with: first) && result.output.suffix(rest.count) == rest[...])
        let part = result.output.dropFirst(first.count).dropLast(rest.count)
        #expect(!part.isEmpty && DemoSites.isBlock(part, at: 0))

        let words = ["get", "-s", "-j", "2", "--json", "--ordered"]
        let listed = try smallweb.run(words + urls, shell: shell)
        let records = try Records(listed.output).terminal
        try #require(records.count == 4, "\(listed.errors)")
        #expect(records.map { $0["ok"]?.bool } == [true, false, true, true])
        #expect(records[1]["error"]?["errno"]?.string == "EFBIG", "\(records[1])")
        #expect(records[1]["partial"]?["body"]?["omitted"]?.string == "not-written")
    }

    @Test func filesNeedNotWaitForEachOther() throws {
        // The first page is ready when the last one is.
        let done = Monitor(0)
        let hole = try Self.hole { selector, peer in
            if selector.hasSuffix("first") {
                try? done.wait(for: "the others are done") { $0 == 200 ? () : nil }
            } else {
                done.update { $0 += 1 }
            }
            peer.write("a page")
        }
        let urls = ["/9/first"] + (0..<200).map { "/9/\($0)" }
        let list = urls.map { hole.place + $0 }.joined(separator: "\n")
        let saved = try smallweb.run(["get", "-O", "-j", "4", "--per-host", "4", "-"], stdin: list)
        #expect(saved.status == 0 && smallweb.home.names.count == 201, "\(saved.errors)")
    }

    @Test func hostsGetNoMoreThanTheirShare() throws {
        let load = Monitor((now: 0, most: 0))
        let hole = try Self.hole { _, peer in
            load.update {
                $0.now += 1
                $0.most = max($0.most, $0.now)
            }
            peer.writeSlowly(Array("some text".utf8), pauseMilliseconds: 1)
            load.update { $0.now -= 1 }
        }
        let urls = (0..<24).map { hole.place + "/9/\($0)" }
        #expect(try smallweb.records(["-Z"] + urls).result.status == 0)
        #expect(load.update { $0.most } <= 2)
    }

    @Test func startsKeepTheirPace() throws {
        let hole = try Hole()
        let urls = (0..<12).map { hole.place + "/0/about.txt?\($0)" }
        for options in [["--rate", "50"], ["--per-host-delay", "0.02"], ["--rate", "3000/m"]] {
            // The first start may be late on a busy machine, which makes the others no earlier.
            let began = Date().timeIntervalSince1970
            let (records, _) = try smallweb.records(["-Z", "--per-host", "8"] + options + urls)
            let starts = records.terminal.compactMap { $0["time"]?["start"]?.double }
            let last = try #require(starts.max())
            #expect(last - began >= 0.2, "\(options)")
        }
    }

    // MARK: Again

    /// Refuses the first `failures` requests.
    private static func moody(_ failures: Int, _ reply: String) throws -> (Capsule, Monitor<Int>) {
        let count = Monitor(0)
        let server = try LoopbackServer(tls: .make()) { peer in
            _ = peer.readLine()
            let number = count.update { count in
                count += 1
                return count
            }
            peer.write(number <= failures ? reply : "20 text/plain\r\nat last")
        }
        return (Capsule(server: server, place: "gemini://127.0.0.1:\(server.port)"), count)
    }

    @Test func whatMayPassIsTriedAgain() throws {
        let (capsule, count) = try Self.moody(2, "41 busy\r\n")
        let options = ["--retry", "3", "--retry-delay", "0.01", "--events"]
        let (records, result) = try smallweb.records(options + [capsule.place + "/"])
        #expect(result.status == 0 && count.update { $0 } == 3)
        #expect(records.terminal.count == 1 && records.terminal[0]["attempts"]?.int == 3)
        #expect(records["notice"].count { $0["code"]?.string == "retry" } == 2)
    }

    @Test func nothingOfAFailedAttemptIsDelivered() throws {
        let count = Monitor(0)
        let server = try LoopbackServer { peer in
            _ = peer.readLine()
            let isFirst = count.update { count in
                count += 1
                return count == 1
            }
            peer.write("the text")
            if isFirst { peer.reset() }
        }
        let url = "gopher://127.0.0.1:\(server.port)/9/x"
        let result = try smallweb.run(["--retry", "1", "--retry-delay", "0.01", url])
        #expect(result.text == "the text" && result.status == 0, "\(result.errors)")
    }

    @Test func whatIsFinalIsNotTriedAgain() throws {
        for reply in ["51 gone\r\n", "10 words\r\n", "banana\r\n"] {
            let (capsule, count) = try Self.moody(9, reply)
            let (records, _) = try smallweb.records(["--retry", "3", "-s", capsule.place + "/"])
            #expect(count.update { $0 } == 1 && records.terminal[0]["attempts"]?.int == 1)
        }
    }

    @Test func aHostThatAsksForAPauseGetsIt() throws {
        let (capsule, _) = try Self.moody(1, "44 1\r\n")
        let urls = [capsule.place + "/a", capsule.place + "/b"]
        let (records, _) = try smallweb.records(["-s"] + urls)
        #expect(records.exits == [75, 0])
        #expect(records.terminal[0]["retry_after"]?.double == 1)
        let starts = records.terminal.compactMap { $0["time"]?["start"]?.double }
        #expect(starts[1] - starts[0] >= 1)
    }

    /// Longer than a run waits: neither another attempt nor a word less.
    @Test(arguments: [
        "503 X\r\nRetry-After: 3600", "429 X\r\nRetry-After: 3600",
        "503 X\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
            + "Retry-After: Sun, 06 Nov 1994 09:49:37 GMT",
        "429 X\r\nRateLimit: \"default\";r=0;t=3600",
        "503 X\r\nRateLimit-Remaining: 0\r\nRateLimit-Reset: 3600",
    ])
    func aPauseThatIsTooLongIsSaid(_ head: String) throws {
        let count = Monitor(0)
        let server = try LoopbackServer { peer in
            guard WebRequest(from: peer) != nil else { return }
            count.update { $0 += 1 }
            peer.write("HTTP/1.1 \(head)\r\nContent-Length: 0\r\n\r\n")
        }
        let url = "http://127.0.0.1:\(server.port)/"
        let words = ["--retry", "3", url]
        let result = try smallweb.run(["get"] + words)
        #expect(result.status == 75)
        #expect(
            result.errors.contains("X; it asks for a pause of 3600 seconds"), "\(result.errors)")
        let record = try smallweb.records(["-s"] + words).records.terminal[0]
        #expect(record["error"]?["message"]?.string?.hasSuffix("a pause of 3600 seconds") == true)
        #expect(record["retry_after"]?.double == 3600 && count.update { $0 } == 2)
    }

    @Test func retryAfterIsKeptToo() throws {
        let count = Monitor(0)
        let server = try LoopbackServer { peer in
            while let line = peer.readLine() {
                guard line == [0x0D, 0x0A] || line.isEmpty else { continue }
                let isFirst = count.update { count in
                    count += 1
                    return count == 1
                }
                peer.write(
                    isFirst
                        ? "HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"
                        : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let url = "http://127.0.0.1:\(server.port)/"
        let options = ["--retry", "1", "--retry-delay", "0"]
        let (records, result) = try smallweb.records(options + [url])
        #expect(result.status == 0 && records.terminal[0]["attempts"]?.int == 2)
        #expect(records.terminal[0]["body"]?["text"]?.string == "ok")
        #expect((records.terminal[0]["time"]?["queue"]?.double ?? 9) < 1)
    }

    @Test func aHostThatAsksForTooLongIsLeftAlone() throws {
        let (capsule, count) = try Self.moody(9, "44 86400\r\n")
        let urls = (0..<4).map { capsule.place + "/\($0)" }
        let (records, _) = try smallweb.records(["-s", "--retry", "2"] + urls)
        #expect(records.exits == [75, 75, 75, 75] && count.update { $0 } == 1)
        #expect(records.terminal[3]["attempts"]?.int == 0)
    }

    @Test func retriesEndInTime() throws {
        let (capsule, count) = try Self.moody(99, "41 busy\r\n")
        let options = ["-s", "--retry", "99", "--retry-delay", "0.05", "--retry-max-time", "0.2"]
        let (records, _) = try smallweb.records(options + [capsule.place + "/"])
        #expect(records.exits == [75])
        #expect(2...5 ~= count.update { $0 })
    }

    @Test func theFirstFailureMayEndARun() throws {
        let hole = try Hole()
        let urls = [hole.place + "/0/about.txt", hole.place + "/0/missing", hole.place, hole.place]
        let (records, result) = try smallweb.records(["-s", "--fail-early"] + urls)
        #expect(result.status == 22 && records.exits == [0, 22, 130, 130])
        let plain = try smallweb.run(["-s", "--fail-early"] + urls)
        #expect(plain.status == 22)
        #expect(plain.text == "This hole is part of the tests of smallweb.\r\n")
        // Together, the failure may come before the page.
        let parallel = try smallweb.run(["-s", "--fail-early", "-Z"] + urls)
        #expect(parallel.status == 22 && plain.text.hasPrefix(parallel.text))
    }
}

extension Hole {
    init(server: LoopbackServer) {
        self.server = server
        place = "gopher://127.0.0.1:\(server.port)"
    }
}

extension Capsule {
    init(server: LoopbackServer, place: String) {
        self.server = server
        self.place = place
    }
}
