// SPDX-License-Identifier: MIT
package import SmallWebCore
package import SmallWebTransport

/// The rules for servers' keys, and where they are kept: in a known_hosts file that many processes
/// may share, or by a ``Keeper`` of one's own.
public struct TrustStore: Sendable {
    /// The file, created when the first key is pinned; empty for a store with a ``Keeper``.
    public let path: String
    /// The rules by which keys are judged.
    public private(set) var policy: TrustStore.Policy
    /// True if no policy was chosen: a scheme that needs authorities gets them.
    private var yieldsToScheme: Bool
    /// True to never add to the file: the judged keys were recorded, perhaps by others.
    package var isReadOnly = false
    /// True for an ``asker`` of this package, which holds up the loop until it has the answer.
    package var asksOnLoop = false

    /// One reference, as a store is copied for each connection.
    private struct Parts: Sendable {
        var asker: (@Sendable (Question) async -> Answer)?
        var policies: (@Sendable (_ scheme: String, _ endpoint: Endpoint) -> Policy?)?
        var keeper: (any Keeper)?
        /// True while a question waits for its answer.
        let isAsking = Locked(false)
        /// Shared by all visits of a run and all their loops. Under its lock the file is read and
        /// added to, but neither locks nor the disk are waited for.
        let lookup = Locked(TrustLookup())
    }

    private var parts = Shared(Parts())
    private var shared: Locked<TrustLookup> { parts.value.lookup }

    /// Asks a person if a key is to be trusted all the same, for ``TrustStore/Policy/ask``. `nil`
    /// always refuses. It is called away from the client's thread, for one question
    /// at a time, and may wait or block; other fetches go on. With the total time of its fetch, or
    /// when that is cancelled, its task is cancelled, and its answer has no effect any more.
    public var asker: (@Sendable (Question) async -> Answer)? {
        get { parts.value.asker }
        set { parts.value.asker = newValue }
    }

    /// Rules for some schemes and hosts: the policy to judge that server by, or `nil` for the
    /// store's. It is called on the event loop of the fetch, before each connection, and must not
    /// block.
    public var policies: (@Sendable (_ scheme: String, _ endpoint: Endpoint) -> Policy?)? {
        get { parts.value.policies }
        set { parts.value.policies = newValue }
    }

    /// Keeps the keys in the place of a file.
    var keeper: (any Keeper)? { parts.value.keeper }

    /// A store in the file `path`; nothing is read before it is needed.
    ///
    /// - Parameters:
    ///   - path: The file, which need not be there.
    ///   - policy: `nil` for each scheme's default: authorities, or trust on first use.
    public init(path: String, policy: TrustStore.Policy? = nil) {
        self.path = path
        self.policy = policy ?? .tofu
        yieldsToScheme = policy == nil
    }

    /// A store whose keys are kept elsewhere.
    ///
    /// - Parameters:
    ///   - keeper: Looks keys up, and remembers them.
    ///   - policy: `nil` for each scheme's default: authorities, or trust on first use.
    public init(keeper: any Keeper, policy: TrustStore.Policy? = nil) {
        self.init(path: "", policy: policy)
        parts.value.keeper = keeper
    }

    /// The store with the policy for a server.
    package func applied(to scheme: Scheme, _ endpoint: Endpoint) -> TrustStore {
        let rule = parts.value.policies?(scheme.name, endpoint)
        guard rule != nil || yieldsToScheme && scheme.trust == .ca else { return self }
        var store = self
        store.policy = rule ?? .ca
        store.yieldsToScheme = yieldsToScheme && rule == nil
        return store
    }

    /// The trust settings of libcurl, for HTTP.
    ///
    /// - Parameter endpoint: Without TLS there is no key, and only policies that demand one
    ///   refuse.
    /// - Throws: `usage` for a chosen policy that libcurl cannot follow.
    func judgedByCurl(_ endpoint: Endpoint) throws(FetchError) -> CurlClient.Trust {
        switch policy {
        case .ca: return .authorities
        case .pin(let digest): return .pin(digest)
        case .skip: return .skip
        case .tofu, .both, .locked, .ask:
            guard yieldsToScheme || endpoint.security == .none && !policy.isDemanding else {
                throw FetchError(
                    .usage, .input,
                    "libcurl cannot check keys by the policy \(policy.rule.rawValue)",
                    remedy: .useOtherPolicy)
            }
            return .authorities
        }
    }

    /// Judges the key behind `endpoint`; pins it when the place is new and the policy says so.
    ///
    /// - Parameters:
    ///   - now: Unix seconds.
    ///   - end: No question is asked from then on.
    /// - Throws: `untrusted`, `trust-changed`; `write` or `read` when the store cannot be used;
    ///   `timeout` when another process keeps it locked, or there is no time left to ask.
    package func judge(
        _ endpoint: Endpoint, _ tls: Connection.TLS, now: Int, loop: EventLoop,
        by deadline: Instant = .never, askingUntil end: Instant = .never
    ) async throws(FetchError) -> Connection.Trust {
        var visit = TrustVisit(endpoint: endpoint, tls: tls, now: now, policy: policy, path: path)
        if let facts = try visit.judgeWithoutStore() { return facts }
        var (hasTurn, answer) = (false, Answer.no)
        defer { if hasTurn { parts.value.isAsking.withLock { $0 = false } } }
        for _ in 0..<Self.changesMax {
            let keys = keeper == nil ? [] : try await keys(visit, on: loop, by: deadline)
            let lines =
                keeper == nil
                ? try lines(of: endpoint.description) : keys.map { $0.line(for: visit) }
            do throws(FetchError) {
                let (facts, change) = try visit.judge(lines)
                guard let change, !isReadOnly, answer != .once else { return facts }
                guard keeper == nil else {
                    let (key, old) = change.keys(zip(keys, lines))
                    if try await remember(key, old, visit, on: loop, by: deadline) { return facts }
                    continue
                }
                let (last, needsSync) = try decide(visit, try await lock(loop: loop, by: deadline))
                if needsSync { try file.sync() }
                return last
            } catch {
                // A person can answer for a key, not for a line that cannot be read.
                let isQuestion =
                    (error.outcome == .untrusted || error.outcome == .trustChanged)
                    && !lines.contains { $0.pin == nil }
                guard policy == .ask, isQuestion, !visit.isApproved, let asker else { throw error }
                if hasTurn {
                    let question = Question(visit, lines, error)
                    answer =
                        asksOnLoop
                        ? await asker(question)
                        : try await loop.away(by: end, or: Self.noTime(endpoint)) {
                            await asker(question)
                        }
                    if Task.isCancelled { throw .cancelled }
                    guard answer != .no else { throw error }
                    visit.isApproved = true
                } else {
                    // Then it is looked up again: an answer to another fetch may have settled it.
                    try await untilNobodyIsAsked(about: endpoint, on: loop, by: end)
                    hasTurn = true
                }
            }
        }
        throw FetchError(
            .write, .tls,
            "the trust store has not taken the key of \(endpoint) in \(Self.changesMax) trials")
    }

    /// Looks up and judges at most this often: first, for a question, after its answer, and when
    /// the keys have changed meanwhile.
    private static let changesMax = 10

    private static func noTime(_ endpoint: Endpoint) -> FetchError {
        FetchError(
            .timeout, .tls, "no time is left to ask about \(endpoint)", remedy: .raise(.totalTime))
    }

    /// Polled, as ``lock(loop:by:)``: an answer takes seconds.
    private func untilNobodyIsAsked(
        about endpoint: Endpoint, on loop: EventLoop, by end: Instant
    ) async throws(FetchError) {
        while true {
            if Task.isCancelled { throw .cancelled }
            guard Instant.now < end else { throw Self.noTime(endpoint) }
            let isTaken = parts.value.isAsking.withLock { isAsking in
                defer { isAsking = true }
                return isAsking
            }
            if !isTaken { return }
            await loop.sleep(until: min(end, .after(seconds: .random(in: 0.001...0.05))))
        }
    }

    /// Judges again under the lock, as another process may have been here, and changes the store.
    //
    // Not inlined, like ``lines(of:)``: their variables would be kept while ``judge`` waits.
    @inline(never)
    private func decide(
        _ visit: TrustVisit, _ lock: consuming StoreFile.Lock
    ) throws(FetchError) -> (Connection.Trust, needsSync: Bool) {
        let decision = try shared.withLock { lookup throws(FetchError) in
            try lookup.decide(visit, file, lock)
        }
        if let hosts = decision.replacement { try file.replace(by: hosts.bytes, lock) }
        return (decision.facts, decision.needsSync)
    }

    @inline(never)
    private func lines(of place: String) throws(FetchError) -> [KnownHosts.Line] {
        try shared.withLock { lookup throws(FetchError) in try lookup.lines(of: place, in: file) }
    }

    /// The pins of `host:port`: alternatives; any one is as good.
    ///
    /// - Throws: `read`.
    package func pins(of place: String) throws(FetchError) -> [KnownHosts.Pin] {
        try lines(of: place).compactMap(\.pin)
    }

    /// True if there is a line about `host:port`, even an unreadable one.
    ///
    /// - Throws: `read`.
    package func knows(_ place: String) throws(FetchError) -> Bool {
        try !lines(of: place).isEmpty
    }

    /// All pins, in the order of the file. Only a part of it is in memory at a time.
    ///
    /// - Throws: `read`; errors of `body`.
    package func forEachPin(
        _ body: (KnownHosts.Pin) throws(FetchError) -> Void
    ) throws(FetchError) {
        try file.forEachPart { part, _ throws(FetchError) in
            for pin in KnownHosts(parsing: part).pins { try body(pin) }
        }
    }

    /// The store as it is now; empty when there is no file.
    ///
    /// - Throws: `read`.
    package func hosts() throws(FetchError) -> KnownHosts {
        KnownHosts(parsing: Array(StoreFile.whole(try file.read())))
    }

    /// Changes the store under its lock.
    ///
    /// - Parameter body: Nothing is written when it throws or changes nothing.
    /// - Throws: Errors of `body`; `write` or `read` when the store cannot be used; `timeout` when
    ///   another process keeps it locked.
    package func change<Value>(
        loop: EventLoop, by deadline: Instant = .never,
        _ body: (inout KnownHosts) throws(FetchError) -> Value
    ) async throws(FetchError) -> Value {
        let lock = try await lock(loop: loop, by: deadline)
        // Only the file itself counts under the lock.
        let before = try hosts()
        var hosts = before
        let value = try body(&hosts)
        if hosts != before { try file.replace(by: hosts.bytes, lock) }
        return value
    }

    private var file: StoreFile {
        StoreFile(path, title: "trust store", remedy: .nameTrustStore, phase: .tls)
    }

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
