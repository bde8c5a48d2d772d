// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb

/// Deadline for blocking I/O on FIFOs and slow pipes.
struct Patience: Sendable {
    /// The end of `--max-time`.
    var deadline = Instant.never

    /// Sets the deadline in `seconds` from now; 0 for no limit.
    init(seconds: Double = 0) { deadline = .after(seconds: seconds) }

    /// Grace period in seconds for a slow reader to take the rest of a record.
    private static let graceSeconds = 1.0

    /// Makes a system call, interrupted by an alarm at the deadline.
    ///
    /// - Parameter isUrgent: True after a signal, to limit the call to ``graceSeconds``.
    /// - Returns: The result of the call, and its `errno`.
    func attempt<Value: SignedInteger>(
        isUrgent: Bool = false, _ call: () -> Value
    ) -> (Value, Int32) {
        var seconds = deadline == .never ? 0 : max(0.001, deadline.seconds(since: .now))
        if isUrgent { seconds = Self.graceSeconds }
        guard seconds > 0 else { return (call(), errno) }
        let began = ProcessClock.monotonic
        guard swposix_begin_alarm(Int(min(seconds * 1000, 1e9)) + 1) == 0 else {
            return (-1, errno)
        }
        let value = call()
        let number = errno
        swposix_end_alarm()
        ProcessClock.noteWait(began: began, longest: UInt64(seconds * 1e9))
        return (value, number)
    }

    /// Repeats a call that may block on a FIFO until it succeeds.
    ///
    /// - Throws: EINTR after a signal to stop, ETIMEDOUT at the deadline; other errors of the call.
    func call<Value: SignedInteger>(_ call: () -> Value) throws(SystemError) -> Value {
        while true {
            let (value, number) = attempt(isUrgent: swposix_pending_signal() != 0, call)
            if value != -1 { return value }
            guard number == EINTR else { throw SystemError(number: number) }
            if swposix_pending_signal() != 0 { throw SystemError(number: EINTR) }
            if deadline <= .now { throw SystemError(number: ETIMEDOUT) }
        }
    }

    /// Writes all of `bytes`, with errors as in ``call(_:)``.
    func writeAll(_ bytes: ArraySlice<UInt8>, to file: Int32) throws(SystemError) {
        try SmallWeb.writeAll(bytes, to: file, by: call)
    }

    /// Converts an error of these calls that was caused by the deadline or a signal.
    ///
    /// - Parameter message: Message for the deadline.
    static func failure(_ error: SystemError, _ message: String) -> FetchError? {
        switch error.number {
        case EINTR: return .cancelled
        case ETIMEDOUT:
            return FetchError(
                .timeout, .output, message, hint: Advice.moreTime)
        default: return nil
        }
    }

    /// End of the grace period for a record interrupted by a signal or the deadline.
    static var graceEnd: Instant { .after(seconds: graceSeconds) }
}
