// SPDX-License-Identifier: MIT
package import SmallWebCore

extension Deadline {
    /// `seconds` later, or earlier when they are negative.
    package func advanced(seconds: Double) -> Deadline {
        let moved = Double(nanoseconds) + seconds * 1e9
        return Deadline(nanoseconds: UInt64(min(max(moved, 0), 9e18)))
    }

    /// 0 when `earlier` is later.
    package func seconds(since earlier: Deadline) -> Double {
        nanoseconds > earlier.nanoseconds
            ? Double(nanoseconds - earlier.nanoseconds) / 1e9 : 0
    }
}
