// SPDX-License-Identifier: MIT
package import SmallWebCore

/// Turns the requests of one run of a ``Client`` into jobs.
//
// @unchecked: lives on the loop of the run alone.
package final class RunJobs: @unchecked Sendable {
    /// Returns `nil` for a request that is done already. An invalid request is `nil`.
    package typealias MakeOutput = @Sendable (RunRequest, Request?) -> (any Output)?

    private let client: Client
    private let fetcher: Fetcher
    private let makeOutput: MakeOutput
    /// Returns when the consumer asks for more results; `nil` if the run waits for none.
    let untilWanted: (@Sendable () async -> Void)?
    private var count = 0

    init(
        _ client: Client, _ fetcher: Fetcher, untilWanted: (@Sendable () async -> Void)?,
        _ makeOutput: @escaping MakeOutput
    ) {
        (self.client, self.fetcher) = (client, fetcher)
        (self.untilWanted, self.makeOutput) = (untilWanted, makeOutput)
    }

    func job(_ asked: RunRequest) -> Taken {
        var (request, place): (Request?, String?)
        var problem: FetchError?
        do throws(FetchError) {
            let made = try client.request(asked)
            try client.plugins[made.scheme.name]?.check(made)
            request = made
            place = try made.place
        } catch {
            problem = error
        }
        defer { count += 1 }
        guard let output = makeOutput(asked, request) else { return .done }
        return .job(
            Job(n: count, request, place: place, problem: problem, fetcher(for: asked), output))
    }

    private func fetcher(for asked: RunRequest) -> Fetcher {
        guard asked.trust != nil || asked.identity != nil || asked.redirects != nil else {
            return fetcher
        }
        return fetcher.changed { options in
            if let trust = asked.trust { options.trustStore = trust }
            if let identity = asked.identity { options.identities.chosen = identity }
            if let redirects = asked.redirects { options.redirects = redirects }
        }
    }
}

/// A source whose requests are available at once.
final class ListSource: Source {
    private let jobs: RunJobs
    private let next: () -> RunRequest?

    init(_ jobs: RunJobs, _ next: @escaping () -> RunRequest?) {
        (self.jobs, self.next) = (jobs, next)
    }

    func take(isLast: Bool) -> Taken { next().map(jobs.job) ?? .end(nil) }
}

/// A source that waits for its requests, one at a time.
final class ReaderSource: Source {
    typealias Next = () async throws(FetchError) -> RunRequest?

    private let jobs: RunJobs
    private let next: Next
    private var read: Result<RunRequest?, FetchError>?

    init(_ jobs: RunJobs, _ next: @escaping Next) { (self.jobs, self.next) = (jobs, next) }

    func take(isLast: Bool) -> Taken {
        switch read {
        case .success(let request?):
            read = nil
            return jobs.job(request)
        case .success(nil): return .end(nil)
        case .failure(let error): return .end(error)
        case nil:
            // @unchecked: one read at a time, on the loop of the run.
            nonisolated(unsafe) let source = self
            return .later { await source.fill() }
        }
    }

    private func fill() async {
        do throws(FetchError) {
            read = .success(try await next())
        } catch {
            read = .failure(error)
        }
    }
}

final class QueueSource: Source {
    private let queue: RunQueue
    private let jobs: RunJobs

    init(_ queue: RunQueue, _ jobs: RunJobs) { (self.queue, self.jobs) = (queue, jobs) }

    // Requests after the end of the run are refused.
    deinit { queue.end() }

    func take(isLast: Bool) -> Taken {
        let (request, isEnded) = queue.take(isLast: isLast)
        let queue = queue
        return request.map(jobs.job) ?? (isEnded ? .end(nil) : .later { await queue.more() })
    }

    var idle: (@Sendable () async -> Void)? {
        queue.holdsOpen ? nil : jobs.untilWanted ?? {}
    }
}
