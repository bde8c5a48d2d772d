// SPDX-License-Identifier: MIT
import Foundation
import Glibc
import SmallWebTestSupport
import Testing

/// Pages of HTML as pages of a crawl.
@Suite struct CrawlWebTests {
    private let smallweb = Smallweb()

    /// A server of HTTP whose replies are written without their lengths. Another path is 404.
    final class Site: Sendable {
        let server: LoopbackServer
        private let asked = Monitor([String]())

        /// - Parameter pages: By path, a body of HTML, or `HTTP `, a status, fields and a body.
        init(_ pages: [String: String], headless: Set<String> = []) throws {
            let asked = asked
            server = try LoopbackServer { peer in
                while let request = WebRequest(from: peer) {
                    asked.update { $0.append(request.target) }
                    let isHead = request.method == "HEAD"
                    let page = pages[request.target] ?? "HTTP 404\r\n\r\nno"
                    let refuses = isHead && headless.contains(request.target)
                    peer.write(Self.reply(refuses ? "HTTP 405\r\n\r\n" : page, isHead: isHead))
                }
            }
        }

        static func reply(_ page: String, isHead: Bool) -> String {
            let isWhole = page.hasPrefix("HTTP ")
            let text = isWhole ? page : "HTTP 200\r\nContent-Type: text/html\r\n\r\n" + page
            let end = text.range(of: "\r\n\r\n") ?? text.endIndex..<text.endIndex
            let head = text[..<end.lowerBound].dropFirst(5).replacing(
                "\r\n", with: " X\r\n", maxReplacements: 1)
            let (body, line) = (text[end.upperBound...], head.contains("\r\n") ? head : head + " X")
            return "HTTP/1.1 \(line)\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
                + (isHead ? "" : body)
        }

        var place: String { "http://127.0.0.1:\(server.port)" }
        var requests: [String] { asked.update { $0 } }
    }

    private func crawl(_ words: String...) throws -> Smallweb.Result {
        try smallweb.run(["crawl", "--per-host-delay", "0", "--state", "s"] + words)
    }

    private func paths(_ site: Site) -> [String] {
        site.requests.filter { $0 != "/robots.txt" }.sorted()
    }

    @Test func pagesLeadOn() throws {
        let site = try Site([
            "/d/": """
            <base href="x/"><a href=a>A</a><a href="../b#c">B</a><a href="">self</a><a href=#z>
            <img src=i.png><link rel=stylesheet href=/s.css><iframe src=f></iframe>
            <a href=/out>O</a><a href="mailto:a@b.c">M</a><a href="../b">again</a>
            """,
            "/d/x/a": "<a href=/d/>home</a>", "/d/b": "<meta http-equiv=refresh content='0; m'>",
            "/d/m": "HTTP 302\r\nLocation: /d/n\r\n\r\n", "/d/n": "n", "/d/x/f": "f",
        ])
        let result = try crawl(site.place + "/d/")
        #expect(result.status == 0, "\(result.errors)")
        #expect(
            paths(site) == ["/d/", "/d/b", "/d/m", "/d/n", "/d/x/", "/d/x/a", "/d/x/f"],
            "\(site.requests)")
        #expect(
            result.errors.contains("not followed: embedded 2, scope 1, unsupported 1"),
            "\(result.errors)")
    }

    /// Each way in which a page says that its links are not to be followed, and to whom.
    @Test(arguments: [
        ("", "rel=nofollow", "", true), ("", "rel='me NoFollow'", "", true),
        ("", "rel=follow", "", false),
        ("<meta name=robots content=nofollow>", "", "", true),
        ("<META NAME=Robots CONTENT='noindex, NONE'>", "", "", true),
        ("<meta name=smallweb content=none>", "", "", true),
        ("<meta name=indexer content=nofollow>", "", "", true),
        ("<meta name=archiver content=nofollow>", "", "", false),
        ("<meta name=other content=nofollow>", "", "", false),
        ("<meta name=robots content='noindex'>", "", "", false),
        ("", "", "X-Robots-Tag: nofollow", true),
        ("", "", "x-robots-tag: noindex\r\nX-Robots-Tag: NONE", true),
        ("", "", "X-Robots-Tag: other: noindex, smallweb: noarchive, nofollow", true),
        ("", "", "X-Robots-Tag: indexer: none", true),
        ("", "", "X-Robots-Tag: archiver: none", false),
        ("", "", "X-Robots-Tag: other: noindex, nofollow", false),
        ("", "", "X-Robots-Tag: max-image-preview: none", false),
        ("", "", "X-Robots-Tag: unavailable_after: Friday, 25-Jun-10 15:00:00 PST, nofollow", true),
    ])
    func nofollowHolds(_ meta: String, _ rel: String, _ field: String, _ holds: Bool) throws {
        let fields = field.isEmpty ? "" : "\r\n" + field
        let page = """
            <head><link rel=next href=/next>\(meta)</head><h1>T</h1><a \(rel) href=/gone>G</a>
            """
        for (mode, words) in [
            ("crawl", []), ("check", ["--check"]), ("mirror", ["--mirror", "m"]),
        ] {
            let site = try Site([
                "/": "HTTP 200\r\nContent-Type: text/html\(fields)\r\n\r\n" + page, "/next": "n",
            ])
            let result = try smallweb.run(
                ["crawl", "--per-host-delay", "0", "--state", mode, "--as", "indexer"] + words
                    + [site.place + "/"])
            // A relation is about its link alone.
            let count = holds ? rel.isEmpty ? 2 : 1 : 0
            #expect(site.requests.contains("/gone") == !holds, "\(mode)")
            #expect(site.requests.contains("/next") == (count < 2), "\(mode)")
            #expect(result.errors.contains("nofollow \(count)") == (count > 0), "\(result.errors)")
            #expect(result.status == (mode == "check" && !holds ? 22 : 0), "\(mode)")
        }
    }

    // MARK: Faults

    /// Markup on a line of a page, its target, and the outcome.
    private struct Fault {
        let page, markup, target, outcome: String

        init(_ page: String, _ markup: String, _ target: String, _ outcome: String = gone) {
            (self.page, self.markup, self.target, self.outcome) = (page, markup, target, outcome)
        }
        static let gone = "permanent-failure"
    }

    /// Paths are those of the site; `DEAD` is a server that is gone.
    private static let faults = [
        Fault("", "<a href=missing>A</a>", "/d/missing"),
        Fault("", "<a href='/out/missing.html#part'>out</a>", "/out/missing.html"),
        Fault("", "<A HREF=\"../out/410\">410</A>", "/out/410"),
        Fault("", "<a href=500>500</a>", "/d/500", "temporary-failure"),
        Fault("", "<p><a href=/out/503>503", "/out/503", "temporary-failure"),
        Fault("", "<a href='http://DEAD/x'>refused</a>", "http://DEAD/x", "connect"),
        Fault(
            "", "<a href=http://nowhere.invalid/>N</a>", "http://nowhere.invalid/", "resolve"),
        Fault("", "<a href='http://[x/'>no URL</a>", "http://[x/", "bad-url"),
        Fault("", "<a href=moved-to-nothing>M</a>", "/d/moved-to-nothing"),
        Fault("", "<a href=chain1>three, and nothing</a>", "/d/chain1"),
        Fault("", "<a href=loop>L</a>", "/d/loop", "too-many-redirects"),
        Fault("", "<a href=long1>six</a>", "/d/long1", "too-many-redirects"),
        Fault("", "<a href=mailed>to a letter</a>", "/d/mailed", "redirect-refused"),
        Fault("", "<a href='q?a=1&amp;b=2'>entity</a>", "/d/q?a=1&b=2"),
        Fault("", "<a href=&#109;issing&#x31;>numbers</a>", "/d/missing1"),
        Fault("", "<a href='a file'>blank</a>", "/d/a%20file"),
        Fault("", "<a href='grün/☃'>not ASCII</a>", "/d/gr%C3%BCn/%E2%98%83"),
        Fault("", "<a href=' bro\tken\n'>tab</a>", "/d/broken"),
        Fault("", "<div hidden><a href=hidden-a>H</a></div>", "/d/hidden-a"),
        Fault("", "<noscript><a href=noscript-a>N</a></noscript>", "/d/noscript-a"),
        Fault("", "<map><area href=area.html alt=A></map>", "/d/area.html"),
        Fault("", "<iframe src=iframe.html></iframe>", "/d/iframe.html"),
        Fault("media", "<img src=image.png alt='An image'>", "/d/image.png"),
        Fault("media", "<img src=/out/image.png>", "/out/image.png"),
        Fault("media", "<img src=ok.png srcset='ok.png 1x, two.png 2x'>", "/d/two.png"),
        Fault(
            "media", "<picture><source srcset=source.webp><img src=ok.png></picture>",
            "/d/source.webp"),
        Fault("media", "<script src=script.js></script>", "/d/script.js"),
        Fault("media", "<link rel='stylesheet' href=style.css>", "/d/style.css"),
        Fault("media", "<link rel='shortcut icon' href=/favicon.ico>", "/favicon.ico"),
        Fault("media", "<video src=film.mp4 poster=ok.png></video>", "/d/film.mp4"),
        Fault("media", "<video poster=poster.png></video>", "/d/poster.png"),
        Fault("media", "<audio src=sound.ogg></audio>", "/d/sound.ogg"),
        Fault("media", "<video><track src=words.vtt></video>", "/d/words.vtt"),
        Fault("media", "<embed src=embed.svg>", "/d/embed.svg"),
        Fault("media", "<object data=object.svg></object>", "/d/object.svg"),
        Fault("media", "<input type=image src=button.png>", "/d/button.png"),
        Fault("frames", "<frameset><frame src=frame.html>", "/d/frame.html"),
        Fault("head", "<meta http-equiv=Refresh content='5; URL=refreshed'>", "/d/refreshed"),
        Fault("head", "<link rel=next href=next.html>", "/d/next.html"),
        Fault("base", "<a href=relative>to the base</a>", "/d/base/relative"),
    ]

    /// Links without a fault.
    private static let fine = [
        "<a href=media>M</a><a href=frames>F</a><a href=head>H</a><a href=base>B</a><a href='#no'>",
        "<a href='javascript:gone()'>J</a><a href='mailto:a@b.c'>M</a><a href='tel:1'>T</a>",
        "<img src='data:image/gif;base64,R0lGODlhAQ=='><img src=''><!-- <a href=comment> -->",
        "<script>'<a href=script-text>'</script><style>/* <a href=style-text> */</style>",
        "<template><a href=template-a></a></template><textarea><a href=text-a></textarea>",
        "<a href=nofollow rel='external nofollow'>N</a><a href=closed/x>C</a><a href=meta>M</a>",
        "<a href=tagged>T</a><a href='media#no-such-part'>part</a><a href=/out/headless>HEAD</a>",
        "<a href=moved>moved</a><a href=ok1>five</a><a href='http://10.1.2.3/'>private</a>",
        "<a href='gopher://DEAD/'>no HTTP</a><a name=x>anchor</a><a href='ftp://x.invalid/'>F</a>",
    ]

    private static func site(dead: String) -> [String: String] {
        func moved(_ target: String) -> String { "HTTP 302\r\nLocation: \(target)\r\n\r\n" }
        var pages = [
            "/robots.txt":
                "HTTP 200\r\nContent-Type: text/plain\r\n\r\nUser-agent: *\nDisallow: /d/closed/\n",
            "/out/410": "HTTP 410\r\n\r\n", "/d/500": "HTTP 500\r\n\r\n",
            "/out/503": "HTTP 503\r\n\r\n",
            "/d/moved-to-nothing": moved("/out/nothing"), "/d/loop": moved("loop"),
            "/d/mailed": moved("mailto:a@b.c"), "/d/moved": moved("ok.png"),
            "/d/ok.png": "HTTP 200\r\nContent-Type: image/png\r\n\r\nx", "/out/headless": "x",
            "/d/meta": "<meta name=robots content=nofollow><a href=meta-a>x</a><img src=meta-i>",
            "/d/tagged":
                "HTTP 200\r\nContent-Type: text/html\r\nX-Robots-Tag: none\r\n\r\n"
                + "<a href=tagged-a>x</a>",
            "/d/q?a=1&amp;b=2": "x",
        ]
        for index in 1...2 { pages["/d/chain\(index)"] = moved("chain\(index + 1)") }
        for index in 1...6 { pages["/d/long\(index)"] = moved("long\(index + 1)") }
        for index in 1...5 {
            pages["/d/ok\(index)"] = moved(index < 5 ? "ok\(index + 1)" : "ok.png")
        }
        pages["/d/long7"] = "x"
        for (page, start) in [
            "": "", "media": "", "frames": "", "head": "", "base": "<base href=base/>",
        ] {
            let faults = faults.filter { $0.page == page }.map(\.markup)
            let text = ([start] + faults + (page.isEmpty ? fine : [])).joined(separator: "\n")
            pages["/d/" + page] = text.replacing("DEAD", with: dead)
        }
        return pages
    }

    /// A site with forty faults: each of them with page and line, and nothing else.
    @Test func plantedFaultsAreFound() throws {
        let gone = try Site([:])
        let dead = "127.0.0.1:\(gone.server.port)"
        gone.server.stop()
        let site = try Site(Self.site(dead: dead), headless: ["/out/headless"])
        var (wanted, lines): (Set<String>, [String: Int]) = ([], [:])
        for fault in Self.faults {
            let line = lines[fault.page, default: 2]
            lines[fault.page] =
                line + fault.markup.split(separator: "\n", omittingEmptySubsequences: false).count
            let isPath = fault.target.hasPrefix("/")
            let target = (isPath ? site.place : "") + fault.target.replacing("DEAD", with: dead)
            wanted.insert("\(fault.outcome)\t\(target)\t\(site.place)/d/\(fault.page)\t\(line)")
        }
        #expect(wanted.count == 40)
        // A server at a private address is asked if it is given.
        let result = try crawl("--check", site.place + "/d/", "http://\(dead)/")
        let found = Set(result.text.split(separator: "\n").map(String.init))
        #expect(result.status == 22, "\(result.errors)")
        for row in wanted.subtracting(found).sorted() { Issue.record("missing: \(row)") }
        for row in found.subtracting(wanted).sorted() { Issue.record("no fault: \(row)") }
        #expect(site.requests.filter { $0 == "/out/image.png" }.count == 1)
        for path in ["nofollow", "closed/x", "meta-a", "meta-i", "tagged-a"] {
            #expect(!site.requests.contains("/d/" + path), "\(path)")
        }
    }
}
