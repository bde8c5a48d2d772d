// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// A day of the Gregorian calendar, in the years 1 to 9999.
public struct CivilDay: Sendable, Hashable, CustomStringConvertible {
    /// 1 to 9999.
    public let year: Int
    /// 1 to 12.
    public let month: Int
    /// From 1.
    public let day: Int

    /// `nil` for a day that does not exist, such as 30 February.
    public init?(year: Int, month: Int, day: Int) {
        guard 1...9999 ~= year, 1...12 ~= month, day >= 1,
            day <= Self.lengths[month - 1] + (month == 2 && Self.isLeap(year) ? 1 : 0)
        else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
    }

    /// The day of a time in UTC; `nil` outside the years 1 to 9999.
    ///
    /// - Parameter unixSeconds: May be before 1970.
    public init?(unixSeconds: Int) {
        guard -62_135_596_800..<253_402_300_800 ~= unixSeconds else { return nil }
        // Days since 1 March of the year 0, the beginning of an era of 400 years.
        let days = (unixSeconds + 719_468 * 86_400) / 86_400
        let era = days / 146_097
        let dayOfEra = days % 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let part = (5 * dayOfYear + 2) / 153
        let month = part < 10 ? part + 3 : part - 9
        self.init(
            year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month: month,
            day: dayOfYear - (153 * part + 2) / 5 + 1)
    }

    private static let lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

    private static func isLeap(_ year: Int) -> Bool {
        year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    }

    /// Unix seconds of the day's beginning in UTC.
    public var start: Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted / 400
        let yearOfEra = shifted % 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return (era * 146_097 + dayOfEra - 719_468) * 86_400
    }

    /// Unix seconds of noon in UTC.
    public var noon: Int { start + 43_200 }

    /// 0 for Sunday.
    var weekday: Int { ((start / 86_400 % 7) + 11) % 7 }

    /// `2024-04-06`.
    public var description: String {
        var text: [UInt8] = []
        text.append(decimal: year, digits: 4)
        text.append(UInt8(ascii: "-"))
        text.append(decimal: month, digits: 2)
        text.append(UInt8(ascii: "-"))
        text.append(decimal: day, digits: 2)
        return String(decoding: text, as: UTF8.self)
    }
}

/// Times in the formats of feeds, in UTC.
package enum FeedTime {
    /// `2024-04-06T12:00:00Z` (RFC 3339); the beginning of 1970 for times outside the years 1 to
    /// 9999.
    package static func rfc3339(_ unixSeconds: Int) -> [UInt8] {
        let (day, second) = parts(unixSeconds)
        var text = Array(day.description.utf8)
        text.append(UInt8(ascii: "T"))
        append(second, to: &text)
        text.append(UInt8(ascii: "Z"))
        return text
    }

    /// `Sat, 06 Apr 2024 12:00:00 +0000` (RFC 822 with the years of RFC 1123).
    package static func rfc822(_ unixSeconds: Int) -> [UInt8] {
        let (day, second) = parts(unixSeconds)
        var text: [UInt8] = []
        text.append(weekdays[day.weekday])
        text.append(", ")
        text.append(decimal: day.day, digits: 2)
        text.append(" ")
        text.append(months[day.month - 1])
        text.append(" ")
        text.append(decimal: day.year, digits: 4)
        text.append(" ")
        append(second, to: &text)
        text.append(" +0000")
        return text
    }

    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func parts(_ unixSeconds: Int) -> (CivilDay, second: Int) {
        if let day = CivilDay(unixSeconds: unixSeconds) { return (day, unixSeconds - day.start) }
        guard let day = CivilDay(year: 1970, month: 1, day: 1) else {
            preconditionFailure("a day of the calendar")
        }
        return (day, 0)
    }

    private static func append(_ second: Int, to text: inout [UInt8]) {
        text.append(decimal: second / 3600, digits: 2)
        text.append(UInt8(ascii: ":"))
        text.append(decimal: second / 60 % 60, digits: 2)
        text.append(UInt8(ascii: ":"))
        text.append(decimal: second % 60, digits: 2)
    }
}

extension [UInt8] {
    /// Appends a number that is not negative, padded with zeros.
    fileprivate mutating func append(decimal number: Int, digits: Int) {
        var divisor = 1
        for _ in 1..<digits { divisor *= 10 }
        while divisor > 0 {
            append(0x30 + UInt8(number / divisor % 10))
            divisor /= 10
        }
    }
}
