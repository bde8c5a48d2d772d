// SPDX-License-Identifier: MIT
package import SmallWebText

/// A date in a line for people, and the rest of the line. Pure.
package struct DatedText: Sendable, Hashable {
    package let day: CivilDay
    /// The line without the date, its time, and their separators; may be empty.
    package let rest: [UInt8]

    /// Parses a link's label by the companion specification "Subscribing to Gemini pages": it
    /// begins with `YYYY-MM-DD`, which no letter, digit or `_` follows.
    package init?(label: ArraySlice<UInt8>) {
        guard let (date, end) = Self.match("Y-m-d", label, at: label.startIndex),
            let day = CivilDay(year: date.year, month: date.month, day: date.day),
            !Self.continuesWord(label[end...])
        else { return nil }
        self.day = day
        rest = Array(Self.withoutSeparators(label[end...]))
    }

    /// Parses a line of a menu or listing: its date is at the beginning, at the end, or in
    /// brackets, as `2024-04-06`, `2024/04/06`, `2024.04.06`, `2024-Apr-06`, `06 Apr 2024` or
    /// `April 6, 2024`, optionally between a day of the week and a time; a size may follow.
    package init?(item text: ArraySlice<UInt8>) {
        let text = text.trimmed
        guard let found = DatedText(start: text) ?? Self.bracketed(text) ?? Self.trailing(text)
        else { return nil }
        self = found
    }

    /// Parses a text that begins with a date in one of these forms.
    package init?(start text: ArraySlice<UInt8>) {
        guard let (day, end) = Self.anyDay(text, at: text.startIndex),
            !Self.continues(text[..<end], text[end...])
        else { return nil }
        self.day = day
        let rest = Self.withoutSeparators(text[end...])
        // An extension alone says nothing: keep the whole name.
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
            let end = text[(index + 1)...].prefix(trailingBytesMax).firstIndex(of: closing)
            guard let end, case let inside = text[(index + 1)..<end],
                let found = DatedText(start: inside) ?? trailing(inside),
                isSize([ASCII.space] + found.rest, needsUnit: true)
            else { continue }
            return DatedText(found.day, text[..<index], text[(end + 1)...])
        }
        return nil
    }

    /// Enough for the longest form, `Wednesday, 30 September 2024 14:22:33.123456 +00:00` with a
    /// size.
    private static let trailingBytesMax = 80

    private static func trailing(_ text: ArraySlice<UInt8>) -> DatedText? {
        for index in text.suffix(trailingBytesMax).indices {
            // A date does not begin within a word.
            if index > text.startIndex, ASCII.isLetter(text[index - 1]) { continue }
            guard let (day, end) = anyDay(text, at: index),
                isSize(text[end...], needsUnit: !text[index..<end].contains(ASCII.colon)),
                !precedes(text[..<index], text[index...])
            else { continue }
            return DatedText(day, text[..<index], [])
        }
        return nil
    }

    /// True if the text after a date is empty or the size of a file.
    private static func isSize(_ text: ArraySlice<UInt8>, needsUnit: Bool) -> Bool {
        guard let first = text.first, case let size = text.trimmed, size.count > 0 else {
            return true
        }
        let unit = size.drop { ASCII.isDigit($0) || ".,".utf8.contains($0) }
        let name = String(decoding: unit.trimmed, as: UTF8.self).lowercased()
        let isNumber =
            unit.count < size.count && (name.isEmpty && !needsUnit || units.contains(name))
        // Directories have dashes.
        return ASCII.isBlank(first) && (isNumber || size.allSatisfy { $0 == UInt8(ascii: "-") })
    }

    // MARK: Dates

    private static let forms = [
        "Y-m-d", "Y/m/d", "Y.m.d", "Y-M-d", "d-M-Y", "D M Y", "M D, Y",
    ]

    /// Matches a date, with an optional day of the week before it and time after it.
    ///
    /// - Returns: The day, and the end of the match.
    private static func anyDay(_ text: ArraySlice<UInt8>, at start: Int) -> (CivilDay, Int)? {
        let weekday = match("W, ", text, at: start) ?? match("W ", text, at: start)
        for form in forms {
            guard let (day, end) = match(form, text, at: weekday?.end ?? start) else { continue }
            return CivilDay(year: day.year, month: day.month, day: day.day)
                .map { ($0, afterTime(text, at: end)) }
        }
        return nil
    }

    /// End of a time at `start`, as ` 14:22`, `T14:22:33.5Z` or ` 14:22 +0200`; `start` without
    /// one.
    private static func afterTime(_ text: ArraySlice<UInt8>, at start: Int) -> Int {
        let forms = ["Th:n:n", " h:n:n", "Th:n", " h:n"]
        guard var end = forms.lazy.compactMap({ match($0, text, at: start) }).first?.end else {
            return start
        }
        if end < text.endIndex, text[end] == ASCII.dot {
            end = text[(end + 1)...].prefix(9).drop(while: ASCII.isDigit).startIndex
        }
        let zone = text[(match(" ", text, at: end)?.end ?? end)...].prefix(6)
        let name = zone.prefix(while: ASCII.isLetter)
        let offset = ["+hn", "-hn", "+h:n", "-h:n"].lazy
            .compactMap { match($0, text, at: zone.startIndex) }.first
        if zones.contains(String(decoding: name, as: UTF8.self)) { end = name.endIndex }
        end = offset?.end ?? end
        return continuesWord(text[end...]) ? start : end
    }

    private static let zones = words(
        "Z UTC GMT CET CEST WET WEST EET EEST BST MSK EST EDT CST CDT MST MDT PST PDT AEST AEDT "
            + "NZST NZDT IST JST")
    private static let units = words("b byte bytes k kb kib m mb mib g gb gib t tb tib")
    private static let months = names(
        "january february march april may june july august september october november december")
    private static let weekdays = names(
        "monday tuesday wednesday thursday friday saturday sunday")

    private static func names(_ text: String) -> [[UInt8]] {
        text.split(separator: " ").map { Array($0.utf8) }
    }

    private static func words(_ text: String) -> Set<String> {
        Set(text.split(separator: " ").map(String.init))
    }

    /// Matches a form at `start`: `Y` is four digits, `m` and `d` two, `D` one or two, `h` and `n`
    /// an hour and two digits of a minute, `M` and `W` names of months and weekdays, a blank one to
    /// three.
    private static func match(
        _ form: String, _ text: ArraySlice<UInt8>, at start: Int
    ) -> (day: (year: Int, month: Int, day: Int), end: Int)? {
        var (rest, day) = (text[start...], (year: 0, month: 0, day: 0))
        for mark in form.utf8 {
            let found: (value: Int, end: Int)?
            switch Unicode.Scalar(mark) {
            case "Y": found = number(rest, 4...4, max: 9999)
            case "m", "d": found = number(rest, 2...2, max: 31)
            case "D": found = number(rest, 1...2, max: 31)
            case "h": found = number(rest, form.contains(":") ? 1...2 : 2...2, max: 24, more: true)
            case "n": found = number(rest, 2...2, max: 60)
            case "M": found = name(among: months, rest)
            case "W": found = name(among: weekdays, rest)
            case " ":
                let count = rest.prefix(4).prefix(while: ASCII.isBlank).count
                found = 1...3 ~= count ? (0, rest.startIndex + count) : nil
            default: found = rest.first == mark ? (0, rest.startIndex + 1) : nil
            }
            guard let (value, end) = found else { return nil }
            rest = text[end...]
            switch Unicode.Scalar(mark) {
            case "Y": day.year = value
            case "m", "M": day.month = value
            case "d", "D": day.day = value
            default: break
            }
        }
        return (day, rest.startIndex)
    }

    /// - Parameter more: True if further digits may follow, which belong to the next number.
    private static func number(
        _ text: ArraySlice<UInt8>, _ digits: ClosedRange<Int>, max: Int, more: Bool = false
    ) -> (Int, Int)? {
        let most = digits.upperBound + (more ? 0 : 1)
        let found = text.prefix(most).prefix(while: ASCII.isDigit)
        guard digits ~= found.count, let value = ASCII.decimal(found, max: max) else { return nil }
        return (value, found.endIndex)
    }

    /// Matches a name or its first three letters, in any case; returns its number from 1, and its
    /// end.
    private static func name(
        among names: [[UInt8]], _ text: ArraySlice<UInt8>
    ) -> (Int, Int)? {
        let word = text.prefix(10).prefix(while: ASCII.isLetter)
        guard word.count >= 3 else { return nil }
        let lower = word.map(ASCII.lowercased)
        let index = names.firstIndex { name in
            name.elementsEqual(lower) || lower.count == 3 && name.starts(with: lower)
        }
        return index.map { ($0 + 1, word.endIndex) }
    }

    // MARK: Surroundings of a date

    /// True if the text continues a word: with a letter, a digit or `_`.
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

    /// True if the date begins something else, such as a version (`2024.04.06.1`).
    private static func continues(_ date: ArraySlice<UInt8>, _ rest: ArraySlice<UInt8>) -> Bool {
        if continuesWord(rest) { return true }
        guard let first = rest.first, rest.count > 1, ASCII.isDigit(rest[rest.startIndex + 1])
        else { return false }
        return "/.".utf8.contains(first) && date.dropLast(2).last == first
    }

    /// True if the date ends something else: a word, or a longer number with its separator.
    private static func precedes(_ before: ArraySlice<UInt8>, _ date: ArraySlice<UInt8>) -> Bool {
        guard let last = before.last else { return false }
        if last < 0x80 {
            if ASCII.isDigit(last) || ASCII.isLetter(last) || last == UInt8(ascii: "_") {
                return true
            }
            // An unclosed bracket.
            if "[(".utf8.contains(last) { return true }
            let separator = date.dropFirst(4).first
            return "-/.".utf8.contains(last) && separator == last
                && before.dropLast().last.map(ASCII.isDigit) ?? false
        }
        let scalar = String(decoding: before.suffix(4), as: UTF8.self).unicodeScalars.last
        return scalar.map(isWord) ?? false
    }

    private static let separators = [" ", "\t", "-", ":", "|", "/", ",", "–", "—", "·"].map {
        Array($0.utf8)
    }

    private static func withoutSeparators(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var text = text
        while let mark = separators.first(where: { text.starts(with: $0) }) {
            text = text.dropFirst(mark.count)
        }
        return text
    }

    private static func withoutTrailingSeparators(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var text = text
        while true {
            if let mark = separators.first(where: { text.suffix($0.count).elementsEqual($0) }) {
                text = text.dropLast(mark.count)
            } else if text.suffix(2).elementsEqual("..".utf8) {
                // Leader dots of a table.
                text = text.dropLast { $0 == ASCII.dot }
            } else {
                return text
            }
        }
    }

    /// True for an extension such as `.txt`.
    private static func isNameEnding(_ text: ArraySlice<UInt8>) -> Bool {
        text.first == ASCII.dot && text.count > 1
            && text.dropFirst().allSatisfy { ASCII.isLetter($0) || ASCII.isDigit($0) }
    }
}
