// SPDX-License-Identifier: MIT
import SmallWebTestSupport
import Testing

/// The Accept field of those that read, and the cache of pages in several forms.
@Suite(.timeLimit(.minutes(30))) struct AcceptTests {
    private let smallweb = Smallweb()
    private static let hour = ["--cache", "--max-age", "1h"]

    private func get(_ words: [String]) throws -> Smallweb.Result {
        try smallweb.run(["get"] + words)
    }

    private static let readers = "text/gemini, text/markdown;q=0.9, text/html;q=0.8, */*;q=0.5"

    /// Those that read ask for text, all others for any form; an Accept field of the user's holds.
    @Test func thoseThatReadPreferText() throws {
        let site = try CacheRuleTests.Site { _, _ in
            ("200 OK\r\nContent-Type: text/gemini", "=> /a A\n")
        }
        let (own, none) = (["-H", "Accept: a/b"], ["-H", "accept:"])
        for (words, accept) in [
            (["links"], Self.readers), (["open"], Self.readers),
            (["get", "--render", "text"], Self.readers),
            (["get", "--render", "markdown", "-o", "f"], Self.readers),
            (["get"], "*/*"), (["get", "-o", "f"], "*/*"), (["get", "--json"], "*/*"),
            (["get", "--render", "text", "--raw"], "*/*"), (["head"], "*/*"),
            (["feed"], "*/*"), (["watch"], "*/*"), (["crawl", "--depth", "0"], "*/*"),
            (["links", "--warc", "a.warc"], "*/*"), (["open", "--warc", "a.warc"], "*/*"),
            (["links"] + own, "a/b"), (["open"] + own, "a/b"), (["get"] + own, "a/b"),
            (["links"] + none, nil), (["get", "--render", "html"] + none, nil),
        ] as [([String], String?)] {
            let count = site.asked.values.count
            _ = try smallweb.run(words + [site.url])
            let asked = try #require(site.asked.values.dropFirst(count).last, "\(words)")
            #expect(asked["accept"] == (accept.map { [$0] } ?? []), "\(words)")
        }
        #expect(
            try smallweb.run(["explain", "--render", "text", site.url]).text
                .contains("Accept: \(Self.readers)"))
        #expect(try smallweb.run(["links", "--replay", "a.warc", site.url]).text.contains("/a\tA"))
    }

    /// A form that was kept for one kind of reader does not answer another, if the server has
    /// several; a page with one form answers all.
    @Test(arguments: [
        ("Vary: Accept\r\n", true), ("Vary: Accept-Encoding, accept\r\n", true),
        ("Vary: Cookie\r\nVary: ACCEPT\r\n", true), ("Vary: *\r\n", true), ("", false),
        ("Vary: Accept-Encoding\r\n", false),
    ])
    func aFormIsForThoseThatAskForIt(_ vary: String, _ isVaried: Bool) throws {
        let site = try CacheRuleTests.Site { request, _ in
            let isReader = request["accept"] == [Self.readers]
            let (type, text) =
                isVaried && !isReader
                ? ("text/html", "<p>form for all") : ("text/gemini", "=> /a form for readers\n")
            return ("200 OK\r\n\(vary)ETag: \"\(type)\"\r\nContent-Type: \(type)", text)
        }
        let links = ["links"] + Self.hour + [site.url]
        for _ in 0..<2 {
            #expect(try get(Self.hour + [site.url]).text.contains(isVaried ? "all" : "readers"))
            #expect(try smallweb.run(links).text.contains("form for readers"))
        }
        #expect(site.asked.values.count == (isVaried ? 2 : 1))
        // Nor without a server, or where it says that nothing has changed.
        #expect(
            try get(["--offline", site.url]).text.contains(isVaried ? "all" : "readers"))
        #expect(try smallweb.run(["links", "--offline", site.url]).text.contains("readers"))
        #expect(try get(["--cache", site.url]).text.contains(isVaried ? "all" : "readers"))
        let own = ["-H", "Accept: text/x"]
        #expect(try get(["--offline", site.url] + own).status == 103)
        // A form that the cache does not have.
        #expect(try smallweb.run(["cache", "clear"]).status == 0)
        #expect(try get(["--cache", site.url]).status == 0)
        let other = try smallweb.run(["links", "--offline", site.url])
        #expect(other.status == (isVaried ? 103 : 0), "\(other.errors)")
    }
}
