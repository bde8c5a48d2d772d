// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb

/// The file of a ``SubscriptionState``: a ``StoreFile`` that is locked during this object's life,
/// so that runs with the same state wait for each other. Changes are written to a copy that
/// replaces it by rename, mode 0600.
final class StateFile {
    private let store: StoreFile
    /// Descriptor of the current file, with the lock; `nil` for a device.
    private var file: Descriptor?

    /// Default timeout for another process's lock, without `--max-time`.
    private static let lockSecondsMax = 600.0

    var path: String { store.path }

    /// Waits for the lock.
    ///
    /// - Parameter seconds: Timeout; 0 for the default.
    /// - Throws: `timeout` if another process keeps it, `write`, `interrupted`.
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

    /// True for a device, which stores nothing.
    var isDevice: Bool { file == nil }

    /// The content of the file; empty for a new one.
    ///
    /// - Throws: `read`.
    func read() throws(FetchError) -> [UInt8] { isDevice ? [] : try store.read() }

    /// Replaces the file atomically.
    ///
    /// - Throws: `write`; the file is then unchanged.
    func replace(by bytes: [UInt8]) throws(FetchError) {
        guard file != nil else { return }
        let part = path + ".part"
        // Left by a killed process; the lock makes the name ours.
        unlink(part)
        file = try store.attempt(.write, "cannot write") { () throws(SystemError) in
            do throws(SystemError) {
                let new = try Descriptor(
                    opening: part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
                // Lock it before other processes can open it by name.
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
