// SPDX-License-Identifier: MIT
package import SmallWebCore

/// What came of one attempt.
package enum Attempt: Sendable {
    case ended(Ending)
    case failed(FetchError)

    package var ending: Ending? { if case .ended(let ending) = self { ending } else { nil } }
    package var error: FetchError? { if case .failed(let error) = self { error } else { nil } }
    package var outcome: Outcome {
        switch self {
        case .ended(let ending): ending.outcome
        case .failed(let error): error.outcome
        }
    }
}

extension Attempt {
    /// Whether another one may go better, and sends no data a second time.
    var isRetryable: Bool {
        switch self {
        case .ended(let ending): ending.outcome.isRetryable && !ending.hasSentData
        case .failed(let error): error.isRetryable
        }
    }
}

/// One request of a run, with its attempts.
//
// @unchecked: an attempt has it for itself, on the loop of its fetcher; before and after, it lives
// on the loop of the run.
package final class Job: @unchecked Sendable {
    /// Its position among all requests, other workers' included.
    package let n: Int
    /// By which it can be cancelled alone, and perhaps others; `nil` when it cannot.
    let key: String?
    /// `host:port`; `nil` where there is nothing to wait for.
    package let place: String?
    /// Why it cannot be tried at all.
    package let problem: FetchError?
    /// Whether it stands for a list that cannot be read: what else was asked for is not known.
    let isUnreadList: Bool
    package internal(set) var fetcher: Fetcher
    package let output: any Output
    /// Those that have begun.
    package private(set) var attempts = 0
    private let arrived = Instant.now
    /// When the first attempt began.
    private(set) var started: Instant?
    /// Whether it has an attempt that has not been reported.
    var isUnderWay = false
    /// The attempt that can be cancelled, and whether it was.
    private let cancelling: Locked<(task: Task<Attempt, Never>?, isCancelled: Bool)>?
    /// Its position among those of this worker.
    var turn = 0

    package init(
        n: Int, key: String? = nil, place: String?, problem: FetchError? = nil,
        isUnreadList: Bool = false,
        _ fetcher: Fetcher, _ output: any Output
    ) {
        (self.n, self.key, self.place, self.problem) = (n, key, place, problem)
        cancelling = key == nil ? nil : Locked((nil, false))
        (self.isUnreadList, self.fetcher, self.output) = (isUnreadList, fetcher, output)
    }

    /// How long it has waited for its first attempt.
    package var queueSeconds: Double { (started ?? .now).seconds(since: arrived) }

    /// Whether it was cancelled alone.
    package var isCancelled: Bool { cancelling?.withLock { $0.isCancelled } ?? false }

    /// Ends it, whether it is under way or not. From any thread.
    func cancel() {
        cancelling?.withLock { state in
            state.isCancelled = true
            state.task?.cancel()
        }
    }

    /// The same as ``attempt()``, for a job with a key.
    //
    // A task of its own: that of the worker has other jobs, too. It has the loop and ends with the
    // worker's all the same.
    func cancellableAttempt() async -> Attempt {
        let task = Task(executorPreference: fetcher.loop) { await self.attempt() }
        cancelling?.withLock { state in
            state.task = task
            if state.isCancelled { task.cancel() }
        }
        defer { cancelling?.withLock { $0.task = nil } }
        return await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Fetches, and gives the events to the output. On the loop of the fetcher.
    func attempt() async -> Attempt {
        attempts += 1
        started = started ?? .now
        let output = output
        do throws(FetchError) {
            var step = try output.begin(self)
            while case .fetch(let request, let log) = step {
                if attempts > 1 { try request.upload?.rewind?() }
                let pace = output.pace
                var hops = Hops(fetcher, request, log, attempt: attempts) {
                    event async throws(FetchError) in
                    guard let pace, case .body(var bytes) = event else {
                        return try output.take(event)
                    }
                    while !bytes.isEmpty {
                        let piece = bytes.prefix(pace.pieceBytes)
                        try output.take(.body(piece))
                        bytes = bytes.dropFirst(piece.count)
                        try await pace.pass(piece.count)
                    }
                }
                let ending: Ending
                do throws(FetchError) {
                    ending = try await hops.run()
                    try output.finish(ending)
                } catch {
                    output.fail(error)
                    throw error
                }
                step = try output.step(after: ending, fetcher)
            }
            guard case .end(let ending) = step else { preconditionFailure("neither step") }
            return .ended(ending)
        } catch {
            return .failed(error)
        }
    }
}

/// What an attempt does next.
package enum Step {
    /// The log knows of each event before the output gets it.
    case fetch(Request, FetchLog)
    case end(Ending)
}
