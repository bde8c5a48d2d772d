// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// Assignment of URLs to workers.
@Suite struct ShardTests {
    private let smallweb = Smallweb()

    /// Shards among 1000, computed by Python's hashlib:
    /// `int.from_bytes(hashlib.sha256(place.encode()).digest()[:8], "big") % 1000`
    private static let shards = [
        "example.org:1965": 930, "example.org:443": 273, "example.org:80": 47,
        "[2001:db8::1]:70": 248, "[::1]:1965": 346, "[::ffff:1.2.3.4]:79": 864,
        "127.0.0.1:70": 979, "xn--bcher-kva.example:1965": 834,
        "xn--strae-oqa.example:1965": 446, "xn--e1afmkfd.xn--p1ai:80": 80, "host:99": 275,
        "a_b.example:300": 754,
    ]

    /// Lines of a list with the place that they go to; empty for none.
    private static let lines = [
        ("gemini://example.org/", "example.org:1965"),
        ("gemini://example.org", "example.org:1965"),
        ("GEMINI://EXAMPLE.ORG:1965/a?b#c", "example.org:1965"),
        ("titan://example.org./x", "example.org:1965"),
        ("gemini://user:word@example.org:/", "example.org:1965"),
        ("gemini://ex%61mple.org/%zz", "example.org:1965"),
        ("gemini://example.org/\tA title", "example.org:1965"),
        (#"{"url":"gemini://example.org/","id":[]}"#, "example.org:1965"),
        ("https://example.org/", "example.org:443"), ("http://example.org/", "example.org:80"),
        ("http://example.org:443/", "example.org:443"),
        ("gopher://[2001:DB8:0:0::1]/", "[2001:db8::1]:70"),
        ("gopher://[2001:db8::0.0.0.1]:70/", "[2001:db8::1]:70"),
        ("gemini://[0:0::1]", "[::1]:1965"), ("finger://[::FFFF:1.2.3.4]", "[::ffff:1.2.3.4]:79"),
        ("gopher://127.0.0.1/", "127.0.0.1:70"),
        ("gemini://b\u{FC}cher.example/", "xn--bcher-kva.example:1965"),
        ("gemini://bu\u{308}cher.example/", "xn--bcher-kva.example:1965"),
        ("gemini://B\u{DC}CHER.example.:1965/", "xn--bcher-kva.example:1965"),
        ("gemini://XN--BCHER-KVA.example/", "xn--bcher-kva.example:1965"),
        ("gemini://stra\u{DF}e.example/", "xn--strae-oqa.example:1965"),
        (
            "http://\u{43F}\u{440}\u{438}\u{43C}\u{435}\u{440}.\u{440}\u{444}/",
            "xn--e1afmkfd.xn--p1ai:80"
        ),
        ("spartan://a_b.example/", "a_b.example:300"),
        ("dict://host:99/", "host:99"), ("nosuch://host:99/", "host:99"),
        ("nosuch://host/", ""), ("not a url", ""), ("gemini:example.org", ""),
        ("gemini:///x", ""), ("gemini://a..b/", ""), ("gemini://a:0/", ""),
        ("gemini://a b/", ""), ("//example.org/", ""), (#"{"url":1}"#, ""), ("{", ""),
        (#"{"url":"gemini://example.org/","url":"gemini://example.org/"}"#, ""),
    ]

    @Test func theShardIsThatOfTheHash() throws {
        let list = "# comment\n\n" + Self.lines.map(\.0).joined(separator: "\n")
        let result = try smallweb.run(["shard", "--authority", "1000"], stdin: list)
        let wanted = try Self.lines.map { line, place in
            let shard = place.isEmpty ? 0 : try #require(Self.shards[place])
            return "\(shard)\t\(place)\t\(line)"
        }
        #expect(result.text.split(separator: "\n").map(String.init) == wanted)
        #expect(result.status == 0 && result.errors.isEmpty)
    }

    /// The default port in an external plugin's manifest counts.
    @Test func theDefaultPortIsThatOfAPlugin() throws {
        var smallweb = smallweb
        let plugins = smallweb.home.file("plugins")
        let copied = try smallweb.run(
            [], shell: "mkdir plugins && cp -r '\(PluginKitTests.root)/Plugins/Guppy' plugins")
        #expect(copied.status == 0, "\(copied.errors)")
        let words = ["shard", "--authority", "1", "-"]
        let url = "guppy://example.org/"
        #expect(try smallweb.run(words, stdin: url).text == "0\t\t\(url)\n")
        smallweb.environment["SMALLWEB_PLUGIN_PATH"] = plugins
        let place = "example.org:6775"
        #expect(try smallweb.run(words, stdin: url).text == "0\t\(place)\t\(url)\n")
    }

    @Test func whatIsNotUTF8OrTooLongIsOfNoHost() throws {
        let wrong: [UInt8] = [0xFF, 0x0A]
        var list: [UInt8] = Array("gemini://h/".utf8) + wrong + Array("gemini://".utf8) + wrong
        list += [UInt8](repeating: 0x78, count: 2_000_000)
        list += Array("\ngopher://a/".utf8)
        try Data(list).write(to: URL(fileURLWithPath: smallweb.home.file("list")))
        let result = try smallweb.run(["shard", "--authority", "1", "list"])
        var lines: [UInt8] = Array("0\th:1965\tgemini://h/".utf8) + wrong
        lines += Array("0\t\tgemini://".utf8) + wrong
        lines += Array("0\ta:70\tgopher://a/\n".utf8)
        #expect(result.output == lines)
        #expect(result.status == 2 && result.errors.contains("list: line 3: longer than"))
    }

    @Test func listsThatCannotBeReadAndBadNumbersAreErrors() throws {
        #expect(try smallweb.run(["shard", "4", "missing"]).status == 26)
        for words in [["shard", "0"], ["shard", "x"], ["shard"], ["shard", "1000001"]] {
            #expect(try smallweb.run(words).status == 2)
        }
        for shard in ["4/4", "-1/4", "1", "1/", "/2", "0/0", "1/2/3", "a/b", "0/1000001"] {
            #expect(try smallweb.run(["--shard", shard, "x://y"]).status == 2, "\(shard)")
        }
    }

    /// A line that comes is answered before the next one.
    @Test func splitsWhatComesAsItComes() throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Smallweb.binary)
        process.arguments = ["shard", "1"]
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        for _ in 0..<3 {
            try input.send("x\n")
            #expect(output.fileHandleForReading.availableData == Data("0\tx\n".utf8))
        }
        try input.fileHandleForWriting.close()
        process.waitInTime()
        #expect(process.terminationStatus == 0)
    }

    // MARK: Runs

    /// Servers whose places are of different shards.
    private func servers(_ asked: Monitor<[String]>) throws -> [LoopbackServer] {
        try (0..<6).map { _ in
            try LoopbackServer { peer in
                guard let line = peer.readLine() else { return }
                let selector = String(decoding: line.dropFirst().dropLast(2), as: UTF8.self)
                asked.update { $0.append(selector) }
                peer.write("a page")
            }
        }
    }

    @Test(arguments: [[], ["-Z"], ["-Z", "--ordered"]])
    func eachLineHasOneWorker(_ options: [String]) throws {
        let asked = Monitor([String]())
        let servers = try servers(asked)
        var lines: [String] = []
        for number in 0..<60 {
            let place = "127.0.0.1:\(servers[number % servers.count].port)/9/\(number)"
            lines.append(
                number % 3 == 0 ? #"{"url":"gopher://\#(place)"}"# : "gopher://\(place)")
        }
        lines += ["not a url", "{", "nosuch://x/"]
        let parts = try smallweb.run(["shard", "3"], stdin: lines.joined(separator: "\n")).text
            .split(separator: "\n").map { try #require($0.first?.wholeNumberValue) }
        var seen: Set<Int> = []
        for index in 0..<3 {
            asked.update { $0 = [] }
            let words = options + ["-s", "--shard", "\(index)/3", "-"]
            let (records, _) = try smallweb.records(words, stdin: lines.joined(separator: "\n"))
            let own = parts.indices.filter { parts[$0] == index }
            #expect(records.terminal.compactMap { $0["n"]?.int } == own)
            #expect(Set(asked.update { $0 }) == Set(own.filter { $0 < 60 }.map(String.init)))
            seen.formUnion(own)
        }
        #expect(seen == Set(lines.indices))
    }

    /// URLs of other workers do not count against the limit of concurrent requests.
    @Test func linesOfOthersHoldUpNothing() throws {
        let together = Monitor(0)
        let server = try LoopbackServer { peer in
            _ = peer.readLine()
            // Both answers wait until both are asked for.
            together.update { $0 += 1 }
            try? together.wait(for: "both are asked for") { $0 >= 2 ? () : nil }
            peer.write("a page")
        }
        let own = "127.0.0.1:\(server.port)"
        let foreign = try (1...64).map { "h\($0):70" }.first { other in
            let list = "gopher://\(own)\ngopher://\(other)\n"
            let text = try smallweb.run(["shard", "7"], stdin: list).text
            let parts = text.split(separator: "\n").map(\.first)
            return parts[0] != parts[1]
        }
        let other = "gopher://\(try #require(foreign))/9/x\n"
        let index = try smallweb.run(["shard", "7"], stdin: "gopher://\(own)").text.prefix(1)
        let list = ["a", "b"].map { "gopher://\(own)/9/\($0)\n" }
            .joined(separator: String(repeating: other, count: 1000))
        let (records, result) = try smallweb.records(
            ["-Z", "--ordered", "-m", "20", "--shard", "\(index)/7", "-"], stdin: list)
        #expect(result.status == 0)
        #expect(records.terminal.compactMap { $0["n"]?.int } == [0, 1001])
    }

    @Test func operandsAreSharedOutToo() throws {
        let asked = Monitor([String]())
        let servers = try servers(asked)
        let urls = servers.map { "gopher://127.0.0.1:\($0.port)/9/x" }
        let runs = try (0..<2).map {
            try smallweb.records(["--shard", "\($0)/2"] + urls).records.terminal
        }
        #expect(runs.flatMap { $0 }.compactMap { $0["n"]?.int }.sorted() == Array(0..<6))
    }

    /// Each worker has its own copy of a list, or has not.
    @Test func aListThatCannotBeReadIsEveryWorkersFailure() throws {
        for index in 0..<2 {
            let words = ["-s", "--shard", "\(index)/2", "--exit-status", "run", "@missing"]
            #expect(try smallweb.records(words).result.status == 26)
        }
    }

    /// One host has one pace, however its address is written.
    @Test func thePaceIsThatOfThePlace() throws {
        let server = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write("a page")
        }
        let names = ["localhost", "LOCALHOST.", "localhost."]
        let urls = names.map { "gopher://\($0):\(server.port)/9/x" }
        let resolve = ["localhost", "localhost."].flatMap {
            ["--resolve", "\($0):\(server.port):127.0.0.1"]
        }
        let clock = ContinuousClock()
        // The whole: when a busy server noticed each of them says little.
        let duration = try clock.measure {
            let result = try smallweb.run(
                ["get", "-Z", "--per-host-delay", "1"] + resolve + urls)
            #expect(result.status == 0)
        }
        #expect(duration >= .seconds(2))
    }
}
