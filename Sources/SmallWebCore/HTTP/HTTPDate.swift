// SPDX-License-Identifier: MIT

/// Dates of HTTP (RFC 9110 §5.6.7), and the values of `Retry-After` (§10.2.3) and `RateLimit`
/// (draft-ietf-httpapi-ratelimit-headers). Pure.
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
        let word = text.utf8.drop(while: ASCII.isBlank).prefix { !ASCII.isBlank($0) }
        if let seconds = seconds(word) { return .seconds(seconds) }
        guard let moment = unixSeconds(text, now: now) else { return nil }
        let sent = date.flatMap { unixSeconds($0, now: now) } ?? now
        return .seconds(min(max(moment - sent, 0), secondsMax))
    }

    /// Parses `RateLimit`: `"name";r=0;t=30, …`, or as older drafts have it,
    /// `remaining=0, reset=30`. Numbers that are not decimal digits are left out.
    ///
    /// - Returns: The longest time until a quota that is used up begins again, at most a day; `nil`
    ///   if there is none.
    package static func wait(rateLimit text: String) -> Duration? {
        var (all, waits): ([String: Int], [Int]) = ([:], [])
        for quota in text.split(separator: ",") {
            (all["r"], all["t"]) = (nil, nil)
            for pair in quota.split(separator: ";").map({ $0.split(separator: "=", maxSplits: 1) })
            where pair.count == 2 {
                all[pair[0].trimmed] = seconds(pair[1].trimmed.utf8[...])
            }
            if all["r"] == 0, let wait = all["t"] { waits.append(wait) }
        }
        if all["remaining"] == 0, let wait = all["reset"] { waits.append(wait) }
        return waits.max().map { .seconds($0) }
    }

    /// A number of decimal digits, to at most a day.
    private static func seconds(_ digits: Substring.UTF8View) -> Int? {
        guard !digits.isEmpty, digits.allSatisfy(ASCII.isDigit) else { return nil }
        return ASCII.decimal(digits, max: secondsMax) ?? secondsMax
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
