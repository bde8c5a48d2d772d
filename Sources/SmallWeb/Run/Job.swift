// SPDX-License-Identifier: MIT
package import SmallWebCore

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
    /// True if another attempt may succeed, and sends no data a second time.
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
    /// Index among all requests, those for other workers included.
    package let n: Int
    /// Cancels this job, and others with the same key; `nil` if it cannot be cancelled alone.
    let key: String?
    /// `host:port`; `nil` if there is no host to wait for.
    package let place: String?
    /// The reason that it cannot be tried at all.
    package let problem: FetchError?
    /// True if it stands for a list that cannot be read, whose requests are unknown.
    let isUnreadList: Bool
    package internal(set) var fetcher: Fetcher
    package let output: any Output
    package private(set) var attempts = 0
    private let arrived = Instant.now
    /// Start of the first attempt.
    private(set) var started: Instant?
    /// True while an attempt has not been reported.
    var isUnderWay = false
    /// The attempt that can be cancelled; `nil` without a key.
    private let cancelling: Locked<(task: Task<Attempt, Never>?, isCancelled: Bool)>?
    /// Index among the requests of this worker.
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

    /// Seconds that it has waited for its first attempt.
    package var queueSeconds: Double { (started ?? .now).seconds(since: arrived) }

    /// True if it was cancelled by its key.
    package var isCancelled: Bool { cancelling?.withLock { $0.isCancelled } ?? false }

    /// Ends it, whether it is under way or not. From any thread.
    func cancel() {
        cancelling?.withLock { state in
            state.isCancelled = true
            state.task?.cancel()
        }
    }

    /// Like ``attempt()``, for a job with a key.
    //
    // A task of its own, since the worker's has other jobs, too. It runs on the fetcher's loop and
    // is cancelled with the worker's.
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

    /// Fetches, and passes the events to the output. On the loop of the fetcher.
    func attempt() async -> Attempt {
        attempts += 1
        started = started ?? .now
        let output = output
        do throws(FetchError) {
            var step = try output.begin(self)
            while case .fetch(let request, let log) = step {
                if attempts > 1 { try request.upload?.rewind?() }
                let pace = output.pace
                var fetch = Fetch(fetcher, request, log, attempt: attempts) {
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
                    ending = try await fetch.run()
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

package enum Step {
    /// The log gets each event before the output.
    case fetch(Request, FetchLog)
    case end(Ending)
}
