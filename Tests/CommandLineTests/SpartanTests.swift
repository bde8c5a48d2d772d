// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

/// Spartan on the command line: data that is sent once, prompts, uploads.
@Suite(.timeLimit(.minutes(30)))
struct SpartanTests {
    private let smallweb: Smallweb = {
        var smallweb = Smallweb()
        smallweb.environment = ["NO_COLOR": "1", "PAGER": ""]
        return smallweb
    }()
    private let server: LoopbackServer
    private let place: String

    init() throws {
        server = try LoopbackServer(handler: DemoSites.spartan)
        place = "spartan://127.0.0.1:\(server.port)"
    }

    /// The bytes that each connection sent.
    private func requests() -> [String] {
        server.stop()
        return server.connections.map { String(decoding: $0.received, as: UTF8.self) }
    }

    private func file(_ name: String, _ bytes: Data) throws -> String {
        let path = smallweb.home.file(name)
        try bytes.write(to: URL(fileURLWithPath: path))
        return path
    }

    @Test func dataIsSentByteForByte() throws {
        let bytes = Data([0, 0x0D, 0x0A, 0xFF, 0x25, 0x34, 0x31, 0x0A])
        let path = try file("data", bytes)
        #expect(try Data(smallweb.run(["get", "-d", "@\(path)", place + "/echo"]).output) == bytes)
        let long = try file("long", Data((0..<2_000_000).map { UInt8(truncatingIfNeeded: $0) }))
        let sent = try smallweb.run(["get", "-d", "@\(long)", place + "/echo"])
        #expect(try Data(sent.output) == Data(contentsOf: URL(fileURLWithPath: long)))
        #expect(try smallweb.run(["get", place + "/echo?a%0Ab%00"]).output == Array("a\nb\0".utf8))
        #expect(try smallweb.run(["get", "-d", "", place + "/echo?a"]).output.isEmpty)
    }

    /// The page that took the data may be the one that it leads to.
    @Test(arguments: [["-d", "Hello"], []])
    func noDataFollowsARedirect(_ options: [String]) throws {
        let url = place + "/guestbook" + (options.isEmpty ? "?Hello" : "")
        let result = try smallweb.run(["get"] + options + [url])
        #expect(result.status == 0 && result.text == "# Guestbook\n", "\(result.errors)")
        #expect(requests() == ["127.0.0.1 /guestbook 5\r\nHello", "127.0.0.1 /guestbook 0\r\n"])
    }

    @Test(arguments: [
        ("/status/4", 22, "permanent-failure"), ("/status/5", 75, "temporary-failure"),
        ("/malformed", 8, "protocol-error"), ("/elsewhere", 102, "redirect-refused"),
        ("/loop", 47, "too-many-redirects"), ("/redirect/5", 0, "ok"),
        ("/redirect/6", 47, "too-many-redirects"), ("/reset", 18, "truncated"),
    ])
    func everyReplyHasItsOutcome(_ path: String, _ status: Int32, _ outcome: String) throws {
        let result = try smallweb.run(["get", "--json", place + path])
        #expect(result.status == status, "\(result.errors)")
        let record = try #require(try Records(result.output).all.last)
        #expect(
            record["outcome"]?.string == outcome && record["plugin"]?.string == "builtin:spartan")
        if path == "/elsewhere" {
            #expect(record["status"]?.int == 3)
            #expect(record["warnings"]?.array.first?["code"]?.string == "redirect-target")
        }
        if outcome == "ok" {
            #expect(record["body"]?["complete"] == .null, "nothing proves that it is whole")
        }
    }

    @Test func theHeadIsReadWithoutTheBody() throws {
        let result = try smallweb.run(["head", "--json", place + "/big/100000000"])
        #expect(result.status == 0, "\(result.errors)")
        #expect(try Records(result.output).all.last?["mime"]?.string == "application/octet-stream")
    }

    @Test func linksResolveAgainstWhereARedirectLed() throws {
        let other = try LoopbackServer { peer in
            let line = String(decoding: peer.readLine() ?? [], as: UTF8.self)
            peer.write(
                line.contains(" /dir/page ")
                    ? "2 text/gemini\r\n=> next\n=: ask?x Ask\n=> ?words\n" : "3 /dir/page\r\n")
        }
        let base = "spartan://127.0.0.1:\(other.port)/dir/"
        let result = try smallweb.run(["links", "spartan://127.0.0.1:\(other.port)/?data"])
        #expect(result.text == "\(base)next\t\n\(base)ask?x\tAsk\n\(base)page?words\t\n")
    }

    // MARK: Prompts

    @Test func promptsAreLinksThatAskForInput() throws {
        let links = try Records(smallweb.run(["links", "--json", place + "/"]).output)["link"]
        // An input link of a scheme without uploads is an ordinary link.
        #expect(links.map { $0["kind"]?.string } == ["link", "input", "link", "input"])
        #expect(links[1]["text"]?.string == "Sign the guestbook")
        #expect(links[1]["url"]?.string == place + "/guestbook")
        let page = try smallweb.run(["open", place + "/"]).text
        #expect(page.contains("\n[2] Sign the guestbook (input)\n[3] Elsewhere\n"), "\(page)")
        let screen = try Screen(isTerminal: true)
        #expect(try smallweb.run(["links", place + "/"], on: screen, output: true) { _ in } == 0)
        #expect(screen.shown.contains("Sign the guestbook (input)\r\n"), "\(screen.shown)")
        // In Gemini such a line is text.
        let capsule = try Capsule(page: Array("20 text/gemini\r\n=: /a A\n=> /b B\n".utf8))
        #expect(
            try smallweb.run(["links", capsule.place + "/"]).text == "\(capsule.place)/b\tB\n")
        #expect(try smallweb.run(["open", capsule.place + "/"]).text.hasPrefix("=: /a A\n[1] B\n"))
    }

    @Test func aPromptIsOpenedWithData() throws {
        let none = try smallweb.run(["open", place + "/", "2"])
        #expect(none.status == 101, "\(none.errors)")
        #expect(
            none.errors == "smallweb: \(place)/guestbook asks for input: Sign the guestbook\n"
                || none.errors.contains("hint: give it with -d TEXT"), "\(none.errors)")
        let signed = try smallweb.run(["open", "-d", "Hello", place + "/", "2"])
        #expect(signed.status == 0 && signed.text == "# Guestbook\n", "\(signed.errors)")
        #expect(
            requests() == [
                "127.0.0.1 / 0\r\n", "127.0.0.1 / 0\r\n", "127.0.0.1 /guestbook 5\r\nHello",
                "127.0.0.1 /guestbook 0\r\n",
            ])
    }

    /// Runs `open`, and gives each answer after its prompt.
    private func open(_ words: [String], _ answers: [(String, String)]) throws -> String {
        let screen = try Screen(isTerminal: true, columns: 100)
        _ = try smallweb.run(["open"] + words, on: screen, input: true, output: true) { screen, _ in
            for count in answers.indices {
                let questions = answers[...count].map(\.0)
                var rest = screen.shown[...]
                while true {
                    rest = screen.shown[...]
                    let areThere = questions.allSatisfy { question in
                        guard let range = rest.range(of: question) else { return false }
                        rest = rest[range.upperBound...]
                        return true
                    }
                    if areThere { break }
                    guard screen.readMore() else { return }
                }
                try screen.reader.write(contentsOf: Data(answers[count].1.utf8))
            }
        }
        return screen.shown
    }

    @Test func aPersonIsAskedForWhatAPromptSends() throws {
        let question = "127.0.0.1:\(server.port): Sign the guestbook "
        let shown = try open(
            [place + "/"],
            [
                ("q quit: ", "2\n"), (question, "Hello you\n"), ("q quit: ", "b\n"),
                ("q quit: ", "2\n"), (question, "\u{4}"), ("q quit: ", "1\n"),
                ("q quit: ", "q\n"),
            ])
        #expect(shown.contains("# Guestbook") && shown.contains("About") == true, "\(shown)")
        #expect(
            requests() == [
                "127.0.0.1 / 0\r\n", "127.0.0.1 /guestbook 9\r\nHello you",
                "127.0.0.1 /guestbook 0\r\n", "127.0.0.1 / 0\r\n", "127.0.0.1 /about 0\r\n",
            ])
        #expect(
            try Set(smallweb.run(["history"]).text.split(separator: "\n"))
                == Set(["/", "/guestbook", "/about"].map { Substring(place + $0) }))
    }

    @Test func aPersonIsAskedForTheNumberOfTheCommandLineToo() throws {
        let question = "127.0.0.1:\(server.port): Sign the guestbook "
        let shown = try open(
            [place + "/", "2"], [(question, "Hi\n"), ("q quit: ", "q")])
        #expect(shown.contains("# Guestbook"), "\(shown)")
        #expect(requests().dropFirst().first == "127.0.0.1 /guestbook 2\r\nHi")
    }

    /// The input goes to one page; the pages it links to are requested without it.
    @Test func inputIsForOnePage() throws {
        let shown = try open(
            ["-d", "Hello", place + "/guestbook?old"], [("q quit: ", "q\n")])
        #expect(shown.contains("# Guestbook"))
        let hole = try Hole()
        let words = ["-d", "small web", hole.place + "/7/search"]
        let found = try open(words, [("q quit: ", "1\n"), ("q quit: ", "q\n")])
        #expect(
            found.contains("You looked for: small web") && !found.contains("takes no input"),
            "\(found)")
    }

    @Test func theHistoryHasNoData() throws {
        let screen = try Screen(isTerminal: true)
        let words = ["get", "-o", smallweb.home.file("out"), place + "/echo?a%20secret"]
        #expect(try smallweb.run(words, on: screen, input: true) { _, _ in } == 0)
        #expect(try smallweb.run(["history"]).text == "\(place)/echo\n")
    }

    // MARK: Uploads

    @Test func anUploadIsTheData() throws {
        let path = try file("a.bin", Data([0, 0x0A, 0xFF]))
        #expect(try smallweb.run(["put", place + "/echo", path]).output == [0, 0x0A, 0xFF])
        let empty = try smallweb.run(["put", place + "/echo", "-"], stdin: "")
        #expect(empty.status == 0 && empty.output.isEmpty, "\(empty.errors)")
        // To the page that it went to, without it.
        let signed = try smallweb.run(["put", place + "/guestbook", "-"], stdin: "Hello")
        #expect(signed.status == 0 && signed.text == "# Guestbook\n", "\(signed.errors)")
        #expect(
            requests().dropFirst() == [
                "127.0.0.1 /echo 0\r\n", "127.0.0.1 /guestbook 5\r\nHello",
                "127.0.0.1 /guestbook 0\r\n",
            ])
    }

    @Test func anUploadThatMakesNoSenseIsAMistake() throws {
        let path = try file("a.txt", Data("a".utf8))
        for (words, status, message) in [
            (["--delete", place + "/echo"], 2, "nothing can be deleted over spartan"),
            (["--mime", "text/plain", place + "/echo", path], 2, "requests do not take --mime"),
            ([place + "/echo?query", path], 3, "?query is the data"),
        ] as [([String], Int32, String)] {
            let result = try smallweb.run(["put"] + words)
            #expect(result.status == status && result.errors.contains(message), "\(result.errors)")
        }
        #expect(requests().isEmpty)
    }

    /// The success may be true: the page may ignore data.
    @Test func anEarlySuccessIsNoProofThatTheDataCame() throws {
        let hasty = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write("2 text/plain\r\nStored.\n")
            peer.fin()
            peer.hangWithoutReading()
        }
        let big = try file("big", Data(count: 32 << 20))
        let result = try smallweb.run(
            ["put", "--json", "spartan://127.0.0.1:\(hasty.port)/a", big])
        #expect(result.status == 0, "\(result.errors)")
        let record = try #require(try Records(result.output).all.last)
        #expect(record["warnings"]?.array.first?["code"]?.string == "data-unread")
    }

    @Test func anEarlyRefusalIsReportedWhileDataIsStillGoingOut() throws {
        let big = try file("big", Data(count: 32 << 20))
        for words in [
            ["put", place + "/refused-early", big],
            ["get", "-d", "@\(big)", place + "/refused-early"],
        ] {
            let result = try smallweb.run(words)
            #expect(result.status == 22 && result.errors.contains("4 That is too much"))
        }
    }
}
