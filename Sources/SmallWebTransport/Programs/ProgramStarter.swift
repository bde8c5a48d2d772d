// SPDX-License-Identifier: MIT
internal import CSmallWebProgram
@preconcurrency internal import Glibc
internal import SmallWebCore

/// A process from which the second program of a plugin and those after it are started; see
/// `swprogram_open_starter`. It ends with this object, and with the thread that it belongs to.
final class ProgramStarter: Sendable {
    /// What its programs have in common.
    struct Plan: Hashable, Sendable {
        let folder: String
        let places: [String]
        let reads: [String]
        /// Device and number of what is at these paths: a starter shows what was there before.
        private let identities: [[UInt]]

        init(folder: String, places: [String], reads: [String]) {
            (self.folder, self.places, self.reads) = (folder, places, reads)
            identities = ([folder] + places + reads).map { path in
                var facts = stat()
                return stat(path, &facts) == 0 ? [facts.st_dev, facts.st_ino] : []
            }
        }
    }

    private let process: swprogram_starter
    /// What a program's TMPDIR says. There is nothing at that path outside.
    let temporaryPath: String

    var descriptor: Int32 { process.descriptor }

    private init?(of plan: Plan, _ open: (TemporaryDirectory) -> swprogram_starter?) {
        guard let directory = try? TemporaryDirectory() else { return nil }
        defer { directory.remove() }
        temporaryPath = directory.path
        // In what is shown of the disk, it would be gone.
        guard !(plan.places + plan.reads).contains(where: { isBelow(directory.path, $0) }),
            let process = open(directory)
        else { return nil }
        self.process = process
    }

    deinit { withUnsafePointer(to: process) { swprogram_close_starter($0) } }

    // MARK: Those of this process

    /// A plugin of which a thread has started programs.
    private struct Entry: Sendable {
        let plan: Plan
        let thread: pthread_t
        /// `nil` after the first program, and where there cannot be one.
        var starter: ProgramStarter?
        var isRefused = false
    }

    /// The latest first.
    private static let entries = Locked<[Entry]>([])
    private static let countMax = 8
    private static let endsAtExit: Void = { _ = atexit { ProgramStarter.endAll() } }()

    /// The starter of a plan; `nil` for its first program in this thread, which a starter would
    /// only delay.
    ///
    /// - Parameter open: Makes the process, with an empty directory.
    static func next(
        of plan: Plan, open: (TemporaryDirectory) -> swprogram_starter?
    ) -> ProgramStarter? {
        // No other thread changes what is this one's.
        guard var entry = remove(plan) else {
            insert(Entry(plan: plan, thread: pthread_self()))
            return nil
        }
        if entry.starter == nil && !entry.isRefused {
            entry.starter = ProgramStarter(of: plan, open)
            entry.isRefused = entry.starter == nil
            _ = endsAtExit
        }
        insert(entry)
        return entry.starter
    }

    /// Drops the starter of a plan, which was killed.
    static func forget(_ plan: Plan) { _ = remove(plan) }

    private static func insert(_ entry: Entry) {
        // The least used one ends here, not under the lock.
        let last = entries.withLock { all in
            all.insert(entry, at: 0)
            return all.count > countMax ? all.popLast() : nil
        }
        _ = consume last
    }

    private static func remove(_ plan: Plan) -> Entry? {
        let thread = pthread_self()
        return entries.withLock { all in
            let index = all.firstIndex { $0.thread == thread && $0.plan == plan }
            return index.map { all.remove(at: $0) }
        }
    }

    private static func endAll() {
        let all = entries.withLock { all in
            defer { all = [] }
            return all
        }
        _ = consume all
    }
}
