// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The values of `Retry-After` (RFC 9110 §10.2.3). Pure.
enum HTTPDate {
    /// Longest wait that a server may ask for: a day.
    private static let secondsMax = 86_400

    /// Seconds, at most a day; `nil` for a date, which only a clock could read, and for nonsense.
    static func seconds(retryAfter text: String) -> Double? {
        let digits = text.utf8.drop { $0 == ASCII.space }.prefix { $0 != ASCII.space }
        return ASCII.decimal(digits, max: Int.max >> 8).map { Double(min($0, secondsMax)) }
    }
}
