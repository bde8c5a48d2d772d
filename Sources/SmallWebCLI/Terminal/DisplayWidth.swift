// SPDX-License-Identifier: MIT

/// How many columns of a terminal a text takes.
///
/// A table of our own, because libc's `wcwidth` knows what the locale says, which is nothing but
/// ASCII in the locale C that scripts run in. Whether a character takes room at all is known to the
/// standard library; which ones take two columns (Unicode 14.0, EastAsianWidth W and F) is below.
public enum DisplayWidth {
    /// 0 to 2. Control characters count as nothing: they must not be there.
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
        return isWide(value) ? 2 : 1
    }

    public static func of(_ text: some StringProtocol) -> Int {
        text.unicodeScalars.reduce(0) { $0 + of($1) }
    }

    static func isWide(_ value: UInt32) -> Bool {
        if value < 0x1100 { return false }
        var (low, high) = (0, wide.count)
        while low < high {
            let middle = (low + high) / 2
            if wide[middle].1 < value { low = middle + 1 } else { high = middle }
        }
        return low < wide.count && wide[low].0 <= value
    }

    private static let wide: [(UInt32, UInt32)] = [
        (0x1100, 0x115F), (0x231A, 0x231B), (0x2329, 0x232A), (0x23E9, 0x23EC), (0x23F0, 0x23F0),
        (0x23F3, 0x23F3), (0x25FD, 0x25FE), (0x2614, 0x2615), (0x2648, 0x2653), (0x267F, 0x267F),
        (0x2693, 0x2693), (0x26A1, 0x26A1), (0x26AA, 0x26AB), (0x26BD, 0x26BE), (0x26C4, 0x26C5),
        (0x26CE, 0x26CE), (0x26D4, 0x26D4), (0x26EA, 0x26EA), (0x26F2, 0x26F3), (0x26F5, 0x26F5),
        (0x26FA, 0x26FA), (0x26FD, 0x26FD), (0x2705, 0x2705), (0x270A, 0x270B), (0x2728, 0x2728),
        (0x274C, 0x274C), (0x274E, 0x274E), (0x2753, 0x2755), (0x2757, 0x2757), (0x2795, 0x2797),
        (0x27B0, 0x27B0), (0x27BF, 0x27BF), (0x2B1B, 0x2B1C), (0x2B50, 0x2B50), (0x2B55, 0x2B55),
        (0x2E80, 0x303E), (0x3041, 0x3247), (0x3250, 0x4DBF), (0x4E00, 0xA4C6), (0xA960, 0xA97C),
        (0xAC00, 0xD7A3), (0xF900, 0xFAD9), (0xFE10, 0xFE19), (0xFE30, 0xFE6B), (0xFF01, 0xFF60),
        (0xFFE0, 0xFFE6), (0x16FE0, 0x18D08), (0x1AFF0, 0x1B2FB), (0x1F004, 0x1F004),
        (0x1F0CF, 0x1F0CF), (0x1F18E, 0x1F18E), (0x1F191, 0x1F19A), (0x1F200, 0x1F265),
        (0x1F300, 0x1F320), (0x1F32D, 0x1F335), (0x1F337, 0x1F37C), (0x1F37E, 0x1F393),
        (0x1F3A0, 0x1F3CA), (0x1F3CF, 0x1F3D3), (0x1F3E0, 0x1F3F0), (0x1F3F4, 0x1F3F4),
        (0x1F3F8, 0x1F43E), (0x1F440, 0x1F440), (0x1F442, 0x1F4FC), (0x1F4FF, 0x1F53D),
        (0x1F54B, 0x1F54E), (0x1F550, 0x1F567), (0x1F57A, 0x1F57A), (0x1F595, 0x1F596),
        (0x1F5A4, 0x1F5A4), (0x1F5FB, 0x1F64F), (0x1F680, 0x1F6C5), (0x1F6CC, 0x1F6CC),
        (0x1F6D0, 0x1F6D2), (0x1F6D5, 0x1F6DF), (0x1F6EB, 0x1F6EC), (0x1F6F4, 0x1F6FC),
        (0x1F7E0, 0x1F7F0), (0x1F90C, 0x1F93A), (0x1F93C, 0x1F945), (0x1F947, 0x1F9FF),
        (0x1FA70, 0x1FAFF), (0x20000, 0x3FFFD),
    ]

    /// The longest beginning of `text` that takes at most `columns`, with `…` in place of what does
    /// not fit.
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

    /// `text` with spaces behind it, up to `columns`.
    public static func padded(_ text: String, to columns: Int) -> String {
        text + String(repeating: " ", count: max(0, columns - of(text)))
    }

    /// Lines of at most `columns`: broken at spaces, which go, between wide characters, and within
    /// a word only when it alone is too long. Never empty; no character is cut in two.
    ///
    /// - Parameter text: One line without control characters.
    public static func wrapped(_ text: String, to columns: Int) -> [String] {
        let columns = max(columns, 2)
        guard of(text) > columns else { return [text] }
        var lines: [String] = []
        /// The present line, and the part of it behind the last place where it may be broken.
        var (line, word) = ("", "")
        var (lineWidth, wordWidth) = (0, 0)
        func end(_ text: String) {
            let spaces = text.reversed().prefix { $0 == " " }.count
            lines.append(String(text.dropLast(spaces)))
        }
        for character in text {
            let width = of(String(character))
            if character == " " || width == 2 {
                line += word
                lineWidth += wordWidth
                (word, wordWidth) = ("", 0)
            }
            if character == " " && lineWidth + 1 > columns {
                // The break takes the place of the space.
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
            // Spaces that a break has left at the beginning of a line.
            if character == " " && line.isEmpty && !lines.isEmpty { continue }
            word.append(character)
            wordWidth += width
            if character == " " || width == 2 {
                line += word
                lineWidth += wordWidth
                (word, wordWidth) = ("", 0)
            }
        }
        if !(line + word).isEmpty { end(line + word) }
        return lines.isEmpty ? [""] : lines
    }
}
