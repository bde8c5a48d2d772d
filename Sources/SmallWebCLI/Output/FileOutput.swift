// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb
internal import SmallWebRecords

/// A file that appears under its name only when it is complete.
///
/// Bytes go to `NAME.part` in the same directory. A device, pipe or socket is written directly.
final class FileOutput {
    enum Clash {
        /// Replace the file, keeping its permissions; follows a symbolic link.
        case overwrite
        /// Replace the directory entry, even a symbolic link: for untrusted names, which must not
        /// lead elsewhere.
        case replace
        /// Take the first free of `NAME`, `NAME.1`, `NAME.2` ….
        case number
        /// Append to the file, or to `NAME.part` of an earlier attempt; a failure keeps it for the
        /// next attempt.
        case append
    }

    /// The file that is there, once its bytes turn out to be the same: ``commit()`` leaves it.
    enum Comparison { case unasked, asked, same }
    var comparison = Comparison.unasked
    /// Unix seconds for the time of the file.
    var modified: Int?

    /// The final name; may change in ``commit()``.
    private(set) var path: String
    /// The requested name, with links resolved.
    let wanted: String
    private var bytesWritten = 0
    private var filter: TerminalText.Filter?
    private let clash: Clash
    private var part: String?
    private var isNoted = false
    /// `nil` after ``commit()`` and ``discard(keepsPart:)``.
    private var file: Descriptor?
    private let patience: Patience

    /// - Parameter patience: Timeout for the reader of a FIFO.
    /// - Throws: `write` if the file cannot be created; `timeout`, `interrupted`.
    init(
        _ path: String, clash: Clash, createsDirectories: Bool, patience: Patience = Patience()
    ) throws(FetchError) {
        self.patience = patience
        if let descriptor = Self.descriptor(path) {
            (self.path, wanted, self.clash) = (path, path, clash)
            do throws(SystemError) {
                file = Descriptor(
                    owning: try systemCall { fcntl(descriptor, F_DUPFD_CLOEXEC, 3) })
            } catch {
                throw FetchError(.write, .output, "cannot write \(path)", error)
            }
            filter = isatty(number) == 1 ? TerminalText.Filter() : nil
            return
        }
        let followsLinks = clash == .overwrite || clash == .append
        let target = followsLinks ? resolvingLinks(path) : path
        self.path = target
        wanted = target
        self.clash = clash
        var status = stat()
        let exists = stat(target, &status) == 0
        let reason = SystemError(number: errno)
        if exists && status.st_mode & S_IFMT == S_IFDIR && clash != .number {
            throw FetchError(
                .write, .output, "\(path) is a directory", hint: "use -O --output-dir \(path)")
        }
        // With `.number` another file is written.
        if exists && clash != .number { try Ledger.refuse(path, status) }
        if clash == .append && !exists { try PartFile.check(Self.partName(target)) }
        let isSpecial = exists && status.st_mode & S_IFMT != S_IFREG && followsLinks
        do throws(SystemError) {
            // On other errors the file may exist.
            if !exists && reason.number != ENOENT { throw reason }
            if createsDirectories { try makeDirectories(directory(of: target), mode: 0o777) }
            if isSpecial {
                file = Descriptor(
                    owning: try patience.call { open(target, O_WRONLY | O_CLOEXEC | O_NOCTTY) })
                filter = isatty(number) == 1 ? TerminalText.Filter() : nil
            } else if clash == .append {
                part = exists ? nil : Self.partName(target)
                file = try Self.openToContinue(part ?? target, isPart: part != nil)
            } else {
                if exists && clash == .overwrite {
                    // Replacing needs only a writable directory, so check the file itself.
                    _ = try systemCall { faccessat(AT_FDCWD, target.systemName, W_OK, AT_EACCESS) }
                }
                let replaces = exists && clash == .overwrite
                let mode = replaces ? status.st_mode & 0o777 : 0o666
                try openPart(mode: mode)
                // The umask was applied on creation.
                if replaces { _ = try systemCall { fchmod(number, mode) } }
            }
        } catch {
            if let failure = Patience.failure(error, "no program opens \(path) to read it") {
                throw failure
            }
            throw FetchError(
                .write, .output, "cannot \(exists ? "write" : "create") \(path)", error,
                hint: error.number == ENOENT && !createsDirectories
                    ? "make its directory, or use --create-dirs" : nil)
        }
    }

    deinit { discard() }

    /// For system calls; -1 after ``commit()``.
    private var number: Int32 { file?.borrowed ?? -1 }

    /// Escapes the bytes for a terminal, since a server may have written them.
    func write(_ bytes: ArraySlice<UInt8>) throws(FetchError) {
        do throws(SystemError) {
            try patience.writeAll((filter?.filter(bytes)).map { $0[...] } ?? bytes, to: number)
            bytesWritten += bytes.count
        } catch {
            throw Patience.failure(error, "the program that reads \(path) is too slow")
                ?? failure("cannot write", error)
        }
    }

    /// Stores the identity of an unfinished file's content (``Head/bodyState``).
    func note(_ state: String?) {
        guard part != nil, state != nil || clash == .append else { return }
        isNoted = true
        PartFile.note(state, in: number)
    }

    func commit() throws(FetchError) {
        guard file != nil else { return }
        if filter != nil {
            let rest = filter?.filter([], isLast: true) ?? []
            filter = nil
            try write(rest[...])
        }
        if isNoted { PartFile.forgetState(number) }
        if comparison == .asked, let part, KeptFile.isSame(part, path) {
            discard()
            comparison = .same
            return
        }
        if let modified {
            let time = timespec(tv_sec: modified, tv_nsec: 0)
            // Devices and pipes have no time to set.
            if part != nil { _ = futimens(number, [time, time]) }
        }
        do throws(SystemError) {
            if let file = file.take() { try file.close() }
        } catch {
            throw failure("cannot write", error)
        }
        guard let part else { return }
        do throws(SystemError) {
            switch clash {
            case .overwrite, .replace, .append: _ = try systemCall { rename(part, path) }
            case .number: try linkToFreeName(part)
            }
            self.part = nil
        } catch {
            throw failure("cannot name", error)
        }
    }

    /// Deletes the unfinished file, or keeps it as `NAME.part` for ``Clash/append``. No effect
    /// after ``commit()``.
    ///
    /// - Returns: The name of the kept file.
    @discardableResult
    func discard(keepsPart: Bool = false) -> String? {
        file = nil
        guard let part else { return nil }
        self.part = nil
        if clash == .append { return bytesWritten > 0 ? part : nil }
        let name = Self.partName(wanted)
        if keepsPart, bytesWritten > 0, part == name || Self.isLeftover(name),
            rename(part, name) == 0
        {
            return name
        }
        unlink(part)
        return nil
    }

    /// True if no other process is writing the part.
    private static func isLeftover(_ name: String) -> Bool {
        do throws(SystemError) {
            let file = try Descriptor(opening: name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
            return locks(file)
        } catch {
            return error.number == ENOENT
        }
    }

    /// Opens the file or its part to append. Both were checked before, so links and FIFOs that have
    /// replaced them since are refused.
    private static func openToContinue(
        _ name: String, isPart: Bool
    ) throws(SystemError) -> Descriptor {
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK
        let file = try Descriptor(opening: name, flags, mode: 0o666)
        var status = stat()
        _ = try systemCall { fstat(file.borrowed, &status) }
        guard status.st_mode & S_IFMT == S_IFREG,
            !isPart || status.st_nlink == 1 && status.st_uid == geteuid()
        else { throw SystemError(number: EPERM) }
        guard locks(file) else { throw SystemError(number: EBUSY) }
        return file
    }

    /// Locks the file against other writers, where the file system has locks.
    ///
    /// - Returns: False if another process holds the lock.
    private static func locks(_ file: borrowing Descriptor) -> Bool {
        (try? file.lock()) ?? true
    }

    /// Descriptor number of a name such as /dev/stdout. Duplicated instead of opened, so that
    /// writes continue at the shared file offset.
    private static func descriptor(_ path: String) -> Int32? {
        switch path {
        case "/dev/stdin": return 0
        case "/dev/stdout": return 1
        case "/dev/stderr": return 2
        default:
            let places = ["/dev/fd/", "/proc/self/fd/"]
            guard let place = places.first(where: path.hasPrefix) else { return nil }
            return Int32(path.dropFirst(place.count))
        }
    }

    /// True for an existing file or directory. Devices and pipes can always be written to.
    static func isTaken(_ path: String) -> Bool {
        [S_IFREG, S_IFDIR].contains(fileKind(path))
    }

    /// Length and state of an earlier attempt's data in `path`.
    ///
    /// - Throws: `write` if it cannot be determined.
    static func resumableBytes(
        _ path: String
    ) throws(FetchError) -> (count: Int, state: String?) {
        var status = stat()
        let target = resolvingLinks(path)
        if stat(target, &status) == 0 { return (Int(status.st_size), nil) }
        let error = SystemError(number: errno)
        guard error.number == ENOENT else {
            throw FetchError(.write, .output, "cannot continue \(target)", error)
        }
        let part = partName(target)
        return (try PartFile.check(part), PartFile.state(part))
    }

    /// Creating a link fails if the name exists, so two processes can never take the same one.
    private func linkToFreeName(_ part: String) throws(SystemError) {
        var candidate = path
        for number in 1... {
            if link(part, candidate) == 0 { break }
            let error = errno
            guard error == EEXIST else {
                // Fallback for file systems without links; not atomic.
                guard error == EPERM || error == ENOTSUP, access(candidate, F_OK) != 0 else {
                    throw SystemError(number: error)
                }
                _ = try systemCall { rename(part, candidate) }
                path = candidate
                return
            }
            candidate = "\(path).\(number)"
        }
        unlink(part)
        path = candidate
    }

    private func openPart(mode: mode_t) throws(SystemError) {
        for number in 0..<1000 {
            let name = Self.partName(path, number == 0 ? ".part" : ".\(getpid())-\(number).part")
            do throws(SystemError) {
                let new = try Descriptor(opening: name, O_WRONLY | O_CREAT | O_EXCL, mode: mode)
                _ = Self.locks(new)
                file = consume new
                part = name
                return
            } catch {
                // Another process writes the same file, or left this part.
                if error.number != EEXIST { throw error }
            }
        }
        throw SystemError(number: EEXIST)
    }

    /// `target` with `suffix`. A name too long for it is truncated and gets a hash: stable between
    /// runs, which may continue the file, and different for other names.
    static func partName(_ target: String, _ suffix: String = ".part") -> String {
        let bytesMax = Int(NAME_MAX)
        let slash = target.lastIndex(of: "/")
        var name = slash.map { target[target.index(after: $0)...] } ?? target[...]
        guard name.utf8.count + suffix.utf8.count > bytesMax else { return target + suffix }
        let ending = "~" + String(String(name).stableHash, radix: 16) + suffix
        while name.utf8.count + ending.utf8.count > bytesMax { name.removeLast() }
        return (slash.map { target[...$0] } ?? "") + name + ending
    }

    /// Creates nested directories; a name that a file has gets .1, .2 and so on.
    ///
    /// - Returns: The innermost directory.
    /// - Throws: `write`.
    static func makeTree(_ names: [String], in root: String) throws(FetchError) -> String {
        var path = root
        do throws(SystemError) {
            try makeDirectories(root, mode: 0o777)
        } catch {
            throw FetchError(.write, .output, "cannot make \(root)", error)
        }
        for name in names {
            let wanted = "\(path)/\(name)"
            path = wanted
            for number in 1...1000 where mkdir(path, 0o777) != 0 {
                let error = SystemError(number: errno)
                var status = stat()
                let isThere = error.number == EEXIST && stat(path, &status) == 0
                if isThere && status.st_mode & S_IFMT == S_IFDIR { break }
                guard isThere && number < 1000 else {
                    throw FetchError(.write, .output, "cannot make \(path)", error)
                }
                path = "\(wanted).\(number)"
            }
        }
        return path
    }

    static func absolute(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(systemName: real)
    }

    private func failure(_ what: String, _ error: SystemError) -> FetchError {
        FetchError(
            .write, .output, "\(what) \(path)", error,
            hint: error.number == ENOSPC ? "make room and fetch again" : nil)
    }
}

extension Ledger {
    /// - Throws: `usage` if the body would replace the ledger, under any name.
    static func refuse(_ path: String, _ status: stat) throws(FetchError) {
        guard own.withLock({ $0 == FileIdentity(status) }) else { return }
        throw usageError(
            "\(path) is the file of --ledger", hint: "choose another name or directory")
    }
}

/// `NAME.part` of an earlier fetch, to be continued by `-C -`. Untrusted if others may write to the
/// directory.
enum PartFile {
    /// - Returns: Its length in bytes; 0 if there is none.
    /// - Throws: `write` for a file that no fetch of this user can have left.
    @discardableResult
    static func check(_ name: String) throws(FetchError) -> Int {
        var status = stat()
        guard lstat(name, &status) == 0 else {
            let error = SystemError(number: errno)
            if error.number == ENOENT { return 0 }
            throw FetchError(.write, .output, "cannot continue \(name)", error)
        }
        let problem: String? =
            switch status.st_mode & S_IFMT {
            case S_IFLNK: "it is a symbolic link"
            case S_IFIFO: "it is a named pipe"
            case S_IFREG where status.st_nlink != 1: "it has another name (a hard link)"
            case S_IFREG where status.st_uid != geteuid(): "it belongs to another user"
            case S_IFREG: nil
            default: "it is not a regular file"
            }
        guard let problem else { return Int(status.st_size) }
        throw FetchError(
            .write, .output, "cannot continue \(name): \(problem)",
            hint: "remove it, or fetch the whole file without -C")
    }

    // MARK: State of its content

    /// Extended attribute with ``Head/bodyState``; it stays with a renamed file.
    private static let attribute = "user.smallweb.state"
    /// Longer states are neither stored nor read.
    private static let stateBytesMax = 4096

    /// The state stored by an earlier fetch; `nil` if there is none.
    static func state(_ name: String) -> String? {
        var bytes = [UInt8](repeating: 0, count: stateBytesMax)
        let count = lgetxattr(name, attribute, &bytes, bytes.count)
        return count > 0 ? String(validating: bytes[..<count], as: UTF8.self) : nil
    }

    /// Stores the state, unless a file with content has one already.
    static func note(_ state: String?, in file: Int32) {
        var status = stat()
        if fstat(file, &status) == 0, status.st_size == 0 { forgetState(file) }
        guard let state, state.utf8.count <= stateBytesMax else { return }
        // Not every file system has attributes; the file is then continued without a check.
        _ = fsetxattr(file, attribute, state, state.utf8.count, Int32(XATTR_CREATE))
    }

    static func forgetState(_ file: Int32) {
        // Usually there is no attribute to remove.
        _ = fremovexattr(file, attribute)
    }
}
