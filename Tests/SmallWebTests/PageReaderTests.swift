// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebFormats
internal import SmallWebPlugins
internal import SmallWebTestSupport
internal import Testing

@Suite struct PageReaderTests {
    private func reader(
        _ type: String, under heading: String? = nil, at base: String = "gemini://h.test/d/",
        scope: PageReader.Scope = .text
    ) throws -> PageReader {
        let reader = PageReader(
            Head(.success, mediaType: MediaType(parsing: type)), base: try URI(parsing: base),
            registry: .builtIn)
        reader.require(scope, under: heading)
        return reader
    }

    private static let atom = """
        <?xml version="1.0" encoding="iso-8859-1"?>
        <feed xmlns="http://www.w3.org/2005/Atom" xml:base="/log/"><title>N\u{E9} &amp; co</title>
        <entry><title>One</title><link href="1.gmi"/><updated>2024-04-06T23:30:00-02:00</updated>
        </entry><entry><title># No link</title></entry></feed>
        """

    @Test func aFeedIsAPageOfItsEntries() throws {
        let latin = Self.atom.unicodeScalars.map { UInt8($0.value) }
        let page = [
            "1 heading(1) # N\u{E9} & co", "2 text ",
            "3 link => gemini://h.test/log/1.gmi 2024-04-07 One -> gemini://h.test/log/1.gmi",
            "4 text  # No link",
        ]
        for type in ["text/xml", "application/atom+xml", "application/rss+xml"] {
            #expect(try read([latin[...]], type) == page, "\(type)")
        }
        #expect(try read(latin.indices.map { latin[$0...$0] }, "text/xml") == page)
        // The charset of the media type goes first.
        let utf8 = Array(Self.atom.utf8)
        #expect(try read([utf8[...]], "text/xml; charset=utf-16be") != page)
        for cut in latin.indices {
            let lines = try read([latin[..<cut]], "text/xml", isWhole: false)
            #expect(lines.count <= page.count + 2, "\(cut)")
        }
    }

    @Test(arguments: [
        (atom, "application/atom+xml"),
        ("=> 1.gmi 2024-04-07 - One\n=> 2.gmi Two 2024-04-08\n", "text/gemini"),
        ("- [2024-04-07: One](1.gmi)\n", "text/markdown"),
    ])
    func aDatedLinkHasItsDay(_ text: String, _ type: String) throws {
        let mediaType = try #require(MediaType(parsing: type + "; charset=utf-8"))
        let page = try Page("gemini://h.test/log/", Array(text.utf8), mediaType)
        let link = try #require(page.links.first)
        #expect(link.day == CivilDay(year: 2024, month: 4, day: 7) && link.title == "One")
        #expect(link.url == "gemini://h.test/log/1.gmi" && link.label.hasPrefix("2024-04-07"))
        for other in page.links.dropFirst() {
            #expect(other.day == nil && other.title == other.label)
        }
        let later = try #require(CivilDay(year: 2025, month: 1, day: 1))
        #expect(try #require(link.day) < later)
    }

    @Test func whatIsNoFeedIsText() throws {
        #expect(try read([Array("<html><p>x\n".utf8)[...]], "text/xml") == ["1 text "])
        for text in ["<a>\n<b/>\n</a>\n", "", "{\n}\n"] {
            let lines = text.split(separator: "\n").enumerated().map { "\($0 + 1) text \($1)" }
            #expect(try read([Array(text.utf8)[...]], "text/xml") == lines, "\(text)")
        }
        // Beyond what is looked at, too.
        let long = "<a>" + String(repeating: "x\n", count: 50_000)
        #expect(try read([Array(long.utf8)[...]], "application/xml").count == 50_000)
    }

    /// Each line as its number, kind, text and link; `-` before one outside the section.
    private func shown(_ lines: [PageLine], _ reader: PageReader) -> [String] {
        lines.map { line in
            let kind =
                switch line.content {
                case .block(let block):
                    switch block.kind {
                    case .item: "item"
                    case .quote: "quote"
                    case .paragraph, .blank: "text"
                    case .link: block.links.contains { $0.isPrompt } ? "prompt" : "link"
                    default: "\(block.kind)"
                    }
                case .item: "item"
                case .text: "text"
                }
            let link = reader.links(line).map { " -> \($0.url)" }.joined()
            let text = String(decoding: line.bytes, as: UTF8.self)
            return "\(line.isIncluded ? "" : "-")\(line.number) \(kind) \(text)\(link)"
        }
    }

    private func read(
        _ pieces: [ArraySlice<UInt8>], _ type: String, under heading: String? = nil,
        at base: String = "gemini://h.test/d/", isWhole: Bool = true
    ) throws -> [String] {
        let reader = try reader(type, under: heading, at: base)
        let lines = pieces.flatMap { reader.read(.body($0)) } + reader.finish(isWhole: isWhole)
        return shown(lines, reader)
    }

    private static let gemtext = Array(
        "\u{FEFF}# Ä\r\n=> a B\r\n```\n=> c\r\n```\n=: /p Say\n* 😀\n## S\n=> //o.test/x\nend".utf8)

    @Test func readsGemtext() throws {
        #expect(
            try read([Self.gemtext[...]], "text/gemini", under: "S", at: "spartan://h.test/d/") == [
                "-1 heading(1) # Ä", "-2 link => a B -> spartan://h.test/d/a", "-3 fence ```",
                "-4 preformatted => c", "-5 fence ```", "-6 prompt =: /p Say -> spartan://h.test/p",
                "-7 item * 😀", "-8 heading(2) ## S", "9 link => //o.test/x -> spartan://o.test/x",
                "10 text end",
            ])
        #expect(try read([Self.gemtext[...]], "text/gemini")[5] == "6 text =: /p Say")
    }

    @Test func saysWhetherTheHeadingIsThere() throws {
        for (type, heading, isFound) in [
            ("text/gemini", "S", true), ("text/gemini", "T", false), ("text/plain", "S", false),
        ] {
            let reader = try reader(type, under: heading)
            _ = reader.read(.body(Self.gemtext[...]))
            #expect(reader.hasHeading == isFound)
        }
        #expect(try reader("text/plain").hasHeading)
    }

    private static let pages: [(type: String, bytes: [UInt8])] = [
        ("text/gemini", gemtext), ("text/plain", gemtext),
        (
            "text/gemini; charset=iso-8859-1",
            [0x23, 0xC4, 0x0D, 0x0A, 0x3D, 0x3E, 0x61, 0x20, 0xE4]
        ),
        ("text/plain; charset=windows-1258", Array("ab\nna".utf8)),
        ("text/plain; charset=utf-16be", [0, 0xE9, 0, 0x0D, 0, 0x0A, 0, 0x62]),
        (
            "text/gemini; charset=shift_jis",
            [0x3E, 0x83, 0x41, 0x0A, 0x3D, 0x3E, 0x61, 0x20, 0x83, 0x41]
        ),
        ("text/plain; charset=unheard-of", [0xFF, 0x0A, 0xC3]),
    ]

    /// However a page is cut into pieces its lines are the same, and one that is truncated has the
    /// same lines but for the last, which is not a link.
    @Test(arguments: pages.indices)
    func readsTheSameFromEveryPiece(_ index: Int) throws {
        let (type, bytes) = Self.pages[index]
        let whole = try read([bytes[...]], type)
        #expect(try read(bytes.indices.map { bytes[$0...$0] }, type) == whole)
        for cut in bytes.indices {
            #expect(try read([bytes[..<cut], bytes[cut...]], type) == whole, "cut at \(cut)")
            let some = try read([bytes[..<cut]], type, isWhole: false)
            let count = max(0, some.count - 1)
            #expect(some.prefix(count).elementsEqual(whole.prefix(count)), "truncated at \(cut)")
            if bytes.prefix(cut).last != 0x0A {
                #expect(some.last?.contains(" -> ") != true, "truncated at \(cut)")
            }
        }
    }

    @Test func convertsTheCharset() throws {
        #expect(
            try Self.pages.map { try read([$0.bytes[...]], $0.type).joined(separator: "|") }
                .suffix(5) == [
                    "1 heading(1) #Ä|2 link =>a ä -> gemini://h.test/d/a", "1 text ab|2 text na",
                    "1 text é|2 text b", "1 quote >ア|2 link =>a ア -> gemini://h.test/d/a",
                    "1 text \u{FFFD}|2 text \u{FFFD}",
                ])
    }

    /// A line without an end is given out as it comes, in pieces that the same bytes always have,
    /// and only its beginning is looked at for a mark.
    @Test(arguments: ["text/gemini", "text/plain"])
    func aLongLineIsNotHeld(_ type: String) throws {
        for unit in [Array("é".utf8), [0x80], Array("=> a b# c".utf8)] {
            let bytes = Array(repeatElement(unit, count: 200_000 / unit.count).joined())
            let reader = try reader(type)
            var lines: [PageLine] = []
            var given = 0
            for start in stride(from: 0, to: bytes.count, by: 1000) {
                lines += reader.read(.body(bytes[start..<min(start + 1000, bytes.count)]))
                given = lines.reduce(0) { $0 + $1.bytes.count }
                #expect(start + 1000 - given <= 66_536)
            }
            lines += reader.finish(isWhole: true)
            #expect(lines.flatMap(\.bytes) == bytes && lines.count == 4)
            #expect(lines.allSatisfy { $0.number == 1 && $0.bytes.count <= 65_536 })
            #expect(lines.allSatisfy { reader.links($0).isEmpty })
            #expect(lines.map { Array($0.bytes) } == (try pieces(of: bytes, type)))
        }
    }

    private func pieces(of bytes: [UInt8], _ type: String) throws -> [[UInt8]] {
        let reader = try reader(type)
        let lines = reader.read(.body(bytes[...])) + reader.finish(isWhole: true)
        return lines.map { Array($0.bytes) }
    }

    // MARK: Items

    private func events(_ text: String, _ items: [Item]) -> [Event] {
        items.map { .item($0) } + [.body(Array(text.utf8)[...])]
    }

    private static let items = [
        Item(kind: .info, text: "one"), Item(kind: .link, text: "two", url: "gemini://o.test/2"),
        Item(kind: .reference, text: "refs/heads/main"), Item(kind: .record, text: "a commit"),
    ]

    @Test func readsItemsInsteadOfTheirSource() throws {
        let menu = ["1 item one -> ", "2 item two -> gemini://o.test/2"]
        for (type, kind, rest) in [
            ("application/gopher-menu", PageReader.Kind.menu, []),
            ("text/plain", .listing, ["3 text no end"]), ("image/png", .menu, []),
        ] {
            let reader = try reader(type)
            let lines = events("one\ntwo\nno end", Self.items).flatMap { reader.read($0) }
            #expect(shown(lines, reader) == menu && reader.kind == kind)
            #expect(shown(reader.finish(isWhole: true), reader) == rest)
        }
        let reader = try reader("application/gopher-menu", scope: .source)
        let lines = events("one\ntwo\n", Self.items).flatMap { reader.read($0) }
        #expect(shown(lines, reader) == menu + ["1 text one", "2 text two"])
    }

    /// The beginning of a listing's line may come before its item.
    @Test func aLineOfAListingIsReadOnce() throws {
        let reader = try reader("text/plain")
        var lines = reader.read(.body(Array("on".utf8)[...]))
        lines += reader.read(.item(Self.items[0])) + reader.read(.body(Array("e\nno".utf8)[...]))
        lines += reader.read(.body(Array(" end".utf8)[...])) + reader.finish(isWhole: true)
        #expect(shown(lines, reader) == ["1 item one -> ", "2 text no end"])
    }

    @Test func aSectionHasNoItems() throws {
        let reader = try reader("text/plain", under: "S")
        let lines = events("two", Self.items).flatMap { reader.read($0) }
        #expect(lines.count == 2 && lines.allSatisfy { !$0.isIncluded })
    }

    /// Every form of a feed, a line of a menu, and a label that has no more than a day.
    @Test(
        arguments: [
            (
                "application/atom+xml",
                "<feed xmlns='http://www.w3.org/2005/Atom'><entry><title>A</title><link href='/a'/>"
                    + "<updated>2026-01-02T03:04:05+01:00</updated></entry></feed>", 1_767_319_445
            ),
            (
                "application/rss+xml",
                "<rss><channel><item><title>A</title><link>/a</link>"
                    + "<pubDate>Fri, 02 Jan 2026 03:04:05 +0100</pubDate></item></channel></rss>",
                1_767_319_445
            ),
            (
                "application/feed+json",
                #"{"version":"https://jsonfeed.org/version/1.1","items":[{"url":"/a","title":"A","#
                    + #""date_published":"2026-01-02T03:04:05+01:00"}]}"#, 1_767_319_445
            ),
            ("text/gemini", "=> /a 2026-01-02 A", nil),
        ] as [(String, String, Int?)])
    func entriesHaveTheirTime(_ type: String, _ text: String, _ time: Int?) throws {
        let page = try Page("https://h.test/", Array(text.utf8), MediaType(type))
        let link = try #require(page.links.first { $0.url == "https://h.test/a" })
        #expect(link.time == time && link.title == "A")
        #expect(link.day == CivilDay(year: 2026, month: 1, day: 2))
        var item = Item(kind: .text, text: "A", url: "gopher://h.test/0/a")
        item.time = time
        let menu = try Page(
            "gopher://h.test/", [], MediaType("application/gopher-menu"), items: [item])
        #expect(menu.links.map(\.time) == [time])
    }

    @Test func aPageOfOnesOwnMayBeARefusal() throws {
        var head = Head(status: 51, .permanentFailure, meta: "Not found")
        (head.isMissing, head.facts["a"]) = (true, .text("b"))
        let missing = try Page("gemini://h.test/none", head: head)
        #expect(missing.outcome == .permanentFailure && missing.status == 51)
        #expect(missing.ending.head?.isMissing == true && missing.facts["a"] == .text("b"))
        #expect(missing.ending.message?.contains("Not found") == true && missing.body.isEmpty)
        #expect(throws: FetchError.self) { try Page("no scheme", head: head) }
    }

    @Test func noLinkRepeatsThePassword() throws {
        let page = Array("=> a\n".utf8)[...]
        #expect(
            try read([page], "text/gemini", at: "https://u:hush@h.test/")
                == ["1 link => a -> https://h.test/a"])
        #expect(
            try read([page], "text/gemini", at: "https://u@h.test/")
                == ["1 link => a -> https://u@h.test/a"])
    }
}
