// SPDX-License-Identifier: MIT

extension Duration {
    package var inSeconds: Double {
        self / .seconds(1)
    }
}

extension Double {
    /// Without a fraction if it is whole.
    package var shortest: String { Int(exactly: self).map(String.init) ?? description }
}

extension Instant {
    /// `seconds` later, or earlier when they are negative.
    package func advanced(seconds: Double) -> Instant {
        let moved = Double(nanoseconds) + seconds * 1e9
        return Instant(nanoseconds: UInt64(min(max(moved, 0), 9e18)))
    }

    /// 0 when `earlier` is later.
    package func seconds(since earlier: Instant) -> Double {
        nanoseconds > earlier.nanoseconds
            ? Double(nanoseconds - earlier.nanoseconds) / 1e9 : 0
    }
}
