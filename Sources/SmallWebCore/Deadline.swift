// SPDX-License-Identifier: MIT
internal import Glibc

/// A moment on the monotonic clock.
public struct Deadline: Sendable, Hashable, Comparable {
    /// Nanoseconds of `CLOCK_MONOTONIC`.
    public let nanoseconds: UInt64

    /// A moment by its ``nanoseconds``.
    public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

    /// No deadline.
    public static let never = Deadline(nanoseconds: .max)

    /// The present moment.
    public static var now: Deadline {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Deadline(
            nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec))
    }

    /// `seconds` from now; never when `seconds` is 0 or less.
    public static func after(seconds: Double) -> Deadline {
        guard seconds > 0 else { return .never }
        let nanoseconds = min(seconds * 1e9, 1e18)
        return Deadline(nanoseconds: now.nanoseconds + UInt64(nanoseconds))
    }

    public static func < (left: Deadline, right: Deadline) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
}

/// Of the clock on the wall, since 1970.
func wallClockNanoseconds() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
}
