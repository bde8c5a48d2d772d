// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The values of `Retry-After` (RFC 9110 §10.2.3). Pure.
enum HTTPDate {
    /// Longest wait that a server may ask for: a day.
    private static let secondsMax = 86_400

    /// At most a day; `nil` for nonsense.
    ///
    /// - Parameter date: The reply's own `Date`, by which a moment becomes a wait without a clock.
    static func wait(retryAfter text: String, date: String?) -> Duration? {
        let digits = text.utf8.drop { $0 == ASCII.space }.prefix { $0 != ASCII.space }
        if let seconds = ASCII.decimal(digits, max: Int.max >> 8) {
            return .seconds(min(seconds, secondsMax))
        }
        guard let moment = unixSeconds(text), let now = date.flatMap(unixSeconds) else {
            return nil
        }
        return .seconds(min(max(moment - now, 0), secondsMax))
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// `Sun, 06 Nov 1994 08:49:37 GMT` (§5.6.7), the one form that may be sent.
    static func unixSeconds(_ text: String) -> Int? {
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[5] == "GMT",
            let day = ASCII.decimal(parts[1].utf8, max: 31),
            let month = months.firstIndex(of: String(parts[2])),
            let year = ASCII.decimal(parts[3].utf8, max: 9999)
        else { return nil }
        let clock = parts[4].split(separator: ":").compactMap { ASCII.decimal($0.utf8, max: 60) }
        guard clock.count == 3 else { return nil }
        // Days since 1 March of year 0, so that the leap day is the last of its year.
        let years = month < 2 ? year - 1 : year
        let monthsSinceMarch = (month + 10) % 12
        let leapDays = years / 4 - years / 100 + years / 400
        let days = 365 * years + leapDays + (153 * monthsSinceMarch + 2) / 5 + day - 1 - 719_468
        return days * 86_400 + clock[0] * 3600 + clock[1] * 60 + clock[2]
    }
}
