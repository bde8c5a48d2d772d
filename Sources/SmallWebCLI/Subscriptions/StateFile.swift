// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb

/// The file of a ``SubscriptionState``: a ``StoreFile`` that is locked during this object's life,
/// so that runs with the same state wait for each other. Changes are written to a copy that
/// replaces it by rename, mode 0600.
final class StateFile {
    private let store: StoreFile
    /// The current file, with the lock; `nil` for a device, or if ``isShared``.
    private var file: LineFile?
    /// True for a state of several lists: it is locked only while it changes.
    let isShared: Bool

    /// Default timeout for another process's lock, without `--max-time`.
    private static let lockSecondsMax = 600.0

    var path: String { store.path }

    /// Waits for the lock.
    ///
    /// - Parameter seconds: Timeout; 0 for the default.
    /// - Throws: `timeout` if another process keeps it, `write`, `interrupted`.
    init(
        _ path: String, _ loop: EventLoop, seconds: Double, isShared: Bool = false
    ) async throws(FetchError) {
        store = StoreFile(resolvingLinks(path), title: "state")
        self.isShared = isShared
        try store.attempt(.write, "cannot make the directory of") { () throws(SystemError) in
            try makeDirectories(directory(of: store.path), mode: 0o700)
        }
        if try store.kind(for: .write) == .device || isShared { return }
        let deadline = Instant.after(seconds: seconds > 0 ? seconds : Self.lockSecondsMax)
        while true {
            file = try LineFile.openUnlessInUse(
                store.path, title: "state", O_NONBLOCK | O_NOFOLLOW)
            if file != nil { return }
            guard .now < deadline else {
                throw FetchError(
                    .timeout, .output, "\(LineFile.holder(of: path)) is using the state \(path)",
                    hint: Advice.busyState)
            }
            await loop.sleep(until: .after(seconds: 0.02))
            if Task.isCancelled { throw .cancelled }
        }
    }

    /// True for a device, which stores nothing.
    var isDevice: Bool { file == nil && !isShared }

    /// The content of the file; empty for a new one.
    ///
    /// - Throws: `read`.
    func read() throws(FetchError) -> [UInt8] { isDevice ? [] : try store.read() }

    /// Changes a file that ``isShared``, from what other processes have written.
    ///
    /// - Throws: `write`, `read`; the file is then unchanged.
    func change(_ body: (inout [UInt8]) throws(FetchError) -> Void) throws(FetchError) {
        try store.change(body)
    }

    /// Replaces the file atomically.
    ///
    /// - Throws: `write`; the file is then unchanged.
    func replace(by bytes: [UInt8]) throws(FetchError) { try file?.replace(by: bytes) }
}
