// SPDX-License-Identifier: MIT
internal import Glibc
@testable internal import SmallWebCLI
internal import Testing

/// Swift's module of the C library lacks it.
@_silgen_name("wcwidth")
private func wcwidth(_ character: Int32) -> Int32

@Suite struct DisplayWidthTests {
    @Test(arguments: [
        ("", 0), ("abc", 3), ("\u{E4}", 1), ("a\u{308}", 1), ("\u{65E5}\u{672C}", 4),
        ("\u{FF21}", 2), ("\u{AC00}", 2), ("\u{1100}\u{1161}", 2), ("\u{1F642}", 2),
        ("\u{200B}\u{200D}", 0), ("\u{301}", 0), ("\u{2026}", 1), ("\u{3042}", 2), ("\u{1F1E9}", 1),
        ("\u{5D0}\u{5B8}", 1), ("\u{E33}", 1),
    ])
    func counts(_ text: String, _ columns: Int) {
        #expect(DisplayWidth.of(text) == columns, "\(text)")
    }

    /// Compares with the C library in a UTF-8 locale. Its version matters, so a few characters may
    /// differ.
    @Test func agreesWithTheCLibrary() throws {
        let locale = try #require(newlocale(LC_CTYPE_MASK, "C.UTF-8", nil))
        let before = uselocale(locale)
        defer {
            uselocale(before)
            freelocale(locale)
        }
        var (same, others) = (0, 0)
        for value in UInt32(0x20)..<0x30000 {
            guard let scalar = Unicode.Scalar(value),
                scalar.properties.generalCategory != .unassigned
            else { continue }
            let columns = wcwidth(Int32(value))
            if columns < 0 { continue }
            if Int(columns) == DisplayWidth.of(scalar) { same += 1 } else { others += 1 }
        }
        #expect(same > 100_000)
        #expect(others < 400, "\(others) characters have another width")
    }

    @Test(arguments: [
        ("one two three", 7, ["one two", "three"]),
        ("one two three", 3, ["one", "two", "thr", "ee"]),
        ("", 5, [""]), ("abcdef", 4, ["abcd", "ef"]), ("a  b", 2, ["a", "b"]),
        ("  a b", 4, ["  a", "b"]), ("ab cd ", 5, ["ab cd"]),
        ("\u{65E5}\u{672C}\u{8A9E}", 5, ["\u{65E5}\u{672C}", "\u{8A9E}"]),
        ("ab\u{65E5}\u{672C}", 5, ["ab\u{65E5}", "\u{672C}"]),
        ("e\u{301}e\u{301}e\u{301}", 2, ["e\u{301}e\u{301}", "e\u{301}"]), ("a b", 1, ["a", "b"]),
    ])
    func wraps(_ text: String, _ columns: Int, _ lines: [String]) {
        #expect(DisplayWidth.wrapped(text, to: columns) == lines)
    }

    @Test func wrapsAnythingWithinTheWidthAndLosesOnlySpaces() {
        let words = [
            "a", "word", "\u{65E5}\u{672C}", " ", "  ", "longerthanthat", "\u{1F642}", "e\u{301}",
        ]
        var state: UInt32 = 7
        for _ in 0..<500 {
            var text = ""
            for _ in 0..<12 {
                state = state &* 1_664_525 &+ 1_013_904_223
                text += words[Int(state >> 16) % words.count]
            }
            for columns in 2...15 {
                let lines = DisplayWidth.wrapped(text, to: columns)
                #expect(lines.allSatisfy { DisplayWidth.of($0) <= columns }, "\(text) \(columns)")
                #expect(
                    lines.joined().filter { $0 != " " } == text.filter { $0 != " " },
                    "\(text) \(columns)")
            }
        }
    }

    @Test(arguments: [
        ("abc", 3, "abc"), ("abcd", 3, "ab\u{2026}"), ("\u{65E5}\u{672C}", 3, "\u{65E5}\u{2026}"),
        ("\u{65E5}\u{672C}", 2, "\u{2026}"), ("abc", 0, ""),
    ])
    func truncates(_ text: String, _ columns: Int, _ shown: String) {
        #expect(DisplayWidth.truncated(text, to: columns) == shown)
    }
}
