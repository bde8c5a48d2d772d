// SPDX-License-Identifier: MIT
import Foundation
import Glibc
import SmallWebTestSupport
import Testing

/// Mirrors of web sites, and states of versions that read no HTML.
@Suite struct CrawlWebMirrorTests {
    private let smallweb = Smallweb()

    private func crawl(_ state: String, _ words: [String]) throws -> Smallweb.Result {
        try smallweb.run(["crawl", "--per-host-delay", "0", "--state", state] + words)
    }

    private static func image(_ text: String) -> String {
        "HTTP 200\r\nContent-Type: image/png\r\n\r\n" + text
    }

    private static let robots =
        "HTTP 200\r\nContent-Type: text/plain\r\n\r\nUser-agent: *\nDisallow: /img/closed\n"

    /// `OTHER` is another server.
    private static let pages = [
        "/robots.txt": robots, "/out": "out", "/out2": "out", "/d/about": "about",
        "/d/": """
        <link rel=stylesheet href=/style/a.css><img src=i.png><img src=http://OTHER/x.png>
        <img srcset='/img/1.png 1x, /img/moved.png 2x'><a href=/out>O</a><a href=sub/p.html>P</a>
        <img src=/img/closed.png><a href=about>A</a><script src='/style/s.js?v=1'></script>
        """,
        "/d/sub/p.html": "<img src=/img/p.png><object data=/frames/o.html></object>",
        "/frames/o.html": "<img src=inner.png><a href=/out2>O</a><a href=/d/late.html>L</a>",
        "/d/late.html": "late", "/img/moved.png": "HTTP 302\r\nLocation: real.png\r\n\r\n",
        "/d/i.png": image("i"), "/img/1.png": image("1"), "/img/real.png": image("real"),
        "/img/p.png": image("p"), "/frames/inner.png": image("inner"),
        "/img/closed.png": image("x"),
        "/style/a.css": "HTTP 200\r\nContent-Type: text/css\r\n\r\nb {}",
        "/style/s.js?v=1": "HTTP 200\r\nContent-Type: text/javascript\r\n\r\n0",
    ]
    private static let linked = ["d/about@", "d/index.html", "d/sub/p.html"]
    private static let embedded = [
        "d/i.png", "d/late.html", "frames/inner.png", "frames/o.html", "img/1.png", "img/p.png",
        "img/real.png", "style/a.css", "style/s.js@v=1",
    ]

    private func site(_ other: CrawlWebTests.Site) throws -> CrawlWebTests.Site {
        let place = "127.0.0.1:\(other.server.port)"
        return try CrawlWebTests.Site(Self.pages.mapValues { $0.replacing("OTHER", with: place) })
    }

    private func files(_ directory: String, _ site: CrawlWebTests.Site) -> [String] {
        let place = "\(directory)/http/127.0.0.1:\(site.server.port)"
        return smallweb.home.files(below: place).sorted()
    }

    @Test func whatPagesEmbedIsSaved() throws {
        let other = try CrawlWebTests.Site(["/x.png": "x"])
        let site = try site(other)
        let seed = site.place + "/d/"
        let result = try crawl("s", ["--mirror", "m", seed])
        #expect(result.status == 0, "\(result.errors)")
        #expect(files("m", site) == (Self.linked + Self.embedded).sorted())
        #expect(smallweb.home.files(below: "m").count == Self.linked.count + Self.embedded.count)
        #expect(
            smallweb.home.content("m/http/127.0.0.1:\(site.server.port)/d/sub/p.html")
                == Array(Self.pages["/d/sub/p.html"]?.utf8 ?? "".utf8))
        #expect(Set(site.requests).count == site.requests.count && other.requests.isEmpty)
        #expect(!site.requests.contains("/img/closed.png"), "robots forbid it")
        // The same in pieces.
        for run in 0..<30 {
            let piece = try crawl("pieces", ["--max-pages", "1", "--mirror", "p", seed])
            if piece.status == 0 { break }
            #expect(piece.status == 130 && run < 29, "\(piece.errors)")
        }
        #expect(files("p", site) == files("m", site))
        // An image is as deep as its page.
        #expect(try crawl("flat", ["--depth", "0", "--mirror", "f", seed]).status == 0)
        let flat = files("f", site)
        #expect(
            flat == [
                "d/i.png", "d/index.html", "img/1.png", "img/real.png", "style/a.css",
                "style/s.js@v=1",
            ])
        // Lost files come back.
        let lost = "m/http/127.0.0.1:\(site.server.port)/img/p.png"
        try FileManager.default.removeItem(atPath: smallweb.home.file(lost))
        let asked = site.requests.count
        #expect(try crawl("s", ["--mirror", "m", seed]).status == 0)
        #expect(site.requests.dropFirst(asked) == ["/img/p.png"])
        #expect(smallweb.home.content(lost) == Array("p".utf8))
    }

    @Test func itIsLeftOutIfOneSaysSo() throws {
        let other = try CrawlWebTests.Site([:])
        let site = try site(other)
        let words = ["--mirror", "m", site.place + "/d/"]
        let result = try crawl("s", ["--no-embedded"] + words)
        #expect(result.status == 0 && result.errors.contains("embedded 9"), "\(result.errors)")
        #expect(files("m", site) == Self.linked)
        let wider = try crawl("s", words)
        #expect(wider.status == 2 && wider.errors.contains("another --no-embedded"))
        // Also where it waits.
        #expect(try crawl("t", ["--max-pages", "1"] + words).status == 130)
        let narrower = try crawl("t", ["--no-embedded"] + words)
        #expect(
            narrower.status == 0 && narrower.errors.contains("embedded 7"), "\(narrower.errors)")
        #expect(files("m", site) == Self.linked)
        let check = try crawl("check", ["--check", "--no-embedded", site.place + "/d/"])
        #expect(check.status == 0 && !site.requests.contains("/img/1.png"), "\(check.text)")
        #expect(try crawl("u", ["--no-embedded", site.place + "/d/"]).status == 2)
    }

    /// A server that fails one request in five.
    @Test(arguments: ["crawl", "mirror", "archive", "check"])
    func aServerThatFailsAtTimes(_ mode: String) throws {
        let links = (1...30).map { $0 % 3 == 0 ? "<img src=/i/\($0)>" : "<a href=/p/\($0)>A</a>" }
        let count = Monitor(0)
        let space = try CrawlTruthTests.Space(scheme: "http") { path, _ in
            let number = count.update { number in
                number += 1
                return number
            }
            return number % 5 == 0
                ? "5 later\r\n" : "2 text/html\r\n" + (path == "/" ? links.joined() : path)
        }
        let words = (CrawlTruthTests.modes[mode] ?? []) + [space.place + "/"]
        let wanted = mode == "mirror" || mode == "check" ? 31 : 21
        let whole = try crawl("whole", ["--retry", "5", "--retry-delay", "0"] + words)
        #expect(whole.status == 0, "\(whole.text)\(whole.errors)")
        #expect(Set(space.requests).count == wanted + 1)
        if mode == "mirror" {
            #expect(smallweb.home.files(below: "m").count == wanted)
            try FileManager.default.removeItem(atPath: smallweb.home.file("m"))
        }
        if mode == "archive" {
            try FileManager.default.removeItem(atPath: smallweb.home.file("a.warc"))
        }
        var statuses: [Int32] = []
        for _ in 1...9 where statuses.last != 0 {
            statuses.append(try crawl("parts", ["--retry", "0"] + words).status)
        }
        #expect(statuses.count > 1 && statuses.dropLast().allSatisfy { $0 == 75 }, "\(statuses)")
        #expect(statuses.last == 0)
        if mode == "mirror" { #expect(smallweb.home.files(below: "m").count == wanted) }
    }

    /// The state of a version that took pages of HTML for ends.
    @Test func statesOfOlderVersionsGoOn() throws {
        let site = try CrawlWebTests.Site([
            "/": "<a href=a>A</a>", "/a": "<a href=b>B</a>", "/b": "b",
        ])
        let capsule = try CrawlTruthTests.Space { _, _ in "2 text/gemini\r\n=> /x\n" }
        for (place, asked) in [(site.place, ["/", "/a", "/b"]), (capsule.place, [])] {
            let name = String(place.prefix(4))
            let page = #""n":0,"url":"\#(place)/""#
            let lines = [
                #"{"type":"crawl","v":1,"seeds":["\#(place)/"],"scope":"prefix","#
                    + #""as":"archiver,indexer,researcher"}"#,
                #"{"type":"robots","v":1,"place":"\#(place)","#
                    + #""time":{"start":1795680000},"lines":[]}"#,
                #"{"type":"found","v":1,\#(page),"depth":0}"#,
                #"{"type":"response","v":1,\#(page),"outcome":"ok","status":200,"size":15}"#,
            ]
            _ = try smallweb.run(["--version"])
            let text = lines.map {
                $0 + String(repeating: " ", count: 15 - $0.utf8.count % 16) + "\n"
            }
            try Data(text.joined().utf8).write(to: URL(fileURLWithPath: smallweb.home.file(name)))
            for status in asked.isEmpty ? [0] : [130, 130, 0, 0] {
                let result = try crawl(name, ["--max-pages", "1", place + "/"])
                #expect(result.status == Int32(status), "\(result.errors)")
                let isFirst = asked.isEmpty || site.requests.count == 2
                #expect(
                    result.errors.contains("before links of HTML were read, so asked again: 1")
                        == (isFirst && !asked.isEmpty), "\(result.errors)")
            }
            let requests = asked.isEmpty ? capsule.requests : site.requests
            #expect(requests.filter { $0 != "/robots.txt" } == asked)
        }
    }
}
