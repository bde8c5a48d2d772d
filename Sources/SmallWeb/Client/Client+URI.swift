// SPDX-License-Identifier: MIT
public import SmallWebCore

// A `URI` wherever a `String` is taken.

extension Client {
    /// A request for `uri` to modify before it is fetched: see
    /// ``request(_:input:limits:)-(String,_,_)``.
    ///
    /// - Throws: As for a string.
    public func request(
        _ uri: URI, input: String? = nil, limits: Limits = .page
    ) throws(FetchError) -> Request {
        try request(uri.description, input: input, limits: limits)
    }

    /// Fetches `uri` and collects the reply: see ``fetch(_:input:limits:timeout:)-(String,_,_,_)``.
    ///
    /// - Throws: The reason for a missing or incomplete reply.
    public func fetch(
        _ uri: URI, input: String? = nil, limits: Limits = .page, timeout: Duration? = nil
    ) async throws(FetchError) -> Page {
        try await fetch(uri.description, input: input, limits: limits, timeout: timeout)
    }

    /// A fetch as an async sequence of events: see ``events(_:input:limits:)-(String,_,_)``.
    public func events(
        _ uri: URI, input: String? = nil, limits: Limits = Limits()
    ) -> Events {
        events(uri.description, input: input, limits: limits)
    }

    /// Asks for a page: see ``response(_:input:limits:timeout:isolation:)-(String,_,_,_,_)``.
    ///
    /// - Throws: The reason for a missing reply.
    public func response(
        _ uri: URI, input: String? = nil, limits: Limits = Limits(), timeout: Duration? = nil,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(FetchError) -> Response {
        try await response(
            uri.description, input: input, limits: limits, timeout: timeout, isolation: isolation)
    }

    /// Saves the body of a page: see ``download(_:to:input:limits:timeout:)-(String,_,_,_,_)``.
    ///
    /// - Throws: As for a string.
    @discardableResult
    public func download(
        _ uri: URI, to path: String, input: String? = nil, limits: Limits = Limits(),
        timeout: Duration? = nil
    ) async throws(FetchError) -> Ending {
        try await download(
            uri.description, to: path, input: input, limits: limits, timeout: timeout)
    }

    /// Fetches many URIs at the same time: see
    /// ``run(_:parallel:options:limits:)-(SendableSequence<String>,_,_,_)``.
    public func run(
        _ uris: some Sequence<URI> & Sendable, parallel: Int = 1,
        options: RunOptions = RunOptions(), limits: Limits = .page
    ) -> Results {
        run(
            uris.lazy.map { RunRequest($0, limits: limits) }, parallel: parallel, options: options)
    }
}

extension RunRequest {
    /// A request for `uri`; other properties are set afterwards.
    public init(_ uri: URI, input: String? = nil, limits: Limits = .page, tag: String? = nil) {
        self.init(uri.description, input: input, limits: limits, tag: tag)
    }
}
