// SPDX-License-Identifier: MIT
internal import Glibc

/// Unix seconds as dates for people.
package enum UTCDate {
    /// `2026-11-20`.
    package static func day(_ unixSeconds: Int) -> String {
        var seconds = unixSeconds
        var parts = tm()
        guard gmtime_r(&seconds, &parts) != nil else { return "day \(unixSeconds / 86_400)" }
        let pad = { (number: Int32) in number < 10 ? "0\(number)" : "\(number)" }
        return "\(parts.tm_year + 1900)-\(pad(parts.tm_mon + 1))-\(pad(parts.tm_mday))"
    }

    /// `2026-11-20T22:17:13Z` (RFC 3339).
    package static func second(_ unixSeconds: Int) -> String {
        let time = ((unixSeconds % 86_400) + 86_400) % 86_400
        let pad = { (number: Int) in number < 10 ? "0\(number)" : "\(number)" }
        return day(unixSeconds) + "T\(pad(time / 3600)):\(pad(time / 60 % 60)):\(pad(time % 60))Z"
    }

    /// Unix seconds of what ``second(_:)`` writes; `nil` for anything else.
    package static func seconds(_ text: String) -> Int? {
        let numbers = text.split { "-T:Z".contains($0) }.map { Int32($0) ?? -1 }
        guard numbers.count == 6, text.utf8.count == 20, numbers.allSatisfy({ $0 >= 0 }) else {
            return nil
        }
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (
            numbers[0] - 1900, numbers[1] - 1, numbers[2]
        )
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (numbers[3], numbers[4], numbers[5])
        return timegm(&parts)
    }

    /// The present moment in Unix seconds.
    package static var now: Int { time(nil) }
}
