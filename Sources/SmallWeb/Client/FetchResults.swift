// SPDX-License-Identifier: MIT
public import SmallWebCore

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

    /// The defaults are those of the command line; ``pauseMax`` is set afterwards.
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

/// What came of one of many URLs.
public struct FetchResult: Sendable {
    /// Its place among the URLs, from 0.
    public let index: Int
    /// As it was given.
    public let url: String
    /// Attempts that were made; 0 for a URL that could not be tried.
    public let attempts: Int
    /// The page, also when it is a refusal, or why there is none.
    public let result: Result<Page, FetchError>

    /// The page.
    ///
    /// - Throws: Why there is none.
    public func get() throws(FetchError) -> Page { try result.get() }
}

extension Client {
    /// Fetches many URLs at the same time.
    ///
    /// The URLs are read as there is room, the first of them when the first result is asked for. A
    /// slow consumer stops further fetches from starting: at most four pages for each of `parallel`
    /// are held back. A failed fetch is a result; the sequence itself throws when its task is
    /// cancelled.
    ///
    /// - Parameters:
    ///   - parallel: Fetches at a time, 1 or more. Each needs a descriptor.
    ///   - limits: Those of each attempt.
    public func run(
        _ urls: some Sequence<String> & Sendable, parallel: Int = 1,
        options: RunOptions = RunOptions(), limits: Limits = .page
    ) -> FetchResults {
        FetchResults(web: self, parallel: parallel, options: options, limits: limits) {
            var iterator = urls.makeIterator()
            return { iterator.next() }
        }
    }

    /// Fetches URLs that come one after the other, as the lines of a file do.
    ///
    /// As ``run(_:parallel:options:limits:)``; when `urls` fails, so does the
    /// sequence, after the results of those that came before.
    public func run<URLs: AsyncSequence & Sendable>(
        _ urls: URLs, parallel: Int = 1, options: RunOptions = RunOptions(),
        limits: Limits = .page
    ) -> FetchResults where URLs.Element == String {
        FetchResults(web: self, parallel: parallel, options: options, limits: limits) {
            var iterator = urls.makeAsyncIterator()
            return { () async throws(FetchError) in
                do {
                    return try await iterator.next(isolation: nil)
                } catch {
                    throw (error as? FetchError)
                        ?? FetchError(.read, .input, "the list of URLs failed: \(error)")
                }
            }
        }
    }
}

/// The results of many fetches. See ``Client/run(_:parallel:options:limits:)``.
public struct FetchResults: AsyncSequence, Sendable {
    public typealias Element = FetchResult
    public typealias Failure = FetchError

    let web: Client
    let parallel: Int
    let options: RunOptions
    let limits: Limits
    let open: @Sendable () -> URLReader.Next

    init(
        web: Client, parallel: Int, options: RunOptions, limits: Limits,
        open: @escaping @Sendable () -> URLReader.Next
    ) {
        self.web = web
        self.parallel = parallel
        self.options = options
        self.limits = limits
        self.open = open
    }

    /// Begins another run, which starts with its first `next()`.
    public func makeAsyncIterator() -> Iterator {
        let run = self
        return Iterator(
            Producer { handoff async throws(FetchError) in
                try await Batch(run, handoff).run()
            })
    }

    /// One run that is under way. Dropping it ends all of its fetches.
    public final class Iterator: AsyncIteratorProtocol {
        private let producer: Producer<FetchResult>

        init(_ producer: Producer<FetchResult>) { self.producer = producer }

        /// The next result; `nil` after the last.
        ///
        /// - Throws: `interrupted` when the task is cancelled; what the URLs' own sequence throws.
        public func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(FetchError) -> FetchResult? {
            try await producer.next()
        }

        /// The next result; `nil` after the last.
        public func next() async throws(FetchError) -> FetchResult? { try await producer.next() }
    }
}
