// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebTransport

/// A task that makes attempts, one after the other, so that the next one reuses the memory that the
/// task has allocated for its calls.
//
// @unchecked: `rest` is used on the worker's loop alone.
final class Worker: @unchecked Sendable {
    typealias Entry = StartQueue<Job>.Entry

    let loop: EventLoop
    private let reports: Reports
    private var rest: UnsafeContinuation<Entry?, Never>?

    init(_ loop: EventLoop, _ reports: Reports) {
        self.loop = loop
        self.reports = reports
    }

    /// Runs on the worker's loop until ``end()``.
    func run(_ first: Entry) async {
        var next: Entry? = first
        while let entry = next {
            // Keeps the hop to the loop; see ``Fetcher/run(_:emit:)``.
            precondition(loop.isCurrent)
            let job = entry.item
            let result = job.key == nil ? await job.attempt() : await job.cancellableAttempt()
            next = await withUnsafeContinuation { continuation in
                rest = continuation
                reports.add(.attempted(self, entry, result))
            }
        }
    }

    /// Starts the next attempt of a worker that has reported the last one.
    func make(_ entry: Entry) { resume(entry) }

    /// Ends a worker that has reported the last attempt.
    func end() { resume(nil) }

    /// On the worker's loop: a task that is resumed before it has suspended goes on at once, and
    /// only the runtime's own atomics would order its memory accesses.
    private func resume(_ entry: Entry?) {
        loop.perform { [self] in
            let rest = rest
            self.rest = nil
            rest?.resume(returning: entry)
        }
    }
}

// @unchecked: the state is used on the event loop of the run alone.
final class Reports: @unchecked Sendable {
    enum Report: Sendable {
        case attempted(Worker, Worker.Entry, Attempt)
        /// The source may have more.
        case readable
        /// ``Source/idle`` has returned.
        case idle
        /// Another URL may start now.
        case due
    }

    private let loop: EventLoop
    private var waiting: [Report] = []
    /// Reports taken from ``waiting``, the first one last.
    private var batch: [Report] = []
    private var reader: UnsafeContinuation<Void, Never>?

    init(_ loop: EventLoop) { self.loop = loop }

    /// Callable from any thread.
    func add(_ report: Report) {
        guard loop.isCurrent else { return loop.perform { self.add(report) } }
        waiting.append(report)
        let reader = reader
        self.reader = nil
        reader?.resume()
    }

    /// Waits for the next report. On the run's loop.
    func next() async -> Report {
        precondition(loop.isCurrent && reader == nil)
        if batch.isEmpty {
            if waiting.isEmpty { await withUnsafeContinuation { reader = $0 } }
            batch = waiting.reversed()
            waiting.removeAll(keepingCapacity: true)
        }
        return batch.removeLast()
    }
}

/// The event loops that fetch the requests of a run: its own, and threads with others, which start
/// on first use. Lives on the run's own loop.
final class FetchLoops {
    /// For requests without settings of their own.
    private let common: Fetcher
    /// Each with ``common`` on its loop.
    private var threads: [(loop: LoopThread, fetcher: Fetcher)] = []
    /// Threads still to be started.
    private var missing: Int
    /// The place that the run's own loop serves, among others: a run over one host needs no thread.
    private var home: String?
    private let hasHome: Bool

    init(_ common: Fetcher, _ policy: RunPolicy) {
        self.common = common
        let count = policy.jobs > 1 ? min(policy.jobs, policy.loops ?? processorCount()) : 1
        missing = count > 1 ? count : 0
        hasHome = policy.loops == nil
    }

    /// `fetcher`, moved to the event loop that serves `place`.
    func spread(_ fetcher: Fetcher, _ place: String) -> Fetcher {
        if hasHome {
            home = home ?? place
            if place == home { return fetcher }
        }
        if missing > 0 { startThreads() }
        guard !threads.isEmpty else { return fetcher }
        let there = threads[Int((place.stableHash >> 32) % UInt64(threads.count))]
        return fetcher === common ? there.fetcher : fetcher.moved(to: there.loop.loop)
    }

    /// With fewer threads than wanted the run takes longer; with none its own loop fetches.
    private func startThreads() {
        while missing > 0, let thread = try? LoopThread() {
            threads.append((thread, common.moved(to: thread.loop)))
            missing -= 1
        }
        missing = 0
    }

    /// Makes blocking calls on the loops return, to see that they shall stop.
    func interrupt() { for thread in threads { thread.loop.interrupt() } }

    /// Called when no request is under way any more.
    func end() { for thread in threads { thread.loop.end() } }
}
