// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb
internal import SmallWebRecords

/// Runs a command of fetches from its options to its exit status, and ends it cleanly at a signal.
enum FetchRun {
    private static let signals = [SIGINT, SIGTERM, SIGHUP]

    /// - Parameters:
    ///   - settings: Their files are read first, and their archives finished at last.
    ///   - isInterruptible: True to handle signals, if there is something to clean up or to report;
    ///     otherwise they keep their default action.
    ///   - work: Returns the exit status. An error that it throws is reported.
    /// - Returns: The exit status.
    /// - Throws: Errors of files and archives, before the work.
    static func run(
        _ settings: Settings, isInterruptible: Bool = true,
        _ work: @escaping @Sendable (Settings, EventLoop) async throws(FetchError) -> Int32
    ) throws(FetchError) -> Int32 {
        // Handle signals before input is read, so that every request gets its record.
        let noted = isInterruptible ? signals.filter { swposix_note_signal($0) == 1 } : []
        defer {
            for signal in noted { swposix_forget_signal(signal) }
            let signal = swposix_pending_signal()
            if signal != 0 { swposix_die_of(signal) }
        }
        let (settings, loop) = (try settings.ready(), try EventLoop())
        swposix_count_continuations()
        return loop.runToCompletion {
            guard isInterruptible else { return await status(settings, loop, work) }
            let run = Task(executorPreference: loop) { await status(settings, loop, work) }
            let watch = Task(executorPreference: loop) {
                if await loop.firstSignal(of: signals) != 0 { run.cancel() }
            }
            // The run ends once the reader of its records has gone.
            let reader = Task(executorPreference: loop) {
                if settings.endsUnread, await loop.untilUnread(1) { run.cancel() }
            }
            defer {
                watch.cancel()
                reader.cancel()
            }
            return await run.value
        }
    }

    private static func status(
        _ settings: Settings, _ loop: EventLoop,
        _ work: @Sendable (Settings, EventLoop) async throws(FetchError) -> Int32
    ) async -> Int32 {
        defer { settings.finishArchives() }
        do throws(FetchError) {
            return try await work(settings, loop)
        } catch {
            if error.outcome != .interrupted { Messages(settings.messages).error(nil, error) }
            return Verdict(failure: error).status
        }
    }
}

extension Settings {
    /// Reads the files of options, and opens the archives.
    func ready() throws(FetchError) -> Settings {
        var settings = self
        try settings.fetch.readFiles()
        try settings.fetch.readSecrets(settings.asker)
        if let format = settings.output.format {
            let text = String(systemBytes: try InputSource.read(format))
            do throws(FetchError) {
                settings.output.writeOut = try WriteOut(text)
            } catch {
                throw usageError("--write-out: \(error.message)", hint: error.hint)
            }
        }
        try settings.openArchives()
        if settings.crawl.obeysRobots { settings.connection.robots = settings.robotsGate() }
        return settings
    }
}
