// SPDX-License-Identifier: MIT
public import SmallWebCore
internal import SmallWebTransport

/// Options for fetching many URLs with a ``Client``.
public struct RunOptions: Sendable {
    /// Fetches of one host and port at a time, 1 or more.
    public var perHost: Int
    /// Least time between any two starts.
    public var startInterval: Duration
    /// Least time between two starts of one host and port.
    public var hostInterval: Duration
    /// Retries after the first attempt, for failures that may pass.
    public var retries: Int
    /// Delay before each retry; `nil` for a back-off that grows from a second to ten minutes, half
    /// of it random.
    public var retryDelay: Duration?
    /// Time from the first attempt to the start of the last one; `nil` for no limit.
    public var retryTotal: Duration?
    /// Longest wait that a server may ask for; beyond that its other URLs fail.
    public var pauseMax: Duration = .seconds(600)
    /// True to deliver results in the order of the URLs, false to deliver them as they arrive.
    public var keepsOrder: Bool
    /// Time from the start of the run to the last start of a fetch; `nil` for no limit. Requests
    /// that are left end as `interrupted`.
    public var deadline: Duration?
    /// True if a retry may send data again that the server may have taken.
    public var retriesData = false
    /// Threads that fetch, 1 or more: a host always has the same one.
    public var loops = 1

    /// Called with each step of each request, for progress, logs and metrics; `nil` for none. On
    /// the threads that fetch, which it must not block.
    public var onEvent: (@Sendable (Event) -> Void)?

    /// A step of one request of a run.
    @nonexhaustive
    public enum Event: Sendable {
        /// An attempt begins, from 1.
        case started(RunRequest, attempt: Int)
        /// The last attempt has failed, and another follows after a pause.
        case retrying(RunRequest, after: Outcome, pause: Duration)
        /// No attempt follows; with the bytes of the body, and the time since the first one began.
        case ended(RunRequest, Outcome, bytes: Int, duration: Duration)
    }

    /// The command line's defaults; ``pauseMax``, ``deadline``, ``retriesData`` and ``loops`` are
    /// set afterwards.
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
    /// Beyond what a system has of descriptors and threads.
    private static let (countMax, loopsMax) = (1 << 30, 256)

    fileprivate func policy(_ parallel: Int) -> RunPolicy {
        var policy = RunPolicy()
        policy.jobs = min(max(1, parallel), Self.countMax)
        policy.jobsPerHost = max(1, perHost)
        policy.loops = min(max(1, loops), Self.loopsMax)
        policy.startSeconds = startInterval.inSeconds
        policy.hostSeconds = hostInterval.inSeconds
        policy.pauseSecondsMax = pauseMax.inSeconds
        policy.retry.retries = min(retries, Self.countMax)
        policy.retry.delaySeconds = retryDelay?.inSeconds
        policy.retry.totalSeconds = retryTotal?.inSeconds
        policy.retry.repeatsData = retriesData
        policy.deadlineSeconds = deadline?.inSeconds
        policy.keepsOrder = keepsOrder
        policy.heldMax = 4 * policy.jobs
        return policy
    }
}

/// The result of one of many requests.
public struct FetchResult: Sendable, Identifiable {
    /// Index of the request, from 0.
    public let index: Int
    /// The request, unchanged.
    public let request: RunRequest
    /// Attempts made; 0 for a request that could not be tried.
    public let attempts: Int
    /// The page, even if it is a refusal, or the error.
    public let result: Result<Page, FetchError>

    /// The URL, unchanged.
    public var url: String { request.url }
    /// ``index``.
    public var id: Int { index }

    /// A result, for previews and tests.
    public init(
        index: Int, request: RunRequest, attempts: Int = 1, result: Result<Page, FetchError>
    ) {
        self.index = index
        self.request = request
        self.attempts = attempts
        self.result = result
    }

    /// The page.
    ///
    /// - Throws: The error of a failed fetch.
    public func get() throws(FetchError) -> Page { try result.get() }
}

extension Client {
    /// Fetches many URLs at the same time.
    ///
    /// URLs are read as there is room, the first one when the first result is asked for, on the
    /// thread that fetches: a list that waits for its lines should be an `AsyncSequence`. A slow
    /// consumer stops further fetches from starting: at most four pages for each of `parallel` are
    /// held back. A failed fetch is a result; the sequence itself throws when it is cancelled.
    ///
    /// - Parameters:
    ///   - urls: Full URLs, with their schemes.
    ///   - parallel: Fetches at a time, 1 or more. Each needs a descriptor.
    ///   - options: Pace, retries, deadline and order.
    ///   - limits: Limits of each attempt.
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

    /// Fetches the requests pushed into `queue`, before the run and while it goes on.
    ///
    /// As ``run(_:parallel:options:limits:)-(SendableSequence<String>,_,_,_)``.
    /// The run ends when its consumer asks for a result after every pushed request has become one;
    /// a queue that is held open ends with ``RunQueue/end()``.
    ///
    /// - Parameters:
    ///   - queue: A queue for this run alone.
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
        Results(
            client: self, policy: options.policy(parallel), onEvent: options.onEvent,
            source: source)
    }
}

extension Client {
    /// The results of many fetches: see
    /// ``Client/run(_:parallel:options:limits:)-(SendableSequence<String>,_,_,_)``.
    public struct Results: AsyncSequence, Sendable {
        public typealias Element = FetchResult
        public typealias Failure = FetchError
        /// One run in progress.
        public typealias Iterator = Client.Iterator<FetchResult>

        package let client: Client
        let policy: RunPolicy
        let onEvent: (@Sendable (RunOptions.Event) -> Void)?
        let source: @Sendable (RunJobs) -> any Source

        /// Begins another run, which starts with its first `next()`.
        public func makeAsyncIterator() -> Iterator {
            Iterator { handoff async throws(FetchError) in
                _ = try await run(untilWanted: { await handoff.untilWanted() }) {
                    asked, _ in
                    PageOutput(asked, handoff)
                }
            }
        }

        /// Runs with an output for each request.
        ///
        /// - Parameters:
        ///   - reportsRequests: True to report the requests of HTTP as events, too.
        ///   - untilWanted: See ``RunJobs``.
        /// - Throws: `interrupted` when the task is cancelled, and errors that end the run.
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
                let jobs = RunJobs(client, fetcher, untilWanted: untilWanted) { asked, request in
                    guard let onEvent else { return output(asked, request) }
                    return output(asked, request).map { ObservedOutput($0, asked, onEvent) }
                }
                let engine = Engine(source(jobs), policy, fetcher)
                await engine.run()
                if Task.isCancelled { throw .cancelled }
                if let failure = engine.failure { throw failure }
                return engine.tally
            }
        }
    }
}

private final class PageOutput: Output, EventSink {
    private let asked: RunRequest
    private let handoff: Handoff<FetchResult>
    private var parts = Page.Parts()
    private var log: FetchLog?
    private var result: FetchResult?

    init(_ asked: RunRequest, _ handoff: Handoff<FetchResult>) {
        (self.asked, self.handoff) = (asked, handoff)
    }

    func begin(_ job: Job) throws(FetchError) -> Step {
        guard let request = job.request else { throw job.problem ?? .cancelled }
        parts = Page.Parts()
        let log = FetchLog(request.uri)
        self.log = log
        return .fetch(Reply(to: request, log, job.fetcher.registry, watchers: [self]))
    }

    func take(_ event: Event) { parts.take(event) }

    func finish(_ ending: Ending) throws(FetchError) { try Page.check(ending) }

    var canBeRepeated: Bool { asked.upload.map { $0.rewind != nil } ?? true }

    func conclude(_ result: Attempt, _ job: Job) -> Outcome {
        let ending = result.ending ?? result.error.flatMap { log?.refusal($0) }
        let page = Result { () throws(FetchError) in
            guard let ending else { throw (result.error ?? .cancelled).of(asked.url) }
            return Page(ending, parts, job.fetcher.registry)
        }
        (parts, log) = (Page.Parts(), nil)
        self.result = FetchResult(
            index: job.n, request: asked, attempts: job.attempts, result: page)
        return result.outcome
    }

    func deliver() async throws(FetchError) {
        if let result = result.take() { try await handoff.put(result) }
    }
}
