// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb

/// The file of a ``SubscriptionState``. It is locked for as long as this lives, so that processes
/// with one state wait for each other; it is changed in a copy that is renamed into its place, mode
/// 0600. A device such as `/dev/null` reads as empty and keeps nothing.
final class StateFile {
    let path: String
    /// Of the file that has the name now, which has our lock; `nil` for a device.
    private var file: Descriptor?

    private static let bytesMax = 256 << 20
    /// How long another process is waited for unless `--max-time` says so.
    private static let lockSecondsMax = 600.0

    /// Waits for the lock.
    ///
    /// - Parameter seconds: How long; 0 for the usual.
    /// - Throws: `timeout` when another process keeps it, `write`, `interrupted`.
    init(_ path: String, _ loop: EventLoop, seconds: Double) async throws(FetchError) {
        self.path = resolvingLinks(path)
        try makePlace()
        guard try kind() else { return }
        let deadline = Instant.after(seconds: seconds > 0 ? seconds : Self.lockSecondsMax)
        while true {
            file = try tryLock()
            if file != nil { return }
            guard .now < deadline else {
                throw FetchError(
                    .timeout, .output, "another process is using the state \(path)",
                    hint: "wait for its end, or name another file with --state")
            }
            await loop.sleep(until: .after(seconds: 0.02))
            if Task.isCancelled { throw .cancelled }
        }
    }

    private func makePlace() throws(FetchError) {
        try attempt(.write, "cannot make the directory of") { () throws(SystemError) in
            try makeDirectories(directory(of: path), mode: 0o700)
        }
    }

    /// - Returns: Whether it is a file, or will be; `false` for a device.
    /// - Throws: `write` for anything else.
    private func kind() throws(FetchError) -> Bool {
        switch fileKind(path).map({ $0 & S_IFMT }) {
        case nil, S_IFREG: return true
        case S_IFCHR, S_IFBLK: return false
        default:
            throw FetchError(
                .write, .output, "cannot use \(path) as a state: it is not a file",
                hint: "name another one with --state")
        }
    }

    /// - Returns: `nil` while another process has the lock, or has just replaced the file.
    private func tryLock() throws(FetchError) -> Descriptor? {
        let file = try attempt(.write, "cannot open") { () throws(SystemError) in
            try Descriptor(
                opening: path, O_RDWR | O_CREAT | O_NONBLOCK | O_NOFOLLOW, mode: 0o600)
        }
        do throws(SystemError) {
            _ = try systemCall { flock(file.borrowed, LOCK_EX | LOCK_NB) }
        } catch {
            if error.number == EWOULDBLOCK { return nil }
            throw failure(.write, "cannot lock", error)
        }
        var (locked, named) = (stat(), stat())
        guard fstat(file.borrowed, &locked) == 0, stat(path, &named) == 0,
            FileIdentity(locked) == FileIdentity(named)
        else { return nil }
        return file
    }

    /// Whether it keeps nothing.
    var isDevice: Bool { file == nil }

    /// All of it; empty for a new one.
    ///
    /// - Throws: `read`.
    func read() throws(FetchError) -> [UInt8] {
        guard let number = file?.borrowed else { return [] }
        return try attempt(.read, "cannot read") { () throws(SystemError) in
            _ = try systemCall { lseek(number, 0, SEEK_SET) }
            let bytes = try readAll(number, limit: Self.bytesMax)
            guard bytes.count <= Self.bytesMax else { throw SystemError(number: EFBIG) }
            return bytes
        }
    }

    /// Puts a file with these bytes in the old one's place.
    ///
    /// - Throws: `write`; the file is then as it was.
    func replace(by bytes: [UInt8]) throws(FetchError) {
        guard file != nil else { return }
        let part = path + ".part"
        // What a process that was killed has left; the lock makes the name ours.
        unlink(part)
        file = try attempt(.write, "cannot write") { () throws(SystemError) in
            do throws(SystemError) {
                let new = try Descriptor(
                    opening: part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
                // Before it gets the name by which others find it.
                _ = try systemCall { flock(new.borrowed, LOCK_EX | LOCK_NB) }
                try writeAll(bytes[...], to: new.borrowed)
                _ = try systemCall { fsync(new.borrowed) }
                _ = try systemCall { rename(part, path) }
                return new
            } catch {
                unlink(part)
                throw error
            }
        }
    }

    private func attempt<Value: ~Copyable>(
        _ outcome: Outcome, _ what: String, _ body: () throws(SystemError) -> Value
    ) throws(FetchError) -> Value {
        do throws(SystemError) {
            return try body()
        } catch {
            throw failure(outcome, what, error)
        }
    }

    private func failure(_ outcome: Outcome, _ what: String, _ error: SystemError) -> FetchError {
        FetchError(outcome, .output, "\(what) the state \(path)", error)
    }
}
