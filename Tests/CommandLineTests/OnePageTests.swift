// SPDX-License-Identifier: MIT
import SmallWeb
import SmallWebTestSupport
import Testing

/// A page reads the same in `links`, `get --render`, `open`, `feed` and `watch`.
@Suite struct OnePageTests {
    private let smallweb: Smallweb = {
        var smallweb = Smallweb()
        smallweb.environment = ["NO_COLOR": "1", "PAGER": "", "COLUMNS": "60"]
        return smallweb
    }()

    private func run(_ words: String...) throws -> String { try smallweb.run(words).text }

    /// The end of a URL that was cut off leads elsewhere.
    @Test func theLastLineOfATruncatedPageIsNoLink() throws {
        let server = try LoopbackServer(tls: .make()) { peer in
            _ = peer.readLine()
            peer.write("20 text/gemini\r\n=> /whole 2026-01-02 A\n=> /hal")
            peer.fin()
        }
        let place = "gemini://127.0.0.1:\(server.port)"
        let html = try run("get", "--render", "html", place + "/")
        #expect(html.contains("href=\"\(place)/whole\"") && html.contains("<p>=&gt; /hal</p>"))
        for command in [["get", "--render", "plain"], ["open"]] {
            let shown = try smallweb.run(command + [place + "/"]).text
            #expect(shown.hasSuffix("=> /hal\n\n[1] \(place)/whole\n"), "\(shown)")
        }
        #expect(try run("links", place + "/") == "\(place)/whole\t2026-01-02 A\n")
    }

    @Test func theLastLineOfAListingIsShown() throws {
        let server = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write("words\n=> a A\nno end")
        }
        let url = "nex://127.0.0.1:\(server.port)/dir/"
        #expect(try run("open", url).hasPrefix("words\n[1] A\nno end\n"))
        let html = try run("get", "--render", "html", url)
        #expect(html.contains("<pre>\nwords\n</pre>") && html.hasSuffix("<pre>\nno end\n</pre>\n"))
        #expect(try run("get", "--render", "markdown", url).hasSuffix("\n\n    no end\n\n"))
    }

    @Test func aPromptIsALinkToWatch() throws {
        let server = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write("2 text/gemini\r\n=> /a A\n=: /p Say\n")
        }
        let place = "spartan://127.0.0.1:\(server.port)"
        #expect(try run("links", place + "/") == "\(place)/a\tA\n\(place)/p\tSay\n")
        _ = try run("watch", "--links", place + "/")
        let copies = smallweb.home.files(below: ".local/state/smallweb/watch")
            .filter { $0.hasSuffix(".links") }
        let links = try copies.map { name in
            String(
                decoding: try #require(
                    smallweb.home.content(".local/state/smallweb/watch/" + name)), as: UTF8.self)
        }
        #expect(links == ["\(place)/a\n\(place)/p\n"], "\(copies)")
    }

    @Test func aCommitIsNoLink() throws {
        let server = try LoopbackServer(handler: DemoSites.git)
        let url = "git://127.0.0.1:\(server.port)/demo.git?log=main"
        #expect(try run("links", url).isEmpty)
        for words in [["links"], ["get", "--with-links"]] {
            let records = try Records(try smallweb.run(words + ["--json", url]).output)
            #expect(records["link"].isEmpty && records.terminal[0]["links"]?.int == 0)
        }
        #expect(!(try run("get", "--render", "html", url)).contains("<a "))
        #expect(try run("feed", "--format", "gemtext", url).contains("=> "))
    }

    @Test func openLeavesOutTheControlSequencesOfAText() throws {
        let text = "20 text/plain\r\n\u{FEFF}a\u{1B}[31mb\tc\u{7}\n"
        let capsule = try Capsule(page: Array(text.utf8))
        #expect(try run("open", capsule.place + "/") == "ab\tc\\x07\n")
        let html = try run("get", "--render", "html", capsule.place + "/")
        #expect(html == "<pre>\nab\tc\n</pre>\n")
    }

    /// The rest of a long line is not looked at for a mark, by no reader.
    @Test func aLongLineHasOneBeginning() throws {
        let page = "20 text/gemini\r\n" + String(repeating: "é", count: 32_768) + "# H\n=> a\n"
        let capsule = try Capsule(page: Array(page.utf8))
        #expect(!(try run("get", "--render", "html", capsule.place + "/")).contains("<h1>"))
        let watched = try smallweb.run(["watch", "--under", "H", capsule.place + "/"])
        #expect(watched.status == 8, "\(watched.errors)")
        #expect(try run("feed", "--format", "gemtext", capsule.place + "/").hasPrefix("# gemini:"))
    }
}
