// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// The commands that read a page: `links`, `head`, `open`, and pages laid out by `get`.
@Suite struct ReadingTests {
    private let smallweb = Smallweb()

    private func terminal(_ columns: Int, _ more: [String: String] = [:]) -> Smallweb {
        var smallweb = smallweb
        smallweb.environment = ["SMALLWEB_FORCE_TTY": "\(columns)", "PAGER": ""]
        smallweb.environment.merge(more) { $1 }
        return smallweb
    }

    /// A gemini server with one page.
    private func page(_ body: String, type: String = "text/gemini") throws -> Capsule {
        let reply = Array("20 \(type)\r\n\(body)".utf8)
        return try Capsule(page: reply)
    }

    // MARK: links

    @Test func linksAreLinesOfURLAndText() throws {
        let capsule = try Capsule()
        let place = capsule.place
        let result = try smallweb.run(["links", place + "/links/"])
        #expect(result.status == 0, "\(result.errors)")
        #expect(
            result.text == """
                \(place)/about\tAbout   this capsule
                \(place)/links/1k\t
                \(place)/1k?q#part\tOne more
                gopher://127.0.0.1/1/menu\tA hole
                mailto:ada@example.org\t
                https://example.org/a.png\tA picture
                https://xn--bcher-kva.example/%C3%A4\tBooks

                """)
        #expect(try smallweb.run(["ls", place + "/links/"]).text == result.text)
    }

    @Test func linksAreRecordsBeforeTheirPagesOwn() throws {
        let capsule = try Capsule()
        let result = try smallweb.run(["links", "--json", capsule.place + "/links/"])
        let records = try Records(result.output)
        #expect(records.all.count == 9 && records.all[8]["type"]?.string == "response")
        #expect(records.all[8]["links"]?.int == 8)
        #expect(records.all[8]["body"]?["omitted"]?.string == "none-requested")
        let links = records["link"]
        #expect(links.map { $0["i"]?.int } == Array(0..<8))
        #expect(links.map { $0["line"]?.int } == [2, 3, 5, 6, 7, 11, 12, 14])
        #expect(
            links.map { $0["kind"]?.string } == [
                "link", "link", "link", "link", "external", "image", "link", "link",
            ])
        #expect(
            links.map { $0["same_host"]?.bool } == [
                true, true, true, true, false, false, nil, false,
            ])
        #expect(links[2]["raw"]?.string == "../1k?q#part" && links[2]["text"]?.string == "One more")
        #expect(links[6]["url"] == .null && links[6]["raw"]?.string == "http://[broken")
    }

    @Test func linksOfARedirectedPageAreRelativeToItsEnd() throws {
        let server = try LoopbackServer(tls: .make()) { peer in
            let line = String(decoding: peer.readLine() ?? [], as: UTF8.self)
            peer.write(line.contains("/b/") ? "20 text/gemini\r\n=> c\n" : "31 /b/d\r\n")
        }
        let place = "gemini://127.0.0.1:\(server.port)"
        #expect(try smallweb.run(["links", place + "/a"]).text == "\(place)/b/c\t\n")
    }

    @Test func linksOfMenusHaveTheFieldsOfTheirLines() throws {
        let hole = try Hole()
        let result = try smallweb.run(["links", "--json", hole.place])
        let links = try Records(result.output)["link"]
        #expect(links.count == 8)
        #expect(links[0]["gopher"]?["selector"]?.string == "/about.txt")
        #expect(links[0]["gopher"]?["type"]?.string == "0")
        #expect(links[0]["gopher"]?["port"]?.int == Int(hole.server.port))
        #expect(links[0]["line"]?.int == 2)
        #expect(links[6]["kind"]?.string == "external")
        let plain = try smallweb.run(["links", hole.place]).text
        #expect(plain.hasPrefix("\(hole.place)/0/about.txt\tAbout\n"))
        #expect(!plain.contains("small gopher hole"))
        let all = try smallweb.run(["links", "--all", hole.place]).text
        #expect(all.hasPrefix("\tA small gopher hole\n\(hole.place)/0/about.txt\tAbout\n"))
        let records = try Records(
            try smallweb.run(["links", "--all", "--json", hole.place]).output)
        #expect(records["link"].count == 10 && records["link"][0]["url"] == .null)
    }

    @Test func linksOfADirectoryInGitAreItsEntries() throws {
        let server = try LoopbackServer(handler: DemoSites.git)
        let place = "git://127.0.0.1:\(server.port)/demo.git//"
        let result = try smallweb.run(["links", place])
        #expect(result.text == "\(place)README.md\tREADME.md\n\(place)docs\tdocs\n")
    }

    @Test(arguments: [["-O"], ["-o", "docs.txt"]])
    func aSavedListingSaysWhichOptionSavesTheFiles(_ options: [String]) throws {
        let server = try LoopbackServer(handler: DemoSites.git)
        let place = "git://127.0.0.1:\(server.port)/demo.git//"
        let screen = try Screen(isTerminal: true)
        let words = ["get"] + options
        #expect(try smallweb.run(words + [place + "docs"], on: screen) { _ in } == 0)
        let note = "\(place)docs: note: saved a list of names; use --tar for the files\r\n"
        #expect(screen.shown.contains(note), "\(screen.shown)")
        let second = try smallweb.run(words + [place + "docs"]).errors
        let renamed = "docs exists: written to docs.1\n"
        #expect(options == ["-O"] ? second.hasSuffix(renamed) : second == "")
        // No note if the listing is shown, or for a file.
        for others in [["get", place + "docs"], words + [place + "README.md"]] {
            let screen = try Screen(isTerminal: true)
            #expect(try smallweb.run(others, on: screen) { _ in } == 0)
            #expect(!screen.shown.contains("--tar"), "\(screen.shown)")
        }
    }

    @Test func pagesWithoutLinksSayso() throws {
        let capsule = try Capsule()
        let result = try smallweb.run(["links", "--json", capsule.place + "/1k"])
        let records = try Records(result.output)
        #expect(records.all.count == 1 && records.all[0]["links"]?.int == 0)
        #expect(result.errors == "", "the record has it")
        #expect(records.all[0]["warnings"]?.array.first?["code"]?.string == "no-links")
        // A script takes an empty list for one that is complete.
        let plain = try smallweb.run(["links", capsule.place + "/1k"])
        let note = "smallweb: \(capsule.place)/1k: note: links are not read from text/plain\n"
        #expect(plain.text == "" && plain.errors == note && plain.status == 0)
        #expect(try smallweb.run(["links", "-q", capsule.place + "/1k"]).errors == "")
        // It is complete, so that only a person is told why nothing is shown.
        let page = capsule.place + "/about"
        #expect(try smallweb.run(["links", page]).errors == "")
        let screen = try Screen(isTerminal: true)
        #expect(try smallweb.run(["links", page], on: screen) { _ in } == 0)
        #expect(screen.shown.contains("note: the page has no links\r\n"), "\(screen.shown)")
    }

    @Test func linksOfManyPagesStayTogether() throws {
        let capsule = try Capsule()
        let urls = (0..<40).map { "\(capsule.place)/links/?\($0)" }
        let result = try smallweb.run(
            ["links", "--json", "-j", "8", "--per-host", "8", "-"],
            stdin: urls.joined(separator: "\n"))
        let records = try Records(result.output).all.dropLast()
        #expect(records.count == 40 * 9)
        for start in stride(from: 0, to: records.count, by: 9) {
            let page = records[start..<(start + 9)]
            #expect(Set(page.map { $0["n"]?.int }).count == 1)
            #expect(page.last?["type"]?.string == "response")
        }
        // As text: in the order of the input, as in a serial run.
        let few = Array(urls.prefix(6))
        let serial = try smallweb.run(["links"] + few)
        #expect(try smallweb.run(["links", "-Z"] + few).text == serial.text)
    }

    @Test func aLineThatWasCutOffIsNoLink() throws {
        let server = try LoopbackServer(tls: .make()) { peer in
            _ = peer.readLine()
            peer.write("20 text/gemini\r\n=> /whole\n=> /hal")
            peer.fin()
        }
        let result = try smallweb.run(["links", "gemini://127.0.0.1:\(server.port)/"])
        #expect(result.status == Outcome.truncated.exitStatus)
        #expect(result.text.hasSuffix("/whole\t\n"))
    }

    @Test func noLinkTextDrivesATerminal() throws {
        let capsule = try page("=> /a \u{1B}[31mred\u{7}\n=> /b c\u{202E}d\n")
        let result = try smallweb.run(["links", capsule.place + "/"])
        #expect(!result.output.contains(0x1B) && !result.output.contains(7))
        let shown = try terminal(60).run(["links", "--color", "never", capsule.place + "/"])
        #expect(!shown.output.contains(0x1B) && shown.text.contains("\\u{202E}"))
    }

    @Test func aTerminalGetsColumns() throws {
        let capsule = try page("=> /\(String(repeating: "p", count: 90)) A label\n=> /b B\n")
        let text = try terminal(60).run(["links", "--color", "never", capsule.place + "/"]).text
        let lines = text.split(separator: "\n")
        #expect(lines.count == 4 && lines[0].hasPrefix("URL "))
        #expect(lines[1].hasSuffix("/" + String(repeating: "p", count: 90)), "no URL is cut")
        #expect(lines[2] == String(repeating: " ", count: 38) + "A label")
        #expect(lines[3].count <= 60 && lines[3].hasSuffix(" B"), "\(lines[3])")
    }

    // MARK: head

    @Test func headReadsTheReplyLineAndCloses() throws {
        let capsule = try Capsule()
        // The body never ends.
        let result = try smallweb.run(["head", capsule.place + "/endless"])
        #expect(result.status == 0 && result.errors == "", "\(result.errors)")
        for row in ["status       20 application/octet-stream", "trust        first-use", "TLSv1."]
        {
            #expect(result.text.contains(row), "\(row) in \(result.text)")
        }
        let cut = try smallweb.run(["info", capsule.place + "/truncated"])
        #expect(cut.status == 0 && cut.errors == "")
    }

    @Test func headStaysOneAfterARedirectToAnotherProtocol() throws {
        let capsule = try Capsule()
        let web = try LoopbackServer { peer in
            let line = String(decoding: peer.readLine() ?? [], as: UTF8.self)
            while let field = peer.readLine(), field != Array("\r\n".utf8) {}
            let hasBody = !line.hasPrefix("HEAD ")
            let place = line.contains(" /there ") ? "Location: \(capsule.place)/endless\r\n" : ""
            peer.write("HTTP/1.1 \(place.isEmpty ? "200 OK" : "302 There")\r\n\(place)")
            peer.write("Content-Length: \(hasBody ? 1_000_000 : 0)\r\n\r\n")
            if hasBody { peer.hang() }
        }
        let url = "http://127.0.0.1:\(web.port)"
        let there = try smallweb.run(["head", "--proto-redir", "gemini", url + "/there"])
        #expect(there.status == 0 && there.text.contains("status       20 "), "\(there.errors)")
        let gemini = try LoopbackServer(tls: .make()) { peer in
            _ = peer.readLine()
            peer.write("31 \(url)/here\r\n")
        }
        let place = "gemini://127.0.0.1:\(gemini.port)/"
        let here = try smallweb.run(["head", "--proto-redir", "http", place])
        #expect(here.status == 0 && here.text.contains("Content-Length: 0"), "\(here.text)")
        // Whoever wants another method gets no more of its reply.
        let posted = try smallweb.run(["head", "-X", "GET", url + "/here"])
        #expect(posted.status == 0 && posted.text.contains("Content-Length: 1000000"))
    }

    @Test func noPasswordIsShown() throws {
        let web = try LoopbackServer { peer in
            while let field = peer.readLine(), field != Array("\r\n".utf8) {}
            peer.write("HTTP/1.1 200 OK\r\nContent-Type: text/gemini\r\n")
            peer.write("Content-Length: 7\r\n\r\n=> a b\n")
        }
        let url = "http://ada:hush@127.0.0.1:\(web.port)/"
        for command in ["head", "open"] {
            let shown = try smallweb.run([command, url]).text
            #expect(shown.contains("127.0.0.1:\(web.port)/") && !shown.contains("hush"), "\(shown)")
        }
    }

    @Test func headOfARefusalIsABlockAndAFailure() throws {
        let capsule = try Capsule()
        let result = try smallweb.run(["head", capsule.place + "/status/51"])
        #expect(result.status == Outcome.permanentFailure.exitStatus)
        #expect(result.text.contains("status       51 This is status 51"))
        #expect(result.errors.contains("This is status 51"))
    }

    @Test(arguments: [["head"], ["get", "-I"]])
    func headOfEverySchemeIsARecord(_ command: [String]) throws {
        let (capsule, hole) = (try Capsule(), try Hole())
        let web = try LoopbackServer(handler: DemoSites.web)
        let git = try LoopbackServer(handler: DemoSites.git)
        let urls = [
            capsule.place + "/redirect/2", hole.place + "/9/big/5000000", hole.place + "/0/none",
            "http://127.0.0.1:\(web.port)/big/5000000",
            "git://127.0.0.1:\(git.port)/demo.git//README.md",
            "git://127.0.0.1:\(git.port)/demo.git",
        ]
        let result = try smallweb.run(command + ["--json"] + urls)
        let records = try Records(result.output).terminal
        #expect(records.map { $0["exit"]?.int } == [0, 0, 22, 0, 0, 0])
        for record in records {
            #expect(record["body"]?["omitted"]?.string == "head")
            #expect(record["size"]?.int == 0 && record["body"]?["sha256"] == .null)
            #expect(record["body"]?["complete"] == .null)
        }
        #expect(records[0]["redirects"]?.array.count == 2 && records[0]["status"]?.int == 20)
        #expect(records[1]["status"] == .null)
        #expect((records[1]["bytes"]?["received"]?.int ?? .max) < 1_000_000)
        #expect(records[3]["http"]?["method"]?.string == "HEAD")
        #expect(records[4]["git"]?["object_format"]?.string == "sha1")
    }

    // MARK: open

    private static let reading = """
        # A heading
        Some words that are longer than the line.
        * An item that is longer too
        > A quotation, longer than that
        => /a A link with a long label here
        => http://[bad
        ```
        kept   as it is, however long that line may be
        ```
        \u{65E5}\u{672C}\u{8A9E}\u{65E5}\u{672C}\u{8A9E}\u{65E5}\u{672C}\u{8A9E}\u{65E5}\u{672C}
        """

    @Test func gemtextIsWrappedAndItsLinksAreNumbered() throws {
        let capsule = try page(Self.reading)
        let result = try terminal(20, ["NO_COLOR": "1"]).run(["open", capsule.place + "/"])
        #expect(result.status == 0, "\(result.errors)")
        #expect(
            result.text == """
                # A heading
                Some words that are
                longer than the
                line.
                • An item that is
                  longer too
                > A quotation,
                > longer than that
                [1] A link with a
                    long label here
                => http://[bad
                kept   as it is, however long that line may be
                \u{65E5}\u{672C}\u{8A9E}\u{65E5}\u{672C}\u{8A9E}\u{65E5}\u{672C}\u{8A9E}\u{65E5}
                \u{672C}

                [1] \(capsule.place)/a

                """)
        // The same from get, and through a pipe when asked for.
        let got = try terminal(20, ["NO_COLOR": "1"]).run([capsule.place + "/"])
        #expect(got.text == result.text)
        var narrow = smallweb
        narrow.environment["COLUMNS"] = "20"
        #expect(
            try narrow.run(["get", "--render", "plain", capsule.place + "/"]).text == result.text)
        #expect(try smallweb.run(["get", capsule.place + "/"]).text == Self.reading)
    }

    @Test func linksCanBeClickedOnWhereThereIsColour() throws {
        let capsule = try page("=> /a A\n=> /b\n")
        let link = "\u{1B}]8;;\(capsule.place)/a\u{1B}\\"
        let url = capsule.place + "/"
        #expect(try terminal(80).run(["open", url]).text.contains(link))
        #expect(try smallweb.run(["get", "--render", "ansi", url]).text.contains(link))
        for options in [["--hyperlink", "never"], ["--color", "never"]] {
            #expect(!(try terminal(80).run(["open"] + options + [url]).text.contains("]8;;")))
        }
        let forced = ["--render", "plain", "--hyperlink", "always"]
        #expect(try smallweb.run(["get"] + forced + [url]).text.contains(link))
    }

    @Test func nothingInAPageDrivesTheTerminal() throws {
        let evil = "\u{1B}[31m\u{1B}]8;;x\u{7}\u{9B}1m\u{202E}"
        let lines = ["", "# ", "* ", "> ", "=> /a ", "=> ", "```\n"].map { $0 + evil + "\n" }
        let capsule = try page(lines.joined())
        for options in [[], ["--raw"]] {
            let output = try terminal(30, ["NO_COLOR": "1"])
                .run(["get"] + options + [capsule.place + "/"]).output
            #expect(!output.contains { $0 < 0x20 && $0 != 0x0A })
            #expect(!String(decoding: output, as: UTF8.self).unicodeScalars.contains("\u{202E}"))
        }
    }

    @Test func menusAndListingsAreNumbered() throws {
        let hole = try Hole()
        let menu = try terminal(60, ["NO_COLOR": "1"]).run(["open", hole.place]).text
        #expect(menu.hasPrefix("      A small gopher hole\n  [1] About\n"))
        #expect(menu.contains("  [3] The same again/\n  [4] Search (search)\n"))
        #expect(menu.contains("      error: An error line in a menu\n"))
        #expect(menu.hasSuffix("[8] \(hole.place)/0/missing\n"))
        let git = try LoopbackServer(handler: DemoSites.git)
        let url = "git://127.0.0.1:\(git.port)/demo.git//"
        let listing = try terminal(60, ["NO_COLOR": "1"]).run(["open", url]).text
        let table = "      TYPE    NAME\n  [1] 100644  README.md\n  [2] 40000   docs/\n"
        #expect(listing.hasPrefix(table + "\n[1] \(url)README.md\n"), "\(listing)")
    }

    @Test func plainTextIsWrappedByOpenAlone() throws {
        let capsule = try page("a line of words\nno end", type: "text/plain")
        let url = capsule.place + "/"
        #expect(try terminal(10).run(["open", url]).text == "a line of\nwords\nno end\n")
        #expect(try terminal(10).run(["get", url]).text == "a line of words\nno end\n")
    }

    @Test func whatIsNoTextIsRefused() throws {
        let capsule = try Capsule()
        let result = try smallweb.run(["open", capsule.place + "/big/100"])
        #expect(result.status == Outcome.write.exitStatus && result.output.isEmpty)
        #expect(result.errors.contains("application/octet-stream cannot be shown as text"))
        let rendered = try smallweb.run(["get", "--render", "plain", capsule.place + "/big/100"])
        #expect(rendered.output.count == 100)
    }

    @Test func theLastCharsetThatIsDeclaredCounts() throws {
        let server = try LoopbackServer(tls: .make()) { peer in
            _ = peer.readLine()
            peer.write(Array("20 text/gemini; charset=iso-8859-1\r\n=> /a na".utf8) + [0xEF, 0x0A])
        }
        let url = "gemini://127.0.0.1:\(server.port)/"
        #expect(try smallweb.run(["links", url]).text.hasSuffix("/a\tna\u{EF}\n"))
        #expect(try terminal(30).run(["get", url]).text.contains("na\u{EF}"))
    }

    /// In windows-1258 an accent may follow a letter, which therefore waits for more.
    @Test func theLastLetterOfAPageIsShown() throws {
        let server = try LoopbackServer(tls: .make()) { peer in
            _ = peer.readLine()
            peer.write(Array("20 text/gemini; charset=windows-1258\r\n=> /a na".utf8))
        }
        let url = "gemini://127.0.0.1:\(server.port)/"
        #expect(try smallweb.run(["links", url]).text.hasSuffix("/a\tna\n"))
        #expect(try terminal(30).run(["get", url]).text.contains("na"))
    }

    // MARK: The pager

    @Test func thePagerGetsThePage() throws {
        let capsule = try Capsule()
        let pager = ["PAGER": "sed 's/^/| /'; echo $LESS", "NO_COLOR": "1"]
        let result = try terminal(60, pager).run(["open", capsule.place + "/about"])
        #expect(result.status == 0 && result.text == "| # About\n| Nothing much.\nFRX\n")
        let plain = try terminal(60, ["PAGER": "cat"]).run(["open", capsule.place + "/1k"])
        #expect(plain.text.utf8.count > 900)
    }

    @Test func aPagerThatLeavesEarlyIsNoError() throws {
        let capsule = try page(String(repeating: "line\n", count: 100_000))
        for pager in ["head -n 1", "true", "exit 3", "kill -9 $$"] {
            let result = try terminal(60, ["PAGER": pager]).run(["open", capsule.place + "/"])
            #expect(result.status == 0 && result.errors == "", "\(pager): \(result.errors)")
        }
    }

    @Test func aPagerThatDoesNotExistIsAnError() throws {
        let capsule = try Capsule()
        let result = try terminal(60, ["PAGER": "no-such-pager"]).run(["open", capsule.place + "/"])
        #expect(result.status == Outcome.write.exitStatus)
        #expect(result.errors.contains("cannot be started"))
    }

    @Test func interruptingThePagerDoesNotEndIt() throws {
        let capsule = try Capsule()
        // The pager interrupts its parent, as Ctrl-C does, and goes on.
        let pager = "kill -INT $PPID; kill -INT $PPID; sed -n 1p"
        let result = try terminal(60, ["PAGER": pager, "NO_COLOR": "1"])
            .run(["open", capsule.place + "/about"])
        #expect(result.status == 0 && result.text == "# About\n")
    }

    @Test func openWantsOneURL() throws {
        #expect(try smallweb.run(["open"]).status == 2)
        #expect(try smallweb.run(["open", "gemini://a/", "gemini://b/"]).status == 2)
        #expect(try smallweb.run(["open", "--json", "gemini://a/"]).status == 2)
    }
}
