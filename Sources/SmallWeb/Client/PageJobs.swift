// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Makes jobs of the requests of one ``Client/Results``, whose pages go to a consumer.
//
// @unchecked: lives on the loop of the run alone.
final class PageJobs: @unchecked Sendable {
    let web: Client
    let handoff: Handoff<FetchResult>
    private var count = 0

    init(_ web: Client, _ handoff: Handoff<FetchResult>) {
        (self.web, self.handoff) = (web, handoff)
    }

    func job(_ asked: RunRequest) -> Taken {
        let request = Result { () throws(FetchError) in try web.request(asked) }
        var (place, problem): (String?, FetchError?)
        do throws(FetchError) {
            place = try request.get().endpoint.place
        } catch {
            problem = error
        }
        let output = PageOutput(self, count, asked, request)
        defer { count += 1 }
        return .job(Job(n: count, place: place, problem: problem, web.fetcher, output))
    }
}

/// Collects the page of one request, and hands it to the consumer of the run.
private final class PageOutput: Output {
    private let jobs: PageJobs
    private let index: Int
    private let asked: RunRequest
    private let request: Result<Request, FetchError>
    private var parts = Page.Parts()
    private var result: FetchResult?

    init(
        _ jobs: PageJobs, _ index: Int, _ asked: RunRequest, _ request: Result<Request, FetchError>
    ) {
        (self.jobs, self.index, self.asked, self.request) = (jobs, index, asked, request)
    }

    func begin(_ job: Job) throws(FetchError) -> Step {
        let request = try request.get()
        parts = Page.Parts()
        return .fetch(request, FetchLog(request.uri))
    }

    func take(_ event: Event) { parts.take(event) }

    func finish(_ ending: Ending) throws(FetchError) { try Page.check(ending) }

    var canBeRepeated: Bool { asked.upload == nil }

    func conclude(_ result: Attempt, _ job: Job) -> Outcome {
        let page: Result<Page, FetchError> =
            switch result {
            case .ended(let ending): .success(Page(ending, parts, jobs.web.plugins))
            case .failed(let error): .failure(error.of(asked.url))
            }
        parts = Page.Parts()
        self.result = FetchResult(
            index: index, request: asked, attempts: job.attempts, result: page)
        return result.outcome
    }

    func deliver() async throws(FetchError) {
        guard let result else { return }
        self.result = nil
        try await jobs.handoff.put(result)
    }
}

/// Requests that are there when they are asked for.
final class ListSource: Source {
    private let jobs: PageJobs
    private let next: () -> RunRequest?

    init(_ jobs: PageJobs, _ next: @escaping () -> RunRequest?) {
        (self.jobs, self.next) = (jobs, next)
    }

    func take(isLast: Bool) -> Taken { next().map(jobs.job) ?? .end(nil) }
}

/// Requests that are waited for one at a time.
final class ReaderSource: Source {
    typealias Next = () async throws(FetchError) -> RunRequest?

    private let jobs: PageJobs
    private let next: Next
    private var read: Result<RunRequest?, FetchError>?

    init(_ jobs: PageJobs, _ next: @escaping Next) { (self.jobs, self.next) = (jobs, next) }

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

/// Requests that are pushed.
final class QueueSource: Source {
    private let queue: RunQueue
    private let jobs: PageJobs

    init(_ queue: RunQueue, _ jobs: PageJobs) { (self.queue, self.jobs) = (queue, jobs) }

    // What comes after the end of the run is refused.
    deinit { queue.end() }

    func take(isLast: Bool) -> Taken {
        let (request, isEnded) = queue.take(isLast: isLast)
        let queue = queue
        return request.map(jobs.job) ?? (isEnded ? .end(nil) : .later { await queue.more() })
    }

    var idle: (@Sendable () async -> Void)? {
        guard !queue.holdsOpen else { return nil }
        let handoff = jobs.handoff
        return { await handoff.untilWanted() }
    }
}
