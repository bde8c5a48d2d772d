// SPDX-License-Identifier: MIT
public import SmallWebCore
internal import SmallWebTransport

/// How ``Client`` goes about many URLs.
public struct RunOptions: Sendable {
    /// Fetches of one host and port at a time, 1 or more.
    public var perHost: Int
    /// Least time between any two starts.
    public var startInterval: Duration
    /// Least time between two starts of one host and port.
    public var hostInterval: Duration
    /// Further attempts after the first, where the next one may succeed.
    public var retries: Int
    /// Before each further attempt; `nil` for waits that grow from a second to ten minutes, half of
    /// each by chance.
    public var retryDelay: Duration?
    /// From the first attempt to the start of the last one; `nil` for no limit.
    public var retryTotal: Duration?
    /// Longest wait that a server may ask for; beyond that its other URLs fail.
    public var pauseMax: Duration = .seconds(600)
    /// Whether results come in the order of the URLs, or as they are there.
    public var keepsOrder: Bool
    /// From the start of the run to the last start of a fetch; `nil` for no end. What is left then
    /// ends as `interrupted`.
    public var deadline: Duration?
    /// Whether a further attempt may send data again that the server may have taken.
    public var retriesData = false
    /// Threads that fetch, 1 or more: a host always has the same one.
    public var loops = 1

    /// The defaults are those of the command line; ``pauseMax``, ``deadline``, ``retriesData`` and
    /// ``loops`` are set afterwards.
    public init(
        perHost: Int = 2, startInterval: Duration = .zero, hostInterval: Duration = .zero,
        retries: Int = 0, retryDelay: Duration? = nil, retryTotal: Duration? = nil,
        keepsOrder: Bool = true
    ) {
        self.perHost = perHost
        self.startInterval = startInterval
        self.hostInterval = hostInterval
        self.retries = retries
        self.retryDelay = retryDelay
        self.retryTotal = retryTotal
        self.keepsOrder = keepsOrder
    }
}

extension RunOptions {
    fileprivate func policy(_ parallel: Int) -> RunPolicy {
        var policy = RunPolicy()
        policy.jobs = max(1, parallel)
        policy.jobsPerHost = max(1, perHost)
        policy.loops = max(1, loops)
        policy.startSeconds = startInterval.inSeconds
        policy.hostSeconds = hostInterval.inSeconds
        policy.pauseSecondsMax = pauseMax.inSeconds
        policy.retry.retries = retries
        policy.retry.delaySeconds = retryDelay?.inSeconds
        policy.retry.totalSeconds = retryTotal?.inSeconds
        policy.retry.repeatsData = retriesData
        policy.deadlineSeconds = deadline?.inSeconds
        policy.keepsOrder = keepsOrder
        policy.heldMax = 4 * policy.jobs
        return policy
    }
}

/// What came of one of many requests.
public struct FetchResult: Sendable {
    /// Its place among the requests, from 0.
    public let index: Int
    /// As it was given.
    public let request: RunRequest
    /// Attempts that were made; 0 for a request that could not be tried.
    public let attempts: Int
    /// The page, also when it is a refusal, or why there is none.
    public let result: Result<Page, FetchError>

    /// As it was given.
    public var url: String { request.url }

    /// The page.
    ///
    /// - Throws: Why there is none.
    public func get() throws(FetchError) -> Page { try result.get() }
}

extension Client {
    /// Fetches many URLs at the same time.
    ///
    /// The URLs are read as there is room, the first of them when the first result is asked for, on
    /// the thread that fetches: a list that waits for its lines is an `AsyncSequence`. A slow
    /// consumer stops further fetches from starting: at most four pages for each of `parallel` are
    /// held back. A failed fetch is a result; the sequence itself throws when it is cancelled.
    ///
    /// - Parameters:
    ///   - urls: In full, with their schemes.
    ///   - parallel: Fetches at a time, 1 or more. Each needs a descriptor.
    ///   - options: Pace, retries, deadline and order.
    ///   - limits: Those of each attempt.
    public func run(
        _ urls: some Sequence<String> & Sendable, parallel: Int = 1,
        options: RunOptions = RunOptions(), limits: Limits = .page
    ) -> Results {
        run(urls.lazy.map { RunRequest($0, limits: limits) }, parallel: parallel, options: options)
    }

    /// Fetches many requests at the same time, each with input, options and limits of its own.
    ///
    /// As ``run(_:parallel:options:limits:)-(SendableSequence<String>,_,_,_)``.
    public func run(
        _ requests: some Sequence<RunRequest> & Sendable, parallel: Int = 1,
        options: RunOptions = RunOptions()
    ) -> Results {
        results(parallel, options) { jobs in
            var iterator = requests.makeIterator()
            return ListSource(jobs) { iterator.next() }
        }
    }

    /// Fetches URLs that come one after the other, as the lines of a file do.
    ///
    /// As ``run(_:parallel:options:limits:)-(SendableSequence<String>,_,_,_)``;
    /// when `urls` fails, so does the sequence, after the results of those that came before.
    public func run<URLs: AsyncSequence & Sendable>(
        _ urls: URLs, parallel: Int = 1, options: RunOptions = RunOptions(),
        limits: Limits = .page
    ) -> Results where URLs.Element == String {
        results(parallel, options) { jobs in
            var iterator = urls.makeAsyncIterator()
            return ReaderSource(jobs) { () async throws(FetchError) in
                do {
                    return try await iterator.next(isolation: nil)
                        .map { RunRequest($0, limits: limits) }
                } catch {
                    throw (error as? FetchError)
                        ?? FetchError(.read, .input, "the list of URLs failed: \(error)")
                }
            }
        }
    }

    /// Fetches what is pushed into `queue`, before the run and while it goes on.
    ///
    /// As ``run(_:parallel:options:limits:)-(SendableSequence<String>,_,_,_)``.
    /// The run ends when its consumer asks for a result after everything that was pushed has become
    /// one; a queue that is held open ends with ``RunQueue/end()``.
    ///
    /// - Parameters:
    ///   - queue: For this run alone.
    ///   - parallel: Fetches at a time, 1 or more.
    ///   - options: Pace, retries, deadline and order.
    public func run(
        _ queue: RunQueue, parallel: Int = 1, options: RunOptions = RunOptions()
    ) -> Results {
        results(parallel, options) { QueueSource(queue, $0) }
    }

    private func results(
        _ parallel: Int, _ options: RunOptions,
        _ source: @escaping @Sendable (RunJobs) -> any Source
    ) -> Results {
        Results(client: self, policy: options.policy(parallel), source: source)
    }
}

extension Client {
    /// The results of many fetches: see
    /// ``Client/run(_:parallel:options:limits:)-(SendableSequence<String>,_,_,_)``.
    public struct Results: AsyncSequence, Sendable {
        public typealias Element = FetchResult
        public typealias Failure = FetchError
        /// One run that is under way.
        public typealias Iterator = Client.Iterator<FetchResult>

        let client: Client
        let policy: RunPolicy
        let source: @Sendable (RunJobs) -> any Source

        /// Begins another run, which starts with its first `next()`.
        public func makeAsyncIterator() -> Iterator {
            Iterator { handoff async throws(FetchError) in
                _ = try await run(untilWanted: { await handoff.untilWanted() }) {
                    PageOutput($0, handoff)
                }
            }
        }

        /// Runs with an output for each request.
        ///
        /// - Parameters:
        ///   - reportsRequests: Whether what HTTP sends is an event, too.
        ///   - untilWanted: See ``RunJobs``.
        /// - Throws: `interrupted` when the task is cancelled, and what ends the run.
        //
        // `@concurrent`: see ``Fetcher/run(_:emit:)``.
        @concurrent
        package func run(
            reportsRequests: Bool = false, untilWanted: (@Sendable () async -> Void)? = nil,
            output: @escaping RunJobs.MakeOutput
        ) async throws(FetchError) -> Tally {
            let common = client.fetcher
            let fetcher =
                reportsRequests ? common.changed { $0.http.reportsRequests = true } : common
            let loop = fetcher.loop
            return try await withTaskExecutorPreference(loop) { () async throws(FetchError) in
                precondition(loop.isCurrent)
                let jobs = RunJobs(client, fetcher, untilWanted: untilWanted, output)
                let engine = Engine(source(jobs), policy, fetcher)
                await engine.run()
                if Task.isCancelled { throw .cancelled }
                if let failure = engine.failure { throw failure }
                return engine.tally
            }
        }
    }
}

/// Collects the page of one request, and hands it to the consumer of the run.
private final class PageOutput: Output {
    private let entry: RunJobs.Entry
    private let handoff: Handoff<FetchResult>
    private var parts = Page.Parts()
    private var result: FetchResult?

    init(_ entry: RunJobs.Entry, _ handoff: Handoff<FetchResult>) {
        (self.entry, self.handoff) = (entry, handoff)
    }

    func begin(_ job: Job) throws(FetchError) -> Step {
        let request = try entry.request.get()
        parts = Page.Parts()
        return .fetch(request, FetchLog(request.uri))
    }

    func take(_ event: Event) { parts.take(event) }

    func finish(_ ending: Ending) throws(FetchError) { try Page.check(ending) }

    var canBeRepeated: Bool { entry.asked.upload.map { $0.rewind != nil } ?? true }

    func conclude(_ result: Attempt, _ job: Job) -> Outcome {
        let page: Result<Page, FetchError> =
            switch result {
            case .ended(let ending): .success(Page(ending, parts, entry.registry))
            case .failed(let error): .failure(error.of(entry.asked.url))
            }
        parts = Page.Parts()
        self.result = FetchResult(
            index: entry.index, request: entry.asked, attempts: job.attempts, result: page)
        return result.outcome
    }

    func deliver() async throws(FetchError) {
        if let result = result.take() { try await handoff.put(result) }
    }
}
