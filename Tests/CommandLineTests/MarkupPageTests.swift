// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

/// Pages of HTML and Markdown, whatever scheme they come by.
@Suite struct MarkupPageTests {
    private let smallweb = Smallweb()

    /// A page with its URL, over HTTP and Gemini.
    private func pages(_ type: String, _ body: String) throws -> [(server: Any, url: String)] {
        let capsule = try ChangingCapsule(["/d/page": "20 \(type)\r\n\(body)"])
        let server = try web(["/d/page": (type, body)])
        return [
            (capsule, capsule.place + "/d/page"),
            (server, "http://127.0.0.1:\(server.port)/d/page"),
        ]
    }

    private func web(
        _ pages: [String: (type: String, body: String)], _ asked: Recorder<WebRequest> = Recorder()
    ) throws -> LoopbackServer {
        try LoopbackServer { peer in
            guard let request = WebRequest(from: peer) else { return }
            asked.add(request)
            guard let (type, body) = pages[request.target] else {
                return _ = peer.write("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")
            }
            peer.write(
                "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\n"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
        }
    }

    private static let html = """
        <!doctype html><title>T</title><link rel=stylesheet href=s.css>
        <h1>H&eacute;llo</h1><p>See <a href="b.html?x=1&amp;y">the
        manual</a><br>now<ul><li>a<ul><li>b</ul></ul><ol><li>c</ol>
        <table><tr><th>N<th>S<tr><td>x<td>1</table><hr><img src=i.png alt=Pic>
        <pre> code
          <a href=c>here</a></pre><script>alert(1)</script>
        """
    private static let markdown = """
        # H\u{E9}llo

        See [the manual](b.html?x=1&y)\\
        now

        * a
          * b

        1. c

        | N | S |
        |---|---|
        | x | 1 |

        ***

        ![Pic](i.png)

        <pre> code
          <a href=c>here</a></pre>
        """

    /// Both pages say the same, and so are shown as the same.
    @Test(arguments: [("text/html", html), ("text/markdown; charset=utf-8", markdown)])
    func isLaidOut(_ type: String, _ body: String) throws {
        for (server, url) in try pages(type, body) {
            try withExtendedLifetime(server) {
                let base = String(url.dropLast(4))
                let text = try smallweb.run(["get", "--render", "text", url])
                #expect(
                    text.text == """
                        # Héllo

                        See the manual[1]
                        now

                        • a
                          • b
                        1. c

                        N  S
                        x  1

                        ----------------------------------------

                        [Pic]

                         code
                          here[2]

                        [1] \(base)b.html?x=1&y
                        [2] \(base)c

                        """, "\(url) \(text.errors)")
                let open = try smallweb.run(["open", url])
                #expect(open.text == text.text, "\(url)")
                let html = try smallweb.run(["get", "--render", "html", url]).text
                #expect(
                    html.hasPrefix(
                        """
                        <h1>Héllo</h1>
                        <p>See <a href="\(base)b.html?x=1&amp;y">the manual</a><br>
                        now</p>
                        <ul>
                        <li>a
                        <ul>
                        <li>b</li>
                        </ul>
                        </li>
                        </ul>
                        <ol>
                        <li value="1">c</li>
                        </ol>
                        <table>
                        <tr><th>N</th><th>S</th></tr>
                        <tr><td>x</td><td>1</td></tr>
                        </table>
                        <hr>
                        <p>[Pic]</p>
                        <pre>
                         code
                        """), "\(url) \(html)")
                #expect(!html.contains("script") && !html.contains("i.png"))
                let markdown = try smallweb.run(["get", "--render", "markdown", url]).text
                #expect(
                    markdown.hasPrefix(
                        """
                        # Héllo

                        See [the manual](<\(base)b.html?x=1\\&y>)\\
                        now

                        * a
                          * b
                        1. c

                        <!-- -->

                        | N | S |
                        | --- | --- |
                        | x | 1 |

                        ***

                        \\[Pic\\]
                        """), "\(url) \(markdown)")
            }
        }
    }

    @Test func tablesStayApart() throws {
        let body = "<table><tr><th>A<th>B<tr><td>1<td>2</table><table><tr><th>X<tr><td>3</table>"
        for (server, url) in try pages("text/html", body) {
            try withExtendedLifetime(server) {
                let markdown = try smallweb.run(["get", "--render", "markdown", url]).text
                #expect(markdown.contains("| 1 | 2 |\n\n| X |\n| --- |\n| 3 |\n"), "\(markdown)")
                let text = try smallweb.run(["get", "--render", "text", url]).text
                #expect(text == "A  B\n1  2\n\nX\n3\n", "\(text)")
            }
        }
    }

    @Test func listsItsLinks() throws {
        for (server, url) in try pages("text/html", Self.html) {
            try withExtendedLifetime(server) {
                let base = String(url.dropLast(4))
                let links = try smallweb.run(["links", url])
                #expect(links.text == "\(base)b.html?x=1&y\tthe manual\n\(base)c\there\n")
                let all = try Records(smallweb.run(["links", "--all", "--json", url]).output)
                let elements = all["link"].map { $0["element"]?.string }
                #expect(elements == ["link", "a", "img", "a"], "\(url)")
                #expect(all["link"].map { $0["rel"]?.string } == ["stylesheet", "", "", ""])
                #expect(all["link"][2]["kind"]?.string == "image")
            }
        }
    }

    @Test(arguments: [
        ("<base href=/x/><a href=a>a</a>", "/x/a"),
        ("<base href=javascript:x><a href=a>a</a>", "/d/a"),
        ("<base href=/x/><base href=/y/><a href=a>a</a>", "/x/a"),
        ("<a href='a b\"c'>a</a>", "/d/a%20b%22c"), ("<a href=\u{E4}>a</a>", "/d/%C3%A4"),
        ("<a href=''>a</a>", "/d/page"),
    ])
    func resolvesAsHTMLDoes(_ body: String, _ path: String) throws {
        for (server, url) in try pages("text/html; charset=utf-8", body) {
            try withExtendedLifetime(server) {
                let place = String(url.dropLast("/d/page".utf8.count))
                let links = try smallweb.run(["links", url])
                #expect(links.text == "\(place)\(path)\ta\n", "\(url): \(links.text)")
            }
        }
    }

    @Test(
        arguments: [
            ("text/html", [0x3C, 0x70, 0x3E, 0xE9], "é"),
            ("text/html; charset=iso-8859-2", [0x3C, 0x70, 0x3E, 0xB1], "ą"),
            ("text/html", Array("<meta charset=koi8-r><p>".utf8) + [0xC1], "а"),
            ("text/html", [0xFF, 0xFE, 0x61, 0, 0xE9, 0], "aé"),
            ("text/html", Array("<p>\u{E9}".utf8), "é"),
            ("text/html; charset=utf-8", Array("<meta charset=koi8-r><p>\u{E9}".utf8), "é"),
        ] as [(String, [UInt8], String)])
    func readsItsCharset(_ type: String, _ body: [UInt8], _ shown: String) throws {
        let server = try LoopbackServer { peer in
            guard WebRequest(from: peer) != nil else { return }
            let head = "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nConnection: close\r\n\r\n"
            peer.write(Array(head.utf8) + body)
        }
        let text = try smallweb.run(["get", "--render", "text", "http://127.0.0.1:\(server.port)/"])
        #expect(text.text == shown + "\n")
    }

    // MARK: Feeds

    private static let atom = """
        <?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>F</title><id>f</id>
        <updated>2026-01-01T00:00:00Z</updated><entry><title>E</title><id>e</id>
        <link href="p"/><updated>2026-01-01T00:00:00Z</updated></entry></feed>
        """

    private static func page(_ target: String) -> String {
        """
        <title>T</title><link rel=alternate hreflang=de href=de.html>
        <link rel="alternate" type="application/atom+xml" href="\(target)">
        <h1>T</h1><h2>News</h2><p><time>2026-03-04</time> <a href=b>Second</a>
        <ul><li><a href=c>Third</a> (April 5, 2026)</ul>
        <p><a href=a>2026-02-03 First</a>
        """
    }

    @Test func aPageHasItsOwnFeed() throws {
        let asked = Recorder<WebRequest>()
        let server = try web(
            ["/": ("text/html", Self.page("f.xml")), "/f.xml": ("text/xml", Self.atom)], asked)
        let place = "http://127.0.0.1:\(server.port)"
        let feed = try smallweb.run(["feed", "-v", place + "/"])
        #expect(feed.status == 0 && feed.text.contains("<link href=\"\(place)/p\"/>"))
        #expect(feed.errors.contains("note: reading the page's feed: \(place)/f.xml"))
        #expect(asked.values.map(\.target) == ["/", "/f.xml"])
        // A part of the page is wanted.
        let part = try smallweb.run(["feed", "--under", "News", "--format", "rss", place + "/"])
        #expect(part.text.contains("<link>\(place)/a</link>") && part.status == 0)
        #expect(part.text.contains("<link>\(place)/b</link>"), "\(part.text)")
        #expect(part.text.contains("<link>\(place)/c</link>"), "\(part.text)")
    }

    @Test func aFeedThatIsMissingIsAFailure() throws {
        let server = try web(["/": ("text/html", Self.page("f.xml"))])
        let feed = try smallweb.run(["feed", "http://127.0.0.1:\(server.port)/"])
        #expect(feed.status == 22 && feed.text.isEmpty, "\(feed.errors)")
    }

    /// Header fields for one server go to no other, as after a redirect.
    @Test func secretsStayWithThePage() throws {
        let (asked, other) = (Recorder<WebRequest>(), Recorder<WebRequest>())
        let second = try web(["/f.xml": ("text/xml", Self.atom)], other)
        let target = "http://127.0.0.1:\(second.port)/f.xml"
        let server = try web(["/": ("text/html", Self.page(target))], asked)
        let url = "http://127.0.0.1:\(server.port)/"
        #expect(try smallweb.run(["feed", url]).status == 0 && other.values.count == 1)
        let refused = try smallweb.run(["feed", "-H", "X-Key: k", url])
        #expect(refused.status == 102 && other.values.count == 1, "\(refused.errors)")
        #expect(refused.errors.contains(target))
        let scheme = try web(["/": ("text/html", Self.page("gopher://127.0.0.1:9/0/f"))])
        #expect(try smallweb.run(["feed", "http://127.0.0.1:\(scheme.port)/"]).status == 102)
    }

    /// Wherever a redirect would not be followed, the page's feed is not asked for.
    @Test(arguments: [
        ["--no-location"], ["--proxy", "PLACE", "--noproxy", "other.test"], ["--netrc"],
        ["-H", "X-Key: k"], ["-H", "Cookie: a=b"],
    ])
    func theRulesOfRedirectsHold(_ options: [String]) throws {
        let (asked, other) = (Recorder<WebRequest>(), Recorder<WebRequest>())
        let second = try web(["/f.xml": ("text/xml", Self.atom)], other)
        let target = "http://other.test:\(second.port)/f.xml"
        let page = ("text/html", Self.page(target))
        let server = try web(["/": page, "http://page.test/": page], asked)
        let place = "http://127.0.0.1:\(server.port)"
        try smallweb.home.write("machine 127.0.0.1 login me password secret\n", to: ".netrc")
        chmod(smallweb.home.file(".netrc"), 0o600)
        let url = options.contains("PLACE") ? "http://page.test/" : place + "/"
        let words = options.map { $0 == "PLACE" ? place : $0 }
        let resolved = ["--resolve", "other.test:\(second.port):127.0.0.1"]
        let feed = try smallweb.run(["feed"] + resolved + words + [url])
        #expect(feed.status == 102 && feed.text.isEmpty, "\(feed.errors)")
        #expect(asked.values.count == 1 && other.values.isEmpty)
        guard !options.contains("PLACE") else { return }
        #expect(try smallweb.run(["feed"] + resolved + [url]).status == 0)
    }

    /// The server of the feed is not that of the page: rules for that one are not for it.
    @Test func theFeedHasTheRulesOfItsOwnServer() throws {
        let second = try LoopbackServer(tls: .make()) { peer in _ = peer.readLine() }
        let target = "https://127.0.0.1:\(second.port)/f.xml"
        let server = try web(["/": ("text/html", Self.page(target))])
        for (host, isRefused) in [("localhost", true), ("127.0.0.1", false)] {
            try smallweb.home.write(
                "[host \(host)]\ninsecure = true\n", to: ".config/smallweb/config")
            let feed = try smallweb.run(["feed", "http://localhost:\(server.port)/"])
            #expect((feed.status == 60) == isRefused, "\(host): \(feed.status) \(feed.errors)")
        }
    }

    @Test func aHeadingWithALinkIsAboutItsTarget() throws {
        let body = """
            <h1>T</h1><h2>2026-05-01 <a href=a>A</a></h2><p>x <a href=b>b</a>
            <h2><a href=c>C</a> 2026-05-02</h2><h2>2026-05-03 D</h2>
            """
        for (server, url) in try pages("text/html", body) {
            try withExtendedLifetime(server) {
                let base = String(url.dropLast(4))
                let feed = try smallweb.run(["feed", "--format", "gemtext", url]).text
                let links = feed.split(separator: "\n").filter { $0.hasPrefix("=>") }
                #expect(
                    links == [
                        "=> \(url)#2026-05-03%20D 2026-05-03 D", "=> \(base)c 2026-05-02 C",
                        "=> \(base)a 2026-05-01 A",
                    ], "\(feed)")
            }
        }
    }

    @Test func watchComparesItsText() throws {
        let capsule = try ChangingCapsule(["/": "20 text/html\r\n<p>a</p><p class=x>b"])
        func watch() throws -> String {
            try smallweb.run(["watch", "--state", "s", "--diff", capsule.place + "/"]).text
        }
        #expect(try watch().hasPrefix("new"))
        capsule.set("/", "20 text/html\r\n<div><p>a</p></div><p class=y>b")
        #expect(try watch().hasPrefix("unchanged"))
        capsule.set("/", "20 text/html\r\n<p>a</p><p class=y>c")
        let changed = try watch()
        #expect(changed.hasPrefix("changed") && changed.hasSuffix(" a\n-b\n+c\n"), "\(changed)")
    }
}
