// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWebCore

/// The descriptors of an ``EventLoop``, and the wait for them: epoll(7), or poll(2) for a system
/// without it. Events are the bits of poll(2), which epoll has as well.
///
/// In a debug build SMALLWEB_POLL in the environment chooses poll(2), for the tests.
enum Poller: ~Copyable {
    case epoll(Epoll)
    case poll(PollSet)

    /// - Throws: The error of the system when it has no descriptor left.
    init() throws(SystemError) {
        #if DEBUG
        if getenv("SMALLWEB_POLL") != nil {
            self = .poll(try PollSet())
            return
        }
        #endif
        self = .epoll(try Epoll())
    }

    /// Ends the wait. From any thread.
    func wake() {
        switch self {
        case .epoll(let epoll): epoll.wake()
        case .poll(let set): set.wake()
        }
    }

    /// Reports each change of `descriptor`, readable or writable, until it is closed.
    func add(_ descriptor: Int32, _ generation: UInt32) throws(SystemError) {
        switch self {
        case .epoll(let epoll): try epoll.add(descriptor, generation)
        // It is asked for while there is a waiter.
        case .poll: break
        }
    }

    /// Reports `events` of `descriptor` for as long as it has them, and errors in any case.
    ///
    /// - Parameter isKnown: True to replace the events of an earlier call.
    /// - Throws: EPERM for a file that cannot be waited for.
    func watch(
        _ descriptor: Int32, _ events: Int32, _ generation: UInt32, isKnown: Bool
    ) throws(SystemError) {
        switch self {
        case .epoll(let epoll): try epoll.watch(descriptor, events, generation, isKnown: isKnown)
        case .poll: try PollSet.check(descriptor)
        }
    }

    /// Ends ``watch(_:_:_:isKnown:)``; `descriptor` may be closed already.
    func remove(_ descriptor: Int32) {
        switch self {
        case .epoll(let epoll): epoll.remove(descriptor)
        case .poll: break
        }
    }

    /// Waits, and reports all that is ready.
    ///
    /// - Parameters:
    ///   - milliseconds: 0 to look only, -1 for ever.
    ///   - count: One more than the highest descriptor.
    ///   - wanted: The events that a descriptor is waited for with, and its generation; `nil` for
    ///     none. poll(2) alone asks.
    ///   - waited: Called after the wait and before ``ready``.
    ///   - ready: Called for each descriptor with events, the generation that it was added with.
    func wait(
        _ milliseconds: Int32, count: Int, wanted: (Int) -> (events: Int32, generation: UInt32)?,
        waited: () -> Void, ready: (Int, UInt32, _ events: Int32) -> Void
    ) {
        switch self {
        case .epoll(let epoll):
            epoll.wait(milliseconds, count: count, waited: waited, ready: ready)
        case .poll(let set):
            set.wait(milliseconds, count: count, wanted: wanted, waited: waited, ready: ready)
        }
    }
}

/// Waiting by epoll(7).
struct Epoll: ~Copyable {
    private let descriptor: Descriptor
    private let wakeUp: Descriptor

    /// Epoll data of our own wake-up descriptor; no slot has this generation.
    private static let wakeUpData: UInt64 = .max

    init() throws(SystemError) {
        let epoll = Descriptor(owning: try systemCall { epoll_create1(Int32(EPOLL_CLOEXEC)) })
        let end = Descriptor(owning: try systemCall { swposix_event() })
        // Edge-triggered: each write wakes, and nothing needs to be read.
        var event = epoll_event()
        event.events = EPOLLIN.rawValue | EPOLLET.rawValue
        event.data.u64 = Self.wakeUpData
        // Without this, no other thread could ever end a wait.
        _ = try systemCall { epoll_ctl(epoll.borrowed, EPOLL_CTL_ADD, end.borrowed, &event) }
        descriptor = epoll
        wakeUp = end
    }

    func wake() {
        var one: UInt64 = 1
        // Otherwise it could only fail with the counter full, after 2^64 - 2 writes.
        _ = try? systemCall { write(wakeUp.borrowed, &one, 8) }
    }

    func add(_ number: Int32, _ generation: UInt32) throws(SystemError) {
        try set(
            number, EPOLL_CTL_ADD, generation,
            EPOLLIN.rawValue | EPOLLOUT.rawValue | EPOLLRDHUP.rawValue | EPOLLET.rawValue)
    }

    func watch(
        _ number: Int32, _ events: Int32, _ generation: UInt32, isKnown: Bool
    ) throws(SystemError) {
        let wanted = UInt32(bitPattern: events)
        do throws(SystemError) {
            try set(number, isKnown ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, generation, wanted)
        } catch  where error.number == ENOENT || error.number == EEXIST {
            // The number was closed and opened again without notice.
            try set(number, isKnown ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, generation, wanted)
        }
    }

    private func set(
        _ number: Int32, _ change: Int32, _ generation: UInt32, _ events: UInt32
    ) throws(SystemError) {
        var event = epoll_event()
        event.events = events
        event.data.u64 = UInt64(generation) << 32 | UInt64(UInt32(bitPattern: number))
        _ = try systemCall { epoll_ctl(descriptor.borrowed, change, number, &event) }
    }

    func remove(_ number: Int32) {
        // It may be closed already; the new generation drops its pending events.
        _ = epoll_ctl(descriptor.borrowed, EPOLL_CTL_DEL, number, nil)
    }

    func wait(
        _ milliseconds: Int32, count: Int, waited: () -> Void,
        ready: (Int, UInt32, _ events: Int32) -> Void
    ) {
        let capacity = max(64, count)
        withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: capacity) { events in
            // Newer headers of the GNU C library require a buffer, older ones accept nil as well.
            guard let place = events.baseAddress else { return }
            var count = epoll_wait(descriptor.borrowed, place, Int32(capacity), milliseconds)
            waited()
            // EINTR, from a signal or the end of a stop.
            if count < 0 { count = epoll_wait(descriptor.borrowed, place, Int32(capacity), 0) }
            for event in events.prefix(Int(max(count, 0))) {
                let data = event.data.u64
                if data == Self.wakeUpData { continue }
                let isEnding = event.events & EPOLLRDHUP.rawValue != 0
                ready(
                    Int(data & 0xFFFF_FFFF), UInt32(data >> 32),
                    Int32(bitPattern: isEnding ? event.events | EPOLLIN.rawValue : event.events))
            }
        }
    }
}
