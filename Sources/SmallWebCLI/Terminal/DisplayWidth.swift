// SPDX-License-Identifier: MIT

/// Width of text in terminal columns.
///
/// Has its own table because libc's `wcwidth` depends on the locale, and knows only ASCII in the
/// locale C that scripts run in. Zero-width characters and emoji are taken from the standard
/// library; the table has the other characters of two columns (Unicode 14.0, EastAsianWidth W and
/// F).
public enum DisplayWidth {
    /// Returns 0 to 2. Control characters count as 0; the text must not have any.
    public static func of(_ scalar: Unicode.Scalar) -> Int {
        let value = scalar.value
        if value < 0x7F { return value < 0x20 ? 0 : 1 }
        if value < 0x300 { return value < 0xA0 || value == 0xAD ? 0 : 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control, .lineSeparator,
            .paragraphSeparator:
            return 0
        default: break
        }
        // Vowels and finals that join the Hangul syllable before them.
        if 0x1160...0x11FF ~= value || 0xD7B0...0xD7FF ~= value { return 0 }
        // Regional indicators, the halves of flags, are narrow.
        let isEmoji = scalar.properties.isEmojiPresentation && !(0x1F1E6...0x1F1FF ~= value)
        return isEmoji || wide.contains { $0 ~= value } ? 2 : 1
    }

    public static func of(_ text: some StringProtocol) -> Int {
        text.unicodeScalars.reduce(0) { $0 + of($1) }
    }

    /// Wide characters other than emoji, with gaps reserved for more of them.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x3247, 0x3250...0x4DBF,
        0x4E00...0xA4C6, 0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAD9, 0xFE10...0xFE19,
        0xFE30...0xFE6B, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18D08,
        0x1AFF0...0x1B2FB, 0x1F200...0x1F265, 0x1F6D5...0x1F6DF, 0x1F7E0...0x1F7F0,
        0x1FA70...0x1FAFF, 0x20000...0x3FFFD,
    ]

    /// The longest prefix of `text` that takes at most `columns`, with `…` in place of the rest.
    public static func truncated(_ text: String, to columns: Int) -> String {
        guard of(text) > columns else { return text }
        var (kept, width) = ("", 0)
        for character in text {
            let next = of(String(character))
            if width + next > columns - 1 { break }
            kept.append(character)
            width += next
        }
        return columns > 0 ? kept + "…" : ""
    }

    public static func padded(_ text: String, to columns: Int) -> String {
        text + String(repeating: " ", count: max(0, columns - of(text)))
    }

    /// Wraps to lines of at most `columns`: at spaces, which are removed, between wide characters,
    /// and within a word only if it is longer than a line. Returns at least one line; never splits
    /// a character.
    ///
    /// - Parameter text: One line without control characters.
    public static func wrapped(_ text: String, to columns: Int) -> [String] {
        let columns = max(columns, 2)
        guard of(text) > columns else { return [text] }
        var lines: [String] = []
        /// The current line, and the part of it behind the last possible break.
        var (line, word) = ("", "")
        var (lineWidth, wordWidth) = (0, 0)
        func end(_ text: String) {
            let spaces = text.reversed().prefix { $0 == " " }.count
            lines.append(String(text.dropLast(spaces)))
        }
        func endWord() {
            line += word
            lineWidth += wordWidth
            (word, wordWidth) = ("", 0)
        }
        for character in text {
            let width = of(String(character))
            if character == " " || width == 2 { endWord() }
            if character == " " && lineWidth + 1 > columns {
                // The break replaces the space.
                end(line)
                (line, lineWidth) = ("", 0)
                continue
            }
            if lineWidth + wordWidth + width > columns {
                if lineWidth == 0 {
                    end(word)
                    (word, wordWidth) = ("", 0)
                } else {
                    end(line)
                    (line, lineWidth) = ("", 0)
                }
            }
            // Drop spaces after a break.
            if character == " " && line.isEmpty && !lines.isEmpty { continue }
            word.append(character)
            wordWidth += width
            if character == " " || width == 2 { endWord() }
        }
        if !(line + word).isEmpty { end(line + word) }
        return lines.isEmpty ? [""] : lines
    }
}
