// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWebCore
package import SmallWebText

/// A file of the user that processes read and change: known hosts, bookmarks, bindings, history.
///
/// A change is made under a lock on the file's directory, to a copy that is then renamed into
/// place: a reader sees the old file or the new one, a kill leaves one of them, and no writer loses
/// another's lines. A symbolic link stays one. A device such as `/dev/null` reads as empty and
/// keeps nothing; a directory, pipe or socket is refused.
package struct StoreFile: Sendable {
    package let path: String
    /// Name for messages, such as `trust store`.
    private let title: String
    private let remedy: FetchError.Remedy?
    private let phase: FetchError.Phase

    /// Larger files are not read whole, and longer lines not at all.
    static let bytesMax = 1 << 30

    package init(
        _ path: String, title: String, remedy: FetchError.Remedy? = nil,
        phase: FetchError.Phase = .output
    ) {
        self.path = path
        self.title = title
        self.remedy = remedy
        self.phase = phase
    }

    /// The whole file; empty when there is none.
    ///
    /// - Throws: `read`.
    package func read() throws(FetchError) -> [UInt8] {
        guard try kind(for: .read) == .file else { return [] }
        removeRemains()
        return try attempt(.read, "cannot read") { () throws(SystemError) in
            try FileBytes.read(path, limit: Self.bytesMax)
        }
    }

    /// Changes the file under its lock, which is waited for.
    ///
    /// - Parameter body: Nothing is written when it throws or changes nothing.
    /// - Throws: Errors of `body`; `read` before anything is written; `write`.
    package func change<Value>(
        _ body: (inout [UInt8]) throws(FetchError) -> Value
    ) throws(FetchError) -> Value {
        let lock = try lock()
        let before = try read()
        var bytes = before
        let value = try body(&bytes)
        if bytes != before { try replace(by: bytes, lock) }
        return value
    }

    /// Adds whole lines to the file's end.
    ///
    /// - Returns: The size of the file.
    /// - Throws: `write`; the file is then as it was.
    package func append(lines: [UInt8]) throws(FetchError) -> Int {
        let lock = try lock()
        guard lock.descriptor != nil else { return 0 }
        return try attempt(.write, "cannot write") { () throws(SystemError) in
            let file = try Descriptor(
                opening: path, O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK, mode: 0o600)
            let size = Int(try systemCall { lseek(file.borrowed, 0, SEEK_END) })
            var last = ASCII.lineFeed
            if size > 0 { _ = try systemCall { pread(file.borrowed, &last, 1, off_t(size - 1)) } }
            let bytes = last == ASCII.lineFeed ? lines : [ASCII.lineFeed] + lines
            do throws(SystemError) {
                try writeAll(bytes[...], to: file.borrowed)
            } catch {
                // The write error is thrown, even if this fails.
                _ = ftruncate(file.borrowed, off_t(size))
                throw error
            }
            return size + bytes.count
        }
    }

    // MARK: Locking

    package struct Lock: ~Copyable {
        /// `nil` for a device, which keeps nothing.
        fileprivate let descriptor: Descriptor?
    }

    /// - Returns: `nil` while another process has the lock.
    /// - Throws: `write`.
    package func tryLock() throws(FetchError) -> Lock? { try lock(waits: false) }

    private func lock() throws(FetchError) -> Lock {
        guard let lock = try lock(waits: true) else {
            preconditionFailure("a lock that is waited for is got or fails")
        }
        return lock
    }

    private func lock(waits: Bool) throws(FetchError) -> Lock? {
        if try kind(for: .write) == .device { return Lock(descriptor: nil) }
        let directory = directory(of: resolvingLinks(path))
        return try attempt(.write, "cannot lock") { () throws(SystemError) in
            try makeDirectories(directory, mode: 0o700)
            var descriptor = try Descriptor(opening: directory, O_RDONLY | O_DIRECTORY)
            guard try descriptor.lock(waits: waits) else { return nil }
            return Lock(descriptor: descriptor)
        }
    }

    // MARK: Replacing

    /// Replaces the file by one with these bytes.
    ///
    /// - Throws: `write`; the file is then as it was, or the message names a copy of it.
    package func replace(by bytes: [UInt8], _ lock: borrowing Lock) throws(FetchError) {
        guard lock.descriptor != nil else { return }
        let final = resolvingLinks(path)
        let isReplaced = try attempt(.write, "cannot write") { () throws(SystemError) in
            do throws(SystemError) {
                try AtomicFile.replace(final, by: bytes, part: partPath) {
                    file throws(SystemError) in try Self.keepOwner(of: final, file.borrowed)
                }
                return true
            } catch {
                // A file that is mounted by itself, as in a container, keeps its place.
                guard error.number == EBUSY, access(final, F_OK) == 0 else { throw error }
                return false
            }
        }
        if !isReplaced { try rewrite(final, bytes) }
    }

    /// One name, used only under the lock, by which the remains of a killed process are found.
    private var partPath: String { directory(of: resolvingLinks(path)) + "/.smallweb.part" }

    func removeRemains() {
        let part = partPath
        if access(part, F_OK) == 0, let lock = try? tryLock(), lock.descriptor != nil {
            unlink(part)
        }
    }

    /// A store that others may read, because it is kept with a project, stays so, and root leaves
    /// a user's file the user's.
    private static func keepOwner(of path: String, _ file: Int32) throws(SystemError) {
        var old = stat()
        guard stat(path, &old) == 0 else {
            if errno == ENOENT { return }
            throw SystemError(number: errno)
        }
        if old.st_uid != geteuid() || old.st_gid != getegid() {
            do throws(SystemError) {
                _ = try systemCall { fchown(file, old.st_uid, old.st_gid) }
            } catch {
                // Only root can give a file away; another user's file then becomes ours.
                guard error.number == EPERM else { throw error }
            }
        }
        _ = try systemCall { fchmod(file, old.st_mode & 0o777) }
    }

    /// Writes into the file itself. Its old content is saved next to it until that has succeeded.
    private func rewrite(_ final: String, _ bytes: [UInt8]) throws(FetchError) {
        let saved = final + ".saved"
        let old = try read()
        let file = try attempt(.write, "cannot write") { () throws(SystemError) in
            try Descriptor(opening: final, O_WRONLY)
        }
        try attempt(.write, "cannot write \(saved), a copy of") { () throws(SystemError) in
            _ = try AtomicFile.create(saved, old)
        }
        try attempt(.write, "its old content is in \(saved); cannot write") {
            () throws(SystemError) in
            try writeAll(bytes[...], to: file.borrowed)
            _ = try systemCall { ftruncate(file.borrowed, off_t(bytes.count)) }
            _ = try systemCall { fsync(file.borrowed) }
        }
        unlink(saved)
    }

    // MARK: File types

    package enum Kind { case missing, file, device }

    /// - Throws: `outcome` for a file that cannot be a store, or cannot be examined.
    package func kind(for outcome: Outcome) throws(FetchError) -> Kind {
        var facts = stat()
        let what = outcome == .read ? "cannot read" : "cannot write"
        if stat(path, &facts) != 0 {
            let error = SystemError(number: errno)
            if error.number == ENOENT { return .missing }
            throw failure(outcome, what, error)
        }
        let other: String
        switch facts.st_mode & S_IFMT {
        case S_IFREG: return .file
        case S_IFCHR, S_IFBLK: return .device
        case S_IFDIR: other = "directory"
        case S_IFIFO: other = "pipe"
        case S_IFSOCK: other = "socket"
        default: other = "special file"
        }
        throw FetchError(
            outcome, phase, "\(what) the \(title) \(path): it is a \(other), not a file",
            remedy: remedy)
    }

    /// Runs `body`; its errors name the store.
    package func attempt<Value: ~Copyable>(
        _ outcome: Outcome, _ what: String, _ body: () throws(SystemError) -> Value
    ) throws(FetchError) -> Value {
        do throws(SystemError) {
            return try body()
        } catch {
            throw failure(outcome, what, error)
        }
    }

    private func failure(_ outcome: Outcome, _ what: String, _ error: SystemError) -> FetchError {
        FetchError(outcome, phase, "\(what) the \(title) \(path)", error, remedy: remedy)
    }
}

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
