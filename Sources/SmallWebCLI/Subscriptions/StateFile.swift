// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb

/// The file of a ``SubscriptionState``: a ``StoreFile`` that itself is locked, for as long as this
/// lives, so that runs with one state wait for each other, and stores beside it for none. It is
/// changed in a copy that is renamed into its place, mode 0600.
final class StateFile {
    private let store: StoreFile
    /// Of the file that has the name now, which has our lock; `nil` for a device.
    private var file: Descriptor?

    /// How long another process is waited for unless `--max-time` says so.
    private static let lockSecondsMax = 600.0

    var path: String { store.path }

    /// Waits for the lock.
    ///
    /// - Parameter seconds: How long; 0 for the usual.
    /// - Throws: `timeout` when another process keeps it, `write`, `interrupted`.
    init(_ path: String, _ loop: EventLoop, seconds: Double) async throws(FetchError) {
        store = StoreFile(resolvingLinks(path), title: "state")
        try store.attempt(.write, "cannot make the directory of") { () throws(SystemError) in
            try makeDirectories(directory(of: store.path), mode: 0o700)
        }
        if try store.kind(for: .write) == .device { return }
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

    /// - Returns: `nil` while another process has the lock, or has just replaced the file.
    private func tryLock() throws(FetchError) -> Descriptor? {
        try store.attempt(.write, "cannot lock") { () throws(SystemError) in
            let file = try Descriptor(
                opening: path, O_RDWR | O_CREAT | O_NONBLOCK | O_NOFOLLOW, mode: 0o600)
            do throws(SystemError) {
                _ = try systemCall { flock(file.borrowed, LOCK_EX | LOCK_NB) }
            } catch {
                guard error.number == EWOULDBLOCK else { throw error }
                return nil
            }
            var (locked, named) = (stat(), stat())
            guard fstat(file.borrowed, &locked) == 0, stat(path, &named) == 0,
                FileIdentity(locked) == FileIdentity(named)
            else { return nil }
            return file
        }
    }

    /// Whether it keeps nothing.
    var isDevice: Bool { file == nil }

    /// All of it; empty for a new one.
    ///
    /// - Throws: `read`.
    func read() throws(FetchError) -> [UInt8] { isDevice ? [] : try store.read() }

    /// Puts a file with these bytes in the old one's place.
    ///
    /// - Throws: `write`; the file is then as it was.
    func replace(by bytes: [UInt8]) throws(FetchError) {
        guard file != nil else { return }
        let part = path + ".part"
        // What a process that was killed has left; the lock makes the name ours.
        unlink(part)
        file = try store.attempt(.write, "cannot write") { () throws(SystemError) in
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
}
