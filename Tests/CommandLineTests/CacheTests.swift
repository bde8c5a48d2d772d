// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

/// `--cache`, `--offline`, and archives with an index.
@Suite(.timeLimit(.minutes(30))) struct CacheTests {
    private let smallweb = Smallweb()
    private static let hour = ["--cache", "--max-age", "1h"]

    private func get(_ words: [String]) throws -> Smallweb.Result {
        try smallweb.run(["get", "-k"] + words)
    }

    private func records(_ words: [String]) throws -> [JSON] {
        try smallweb.records(["-k", "-s"] + words).records.terminal
    }

    private var archives: [String] {
        smallweb.home.files(below: ".cache/smallweb").filter { $0.hasSuffix(".warc.gz") }
    }

    @Test func pagesOfEverySchemeAreReadOffline() throws {
        let sites = try WarcTests.Sites()
        let live = try records(["--cache"] + sites.urls)
        sites.stop()
        let offline = try records(["--offline"] + sites.urls)
        #expect(live.count == sites.urls.count && offline.count == live.count)
        var kept = 0
        for (page, again) in zip(live, offline) {
            let url = page["url"]?.string ?? ""
            let isKept = ["ok", "permanent-failure"].contains(page["outcome"]?.string)
            kept += isKept ? 1 : 0
            #expect(
                again["outcome"] == (isKept ? page["outcome"] : .string("not-recorded")), "\(url)")
            guard isKept else { continue }
            #expect(again["body"] == page["body"] && again["recorded"] != nil, "\(url)")
            #expect(again["stale"] == nil && page["recorded"] == nil)
        }
        #expect(kept >= 10)
    }

    @Test func aYoungPageIsNotAskedForAndAnOldOneIs() throws {
        let capsule = try ChangingCapsule(["/": ChangingCapsule.gemtext("one\n")])
        let url = capsule.place + "/"
        #expect(try get(["--cache", url]).text == "one\n")
        capsule.set("/", ChangingCapsule.gemtext("two\n"))
        #expect(try get(Self.hour + [url]).text == "one\n" && capsule.requests.count == 1)
        #expect(try get(["--cache", url]).text == "two\n")
        // The latest counts.
        #expect(try get(Self.hour + [url]).text == "two\n" && capsule.requests.count == 2)
        #expect(try get([url]).text == "two\n" && capsule.requests.count == 3)
        for (reply, word) in [("41 later\r\n", "refused"), (nil, "connect")] {
            if let reply { capsule.set("/", reply) } else { capsule.server.stop() }
            let stale = try get(["--cache", url])
            #expect(stale.text == "two\n" && stale.status == 0)
            let record = try #require(try records(["--cache", url]).first)
            #expect(record["stale"]?.bool == true && record["recorded"] != nil)
            let warning = record["warnings"]?.array.first
            #expect(warning?["code"]?.string == "stale")
            let message = warning?["message"]?.string ?? ""
            #expect(message.hasPrefix("as of 20") && message.contains(word))
            #expect(Schema.shared.problems(record) == [])
        }
        #expect(try get(["--cache", url + "x"]).status == 7)
        let missing = try get(["--offline", url + "x"])
        #expect(missing.status == 103 && missing.errors.contains("hint: fetch it with --cache"))
    }

    @Test func whatHasNotChangedIsNotSentAgain() throws {
        let asked = Recorder<WebRequest>()
        let server = try LoopbackServer { peer in
            guard let request = WebRequest(from: peer) else { return }
            asked.add(request)
            if request["if-none-match"] == ["\"a\""] {
                peer.write("HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n")
            } else {
                peer.write("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nETag: \"a\"\r\n\r\nabc")
            }
        }
        let url = "http://127.0.0.1:\(server.port)/"
        for _ in 0..<3 { #expect(try get(["--cache", url]).text == "abc") }
        #expect(asked.values.map { $0["if-none-match"] } == [[], ["\"a\""], ["\"a\""]])
        #expect(try get(["--offline", url]).text == "abc")
    }

    /// What only its reader may see is not kept, and not answered from there either.
    @Test func privatePagesAreNotKept() throws {
        let capsule = try Capsule()
        let web = try LoopbackServer(handler: DemoSites.web)
        _ = try smallweb.run(["identity", "new", "own"])
        _ = try smallweb.run(["identity", "use", "own", capsule.place + "/identity"])
        try Data("hidden".utf8).write(to: URL(fileURLWithPath: smallweb.home.file("word")))
        let place = "http://ada:hidden@127.0.0.1:\(web.port)/about"
        let own = "http://127.0.0.1:\(web.port)/about"
        let runs = [
            ["-d", "words", capsule.place + "/input"], ["-d", "@word", capsule.place + "/input"],
            [capsule.place + "/identity"], [place], ["-H", "Authorization: Bearer hidden", own],
            ["-H", "Cookie: a=hidden", own], ["-d", "sent", own], [capsule.place + "/status/44"],
            [capsule.place + "/input"], [capsule.place + "/truncated"],
        ]
        for words in runs { _ = try get(["--cache"] + words) }
        #expect(try smallweb.run(["cache"]).text == "")
        for words in runs { #expect(try get(["--offline"] + words).status == 103, "\(words)") }
        #expect(try get(["--cache", own]).status == 0)
        #expect(try smallweb.run(["cache"]).text.hasSuffix("\t\(own)\n"))
    }

    /// A page that is asked for with an identity is not kept, which is said once.
    @Test func aPageOfAnIdentityIsSaidNotToBeKept() throws {
        let capsule = try Capsule()
        let url = capsule.place + "/about"
        _ = try smallweb.run(["identity", "new", "own"])
        _ = try smallweb.run(["identity", "use", "own", url])
        let note = "smallweb: --cache keeps no page that is asked for with an identity\n"
        for words in [["get", url], ["get", url, url], ["head", url], ["links", url]] {
            let result = try smallweb.run([words[0], "--cache"] + words.dropFirst())
            #expect(result.status == 0 && result.errors == note, "\(result.errors)")
        }
        for words in [
            ["-q", "--cache", url], [url], ["--cache", capsule.place + "/"],
            ["--cache", "-d", "words", capsule.place + "/input"],
        ] {
            #expect(try get(words).errors == "", "\(words)")
        }
        let away = try get(["--offline", url])
        #expect(away.status == 103 && away.errors.contains("never kept\n"), "\(away.errors)")
        #expect(PastedURLTests.hint(away.errors)?.contains("without the identity") ?? false)
        _ = try smallweb.run(["identity", "unuse", "own", url])
        #expect(try get(["--cache", url]).errors == "")
        #expect(try get(["--offline", url]).status == 0)
    }

    @Test func whatOneArchiveHasIsNotFetchedForAnother() throws {
        let capsule = try ChangingCapsule([
            "/a": ChangingCapsule.gemtext("a\n"), "/b": ChangingCapsule.gemtext("b\n"),
        ])
        let urls = ["/a", "/b"].map { capsule.place + $0 }
        #expect(try get(["--warc", "b.warc.gz", urls[0]]).status == 0)
        for other in ["a.warc.gz", "b.warc.gz"] {
            let before = capsule.requests.count
            let both = try get(["--warc", other, "--replay", "b.warc.gz"] + urls)
            #expect(both.text == "a\nb\n" && both.status == 0)
            #expect(capsule.requests.count == before + 1 && capsule.requests.last == "/b")
        }
        let renewed = ["--warc", "a.warc.gz", "--replay", "b.warc.gz", "--max-age", "0"]
        capsule.set("/a", ChangingCapsule.gemtext("new\n"))
        #expect(try get(renewed + urls).text == "new\nb\n")
        #expect(try smallweb.run(["warc", "check", "a.warc.gz"]).status == 0)
        #expect(try get(["--cache", "--warc", "c.warc"] + urls).status == 2)
        #expect(try get(["--max-age", "1h"] + urls).status == 2)
    }

    /// An index that is torn, of another archive, or lies is as good as none.
    @Test func aBadIndexGivesNoWrongPage() throws {
        let capsule = try ChangingCapsule([
            "/a": ChangingCapsule.gemtext("a\n"), "/b": ChangingCapsule.gemtext("bb\n"),
        ])
        let urls = ["/a", "/b"].map { capsule.place + $0 }
        for url in urls { #expect(try get(["--warc", "x.warc", url]).status == 0) }
        #expect(try get(["--warc", "other.warc", urls[0]]).status == 0)
        for name in ["x.warc", "other.warc"] {
            #expect(try smallweb.run(["warc", "index", name]).status == 0)
        }
        let good = String(
            decoding: try #require(smallweb.home.content("x.warc.cdxj")), as: UTF8.self)
        let other = String(
            decoding: try #require(smallweb.home.content("other.warc.cdxj")), as: UTF8.self)
        let lines = good.split(separator: "\n", omittingEmptySubsequences: false)
        func changed(_ change: (String) -> String) -> String {
            ([String(lines[0])] + lines.dropFirst().map { change(String($0)) })
                .joined(separator: "\n")
        }
        let swapped = changed { line in
            line.contains("/a\"")
                ? line.replacingOccurrences(of: urls[0], with: urls[1])
                : line.replacingOccurrences(of: urls[1], with: urls[0])
        }
        let bad = [
            "", "!", String(good.prefix(50)), String(good.dropLast(40)), other, swapped,
            changed { $0.replacingOccurrences(of: "\"offset\": \"", with: "\"offset\": \"1") },
            changed { $0.replacingOccurrences(of: "\"exchange\": \"", with: "\"exchange\": \"9") },
            changed { $0.replacingOccurrences(of: "\"chains\": \"", with: "\"chains\": \"77,") },
            lines[0] + "\n" + String(repeating: "x 1 {}\n", count: 100_000),
            String(lines[0]) + "\n" + String(repeating: "y", count: 3_000_000),
        ]
        capsule.server.stop()
        let path = smallweb.home.file("x.warc.cdxj")
        for text in [good] + bad {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            let result = try get(["--replay", "x.warc"] + urls)
            #expect(result.text == "a\nbb\n", "\(text.prefix(300)) \(result.errors)")
        }
        try Data(bad[3].utf8).write(to: URL(fileURLWithPath: path))
        #expect(try smallweb.run(["warc", "index", "x.warc"]).status == 0)
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "other.warc")
        #expect(try get(["--replay", "x.warc"] + urls).text == "a\nbb\n")
    }

    /// An index that gets what the archive has more is the one that is made at once.
    @Test func anIndexGrowsWithItsArchive() throws {
        let sites = try WarcTests.Sites()
        defer { sites.stop() }
        for name in ["x.warc.gz", "x.warc"] {
            _ = try get(["-s", "--warc", name] + sites.urls)
            #expect(try smallweb.run(["warc", "index", name]).status == 0)
            _ = try get(["-s", "--warc", name] + sites.urls.reversed())
            let grown = smallweb.home.content(name + ".cdxj")
            try FileManager.default.removeItem(atPath: smallweb.home.file(name + ".cdxj"))
            #expect(try smallweb.run(["warc", "index", name]).status == 0)
            #expect(smallweb.home.content(name + ".cdxj") == grown)
            let keys = String(decoding: grown ?? [], as: UTF8.self).split(separator: "\n")
            #expect(
                keys.count > 2 * 8
                    && keys.map { Array($0.utf8) }
                        == keys.map { Array($0.utf8) }
                        .sorted { $0.lexicographicallyPrecedes($1) }
            )
        }
    }

    @Test func twoProcessesAndAKillLoseNoPage() throws {
        let capsule = try Capsule()
        let urls = (0..<40).map { "\(capsule.place)/about?\($0)" }
        let errors = Recorder<String>()
        DispatchQueue.concurrentPerform(iterations: 4) { part in
            do {
                let own = Array(urls.enumerated().filter { $0.offset % 4 == part }.map(\.element))
                let result = try get(["-s", "--cache"] + own)
                if result.status != 0 { errors.add(result.errors) }
            } catch { errors.add("\(error)") }
        }
        #expect(errors.values == [])
        #expect(try records(["--offline"] + urls).allSatisfy { $0["ok"]?.bool == true })
        // A kill leaves a torn record, and an index that lacks what came before it.
        let path = try #require(archives.first.map { smallweb.home.file(".cache/smallweb/" + $0) })
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        for cut in [whole.count - 1, whole.count - 300, 600, 0] {
            try whole.prefix(cut).write(to: URL(fileURLWithPath: path))
            #expect(try get(["-s", "--cache"] + urls).status == 0)
            #expect(try records(["--offline"] + urls).allSatisfy { $0["ok"]?.bool == true })
        }
        try Data("not an archive".utf8).write(to: URL(fileURLWithPath: path))
        #expect(try get(["-s", "--cache"] + urls).status == 0)
    }

    @Test func theCacheIsListedBoundedAndCleared() throws {
        let capsule = try Capsule()
        let big = try LoopbackServer(handler: DemoSites.gopher)
        for n in 0..<6 {
            _ = try get([
                "--cache", "--cache-size", "200k", "-o", "/dev/null",
                "gopher://127.0.0.1:\(big.port)/9/big/\(30_000_000 + n)",
            ])
            _ = try get(["--cache", "--cache-size", "200k", "\(capsule.place)/about?\(n)"])
        }
        let sizes = try smallweb.run(["cache", "size"]).text.split(separator: "\n")
        let total = sizes.last.flatMap { Int($0.prefix { $0 != "\t" }) } ?? 0
        #expect(total > 0 && total <= 400_000, "\(sizes)")
        let url = capsule.place + "/about?5"
        #expect(try smallweb.run(["cache", "list"]).text.contains("\t\(url)\n"))
        #expect(try smallweb.run(["cache", "cat", url]).output == get([url]).output)
        #expect(try smallweb.run(["cache", "clear"]).status == 0)
        #expect(archives == [] && smallweb.home.files(below: ".cache/smallweb") == [])
        // A cache that cannot be made keeps no page from its reader.
        try Data().write(to: URL(fileURLWithPath: smallweb.home.file("file")))
        var blocked = smallweb
        blocked.environment["XDG_CACHE_HOME"] = smallweb.home.file("file")
        let result = try blocked.run(["get", "-k", "--cache", url])
        #expect(result.status == 0 && result.errors.contains("cannot make the cache"))
        #expect(!result.text.isEmpty)
    }

    /// On a full disk one archive is tried, at its first byte or within a page.
    @Test(arguments: [0, 2])
    func aFullDiskKeepsNoPageFromItsReader(_ blocks: Int) throws {
        let capsule = try Capsule()
        let urls = (0..<20).map { "\(capsule.place)/about?\($0)" }
        // The output goes through a pipe, as files have no room for it either.
        let full = "trap '' XFSZ; (ulimit -f \(blocks); exec \"$@\" 2>&1) | cat"
        for _ in 0..<3 {
            let text = try smallweb.run(["get", "-k", "--cache"] + urls, shell: full).text
            #expect(text.components(separatedBy: "Nothing much").count == 21, "\(text)")
            #expect(text.contains("warning: cannot write to the archive"), "\(text)")
        }
        #expect(archives.count <= 1)
    }

    @Test func aConfigFileTurnsItOn() throws {
        let capsule = try ChangingCapsule(["/": ChangingCapsule.gemtext("one\n")])
        let folder = smallweb.home.file(".config/smallweb")
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        try "cache\nmax-age = 1h\n".write(
            toFile: folder + "/config", atomically: false, encoding: .utf8)
        for _ in 0..<2 { #expect(try get([capsule.place + "/"]).text == "one\n") }
        #expect(capsule.requests.count == 1)
        // An archive that is named comes first.
        #expect(try get(["--warc", "a.warc", capsule.place + "/"]).status == 0)
        #expect(capsule.requests.count == 2)
    }
}
