// SPDX-License-Identifier: MIT
internal import Glibc
package import SmallWebCore
package import SmallWebTransport

/// Trust on first use over a known_hosts file that many processes may share (see ``StoreFile``).
public struct TrustStore: Sendable {
    /// The file, which is made when the first key is pinned.
    public let path: String
    /// How keys are judged.
    public let policy: TrustPolicy
    /// Asks a person, for ``TrustPolicy/ask``: whether to trust a key all the same. It is given
    /// the error that a no becomes, with the keys in `expected` and `actual`. `nil` for a no.
    public var asker: (@Sendable (_ error: FetchError) -> Bool)?

    /// What the file held when it was read last: most connections of a run find it unchanged.
    private let remembered = Locked<(FileStamp, KnownHosts)?>(nil)

    /// A store in the file `path`; nothing is read before it is needed.
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
        by deadline: Instant = .never
    ) async throws(FetchError) -> TrustFacts {
        var visit = TrustVisit(endpoint: endpoint, tls: tls, now: now, policy: policy, path: path)
        if let facts = try visit.judgeWithoutStore() { return facts }
        let known = try load()
        do throws(FetchError) {
            let (facts, needsUpdate) = try visit.judge(known) { _ in }
            guard needsUpdate else { return facts }
        } catch {
            // A person can answer for a key, not for a line that cannot be read.
            let isQuestion =
                (error.outcome == .untrusted || error.outcome == .trustChanged)
                && !known.lines(of: endpoint.description).contains { $0.pin == nil }
            guard policy == .ask, isQuestion, let asker, asker(error) else { throw error }
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
    package func hosts() throws(FetchError) -> KnownHosts { try load() }

    /// Changes the store under its lock.
    ///
    /// - Parameter body: Nothing is written when it throws or changes nothing.
    /// - Throws: What `body` throws; `write` or `read` when the store cannot be used; `timeout`
    ///   when another process keeps it locked.
    package func change<Value>(
        loop: EventLoop, by deadline: Instant = .never,
        _ body: (inout KnownHosts) throws(FetchError) -> Value
    ) async throws(FetchError) -> Value {
        let lock = try await lock(loop: loop, by: deadline)
        // Nothing remembered counts under the lock.
        let before = try read()
        var hosts = before
        let value = try body(&hosts)
        if hosts != before { try file.replace(by: hosts.bytes, lock) }
        return value
    }

    private func load() throws(FetchError) -> KnownHosts {
        let stamp = FileStamp(path)
        if let (then, hosts) = remembered.withLock({ $0 }), then == stamp { return hosts }
        let hosts = try read()
        // Stamped before it was read: a change meanwhile gives it another stamp.
        remembered.withLock { $0 = stamp.map { ($0, hosts) } }
        return hosts
    }

    /// The file, for messages and for changes.
    private var file: StoreFile {
        StoreFile(path, title: "trust store", remedy: .nameTrustStore, phase: .tls)
    }

    private func read() throws(FetchError) -> KnownHosts { KnownHosts(parsing: try file.read()) }

    private func lock(
        loop: EventLoop, by deadline: Instant
    ) async throws(FetchError) -> StoreFile.Lock {
        let deadline = min(deadline, .after(seconds: 30))
        var pause = 0.001
        while true {
            if let lock = try file.tryLock() { return lock }
            if Task.isCancelled { throw .cancelled }
            guard Instant.now < deadline else {
                throw FetchError(
                    .timeout, .tls, "another process keeps the trust store \(path) locked",
                    errnoName: "EWOULDBLOCK", hint: "end that process, or try again later")
            }
            // Polled, since the loop must not block; at odd times, so that all get their turn.
            await loop.sleep(until: .after(seconds: .random(in: 0...pause)))
            pause = min(2 * pause, 0.05)
        }
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
