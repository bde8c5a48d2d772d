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
    /// Time for which the server asks to be left alone; `nil` if it does not.
    package var pause: Duration? {
        (ending?.head?.retryAfter ?? error?.retryAfter).flatMap { $0 > .zero ? $0 : nil }
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
    /// `nil` if it could not be made.
    package let request: Request?
    /// `host:port`; `nil` if there is no host to wait for.
    package let place: String?
    /// The reason that it cannot be tried at all.
    package let problem: FetchError?
    /// True if it stands for a list that cannot be read, whose requests are unknown.
    package var isUnreadList = false
    package var fetcher: Fetcher
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
        n: Int, key: String? = nil, _ request: Request?, place: String?, problem: FetchError?,
        _ fetcher: Fetcher, _ output: any Output
    ) {
        (self.n, self.key, self.request) = (n, key, request)
        (self.place, self.problem) = (place, problem)
        cancelling = key == nil ? nil : Locked((nil, false))
        (self.fetcher, self.output) = (fetcher, output)
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

    /// Fetches, and passes the events to the reply's sinks. On the loop of the fetcher.
    func attempt() async -> Attempt {
        attempts += 1
        started = started ?? .now
        let result = await exchange()
        return output.beginsAgain(after: result) ? await exchange() : result
    }

    private func exchange() async -> Attempt {
        do throws(FetchError) {
            var step = try output.begin(self)
            while true {
                switch step {
                case .end(let ending): return .ended(ending)
                case .fetch(let reply):
                    step = try output.step(after: await fetch(reply), fetcher)
                }
            }
        } catch {
            return .failed(error)
        }
    }

    private func fetch(_ reply: Reply) async throws(FetchError) -> Ending {
        do throws(FetchError) {
            var fetch = Fetch(fetcher, reply.request, reply.log, attempt: attempts) {
                event async throws(FetchError) in try await reply.take(event)
            }
            let ending = try await fetch.run()
            try reply.finish(ending)
            output.end(.ended(ending))
            return ending
        } catch {
            output.end(.failed(error))
            throw error
        }
    }
}
