// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebTransport

extension Fetch {
    /// Seconds from the deadline on in which a handler may report where it was.
    private static let graceSeconds = 0.1

    /// Has a handler of others make the exchange, away from the loop. Once it is left alone, it has
    /// nothing more to say. An error of `emit` ends the fetch, also if the handler passes over it.
    ///
    /// - Throws: `plugin` for a handler that breaks the rules of events.
    func deliver(
        away handler: any ProtocolHandler, _ asked: Request, _ dialer: any Dialer,
        _ delivery: Delivery
    ) async throws(FetchError) -> Completeness {
        let loop = fetcher.loop
        let said = Locked((order: Event.Order(), isLeft: false))
        // @unchecked: used on the loop alone.
        nonisolated(unsafe) let (away, delivery) = (
            AwayDialer(dialer: dialer, loop: loop, thread: fetcher.thread), delivery
        )
        let end = deadline == .never ? .never : deadline.advanced(seconds: Self.graceSeconds)
        defer { said.withLock { $0.isLeft = true } }
        let completeness: Completeness
        do throws(FetchError) {
            completeness = try await loop.away(by: end) { () async throws(FetchError) in
                try await handler.fetch(asked, dialer: away) { event async throws(FetchError) in
                    try await loop.run { () async throws(FetchError) in
                        do throws(FetchError) {
                            try said.withLock { said throws(FetchError) in
                                if said.isLeft { throw .cancelled }
                                try said.order.add(event)
                            }
                            try await delivery.take(event)
                        } catch {
                            said.withLock { $0.order.error = $0.order.error ?? error }
                            throw error
                        }
                    }
                }
            }
        } catch {
            throw said.withLock { $0.order.error } ?? error
        }
        try said.withLock { said throws(FetchError) in try said.order.end() }
        return completeness
    }
}

/// The dialer of a handler that may be anywhere.
private struct AwayDialer: Dialer {
    let dialer: any Dialer
    let loop: EventLoop
    /// Keeps the loop's thread running while the handler does, even if it was left alone.
    let thread: LoopThread?

    var isRecorded: Bool { dialer.isRecorded }

    func dial(_ endpoint: Endpoint) async throws(FetchError) -> ByteStream {
        try await loop.run { () async throws(FetchError) in
            if Task.isCancelled { throw .cancelled }
            let stream = try await dialer.dial(endpoint)
            (stream.loop, stream.thread) = (loop, thread)
            return stream
        }
    }

    func httpClient(for endpoint: Endpoint) -> any HTTPClient {
        AwayClient(dialer: self, endpoint: endpoint)
    }
}

/// The engine of the dialer, made where it is used.
private struct AwayClient: HTTPClient {
    let dialer: AwayDialer
    let endpoint: Endpoint

    func exchange(
        _ request: HTTPRequest,
        onReply: (HTTPReply) async throws(FetchError) -> Void,
        onBody: (ArraySlice<UInt8>) async throws(FetchError) -> Void
    ) async throws(FetchError) -> Completeness {
        try await dialer.loop.run { () async throws(FetchError) in
            let client = try dialer.dialer.httpClient(for: endpoint)
            return try await client.exchange(request, onReply: onReply, onBody: onBody)
        }
    }
}
