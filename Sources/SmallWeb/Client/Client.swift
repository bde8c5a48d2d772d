// SPDX-License-Identifier: MIT
public import SmallWebCore
public import SmallWebPlugins
public import SmallWebTransport

/// Fetches from the small web: the schemes of ``Registry/builtIn``, and what plugins add.
///
/// Three ways in, all with the same rules for redirects, trust and limits:
/// ``fetch(_:input:limits:)`` collects a page, ``events(_:input:limits:)`` is the fetch as it
/// happens, and ``run(_:parallel:options:limits:)-(SendableSequence<String>,_,_,_)`` fetches many.
/// All may be called from any task, and at the same time; cancelling the task ends the fetch and
/// closes its connection.
///
/// A value has a thread of its own, which ends with its last copy and the last fetch.
public struct Client: Sendable {
    /// What applies to all fetches of one ``Client``.
    public struct Options: Sendable {
        /// Where servers' keys are kept, and how they are judged; `nil` for the user's own
        /// store, which the command line shares, and trust on first use, or authorities where a
        /// scheme wants them.
        public var trust: TrustStore?
        /// The client certificates that are shown; none unless this says so.
        public var identities = Identities()
        /// Which redirects are followed.
        public var redirects = RedirectPolicy()
        /// How host names become addresses.
        public var resolver = Resolver()
        /// Which way to go, for every scheme; by default what the environment says.
        public var proxies = ProxySettings()
        /// How HTTP connects, and which certificate authorities it asks.
        public var http = HTTPSettings()
        /// Schemes that may be fetched at all; `nil` for all that have a plugin.
        public var schemes: Set<String>?

        /// The defaults.
        public init() {}
    }

    /// The protocols, by scheme.
    public let plugins: Registry
    package let fetcher: Fetcher

    /// - Parameters:
    ///   - plugins: `.builtIn`, or that with plugins of your own: see ``Registry/adding(_:)``.
    ///   - options: What applies to all fetches.
    ///   - network: What answers; in tests, what `SmallWebTesting` replays.
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
        settings.resolver = options.resolver
        settings.proxies = options.proxies
        settings.http = options.http
        settings.allowedSchemes = options.schemes
        settings.network = network
        self.plugins = plugins
        fetcher = Fetcher(registry: plugins, options: settings, thread: try LoopThread())
    }

    /// A request for `url`, to be changed and then fetched: other methods, uploads, raw bodies.
    ///
    /// - Throws: `bad-url`, `unsupported-scheme`, `not-built-in`; `usage` for input that the scheme
    ///   does not take.
    public func request(
        _ url: String, input: String? = nil, limits: Limits = .page
    ) throws(FetchError) -> Request {
        try request(RunRequest(url, input: input, limits: limits))
    }

    func request(_ asked: RunRequest) throws(FetchError) -> Request {
        var request = try fetcher.request(asked.url)
        guard asked.input == nil || request.scheme.input != nil else {
            throw usageError("the scheme \(request.scheme.name) takes no input")
        }
        guard asked.upload == nil || request.scheme.uploads != nil else {
            throw usageError("the scheme \(request.scheme.name) takes no upload")
        }
        request.input = asked.input
        request.upload = asked.upload
        request.options = asked.options
        request.limits = asked.limits
        return request
    }

    /// Fetches `url` and collects what comes.
    ///
    /// - Parameters:
    ///   - url: In full, with its scheme; an international host becomes its A-labels.
    ///   - input: What a server asked for, or is sent: search words, an answer, a body.
    ///   - limits: How long it may take, and how large the page may be.
    /// - Returns: The page, also when it is a refusal: see ``Page/outcome``.
    /// - Throws: Why there is no whole reply.
    public func fetch(
        _ url: String, input: String? = nil, limits: Limits = .page
    ) async throws(FetchError) -> Page {
        do throws(FetchError) {
            return try await page(request(url, input: input, limits: limits))
        } catch {
            throw error.of(url)
        }
    }

    /// Fetches what ``request(_:input:limits:)`` has made.
    ///
    /// - Throws: Why there is no whole reply.
    public func fetch(_ request: Request) async throws(FetchError) -> Page {
        do throws(FetchError) {
            return try await page(request)
        } catch {
            throw error.of(request.uri.description)
        }
    }

    /// The events of what ``request(_:input:limits:)`` has made.
    public func events(_ request: Request) -> Events {
        Events(fetcher: fetcher, url: request.uri.description, request: .success(request))
    }

    /// A fetch as an async sequence of events, the last of which is ``Event/end(_:)``.
    ///
    /// Mistakes in the URL are thrown by the first `next()`, as are all errors.
    public func events(
        _ url: String, input: String? = nil, limits: Limits = Limits()
    ) -> Events {
        Events(
            fetcher: fetcher, url: url,
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
    /// Those of a page that is kept in memory: at most 16 MiB.
    public static var page: Limits { Limits(bodyBytesMax: 16 << 20) }
}

extension Registry {
    /// The same with one more plugin.
    ///
    /// - Throws: `usage` when one of its schemes has a plugin already.
    public func adding(_ plugin: any ProtocolHandler) throws(FetchError) -> Registry {
        var copy = self
        try copy.register(plugin)
        return copy
    }
}
