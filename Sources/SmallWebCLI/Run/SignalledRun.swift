// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb

/// Runs a command's work on an event loop and ends it cleanly at a signal.
enum SignalledRun {
    struct Work {
        let loop: EventLoop
        /// True if standard output has records: then the run ends once its reader has gone.
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
    ///   - isInterruptible: True to handle signals, if there is something to clean up or to report;
    ///     otherwise they keep their default action.
    ///   - prepare: Runs before the work.
    /// - Returns: The exit status.
    static func run(
        isInterruptible: Bool,
        _ prepare: () throws(FetchError) -> Work
    ) throws(FetchError) -> Int32 {
        // Handle signals before input is read, so that every request gets its record.
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
