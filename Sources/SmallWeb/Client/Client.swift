// SPDX-License-Identifier: MIT
public import SmallWebCore
public import SmallWebPlugins
public import SmallWebTransport

/// Fetches URLs of the schemes of `Registry.builtIn` and of added plugins.
///
/// Four ways in, all with the same rules for redirects, trust and limits:
/// ``fetch(_:input:limits:timeout:)-(String,_,_,_)`` collects a page,
/// ``response(_:input:limits:timeout:isolation:)-(String,_,_,_,_)`` leaves its body to be read,
/// ``events(_:input:limits:)-(String,_,_)`` is the fetch as it happens, and
/// ``run(_:parallel:options:limits:)-(SendableSequence<String>,_,_,_)`` fetches many.
///
/// All may be called from any task, and at the same time; cancelling the task ends the fetch and
/// closes its connection. What it throws then is a `FetchError` with the outcome `interrupted`,
/// as all errors here are typed, and never a `CancellationError`.
///
/// A value has a thread of its own, which ends with its last copy and the last fetch.
public struct Client: Sendable {
    /// Options for all fetches of one ``Client``.
    public struct Options: Sendable {
        /// The store of servers' keys, and the rules for them; `nil` for the user's own store,
        /// which the command line shares, with trust on first use, or certificate authorities for
        /// schemes that need them.
        public var trust: TrustStore?
        /// Client certificates to show; none by default.
        public var identities = Identities()
        /// The redirects to follow.
        public var redirects = RedirectPolicy()
        /// Decides if a redirect is followed that ``redirects`` allows; `nil` for all. One that is
        /// not is a page with the outcome `redirect-refused`. Called away from the client's thread:
        /// it may wait or block, and other fetches go on. With the total time of its fetch, or when
        /// that is cancelled, its task is cancelled, and its answer has no effect any more.
        public var mayFollow: (@Sendable (Ending.Redirect) async -> Bool)?
        /// Answers a server that asks for input, as ``mayFollow`` is called. The prompt is
        /// `Head.meta` of `Ending.head`. With `nil`, or an answer of `nil`, it is a
        /// page with the outcome `needs-input`. As many are answered in a row as redirects are
        /// followed.
        public var answer: (@Sendable (Ending) async -> String?)?
        /// The resolver of host names.
        public var resolver = Resolver()
        /// Proxies for every scheme; by default those in the environment.
        public var proxies = ProxySettings()
        /// Settings of HTTP connections, with the certificate authorities to trust.
        public var http = HTTPSettings()
        /// Schemes that may be fetched; `nil` for all that have a plugin.
        public var schemes: Set<String>?

        /// The defaults.
        public init() {}
    }

    /// The protocol plugins, by scheme.
    public let plugins: Registry
    package let fetcher: Fetcher

    /// - Parameters:
    ///   - plugins: `.builtIn`, or a registry with plugins of your own: see
    ///     `Registry.adding(_:)`.
    ///   - options: Options for all fetches.
    ///   - network: The source of replies; in tests, a replay by `SmallWebTesting`.
    /// - Throws: `usage` when there is no home directory to find the trust store by; `connect` or
    ///   `resolve` when the system has no descriptor or thread left.
    public init(
        plugins: Registry = .builtIn, options: Options = Options(), network: Network = .live
    ) throws(FetchError) {
        guard let store = options.trust ?? UserFiles.knownHosts.map({ TrustStore(path: $0) }) else {
            throw usageError("no home directory for the trust store: HOME is not set")
        }
        var settings = Fetcher.Options(trustStore: store)
        settings.identities = options.identities
        settings.redirects = options.redirects
        (settings.mayFollow, settings.answer) = (options.mayFollow, options.answer)
        settings.resolver = options.resolver
        settings.proxies = options.proxies
        settings.http = options.http
        settings.allowedSchemes = options.schemes
        settings.network = network
        self.plugins = plugins
        fetcher = Fetcher(registry: plugins, options: settings, thread: try LoopThread())
    }

    /// A request for `url` to modify before it is fetched: other methods, uploads, raw bodies.
    ///
    /// - Throws: `bad-url`, `unsupported-scheme`, `not-built-in`. All else is checked when the
    ///   request is fetched.
    public func request(
        _ url: String, input: String? = nil, limits: Limits = .page
    ) throws(FetchError) -> Request {
        try request(RunRequest(url, input: input, limits: limits))
    }

    func request(_ asked: RunRequest) throws(FetchError) -> Request {
        var request = try fetcher.request(asked.url)
        (request.input, request.isInputSecret) = (asked.input, asked.isInputSecret)
        request.upload = asked.upload
        request.options = asked.options
        request.limits = asked.limits
        return request
    }

    /// Fetches `url` and collects the reply.
    ///
    /// - Parameters:
    ///   - url: A full URL, with its scheme; an international host becomes its A-labels.
    ///   - input: Input that a server asked for, or is sent: search words, an answer, a body.
    ///   - limits: Limits of time, and of the page's size.
    ///   - timeout: Time for all of it, redirects included; it ends a longer one of `limits`.
    /// - Returns: The page, even if it is a refusal: see ``Page/outcome``.
    /// - Throws: The reason for a missing or incomplete reply.
    public func fetch(
        _ url: String, input: String? = nil, limits: Limits = .page, timeout: Duration? = nil
    ) async throws(FetchError) -> Page {
        do throws(FetchError) {
            return try await page(request(url, input: input, limits: limits.within(timeout)))
        } catch {
            throw error.of(url)
        }
    }

    /// Fetches a request made by ``request(_:input:limits:)-(String,_,_)``.
    ///
    /// - Throws: The reason for a missing or incomplete reply; `usage`, before anything is sent,
    ///   for a part that the scheme does not have.
    public func fetch(_ request: Request) async throws(FetchError) -> Page {
        do throws(FetchError) {
            return try await page(request)
        } catch {
            throw error.of(request.uri.description)
        }
    }

    /// The events of a fetch of a request made by ``request(_:input:limits:)-(String,_,_)``.
    public func events(_ request: Request) -> Events {
        Events(
            fetcher: fetcher.reportingRequests, url: request.uri.description,
            request: .success(request))
    }

    /// A fetch as an async sequence of events, ending with `Event.end(_:)`.
    ///
    /// All errors are thrown by `next()`, a bad URL at the first call.
    public func events(
        _ url: String, input: String? = nil, limits: Limits = Limits()
    ) -> Events {
        Events(
            fetcher: fetcher.reportingRequests, url: url,
            request: Result { () throws(FetchError) in
                try request(url, input: input, limits: limits)
            })
    }

    func page(_ request: Request) async throws(FetchError) -> Page {
        let collected = Locked(Page.Parts())
        let ending = try await fetcher.run(request) { event throws(FetchError) in
            collected.withLock { $0.take(event) }
        }
        try Page.check(ending)
        return Page(ending, collected.withLock { $0 }, plugins)
    }
}

extension Limits {
    /// Limits for a page that is kept in memory: at most 16 MiB.
    public static var page: Limits { Limits(bodyBytesMax: 16 << 20) }

    func within(_ timeout: Duration?) -> Limits {
        guard let timeout else { return self }
        var limits = self
        limits.totalSeconds = min(timeout.inSeconds, totalSeconds ?? .infinity)
        return limits
    }
}

extension Registry {
    /// A copy with one more plugin.
    ///
    /// - Throws: `usage` when one of its schemes has a plugin already.
    public func adding(_ plugin: any ProtocolHandler) throws(FetchError) -> Registry {
        var copy = self
        try copy.register(plugin)
        return copy
    }
}

extension Client {
    /// The events of one fetch, ending with `Event.end(_:)`: see
    /// ``Client/events(_:input:limits:)-(String,_,_)``.
    ///
    /// The fetch begins with the first `next()`. At most one event is ready ahead of the consumer;
    /// beyond that a slow consumer slows the socket. Cancelling the consuming task, or dropping the
    /// iterator, ends the fetch and closes its connection.
    public struct Events: AsyncSequence, Sendable {
        public typealias Element = Event
        public typealias Failure = FetchError
        /// One fetch in progress.
        public typealias Iterator = Client.Iterator<Event>

        let fetcher: Fetcher
        let url: String
        let request: Result<Request, FetchError>

        /// Begins another fetch, which starts with its first `next()`.
        public func makeAsyncIterator() -> Iterator {
            let (fetcher, url, request) = (fetcher, url, request)
            return Iterator { handoff async throws(FetchError) in
                do throws(FetchError) {
                    let ending = try await fetcher.run(request.get()) {
                        event async throws(FetchError) in
                        try await handoff.put(event)
                    }
                    try await handoff.put(.end(ending))
                } catch {
                    throw error.of(url)
                }
            }
        }
    }
}
