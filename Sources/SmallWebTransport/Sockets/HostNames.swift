// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWebCore

/// A cache of host names' addresses, shared by fetches on any number of event loops.
///
/// `getaddrinfo` blocks, and does not report how long an answer is valid. So it is called on a few
/// threads, which exist while there are look-ups to do. Fetches of the same name share one look-up;
/// each waits until its own deadline or cancellation.
package final class HostNames: Sendable {
    struct Answer: Sendable {
        let result: Result<[SocketAddress], FetchError>
        /// True if it is certain that there is no address; a failing name server tells nothing.
        var isAbsence = false
    }

    /// Asks the system; blocks. The ports of the addresses do not count.
    typealias LookUp = @Sendable (_ host: String, _ family: Resolver.Family) -> Answer

    fileprivate struct Name: Hashable {
        let host: String
        let family: Resolver.Family
    }

    /// One look-up, and its waiting callers.
    fileprivate struct Asking {
        let answer = Locked<Answer?>(nil)
        var waiting: [(waiter: Waiter, loop: EventLoop)] = []
        var isQueued = true
    }

    fileprivate struct State {
        var asking: [Name: Asking] = [:]
        var queue: [Name] = []
        var threads = 0
        var known: [Name: (answer: Answer, until: Instant)] = [:]
        /// Names by the time of their look-up, to evict the oldest.
        var order: [Name] = []
    }

    fileprivate enum Step {
        case known(Answer)
        /// Wait until the lock holds an answer.
        case wait(Locked<Answer?>, needsThread: Bool)
    }

    private let state = Locked(State())
    /// Lifetime of addresses in the cache; 0 for as long as this object.
    let keepSeconds: Double
    private let lookUp: LookUp

    static let threadsMax = 16
    static let absenceSeconds = 60.0
    /// At twice as many names the older half is evicted: 10 MB or so.
    static let keptNames = 16_384

    /// - Parameter keepSeconds: Lifetime of addresses in the cache; 0 for as long as this object.
    package convenience init(keepSeconds: Double = 60) {
        self.init(keepSeconds: keepSeconds) { Self.lookUpInSystem($0, $1) }
    }

    init(keepSeconds: Double, lookUp: @escaping LookUp) {
        self.keepSeconds = keepSeconds
        self.lookUp = lookUp
    }

    /// The addresses of `host` in the system's order.
    ///
    /// - Throws: `resolve`, `timeout`, `interrupted`.
    func addresses(
        of host: String, _ family: Resolver.Family, on loop: EventLoop, by deadline: Instant
    ) async throws(FetchError) -> [SocketAddress] {
        let name = Name(host: host.lowercased(), family: family)
        let waiter = Waiter(deadline: deadline)
        let found: Locked<Answer?>
        switch state.withLock({ $0.ask(name, waiter, loop) }) {
        case .known(let answer): return try answer.result.get()
        case .wait(let answer, let needsThread):
            found = answer
            if needsThread { startThread() }
        }
        let result = await loop.wait(waiter)
        if result == .ready, let answer = found.withLock({ $0 }) {
            return try answer.result.get()
        }
        state.withLock { $0.leave(name, waiter) }
        if result == .cancelled { throw .cancelled }
        throw FetchError(
            .timeout, .resolve, "resolving \(host) took too long", remedy: .raise(.connectTime))
    }

    var threadCount: Int { state.withLock { $0.threads } }

    private func startThread() {
        do throws(FetchError) {
            try Thread.detach { self.work() }
        } catch {
            // Queued names are left to the other threads, if there are any.
            let left = state.withLock { $0.endThread() }
            for name in left { finish(name, Answer(result: .failure(error))) }
        }
    }

    private func work() {
        while let name = state.withLock({ $0.next() }) {
            finish(name, lookUp(name.host, name.family))
        }
    }

    private func finish(_ name: Name, _ answer: Answer) {
        let waiting = state.withLock { $0.note(answer, of: name, keepSeconds: keepSeconds) }
        for (waiter, loop) in waiting { loop.perform { loop.finish(waiter, .ready) } }
    }
}

extension HostNames.State {
    fileprivate mutating func ask(
        _ name: HostNames.Name, _ waiter: Waiter, _ loop: EventLoop
    ) -> HostNames.Step {
        if let (answer, until) = known[name], until == .never || Instant.now < until {
            return .known(answer)
        }
        let isNew = asking[name] == nil
        if isNew { queue.append(name) }
        let needsThread = isNew && threads < HostNames.threadsMax
        if needsThread { threads += 1 }
        asking[name, default: .init()].waiting.append((waiter, loop))
        return .wait(asking[name, default: .init()].answer, needsThread: needsThread)
    }

    /// Cancels a look-up that has not begun and has no callers any more.
    fileprivate mutating func leave(_ name: HostNames.Name, _ waiter: Waiter) {
        asking[name]?.waiting.removeAll { $0.waiter === waiter }
        if let left = asking[name], left.isQueued, left.waiting.isEmpty {
            asking[name] = nil
            queue.removeAll { $0 == name }
        }
    }

    /// The next name to look up; `nil` if the thread is to end.
    fileprivate mutating func next() -> HostNames.Name? {
        guard !queue.isEmpty else {
            threads -= 1
            return nil
        }
        let name = queue.removeFirst()
        asking[name]?.isQueued = false
        return name
    }

    /// - Returns: The names that no thread is left for.
    fileprivate mutating func endThread() -> [HostNames.Name] {
        threads -= 1
        guard threads == 0 else { return [] }
        defer { queue = [] }
        return queue
    }

    /// - Returns: The callers that have waited for it.
    fileprivate mutating func note(
        _ answer: HostNames.Answer, of name: HostNames.Name, keepSeconds: Double
    ) -> [(waiter: Waiter, loop: EventLoop)] {
        let question = asking.removeValue(forKey: name)
        question?.answer.withLock { $0 = answer }
        let waiting = question?.waiting ?? []
        switch answer.result {
        case .success: known[name] = (answer, .after(seconds: keepSeconds))
        case .failure where answer.isAbsence:
            known[name] = (answer, .after(seconds: HostNames.absenceSeconds))
        case .failure: return waiting
        }
        order.append(name)
        if order.count > 2 * HostNames.keptNames {
            for old in order.prefix(HostNames.keptNames) { known[old] = nil }
            order.removeFirst(HostNames.keptNames)
        }
        return waiting
    }
}

extension HostNames {
    /// Answers of name servers: no such name, or no address of that family. Glibc keeps the last
    /// two constants private.
    private static let absences = [EAI_NONAME, -5, -9]

    static func lookUpInSystem(_ host: String, _ family: Resolver.Family) -> Answer {
        var hints = addrinfo()
        hints.ai_family = family.number
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, nil, &hints, &list)
        let number = errno
        defer { if let list { freeaddrinfo(list) } }
        guard status == 0 else {
            let reason =
                status == EAI_SYSTEM
                ? SystemError(number: number).sentence : String(cString: gai_strerror(status))
            let error = FetchError(
                .resolve, .resolve, "cannot resolve \(host): \(reason)",
                hint: "check the spelling of the host and the network connection")
            return .init(result: .failure(error), isAbsence: absences.contains(status))
        }
        var addresses: [SocketAddress] = []
        var next = list
        while let info = next {
            if let address = SocketAddress(info.pointee) { addresses.append(address) }
            next = info.pointee.ai_next
        }
        guard addresses.isEmpty else { return .init(result: .success(addresses)) }
        let error = FetchError(.resolve, .resolve, "\(host) has no address")
        return .init(result: .failure(error), isAbsence: true)
    }
}
