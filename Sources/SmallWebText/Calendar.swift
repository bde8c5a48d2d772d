// SPDX-License-Identifier: MIT

/// A day of the Gregorian calendar. Pure.
public struct CivilDay: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// 1 to 9999.
    public let year: Int
    /// 1 to 12.
    public let month: Int
    /// From 1.
    public let day: Int
    /// Days since 1 January 1970; may be negative.
    private let number: Int

    package static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]

    /// True for an earlier day.
    public static func < (day: CivilDay, other: CivilDay) -> Bool { day.number < other.number }

    /// `nil` outside the years 1 to 9999, and for a day that does not exist, such as 30 February.
    public init?(year: Int, month: Int, day: Int) {
        guard 1...9999 ~= year, 1...12 ~= month, 1...31 ~= day else { return nil }
        // Years begin in March, so that the leap day is the last of its year.
        let years = month > 2 ? year : year - 1
        let leapDays = years / 4 - years / 100 + years / 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        self.init(number: 365 * years + leapDays + dayOfYear - 719_468)
        guard self.day == day else { return nil }
    }

    fileprivate init(number: Int) {
        self.number = number
        // An era of 400 years begins on 1 March.
        let (era, dayOfEra) = (number + 719_468).floored(by: 146_097)
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let part = (5 * dayOfYear + 2) / 153
        month = part < 10 ? part + 3 : part - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        day = dayOfYear - (153 * part + 2) / 5 + 1
    }

    /// Unix seconds of the day's beginning in UTC.
    public var start: Int { number * 86_400 }

    /// Unix seconds of noon in UTC.
    public var noon: Int { start + 43_200 }

    /// Unix seconds of a time on this day in UTC; `nil` for one that no clock shows.
    ///
    /// - Parameter second: 60 in a leap second, which has the number of the next second.
    package func time(hour: Int, minute: Int, second: Int) -> Int? {
        guard 0...23 ~= hour, 0...59 ~= minute, 0...60 ~= second else { return nil }
        return start + hour * 3600 + minute * 60 + second
    }

    /// `Sat`.
    package var weekdayName: String { Self.weekdays[(number + 4).floored(by: 7).remainder] }

    /// `Apr`.
    package var monthName: String { Self.months[month - 1] }

    /// `2024-04-06`.
    public var description: String {
        var text: [UInt8] = []
        append(to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    fileprivate func append(to text: inout [UInt8]) {
        text.append(digits: year, atLeast: 4)
        text.append(UInt8(ascii: "-"))
        text.append(digits: month, atLeast: 2)
        text.append(UInt8(ascii: "-"))
        text.append(digits: day, atLeast: 2)
    }
}

/// A time in UTC, to the second. Pure, except ``now``.
package struct UTCDate: Sendable, CustomStringConvertible {
    package let day: CivilDay
    private let secondOfDay: Int

    /// The start of 1970 for a time that is 2^56 seconds from it or more.
    package init(_ unixSeconds: Int) {
        let known = unixSeconds.magnitude < 1 << 56 ? unixSeconds : 0
        let (number, second) = known.floored(by: 86_400)
        (day, secondOfDay) = (CivilDay(number: number), second)
    }

    /// `2026-11-20T22:17:13`.
    package var description: String {
        var text: [UInt8] = []
        append(to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    package func append(to text: inout [UInt8]) {
        text.reserveCapacity(text.count + 32)
        day.append(to: &text)
        text.append(UInt8(ascii: "T"))
        text.append(digits: secondOfDay / 3600, atLeast: 2)
        text.append(ASCII.colon)
        text.append(digits: secondOfDay / 60 % 60, atLeast: 2)
        text.append(ASCII.colon)
        text.append(digits: secondOfDay % 60, atLeast: 2)
    }

    /// `22:17:13`.
    package var clock: String { String(description.suffix(8)) }

    /// `2026-11-20`.
    package static func day(_ unixSeconds: Int) -> String { "\(UTCDate(unixSeconds).day)" }

    /// Same; `unknown` without a time.
    package static func day(_ unixSeconds: Int?, or unknown: String) -> String {
        unixSeconds.map { day($0) } ?? unknown
    }

    /// `2026-11-20T22:17:13Z` (RFC 3339).
    package static func second(_ unixSeconds: Int) -> String {
        var text: [UInt8] = []
        UTCDate(unixSeconds).append(to: &text)
        text.append(UInt8(ascii: "Z"))
        return String(decoding: text, as: UTF8.self)
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7).
    package static func http(_ unixSeconds: Int) -> String {
        let date = UTCDate(unixSeconds)
        let (year, day) = ("\(date.day)".prefix(4), "\(date.day)".suffix(2))
        return "\(date.day.weekdayName), \(day) \(date.day.monthName) \(year) \(date.clock) GMT"
    }

    /// Parses the format of ``second(_:)`` to Unix seconds; `nil` for anything else.
    package static func seconds(_ text: String) -> Int? {
        let (text, form) = (Array(text.utf8), Array("0000-00-00T00:00:00Z".utf8))
        let fits = zip(text, form).allSatisfy {
            ASCII.isDigit($1) ? ASCII.isDigit($0) : $0 == $1
        }
        guard text.count == form.count, fits else { return nil }
        let numbers = text.split { !ASCII.isDigit($0) }
            .compactMap { ASCII.decimal($0, max: 9999) }
        return CivilDay(year: numbers[0], month: numbers[1], day: numbers[2])?
            .time(hour: numbers[3], minute: numbers[4], second: numbers[5])
    }
}

extension Int {
    fileprivate func floored(by divisor: Int) -> (quotient: Int, remainder: Int) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
