// SPDX-License-Identifier: MIT
internal import CSmallWebProgram
@preconcurrency internal import Glibc
internal import SmallWebCore

/// A process that starts the second and later programs of a plugin; see `swprogram_open_starter`.
/// It ends with this object, and with the thread that it belongs to.
final class ProgramStarter: Sendable {
    /// Settings that its programs have in common.
    struct Plan: Hashable, Sendable {
        let folder: String
        let places: [String]
        let reads: [String]
        /// Device and inode of these paths, since a starter keeps showing the old files.
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
    /// TMPDIR of the programs. The path does not exist outside of their file systems.
    let temporaryPath: String

    var descriptor: Int32 { process.descriptor }

    private init?(of plan: Plan, _ open: (TemporaryDirectory) -> swprogram_starter?) {
        guard let directory = try? TemporaryDirectory() else { return nil }
        defer { directory.remove() }
        temporaryPath = directory.path
        // A path within the visible part of the disk would be missing there.
        guard !(plan.places + plan.reads).contains(where: { isBelow(directory.path, $0) }),
            let process = open(directory)
        else { return nil }
        self.process = process
    }

    deinit { withUnsafePointer(to: process) { swprogram_close_starter($0) } }

    // MARK: Starters of this process

    /// A plugin that a thread has started programs of.
    private struct Entry: Sendable {
        let plan: Plan
        let thread: pthread_t
        /// `nil` after the first program, and if it could not be made.
        var starter: ProgramStarter?
        var isRefused = false
    }

    /// Most recently used first.
    private static let entries = Locked<[Entry]>([])
    private static let countMax = 8
    private static let endsAtExit: Void = { _ = atexit { ProgramStarter.endAll() } }()

    /// The starter of a plan; `nil` for its first program in this thread, which a starter would
    /// only delay.
    ///
    /// - Parameter open: Makes the process; gets an empty directory.
    static func next(
        of plan: Plan, open: (TemporaryDirectory) -> swprogram_starter?
    ) -> ProgramStarter? {
        // Other threads do not change this thread's entries.
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

    /// Drops the starter of a plan, after it was killed.
    static func forget(_ plan: Plan) { _ = remove(plan) }

    private static func insert(_ entry: Entry) {
        // The least recently used one ends here, not under the lock.
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
