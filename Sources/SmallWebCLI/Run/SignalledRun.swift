// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb

/// The work of a command on its event loop, which a signal ends in good order.
enum SignalledRun {
    private static let signals = [SIGINT, SIGTERM, SIGHUP]

    /// - Parameters:
    ///   - isInterruptible: Whether a signal would leave something to clean up or to say; otherwise
    ///     it keeps its default action.
    ///   - prepare: What comes before the work, and the loop that it runs on.
    /// - Returns: The exit status.
    static func run(
        isInterruptible: Bool,
        _ prepare: () throws(FetchError) -> (EventLoop, @Sendable () async -> Int32)
    ) throws(FetchError) -> Int32 {
        // Before anything is read: whatever was named gets its record then.
        let noted = isInterruptible ? signals.filter { swposix_note_signal($0) == 1 } : []
        defer {
            for signal in noted { swposix_forget_signal(signal) }
            let signal = swposix_pending_signal()
            if signal != 0 { swposix_die_of(signal) }
        }
        let (loop, work) = try prepare()
        swposix_count_continuations()
        return loop.runToCompletion {
            guard isInterruptible else { return await work() }
            let run = Task(executorPreference: loop) { await work() }
            let watch = Task(executorPreference: loop) {
                if await loop.firstSignal(of: signals) != 0 { run.cancel() }
            }
            defer { watch.cancel() }
            return await run.value
        }
    }
}
