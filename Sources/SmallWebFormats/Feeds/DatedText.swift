// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// A date in a line for people, and what else the line says. Pure.
package struct DatedText: Sendable, Hashable {
    package let day: CivilDay
    /// Without the date and what separates it; empty when nothing is left.
    package let rest: [UInt8]

    /// The label of a link, by the companion specification "Subscribing to Gemini pages": it begins
    /// with `YYYY-MM-DD`, followed by its end or by something other than a letter or digit.
    package init?(label: ArraySlice<UInt8>) {
        guard let (day, end) = Self.isoDay(label, at: label.startIndex),
            !Self.continuesWord(label[end...])
        else { return nil }
        self.day = day
        rest = Array(Self.withoutSeparators(label[end...]))
    }

    /// The text of a menu's or listing's line: its date stands at the beginning, at the end, or in
    /// brackets, as `2024-04-06`, `2024/04/06`, `2024.04.06`, `06 Apr 2024` or `April 6, 2024`.
    package init?(item text: ArraySlice<UInt8>) {
        let text = text.trimmed
        guard let found = DatedText(start: text) ?? Self.bracketed(text) ?? Self.trailing(text)
        else { return nil }
        self = found
    }

    /// The same for a text whose date stands at the beginning.
    package init?(start text: ArraySlice<UInt8>) {
        guard let (day, end) = Self.anyDay(text, at: text.startIndex),
            !Self.continues(text[..<end], text[end...])
        else { return nil }
        self.day = day
        let rest = Self.withoutSeparators(text[end...])
        // The ending of a file's name alone says nothing: the name does.
        self.rest = Self.isNameEnding(rest) ? Array(text) : Array(rest)
    }

    private init(_ day: CivilDay, _ before: ArraySlice<UInt8>, _ after: ArraySlice<UInt8>) {
        self.day = day
        let before = Self.withoutTrailingSeparators(before)
        let after = Self.withoutSeparators(after)
        rest = Array(before) + (before.isEmpty || after.isEmpty ? [] : [ASCII.space]) + after
    }

    // MARK: Places

    private static func bracketed(_ text: ArraySlice<UInt8>) -> DatedText? {
        for index in text.indices {
            let closing: UInt8
            switch text[index] {
            case UInt8(ascii: "["): closing = UInt8(ascii: "]")
            case UInt8(ascii: "("): closing = UInt8(ascii: ")")
            default: continue
            }
            guard let (day, end) = anyDay(text, at: index + 1), end < text.endIndex,
                text[end] == closing
            else { continue }
            return DatedText(day, text[..<index], text[(end + 1)...])
        }
        return nil
    }

    /// The longest form, `30 September 2024` with a comma, and the bytes before it.
    private static let trailingBytesMax = 18

    private static func trailing(_ text: ArraySlice<UInt8>) -> DatedText? {
        for index in text.suffix(trailingBytesMax).indices {
            guard let (day, end) = anyDay(text, at: index), end == text.endIndex,
                !precedes(text[..<index], text[index...])
            else { continue }
            return DatedText(day, text[..<index], [])
        }
        return nil
    }

    // MARK: Dates

    /// - Returns: The day, and where the text goes on.
    private static func isoDay(
        _ text: ArraySlice<UInt8>, at start: Int, separator: UInt8 = UInt8(ascii: "-")
    ) -> (CivilDay, Int)? {
        guard text.endIndex - start >= 10, text[start + 4] == separator,
            text[start + 7] == separator,
            let year = ASCII.decimal(text[start..<(start + 4)], max: 9999),
            let month = ASCII.decimal(text[(start + 5)..<(start + 7)], max: 12),
            let day = ASCII.decimal(text[(start + 8)..<(start + 10)], max: 31),
            let found = CivilDay(year: year, month: month, day: day)
        else { return nil }
        return (found, start + 10)
    }

    private static func anyDay(_ text: ArraySlice<UInt8>, at start: Int) -> (CivilDay, Int)? {
        guard start < text.endIndex else { return nil }
        guard ASCII.isDigit(text[start]) else { return monthFirst(text, at: start) }
        for separator in "-/.".utf8 {
            if let found = isoDay(text, at: start, separator: separator) { return found }
        }
        // `6 Apr 2024`
        guard let (day, afterDay) = number(text, at: start, digits: 1...2),
            let blank = blanks(text, at: afterDay),
            let (month, afterMonth) = month(text, at: blank),
            let next = blanks(text, at: afterMonth),
            let (year, end) = number(text, at: next, digits: 4...4),
            let found = CivilDay(year: year, month: month, day: day)
        else { return nil }
        return (found, end)
    }

    /// `Apr 06, 2024`
    private static func monthFirst(_ text: ArraySlice<UInt8>, at start: Int) -> (CivilDay, Int)? {
        guard let (month, afterMonth) = month(text, at: start),
            let blank = blanks(text, at: afterMonth),
            let (day, afterDay) = number(text, at: blank, digits: 1...2),
            afterDay < text.endIndex, text[afterDay] == UInt8(ascii: ","),
            let next = blanks(text, at: afterDay + 1),
            let (year, end) = number(text, at: next, digits: 4...4),
            let found = CivilDay(year: year, month: month, day: day)
        else { return nil }
        return (found, end)
    }

    private static func number(
        _ text: ArraySlice<UInt8>, at start: Int, digits: ClosedRange<Int>
    ) -> (Int, Int)? {
        let found = text[start...].prefix(digits.upperBound + 1).prefix(while: ASCII.isDigit)
        guard digits ~= found.count, let value = ASCII.decimal(found, max: 9999) else {
            return nil
        }
        return (value, found.endIndex)
    }

    /// One to three blanks.
    private static func blanks(_ text: ArraySlice<UInt8>, at start: Int) -> Int? {
        let found = text[start...].prefix(4).prefix(while: ASCII.isBlank)
        return 1...3 ~= found.count ? found.endIndex : nil
    }

    private static let months: [[UInt8]] = [
        "january", "february", "march", "april", "may", "june", "july", "august", "september",
        "october", "november", "december",
    ].map { Array($0.utf8) }

    /// Its name or the first three letters, in any case.
    private static func month(_ text: ArraySlice<UInt8>, at start: Int) -> (Int, Int)? {
        let word = text[start...].prefix(10).prefix(while: ASCII.isLetter)
        guard word.count >= 3 else { return nil }
        let lower = word.map(ASCII.lowercased)
        let index = months.firstIndex { name in
            name.elementsEqual(lower) || lower.count == 3 && name.starts(with: lower)
        }
        return index.map { ($0 + 1, word.endIndex) }
    }

    // MARK: What surrounds a date

    /// Whether a text goes on with a letter, a digit or `_`, so that what is before it is only the
    /// beginning of a word.
    private static func continuesWord(_ rest: ArraySlice<UInt8>) -> Bool {
        guard let first = rest.first else { return false }
        if first < 0x80 {
            return ASCII.isDigit(first) || ASCII.isLetter(first) || first == UInt8(ascii: "_")
        }
        let scalar = String(decoding: rest.prefix(4), as: UTF8.self).unicodeScalars.first
        return scalar.map(isWord) ?? false
    }

    private static func isWord(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isAlphabetic || scalar.properties.numericType != nil
    }

    /// Whether a date is the beginning of something else, such as a version (`2024.04.06.1`).
    private static func continues(_ date: ArraySlice<UInt8>, _ rest: ArraySlice<UInt8>) -> Bool {
        if continuesWord(rest) { return true }
        guard let first = rest.first, rest.count > 1, ASCII.isDigit(rest[rest.startIndex + 1])
        else { return false }
        return "/.".utf8.contains(first) && date.dropLast(2).last == first
    }

    /// Whether a date is the end of something else: a word, or a longer number with its separator.
    private static func precedes(_ before: ArraySlice<UInt8>, _ date: ArraySlice<UInt8>) -> Bool {
        guard let last = before.last else { return false }
        if last < 0x80 {
            if ASCII.isDigit(last) || ASCII.isLetter(last) || last == UInt8(ascii: "_") {
                return true
            }
            // A bracket that is not closed.
            if "[(".utf8.contains(last) { return true }
            let separator = date.dropFirst(4).first
            return "-/.".utf8.contains(last) && separator == last
                && before.dropLast().last.map(ASCII.isDigit) ?? false
        }
        let scalar = String(decoding: before.suffix(4), as: UTF8.self).unicodeScalars.last
        return scalar.map(isWord) ?? false
    }

    /// The bytes of a separator at the beginning: space, tab, `-`, `:`, `|`, `/`, `,`, `–`, `—`,
    /// `·`; 0 for anything else.
    private static func separatorCount(_ text: ArraySlice<UInt8>) -> Int {
        guard let first = text.first else { return 0 }
        switch first {
        case ASCII.space, ASCII.tab, UInt8(ascii: "-"), ASCII.colon, UInt8(ascii: "|"),
            ASCII.slash, UInt8(ascii: ","):
            return 1
        case 0xE2:
            let isDash =
                text.starts(with: [0xE2, 0x80]) && [0x93, 0x94].contains(text.prefix(3).last)
            return isDash ? 3 : 0
        case 0xC2: return text.starts(with: [0xC2, 0xB7]) ? 2 : 0
        default: return 0
        }
    }

    private static func withoutSeparators(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var text = text
        while case let count = separatorCount(text), count > 0 { text = text.dropFirst(count) }
        return text
    }

    private static func withoutTrailingSeparators(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var text = text
        while !text.isEmpty {
            if let length = (1...3).first(where: { length in
                length <= text.count && separatorCount(text.suffix(length)) == length
            }) {
                text = text.dropLast(length)
            } else if text.suffix(2).elementsEqual("..".utf8) {
                // The leaders of a table.
                while text.last == ASCII.dot { text.removeLast() }
            } else {
                break
            }
        }
        return text
    }

    /// `.txt`
    private static func isNameEnding(_ text: ArraySlice<UInt8>) -> Bool {
        text.first == ASCII.dot && text.count > 1
            && text.dropFirst().allSatisfy { ASCII.isLetter($0) || ASCII.isDigit($0) }
    }
}
