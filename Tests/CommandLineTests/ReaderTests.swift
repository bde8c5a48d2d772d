// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// A session of `open`, with the commands after a page. Ctrl-C, Ctrl-Z and the pager are tested
/// with a controlling terminal (Tests/RealServers/reading.sh).
@Suite(.timeLimit(.minutes(30)))
struct ReaderTests {
    private static let next = "q quit: "

    private let smallweb: Smallweb
    private let capsule: Capsule
    private var place: String { capsule.place }

    init() throws {
        var smallweb = Smallweb()
        smallweb.environment = ["NO_COLOR": "1", "PAGER": ""]
        self.smallweb = smallweb
        capsule = try Self.capsule()
    }

    private static let one = """
        # One
        => /two To two
        => mailto:ada@example.org Mail
        => /picture A picture
        => /moved Moved
        => /gone Gone
        => /private Yours

        """

    /// A capsule where each path is a page's name.
    private static func capsule() throws -> Capsule {
        let server = try LoopbackServer(tls: .make(), identity: .requested) { peer in
            let line = peer.readLine().map { String(decoding: $0, as: UTF8.self) } ?? ""
            let path = line.split(separator: "/").last?.prefix { !$0.isWhitespace } ?? ""
            switch path {
            case "one": peer.write("20 text/gemini\r\n" + one)
            case "two": peer.write("20 text/gemini\r\n# Two \u{1B}[31m\n=> /three\n")
            case "picture":
                peer.write(Array("20 image/png\r\n".utf8) + [0x89, 0x50, 0x0A, 0x00, 0xFF])
            case "moved": peer.write("31 /two\r\n")
            case "gone": peer.write("51 no such page\r\n")
            case "ask": peer.write("10 Your name\r\n")
            case "cut":
                peer.write("20 text/gemini\r\n# Cut\n=> /two\n")
                peer.fin()
            case "latin":
                peer.write(Array("20 text/plain; charset=iso-8859-1\r\n".utf8) + [0xE4, 0x0A])
            case "private":
                peer.write(
                    peer.identity.map { "20 text/plain\r\nfor \($0.hex)\n" }
                        ?? "60 show yourself\r\n")
            default: peer.write("20 text/plain\r\nThe page \(path).\n")
            }
        }
        return Capsule(server: server, place: "gemini://127.0.0.1:\(server.port)")
    }

    /// Types each answer when its question is there.
    private func session(
        _ words: [String], _ answers: [(question: String, typed: String)],
        _ smallweb: Smallweb? = nil
    ) throws -> (status: Int32, shown: String) {
        let screen = try Screen(isTerminal: true, columns: 100)
        let smallweb = smallweb ?? self.smallweb
        let status = try smallweb.run(["open"] + words, on: screen, input: true, output: true) {
            screen, _ in
            var place = 0
            for (question, typed) in answers {
                while true {
                    let rest = screen.shown.dropFirst(place)
                    if let range = rest.range(of: question) {
                        place = screen.shown.distance(
                            from: screen.shown.startIndex, to: range.upperBound)
                        break
                    }
                    guard screen.readMore() else { return }
                }
                try screen.reader.write(contentsOf: Data(typed.utf8))
            }
        }
        return (status, screen.shown.replacingOccurrences(of: "\r\n", with: "\n"))
    }

    /// Each answer at the prompt after a page.
    private func session(_ url: String, _ answers: String...) throws -> (
        status: Int32, shown: String
    ) {
        try session([url], answers.map { (Self.next, $0) })
    }

    private func titles(_ shown: String) -> [Substring] {
        shown.split(separator: "\n").filter { $0.hasPrefix("# ") }
    }

    // MARK: From page to page

    @Test func aNumberFollowsALinkAndBGoesBack() throws {
        let (status, shown) = try session(place + "/one", "9\n", "1\n", "1\n", "b", "b\n", "b", "q")
        #expect(status == 0)
        #expect(titles(shown) == ["# One", "# Two ", "# Two ", "# One"])
        #expect(shown.contains("smallweb: there is no link 9: the page has 6 links\n"))
        #expect(shown.contains("\nlink 1-6, ? keys, q quit: 9\n"), "\(shown)")
        #expect(shown.contains("\nlink 1, b back, ? keys, q quit: 1\n"))
        #expect(shown.contains("\nb back, ? keys, q quit: b\n"), "the last page has no links")
        #expect(shown.contains("smallweb: there is no page before this one\n"))
        let visits = try smallweb.run(["history"]).text.split(separator: "\n")
        #expect(Set(visits) == Set(["one", "two", "three"].map { "\(place)/\($0)"[...] }))
    }

    @Test func theFirstLineIsTheURL() throws {
        let (_, shown) = try session(place + "/moved", "u", "q")
        let page = shown.drop { $0 != "\n" }.dropFirst()
        #expect(page.hasPrefix("\(place)/two\n# Two"), "where the redirect has led to: \(shown)")
        #expect(shown.contains("quit: u\n\(place)/two\nlink 1"))
    }

    @Test func goesToURLsOfAllKinds() throws {
        let (_, shown) = try session(
            place + "/dir/x", "g y\n", "g/one\n", "g \(place)/two\n", "g http://[\n", "g a b\n",
            "g\n", "gspartan://127.0.0.1:1/\n", "b", "q")
        for title in ["\(place)/dir/y\nThe page y.", "\(place)/one\n# One", "\(place)/two\n# Two"] {
            #expect(shown.contains(title), "\(title) in \(shown)")
        }
        #expect(shown.contains("smallweb: space in the URL: write it as %20\n"), "\(shown)")
        #expect(shown.contains("smallweb: g wants a URL: ? lists the keys\n"))
        #expect(shown.contains("spartan://127.0.0.1:1/: cannot connect"), "\(shown)")
    }

    @Test func theHistoryHasEachPageOnce() throws {
        let list = "[1] \(place)/one\n[2] \(place)/two (this page)\npage 1-2, b back to the page: "
        let (_, shown) = try session(
            [place + "/one"],
            [
                (Self.next, "1\n"), (Self.next, "r"), (Self.next, "h"),
                ("b back to the page: ", "9\n"), ("b back to the page: ", "z"),
                ("b back to the page: ", "\n1\n"), (Self.next, "b"), (Self.next, "h\n"),
                ("b back to the page: ", "b"), (Self.next, "q"),
            ])
        #expect(shown.contains(list) && shown.contains("smallweb: there is no page 9 in the list"))
        #expect(
            titles(shown) == [
                "# One", "# Two ", "# Two ", "# One", "# Two ",
            ], "\(shown)")
    }

    @Test func aPageThatFailsLeavesTheOneBefore() throws {
        let (status, shown) = try session(place + "/one", "5\n", "u", "4\n", "b", "u", "q")
        #expect(shown.contains("no such page"), "\(shown)")
        let addresses = shown.components(separatedBy: "quit: u\n").dropFirst().map {
            $0.prefix { $0 != "\n" }
        }
        #expect(addresses == ["\(place)/one", "\(place)/one"])
        #expect(status == 0)
        #expect(try session(place + "/one", "5\n", "q").status == 22, "of what was asked for last")
        #expect(try session(place + "/gone").status == 22, "without a page nothing is asked")
    }

    @Test func aPageThatIsCutOffIsAPage() throws {
        let (_, shown) = try session(
            [place + "/cut"],
            [(Self.next, "s"), (": ", "\n"), (Self.next, "1\n"), (Self.next, "q")])
        #expect(shown.contains("saved as cut, which was cut off\n"), "\(shown)")
        #expect(titles(shown) == ["# Cut", "# Two "])
    }

    @Test func aPromptIsAnsweredInBetween() throws {
        let answered = try session(
            [place + "/one"],
            [
                (Self.next, "g ask\n"), ("Your name ", "Ada\n"), (Self.next, "g ask\n"),
                ("Your name ", "\u{4}"), (Self.next, "h"),
                ("to the page: ", "b"), (Self.next, "q"),
            ])
        #expect(answered.shown.contains("\(place)/ask\nThe page ask?Ada.\n"))
        #expect(answered.shown.contains("[2] \(place)/ask (this page)\n"), "\(answered.shown)")
        #expect(answered.status == 101)
    }

    @Test func keysMayBeTypedAhead() throws {
        let (status, shown) = try session(place + "/one", "1\n1\nbbu\n?\nq")
        #expect(status == 0 && titles(shown).count == 4, "\(shown)")
        #expect(shown.contains("quit: u\n\(place)/one\n"))
        #expect(shown.contains("\n  /WORDS   searches in the page"))
        let widest = shown.split(separator: "\n").filter { $0.hasPrefix("  ") }.map(\.count).max()
        #expect(widest ?? 0 < 80)
    }

    @Test(arguments: ["\u{4}", "q", "\nq\n"])
    func theSessionEnds(answer: String) throws {
        let (status, shown) = try session(place + "/one", answer)
        #expect(status == 0 && shown.last == "\n", "\(status) \(shown)")
    }

    @Test func anUnknownKeySaysWhereTheKeysAre() throws {
        let (_, shown) = try session(place + "/one", "z", "\u{1B}[A7\n", "q")
        #expect(shown.contains("quit: z\nsmallweb: unknown key \"z\": ? lists the keys\n"))
        #expect(shown.contains("quit: 7\n"), "an arrow is not a key: \(shown)")
    }

    @Test func nothingIsAskedWithoutAPersonOrWithNoInput() throws {
        let piped = try smallweb.run(["open", place + "/one"])
        #expect(piped.text.hasPrefix("# One\n") && !piped.errors.contains("quit"))
        let screen = try Screen(isTerminal: true)
        let words = ["open", "--no-input", place + "/one"]
        #expect(try smallweb.run(words, on: screen, input: true, output: true) { _, _ in } == 0)
        #expect(!screen.shown.contains("quit") && screen.shown.hasPrefix("# One"))
        let refused = try smallweb.run(["open", place + "/picture"])
        #expect(refused.status == 23 && !refused.errors.contains("s save it"))
    }

    // MARK: Files and bookmarks

    @Test func savesTheExactBytesUnderAFreeName() throws {
        let directory = smallweb.home.file("pages")
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false)
        let (status, shown) = try session(
            [place + "/latin"],
            [
                (Self.next, "s"), ("save as [latin]: ", "\n"), (Self.next, "s\n"),
                ("save as [latin]: ", ""), (Self.next, "s name with spaces\n"),
                (Self.next, "s~/mine\n"), (Self.next, "s pages\n"),
                (Self.next, "s no/such/place\n"),
                (Self.next, "s"), ("save as [latin]: ", "\u{4}"), (Self.next, "q"),
            ])
        #expect(status == 0)
        let names = ["latin", "latin.1", "mine", "name with spaces", "pages/latin"]
        for name in names {
            #expect(smallweb.home.content(name) == [0xE4, 0x0A], "\(name): \(shown)")
        }
        #expect(shown.contains("\nsaved as latin\n") && shown.contains("\nsaved as latin.1\n"))
        #expect(shown.contains("smallweb: cannot create no/such/place"))
        #expect(!smallweb.home.names.contains { $0.hasSuffix(".part") })
    }

    @Test func bookmarksThePageByItsHeading() throws {
        let two = "\(place)/two\tTwo \n"
        let (_, shown) = try session(place + "/moved", "m", "m\n", "1\n", "m", "q")
        #expect(shown.contains("quit: m\nbookmarked \(place)/two (Two )\n"), "\(shown)")
        #expect(shown.contains("\(place)/two is bookmarked already (Two )\n"))
        let bookmarks = try smallweb.run(["bookmarks"]).text
        #expect(bookmarks == two + "\(place)/three\t\n")
    }

    @Test func aPasswordIsNeitherShownNorBookmarked() throws {
        let web = try LoopbackServer { peer in
            while let field = peer.readLine(), field != Array("\r\n".utf8) {}
            peer.write("HTTP/1.1 200 OK\r\nContent-Type: text/gemini\r\n")
            peer.write("Content-Length: 7\r\n\r\n=> a b\n")
        }
        let (_, shown) = try session(
            ["http://ada:hush@127.0.0.1:\(web.port)/"],
            [
                (Self.next, "u"), (Self.next, "m"), (Self.next, "1\n"), (Self.next, "h"),
                ("to the page: ", "b"), (Self.next, "q"),
            ])
        #expect(shown.contains("http://ada:***@127.0.0.1:\(web.port)/\n"), "\(shown)")
        #expect(!shown.contains("hush"))
        #expect(try smallweb.run(["bookmarks"]).text == "http://127.0.0.1:\(web.port)/\t\n")
    }

    @Test func reloadsThePage() throws {
        let count = Locked(0)
        let server = try LoopbackServer(tls: .make()) { peer in
            _ = peer.readLine()
            peer.write("20 text/plain\r\nvisit \(count.withLock { $0 += 1; return $0 })\n")
        }
        let (_, shown) = try session("gemini://127.0.0.1:\(server.port)/", "r", "r\n", "b", "q")
        #expect(shown.contains("visit 3\n") && !shown.contains("b back"), "\(shown)")
    }

    // MARK: Other programs

    /// A program in a directory of its own, which comes first in PATH.
    private func program(_ name: String, _ script: String) throws -> Smallweb {
        var smallweb = smallweb
        let directory = smallweb.home.file("bin")
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        try Programs.write("#!/bin/sh\n\(script)\n", to: "\(directory)/\(name)")
        smallweb.environment["PATH"] = "\(directory):/usr/bin:/bin"
        return smallweb
    }

    @Test func linksAreHandedToOtherPrograms() throws {
        let smallweb = try program("xdg-open", #"printf '%s|' "$#" "$@" >> opened"#)
        let (status, shown) = try session(
            [place + "/one"],
            [
                (Self.next, "x 2\n"), (Self.next, "x3\n"), (Self.next, "x 9\n"), (Self.next, "2\n"),
                ("x open it with xdg-open, b back to the page, q quit: ", "s"),
                ("back to the page, q quit: ", "g mailto:bob@example.org\n"),
                ("back to the page, q quit: ", "x"), (Self.next, "q"),
            ], smallweb)
        let opened = String(decoding: smallweb.home.content("opened") ?? [], as: UTF8.self)
        #expect(
            opened == "1|mailto:ada@example.org|1|\(place)/picture|1|mailto:bob@example.org|",
            "\(shown)")
        #expect(shown.contains("no plugin handles the scheme \"mailto\""))
        #expect(shown.contains("smallweb: unknown key \"s\"\n"))
        #expect(shown.contains("there is no link 9") && status == 0)
    }

    @Test func aMissingOrFailingProgramIsSaid() throws {
        var alone = smallweb
        alone.environment["PATH"] = smallweb.home.file("none")
        let missing = try session(
            [place + "/one"], [(Self.next, "x 2\n"), (Self.next, "q")], alone)
        #expect(
            missing.shown.contains(
                "cannot open mailto:ada@example.org: xdg-open is not installed\n"
                    + "hint: install the package xdg-utils"), "\(missing.shown)")
        let failing = try session(
            [place + "/one"], [(Self.next, "x 2\n"), (Self.next, "q")],
            try program("xdg-open", "exit 3"))
        #expect(failing.shown.contains("could not open mailto:ada@example.org (exit status 3)"))
    }

    @Test func lessSaysTheWayOn() throws {
        var smallweb = try program("less", #"printf '<%s>' "$LESS" "$@"; grep One"#)
        smallweb.environment["PAGER"] = nil
        let (status, shown) = try session([place + "/one"], [(Self.next, "q")], smallweb)
        #expect(status == 0)
        let prompt = "<-Ps?e(END) .q to links and keys, q again to leave>"
        #expect(shown.contains("<FRX><-R>\(prompt)"), "\(shown)")
        // Without questions q leaves.
        let alone = try session([place + "/one", "--no-input"], [], smallweb)
        #expect(alone.shown.contains("<FRX><-R>") && !alone.shown.contains("-Ps"), "\(alone.shown)")
    }

    @Test func searchesThroughLess() throws {
        // The page is its input.
        var smallweb = try program("less", #"printf '<%s>' "$@"; grep Two"#)
        smallweb.environment["PAGER"] = nil
        let (_, shown) = try session(
            [place + "/two"], [(Self.next, "/a b\n"), (Self.next, "/ -x\n"), (Self.next, "q")],
            smallweb)
        #expect(shown.contains("<-R><-+F><+/a b># Two"), "\(shown)")
        #expect(shown.contains("<-R><-+F><+/-x># Two"))
        smallweb.environment["PAGER"] = "less -i"
        let own = try session([place + "/two"], [(Self.next, "/$a\n"), (Self.next, "q")], smallweb)
        #expect(own.shown.contains("<-i><-+F><+/$a># Two"), "\(own.shown)")
        for (pager, words) in [
            ("", "there is no pager to search with\nhint: set PAGER to less"),
            ("sed p", "the pager \"sed p\" cannot be told what to search for"),
        ] {
            smallweb.environment["PAGER"] = pager
            let other = try session(
                [place + "/two"], [(Self.next, "/a\n"), (Self.next, "q")], smallweb)
            #expect(other.shown.contains("smallweb: " + words), "\(other.shown)")
        }
    }

    @Test func whatIsNoTextIsSavedOrHandedOver() throws {
        let smallweb = try program("xdg-open", #"echo "$@" >> opened"#)
        let question = "s save it, x open it with xdg-open, b back to the page, q quit: "
        let (status, shown) = try session(
            [place + "/one"],
            [
                (Self.next, "3\n"), (question, "s"), ("save as [picture]: ", "\n"),
                (Self.next, "3\n"), (question, "s -\n"), (Self.next, "3\n"), (question, "x"),
                (Self.next, "3\n"), (question, "b"), (Self.next, "u"), (Self.next, "3\n"),
                (question, "q"),
            ], smallweb)
        #expect(status == 23)
        #expect(shown.contains("/picture: image/png cannot be shown as text\n" + question))
        let picture: [UInt8] = [0x89, 0x50, 0x0A, 0x00, 0xFF]
        #expect(smallweb.home.content("picture") == picture, "\(shown)")
        #expect(smallweb.home.content("-") == picture, "not standard output")
        #expect(shown.contains("saved as ") && shown.contains("quit: u\n\(place)/one\n"))
        #expect(smallweb.home.content("opened") == Array("\(place)/picture\n".utf8))
    }

    @Test func aFirstPageThatIsNoTextIsSaved() throws {
        let saved = try session(
            [place + "/picture"],
            [("s save it, x open it with xdg-open, q quit: ", "s"), ("[picture]: ", "\n")])
        #expect(saved.status == 0 && smallweb.home.content("picture")?.count == 5)
        let again = try session(
            [place + "/picture"], [("q quit: ", "s"), ("[picture]: ", "\n")])
        #expect(again.status == 0 && smallweb.home.content("picture.1")?.count == 5)
        #expect(again.shown.contains("/picture.1\n"), "\(again.shown)")
        #expect(try session([place + "/picture"], [("q quit: ", "q")]).status == 23)
    }

    // MARK: Identities

    @Test func anIdentityIsMadeAndChosen() throws {
        let question = "i choose or make an identity, q quit: "
        let (status, shown) = try session(
            [place + "/private"],
            [
                (question, "i"), ("\nn a new one, b back: ", "n"),
                ("name of the new identity [127.0.0.1]: ", "../x\n"),
                ("n a new one, b back: ", "n"), ("[127.0.0.1]: ", "alice\n"), (Self.next, "q"),
            ])
        #expect(status == 0 && shown.contains("smallweb: \"../x\" is not a name"), "\(shown)")
        #expect(shown.contains("alice is for \(place)/private and what lies below\n"))
        let listed = try smallweb.run(["identity", "list", "--json"])
        let alice = try #require(try Records(listed.output)["identity"].first)
        let hash = try #require(alice["cert"]?["sha256"]?.string)
        #expect(shown.contains("\nfor \(hash)\n"), "\(shown)")
        // Chosen for another place, by its number.
        let other = try Self.capsule()
        let chosen = try session(
            [other.place + "/one"],
            [
                (Self.next, "6\n"),
                ("i choose or make an identity, b back to the page, q quit: ", "i"),
                ("[1] alice  \(place)/private\r\nidentity 1-1, n a new one, b back: ", "2\n"),
                ("identity 1-1, n a new one, b back: ", "b"), ("q quit: ", "i"),
                ("n a new one, b back: ", "1\n"), (Self.next, "q"),
            ])
        #expect(chosen.shown.contains("there is no identity 2 in the list"), "\(chosen.shown)")
        #expect(chosen.shown.contains("\nfor \(hash)\n"))
        other.server.stop()
    }

    @Test func anIdentityMayBeChosenUnasked() throws {
        let (_, shown) = try session(
            [place + "/one"],
            [
                (Self.next, "i"), ("b back: ", "n\n"), ("[127.0.0.1]: ", "\n"), (Self.next, "q"),
            ])
        #expect(shown.contains("127.0.0.1 is for \(place)/one and what lies below\n"), "\(shown)")
        #expect(titles(shown).count == 2, "loaded again, with it")
        let nex = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write("text\n")
        }
        let other = try session("nex://127.0.0.1:\(nex.port)/", "i", "q")
        #expect(other.shown.contains("no identity can be shown to"), "\(other.shown)")
    }
}
