// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebTestSupport
internal import Testing

@Suite struct TerminalTextTests {
    private func filtered(_ pieces: [[UInt8]]) -> String {
        var filter = TerminalText.Filter()
        var safe = pieces.flatMap { filter.filter($0[...]) }
        safe += filter.filter([], isLast: true)
        return String(decoding: safe, as: UTF8.self)
    }

    private func filtered(_ text: String) -> String { filtered([Array(text.utf8)]) }

    @Test(arguments: [
        ("plain \u{E4}\u{20AC}\u{1F642}", "plain \u{E4}\u{20AC}\u{1F642}"),
        ("\u{1B}[2J", "\\x1B[2J"),
        ("\u{1B}]0;t\u{7}", "\\x1B]0;t\\x07"), ("\u{7F}\u{0}", "\\x7F\\x00"),
        ("a\u{9B}2J", "a\\u{9B}2J"),
        ("\u{80}\u{9F}", "\\u{80}\\u{9F}"), ("\u{A0}", "\u{A0}"), ("a\u{202E}b", "a\\u{202E}b"),
        ("\u{61C}\u{200E}\u{200F}", "\\u{61C}\\u{200E}\\u{200F}"),
        ("\u{2066}\u{2069}\u{2028}\u{2029}", "\\u{2066}\\u{2069}\\u{2028}\\u{2029}"),
        ("\u{200D}", "\u{200D}"), ("a\r\rb\r", "a\\x0D\\x0Db\\x0D"), ("a\u{8}b", "a\\x08b"),
    ])
    func escapesWhatATerminalWouldObey(_ text: String, safe: String) {
        #expect(TerminalText.escapeLine(text) == safe)
        #expect(filtered(text) == safe)
    }

    @Test func keepsMessagesOnOneLine() {
        #expect(TerminalText.escapeLine("a\r\nb\tc") == "a\\x0D\\x0Ab\\x09c")
        #expect(TerminalText.escapeLine("") == "")
    }

    @Test func keepsLinesAndTabsOfTexts() {
        #expect(filtered("a\r\nb\n\tc\r\r\nd") == "a\nb\n\tc\\x0D\nd")
    }

    @Test func showsInvalidUTF8AsReplacements() {
        #expect(filtered([[0x61, 0xFF, 0xC3, 0x28]]) == "a\u{FFFD}\u{FFFD}(")
        #expect(filtered([[0xC3]]) == "\u{FFFD}")
        // Half of a surrogate pair, and an overlong slash.
        #expect(!filtered([[0xED, 0xA0, 0x80]]).contains { $0 != "\u{FFFD}" })
        #expect(!filtered([[0xC0, 0xAF]]).contains("/"))
        #expect(!filtered([[0xC2], [0x9B]]).utf8.contains(0x9B))
    }

    @Test func joinsCharactersThatPiecesCutInTwo() {
        let text = "a\u{E4}\u{20AC}\u{1F642}\r\n\u{9B}\u{202E}\r\u{1B}x\r\n"
        var bytes = Array(text.utf8)
        bytes += [0xED, 0xA0, 0x80, 0xF0, 0x9F, 0x98, 0x61, 0xFF, 0xE2, 0x82]
        let whole = filtered([bytes])
        #expect(filtered(bytes.map { [$0] }) == whole)
        for split in bytes.indices {
            #expect(
                filtered([Array(bytes[..<split]), Array(bytes[split...])]) == whole,
                "split at \(split)")
        }
    }

    @Test func neverLetsAControlCharacterThrough() {
        var random = SeededGenerator(seed: 8)
        for _ in 0..<3_000 {
            let bytes = random.bytes(upTo: 30, alphabet: "\u{1B}\r\n\t\u{9B}\u{202E}[")
            let safe = filtered(random.pieces(of: bytes).map { Array($0) })
            #expect(safe == filtered([bytes]))
            #expect(
                safe
                    == safe.unicodeScalars.reduce(into: "") { text, scalar in
                        text +=
                            "\n\t".unicodeScalars.contains(scalar)
                            ? String(scalar) : TerminalText.escapeLine(String(scalar))
                    })
        }
    }

    @Test func remembersWhetherTheLastLineEnded() {
        var filter = TerminalText.Filter()
        #expect(filter.endsWithLineFeed)
        _ = filter.filter(Array("a".utf8)[...])
        #expect(!filter.endsWithLineFeed)
        _ = filter.filter(Array("\r".utf8)[...])
        _ = filter.filter(Array("\n".utf8)[...])
        #expect(filter.endsWithLineFeed)
    }
}
