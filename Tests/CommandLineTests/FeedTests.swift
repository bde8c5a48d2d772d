// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

@testable import SmallWebCLI

/// A gemini server whose pages tests change while it runs.
final class ChangingCapsule: Sendable {
    let server: LoopbackServer
    private let pages: Monitor<[String: String]>
    private let asked = Monitor([String]())

    /// - Parameter pages: Whole replies, by path.
    init(_ pages: [String: String]) throws {
        let all = Monitor(pages)
        self.pages = all
        let asked = asked
        server = try LoopbackServer(tls: .make()) { peer in
            let line = String(decoding: peer.readLine() ?? [], as: UTF8.self)
            // "gemini://host/path" and the end of the line, which is one character.
            let path =
                "/"
                + line.dropLast().split(
                    separator: "/", maxSplits: 3,
                    omittingEmptySubsequences: false
                ).dropFirst(3).joined()
            asked.update { $0.append(path) }
            peer.write(all.update { $0[path] } ?? "51 Not found\r\n")
        }
    }

    var place: String { "gemini://127.0.0.1:\(server.port)" }
    /// The paths that were asked for.
    var requests: [String] { asked.update { $0 } }

    func set(_ path: String, _ reply: String) { pages.update { $0[path] = reply } }

    static func gemtext(_ body: String) -> String { "20 text/gemini\r\n" + body }
}

@Suite struct FeedTests {
    private let smallweb = Smallweb()

    private func feed(_ arguments: String...) throws -> Smallweb.Result {
        try smallweb.run(["feed"] + arguments)
    }

    private static let page = ChangingCapsule.gemtext(
        """
        # A & B
        ## Notes
        => a.gmi 2024-04-06 - First
        => /b 2024-04-05
        => about.gmi About
        ```
        => no.gmi 2024-04-07 preformatted
        ```
        => bad.gmi 2024-02-30 impossible
        => a.gmi 2025-01-01 again
        => //other.example/c 2024-04-06 Second of the day
        ## Old
        => d.gmi 2020-01-01 D
        """)

    /// The tags and branches of a repository have the dates that their URL asks for.
    @Test func datesOfVersionsAreThoseOfTheRepository() throws {
        let server = try LoopbackServer(handler: DemoSites.git)
        let url = "git://127.0.0.1:\(server.port)/demo.git?refs"
        let undated = try smallweb.run(["feed", "--format", "gemtext", url])
        #expect(undated.status == 0 && undated.text.contains("1970-01-01 tag v1"))
        #expect(undated.errors.contains("1970-01-01; ?refs&dates has them"), "\(undated.errors)")
        let dated = try smallweb.run(["feed", "--format", "gemtext", url + "&dates"])
        #expect(dated.status == 0 && dated.errors.isEmpty, "\(dated.errors)")
        let days = dated.text.split(separator: "\n").filter { $0.hasPrefix("=>") }
        #expect(!days.isEmpty && days.allSatisfy { !$0.contains(" 1970-") }, "\(dated.text)")
        #expect(dated.text.contains(" tag v1\n"))
    }

    @Test func makesAFeedOfGemtext() throws {
        let capsule = try ChangingCapsule(["/log/": Self.page])
        let result = try feed("--format", "gemtext", capsule.place + "/log/")
        #expect(result.status == 0 && result.errors.isEmpty)
        #expect(
            result.text == """
                # A & B
                ## Notes

                => \(capsule.place)/log/a.gmi 2024-04-06 First
                => gemini://other.example/c 2024-04-06 Second of the day
                => \(capsule.place)/b 2024-04-05
                => \(capsule.place)/log/d.gmi 2020-01-01 D

                """)
        let atom = try feed(capsule.place + "/log/")
        #expect(atom.output == (try feed(capsule.place + "/log/")).output)
        #expect(atom.text.contains("<updated>2024-04-06T12:00:00Z</updated>"))
        #expect(atom.text.contains("<id>\(capsule.place)/log/</id>"))
        let under = try feed("--format", "gemtext", "--under", "Old", capsule.place + "/log/")
        #expect(under.text.hasSuffix("\n\n=> \(capsule.place)/log/d.gmi 2020-01-01 D\n"))
        #expect(
            try feed("--max-entries", "1", capsule.place + "/log/").text
                .components(separatedBy: "<entry>").count == 2)
        #expect(smallweb.home.files(below: ".local/state/smallweb").isEmpty)
    }

    @Test func entriesAreRelativeToTheEndOfRedirects() throws {
        let capsule = try ChangingCapsule([
            "/old": "31 /new/log\r\n", "/new/log": ChangingCapsule.gemtext("=> a 2024-01-01\n"),
        ])
        let result = try feed("--format", "gemtext", "--state", "s", capsule.place + "/old")
        #expect(result.text.contains("=> \(capsule.place)/new/a 2024-01-01\n"))
        #expect(result.errors.contains("has moved for good to \(capsule.place)/new/log"))
        let again = try feed("--format", "gemtext", "--state", "s", capsule.place + "/old")
        #expect(again.output == result.output && again.errors.isEmpty)
        #expect(capsule.requests == ["/old", "/new/log", "/new/log"])
    }

    /// A page that has moved to another server is asked for there at once, unless the request has
    /// something for its own server alone, which a redirect leaves out.
    @Test(arguments: [
        ("Accept: text/gemini", true), ("X-Key: 1", false), ("Authorization: Basic eDp5", false),
    ])
    func aMovedPageGetsWhatARedirectWould(_ field: String, _ isDirect: Bool) throws {
        let (old, new) = (Recorder<WebRequest>(), Recorder<WebRequest>())
        let target = try LoopbackServer { peer in
            guard let request = WebRequest(from: peer) else { return }
            new.add(request)
            peer.write(
                "HTTP/1.1 200 OK\r\nContent-Type: text/gemini\r\nContent-Length: 15\r\n\r\n"
                    + "=> a 2024-01-01")
        }
        let server = try LoopbackServer { peer in
            guard let request = WebRequest(from: peer) else { return }
            old.add(request)
            peer.write(
                "HTTP/1.1 301 Moved\r\nContent-Length: 0\r\n"
                    + "Location: http://127.0.0.1:\(target.port)/new\r\n\r\n")
        }
        for _ in 0..<2 {
            let url = "http://127.0.0.1:\(server.port)/old"
            #expect(try feed("--state", "s", "-H", field, url).status == 0)
        }
        #expect(old.values.count == (isDirect ? 1 : 2))
        #expect(new.values.map(\.target) == ["/new", "/new"])
        for request in new.values {
            let isSent = request.fields.contains {
                "\($0.name): \($0.value)".lowercased() == field.lowercased()
            }
            #expect(isSent == isDirect)
        }
    }

    @Test func aPageWithoutDatesIsAnEmptyFeedAndAMessage() throws {
        let capsule = try ChangingCapsule(["/": ChangingCapsule.gemtext("=> a A\n=> b B\n")])
        let result = try feed("-q", capsule.place + "/")
        #expect(result.status == 0 && result.errors.contains("--new"))
        #expect(result.text.contains("<updated>1970-01-01T00:00:00Z</updated>"))
        #expect(try feed("-s", capsule.place + "/").errors.isEmpty)
    }

    @Test func linksWithoutADateAreOfTheirFirstSight() throws {
        let capsule = try ChangingCapsule(["/": ChangingCapsule.gemtext("=> a A\n=> b B\n")])
        let first = try feed("--new", capsule.place + "/")
        #expect(first.text.components(separatedBy: "<entry>").count == 3)
        #expect(try feed("--new", capsule.place + "/").output == first.output)
        #expect(smallweb.home.files(below: ".local/state/smallweb/feed").count == 1)
        capsule.set("/", ChangingCapsule.gemtext("=> c C\n=> a A\n"))
        let third = try feed("--new", capsule.place + "/")
        #expect(third.text.contains("/c</id>") && !third.text.contains("/b</id>"))
    }

    @Test func menusAndListingsHaveDatesInTheirText() throws {
        let server = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write(
                "0[2024-04-06] A\t/a\t127.0.0.1\t70\r\n"
                    + "7Search (Apr 03, 2024)\t/s\t127.0.0.1\t70\r\n"
                    + "i2024-04-01 text\t\tx\t1\r\n1No date\t/n\t127.0.0.1\t70\r\n.\r\n")
        }
        let place = "gopher://127.0.0.1:\(server.port)/1/"
        let result = try feed("--format", "gemtext", place)
        #expect(
            result.text.hasSuffix(
                "\n\n=> gopher://127.0.0.1/0/a 2024-04-06 A\n"
                    + "=> gopher://127.0.0.1/7/s 2024-04-03 Search\n"))
    }

    @Test func aSoleFeedIsCutWhereItIsAskedFor() throws {
        let entries = (1...3).map { number in
            "<entry><title>T\(number)</title><link href='http://h.test/\(number)'/>"
                + "<updated>2024-04-0\(number)T00:00:00Z</updated></entry>"
        }
        let feed = "<feed xmlns='http://www.w3.org/2005/Atom'>\(entries.joined())</feed>"
        let capsule = try ChangingCapsule(["/f": "20 application/atom+xml\r\n" + feed])
        for (words, count) in [([], 3), (["--max-entries", "1"], 1), (["--max-entries", "9"], 3)] {
            let result = try smallweb.run(["feed"] + words + [capsule.place + "/f"])
            #expect(result.text.split(separator: "<entry>").count == count + 1)
            #expect(result.status == 0 && result.text.contains("T3"), "\(result.text)")
        }
    }

    @Test func aFeedPassesThroughAlone() throws {
        let document = "<?xml version='1.0'?>\r\n<feed xmlns='http://www.w3.org/2005/Atom'/>\0\n"
        let capsule = try ChangingCapsule([
            "/f": "20 text/xml\r\n" + document, "/h": "20 image/png\r\n<html>",
            "/x": "20 application/rss+xml\r\n<!doctype html><html>", "/log": Self.page,
        ])
        let place = capsule.place
        #expect(try feed(place + "/f").output == Array(document.utf8))
        for name in ["/h", "/x"] {
            let result = try smallweb.run(["feed", place + name])
            #expect(result.status == 8 && result.output.isEmpty, "\(name)")
            #expect(result.errors.contains("left out"))
        }
        let merged = try feed(place + "/f", place + "/h", place + "/log")
        #expect(merged.status == 0 && merged.text.contains("A &amp; B</title>"))
    }

    @Test func whatIsGoneIsAFailureOnceAndThenSilence() throws {
        let capsule = try ChangingCapsule(["/": "52 Gone\r\n"])
        for _ in 0..<2 { #expect(try feed(capsule.place + "/").status == 22) }
        #expect(try feed("--state", "s", capsule.place + "/").status == 22)
        let later = try feed("--state", "s", capsule.place + "/")
        #expect(later.status == 0 && later.output.isEmpty && later.errors.isEmpty)
        #expect(capsule.requests.count == 3)
    }

    @Test func aHostThatWantsToBeLeftAloneIs() throws {
        let capsule = try ChangingCapsule(["/": "44 100\r\n", "/b": Self.page])
        let first = try feed("--state", "s", capsule.place + "/", capsule.place + "/b")
        #expect(first.status == 75 && first.output.isEmpty)
        let second = try feed("--state", "s", capsule.place + "/b")
        #expect(second.status == 75 && second.errors.contains("not asked before"))
        #expect(capsule.requests == ["/"])
    }

    @Test func refusesJSONByName() throws {
        let result = try feed("--json", "gemini://127.0.0.1/")
        #expect(result.status == 2 && result.errors.contains("--json"))
    }

    @Test func doesNotTouchAFileThatIsNotItsState() throws {
        let notes = smallweb.home.file("notes")
        for content in ["my notes\n", "# smallweb watch 1\n", "# smallweb feed 2\n"] {
            try content.write(toFile: notes, atomically: true, encoding: .utf8)
            let result = try feed("--state", "notes", "gemini://127.0.0.1:1/")
            #expect(result.status == 26, "\(content)")
            #expect(smallweb.home.content("notes") == Array(content.utf8))
        }
    }

    @Test func getHasBodyAndLinksInOneFetch() throws {
        let capsule = try ChangingCapsule(["/log/": Self.page])
        let result = try smallweb.run(["get", "--json", "--with-links", capsule.place + "/log/"])
        let records = try Records(result.output)
        #expect(records["link"].count == 7 && records.all.last?["links"]?.int == 7)
        #expect(records.all.last?["body"]?["text"]?.string?.hasPrefix("# A & B") ?? false)
        #expect(capsule.requests.count == 1)
        #expect(try smallweb.run(["get", "--with-links", capsule.place]).status == 2)
    }

    @Test func rendersAFragmentWithoutWhatTheServerCouldRun() throws {
        let capsule = try ChangingCapsule([
            "/": ChangingCapsule.gemtext(
                "=> javascript:alert(1) run\n=> a<b>.gmi A & B\n<script>\n"),
            "/i": "20 image/png\r\nx",
        ])
        let html = try smallweb.run(["get", "--render", "html", capsule.place + "/"])
        #expect(
            html.text
                == "<p>run</p>\n<p><a href=\"\(capsule.place)/a%3Cb%3E.gmi\">A &amp; B</a></p>\n"
                + "<p>&lt;script&gt;</p>\n")
        let markdown = try smallweb.run(["get", "--render", "markdown", capsule.place + "/"])
        #expect(markdown.text.hasPrefix("run\n\n[A \\& B](<\(capsule.place)/a%3Cb%3E.gmi>)\n"))
        #expect(try smallweb.run(["get", "--render", "html", capsule.place + "/i"]).status == 23)
    }
}

@Suite struct SubscriptionStateTests {
    /// A page that always has the same links, beside one that has others each time.
    @Test func aLinkThatIsStillThereIsNotForgotten() throws {
        var state = SubscriptionState(.feed)
        for round in 1...12 {
            #expect(state.see("gemini://example.org/old", at: round) == 1)
            for number in 0..<10_000 {
                state.see("gemini://example.org/\(round)/\(number)", at: round)
            }
            // Their order is kept, too.
            state = try SubscriptionState(.feed, state.bytes, at: "state")
        }
        #expect(state.see("gemini://example.org/1/0", at: 13) == 13)
        #expect(state.see("gemini://example.org/12/0", at: 13) == 12)
        let lines = String(decoding: state.bytes, as: UTF8.self).split(separator: "\n")
        #expect(lines.count <= 100_001)
    }
}
