// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebFormats
internal import SmallWebTestSupport
internal import Testing

@Suite struct FeedReaderTests {
    private func read(
        _ text: String, entriesMax: Int = 100, bytesMax: Int = 1 << 20
    ) -> FeedDocument? {
        var reader = FeedReader(bytesMax: bytesMax, entriesMax: entriesMax)
        reader.add(Array(text.utf8)[...])
        return reader.finish()
    }

    private func entry(_ text: String) throws -> FeedDocument.Entry {
        try #require(read(text)?.entries.first)
    }

    private func atom(_ entry: String, attributes: String = "") -> String {
        "<feed xmlns=\"http://www.w3.org/2005/Atom\" \(attributes)><title>F</title>"
            + "<entry>\(entry)</entry></feed>"
    }

    private func rss(_ item: String) -> String {
        "<?xml version='1.0'?><rss version='2.0'><channel><title>F</title><item>\(item)</item>"
            + "</channel></rss>"
    }

    // MARK: Kinds

    @Test func readsAtom() throws {
        let document = try #require(
            read(
                """
                <?xml version="1.0" encoding="utf-8"?>
                <!-- a comment --><?xml-stylesheet href="a"?>
                <feed xmlns="http://www.w3.org/2005/Atom" xmlns:m="http://search.yahoo.com/mrss/">
                <title>Notes</title><subtitle type="html">&lt;p>On &amp;amp; off&lt;/p></subtitle>
                <link rel="self" href="http://h/atom"/><link href="http://h/"/>
                <entry><source><title>No</title></source><m:title>No</m:title>
                <title>One</title><id>urn:1</id><link rel="via" href="http://h/no"/>
                <link rel="alternate" type="text/html" href="http://h/1"/>
                <published>2024-04-06T14:00:00.5+02:00</published>
                <updated>2025-01-01T00:00:00Z</updated><summary>S</summary></entry>
                <entry><title/><link href="2"/><updated>2024-04-06T12:00:00Z</updated></entry>
                </feed>
                """))
        #expect(document.kind == .atom)
        #expect(document.feed.title == "Notes")
        #expect(document.feed.summary == "On & off")
        #expect(document.feed.target == "http://h/")
        #expect(document.entries.map(\.title) == ["One", ""])
        #expect(document.entries.map(\.target) == ["http://h/1", "2"])
        #expect(document.entries.map(\.time) == [1_712_404_800, 1_712_404_800])
        #expect(document.entries.map(\.id) == ["urn:1", nil])
        #expect(document.entries[0].summary == "S")
        #expect(!document.isTruncated)
    }

    @Test func readsRSS() throws {
        let document = try #require(
            read(
                """
                <!DOCTYPE rss [<!ENTITY a "b>"> <!-- ' > -->]>
                <rss xmlns:atom="http://www.w3.org/2005/Atom" xmlns:i="urn:itunes"><channel>
                <atom:link rel="self" href="http://h/rss"/><image><title>No</title></image>
                <title>Notes</title><link>http://h/</link><description>On</description>
                <item><i:title>No</i:title><title>R&amp;D &a; &nbsp;</title><link> /1 </link>
                <guid isPermaLink="false">g</guid><pubDate>Sat, 6 Apr 24 08:00 EDT</pubDate></item>
                <item><title>2</title><guid>http://h/2</guid></item>
                <item><title>3</title><guid>3</guid><enclosure url="http://h/3.mp3"/></item>
                </channel></rss>
                """))
        #expect(document.kind == .rss)
        #expect(document.feed.title == "Notes")
        #expect(document.feed.target == "http://h/")
        #expect(document.entries.map(\.title) == ["R&D &a; &nbsp;", "2", "3"])
        #expect(document.entries.map(\.target) == ["/1", "http://h/2", "http://h/3.mp3"])
        #expect(document.entries.map(\.id) == ["g", "http://h/2", "3"])
        #expect(document.entries[0].time == 1_712_404_800)
    }

    @Test func readsRDF() throws {
        let document = try #require(
            read(
                """
                <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
                 xmlns:d="http://purl.org/dc/elements/1.1/" xmlns="http://purl.org/rss/1.0/">
                <channel><title>Notes</title></channel>
                <image><link>http://h/image</link></image>
                <item rdf:about="http://h/1"><d:title>One</d:title>
                <d:date>2024-04-06</d:date></item>
                <item><d:title>No</d:title><title>Two</title></item></rdf:RDF>
                """))
        #expect(document.kind == .rss)
        #expect(document.feed.target == nil)
        #expect(document.entries.map(\.title) == ["One", "Two"])
        #expect(document.entries[0].target == "http://h/1")
        #expect(document.entries[0].time == 1_712_361_600)
    }

    @Test func readsJSONFeed() throws {
        let document = try #require(
            read(
                #"""
                {"version": "https:\/\/jsonfeed.org\/version\/1.1", "title": "Notes",
                "home_page_url": "https://h/", "description": "On", "items": [
                {"id": "1", "url": "/1", "title": "A\n&amp; <b>", "content_text": "c",
                "date_published": "2024-04-06T12:00:00Z", "date_modified": "2025-01-01T00:00:00Z"},
                {"id": "2", "external_url": "https://x/", "content_html": "<p>a &amp; b</p>"}, 3]}
                """#))
        #expect(document.kind == .jsonFeed)
        #expect(document.feed.title == "Notes")
        #expect(document.feed.summary == "On")
        #expect(document.feed.target == "https://h/")
        #expect(document.entries.map(\.title) == ["A &amp; <b>", "", ""])
        #expect(document.entries.map(\.summary) == ["c", "a & b", ""])
        #expect(document.entries.map(\.target) == ["/1", "https://x/", nil])
        #expect(document.entries[0].time == 1_712_404_800)
    }

    @Test func readsOutlines() throws {
        let document = try #require(
            read(
                """
                <opml version="2.0"><head><title>Mine</title></head><body>
                <outline text="Group"><outline text="1" title="One" xmlUrl="http://1/rss"/>
                <outline text="Two" title="" XMLURL="http://2/rss" htmlUrl="http://2/">
                </outline></outline><outline text="Page" type="link" url="http://3/"/></body></opml>
                """))
        #expect(document.kind == .opml)
        #expect(document.feed.title == "Mine")
        #expect(document.entries.map(\.title) == ["One", "Two", "Page"])
        #expect(document.entries.map(\.target) == ["http://1/rss", "http://2/rss", "http://3/"])
    }

    @Test(arguments: [
        "", " ", "{", "{}", "{\"version\": \"1\", \"items\": []}", "text < text", "<", "<rss",
        "<html><body><item><title>A</title></item></body></html>", "<!DOCTYPE html [<feed/>",
        "<feed xmlns='urn:other'><entry><title>A</title></entry></feed>", "<urlset><url/></urlset>",
        "<rdf:RDF xmlns:f='http://xmlns.com/foaf/0.1/'><f:Person/></rdf:RDF>", "<a><rss/></a>",
    ])
    func refusesOthers(_ text: String) { #expect(read(text) == nil) }

    // MARK: Texts

    @Test(arguments: [
        ("<title>&lt;b&gt; &amp;amp;</title>", "<b> &amp;"),
        ("<title type='html'>&lt;b&gt;A&lt;/b&gt;&lt;br/>&amp;amp; &amp;lt;c></title>", "A & <c>"),
        ("<title type='xhtml'><div>An <b>X</b><br/>&amp; &lt;b></div></title>", "An X & <b>"),
        ("<title>a <![CDATA[< &amp; ]]>b</title>", "a < &amp; b"),
        (
            "<title>&#65;&#x42;&#x1f600;&#0;&#xD800;&#-1;&#x;&#;&</title>",
            "AB😀&#0;&#xD800;&#-1;&#x;&#;&"
        ),
        ("<title>a<!-- <b> -->b<?c d?>e</title>", "abe"), ("<title>a\r\n\t b </title>", "a b"),
        ("<title>a\u{1B}[31mb\u{202E}</title>", "ab"), ("<title>1 < 2 & 3</title>", "1 < 2 & 3"),
        ("<a:title xmlns:a='http://www.w3.org/2005/Atom'>A</a:title>", "A"),
        ("<title>A</title><title>B</title>", "A"), ("<x:title>No</x:title>", ""),
        (
            "<title>\(String(repeating: "é", count: 5000))</title>",
            String(repeating: "é", count: 1000) + "\u{2026}"
        ),
    ])
    func readsTitles(_ element: String, _ expected: String) throws {
        #expect(try entry(atom(element)).title == expected)
    }

    @Test(arguments: [
        ("&lt;b>A&lt;/b> &amp;amp; &amp;#8217;", "A & ’"),
        ("The &lt;title> element", "The <title> element"),
        ("List&lt;/T>", "List</T>"), ("1 &lt; 2", "1 < 2"), ("AT&amp;amp;T", "AT&T"),
        ("a <b>b</b>", "a b"), ("<![CDATA[<i>a</i>&nbsp;b]]>", "a&nbsp;b"),
    ])
    func guessesTitlesOfRSS(_ title: String, _ expected: String) throws {
        #expect(try entry(rss("<title>\(title)</title>")).title == expected)
    }

    @Test(arguments: [
        "2024-04-06T12:00:00Z", "2024-04-06t12:00:00.999z", "2024-04-06T14:00:00+02:00",
        "2024-04-06T12:00Z", "2024-04-06 17:30:00+0530", "Sat, 06 Apr 2024 12:00:00 GMT",
        "6 Apr 24 12:00 UT", "Saturday, 06-April-2024 05:00:00 PDT", "Sat Apr  6 12:00:00 2024",
        "Apr 6, 2024 12:00", "Sat, 06 Apr 2024 12:00:00 +0000 (UTC)", "6th April 2024 12:00:00",
        "Sat Apr  6 07:00:00 EST 2024", "Sat, 06 Apr 2024 14:00:00 GMT+2",
        "Apr 6, 2024 12:00 PM", "Sat, 06 Apr 2024 07:00:00 AM EST", "6 Apr 2024 5:30pm +0530",
        "6 Apr 2024 12:00 p.m.", "2024-04-06 02:00 PM CEST", "Sat Apr  6 12:00:00 PM UTC 2024",
        "Mar, 06 Apr 2024 12:00:00 GMT", "mar. 6 apr. 2024 12:00", "Dec 06 Apr 2024 12:00",
    ])
    func readsTimes(_ time: String) throws {
        #expect(try entry(atom("<updated> \(time)\n</updated>")).time == 1_712_404_800)
        #expect(try entry(rss("<pubDate>\(time)</pubDate>")).time == 1_712_404_800)
    }

    @Test func readsDatesWithoutTime() throws {
        let times = try ["2024-04-06", "2024-04", "2024", "6 Apr 99", "Mon, 01 Jan 0001"].map {
            try entry(atom("<updated>\($0)</updated>")).time
        }
        #expect(
            times == [1_712_361_600, 1_711_929_600, 1_704_067_200, 923_356_800, -62_135_596_800])
    }

    @Test(arguments: [
        "", "now", "12:00", ":", "2024-13-01", "2024-02-30T00:00:00Z", "2024-04-06T25:00:00Z",
        "1712404800", "06/04/2024", "Sat, 06 Foo 2024 12:00:00 GMT", "Apr", "Apr Apr",
        "99999999999999999999", "Sat, 06 Apr 2024 07 08", "-:+", "6 Apr 20245",
        "mar. 6 avril2 2024 12:00", "mar. 21 aout 2018 09:00", "Mar 21 Ago 2018", "juin 5 x 12",
    ])
    func findsNoTime(_ time: String) throws {
        #expect(try entry(atom("<updated>\(time)</updated>")).time == nil)
    }

    @Test func countsHalvesOfADay() throws {
        let times = try ["12:10 AM", "1:10 am", "12:10 PM", "11:10 PM", "13:10 PM", "9:10 AMT"].map
        {
            try entry(rss("<pubDate>6 Apr 2024 \($0)</pubDate>")).time
        }
        #expect(times.map { ($0 ?? 0) % 86_400 / 3600 } == [0, 1, 12, 23, 13, 9])
    }

    @Test func fillsATimeThatIsNotOne() throws {
        let text = "<published>soon</published><updated>2024-04-06T12:00:00Z</updated>"
        #expect(try entry(atom(text)).time == 1_712_404_800)
    }

    // MARK: Targets

    @Test(arguments: [
        ("<link rel='alternate' type='application/json' href='j'/><link href='h'/>", "h"),
        ("<link rel='alternate' type='application/json' href='j'/>", "j"),
        ("<link href='a'/><link href='b'/>", "a"), ("<link rel='self' href='a'/>", nil),
        ("<link rel='enclosure' href='e'/><id>urn:x</id>", "e"),
        ("<id>http://h/</id>", "http://h/"),
        ("<link href='?a=1&amp;b=2&c'/>", "?a=1&b=2&c"), ("<link href='a > b' x/>", "a > b"),
        ("<link href='\(String(repeating: "a", count: 5000))'/><id>x://y</id>", "x://y"),
        ("<id>\(String(repeating: "a", count: 5000))://</id>", nil), ("<link href=''/>", nil),
        ("<id>tag:h,2024:1</id><content src='http://h/c'/>", "http://h/c"),
        ("<content src='c'/><id>http://h/</id>", "c"), ("<content src='c'/><link href='l'/>", "l"),
    ])
    func choosesTheTarget(_ links: String, _ expected: String?) throws {
        #expect(try entry(atom(links)).target == expected)
    }

    @Test func collectsBases() throws {
        let document = read(
            "<rss xml:base='http://b/x/'><channel xml:base='y/'><item xml:base='../z/'><link>1"
                + "</link></item><item><link>2</link></item></channel></rss>")
        #expect(
            document?.entries.map(\.bases) == [
                ["http://b/x/", "y/", "../z/"], ["http://b/x/", "y/"],
            ])
        #expect(document?.feed.bases == ["http://b/x/", "y/"])
    }

    @Test func keepsALetterThatIsNotUTF8() throws {
        var reader = FeedReader(bytesMax: 1000)
        let start = Array("<rss><channel><item><title>caf".utf8)
        reader.add((start + [0xE9] + Array("</title></item>".utf8))[...])
        #expect(reader.finish()?.entries.first?.title == "caf\u{FFFD}")
    }

    // MARK: Breaks and limits

    @Test func takesEntriesBeforeABreak() throws {
        let text = rss("<title>A</title></item><item><title>B</title>")
        for count in 1..<text.utf8.count {
            guard let document = read(String(text.prefix(count))) else { continue }
            #expect(["", "A", "AB"].contains(document.entries.map(\.title).joined()))
            #expect(document.isTruncated)
        }
        #expect(read(text)?.entries.map(\.title) == ["A", "B"])
    }

    @Test func takesTagsInAnyOrder() throws {
        let document = read(
            rss("<description>a<br>b<p>c</description><title>A</title></b></item><item><title>B"))
        #expect(document?.entries.map(\.title) == ["A", "B"])
        #expect(document?.entries.first?.summary == "a b c")
        #expect(read(rss("") + "<rss><channel><item/></channel></rss>")?.entries.count == 1)
    }

    @Test func keepsToLimits() {
        let many = rss("<title>A</title></item><item><title>B</title></item><item>")
        #expect(read(many, entriesMax: 2)?.entries.count == 2)
        #expect(read(many, entriesMax: 2)?.isTruncated == true)
        #expect(read(many, entriesMax: 3)?.isTruncated == false)
        #expect(read(many, bytesMax: 100)?.isTruncated == true)
        let deep = String(repeating: "<a>", count: 1000) + String(repeating: "</a>", count: 1000)
        #expect(read(rss("\(deep)<title>A\(deep)B</title>"))?.entries.first?.title == "AB")
        let items = "{\"version\":\"https://jsonfeed.org/version/1\",\"items\":[{},{}]}"
        #expect(read(items, entriesMax: 1)?.entries.count == 1)
        #expect(read(items, entriesMax: 1)?.isTruncated == true)
        #expect(read(items, entriesMax: 2)?.isTruncated == false)
        #expect(read(items, bytesMax: 50)?.isTruncated == true)
    }

    @Test func hasTheCharsetConverted() {
        let texts: [(bytes: [UInt8], charset: String?)] = [
            (Array("<?xml version='1.0' encoding='ISO-8859-1'?><rss/>".utf8), "iso-8859-1"),
            (Array(" <?xml encoding=\"UTF-8\"?><rss/>".utf8), nil), (Array("<rss/>".utf8), nil),
            ([0xFF, 0xFE, 0x3C, 0], "utf-16"), ([0xFE, 0xFF, 0, 0x3C], "utf-16"),
            (Array("<?xml".utf8), nil), (Array("{}".utf8), nil),
        ]
        for (bytes, charset) in texts {
            var reader = FeedReader(bytesMax: 100)
            reader.add(bytes[...])
            var asked: String?
            let document = reader.finish { bytes, name in
                asked = name
                return Array("<rss><channel><title>Converted</title></channel></rss>".utf8)
            }
            #expect(asked == charset)
            #expect((document?.feed.title == "Converted") == (charset != nil))
        }
    }

    @Test func doesNotDependOnCuts() {
        let text = Array(atom("<title>é &amp; <![CDATA[ß]]></title><link href='a'/>").utf8)
        let whole = read(String(decoding: text, as: UTF8.self))
        for cut in text.indices {
            var reader = FeedReader(bytesMax: 1000)
            reader.add(text[..<cut])
            let part = reader.finish()
            #expect(part?.entries.isEmpty ?? true || part?.entries == whole?.entries)
            reader.add(text[cut...])
            #expect(reader.finish() == whole)
        }
    }

    @Test func readsWhateverComes() {
        var generator = SeededGenerator(seed: 1)
        for head in ["", "<rss><channel><item><title>", "<feed><entry>", "<opml><outline ", "{"] {
            for _ in 0..<500 {
                let random = generator.bytes(upTo: 200, alphabet: "<>/!?-[]&;#x\"'= {}:titlelink")
                let bytes = Array(head.utf8) + random
                var (reader, pieces) = (FeedReader(bytesMax: 300), FeedReader(bytesMax: 300))
                reader.add(bytes[...])
                for piece in generator.pieces(of: bytes) { pieces.add(piece) }
                #expect(reader.finish() == pieces.finish())
            }
        }
    }

    // MARK: Our own feeds

    @Test(arguments: FeedFormat.allCases.filter { $0 != .gemtext })
    func readsWhatIsWritten(_ format: FeedFormat) throws {
        let feed = Feed(
            id: "gemini://h/?a&b", url: "gemini://h/", title: "Notes & <thoughts>",
            subtitle: "It's \"all\" ]]> here", author: "h",
            entries: [
                "A & B", "1 < 2 > 0", "The <title> element", "\"It's\"", "]]> <![CDATA[", "<!--",
                "&nbsp", "é 😀", "<?xml?>", "-", "List<T>",
            ].enumerated().map { number, title in
                Feed.Entry(
                    url: "gemini://h/\(number)?a=1&b='2'#c", title: title,
                    time: 1_712_404_800 - number * 100_000)
            })
        let document = try #require(read(String(decoding: format.document(feed), as: UTF8.self)))
        #expect(document.feed.title == feed.title)
        #expect(document.feed.target == feed.url)
        #expect(document.feed.summary == feed.subtitle)
        #expect(document.entries.map(\.title) == feed.entries.map(\.title))
        #expect(document.entries.map(\.target) == feed.entries.map(\.url))
        #expect(document.entries.map(\.id) == feed.entries.map(\.url))
        #expect(document.entries.map(\.time) == feed.entries.map(\.time))
        #expect(!document.isTruncated)
    }
}
