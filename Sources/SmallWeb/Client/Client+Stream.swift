// SPDX-License-Identifier: MIT
public import SmallWebCore
internal import SmallWebTransport

extension Client {
    /// Connects to a server and passes the stream to `body`: for a protocol of one's own without a
    /// `ProtocolHandler`. It goes through the proxies, trusts and resolves like a fetch, and
    /// shows the chosen identity. The stream is closed when `body` returns or throws.
    ///
    /// - Parameters:
    ///   - endpoint: A server, with or without TLS; an international host becomes its A-labels.
    ///   - limits: Limits of time, and by `Limits.bodyBytesMax` of all bytes that are received.
    ///     When the total is over, `body` is cancelled.
    ///   - onState: Called with each new state: `initialised`, `starting`, `started`, and at last
    ///     `stopped`, with the error that ended the stream if there was one. On the thread of the
    ///     client, which it must not block.
    ///   - body: Runs on the thread of the client, which it must not block. A stream that is used
    ///     after its end throws.
    /// - Returns: The result of `body`.
    /// - Throws: A `FetchError`: the errors of `Dialer.dial(_:)`, `bad-url` for an endpoint
    ///   without a valid host, `timeout`; and all that `body` throws.
    public func withStream<Value: Sendable>(
        to endpoint: Endpoint, limits: Limits = Limits(),
        onState: @escaping @Sendable (ByteStream.State) -> Void = { _ in },
        _ body: @escaping @Sendable (ByteStream) async throws -> Value
    ) async throws -> Value {
        onState(.initialised)
        let opening = Opening(fetcher: fetcher, endpoint: endpoint, limits: limits)
        do {
            return try await opening.run(onState, body)
        } catch let error as FetchError {
            throw error.url == nil ? error.of(endpoint.description) : error
        }
    }
}

/// A stream to be opened, as a fetch that has no plugin.
private struct Opening: Sendable {
    let fetcher: Fetcher
    let endpoint: Endpoint
    let limits: Limits

    /// Runs `body`, and cancels it when its time is over.
    //
    // `@concurrent`: see ``Fetcher/run(_:emit:)``.
    @concurrent
    func run<Value: Sendable>(
        _ onState: @escaping @Sendable (ByteStream.State) -> Void,
        _ body: @escaping @Sendable (ByteStream) async throws -> Value
    ) async throws -> Value {
        let loop = fetcher.loop
        let deadline = Instant.end(of: limits.totalSeconds)
        let late = FetchError(
            .timeout, .body,
            "the stream was open for longer than \((limits.totalSeconds ?? 0).shortest) s",
            remedy: .raise(.totalTime))
        return try await withTaskExecutorPreference(loop) {
            try await loop.run(until: deadline, or: late) {
                try await use(by: deadline, onState, body)
            }
        }
    }

    private func use<Value: Sendable>(
        by deadline: Instant, _ onState: (ByteStream.State) -> Void,
        _ body: (ByteStream) async throws -> Value
    ) async throws -> Value {
        // Keeps the hop to the loop; see ``Fetcher/run(_:emit:)``.
        precondition(fetcher.loop.isCurrent)
        var stopped = FetchError?.none
        defer { onState(.stopped(stopped)) }
        let (hop, stream): (Hop, ByteStream)
        do throws(FetchError) {
            onState(.starting)
            let request: Request
            (hop, request) = try self.hop(by: deadline)
            let dialer = try fetcher.options.network.dialer(request, hop)
            stream = try await dialer.dial(request.endpoint)
        } catch {
            stopped = error
            throw error
        }
        defer { hop.close() }
        (stream.loop, stream.thread) = (fetcher.loop, fetcher.thread)
        if let most = limits.bodyBytesMax { stream.limitReceived(to: most) }
        onState(.started)
        defer {
            if case .stopped(let error?) = stream.state { stopped = error }
            stream.close()
        }
        let result: Result<Value, any Error>
        do {
            result = .success(try await body(stream))
        } catch {
            result = .failure(error)
        }
        // It may have been left on the thread of an actor that it called last.
        if !fetcher.loop.isCurrent { await fetcher.loop.enter() }
        return try result.get()
    }

    private func hop(by deadline: Instant) throws(FetchError) -> (Hop, Request) {
        let isSecure = endpoint.security == .tls
        let scheme = Scheme(
            isSecure ? "tls" : "tcp", plugin: "stream", port: endpoint.port,
            transport: isSecure ? .tls : .tcp, summary: "A stream of bytes")
        let uri = try URI(parsing: "\(scheme.name)://\(endpoint)/").withASCIIHost()
        let request = Request(uri: uri, scheme: scheme, limits: limits)
        let hop = Hop(fetcher, scheme, limits, by: deadline) { _ in }
        hop.sessions = fetcher.sessions
        if let identity = fetcher.options.identities.chosen {
            hop.show(identity, to: try request.endpoint)
        }
        return (hop, request)
    }
}

extension EventLoop {
    /// Runs foreign code and cancels it at the deadline. On the loop.
    ///
    /// - Throws: Errors of `body`; `late` in their place after the deadline.
    //
    // Not `away(by:or:_:)`: that leaves its body alone at the deadline, and drops its task's place
    // on the loop. This body has a stream that must not be closed under it, so it is waited for.
    func run<Value: Sendable>(
        until deadline: Instant, or late: FetchError,
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { .some(try await body()) }
            if deadline < .never {
                group.addTask {
                    // Keeps the hop to the loop; see ``Fetcher/run(_:emit:)``.
                    precondition(self.isCurrent)
                    await self.sleep(until: deadline)
                    return nil
                }
            }
            do {
                var isLate = false
                while let result = try await group.next() {
                    group.cancelAll()
                    if let result {
                        // It may have passed over its cancellation.
                        if isLate { throw late }
                        return result
                    }
                    isLate = !Task.isCancelled
                }
            } catch  where Instant.now >= deadline && !Task.isCancelled {
                throw late
            }
            preconditionFailure("a body returns or throws")
        }
    }
}
