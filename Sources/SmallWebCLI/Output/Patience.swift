// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb

/// How long a blocking call may wait for another program: the other end of a FIFO, a slow reader.
struct Patience: Sendable {
    /// The end of `--max-time`.
    var deadline = Instant.never

    /// Until `seconds` from now; without limit for 0.
    init(seconds: Double = 0) { deadline = .after(seconds: seconds) }

    /// How much longer a record may take that would be torn: a reader that is only slow gets it.
    private static let graceSeconds = 1.0

    /// Runs a call once, and ends it when the time is over.
    ///
    /// - Parameter isUrgent: Whether a signal has come, so that it may take ``graceSeconds`` at
    ///   most.
    /// - Returns: What the call returns, and its `errno`.
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

    /// Runs a call that waits for the other end of a FIFO.
    ///
    /// - Throws: EINTR when a signal asks to stop, ETIMEDOUT at the deadline; other errors of it.
    func call<Value: SignedInteger>(_ call: () -> Value) throws(SystemError) -> Value {
        while true {
            let (value, number) = attempt(isUrgent: swposix_pending_signal() != 0, call)
            if value != -1 { return value }
            guard number == EINTR else { throw SystemError(number: number) }
            if swposix_pending_signal() != 0 { throw SystemError(number: EINTR) }
            if deadline <= .now { throw SystemError(number: ETIMEDOUT) }
        }
    }

    /// The same for writing all of `bytes`.
    func writeAll(_ bytes: ArraySlice<UInt8>, to file: Int32) throws(SystemError) {
        try SmallWeb.writeAll(bytes, to: file, by: call)
    }

    /// The same for reading a file to its end, or until there are more than `limit` bytes.
    func readAll(_ file: Int32, limit: Int) throws(SystemError) -> [UInt8] {
        try SmallWeb.readAll(file, limit: limit, by: call)
    }

    /// What one of these calls threw, if the time or a signal was the reason.
    ///
    /// - Parameter message: For the deadline.
    static func failure(_ error: SystemError, _ message: String) -> FetchError? {
        switch error.number {
        case EINTR: return .cancelled
        case ETIMEDOUT:
            return FetchError(
                .timeout, .output, message, hint: "allow more time with --max-time")
        default: return nil
        }
    }

    /// The end of a record that a signal or the deadline has found unwritten.
    static var graceEnd: Instant { .after(seconds: graceSeconds) }
}
