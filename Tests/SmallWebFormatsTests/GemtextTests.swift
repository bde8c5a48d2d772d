// SPDX-License-Identifier: MIT
internal import SmallWebFormats
internal import SmallWebTestSupport
internal import Testing

@Suite struct GemtextTests {
    /// Each line as its number, kind and parts.
    private func lines(_ pieces: [ArraySlice<UInt8>], limit: Int = 65_536) -> [String] {
        var reader = GemtextReader(lineBytesMax: limit)
        var lines = pieces.flatMap { reader.add($0) }
        if let last = reader.finish() { lines.append(last) }
        return lines.map { "\($0.line) \(shown($0))" }
    }

    private func shown(_ block: TextBlock) -> String {
        let link = block.links.first { _ in true }
        let target = String(decoding: link?.target ?? [], as: UTF8.self)
        let text = String(decoding: block.text, as: UTF8.self)
        let kind =
            switch block.kind {
            case .item: "item"
            case .quote: "quote"
            case .link: link?.isPrompt ?? false ? "prompt" : "link"
            default: "\(block.kind)"
            }
        return "\(kind) [\(target)] \(text)"
    }

    private func lines(_ text: String, limit: Int = 65_536) -> [String] {
        lines([Array(text.utf8)[...]], limit: limit)
    }

    @Test func tellsTheKindsOfLines() {
        #expect(
            lines("# One\r\n##Two\n### Three\n#### Four\n* item\n*no item\n> said\n>\nplain\n\n")
                == [
                    "1 heading(1) [] One", "2 heading(2) [] Two", "3 heading(3) [] Three",
                    "4 heading(3) [] # Four", "5 item [] item", "6 paragraph [] *no item",
                    "7 quote [] said", "8 quote [] ", "9 paragraph [] plain", "10 blank [] ",
                ])
    }

    @Test(arguments: [
        ("=> /a b c", "/a", "b c"), ("=>/a", "/a", ""), ("=>\t \t/a \t b\tc \t", "/a", "b\tc"),
        ("=> gemini://h/\u{E4} \u{E4}", "gemini://h/\u{E4}", "\u{E4}"),
    ])
    func readsALink(_ line: String, _ target: String, _ label: String) {
        #expect(lines(line) == ["1 link [\(target)] \(label)"])
    }

    @Test(arguments: ["=>", "=> \t", " => /a", "= > /a"])
    func doesNotSeeALinkIn(_ line: String) {
        #expect(lines(line) == ["1 paragraph [] \(line)"])
    }

    @Test func readsAPromptWhereTheProtocolHasThem() {
        let text = Array("=: /a b c\n=:/a\n=:\n =: /a\n= : /a\n```\n=: /a\n".utf8)
        let kinds = { (readsPrompts: Bool) in
            var reader = GemtextReader(readsPrompts: readsPrompts)
            return reader.add(text[...]).map(shown)
        }
        let rest = ["paragraph [] =:", "paragraph []  =: /a", "paragraph [] = : /a", "fence [] "]
        let block = ["preformatted [] =: /a"]
        #expect(kinds(true) == ["prompt [/a] b c", "prompt [/a] "] + rest + block)
        #expect(kinds(false) == ["paragraph [] =: /a b c", "paragraph [] =:/a"] + rest + block)
    }

    @Test func skipsAByteOrderMarkAtTheBeginning() {
        #expect(
            lines("\u{FEFF}=> /a b\n\u{FEFF}=> /c")
                == ["1 link [/a] b", "2 paragraph [] \u{FEFF}=> /c"])
        #expect(lines("\u{FEFF}# One") == ["1 heading(1) [] One"])
        let bytes = Array("\u{FEFF}=> /a b\n".utf8)
        #expect(lines(bytes.map { [$0] }) == ["1 link [/a] b"])
    }

    @Test func leavesPreformattedLinesAlone() {
        #expect(
            lines("```art\n=> /a\n  # b\n``\n```\n=> /c\n```") == [
                "1 fence [] art", "2 preformatted [] => /a", "3 preformatted []   # b",
                "4 preformatted [] ``", "5 fence [] ", "6 link [/c] ", "7 fence [] ",
            ])
    }

    @Test func givesALongLineInPieces() {
        #expect(
            lines("=> /a/long/one b\nc\n", limit: 8) == [
                "1 paragraph [] => /a/lo", "1 paragraph [] ng/one b", "2 paragraph [] c",
            ])
        #expect(lines("* abcdefghi", limit: 8) == ["1 item [] abcdef", "1 paragraph [] ghi"])
    }

    @Test func doesNotDependOnThePieces() {
        let page = Array(
            "# H\u{E4}\r\n=> /a b\r\n```\nx\r\r\n```\n=> c\n> a long quotation\r\n* d\n=> e f".utf8)
        for limit in [4, 9, 65_536] {
            let whole = lines([page[...]], limit: limit)
            #expect(lines(page.indices.map { page[$0...$0] }, limit: limit) == whole)
            for cut in page.indices {
                #expect(
                    lines([page[..<cut], page[cut...]], limit: limit) == whole, "cut at \(cut)")
            }
        }
    }

    @Test func aCutPageHasNoLineThatTheWholePageHasNot() {
        let page = Array("=> /a b\n# c\n=> /d\n".utf8)
        let whole = lines([page[...]])
        for count in page.indices {
            var reader = GemtextReader()
            #expect(reader.add(page[..<count]).count <= whole.count)
            let cut = lines([page[..<count]])
            #expect(Array(cut.dropLast()) == Array(whole.prefix(max(0, cut.count - 1))))
        }
    }
}
