// SPDX-License-Identifier: MIT
@testable import SmallWeb
import SmallWebTestSupport
import Testing

struct StartQueueTests {
    private static let second: UInt64 = 1_000_000_000
    private let now = Instant(nanoseconds: 100 * Self.second)

    private func queue(_ limits: StartQueue<Int>.Limits = .init()) -> StartQueue<Int> {
        StartQueue(limits)
    }

    /// Takes entries until the queue waits or refuses one.
    private func starts(_ queue: StartQueue<Int>, _ now: Instant) -> [StartQueue<Int>.Entry] {
        var entries: [StartQueue<Int>.Entry] = []
        while case .start(let entry) = queue.next(now) { entries.append(entry) }
        return entries
    }

    @Test func aBusyHostLetsTheOthersPass() {
        let queue = queue(.init(perHost: 2))
        for item in 0..<4 { queue.add(item, host: "a", now: now) }
        queue.add(4, host: "b", now: now)
        let entries = starts(queue, now)
        #expect(entries.map(\.item) == [0, 1, 4])
        #expect(queue.count == 2)
        queue.end(entries[1], now: now)
        #expect(starts(queue, now).map(\.item) == [2])
    }

    @Test func whatIsPutBackGoesFirstOnceItIsDue() {
        let queue = queue(.init(perHost: 2))
        for item in 0..<6 { queue.add(item, host: "a", now: now) }
        let entries = starts(queue, now)
        for entry in entries {
            queue.end(entry, now: now)
            queue.putBack(entry, notBefore: now.advanced(seconds: 3), now: now)
        }
        for entry in starts(queue, now) { queue.end(entry, now: now) }
        // The one that was put back last is the first of all.
        #expect(starts(queue, now.advanced(seconds: 3)).map(\.item) == [1, 0])
    }

    @Test func aHostThatAsksForTooMuchRefusesUntilThen() {
        let queue = queue(.init(hostSeconds: 1, pauseSecondsMax: 60))
        for item in 0..<5 { queue.add(item, host: "a", now: now) }
        let entry = starts(queue, now)[0]
        queue.end(entry, now: now)
        queue.pause(entry, seconds: 120, now: now)
        #expect(queue.opening(for: entry, now: now) == nil)
        guard case .refuse(1, let seconds) = queue.next(now) else {
            Issue.record("not refused")
            return
        }
        #expect(seconds == 120)
        // Its ordinary pauses refuse nothing afterwards.
        let later = now.advanced(seconds: 120)
        #expect(starts(queue, later).map(\.item) == [2])
        #expect(queue.removeAll() == [3, 4])
        #expect(queue.isEmpty)
    }

    @Test func hostsAreForgottenOnceTheyAreIdle() {
        let queue = queue()
        for item in 0..<6000 {
            queue.add(item, host: "\(item)", now: now)
            for entry in starts(queue, now) { queue.end(entry, now: now) }
        }
        #expect(queue.hostCount <= 4096)
    }

    /// Items start in the same order as by a scan of all waiting items, in any run of events.
    @Test(arguments: 0..<150 as Range<UInt64>)
    func theOrderIsThatOfALookThroughAll(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let limits = StartQueue<Int>.Limits(
            perHost: .random(in: 1...3, using: &generator),
            hostSeconds: [0, 0, 0.5, 2].randomElement(using: &generator) ?? 0,
            startSeconds: [0, 0, 0.25].randomElement(using: &generator) ?? 0,
            pauseSecondsMax: 5)
        let hosts = (0..<Int.random(in: 1...6, using: &generator)).map { "host \($0)" }
        let jobs = Int.random(in: 1...8, using: &generator)
        let queue = queue(limits)
        let scan = Scan(limits)
        var now = now
        var running: [StartQueue<Int>.Entry] = []
        var added = 0
        for _ in 0..<300 {
            switch Int.random(in: 0..<8, using: &generator) {
            case 0...3:
                let isHostless = Int.random(in: 0..<20, using: &generator) == 0
                let host = isHostless ? nil : hosts.randomElement(using: &generator)
                queue.add(added, host: host, now: now)
                scan.add(added, host: host)
                added += 1
            case 4...5:
                guard let index = running.indices.randomElement(using: &generator) else { break }
                let entry = running.remove(at: index)
                queue.end(entry, now: now)
                scan.end(entry.item)
                if Int.random(in: 0..<8, using: &generator) == 0 {
                    let seconds = Double.random(in: 0...6, using: &generator)
                    queue.pause(entry, seconds: seconds, now: now)
                    scan.pause(entry.item, seconds: seconds, now: now)
                }
                #expect(queue.opening(for: entry, now: now) == scan.opening(entry.item, now))
                if Int.random(in: 0..<3, using: &generator) == 0 {
                    let delay = [0, 1, Double.random(in: 0...4, using: &generator)]
                        .randomElement(using: &generator)
                    let notBefore = now.advanced(seconds: delay ?? 0)
                    queue.putBack(entry, notBefore: notBefore, now: now)
                    scan.putBack(entry.item, notBefore: notBefore)
                }
            default:
                now = now.advanced(seconds: .random(in: 0...1, using: &generator))
            }
            while running.count < jobs, compare(queue, scan, &running, now) {}
            #expect(queue.count == scan.waiting.count)
        }
        if Bool.random(using: &generator) {
            #expect(queue.removeAll() == scan.waiting.map(\.item))
        } else {
            drain(queue, scan, &running, now)
        }
    }

    /// - Returns: True if an entry was taken.
    private func compare(
        _ queue: StartQueue<Int>, _ scan: Scan, _ running: inout [StartQueue<Int>.Entry],
        _ now: Instant
    ) -> Bool {
        switch (queue.next(now), scan.next(now)) {
        case (.start(let entry), .start(let item)):
            #expect(entry.item == item)
            running.append(entry)
            return true
        case (.refuse(let item, let seconds), .refuse(let other, let otherSeconds)):
            #expect(item == other)
            #expect(seconds == otherSeconds)
            return true
        case (.wait(let until), .wait(let soonest)):
            // To wake too soon costs a look; to wake too late would be wrong.
            #expect(until > now)
            #expect(until <= soonest)
        case (let turn, let other):
            Issue.record("\(turn), but by the scan \(other)")
        }
        return false
    }

    /// Ends the running entries and advances the time as the queue asks, until nothing is left.
    private func drain(
        _ queue: StartQueue<Int>, _ scan: Scan, _ running: inout [StartQueue<Int>.Entry],
        _ start: Instant
    ) {
        var now = start
        for _ in 0..<5000 {
            while compare(queue, scan, &running, now) {}
            if let entry = running.popLast() {
                queue.end(entry, now: now)
                scan.end(entry.item)
            } else if case .wait(let until) = queue.next(now), until != .never {
                now = until
            } else {
                break
            }
        }
        #expect(queue.isEmpty)
    }
}

/// Reference implementation of ``StartQueue``: scans all waiting entries.
private final class Scan {
    enum Turn {
        case start(Int)
        case refuse(Int, Double?)
        case wait(Instant)
    }

    struct Waiting {
        let item: Int
        let host: String?
        var notBefore = Instant(nanoseconds: 0)
    }

    struct Host {
        var running = 0
        var notBefore = Instant(nanoseconds: 0)
        var refusesUntil = Instant(nanoseconds: 0)
        var pauseSeconds: Double?
    }

    let limits: StartQueue<Int>.Limits
    var waiting: [Waiting] = []
    private var names: [Int: String] = [:]
    private var hosts: [String: Host] = [:]
    private var notBefore = Instant(nanoseconds: 0)

    init(_ limits: StartQueue<Int>.Limits) { self.limits = limits }

    private func host(_ item: Int) -> String { names[item] ?? "" }

    func add(_ item: Int, host: String?) {
        names[item] = host
        waiting.append(Waiting(item: item, host: host))
    }

    func putBack(_ item: Int, notBefore: Instant) {
        waiting.insert(Waiting(item: item, host: host(item), notBefore: notBefore), at: 0)
    }

    func end(_ item: Int) { hosts[host(item), default: Host()].running -= 1 }

    func pause(_ item: Int, seconds: Double, now: Instant) {
        var host = hosts[host(item)] ?? Host()
        host.notBefore = max(host.notBefore, now.advanced(seconds: seconds))
        if seconds > limits.pauseSecondsMax {
            (host.refusesUntil, host.pauseSeconds) = (host.notBefore, seconds)
        }
        hosts[self.host(item)] = host
    }

    func opening(_ item: Int, _ now: Instant) -> Instant? {
        let host = hosts[host(item)] ?? Host()
        return host.refusesUntil > now ? nil : host.notBefore
    }

    func next(_ now: Instant) -> Turn {
        var soonest = Instant.never
        for (index, one) in waiting.enumerated() {
            guard let name = one.host else {
                waiting.remove(at: index)
                return .refuse(one.item, nil)
            }
            var host = hosts[name] ?? Host()
            if host.refusesUntil > now {
                waiting.remove(at: index)
                return .refuse(one.item, host.pauseSeconds)
            }
            guard host.running < limits.perHost else { continue }
            let due = max(one.notBefore, host.notBefore, notBefore)
            guard due <= now else {
                soonest = min(soonest, due)
                continue
            }
            waiting.remove(at: index)
            host.running += 1
            if limits.hostSeconds > 0 {
                host.notBefore = now.advanced(seconds: limits.hostSeconds)
            }
            hosts[name] = host
            if limits.startSeconds > 0 {
                notBefore = max(notBefore, now.advanced(seconds: -0.01))
                    .advanced(seconds: limits.startSeconds)
            }
            return .start(one.item)
        }
        return .wait(soonest)
    }
}
