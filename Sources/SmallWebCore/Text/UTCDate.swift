// SPDX-License-Identifier: MIT
internal import Glibc

/// Unix seconds as dates for people.
package enum UTCDate {
    /// `2026-11-20`.
    package static func day(_ unixSeconds: Int) -> String { text(unixSeconds, "%Y-%m-%d") }

    package struct Parts: Sendable, Hashable {
        /// Months and days count from 1; weekdays from Sunday, 0.
        package let year, month, day, weekday, hour, minute, second: Int
    }

    /// - Returns: The start of 1970 for a time beyond the calendar.
    package static func parts(_ unixSeconds: Int) -> Parts {
        var (seconds, parts) = (unixSeconds, tm())
        if gmtime_r(&seconds, &parts) == nil { return self.parts(0) }
        return Parts(
            year: Int(parts.tm_year) + 1900, month: Int(parts.tm_mon) + 1,
            day: Int(parts.tm_mday), weekday: Int(parts.tm_wday), hour: Int(parts.tm_hour),
            minute: Int(parts.tm_min), second: Int(parts.tm_sec))
    }

    /// `2026-11-20T22:17:13Z` (RFC 3339).
    package static func second(_ unixSeconds: Int) -> String {
        latest.withLock { latest in
            if latest.second != unixSeconds {
                latest = (unixSeconds, text(unixSeconds, "%Y-%m-%dT%H:%M:%SZ"))
            }
            return latest.text
        }
    }

    /// Cached: thousands of records have the same second.
    private static let latest = Locked((second: Int.min, text: ""))

    private static func text(_ unixSeconds: Int, _ format: String) -> String {
        var (seconds, parts) = (unixSeconds, tm())
        guard gmtime_r(&seconds, &parts) != nil else { return "day \(unixSeconds / 86_400)" }
        return String(unsafeUninitializedCapacity: 64) { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                strftime($0.baseAddress!, $0.count, format, &parts)
            }
        }
    }

    /// Parses the format of ``second(_:)`` to Unix seconds; `nil` for anything else.
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

    /// Unix seconds.
    package static var now: Int { time(nil) }
}
