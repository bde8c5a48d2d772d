// SPDX-License-Identifier: MIT
import Foundation
import Glibc
internal import SmallWebFormats
internal import SmallWebTestSupport
internal import Testing

@Suite struct PageSectionTests {
    private func lines(under heading: String, _ page: String) -> [String] {
        var section = PageSection(under: heading)
        var reader = GemtextReader()
        return reader.add(Array(page.utf8)[...]).filter { section.includes($0) }.map {
            String(decoding: $0.text, as: UTF8.self)
        }
    }

    @Test func endsAtAHeadingOfItsLevelOrAbove() {
        let page = "a\n# P\nb\n## Q\nc\n### R\nd\n## S\ne\n# T\nf\n# P\ng\n"
        #expect(lines(under: "P", page) == ["b", "Q", "c", "R", "d", "S", "e"])
        #expect(lines(under: " Q ", page) == ["c", "R", "d"])
        #expect(lines(under: "R", page) == ["d"])
        #expect(lines(under: "T", page) == ["f"])
        #expect(lines(under: "U", page).isEmpty)
        #expect(lines(under: "X", "```\n# X\n```\na\n").isEmpty)
    }
}

@Suite struct MarkupTests {
    private static let page = """
        # A <b> & "c"
        text *x* [y](z) &amp;
        * - one
        * two

        > said
        ```alt
        </pre>  <x>
        ```
        # \u{1B}[31m\u{202E}red
        1. one
        - minus
        """

    private func markup(_ format: MarkupWriter.Format, _ pieces: [ArraySlice<UInt8>]) -> String {
        var (writer, reader) = (MarkupWriter(format), GemtextReader())
        var bytes: [UInt8] = []
        for piece in pieces { for block in reader.add(piece) { bytes += writer.block(block) } }
        if let block = reader.finish() { bytes += writer.block(block) }
        return String(decoding: bytes + writer.finish(), as: UTF8.self)
    }

    @Test func writesHTML() {
        #expect(
            markup(.html, [Array(Self.page.utf8)[...]]) == """
                <h1>A &lt;b&gt; &amp; &quot;c&quot;</h1>
                <p>text *x* [y](z) &amp;amp;</p>
                <ul>
                <li>- one</li>
                <li>two</li>
                </ul>
                <blockquote>
                <p>said</p>
                </blockquote>
                <pre>
                &lt;/pre&gt;  &lt;x&gt;
                </pre>
                <h1>red</h1>
                <p>1. one</p>
                <p>- minus</p>

                """)
    }

    @Test func writesMarkdown() {
        #expect(
            markup(.markdown, [Array(Self.page.utf8)[...]]) == """
                # A \\<b\\> \\& "c"

                text \\*x\\* \\[y\\](z) \\&amp;

                * \\- one
                * two

                <!-- -->

                > said

                    </pre>  <x>

                # red

                1\\. one

                \\- minus


                """)
    }

    @Test func doesNotDependOnThePieces() {
        let page = Array(Self.page.utf8)
        for format in [MarkupWriter.Format.html, .markdown] {
            let whole = markup(format, [page[...]])
            #expect(markup(format, page.indices.map { page[$0...$0] }) == whole)
        }
    }

    @Test func writesLinks() {
        var writer = MarkupWriter(.html)
        let label = Array("a <b>".utf8)[...]
        func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
        #expect(
            text(writer.link(label, to: "x:\"'&", note: " (n)"))
                == "<p><a href=\"x:&quot;&#39;&amp;\">a &lt;b&gt;</a> (n)</p>\n")
        #expect(text(writer.link(label, to: nil)) == "<p>a &lt;b&gt;</p>\n")
        #expect(text(writer.link([], to: "x:y")) == "<p><a href=\"x:y\">x:y</a></p>\n")
        writer = MarkupWriter(.markdown)
        #expect(text(writer.link(label, to: "x:a&b")) == "[a \\<b\\>](<x:a\\&b>)\n\n")
    }

    /// Blanks behind a control character that is dropped do not make code of a paragraph.
    @Test func dropsBlanksWithTheControlCharactersBeforeThem() {
        for (format, text) in [(MarkupWriter.Format.html, "<p>a</p>\n"), (.markdown, "a\n\n")] {
            var writer = MarkupWriter(format)
            #expect(writer.paragraph(Array("\0    a \u{202E} ".utf8)[...]) == Array(text.utf8))
        }
    }
}

/// Readers of lines, whose callers choose the longest line.
@Suite struct LineLimitTests {
    private static let page = Array("# é\r\n=> /a ab\n\n1€\t/\th.test\t70\r\n\u{1F600}".utf8)

    /// Each reader of lines, with a limit, over pieces: the bytes that it understands.
    private static let readers:
        [(name: String, read: @Sendable (Int, [ArraySlice<UInt8>]) throws -> [String])] = [
            (
                "add",
                { limit, pieces in
                    var (framer, lines) = (LineFramer(lineBytesMax: limit), [String]())
                    for piece in pieces { try framer.add(piece) { lines.append("\($0.bytes)") } }
                    return lines + [framer.finish().map { "\($0.bytes)" } ?? ""]
                }
            ),
            (
                "split",
                { limit, pieces in
                    var framer = LineFramer(lineBytesMax: limit)
                    let lines = pieces.flatMap { framer.split($0) }
                    return (lines + framer.split([], isLast: true)).map { "\($0.bytes)" }
                }
            ),
            (
                "gemtext",
                { limit, pieces in
                    var reader = GemtextReader(lineBytesMax: limit)
                    let blocks = pieces.flatMap { reader.add($0) }
                    return (blocks + [reader.finish()].compactMap(\.self)).map { "\($0)" }
                }
            ),
            (
                "menu",
                { limit, pieces in
                    let base = try URI(parsing: "gopher://h.test/1/")
                    var reader = MenuReader(base: base, lineBytesMax: limit)
                    var items: [Item] = []
                    for piece in pieces {
                        let (more, error) = reader.add(piece)
                        items += more
                        if let error { throw error }
                    }
                    return (items + [reader.finish()].compactMap(\.self)).map { "\($0)" }
                }
            ),
            (
                "listing",
                { limit, pieces in
                    let base = try URI(parsing: "nex://h.test/")
                    var reader = ListingReader(base: base, lineBytesMax: limit)
                    return try pieces.flatMap { try reader.add($0) }.map { "\($0)" }
                }
            ),
        ]

    /// None goes on for ever, fails in another way than by its error, or depends on the cut.
    @Test(.timeLimit(.minutes(30)), arguments: readers.indices)
    func everyLimitEnds(_ index: Int) {
        let (name, read) = Self.readers[index]
        for limit in [Int.min, -1, 0, 1, 2, 3, 4, 5, .max - 1, .max] {
            let whole = Result { try read(limit, [Self.page[...]]) }
            let bytes = Result { try read(limit, Self.page.indices.map { Self.page[$0...$0] }) }
            switch (whole, bytes) {
            case (.success(let one), .success(let other)):
                #expect(one == other && !one.isEmpty, "\(name), \(limit)")
            case (.failure(let one), .failure(let other)):
                #expect("\(one)" == "\(other)", "\(name), \(limit)")
                #expect((one as? FetchError)?.outcome == .protocolError)
            default: Issue.record("\(name), \(limit): \(whole), \(bytes)")
            }
        }
    }
}

@Suite struct MarkupDepthTests {
    /// Programs make blocks, too: no depth traps, or costs more than a page has.
    @Test(arguments: [Int.min, -1, 0, 1, 6, 64, 65, 1_000_000, .max])
    func noDepthIsATrap(_ depth: Int) {
        for format in [MarkupWriter.Format.html, .markdown] {
            let kinds: [TextBlock.Kind] = [
                .item(depth: depth), .quote(depth: depth), .heading(depth),
                .item(depth: depth, number: depth),
            ]
            for first in kinds {
                for second in kinds {
                    var writer = MarkupWriter(format)
                    var bytes: [UInt8] = []
                    for kind in [first, second] {
                        bytes += writer.block(TextBlock(kind, text: Array("x".utf8), line: 1))
                    }
                    bytes += writer.finish()
                    #expect(bytes.count { $0 == UInt8(ascii: "x") } == 2 && bytes.count < 9999)
                }
            }
        }
    }
}
