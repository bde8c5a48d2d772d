// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebFormats
internal import Testing

/// Addresses of entries, the vocabularies that they are found by, and places in documents.
@Suite struct FeedTargetTests {
    private func read(_ text: String) -> FeedDocument? {
        var reader = FeedReader(bytesMax: 1 << 20)
        reader.add(Array(text.utf8)[...])
        return reader.finish()
    }

    @Test(arguments: [
        ("<link xml:base='l/' href='1'/>", ["http://b/", "l/"]),
        ("<link href='1'/>", ["http://b/"]),
        ("<title xml:base='t/'>A</title><link href='1'/>", ["http://b/"]),
        ("<link rel='enclosure' xml:base='e/' href='2'/><link href='1'/>", ["http://b/"]),
        ("<link href='1'/><link rel='enclosure' xml:base='e/' href='2'/>", ["http://b/"]),
        ("<content xml:base='c/' src='1'/>", ["http://b/", "c/"]),
    ])
    func takesTheBasesOfTheTarget(_ elements: String, _ bases: [String]) throws {
        let document = try #require(
            read("<feed xml:base='http://b/'><entry>\(elements)</entry></feed>"))
        #expect(document.entries[0].target == "1" && document.entries[0].bases == bases)
    }

    @Test(arguments: [
        ("\"id\": \"http://h/1\"", "http://h/1"), ("\"id\": \"1\"", nil), ("\"id\": 1", nil),
        ("\"attachments\": [{\"url\": \"a.mp3\"}]", "a.mp3"), ("\"attachments\": [1]", nil),
        ("\"id\": \"http://h/1\", \"attachments\": [{\"url\": \"a\"}]", "http://h/1"),
        ("\"url\": \"u\", \"id\": \"http://h/1\"", "u"),
    ])
    func choosesTheTargetOfJSON(_ members: String, _ target: String?) throws {
        let text = "{\"version\":\"https://jsonfeed.org/version/1\",\"items\":[{\"title\":7,@}]}"
        let made = try #require(read(text.replacing("@", with: members))?.entries.first)
        #expect(made.target == target && made.title == "7")
    }

    /// The name of the root tells the kind, but for `<feed>`.
    @Test(arguments: [
        ("rss", "http://cyber.law.harvard.edu/rss/rss.html", 1), ("rss", "urn:x", 1),
        ("rss", "http://www.w3.org/1999/xhtml", 1), ("opml", "http://opml.org/spec2", 1),
        ("opml", "http://www.w3.org/1999/xhtml", 1), ("rdf:RDF", "urn:x", 1),
        ("feed", "http://purl.org/atom/ns#draft-ietf-atompub-format-05", 1), ("feed", "urn:x", 0),
        ("feed", "http://purl.org/atom/other", 0), ("html", "http://www.w3.org/1999/xhtml", 0),
    ])
    func knowsRootsByTheirNames(_ root: String, _ namespace: String, _ count: Int) {
        let bodies = [
            "opml": "<body><outline title='A' xmlUrl='http://h/'/></body>",
            "feed": "<entry><title>A</title></entry>",
        ]
        let items = "<channel><item><title>A</title><x:title>No</x:title></item></channel>"
        let text =
            "<\(root) xmlns='\(namespace)' xmlns:x='urn:y'>\(bodies[root] ?? items)</\(root)>"
        #expect(read(text)?.entries.map(\.title) ?? [] == Array(repeating: "A", count: count))
    }

    @Test(arguments: ["<rss><channel", "<rss><channel><item"])
    func aVocabularyMayBeNamedLater(_ start: String) {
        let text = "<rss><channel><item><title>A</title></item></channel></rss>"
        let named = text.replacing(start, with: start + " xmlns='urn:x'")
        #expect(read(named)?.entries.map(\.title) == ["A"])
    }

    /// In brackets each relative address, and parentheses for the time of the feed itself.
    @Test(arguments: [
        (
            "<rss><channel><link>/h</link><lastBuildDate>L</lastBuildDate><image><url>i</url>"
                + "</image><item><link><![CDATA[a&b]]></link><pubDate>D</pubDate>"
                + "<enclosure url='e'/></item></channel></rss>",
            "<rss><channel><link>[/h]</link><lastBuildDate>()</lastBuildDate><image><url>[i]</url>"
                + "</image><item><link>[a&b]</link><pubDate>D</pubDate>"
                + "<enclosure url='[e]'/></item></channel></rss>"
        ),
        (
            "<feed><updated>L</updated><link href=\"?a&amp;b\" rel='self'/><entry><updated>D"
                + "</updated><link href='http://h/'/><link href='#x'/><content><a href='c'>x</a>"
                + "</content></entry></feed>",
            "<feed><updated>()</updated><link href=\"[?a&b]\" rel='self'/><entry><updated>D"
                + "</updated><link href='http://h/'/><link href='#x'/><content><a href='[c]'>x</a>"
                + "</content></entry></feed>"
        ),
        (
            "<opml><head><dateModified>L</dateModified></head></opml>",
            "<opml><head><dateModified>()</dateModified></head></opml>"
        ),
        (
            #"{"version":"https://jsonfeed.org/version/1","icon":"i","x":["url"],"items":["#
                + #"{"url" : "\/1","id":"2","title":"url","external_url":"a:b"}]}"#,
            #"{"version":"https://jsonfeed.org/version/1","icon":"[i]","x":["url"],"items":["#
                + #"{"url" : "[/1]","id":"2","title":"url","external_url":"a:b"}]}"#
        ),
    ])
    func findsPlaces(_ text: String, _ marked: String) throws {
        let document = try #require(read(text))
        let shown = document.text { Array(($0.address.map { "[\($0)]" } ?? "()").utf8) }
        #expect(String(decoding: shown, as: UTF8.self) == marked)
        #expect(document.text { _ in nil } == Array(text.utf8))
    }
}
