// SPDX-License-Identifier: MIT
internal import SmallWebCore

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
        if text.utf8.allSatisfy({ 0x20..<0x7F ~= $0 }) { return text.utf8.count }
        return text.unicodeScalars.reduce(0) { $0 + of($1) }
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
        var (text, lines) = (text, [String]())
        text.withUTF8 { bytes in
            wrap(bytes, to: columns) { lines.append(String(decoding: $0, as: UTF8.self)) }
        }
        return lines
    }

    /// The same for a text in UTF-8, line by line.
    static func wrap(
        _ text: UnsafeBufferPointer<UInt8>, to columns: Int,
        _ take: (UnsafeBufferPointer<UInt8>) -> Void
    ) {
        let columns = max(columns, 2)
        // No character has more columns than bytes.
        if text.count <= columns { return take(text) }
        /// The current line, the last possible break in it, and the columns before and behind that.
        var (line, word, lineWidth, wordWidth) = (0, 0, 0, 0)
        var hasLines = false
        func end(at end: Int, next: Int) {
            var end = end
            while end > line, text[end - 1] == ASCII.space { end -= 1 }
            take(UnsafeBufferPointer(rebasing: text[line..<end]))
            (line, word, lineWidth, hasLines) = (next, max(word, next), 0, true)
        }
        func endWord(_ at: Int) {
            (word, lineWidth, wordWidth) = (at, lineWidth + wordWidth, 0)
        }
        var at = 0
        while at < text.count {
            // Of a word in ASCII that fits, no character is looked at by itself.
            let letters = letters(of: text, at: at, max: columns - lineWidth - wordWidth)
            wordWidth += letters
            at += letters
            if at == text.count { break }
            let (count, width) = character(of: text, at: at)
            let isSpace = text[at] == ASCII.space && count == 1
            if isSpace || width == 2 { endWord(at) }
            let isLineFull = lineWidth + wordWidth + width > columns
            if isSpace && (isLineFull || hasLines && line == at) {
                // A break replaces the space, and those behind it.
                if isLineFull { end(at: at, next: at + 1) }
                (line, word) = (at + 1, at + 1)
            } else {
                if isLineFull && lineWidth == 0 {
                    end(at: at, next: at)
                    wordWidth = 0
                } else if isLineFull {
                    end(at: word, next: word)
                }
                wordWidth += width
                if isSpace || width == 2 { endWord(at + count) }
            }
            at += count
        }
        guard hasLines else { return take(text) }
        if line < text.count { end(at: text.count, next: text.count) }
    }

    /// Characters of ASCII before the next space that no other joins, at most `max`.
    private static func letters(
        of text: UnsafeBufferPointer<UInt8>, at start: Int, max: Int
    ) -> Int {
        let limit = min(start + max, text.count)
        var end = start
        while end < limit, 0x21..<0x7F ~= text[end] { end += 1 }
        let mayJoin = end > start && end < text.count && text[end] >= 0x80
        return end - start - (mayJoin ? 1 : 0)
    }

    /// The bytes and columns of the character at an offset. ASCII and Latin letters, quotes and
    /// dashes need no tables of Unicode, unless others follow that may join them.
    private static func character(
        of text: UnsafeBufferPointer<UInt8>, at start: Int
    ) -> (count: Int, width: Int) {
        let byte = text[start]
        if byte < 0x80 {
            if isSingle(text, at: start + 1) { return (1, 0x20..<0x7F ~= byte ? 1 : 0) }
        } else if isSingle(text, at: start) {
            let count = byte == 0xE2 ? 3 : 2
            if isSingle(text, at: start + count) {
                let isSoft = byte == 0xC2 && (text[start + 1] < 0xA0 || text[start + 1] == 0xAD)
                return (count, isSoft ? 0 : 1)
            }
        }
        var length = 16
        while true {
            var end = min(start + length, text.count)
            while end < text.count, text[end] & 0xC0 == 0x80 { end += 1 }
            let piece = UnsafeBufferPointer(rebasing: text[start..<end])
            let character = String(decoding: piece, as: UTF8.self).first ?? " "
            let count = character.utf8.count
            if count < end - start || end == text.count { return (count, of(String(character))) }
            length *= 2
        }
    }

    /// True at the end, and for ASCII, U+0080 to U+02FF and U+2010 to U+2027, which join nothing.
    private static func isSingle(_ text: UnsafeBufferPointer<UInt8>, at index: Int) -> Bool {
        guard index < text.count, text[index] >= 0x80 else { return true }
        if 0xC2...0xCB ~= text[index] { return true }
        return text[index] == 0xE2 && index + 2 < text.count && text[index + 1] == 0x80
            && 0x90...0xA7 ~= text[index + 2]
    }
}
