// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb
internal import SmallWebRecords

/// A file that appears under its name only when it is complete.
///
/// Bytes go to `NAME.part` beside it. A device, pipe or socket is written to directly.
final class FileOutput {
    /// What to do when the name is taken.
    enum Clash {
        /// Replace the file, keeping its permissions; through a symbolic link.
        case overwrite
        /// Replace what has the name, be it a link: who chose the name may not choose where it
        /// leads.
        case replace
        /// Take the first free of `NAME`, `NAME.1`, `NAME.2` ….
        case number
        /// Add to the file, or to what an earlier attempt left in `NAME.part`; a failure leaves
        /// it for the next attempt.
        case append
    }

    /// Where the body ends up; known for sure after ``commit()``.
    private(set) var path: String
    /// As it was asked for, links resolved.
    let wanted: String
    private var bytesWritten = 0
    /// For a terminal.
    private var filter: TerminalText.Filter?
    private let clash: Clash
    private var part: String?
    private var isNoted = false
    private var file: Int32
    private let patience: Patience

    /// - Parameter patience: With whatever reads it, if it is a FIFO.
    /// - Throws: `write` when the file cannot be created; `timeout`, `interrupted`.
    init(
        _ path: String, clash: Clash, createsDirectories: Bool, patience: Patience = Patience()
    ) throws(FetchError) {
        self.patience = patience
        if let descriptor = Self.descriptor(path) {
            (self.path, wanted, self.clash) = (path, path, clash)
            do throws(SystemError) {
                file = try systemCall { fcntl(descriptor, F_DUPFD_CLOEXEC, 3) }
            } catch {
                throw FetchError(.write, .output, "cannot write \(path)", error)
            }
            filter = isatty(file) == 1 ? TerminalText.Filter() : nil
            return
        }
        let followsLinks = clash == .overwrite || clash == .append
        let target = followsLinks ? resolvingLinks(path) : path
        self.path = target
        wanted = target
        self.clash = clash
        var status = stat()
        let exists = stat(target, &status) == 0
        let number = errno
        if exists && status.st_mode & S_IFMT == S_IFDIR && clash != .number {
            throw FetchError(
                .write, .output, "\(path) is a directory", hint: "use -O --output-dir \(path)")
        }
        // A free name is another one.
        if exists && clash != .number { try Ledger.refuse(path, status) }
        if clash == .append && !exists { try PartFile.check(Self.partName(target)) }
        let isSpecial = exists && status.st_mode & S_IFMT != S_IFREG && followsLinks
        do throws(SystemError) {
            // A name that cannot be looked up may exist.
            if !exists && number != ENOENT { throw SystemError(number: number) }
            if createsDirectories { try makeDirectories(directory(of: target), mode: 0o777) }
            if isSpecial {
                file = try patience.call { open(target, O_WRONLY | O_CLOEXEC | O_NOCTTY) }
                filter = isatty(file) == 1 ? TerminalText.Filter() : nil
            } else if clash == .append {
                part = exists ? nil : Self.partName(target)
                file = try Self.openToContinue(part ?? target, isPart: part != nil)
                guard Self.lock(file) else {
                    close(file)
                    throw SystemError(number: EBUSY)
                }
            } else {
                if exists && clash == .overwrite {
                    // Its directory alone would let it be replaced.
                    _ = try systemCall { faccessat(AT_FDCWD, target.systemName, W_OK, AT_EACCESS) }
                }
                let replaces = exists && clash == .overwrite
                let mode = replaces ? status.st_mode & 0o777 : 0o666
                (file, part) = try Self.openPart(target, mode: mode)
                // As created, it has what the umask leaves of them.
                if replaces { _ = try systemCall { fchmod(file, mode) } }
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

    /// A terminal gets the bytes made safe, since a server may have written them.
    func write(_ bytes: ArraySlice<UInt8>) throws(FetchError) {
        do throws(SystemError) {
            try patience.writeAll((filter?.filter(bytes)).map { $0[...] } ?? bytes, to: file)
            bytesWritten += bytes.count
        } catch {
            throw Patience.failure(error, "the program that reads \(path) is too slow")
                ?? failure("cannot write", error)
        }
    }

    /// Notes in an unfinished file what its bytes are of (``Head/bodyState``).
    func note(_ state: String?) {
        guard part != nil, state != nil || clash == .append else { return }
        isNoted = true
        PartFile.note(state, in: file)
    }

    /// Gives the file its name.
    func commit() throws(FetchError) {
        guard file >= 0 else { return }
        if filter != nil {
            let rest = filter?.filter([], isLast: true) ?? []
            filter = nil
            try write(rest[...])
        }
        if isNoted { PartFile.forgetState(file) }
        let status = close(file)
        let number = errno
        file = -1
        // A full network disk may say so only here.
        if status != 0 { throw failure("cannot write", SystemError(number: number)) }
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

    /// Leaves nothing behind, or what has come as `NAME.part`, which ``Clash/append`` goes on with.
    /// Harmless after ``commit()``.
    ///
    /// - Returns: The name of what is left.
    @discardableResult
    func discard(keepsPart: Bool = false) -> String? {
        if file >= 0 { close(file) }
        file = -1
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

    /// Whether no process writes the part of that name any more.
    private static func isLeftover(_ name: String) -> Bool {
        let file = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
        guard file >= 0 else { return errno == ENOENT }
        defer { close(file) }
        return lock(file)
    }

    /// The file itself, or its part: both were looked at, and what has come into their place
    /// meanwhile is neither followed nor waited for.
    private static func openToContinue(
        _ name: String, isPart: Bool
    ) throws(SystemError) -> Int32 {
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        let file = try systemCall { open(name, flags, 0o666) }
        do throws(SystemError) {
            var status = stat()
            _ = try systemCall { fstat(file, &status) }
            guard status.st_mode & S_IFMT == S_IFREG,
                !isPart || status.st_nlink == 1 && status.st_uid == geteuid()
            else { throw SystemError(number: EPERM) }
            return file
        } catch {
            close(file)
            throw error
        }
    }

    /// Tells other processes that this one writes the file.
    ///
    /// - Returns: False when another one does.
    private static func lock(_ file: Int32) -> Bool {
        flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK
    }

    /// Of the names that stand for what this process has open: behind them may be a file, which
    /// must go on where others have written.
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

    /// Whether a file has the name, and not a device or a pipe, which take all that comes.
    static func isTaken(_ path: String) -> Bool {
        [S_IFREG, S_IFDIR].contains(fileKind(path))
    }

    /// How many bytes of `path` an earlier attempt has left, and of what.
    ///
    /// - Throws: `write` when that cannot be found out.
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

    /// A link fails when the name is taken, so two processes can never take the same one.
    private func linkToFreeName(_ part: String) throws(SystemError) {
        var candidate = path
        for number in 1... {
            if link(part, candidate) == 0 { break }
            let error = errno
            guard error == EEXIST else {
                // A file system without links: the next best thing.
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

    private static func openPart(_ target: String, mode: mode_t) throws(SystemError) -> (
        Int32, String
    ) {
        for number in 0..<1000 {
            let name = partName(target, number == 0 ? ".part" : ".\(getpid())-\(number).part")
            do throws(SystemError) {
                let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC
                let file = try systemCall { open(name, flags, mode) }
                _ = lock(file)
                return (file, name)
            } catch {
                // Another process writes the same file, or left this behind.
                if error.number != EEXIST { throw error }
            }
        }
        throw SystemError(number: EEXIST)
    }

    /// `target` with `suffix`. Of a name that leaves no room for it the beginning, and a hash: the
    /// same in the next run, which may go on with the file, and another for another name.
    static func partName(_ target: String, _ suffix: String = ".part") -> String {
        let bytesMax = Int(NAME_MAX)
        let slash = target.lastIndex(of: "/")
        var name = slash.map { target[target.index(after: $0)...] } ?? target[...]
        guard name.utf8.count + suffix.utf8.count > bytesMax else { return target + suffix }
        // FNV-1a.
        let hash = name.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01B3
        }
        let ending = "~" + String(hash, radix: 16) + suffix
        while name.utf8.count + ending.utf8.count > bytesMax { name.removeLast() }
        return (slash.map { target[...$0] } ?? "") + name + ending
    }

    /// Makes directories one below the other; a name that a file has gets .1, .2 and so on.
    ///
    /// - Returns: The innermost.
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

    /// The same file from anywhere.
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
    /// - Throws: `usage` when a body is to take the place of the ledger, under whatever name.
    static func refuse(_ path: String, _ status: stat) throws(FetchError) {
        guard own.withLock({ $0 == FileIdentity(status) }) else { return }
        throw usageError(
            "\(path) is the file of --ledger", hint: "choose another name or directory")
    }
}
