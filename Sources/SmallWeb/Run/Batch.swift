// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The URLs of a run, in their order.
//
// @unchecked: one read at a time: the next begins when the last one has ended.
final class URLReader: @unchecked Sendable {
    typealias Next = () async throws(FetchError) -> String?

    private let next: Next

    init(_ next: @escaping Next) { self.next = next }

    func read() async -> Result<String?, FetchError> {
        do throws(FetchError) {
            return .success(try await next())
        } catch {
            return .failure(error)
        }
    }
}

/// One run of a batch: reads URLs as there is room, starts them when their hosts allow it, tries
/// again what may pass, and hands out the results. It lives in one task; the fetches are its
/// children.
final class Batch {
    fileprivate final class Job: Sendable {
        let index: Int
        let url: String
        let request: Result<Request, FetchError>
        private let state = Locked((attempts: 0, started: Instant.never))

        init(index: Int, url: String, request: Result<Request, FetchError>) {
            self.index = index
            self.url = url
            self.request = request
        }

        var attempts: Int { state.withLock { $0.attempts } }
        /// The first attempt.
        var started: Instant { state.withLock { $0.started } }

        func begin(_ now: Instant) {
            state.withLock { state in
                if state.attempts == 0 { state.started = now }
                state.attempts += 1
            }
        }
    }

    private typealias Entry = StartQueue<Job>.Entry

    private enum Happening: Sendable {
        case fetched(Entry, Result<Page, FetchError>)
        case read(Result<String?, FetchError>)
        /// Another URL may start now.
        case due
    }

    /// Most URLs that have been read and not been started.
    private static let waitingMax = 1024

    private let web: Client
    private let parallel: Int
    private let options: RunOptions
    private let limits: Limits
    private let reader: URLReader
    private let handoff: Handoff<FetchResult>
    private let waiting: StartQueue<Job>
    /// URLs read so far, results handed out, fetches under way.
    private var (taken, next, active) = (0, 0, 0)
    private var isReading = false
    private var isAtEnd = false
    /// Why reading the URLs failed.
    private var failure: FetchError?
    /// When the task that waits for a start wakes up.
    private var alarm = Instant.never
    /// Results whose turn has not come.
    private var finished: [Int: FetchResult] = [:]

    init(_ run: FetchResults, _ handoff: Handoff<FetchResult>) {
        web = run.web
        parallel = max(1, run.parallel)
        options = run.options
        limits = run.limits
        reader = URLReader(run.open())
        self.handoff = handoff
        waiting = StartQueue(
            .init(
                perHost: max(1, options.perHost), hostSeconds: options.hostInterval.inSeconds,
                startSeconds: options.startInterval.inSeconds,
                pauseSecondsMax: options.pauseMax.inSeconds))
    }

    /// - Throws: `interrupted`; what the URLs' own sequence throws.
    func run() async throws(FetchError) {
        let problem = await withTaskGroup(of: Happening.self) { group -> FetchError? in
            // Also those that only wait for a moment.
            defer { group.cancelAll() }
            do throws(FetchError) {
                try await work(&group)
                return nil
            } catch {
                return error
            }
        }
        if let error = problem ?? failure { throw error }
    }

    private func work(_ group: inout TaskGroup<Happening>) async throws(FetchError) {
        while true {
            try await startDue(&group)
            if !isReading && !isAtEnd && hasRoom {
                isReading = true
                let reader = reader
                group.addTask { .read(await reader.read()) }
            }
            if isAtEnd && waiting.isEmpty && active == 0 { return }
            let happening = await group.next()
            if Task.isCancelled { throw .cancelled }
            switch happening {
            case .fetched(let entry, let result):
                active -= 1
                waiting.end(entry, now: .now)
                try await settle(entry, result)
            case .read(.success(let url?)): add(url)
            case .read(.success(nil)): isAtEnd = true
            case .read(.failure(let error)): (isAtEnd, failure) = (true, error)
            case .due: alarm = .never
            case nil: return
            }
        }
    }

    private func add(_ url: String) {
        isReading = false
        let request = Result { () throws(FetchError) in try web.request(url, limits: limits) }
        // What cannot be fetched has no host to wait for.
        waiting.add(
            Job(index: taken, url: url, request: request),
            host: try? request.get().endpoint.place, now: .now)
        taken += 1
    }

    /// What waits is bounded, and so is what is held back.
    private var hasRoom: Bool {
        waiting.count < Self.waitingMax && (!options.keepsOrder || taken < next + 4 * parallel)
    }

    private func startDue(_ group: inout TaskGroup<Happening>) async throws(FetchError) {
        while active < parallel {
            switch waiting.next(.now) {
            case .start(let entry):
                active += 1
                let web = web
                group.addTask { .fetched(entry, await web.attempt(entry.item)) }
            case .refuse(let job, let seconds):
                var error = FetchError(
                    .temporaryFailure, .connect,
                    "the host asked for a pause of \(Int(min(seconds ?? 0, 1e9))) seconds")
                if case .failure(let problem) = job.request { error = problem }
                try await deliver(job, .failure(error))
            case .wait(let soonest):
                if soonest < alarm {
                    alarm = soonest
                    group.addTask {
                        try? await Task.sleep(for: .seconds(soonest.seconds(since: .now)))
                        return .due
                    }
                }
                return
            }
        }
    }

    private func settle(
        _ entry: Entry, _ result: Result<Page, FetchError>
    ) async throws(FetchError) {
        if let pause = (try? result.get())?.ending.head?.retryAfter, pause > .zero {
            waiting.pause(entry, seconds: pause.inSeconds, now: .now)
        }
        guard let delay = retryDelay(entry, result) else {
            return try await deliver(entry.item, result)
        }
        let now = Instant.now
        waiting.putBack(entry, notBefore: now.advanced(seconds: delay), now: now)
    }

    /// Seconds until the next attempt; `nil` when there is none.
    private func retryDelay(_ entry: Entry, _ result: Result<Page, FetchError>) -> Double? {
        let isRetryable =
            switch result {
            case .success(let page): page.outcome.isRetryable
            case .failure(let error): error.isRetryable
            }
        guard isRetryable, let opening = waiting.opening(for: entry, now: .now) else { return nil }
        var policy = RetryPolicy()
        policy.retries = options.retries
        policy.delaySeconds = options.retryDelay?.inSeconds
        policy.totalSeconds = options.retryTotal?.inSeconds
        let job = entry.item
        return policy.delay(after: job.attempts, since: job.started, opening: opening)
    }

    /// Hands out what has its turn; returns when there is room for the next result.
    private func deliver(
        _ job: Job, _ result: Result<Page, FetchError>
    ) async throws(FetchError) {
        let result = FetchResult(
            index: job.index, url: job.url, attempts: job.attempts,
            result: result.mapError { $0.of(job.url) })
        guard options.keepsOrder else { return try await handoff.put(result) }
        finished[job.index] = result
        while let result = finished.removeValue(forKey: next) {
            next += 1
            try await handoff.put(result)
        }
    }
}

extension Client {
    fileprivate func attempt(_ job: Batch.Job) async -> Result<Page, FetchError> {
        job.begin(.now)
        do throws(FetchError) {
            return .success(try await page(job.request.get()))
        } catch {
            return .failure(error)
        }
    }
}
