// SPDX-License-Identifier: MIT
import Foundation
internal import SmallWebFormats
internal import SmallWebTestSupport
internal import Testing

@Suite struct FeedWriterTests {
    private static let feed = Feed(
        id: "gemini://example.org/?a&b", url: "gemini://example.org/",
        title: "Notes & <thoughts>", subtitle: "It's \"all\" ]]> here", author: "example.org",
        entries: [
            Feed.Entry(
                url: "gemini://example.org/2", title: "Two",
                time: 1_712_404_800),
            Feed.Entry(
                url: "gemini://example.org/1#x", title: "2024-04-05", time: 1_712_318_400),
        ])

    private func text(_ format: FeedFormat, _ feed: Feed = feed) -> String {
        String(decoding: format.document(feed), as: UTF8.self)
    }

    @Test func writesAtom() {
        #expect(
            text(.atom) == """
                <?xml version="1.0" encoding="UTF-8"?>
                <feed xmlns="http://www.w3.org/2005/Atom">
                <title>Notes &amp; &lt;thoughts&gt;</title>
                <subtitle>It&#39;s &quot;all&quot; ]]&gt; here</subtitle>
                <id>gemini://example.org/?a&amp;b</id>
                <link rel="alternate" href="gemini://example.org/"/>
                <updated>2024-04-06T12:00:00Z</updated>
                <author>
                <name>example.org</name>
                </author>
                <entry>
                <title>Two</title>
                <id>gemini://example.org/2</id>
                <link rel="alternate" href="gemini://example.org/2"/>
                <updated>2024-04-06T12:00:00Z</updated>
                </entry>
                <entry>
                <title>2024-04-05</title>
                <id>gemini://example.org/1#x</id>
                <link rel="alternate" href="gemini://example.org/1#x"/>
                <updated>2024-04-05T12:00:00Z</updated>
                </entry>
                </feed>

                """)
    }

    @Test func writesRSS() {
        let rss = text(.rss)
        #expect(rss.contains("<lastBuildDate>Sat, 06 Apr 2024 12:00:00 +0000</lastBuildDate>"))
        #expect(rss.contains("<guid isPermaLink=\"true\">gemini://example.org/2</guid>"))
        #expect(rss.contains("<guid isPermaLink=\"true\">gemini://example.org/1#x</guid>"))
        #expect(rss.contains("<pubDate>Fri, 05 Apr 2024 12:00:00 +0000</pubDate>"))
    }

    @Test func writesJSONFeed() throws {
        let json = try #require(
            try JSONSerialization.jsonObject(with: Data(FeedFormat.jsonfeed.document(Self.feed)))
                as? [String: Any])
        #expect(json["version"] as? String == "https://jsonfeed.org/version/1.1")
        #expect(json["description"] as? String == "It's \"all\" ]]> here")
        let items = try #require(json["items"] as? [[String: String]])
        #expect(items[0]["date_published"] == "2024-04-06T12:00:00Z")
        #expect(items[1]["id"] == "gemini://example.org/1#x")
        #expect(items[1]["content_text"] == "2024-04-05")
    }

    @Test func writesGemtext() {
        #expect(
            text(.gemtext) == """
                # Notes & <thoughts>
                ## It's "all" ]]> here

                => gemini://example.org/2 2024-04-06 Two
                => gemini://example.org/1#x 2024-04-05

                """)
    }

    @Test func anEmptyFeedIsOfTheFirstMomentOf1970() {
        var feed = Self.feed
        feed.entries = []
        #expect(text(.atom, feed).contains("<updated>1970-01-01T00:00:00Z</updated>"))
    }
}

@Suite struct FeedEntriesTests {
    private func entry(_ id: String, _ time: Int) -> Feed.Entry {
        Feed.Entry(url: id, title: id, time: time)
    }

    @Test func givesTheNewestFirstAndKeepsTheOrderOfADay() {
        var entries = FeedEntries(countMax: 4)
        for (id, time) in [("a", 1), ("b", 3), ("c", 2), ("d", 3), ("b", 9), ("e", 2), ("f", 0)] {
            entries.add(entry(id, time))
        }
        #expect(entries.newest().map(\.url) == ["b", "d", "c", "e"])
        #expect(entries.newest().map(\.url) == ["b", "d", "c", "e"])
    }

    @Test func whatWasDroppedDoesNotComeBack() {
        var entries = FeedEntries(countMax: 2)
        for index in 0..<5000 { entries.add(entry("\(index)", index % 100)) }
        for index in 0..<5000 { entries.add(entry("\(index)", 1000)) }
        #expect(entries.newest().map(\.url) == ["99", "199"])
    }
}

@Suite struct FeedTextTests {
    @Test(arguments: [
        ("", ""), ("  a  b\t\nc ", "a b c"), ("a\u{1B}[31mb", "ab"), ("a\u{0}\u{7F}b", "a b"),
        ("a\u{202E}b\u{2066}c\u{200F}", "abc"),
        ("a\u{85}b\u{2028}c", "a b c"), ("\u{1F642} é", "\u{1F642} é"), ("]]> & <", "]]> & <"),
    ])
    func makesALineOfAnything(_ text: String, _ expected: String) {
        #expect(FeedText.line(Array(text.utf8)) == expected)
    }

    @Test func leavesOutWhatIsNoCharacter() {
        let bytes: [UInt8] = [0xEF, 0xBF, 0xBE, 0x61, 0xEF, 0xBF, 0xBF, 0xEF, 0xB7, 0x90]
        #expect(FeedText.line(bytes) == "a")
        #expect(
            FeedText.url(String(decoding: bytes, as: UTF8.self))
                == "%EF%BF%BEa%EF%BF%BF%EF%B7%90")
    }

    @Test func replacesWhatIsNotUTF8AndShortensWhatIsLong() {
        #expect(FeedText.line([0x61, 0xFF, 0x62]) == "a\u{FFFD}b")
        let long = FeedText.line([UInt8](repeating: 0x61, count: 5000))
        #expect(long == String(repeating: "a", count: 1000) + "\u{2026}")
    }

    @Test(arguments: [
        ("gemini://h/a?b#c", "gemini://h/a?b#c"), ("gemini://h/\"<>", "gemini://h/%22%3C%3E"),
        ("gemini://h/é", "gemini://h/é"),
        ("gemini://h/\u{202E}\u{85}", "gemini://h/%E2%80%AE%C2%85"),
        ("gemini://h/\u{3000}", "gemini://h/%E3%80%80"), ("x:{|}^`\\", "x:%7B%7C%7D%5E%60%5C"),
    ])
    func makesAURLFitForXML(_ url: String, _ expected: String) {
        #expect(FeedText.url(url) == expected)
    }
}
