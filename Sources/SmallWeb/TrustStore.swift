// SPDX-License-Identifier: MIT
internal import Glibc
public import SmallWebCore
public import SmallWebTransport

/// Trust on first use over a known_hosts file that many processes may share.
///
/// Every change is made under an exclusive lock on the file's directory, to a copy that is then
/// renamed into place: a reader sees the old store or the new one, a kill leaves one of them, and
/// no writer loses another's line.
public struct TrustStore: Sendable {
    public let path: String
    public let policy: TrustPolicy
    /// Asks the person at the terminal, for ``TrustPolicy/ask``: whether to trust a key all the
    /// same. `nil` when nobody is there.
    public var asker: (@Sendable (_ question: String) -> Bool)?

    /// What the file held when it was read last: most connections of a run find it unchanged.
    private let remembered = Locked<(FileStamp, KnownHosts)?>(nil)

    public init(path: String, policy: TrustPolicy) {
        self.path = path
        self.policy = policy
    }

    /// Judges the key behind `endpoint`; pins it when the place is new and the policy says so.
    ///
    /// - Parameter now: Unix seconds.
    /// - Throws: `untrusted`, `trust-changed`; `write` or `read` when the store cannot be used;
    ///   `timeout` when another process keeps it locked.
    func judge(
        _ endpoint: Endpoint, _ tls: TLSFacts, now: Int, loop: EventLoop,
        by deadline: Deadline = .never
    ) async throws(FetchError) -> TrustFacts {
        var visit = TrustVisit(endpoint: endpoint, tls: tls, now: now, policy: policy)
        if let facts = try visit.judgeWithoutStore() { return facts }
        do throws(FetchError) {
            let (facts, needsUpdate) = try visit.judge(try load()) { _ in }
            guard needsUpdate else { return facts }
        } catch {
            let isQuestion = error.outcome == .untrusted || error.outcome == .trustChanged
            guard policy == .ask, isQuestion, let asker, asker(error.message) else { throw error }
            visit.isApproved = true
        }
        // Judged again under the lock: another process may have been here in between.
        let decided = visit
        return try await change(loop: loop, by: deadline) { hosts throws(FetchError) in
            try decided.judge(hosts) { hosts = $0 }.0
        }
    }

    /// The store as it is now; empty when there is no file.
    ///
    /// - Throws: `read`.
    public func hosts() throws(FetchError) -> KnownHosts { try load() }

    /// Changes the store under its lock.
    ///
    /// - Parameter body: Nothing is written when it throws or changes nothing.
    /// - Throws: What `body` throws; `write` or `read` when the store cannot be used; `timeout`
    ///   when another process keeps it locked.
    public func change<Value>(
        loop: EventLoop, by deadline: Deadline = .never,
        _ body: (inout KnownHosts) throws(FetchError) -> Value
    ) async throws(FetchError) -> Value {
        let lock = try await lockDirectory(loop: loop, by: deadline)
        defer { close(lock) }
        // Nothing remembered counts under the lock.
        let before = try read()
        var hosts = before
        let value = try body(&hosts)
        if hosts != before { try save(hosts) }
        return value
    }

    private func load() throws(FetchError) -> KnownHosts {
        let stamp = FileStamp(path)
        if let (then, hosts) = remembered.withLock({ $0 }), then == stamp { return hosts }
        let hosts = try read()
        // Stamped before it was read: whoever changed it meanwhile gave it another one.
        remembered.withLock { $0 = stamp.map { ($0, hosts) } }
        return hosts
    }

    private func read() throws(FetchError) -> KnownHosts {
        do throws(SystemError) {
            let file = try systemCall { open(path, O_RDONLY | O_CLOEXEC) }
            defer { close(file) }
            let bytes = try readAll(file)
            return KnownHosts(parsing: bytes)
        } catch {
            if error.number == ENOENT { return KnownHosts(parsing: []) }
            throw FetchError(
                .read, .tls, "cannot read the trust store \(path): \(error.sentence)",
                errnoName: error.name, hint: "mend it, or name another with SMALLWEB_KNOWN_HOSTS")
        }
    }

    /// Behind symbolic links: the store is locked and replaced where it really is.
    private var realPath: String {
        var path = path
        // `realpath` wants the file to exist; a link may lead to where it is still to be made.
        for _ in 0..<40 {
            if let resolved = realpath(path, nil) {
                defer { free(resolved) }
                return String(cString: resolved)
            }
            var target = [UInt8](repeating: 0, count: Int(PATH_MAX))
            let count = readlink(path, &target, target.count)
            guard count > 0 else { break }
            let text = String(decoding: target[..<count], as: UTF8.self)
            path = text.hasPrefix("/") ? text : Self.directory(of: path) + "/" + text
        }
        return path
    }

    private static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private var directory: String { Self.directory(of: realPath) }

    /// The directory's descriptor, locked until it is closed.
    private func lockDirectory(
        loop: EventLoop, by deadline: Deadline
    ) async throws(FetchError) -> Int32 {
        let deadline = min(deadline, .after(seconds: 30))
        var pause = 0.001
        do throws(SystemError) {
            try makeDirectories()
            let descriptor = try systemCall { open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
            while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
                let number = errno
                guard number == EWOULDBLOCK || number == EINTR, Deadline.now < deadline,
                    !Task.isCancelled
                else {
                    close(descriptor)
                    throw SystemError(number: number)
                }
                // Polled, since the loop must not block; at odd times, so that nobody starves.
                await loop.sleep(until: .after(seconds: .random(in: 0...pause)))
                pause = min(2 * pause, 0.05)
            }
            return descriptor
        } catch {
            if Task.isCancelled { throw .cancelled }
            guard error.number == EWOULDBLOCK else { throw writeFailure("cannot lock", error) }
            throw FetchError(
                .timeout, .tls, "another process keeps the trust store \(path) locked",
                errnoName: error.name, hint: "end that process, or try again later")
        }
    }

    private func makeDirectories() throws(SystemError) {
        // Why the first could not be made says more than that the last one is missing.
        var failure: SystemError?
        for (index, character) in zip(directory.indices, directory)
        where character == "/" && index != directory.startIndex {
            if mkdir(String(directory[..<index]), 0o700) != 0 && errno != EEXIST {
                failure = failure ?? SystemError(number: errno)
            }
        }
        if mkdir(directory, 0o700) != 0 {
            let error = SystemError(number: errno)
            if error.number != EEXIST { throw error.number == ENOENT ? failure ?? error : error }
        }
    }

    private func save(_ hosts: KnownHosts) throws(FetchError) {
        let final = realPath
        let temporary = "\(final).\(getpid()).part"
        do throws(SystemError) {
            // Whatever has this name is not ours, or is left from a process that was killed.
            unlink(temporary)
            let file = try systemCall {
                open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            }
            defer { close(file) }
            // A store that others may read, because it is kept with a project, stays so.
            var old = stat()
            if stat(final, &old) == 0 { fchmod(file, old.st_mode & 0o777) }
            do throws(SystemError) {
                try writeAll(hosts.bytes[...], to: file)
                _ = try systemCall { fsync(file) }
                _ = try systemCall { rename(temporary, final) }
            } catch {
                unlink(temporary)
                throw error
            }
        } catch {
            throw writeFailure("cannot write", error)
        }
    }

    private func writeFailure(_ what: String, _ error: SystemError) -> FetchError {
        FetchError(
            .write, .tls, "\(what) the trust store \(path): \(error.sentence)",
            errnoName: error.name, hint: "name another with SMALLWEB_KNOWN_HOSTS")
    }
}

/// Which file stood under a name: each change of ours puts another one there, and a person's editor
/// leaves another time or size.
private struct FileStamp: Sendable, Equatable {
    private let device: UInt
    private let number: UInt
    private let size: Int
    private let seconds: Int
    private let nanoseconds: Int

    /// `nil` when there is no file.
    init?(_ path: String) {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return nil }
        device = UInt(facts.st_dev)
        number = UInt(facts.st_ino)
        size = Int(facts.st_size)
        (seconds, nanoseconds) = (facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec)
    }
}
