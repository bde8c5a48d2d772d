// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// Pages as strangers write them, read as feeds, and pages that are watched.
@Suite struct FeedFormsTests {
    /// Existing feeds over any scheme, a list of them in OPML, and pages make one feed.
    @Test func feedsArePages() throws {
        let smallweb = Smallweb()
        let rss = """
            <rss version="2.0"><channel><title>R</title><item><title>Old &amp; new</title>
            <link>/old</link><pubDate>Sat, 06 Apr 2024 10:00:00 GMT</pubDate></item>
            </channel></rss>
            """
        let capsule = try ChangingCapsule([
            "/r": "20 application/rss+xml\r\n\(rss)", "/x": "20 text/xml\r\n<a/>\n",
            "/p": ChangingCapsule.gemtext("# P\n=> a 2024-04-07 Mine\n"),
        ])
        let place = capsule.place
        let pages = [("\(place)/r", "R"), ("\(place)/p", "")]
        for (url, title) in pages {
            let words = ["bookmarks", "add", url] + (title.isEmpty ? [] : [title])
            #expect(try smallweb.run(words).status == 0)
        }
        let opml = try smallweb.run(["bookmarks", "--opml"]).text
        try opml.write(toFile: smallweb.home.file("s.opml"), atomically: true, encoding: .utf8)
        let river = try smallweb.run(["feed", "-k", "--format", "gemtext", "@s.opml"])
        #expect(
            river.text == """
                # R, P

                => \(place)/a 2024-04-07 Mine
                => \(place)/old 2024-04-06 Old & new

                """, "\(river.errors)")
        #expect(try smallweb.run(["bookmarks", "import", "s.opml"]).errors == "imported 2\n")
        let links = try smallweb.run(["links", "-k", pages[0].0])
        #expect(links.text == "\(place)/old\t2024-04-06 Old & new\n" && links.status == 0)
        let opened = try smallweb.run(["open", "-k", pages[0].0]).text
        #expect(opened.hasPrefix("# R\n\n[1] 2024-04-06 Old & new\n"), "\(opened)")
        #expect(try smallweb.run(["get", "-k", pages[0].0]).text == rss)
        let absolute = rss.replacing("/old", with: place + "/old")
        #expect(try smallweb.run(["feed", "-k", pages[0].0]).text == absolute)
        let xml = try smallweb.run(["links", "-k", place + "/x"])
        #expect(xml.text.isEmpty && xml.errors.contains("text/xml that is neither Atom"))
        #expect(try smallweb.run(["open", "-k", place + "/x"]).text == "<a/>\n")
        let watched = ["watch", "--links", "-k", "--json", pages[0].0]
        _ = try smallweb.run(watched)
        capsule.set("/r", "20 application/rss+xml\r\n" + rss.replacing("/old", with: "/new"))
        #expect(try smallweb.run(watched).text.contains("\"added\":[\"\(place)/new\"]"))
    }

    private let smallweb = Smallweb()

    private func feed(
        _ page: String, type: String = "text/gemini", _ options: [String] = []
    ) throws -> Smallweb.Result {
        let capsule = try Capsule(page: Array("20 \(type)\r\n\(page)".utf8))
        let result = try smallweb.run(
            ["feed"] + (options.isEmpty ? ["--format", "gemtext"] : options)
                + [capsule.place + "/log/"])
        return Smallweb.Result(
            status: result.status,
            output: Array(result.text.replacing(capsule.place, with: "gemini://h").utf8),
            errors: result.errors)
    }

    @Test func linksBelowADaysHeadingHaveItsDate() throws {
        let page = """
            # CAPCOM

            ## 2026-06-07
            => gemini://a.example/x A
            => gemini://b.example/y 2025-01-01 B
            ### A note
            => gemini://c.example/z C
            ## Saturday, 6 June 2026
            => gemini://d.example/ D
            # About
            => gemini://e.example/ E
            """
        let result = try feed(page)
        #expect(
            result.text == """
                # CAPCOM

                => gemini://a.example/x 2026-06-07 A
                => gemini://c.example/z 2026-06-07 C
                => gemini://d.example/ 2026-06-06 D
                => gemini://b.example/y 2025-01-01 B

                """)
        #expect(result.errors.isEmpty)
    }

    @Test func theHeadingsOfATinylogAreEntries() throws {
        let page = """
            # Tiny
            ## Thoughts
            ## 2026-06-07 14:22 CEST
            Words, and
            => /x a link
            ## 2026-06-07 09:01 CEST
            More.
            ## 2026-06-05
            Without a time.
            """
        #expect(
            try feed(page).text == """
                # Tiny
                ## Thoughts

                => gemini://h/log/#2026-06-07%2014%3A22%20CEST 2026-06-07 2026-06-07 14:22 CEST
                => gemini://h/log/#2026-06-07%2009%3A01%20CEST 2026-06-07 2026-06-07 09:01 CEST
                => gemini://h/log/#2026-06-05 2026-06-05

                """)
    }

    /// A page about one day is not a list of the pages it links to.
    @Test func theTitleOfAPostIsNoDay() throws {
        let result = try feed("# 2026-06-07 A post\n=> /back Back\n")
        #expect(result.text == "# 2026-06-07 A post\n\n" && result.errors.contains("--new"))
        // But one that is a day, and nothing else, is.
        let days = try feed("# 2026-06-07\n=> /a A\n# 2026-06-06\n=> /b B\n")
        #expect(days.text.hasSuffix("=> gemini://h/a 2026-06-07 A\n=> gemini://h/b 2026-06-06 B\n"))
    }

    @Test(arguments: ["atom", "rss", "jsonfeed", "gemtext"], ["", "--new"])
    func whatABrowserWouldRunIsNoLink(_ format: String, option: String) throws {
        let schemes = ["javascript", "JavaScript", "data", "vbscript", "blob", "view-source"]
        let lines = schemes.map { "=> \($0):alert(1) 2026-03-19 js\n=> \($0)://x/%0A js\n" }
        let page = "# T\n" + lines.joined() + "=> ok.gmi 2026-03-15 ok\n"
        let menu =
            schemes.map { "h2026-03-19 js\tURL:\($0):alert(1)\th.example\t70\r\n" }.joined()
            + "02026-03-15 ok\t/ok.gmi\th.example\t70\r\n"
        let options = (option.isEmpty ? [] : [option]) + ["--format", format]
        for (page, type) in [(page, "text/gemini"), (menu, "application/gopher-menu")] {
            let result = try feed(page, type: type, options)
            #expect(result.status == 0 && result.text.contains("ok.gmi"), "\(result.text)")
            for scheme in schemes {
                #expect(!result.text.lowercased().contains(scheme.lowercased() + ":"))
            }
        }
    }

    @Test(arguments: [
        "<!DOCTYPE rdf:RDF [\n<!ENTITY % a PUBLIC \"-//W3C//ENTITIES > Latin 1//EN\" 'x.ent'>\n"
            + "<!-- ]> ' -->\n]>\n<rdf:RDF></rdf:RDF>\n",
        "<!DOCTYPE rss SYSTEM 'a>b'>\n<rss version='0.91'></rss>\n",
        "<!-- " + String(repeating: "long ", count: 2000) + "-->\n<feed></feed>\n",
        String(repeating: "\n", count: 6000)
            + "<?xml-stylesheet href='x'?><atom:feed></atom:feed>\n",
    ])
    func aFeedPassesThroughHoweverItsRootIsReached(_ document: String) throws {
        for type in ["text/xml", "application/xml", "application/rdf+xml", "text/plain"] {
            let capsule = try Capsule(page: Array("20 \(type)\r\n\(document)".utf8))
            let result = try smallweb.run(["feed", capsule.place + "/f.xml"])
            #expect(result.status == 0 && result.text == document, "\(type): \(result.errors)")
        }
    }

    // MARK: watch

    private func watch(
        _ old: String, _ new: String, _ options: String...
    ) throws -> Smallweb.Result {
        let capsule = try ChangingCapsule(["/": old])
        _ = try smallweb.run(["watch"] + options + [capsule.place + "/"])
        capsule.set("/", new)
        return try smallweb.run(["watch"] + options + [capsule.place + "/"])
    }

    @Test func aDifferenceThatIsNotShownHasAReason() throws {
        let large = String(repeating: "line\n", count: 300_000)
        for (old, new, reason) in [
            ("20 text/plain\r\na\r\nb\r\n", "20 text/plain\r\na\nb\n", "line ends"),
            ("20 text/plain\r\na\nb", "20 text/plain\r\na\nb\n", "line ends"),
            ("20 text/plain\r\na\n", "20 text/plain\r\n\(large)", "1 MiB"),
            ("20 text/plain\r\na\n", "20 image/png\r\nx", "image/png"),
        ] {
            let result = try watch(old, new, "--diff")
            #expect(result.text.hasPrefix("changed\t") && result.status == 0)
            #expect(result.errors.contains("--diff") && result.errors.contains(reason))
        }
    }

    @Test func aHeadingThatIsGoneIsAFailure() throws {
        let page = ChangingCapsule.gemtext("# H\ntext\n")
        for new in ["# Other\ntext\n", ""] {
            let result = try watch(page, ChangingCapsule.gemtext(new), "--under", "H")
            #expect(result.status == 8 && result.text.hasPrefix("failed\t"), "\(result)")
            #expect(result.errors.contains("\"H\""))
        }
        let record = try watch(page, "20 text/plain\r\ntext\n", "--json", "--under", "H")
        #expect(record.status == 8)
        #expect(try Records(record.output).all[0]["exit"]?.int == 8)
    }

    /// A feed is written all the same, of the pages that have the heading.
    @Test func aMissingHeadingIsNoSuccessOfAFeed() throws {
        let with = ChangingCapsule.gemtext("# H\n=> /a 2024-04-06 A\n")
        let without = ChangingCapsule.gemtext("# Other\n=> /b 2024-04-06 B\n")
        for (pages, status, count) in [
            ([with], 0, 1), ([without], 8, 0), ([with, without], 8, 1), ([without, with], 8, 1),
        ] {
            let capsules = try pages.map { try Capsule(page: Array($0.utf8)) }
            let urls = capsules.map { "\($0.place)/" }
            let result = try smallweb.run(["feed", "-k", "--under", "H"] + urls)
            #expect(Int(result.status) == status, "\(result.errors)")
            #expect(result.text.components(separatedBy: "<entry>").count - 1 == count)
            #expect(result.errors.contains("no heading \"H\"") == (status != 0))
        }
    }

    /// A host that failed is not asked again at once, and its failure is remembered.
    @Test func theRealStatusStaysBehindAPause() throws {
        let gone = try LoopbackServer(tls: .make()) { $0.reset() }
        let url = "gemini://127.0.0.1:\(gone.port)/"
        let failed = try smallweb.run(["watch", "--name", "r", url])
        #expect(failed.status != 75 && failed.status != 0)
        for _ in 0..<2 {
            let held = try smallweb.run(["watch", "--json", "--name", "r", url])
            #expect(held.status == 75 && held.errors.contains("exit status \(failed.status)"))
            let last = try Records(held.output).all[0]["last"]
            #expect(last?["exit"]?.int == Int(failed.status))
        }
    }
}
