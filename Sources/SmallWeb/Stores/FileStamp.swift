// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWebCore

/// Identity, size and modification time of a file, to detect changes: a replaced file has another
/// identity, and one that was written to has another time or size.
struct FileStamp: Sendable, Equatable {
    private let identity: FileIdentity
    let size: Int
    private let seconds: Int
    private let nanoseconds: Int

    init(_ facts: stat) {
        identity = FileIdentity(facts)
        size = Int(facts.st_size)
        (seconds, nanoseconds) = (facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec)
    }

    /// `nil` when there is no file.
    init?(_ path: String) {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return nil }
        self.init(facts)
    }
}
