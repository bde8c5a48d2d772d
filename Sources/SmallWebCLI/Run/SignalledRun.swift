// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb

/// The work of a command on its event loop, which a signal ends in good order.
enum SignalledRun {
    /// What there is to do.
    struct Work {
        let loop: EventLoop
        /// Whether standard output is records, which are not worth a wait for a server once
        /// nothing reads them.
        let writesRecords: Bool
        /// - Returns: The exit status.
        let run: @Sendable () async -> Int32

        init(
            on loop: EventLoop, writesRecords: Bool, _ run: @escaping @Sendable () async -> Int32
        ) {
            (self.loop, self.writesRecords, self.run) = (loop, writesRecords, run)
        }
    }

    private static let signals = [SIGINT, SIGTERM, SIGHUP]

    /// - Parameters:
    ///   - isInterruptible: Whether a signal would leave something to clean up or to say; otherwise
    ///     it keeps its default action.
    ///   - prepare: What comes before the work.
    /// - Returns: The exit status.
    static func run(
        isInterruptible: Bool,
        _ prepare: () throws(FetchError) -> Work
    ) throws(FetchError) -> Int32 {
        // Before anything is read: whatever was named gets its record then.
        let noted = isInterruptible ? signals.filter { swposix_note_signal($0) == 1 } : []
        defer {
            for signal in noted { swposix_forget_signal(signal) }
            let signal = swposix_pending_signal()
            if signal != 0 { swposix_die_of(signal) }
        }
        let work = try prepare()
        let loop = work.loop
        swposix_count_continuations()
        return loop.runToCompletion {
            guard isInterruptible else { return await work.run() }
            let run = Task(executorPreference: loop) { await work.run() }
            let watch = Task(executorPreference: loop) {
                if await loop.firstSignal(of: signals) != 0 { run.cancel() }
            }
            let reader = Task(executorPreference: loop) {
                if work.writesRecords, await loop.untilUnread(1) { run.cancel() }
            }
            defer {
                watch.cancel()
                reader.cancel()
            }
            return await run.value
        }
    }
}
