// SPDX-License-Identifier: MIT
internal import Glibc
internal import Synchronization

package typealias Instant = Inlined.Instant

extension Inlined {
    /// A moment on this process's clock: the monotonic clock, less the time during which the
    /// process was stopped (`ProcessClock`).
    public struct Instant: Sendable, Hashable, Comparable {
        @usableFromInline package let nanoseconds: UInt64

        @inlinable package init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

        /// Later than all others: no deadline.
        @inlinable package static var never: Instant { Instant(nanoseconds: .max) }

        package static var now: Instant {
            Instant(nanoseconds: ProcessClock.monotonic &- ProcessClock.stoppedNanoseconds)
        }

        /// `seconds` from now; ``never`` when `seconds` is 0 or less.
        package static func after(seconds: Double) -> Instant {
            guard seconds > 0 else { return .never }
            let nanoseconds = min(seconds * 1e9, 1e18)
            return Instant(nanoseconds: now.nanoseconds + UInt64(nanoseconds))
        }

        /// End of a limit that begins now: ``never`` for `nil`, now when it is 0 or less.
        package static func end(of seconds: Double?) -> Instant {
            guard let seconds else { return .never }
            return seconds > 0 ? .after(seconds: seconds) : .now
        }

        @inlinable public static func < (left: Instant, right: Instant) -> Bool {
            left.nanoseconds < right.nanoseconds
        }
    }
}

/// Keeps the time in which the process was stopped, by Ctrl-Z or SIGSTOP, out of every deadline: a
/// server must not pay for it. The system does not report that time, but it shows in a wait that
/// took longer than its timeout.
package enum ProcessClock {
    private static let stopped = Atomic<UInt64>(0)
    /// Monotonic time up to which stops are counted: several event loops see the same stop.
    private static let countedUntil = Locked<UInt64>(0)

    /// Waits may also be late on a busy machine.
    private static let slackNanoseconds: UInt64 = 500_000_000

    /// `CLOCK_MONOTONIC`.
    package static var monotonic: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    static var stoppedNanoseconds: UInt64 { stopped.load(ordering: .relaxed) }

    /// Records that a wait for at most `longest` nanoseconds has just ended.
    ///
    /// - Parameter began: Start of the wait, by ``monotonic``.
    /// - Returns: Nanoseconds for which the process was stopped meanwhile; 0 if it was not. Each
    ///   event loop gets them, even if another one has counted them.
    @discardableResult
    package static func noteWait(began: UInt64, longest: UInt64) -> UInt64 {
        let end = monotonic
        let due = began + longest
        guard end > due, end - due > slackNanoseconds else { return 0 }
        countedUntil.withLock { until in
            let start = max(due, until)
            guard start < end else { return }
            until = end
            stopped.add(end - start, ordering: .relaxed)
        }
        return end - due
    }
}

/// `CLOCK_REALTIME`, since 1970.
package func wallClockNanoseconds() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
}

extension UTCDate {
    /// Unix seconds.
    package static var now: Int { time(nil) }
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
