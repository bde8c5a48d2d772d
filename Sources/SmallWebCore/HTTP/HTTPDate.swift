// SPDX-License-Identifier: MIT

/// Dates of HTTP (RFC 9110 §5.6.7), and the values of `Retry-After` (§10.2.3). Pure.
package enum HTTPDate {
    /// Longest wait that a server may ask for: a day.
    private static let secondsMax = 86_400

    /// Parses `Retry-After`, to at most a day; `nil` if it is invalid.
    ///
    /// - Parameters:
    ///   - date: The reply's `Date`: a moment becomes a wait relative to it, independently of our
    ///     clock.
    ///   - now: Our clock, in Unix seconds, for a reply without `Date`.
    package static func wait(
        retryAfter text: String, date: String?, now: Int = UTCDate.now
    ) -> Duration? {
        let digits = text.utf8.drop(while: ASCII.isBlank).prefix { !ASCII.isBlank($0) }
        if !digits.isEmpty, digits.allSatisfy(ASCII.isDigit) {
            return .seconds(ASCII.decimal(digits, max: secondsMax) ?? secondsMax)
        }
        guard let moment = unixSeconds(text, now: now) else { return nil }
        let sent = date.flatMap { unixSeconds($0, now: now) } ?? now
        return .seconds(min(max(moment - sent, 0), secondsMax))
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`.
    package static func text(_ unixSeconds: Int) -> String {
        let date = UTCDate(unixSeconds)
        let (year, day) = ("\(date.day)".prefix(4), "\(date.day)".suffix(2))
        return "\(date.day.weekdayName), \(day) \(date.day.monthName) \(year) \(date.clock) GMT"
    }

    /// Parses `Sun, 06 Nov 1994 08:49:37 GMT`, and the obsolete forms
    /// `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`.
    ///
    /// - Parameter now: Unix seconds; a year of two digits is at most 50 years later.
    package static func unixSeconds(_ text: String, now: Int = UTCDate.now) -> Int? {
        var parts = text.split { $0 == " " || $0 == "-" }
        if parts.count == 5 { parts = [parts[0], parts[2], parts[1], parts[4], parts[3], "GMT"] }
        guard parts.count == 6, parts[5] == "GMT",
            let day = ASCII.decimal(parts[1].utf8, max: 31),
            let month = CivilDay.months.firstIndex(of: String(parts[2])),
            var year = ASCII.decimal(parts[3].utf8, max: 9999)
        else { return nil }
        if parts[3].utf8.count == 2 {
            let latest = 1970 + now / 31_556_952 + 50
            year = latest - (latest - year) % 100
        }
        let clock = parts[4].split(separator: ":").compactMap { ASCII.decimal($0.utf8, max: 60) }
        guard clock.count == 3 else { return nil }
        return CivilDay(year: year, month: month + 1, day: day)?
            .time(hour: clock[0], minute: clock[1], second: clock[2])
    }
}
