// SPDX-License-Identifier: MIT
internal import SmallWebText

/// Times as feeds have them: RFC 3339, RFC 822, and parts of them; in UTC unless they say more.
enum FeedTime {
    private static let months = Dictionary(
        uniqueKeysWithValues: zip(CivilDay.months.map { $0.lowercased() }, 1...))
    private static let hours = [
        "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7,
        "ast": -4, "adt": -3, "bst": 1, "cet": 1, "met": 1, "cest": 2, "mest": 2,
    ]

    static func unixSeconds(_ text: String) -> Int? {
        let text = text.utf8.prefix(64).map(ASCII.lowercased)[...]
        // The clock has the first colon.
        let colon = text.firstIndex(of: ASCII.colon)
        let date = colon.map { text[..<$0].dropLast(while: ASCII.isDigit) } ?? text
        var zone = text[date.endIndex...].drop { ASCII.isDigit($0) || ":.".utf8.contains($0) }
        var clock =
            text[date.endIndex..<zone.startIndex].split { !ASCII.isDigit($0) }
            .map { ASCII.decimal($0, max: 99) ?? 0 } + [0, 0, 0]
        // A half of the day: PM, p.m.
        zone = zone.filter { $0 != ASCII.dot }[...].drop(while: ASCII.isBlank)
        let half = zone.prefix(while: ASCII.isLetter)
        if half.count == 2, half.last == UInt8(ascii: "m"), 1...12 ~= clock[0] {
            clock[0] = clock[0] % 12 + (half.first == UInt8(ascii: "p") ? 12 : 0)
            zone = zone.dropFirst(2)
        }
        // `date` writes the year behind the clock.
        let day = day(date) ?? day(date + zone.drop { !ASCII.isDigit($0) })
        return day?.time(hour: clock[0], minute: clock[1], second: clock[2])
            .map { $0 - seconds(zone) }
    }

    /// The day of a year, month and day; or with the name of a month, of a day and year.
    private static func day(_ text: ArraySlice<UInt8>) -> CivilDay? {
        let words = text.split { !ASCII.isLetter($0) && !ASCII.isDigit($0) }
        var numbers = words.compactMap { ASCII.decimal($0.prefix(while: ASCII.isDigit), max: 9999) }
        // Between day and year stands the month: a day of the week may look like one.
        let isNumber = { (word: ArraySlice<UInt8>) in ASCII.isDigit(word[word.startIndex]) }
        let between = words.drop { !isNumber($0) }.drop(while: isNumber)
        let hasYear = between.contains(where: isNumber)
        let names = (hasYear ? between : words[...]).lazy
            .map { String(decoding: $0.prefix(3), as: UTF8.self) }
        guard let month = names.compactMap({ months[$0] }).first else {
            numbers += [1, 1]
            guard let first = words.first, first.count == 4, isNumber(first),
                3...5 ~= numbers.count
            else { return nil }
            return CivilDay(year: numbers[0], month: numbers[1], day: numbers[2])
        }
        guard numbers.count == 2 else { return nil }
        if numbers[0] > 31 { numbers.reverse() }
        // Years of two digits (RFC 5322 §4.3).
        if words.last?.count == 2 { numbers[1] += numbers[1] < 50 ? 2000 : 1900 }
        return CivilDay(year: numbers[1], month: month, day: numbers[0])
    }

    /// Seconds east of Greenwich.
    private static func seconds(_ zone: ArraySlice<UInt8>) -> Int {
        let name = String(decoding: zone.filter(ASCII.isLetter), as: UTF8.self)
        guard let sign = zone.firstIndex(where: { "+-".utf8.contains($0) }) else {
            return (hours[name] ?? 0) * 3600
        }
        let digits = zone[sign...].filter(ASCII.isDigit)
        let number = ASCII.decimal(digits, max: 9999) ?? 0
        let minutes = digits.count > 2 ? number / 100 * 60 + number % 100 : number * 60
        return minutes * (zone[sign] == UInt8(ascii: "-") ? -60 : 60)
    }
}
