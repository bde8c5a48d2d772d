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
    }

    /// `-C`: the offset of the first byte, which is the length of the file. One that is given may
    /// begin an empty file, and a failure leaves the file as it was; otherwise what came is kept.
    typealias Rest = (offset: Int, isGiven: Bool)

    /// The file that is there, once its bytes turn out to be the same: ``commit()`` leaves it.
    enum Comparison { case unasked, asked, same }
    var comparison = Comparison.unasked
    /// Unix seconds for the time of the file.
    var modified: Int?

    /// The final name; may change in ``commit()``.
    private(set) var path: String
    /// The requested name, with links resolved.
    let wanted: String
    private(set) var bytesWritten = 0
    private var filter: TerminalText.Filter?
    private let clash: Clash
    private let rest: Rest?
    /// Length of the file that is continued, at first; `nil` for all others.
    private var beginning: Int?
    private var part: String?
    private var isNoted = false
    /// `nil` after ``commit()`` and ``discard(keepsPart:)``.
    private var file: Descriptor?
    private let patience: Patience

    /// - Parameters:
    ///   - rest: `nil` for a body from its first byte on.
    ///   - patience: Timeout for the reader of a FIFO.
    /// - Throws: `write` if the file cannot be created or continued; `timeout`, `interrupted`.
    init(
        _ path: String, clash: Clash, rest: Rest? = nil, createsDirectories: Bool,
        patience: Patience = Patience()
    ) throws(FetchError) {
        (self.patience, self.rest) = (patience, rest)
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
        let before = rest == nil ? nil : try PartFile.beginning(of: path)
        let followsLinks = clash == .overwrite || rest != nil
        let target = before?.target ?? (followsLinks ? resolvingLinks(path) : path)
        self.path = target
        wanted = target
        self.clash = clash
        try openPath(as: path, before, createsDirectories: createsDirectories)
        guard let rest, let beginning, beginning != rest.offset else { return }
        if rest.isGiven && beginning == 0 { return }
        throw FetchError(
            .write, .output,
            "cannot continue \(part ?? target) at byte \(rest.offset): it has \(beginning) bytes",
            hint: "-C - continues at its end")
    }

    /// Opens ``path``, its part or the end of what is there.
    ///
    /// - Parameter name: The path for messages.
    private func openPath(
        as name: String, _ before: PartFile.Beginning?, createsDirectories: Bool
    ) throws(FetchError) {
        var status = stat()
        let exists = stat(path, &status) == 0
        let reason = SystemError(number: errno)
        // With `.number` another file is written.
        if exists && (clash != .number || rest != nil) {
            if status.st_mode & S_IFMT == S_IFDIR {
                throw FetchError(
                    .write, .output, "\(name) is a directory", hint: Advice.directory(name))
            }
            try Ledger.refuse(name, status)
        }
        let followsLinks = clash == .overwrite || rest != nil
        let isSpecial = exists && status.st_mode & S_IFMT != S_IFREG && followsLinks
        do throws(SystemError) {
            // On other errors the file may exist.
            if !exists && reason.number != ENOENT { throw reason }
            if createsDirectories { try makeDirectories(directory(of: path), mode: 0o777) }
            if isSpecial {
                let flags = O_WRONLY | O_CLOEXEC | O_NOCTTY
                file = Descriptor(owning: try patience.call { open(path, flags) })
                filter = isatty(number) == 1 ? TerminalText.Filter() : nil
            } else {
                try openFile(before, mode: exists && clash == .overwrite ? status.st_mode : nil)
            }
        } catch {
            if let failure = Patience.failure(error, "no program opens \(name) to read it") {
                throw failure
            }
            throw FetchError(
                .write, .output, "cannot \(exists ? "write" : "create") \(name)", error,
                hint: error.number == ENOENT && !createsDirectories
                    ? "make its directory, or use --create-dirs" : nil)
        }
    }

    /// - Parameter mode: The mode of the file that is replaced, if one is.
    private func openFile(_ before: PartFile.Beginning?, mode: mode_t?) throws(SystemError) {
        let mode = mode.map { $0 & 0o777 }
        if mode != nil {
            // Replacing needs only a writable directory, so check the file itself.
            _ = try systemCall { faccessat(AT_FDCWD, path.systemName, W_OK, AT_EACCESS) }
        }
        if let before {
            file = try Self.openToContinue(before.part ?? path, before.part != nil)
            // Until it is open, it may be another process's.
            (part, beginning) = (before.part, Self.length(number))
        } else {
            try openPart(mode: mode ?? 0o666)
        }
        // The umask was applied on creation.
        if let mode, part != nil { _ = try systemCall { fchmod(number, mode) } }
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

    /// Marks a file that another fetch can continue, with the identity of its content
    /// (``Head/Properties/bodyState``).
    func note(_ state: String?) {
        guard part != nil else { return }
        isNoted = true
        PartFile.note(state ?? "", in: number)
    }

    func commit() throws(FetchError) {
        guard file != nil else { return }
        if filter != nil {
            let rest = filter?.filter([], isLast: true) ?? []
            filter = nil
            try write(rest[...])
        }
        if isNoted || beginning != nil { PartFile.forgetState(number) }
        if comparison == .asked, let part, KeptFile.isSame(part, path) {
            discard()
            if beginning != nil { unlink(part) }
            comparison = .same
            return
        }
        if let modified {
            let time = timespec(tv_sec: modified, tv_nsec: 0)
            // Devices and pipes have no time to set.
            if part != nil || beginning != nil { _ = futimens(number, [time, time]) }
        }
        do throws(SystemError) {
            if let file = file.take() { try file.close() }
        } catch {
            throw failure("cannot write", error)
        }
        guard let part else { return }
        do throws(SystemError) {
            switch clash {
            case .overwrite, .replace: _ = try systemCall { rename(part, path) }
            case .number: try linkToFreeName(part)
            }
            self.part = nil
            // That of an earlier attempt is of no use any more.
            let old = Self.partName(wanted)
            if old != part, PartFile.mayReplace(old) { unlink(old) }
        } catch {
            throw failure("cannot name", error)
        }
    }

    /// Deletes the unfinished file, or keeps it as `NAME.part`; one that was continued stays. No
    /// effect after ``commit()``.
    ///
    /// - Returns: The name of a file that another fetch can continue.
    @discardableResult
    func discard(keepsPart: Bool = false) -> String? {
        defer { part = nil }
        if let beginning, let rest {
            guard file != nil else { return nil }
            // If this fails, the same command says that the length is another one.
            if rest.isGiven { _ = ftruncate(number, beginning) }
            let count = Self.length(number)
            file = nil
            if count == 0, let part { unlink(part) }
            return keepsPart && count > 0 && !rest.isGiven ? part ?? path : nil
        }
        file = nil
        guard let part else { return nil }
        let name = Self.partName(wanted)
        if keepsPart, bytesWritten > 0, part == name || PartFile.mayReplace(name),
            rename(part, name) == 0
        {
            return name
        }
        unlink(part)
        return nil
    }

    /// Length of an open file in bytes.
    private static func length(_ file: Int32) -> Int {
        var status = stat()
        return fstat(file, &status) == 0 ? Int(status.st_size) : 0
    }

    /// Opens the file or its part to append. Both were checked before, so links and FIFOs that have
    /// replaced them since are refused.
    private static func openToContinue(
        _ name: String, _ isPart: Bool
    ) throws(SystemError) -> Descriptor {
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK
        var file = try Descriptor(opening: name, flags, mode: 0o666)
        var status = stat()
        _ = try systemCall { fstat(file.borrowed, &status) }
        guard status.st_mode & S_IFMT == S_IFREG,
            !isPart || status.st_nlink == 1 && status.st_uid == geteuid()
        else { throw SystemError(number: EPERM) }
        guard PartFile.locks(&file) else { throw SystemError(number: EBUSY) }
        return file
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
                var new = try Descriptor(opening: name, O_WRONLY | O_CREAT | O_EXCL, mode: mode)
                _ = PartFile.locks(&new)
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
    /// runs, which may continue the file, and different for other names. Without libcrypto no other
    /// run finds it.
    static func partName(_ target: String, _ suffix: String = ".part") -> String {
        let bytesMax = Int(NAME_MAX)
        let slash = target.lastIndex(of: "/")
        var name = slash.map { target[target.index(after: $0)...] } ?? target[...]
        guard name.utf8.count + suffix.utf8.count > bytesMax else { return target + suffix }
        let ending = "~\((try? Digest.sha256(name)) ?? "\(getpid())")\(suffix)"
        while name.utf8.count + ending.utf8.count > bytesMax { name.removeLast() }
        return (slash.map { target[...$0] } ?? "") + name + ending
    }

    /// Nested directories; a name that a file has gets .1, .2 and so on.
    ///
    /// - Parameter makes: True to create them, false for the place that they have or would get.
    /// - Returns: The innermost directory.
    /// - Throws: `write`.
    static func tree(
        _ names: [String], in root: String?, makes: Bool
    ) throws(FetchError) -> String? {
        do throws(SystemError) {
            if let root, makes { try makeDirectories(root, mode: 0o777) }
        } catch {
            throw FetchError(.write, .output, "cannot make \(root ?? "")", error)
        }
        var place = root
        for name in names {
            let wanted = place.map { "\($0)/\(name)" } ?? name
            var path = wanted
            for number in 1...1000 where !makes || mkdir(path, 0o777) != 0 {
                let error = SystemError(number: makes ? errno : EEXIST)
                var status = stat()
                let isThere = error.number == EEXIST && stat(path, &status) == 0
                if isThere && status.st_mode & S_IFMT == S_IFDIR || !makes && !isThere { break }
                guard isThere && number < 1000 else {
                    throw FetchError(.write, .output, "cannot make \(path)", error)
                }
                path = "\(wanted).\(number)"
            }
            place = path
        }
        return place
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
