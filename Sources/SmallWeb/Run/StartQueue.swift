// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Decides which of many waiting items starts next. Pure: the caller passes the time.
///
/// Items start in the order in which they were added, except those whose host has reached its limit
/// or must not be asked yet. An item that is put back goes first. A start costs O(log h) for h
/// hosts with waiting items.
final class StartQueue<Item> {
    struct Limits {
        /// Items of one host under way at a time, 1 or more.
        var perHost = 1
        /// Least seconds between two starts of a host.
        var hostSeconds = 0.0
        /// Least seconds between any two starts.
        var startSeconds = 0.0
        /// Longest pause of a host, in seconds, that its items wait for.
        var pauseSecondsMax = Double.infinity
    }

    enum Turn {
        /// This item starts now: call ``end(_:now:)`` when it is over.
        case start(Entry)
        /// This item does not start: it has no host, or the host asked clients to wait for
        /// `pauseSeconds`, longer than items wait.
        case refuse(Item, pauseSeconds: Double?)
        /// Nothing starts before this moment, unless something is added or ends.
        case wait(until: Instant)
    }

    struct Entry {
        let item: Item
        fileprivate let host: Host
    }

    /// Seconds that a start may be late and still count for the pace of the next ones.
    private static var lateSecondsMax: Double { 0.01 }

    private let limits: Limits
    private var hosts: [String: Host] = [:]
    private var sweepCount = 4096
    /// Holds the items without a host; always refuses.
    private let hostless = Host()
    /// Hosts with an item that may start now, as far as the host is concerned.
    private var ready = IndexedHeap<Host>()
    /// Hosts with an item whose start the host delays.
    private var paused = IndexedHeap<Host>()
    /// Hosts with an item that is refused.
    private var refusing = IndexedHeap<Host>()
    /// Items that were put back and are not due, the soonest last.
    private var delayed: [(notBefore: Instant, host: Host, waiting: Waiting)] = []
    /// Earliest start of any item.
    private var notBefore = Instant(nanoseconds: 0)
    private var nextPlace = 0
    private var lastPlaceBack = 0
    /// Waiting items, the delayed ones included.
    private(set) var count = 0

    init(_ limits: Limits) {
        self.limits = limits
        hostless.refusesUntil = .never
    }

    var isEmpty: Bool { count == 0 }

    /// Known hosts; idle ones are dropped in time.
    var hostCount: Int { hosts.count }

    // MARK: In

    /// Appends an item. One without a host waits only for those before it.
    func add(_ item: Item, host name: String?, now: Instant) {
        let host = name.map { self.host($0, now) } ?? hostless
        count += 1
        host.waitingCount += 1
        host.append(Waiting(item: item, place: nextPlace))
        nextPlace += 1
        if host.rank == nil { rank(host, now) }
    }

    /// Puts an item that has ended before all others, to start again, but not before `notBefore`.
    func putBack(_ entry: Entry, notBefore: Instant, now: Instant) {
        lastPlaceBack -= 1
        let (host, waiting) = (entry.host, Waiting(item: entry.item, place: lastPlaceBack))
        count += 1
        host.waitingCount += 1
        if notBefore > now && !host.isRefusing(now) {
            let index = delayed.firstIndex { $0.notBefore <= notBefore } ?? delayed.endIndex
            delayed.insert((notBefore, host, waiting), at: index)
        } else {
            insert(waiting, host, now)
        }
    }

    // MARK: Out

    /// The item whose turn it is. One that starts counts as under way.
    func next(_ now: Instant) -> Turn {
        wake(now)
        let opening = now >= notBefore ? ready.first : nil
        if let host = refusing.first, opening.map(host.comes(before:)) ?? true {
            return .refuse(take(from: host, now), pauseSeconds: host.pauseSeconds)
        }
        if let host = opening {
            start(host, now)
            return .start(Entry(item: take(from: host, now), host: host))
        }
        if ready.first != nil { return .wait(until: notBefore) }
        let soonest = min(paused.first?.notBefore ?? .never, delayed.last?.notBefore ?? .never)
        return .wait(until: max(soonest, notBefore))
    }

    func end(_ entry: Entry, now: Instant) {
        entry.host.running -= 1
        if entry.host.rank == nil { rank(entry.host, now) }
    }

    /// Removes the first waiting item that `isIt` accepts.
    ///
    /// - Returns: False if there was none.
    func remove(where isIt: (Item) -> Bool, now: Instant) -> Bool {
        let owner: Host
        if let index = delayed.firstIndex(where: { isIt(Self.item($0.waiting)) }) {
            owner = delayed.remove(at: index).host
        } else {
            let found = ([hostless] + hosts.values).first { host in
                host.contains { isIt(Self.item($0)) }
            }
            guard let found else { return false }
            owner = found
            remove(owner)
            owner.removeFirst { isIt(Self.item($0)) }
            rank(owner, now)
        }
        count -= 1
        owner.waitingCount -= 1
        return true
    }

    /// Removes and returns all waiting items, in their order.
    func removeAll() -> [Item] {
        var all = delayed.map(\.waiting)
        delayed = []
        for host in [hostless] + hosts.values {
            remove(host)
            while let waiting = host.popFirst() { all.append(waiting) }
            host.waitingCount = 0
        }
        count = 0
        return all.sorted { $0.place < $1.place }.map(Self.item)
    }

    // MARK: Hosts

    /// The host of `entry` asks for `seconds` without a request.
    func pause(_ entry: Entry, seconds: Double, now: Instant) {
        let host = entry.host
        remove(host)
        host.notBefore = max(host.notBefore, now.advanced(seconds: seconds))
        if seconds > limits.pauseSecondsMax {
            host.refusesUntil = host.notBefore
            host.pauseSeconds = seconds
            // These need not wait to be refused.
            for (_, _, waiting) in delayed.filter({ $0.host === host }) { host.insert(waiting) }
            delayed.removeAll { $0.host === host }
        }
        rank(host, now)
    }

    /// Earliest time to ask the host of `entry` again; `nil` while it refuses.
    func opening(for entry: Entry, now: Instant) -> Instant? {
        entry.host.isRefusing(now) ? nil : entry.host.notBefore
    }

    private func host(_ name: String, _ now: Instant) -> Host {
        if let host = hosts[name] { return host }
        if hosts.count >= sweepCount {
            // A list may name a million of them.
            hosts = hosts.filter { !$0.value.isIdle(now) }
            sweepCount = max(4096, 2 * hosts.count)
        }
        let host = Host()
        hosts[name] = host
        return host
    }

    // MARK: Order

    /// Moves the items and hosts whose time has come.
    private func wake(_ now: Instant) {
        while let (notBefore, host, waiting) = delayed.last, notBefore <= now {
            delayed.removeLast()
            insert(waiting, host, now)
        }
        while let host = paused.first, host.notBefore <= now { rank(host, now) }
        while let host = refusing.first, !host.isRefusing(now) { rank(host, now) }
    }

    private func insert(_ waiting: Waiting, _ host: Host, _ now: Instant) {
        remove(host)
        host.insert(waiting)
        rank(host, now)
    }

    private func start(_ host: Host, _ now: Instant) {
        host.running += 1
        if limits.startSeconds > 0 {
            // A start that was a little late does not make all later ones late.
            notBefore = max(notBefore, now.advanced(seconds: -Self.lateSecondsMax))
                .advanced(seconds: limits.startSeconds)
        }
        if limits.hostSeconds > 0 {
            host.notBefore = now.advanced(seconds: limits.hostSeconds)
        }
    }

    /// Puts a host with waiting items into the heap for its first one.
    private func rank(_ host: Host, _ now: Instant) {
        remove(host)
        guard host.hasItems else { return }
        if host.isRefusing(now) {
            host.rank = .refusing
            refusing.insert(host)
        } else if host.running < limits.perHost {
            host.rank = host.notBefore > now ? .paused : .ready
            if host.notBefore > now { paused.insert(host) } else { ready.insert(host) }
        }
    }

    /// Takes a host out of its heap, which must not hold it while its order there changes.
    private func remove(_ host: Host) {
        switch host.rank {
        case .ready: ready.remove(host)
        case .paused: paused.remove(host)
        case .refusing: refusing.remove(host)
        case nil: break
        }
        host.rank = nil
    }

    private func take(from host: Host, _ now: Instant) -> Item {
        remove(host)
        guard let waiting = host.popFirst() else {
            preconditionFailure("only hosts with waiting items have a rank")
        }
        count -= 1
        host.waitingCount -= 1
        rank(host, now)
        return Self.item(waiting)
    }

    private static func item(_ waiting: Waiting) -> Item {
        guard let item = waiting.item as? Item else {
            preconditionFailure("a queue holds what was added")
        }
        return item
    }
}

// @unchecked: an item may be sent on; its host is touched by the queue alone, which is not.
extension StartQueue.Entry: @unchecked Sendable where Item: Sendable {}

/// A waiting item and its place in the order.
//
// Not within the queue, nor generic: code that is generic for another module is not specialized,
// and the metadata of a nested type is made up at each use.
private struct Waiting {
    let item: Any
    /// Lowest first. Negative for items that were put back.
    let place: Int
}

/// The limits of one host: its requests at a time, and its pauses.
private final class Host: IndexedHeapElement {
    enum Rank { case ready, paused, refusing }

    var rank: Rank?
    var heapIndex: Int?
    var running = 0
    /// Waiting items, the delayed ones included.
    var waitingCount = 0
    var notBefore = Instant(nanoseconds: 0)
    var refusesUntil = Instant(nanoseconds: 0)
    /// The pause that made it refuse.
    var pauseSeconds: Double?
    /// The first items, in reverse order.
    private var front: [Waiting] = []
    /// The other items in their order.
    private var back: [Waiting] = []
    private(set) var firstPlace = Int.max

    var hasItems: Bool { firstPlace < .max }

    func isRefusing(_ now: Instant) -> Bool { refusesUntil > now }

    func isIdle(_ now: Instant) -> Bool {
        running == 0 && waitingCount == 0 && notBefore <= now
    }

    func comes(before other: Host) -> Bool {
        rank == .paused ? notBefore < other.notBefore : firstPlace < other.firstPlace
    }

    /// Adds an item whose place is behind all others.
    func append(_ waiting: Waiting) {
        back.append(waiting)
        firstPlace = min(firstPlace, waiting.place)
    }

    /// Adds an item that was put back, with a place before all that were not.
    func insert(_ waiting: Waiting) {
        let index = front.lastIndex { $0.place > waiting.place }.map { $0 + 1 } ?? 0
        front.insert(waiting, at: index)
        firstPlace = min(firstPlace, waiting.place)
    }

    func contains(_ isIt: (Waiting) -> Bool) -> Bool {
        front.contains(where: isIt) || back.contains(where: isIt)
    }

    func removeFirst(_ isIt: (Waiting) -> Bool) {
        if let index = front.lastIndex(where: isIt) {
            front.remove(at: index)
        } else if let index = back.firstIndex(where: isIt) {
            back.remove(at: index)
        }
        firstPlace = front.last?.place ?? back.first?.place ?? .max
    }

    func popFirst() -> Waiting? {
        if front.isEmpty {
            swap(&front, &back)
            front.reverse()
        }
        let first = front.popLast()
        firstPlace = front.last?.place ?? back.first?.place ?? .max
        return first
    }
}
