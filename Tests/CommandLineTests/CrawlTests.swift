// SPDX-License-Identifier: MIT
import Foundation
import Glibc
import SmallWebTestSupport
import Testing

@Suite struct CrawlTests {
    private let smallweb = Smallweb()

    private func crawl(_ words: String...) throws -> Smallweb.Result {
        try smallweb.run(["crawl", "-k", "--per-host-delay", "0", "--state", "s"] + words)
    }

    /// Outcome and path of each line, sorted.
    private func lines(_ result: Smallweb.Result, _ place: String) -> [String] {
        result.text.split(separator: "\n").map { line in
            let words = line.split(separator: "\t")
            return "\(words[0]) \(words[2].dropFirst(place.count))"
        }.sorted()
    }

    private var state: String {
        String(decoding: smallweb.home.content("s") ?? [], as: UTF8.self)
    }

    private static let pages = [
        "/": ChangingCapsule.gemtext("=> a A\n=> /b/ B\n=> /p/x X\n=> /gone\n=> //h.test/ H\n"),
        "/a": ChangingCapsule.gemtext("=> / home\n=> c?q C\n=> /old\n=> mailto:a@b.c\n"),
        "/b/": ChangingCapsule.gemtext("=> d\n=> ../p/y\n"), "/b/d": "20 text/plain\r\nd\n",
        "/c?q": ChangingCapsule.gemtext("c\n"), "/old": "31 /new\r\n",
        "/new": ChangingCapsule.gemtext("=> /ask\n"), "/ask": "10 What?\r\n",
        "/p/x": ChangingCapsule.gemtext("x"), "/p/y": ChangingCapsule.gemtext("y"),
        "/robots.txt": "20 text/plain\r\nUser-agent: *\nDisallow: /p/\n",
    ]
    private static let all = [
        "needs-input /ask", "ok /", "ok /a", "ok /b/", "ok /b/d", "ok /c?q", "ok /new", "ok /old",
        "permanent-failure /gone",
    ]

    @Test func followsLinksAndGoesOn() throws {
        let capsule = try ChangingCapsule(Self.pages)
        let result = try crawl(capsule.place + "/")
        #expect(result.status == 0, "\(result.errors)")
        #expect(lines(result, capsule.place) == Self.all)
        #expect(capsule.requests.first == "/robots.txt")
        #expect(!capsule.requests.contains { $0.hasPrefix("/p/") })
        #expect(Set(capsule.requests).count == capsule.requests.count)
        #expect(result.errors.contains("not followed: robots 2, scope 1, unsupported 1"))
        let asked = capsule.requests.count
        let again = try crawl(capsule.place + "/")
        #expect(again.status == 0 && again.text.isEmpty && capsule.requests.count == asked)
        for line in state.split(separator: "\n") {
            #expect((line.utf8.count + 1) % 16 == 0)
            // A page's line is shorter than its record.
            guard !line.hasPrefix(#"{"type":"response""#) else { continue }
            #expect(Schema.shared.problems(try JSON.parse(String(line))) == [], "\(line)")
        }
    }

    /// The pages of an earlier crawl are not those of a check or a mirror.
    @Test func eachKindOfCrawlHasAStateOfItsOwn() throws {
        let capsule = try ChangingCapsule([
            "/": ChangingCapsule.gemtext("=> a A\n=> /gone\n"), "/a": ChangingCapsule.gemtext("a"),
        ])
        func crawl(_ words: String...) throws -> Smallweb.Result {
            let paced = ["crawl", "-k", "--per-host-delay", "0"]
            return try smallweb.run(paced + words + [capsule.place + "/"])
        }
        #expect(try crawl().text.split(separator: "\n").count == 3)
        let again = try crawl()
        #expect(again.status == 0 && again.errors.contains("nothing is left: --update"))
        #expect(try crawl("--mirror", "m").status == 0)
        #expect(smallweb.home.files(below: "m").contains { $0.hasSuffix("/index.gmi") })
        for words in [["--warc", "a.warc"], ["--cache"]] {
            let result = try smallweb.run(
                ["crawl", "-k", "--per-host-delay", "0"] + words + [capsule.place + "/"])
            #expect(result.text.split(separator: "\n").count == 3, "\(words): \(result.errors)")
        }
        #expect(try crawl("--depth", "0").text.split(separator: "\n").count == 1)
        // A check begins again when it is over.
        for page in ["=> a A\n=> /gone\n", "=> a A\n=> /gone\n=> /lost\n", "=> a A\n"] {
            capsule.set("/", ChangingCapsule.gemtext(page))
            let (result, broken) = (try crawl("--check"), page.split(separator: "\n").count - 1)
            #expect(result.status == (broken > 0 ? 22 : 0), "\(result.errors)")
            #expect(result.text.split(separator: "\n").count == broken, "\(result.text)")
        }
        #expect(try crawl("--state", "s").status == 0)
        let other = try crawl("--state", "s", "--check")
        #expect(other.status == 2 && other.errors.contains("of a crawl without --check"))
    }

    @Test func pagesOfOtherTypesEndAfterTheirHeads() throws {
        let capsule = try ChangingCapsule(Self.pages)
        let words = ["--types", "TEXT/plain,image/*", capsule.place + "/b/d", capsule.place + "/a"]
        let result = try smallweb.run(
            ["crawl", "-k", "--per-host-delay", "0", "--state", "s", "--json"] + words)
        #expect(result.status == 0, "\(result.errors)")
        var omitted: [String: String] = [:]
        for line in result.text.split(separator: "\n") {
            let value = try JSON.parse(String(line))
            #expect(Schema.shared.problems(value) == [], "\(line)")
            guard let url = value["url"]?.string else { continue }
            omitted[String(url.dropFirst(capsule.place.count))] =
                value["body"]?["omitted"]?.string ?? "none"
        }
        #expect(omitted == ["/a": "not-wanted", "/b/d": "none"])
        #expect(!capsule.requests.contains("/c?q"))
        let bad = try crawl("--types", "text", capsule.place + "/")
        #expect(bad.status == 2 && bad.errors.contains("such as text/gemini"))
    }

    @Test func explainShowsTheLineOfTheRobotsFile() throws {
        let capsule = try ChangingCapsule(Self.pages)
        for (path, words) in [
            "/p/x": "forbidden by Disallow: /p/ (line 2)", "/a": "allowed: no line is about it",
        ] {
            let result = try smallweb.run(["explain", "-k", "--robots", capsule.place + path])
            #expect(result.status == 0 && result.text.contains(words), "\(result.text)")
            #expect(result.text.contains(path + "\\r\\n"), "\(result.text)")
            let record = try smallweb.run([
                "explain", "-k", "--robots", "--json", capsule.place + path,
            ])
            let value = try JSON.parse(record.text)
            #expect(Schema.shared.problems(value) == [])
            #expect(value["robots"]?["allowed"] == .bool(path == "/a"))
        }
        #expect(Set(capsule.requests) == ["/robots.txt"])
    }

    /// Links of every scheme that can be crawled: of gemtext, menus and listings.
    @Test func linksOfEverySchemeAreFollowed() throws {
        let page = "# Home\n=> /a.gmi A\n"
        let replies = [
            "gemini": "20 text/gemini\r\n\(page)", "spartan": "2 text/gemini\r\n\(page)",
            "nex": page, "gopher": "0A\t/a.txt\tHOST\tPORT\r\n.\r\n",
        ]
        for (scheme, reply) in replies {
            let (asked, port) = (Monitor([String]()), Monitor(0))
            let server = try LoopbackServer(tls: scheme == "gemini" ? .make() : nil) { peer in
                let line = String(decoding: peer.readLine() ?? [], as: UTF8.self)
                asked.update { $0.append(line) }
                let isRobots = line.contains("robots.txt")
                let reply = reply.replacingOccurrences(of: "HOST", with: "127.0.0.1")
                    .replacingOccurrences(of: "PORT", with: "\(port.update { $0 })")
                peer.write(isRobots ? "51 no\r\n" : reply)
            }
            port.update { $0 = Int(server.port) }
            let result = try smallweb.run([
                "crawl", "-k", "--per-host-delay", "0", "--state", scheme,
                "\(scheme)://127.0.0.1:\(server.port)/",
            ])
            #expect(result.text.split(separator: "\n").count == 2, "\(scheme) \(result.text)")
            #expect(asked.update { $0 }.contains { $0.contains("a.") }, "\(scheme)")
        }
    }

    /// Stopped after each page, by itself or by a kill that leaves half a line.
    @Test func isTheSameInPieces() throws {
        let capsule = try ChangingCapsule(Self.pages)
        var seen: [String] = []
        for round in 0..<20 {
            let result = try crawl("--max-pages", "1", capsule.place + "/")
            seen += lines(result, capsule.place)
            if result.status == 0 { break }
            #expect(result.status == 130, "\(round): \(result.errors)")
            let torn = Array(state.utf8) + Array(#"{"type":"found","v":1,"n":99,"#.utf8)
            try Data(torn).write(to: URL(fileURLWithPath: smallweb.home.file("s")))
        }
        #expect(seen.sorted() == Self.all)
        #expect(Set(capsule.requests).count == capsule.requests.count, "\(capsule.requests)")
        #expect(!state.contains(#""n":99"#))
    }

    @Test func theDeadlineEndsIt() throws {
        let capsule = try ChangingCapsule(Self.pages)
        let result = try crawl("--deadline", "1ms", capsule.place + "/")
        #expect(result.status == 130, "\(result.errors)")
        #expect(try crawl(capsule.place + "/").status == 0)
    }

    @Test func recordsAreThoseOfGet() throws {
        let capsule = try ChangingCapsule(Self.pages)
        let result = try crawl("--json", "--events", "--warc", "a.warc.gz", capsule.place + "/")
        let records = try Records(result.output)
        #expect(records["response"].count == 9 && records["found"].count >= 9)
        #expect(records["skip"].map { $0["reason"]?.string } == ["robots", "robots"])
        let moved = records["response"].first { $0["status"]?.int == 31 }
        #expect(moved?["ok"]?.bool == true && moved?["class"]?.string == "redirect")
        let summary = try #require(records.summary)
        #expect(summary["waiting"]?.int == 0 && summary["skipped"]?["robots"]?.int == 2)
        let listed = try smallweb.run(["warc", "list", "a.warc.gz"]).text
        #expect(listed.contains("/robots.txt") && listed.contains("/b/d"))
    }

    @Test func aMirrorHasNamesOfURLsAlone() throws {
        let capsule = try ChangingCapsule(Self.pages)
        _ = try crawl("--mirror", "m", "--max-pages", "3", capsule.place + "/")
        #expect(try crawl("--mirror", "m", capsule.place + "/").status == 0)
        let place = "gemini/127.0.0.1:\(capsule.server.port)"
        #expect(
            smallweb.home.files(below: "m/" + place).sorted() == [
                "a@", "b/d@", "b/index.gmi", "c@q", "index.gmi", "new@",
            ])
        #expect(smallweb.home.content("m/\(place)/b/d@") == Array("d\n".utf8))
    }

    @Test func aStateIsOfOneCrawl() throws {
        let capsule = try ChangingCapsule(Self.pages)
        _ = try crawl("--max-pages", "1", capsule.place + "/")
        let asked = capsule.requests.count
        for words in [
            [capsule.place + "/b/"], ["--scope", "host", capsule.place + "/"],
            ["--as", "indexer", capsule.place + "/"],
        ] {
            let result = try smallweb.run(["crawl", "--state", "s"] + words)
            #expect(result.status == 2 && result.errors.contains("hint: "), "\(result.errors)")
        }
        try "https://h.test/\n".write(
            toFile: smallweb.home.file("list"), atomically: true, encoding: .utf8)
        symlink("s", smallweb.home.file("link"))
        for name in ["list", "link", "/dev/null"] {
            #expect(try smallweb.run(["crawl", "--state", name, capsule.place]).status == 2)
        }
        #expect(capsule.requests.count == asked)
        #expect(try crawl("--add", capsule.place + "/b/").status == 0)
    }

    @Test func robotsComeFirstOrNothing() throws {
        let seed = try ChangingCapsule(Self.pages)
        let forbidden = try crawl(seed.place + "/p/x")
        #expect(forbidden.status == 104 && forbidden.text.hasPrefix("robots\t0\t"))
        #expect(seed.requests == ["/robots.txt"])
        let broken = try ChangingCapsule(["/robots.txt": "40 later\r\n", "/": "20 \r\n"])
        let left = try smallweb.run(["crawl", "-k", "--state", "t", broken.place + "/"])
        #expect(left.status == 75 && left.text.isEmpty && broken.requests == ["/robots.txt"])
        #expect(left.errors.contains("left for now: gemini://127.0.0.1:\(broken.server.port): "))
        let got = try smallweb.run([
            "get", "-k", "--robots", seed.place + "/p/x", seed.place + "/b/d",
        ])
        #expect(got.status == 104 && got.text == "d\n")
        #expect(got.errors.contains("robots.txt forbids it: Disallow: /p/ (line 2)"))
        #expect(try smallweb.run(["get", "-k", "--robots", broken.place + "/"]).status == 75)
    }

    /// Each link of a page with its line.
    @Test func brokenLinksAreNamed() throws {
        let capsule = try ChangingCapsule(
            Self.pages.merging([
                "/log/": ChangingCapsule.gemtext(
                    "=> a\n=> ../b/d fine\n=> /gone X\n=> /loop\n=> /p/x\n=> /old\n=> gemini://[x\n"
                ),
                "/log/a": ChangingCapsule.gemtext("\n=> b\n=> /ask\n"), "/loop": "30 /loop\r\n",
            ]) { $1 })
        let result = try crawl("--check", capsule.place + "/log/")
        #expect(result.status == 22)
        let place = capsule.place
        let rows = [
            ["permanent-failure", place + "/gone", place + "/log/", "3"],
            ["too-many-redirects", place + "/loop", place + "/log/", "4"],
            ["bad-url", "gemini://[x", place + "/log/", "7"],
            ["permanent-failure", place + "/log/b", place + "/log/a", "2"],
        ]
        #expect(result.text == rows.map { $0.joined(separator: "\t") + "\n" }.joined())
        let records = try Records(try crawl("--check", "--json", place + "/log/").output)
        #expect(records["link"].count == 9)
        let words = records["link"].compactMap { $0["outcome"]?.string }
        #expect(words.filter { $0 == "unchecked" }.count == 1)
        // A run without a check says at least how many.
        let saved = try smallweb.run([
            "crawl", "-k", "--state", "m.jsonl", "--mirror", "m", capsule.place + "/log/",
        ])
        #expect(saved.status == 0, "\(saved.errors)")
        #expect(saved.errors.contains(", 1 of them refused for good, waiting"), "\(saved.errors)")
    }

    /// A server that asks for a pause gets it, and is left alone if it asks again and again.
    @Test func pausesAreKept() throws {
        let asked = Monitor(0)
        let server = try LoopbackServer(tls: .make()) { peer in
            let line = String(decoding: peer.readLine() ?? [], as: UTF8.self)
            if line.contains("robots.txt") {
                peer.write("51 no\r\n")
            } else if asked.update({
                $0 += 1; return $0
            }) < 3 {
                peer.write("44 1\r\n")
            } else {
                peer.write("20 text/plain\r\nfine")
            }
        }
        let began = Date.now
        let result = try crawl("gemini://127.0.0.1:\(server.port)/")
        #expect(result.status == 0 && result.text.hasPrefix("ok\t4\t"), "\(result.errors)")
        #expect(Date.now.timeIntervalSince(began) >= 1.9)
    }

    @Test func listsThatAreNewestFirstEndEarly() throws {
        let capsule = try ChangingCapsule(Self.pages)
        let list = ["/", "/a", "/b/", "/b/d"].map { capsule.place + $0 + "\n" }.joined()
        let words = ["get", "-k", "--ledger", "l", "--stop-known", "2", "-"]
        _ = try smallweb.run(words, stdin: list)
        let asked = capsule.requests.count
        _ = try smallweb.run(
            words, stdin: capsule.place + "/new\n" + list + capsule.place + "/gone\n")
        #expect(capsule.requests.dropFirst(asked) == ["/new"])
        #expect(try smallweb.run(["get", "--stop-known", "2", "x:y"]).status == 2)
    }

    @Test func noPageLeadsToPrivateServers() throws {
        let capsule = try ChangingCapsule([
            "/": ChangingCapsule.gemtext("=> gemini://127.0.0.1:1/\n")
        ])
        let port = "\(capsule.server.port)"
        // The name is public to the resolver's overrides alone, so this is the literal's judgement.
        let result = try crawl(
            "--scope", "any", "--resolve", "h.test:\(port):127.0.0.1", "gemini://h.test:\(port)/")
        #expect(result.errors.contains("private address 1"), "\(result.errors)")
    }
}
