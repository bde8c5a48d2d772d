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
        if batch.isEmpty {
            if waiting.isEmpty { await withUnsafeContinuation { reader = $0 } }
            batch = waiting.reversed()
            waiting.removeAll(keepingCapacity: true)
        }
        return batch.removeLast()
    }
}
