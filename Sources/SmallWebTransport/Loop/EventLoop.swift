// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
package import SmallWebCore
internal import Synchronization

/// A single-threaded event loop, and the task executor of the fetches pinned to it.
///
/// The caller of ``run()`` lends it a thread: the command line its main thread, others the thread
/// of a ``LoopThread``. All state below `inbox` belongs to that thread.
//
// @unchecked: `inbox` has its lock, everything else is used by the running thread alone, which
// every entry point checks.
package final class EventLoop: StreamLoop, @unchecked Sendable {
    private struct Inbox {
        var jobs: [UnownedJob] = []
        var actions: [@Sendable () -> Void] = []
        var isStopping = false

        var isEmpty: Bool { jobs.isEmpty && actions.isEmpty && !isStopping }

        /// Empties the inbox; `nil` if it is empty already.
        mutating func take() -> Inbox? {
            if isEmpty { return nil }
            defer { self = Inbox() }
            return self
        }
    }

    /// Waiters of one descriptor. The generation tells a reused number from its predecessor.
    private struct Slot {
        var generation: UInt32 = 0
        var reader: Waiter?
        var writer: Waiter?
        var watcher: (@Sendable (_ readable: Bool, _ writable: Bool, _ failed: Bool) -> Void)?
        /// Events that the watcher is called for.
        var watched: Int32 = 0

        /// Events that are waited for; `nil` without a waiter or a watcher.
        var wanted: Int32? {
            if watcher != nil { return watched }
            let events = (reader == nil ? 0 : POLLIN) | (writer == nil ? 0 : POLLOUT)
            return events == 0 ? nil : Int32(events)
        }
    }

    private let inbox = Locked(Inbox())
    /// 0 until a thread runs the loop.
    private let runner = Atomic<UInt>(0)
    private let poller: Poller

    private var jobs: [UnownedJob] = []
    /// The jobs that are running; empty between two passes.
    private var pass: [UnownedJob] = []
    private var slots: [Slot] = []
    private var timers = IndexedHeap<Waiter>()
    var guest: (any LoopGuest)?
    /// Time of the thread's last return from waiting, and the number of SIGCONTs then.
    private var turnBegan = ProcessClock.monotonic
    private var continuations = swposix_continuations()

    /// Longest single poll with a deadline pending: if a stop of the process made the wait longer,
    /// at most this much counts as running time.
    private static let pollMillisecondsMax: Int32 = 1000
    /// Jobs run for at most this long before descriptors and timers are looked at.
    private static let turnNanoseconds: UInt64 = 1_000_000

    /// - Throws: `connect` when the process has no descriptor left.
    package init() throws(FetchError) {
        do throws(SystemError) {
            poller = try Poller()
        } catch {
            throw FetchError(
                .connect, .connect, "cannot wait for the network", error, remedy: error.remedy)
        }
    }

    package var isCurrent: Bool {
        runner.load(ordering: .relaxed) == UInt(pthread_self())
    }

    // MARK: Running

    /// Runs jobs, timers and descriptors until ``stop()``.
    package func run() {
        runner.store(UInt(pthread_self()), ordering: .relaxed)
        var isStopping = false
        while true {
            runJobs()
            isStopping = takeInbox() || isStopping
            // Descriptors, timers and signals get a turn even if jobs never run out.
            if !jobs.isEmpty, ProcessClock.monotonic - turnBegan < Self.turnNanoseconds { continue }
            if isStopping, jobs.isEmpty {
                if guest?.endConnections() ?? false { continue }
                break
            }
            poll(waits: jobs.isEmpty)
            // Results of other threads are handled before timers, like readiness.
            isStopping = takeInbox() || isStopping
            fireTimers()
        }
        runner.store(0, ordering: .relaxed)
    }

    /// Makes ``run()`` return when all jobs are done. From any thread.
    package func stop() {
        send { $0.isStopping = true }
    }

    /// Runs `body` on the calling thread until it has finished and no job is left.
    package func runToCompletion<Value: Sendable>(
        _ body: @escaping @Sendable () async -> Value
    ) -> Value {
        let completion = Locked<Value?>(nil)
        Task(executorPreference: self) {
            let value = await body()
            completion.withLock { $0 = value }
            self.stop()
        }
        run()
        guard let value = completion.withLock({ $0 }) else {
            preconditionFailure("the loop stops after the body has finished")
        }
        return value
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if isCurrent {
            jobs.append(job)
        } else {
            send { $0.jobs.append(job) }
        }
    }

    /// Runs `action` on the loop's thread. From any thread.
    package func perform(_ action: @escaping @Sendable () -> Void) {
        send { $0.actions.append(action) }
    }

    /// Only the first item in an empty inbox wakes the thread, which then takes all. Items sent by
    /// the loop's own thread do not: it checks the inbox before it waits.
    private func send(_ change: (inout Inbox) -> Void) {
        let isFirst = inbox.withLock { inbox in
            let isFirst = inbox.isEmpty
            change(&inbox)
            return isFirst
        }
        if isFirst, !isCurrent { poller.wake() }
    }

    /// One pass over the present jobs: jobs added meanwhile, also by yielding, are for the next.
    private func runJobs() {
        swap(&jobs, &pass)
        for job in pass { job.runSynchronously(on: asUnownedTaskExecutor()) }
        pass.removeAll(keepingCapacity: true)
    }

    /// Handles items until the inbox is empty: actions may send more.
    ///
    /// - Returns: True if the loop is to stop.
    private func takeInbox() -> Bool {
        var isStopping = false
        while let taken = inbox.withLock({ $0.take() }) {
            jobs += taken.jobs
            for action in taken.actions { action() }
            isStopping = taken.isStopping || isStopping
        }
        return isStopping
    }

    /// Waits for descriptors and dispatches all that are ready, so that no deadline fires while the
    /// awaited data is there.
    ///
    /// - Parameter waits: False to return at once, because there are jobs to do.
    private func poll(waits: Bool) {
        noteTurn()
        let milliseconds = waits ? pollMilliseconds : 0
        let began = ProcessClock.monotonic
        poller.wait(milliseconds, count: slots.count) { number in
            slots[number].wanted.map { ($0, slots[number].generation) }
        } waited: {
            if milliseconds > 0 {
                let isContinued = swposix_continuations() != continuations
                noteWait(
                    began: began, longest: isContinued ? 0 : UInt64(milliseconds) * 1_000_000)
            }
            continuations = swposix_continuations()
            turnBegan = ProcessClock.monotonic
        } ready: { number, generation, events in
            dispatch(number, generation, events)
        }
    }

    /// Counts a turn in which the process was continued as stopped time, as far as it matters.
    private func noteTurn() {
        let number = swposix_continuations()
        guard number != continuations else { return }
        continuations = number
        noteWait(began: turnBegan, longest: 0)
    }

    private func noteWait(began: UInt64, longest: UInt64) {
        let stopped = ProcessClock.noteWait(began: began, longest: longest)
        if stopped > 0 { guest?.noteStop(nanoseconds: stopped) }
    }

    /// Milliseconds until the soonest deadline, rounded up so that it has passed; -1 for ever.
    private var pollMilliseconds: Int32 {
        guard let soonest = timers.first else { return -1 }
        let now = Instant.now.nanoseconds
        guard soonest.deadline.nanoseconds > now else { return 0 }
        let milliseconds = (soonest.deadline.nanoseconds - now + 999_999) / 1_000_000
        return min(Int32(clamping: milliseconds), Self.pollMillisecondsMax)
    }

    private func dispatch(_ number: Int, _ generation: UInt32, _ events: Int32) {
        guard slots[number].generation == generation else { return }
        let failed = Int32(POLLHUP | POLLERR)
        if let watcher = slots[number].watcher {
            return watcher(
                events & Int32(POLLIN) != 0, events & Int32(POLLOUT) != 0, events & failed != 0)
        }
        if events & (Int32(POLLIN) | failed) != 0, let reader = slots[number].reader {
            finish(reader, .ready)
        }
        if events & (Int32(POLLOUT) | failed) != 0, let writer = slots[number].writer {
            finish(writer, .ready)
        }
    }

    private func fireTimers() {
        guard timers.first != nil else { return }
        let now = Instant.now
        while let waiter = timers.first, waiter.deadline <= now { finish(waiter, .timedOut) }
    }

    // MARK: Watching for a library that owns its sockets

    /// Calls `action` whenever `descriptor` is ready, until ``unwatch(_:)``. Level-triggered.
    ///
    /// - Throws: The error of the poller: `action` will never be called.
    func watch(
        _ descriptor: Int32, readable: Bool, writable: Bool,
        _ action: @escaping @Sendable (_ readable: Bool, _ writable: Bool, _ failed: Bool) -> Void
    ) throws(SystemError) {
        precondition(isCurrent)
        let number = Int(descriptor)
        while slots.count <= number { slots.append(Slot()) }
        let isKnown = slots[number].watcher != nil
        if !isKnown { slots[number] = Slot(generation: nextGeneration(number)) }
        slots[number].watcher = action
        slots[number].watched = Int32((readable ? POLLIN : 0) | (writable ? POLLOUT : 0))
        do throws(SystemError) {
            try poller.watch(
                descriptor, slots[number].watched, slots[number].generation, isKnown: isKnown)
        } catch {
            slots[number] = Slot(generation: nextGeneration(number))
            throw error
        }
    }

    func unwatch(_ descriptor: Int32) {
        precondition(isCurrent)
        let number = Int(descriptor)
        guard number < slots.count, slots[number].watcher != nil else { return }
        slots[number] = Slot(generation: nextGeneration(number))
        poller.remove(descriptor)
    }

    /// Starts a waiter that calls its action instead of resuming a task.
    func schedule(_ waiter: Waiter) {
        precondition(isCurrent)
        enlist(waiter)
    }

    /// Never `.max`, the generation of the poller's own descriptor.
    private func nextGeneration(_ number: Int) -> UInt32 {
        let next = slots[number].generation &+ 1
        return next == .max ? 0 : next
    }

    // MARK: Waiting

    /// Watches a `descriptor`, open and non-blocking, until it is closed.
    ///
    /// Perhaps edge-triggered: a caller waits only after EAGAIN since the last wake-up.
    func attach(_ descriptor: Int32) throws(SystemError) {
        precondition(isCurrent)
        let number = Int(descriptor)
        while slots.count <= number { slots.append(Slot()) }
        slots[number] = Slot(generation: nextGeneration(number))
        try poller.add(descriptor, slots[number].generation)
    }

    /// Suspends until one of `interests` may be ready. With none it is a plain sleep.
    func wait(for interests: [Interest], by deadline: Instant) async -> WaitResult {
        await wait(Waiter(interests: interests, deadline: deadline))
    }

    /// Suspends until `waiter` is finished by readiness, deadline, cancellation or
    /// ``finish(_:_:)``.
    func wait(_ waiter: Waiter) async -> WaitResult {
        precondition(isCurrent, "a fetch left its event loop")
        return await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                if let result = waiter.result {
                    continuation.resume(returning: result)
                } else {
                    waiter.continuation = continuation
                    enlist(waiter)
                }
            }
        } onCancel: {
            // Runs on any thread, perhaps before the wait has begun.
            if isCurrent {
                finish(waiter, .cancelled)
            } else {
                perform { self.finish(waiter, .cancelled) }
            }
        }
    }

    /// Suspends until `deadline`, or returns early when the task is cancelled.
    package func sleep(until deadline: Instant) async {
        _ = await wait(for: [], by: deadline)
    }

    /// Suspends until `descriptor`, which may block, is readable or at its end, until the deadline,
    /// or until the task is cancelled. Never waits for a regular file.
    package func untilReadable(_ descriptor: Int32, by deadline: Instant) async {
        precondition(isCurrent)
        var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard Glibc.poll(&event, 1, 0) == 0 else { return }
        let waiter = Waiter(deadline: deadline)
        do throws(SystemError) {
            try watch(descriptor, readable: true, writable: false) { _, _, _ in
                self.finish(waiter, .ready)
            }
        } catch {
            // Reading it blocks, or reports the error.
            return
        }
        _ = await wait(waiter)
        unwatch(descriptor)
    }

    /// Ends a wait, once; later calls do nothing.
    func finish(_ waiter: Waiter, _ result: WaitResult) {
        precondition(isCurrent)
        guard waiter.result == nil else { return }
        waiter.result = result
        timers.remove(waiter)
        if let action = waiter.action { return action(result) }
        guard let continuation = waiter.continuation else { return }
        waiter.continuation = nil
        for interest in waiter.interests {
            let number = Int(interest.descriptor)
            if slots[number].reader === waiter { slots[number].reader = nil }
            if slots[number].writer === waiter { slots[number].writer = nil }
        }
        continuation.resume(returning: result)
    }

    private func enlist(_ waiter: Waiter) {
        for interest in waiter.interests {
            let number = Int(interest.descriptor)
            if interest.readiness != .writable { slots[number].reader = waiter }
            if interest.readiness != .readable { slots[number].writer = waiter }
        }
        if waiter.deadline != .never { timers.insert(waiter) }
    }
}

/// A library that does its own I/O on a loop.
protocol LoopGuest: AnyObject {
    /// Ends connections that were kept beyond the fetches; false if there were none.
    func endConnections() -> Bool

    /// Called after the process was stopped for a while.
    func noteStop(nanoseconds: UInt64)
}

enum WaitResult: Sendable {
    case ready, timedOut, cancelled
}

/// One suspended wait.
//
// @unchecked: used by the loop's thread alone; others only hand it to the loop.
final class Waiter: IndexedHeapElement, @unchecked Sendable {
    let interests: [Interest]
    let deadline: Instant
    fileprivate(set) var result: WaitResult?
    fileprivate var continuation: UnsafeContinuation<WaitResult, Never>?
    /// Called instead of resuming a task.
    fileprivate let action: ((WaitResult) -> Void)?
    var heapIndex: Int?

    init(
        interests: [Interest] = [], deadline: Instant, action: ((WaitResult) -> Void)? = nil
    ) {
        self.interests = interests
        self.deadline = deadline
        self.action = action
    }

    func comes(before other: Waiter) -> Bool { deadline < other.deadline }
}
