// SPDX-License-Identifier: MIT
internal import SmallWebCore

extension Fetcher {
    /// A fetch as an async sequence of events, the last of which is ``Event/end(_:)``.
    ///
    /// The fetch begins with the first `next()`. At most one event is ready ahead of the consumer;
    /// beyond that a slow consumer slows the socket. Cancelling the consuming task, or dropping the
    /// iterator, ends the fetch and closes its connection.
    public func events(_ request: Request) -> FetchEvents {
        FetchEvents(fetcher: self, request: request)
    }

    /// What ``fetch(_:bodyBytesMax:)`` collects.
    public struct Response: Sendable {
        public let ending: Ending
        public let body: [UInt8]
        public let items: [Item]
    }

    /// Fetches `url` and collects its body.
    ///
    /// - Parameter bodyBytesMax: Most bytes to keep in memory.
    /// - Throws: `too-large` beyond that, and what ``run(_:emit:)`` throws.
    public func fetch(
        _ url: String, bodyBytesMax: Int = 16 << 20
    ) async throws(FetchError) -> Response {
        var request = try request(url)
        request.limits.bodyBytesMax = bodyBytesMax
        let collected = Locked((body: [UInt8](), items: [Item]()))
        let ending = try await run(request) { event throws(FetchError) in
            switch event {
            case .body(let bytes): collected.withLock { $0.body += bytes }
            case .item(let item): collected.withLock { $0.items.append(item) }
            default: break
            }
        }
        return collected.withLock { Response(ending: ending, body: $0.body, items: $0.items) }
    }
}

/// The events of one fetch. See ``Fetcher/events(_:)``.
public struct FetchEvents: AsyncSequence, Sendable {
    public typealias Element = Event
    public typealias Failure = FetchError

    let fetcher: Fetcher
    let request: Request

    public func makeAsyncIterator() -> Iterator {
        Iterator(fetcher: fetcher, request: request)
    }

    public final class Iterator: AsyncIteratorProtocol {
        private let fetcher: Fetcher
        private let request: Request
        private let handoff = Handoff()
        private var producer: Task<Void, Never>?

        init(fetcher: Fetcher, request: Request) {
            self.fetcher = fetcher
            self.request = request
        }

        deinit { producer?.cancel() }

        public func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(FetchError) -> Event? {
            if producer == nil {
                let (fetcher, request, handoff) = (fetcher, request, handoff)
                // The one unstructured task of the library: a sequence has no scope that a
                // structured one could live in. It ends with the iterator.
                producer = Task {
                    do throws(FetchError) {
                        let ending = try await fetcher.run(request) {
                            event async throws(FetchError) in
                            try await handoff.put(event)
                        }
                        try await handoff.put(.end(ending))
                        handoff.finish(nil)
                    } catch {
                        handoff.finish(error)
                    }
                }
            }
            let producer = producer
            let result = await withTaskCancellationHandler {
                await handoff.take()
            } onCancel: {
                producer?.cancel()
            }
            return try result.get()
        }

        public func next() async throws(FetchError) -> Event? {
            try await next(isolation: nil)
        }
    }
}

/// Passes events from one task to another, one at a time.
private final class Handoff: Sendable {
    private typealias Taken = Result<Event?, FetchError>

    private struct State {
        var event: Event?
        var end: Taken?
        var taker: CheckedContinuation<Taken, Never>?
        var putter: CheckedContinuation<Bool, Never>?
        var isCancelled = false
    }

    private let state = Locked(State())

    /// Returns when the event before this one has been taken.
    func put(_ event: Event) async throws(FetchError) {
        let hasRoom = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
                let answer: Bool? = state.withLock { state in
                    if state.isCancelled { return false }
                    if state.event == nil { return true }
                    state.putter = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let putter = state.withLock { state in
                state.isCancelled = true
                defer { state.putter = nil }
                return state.putter
            }
            putter?.resume(returning: false)
        }
        guard hasRoom else { throw .cancelled }
        let taker: CheckedContinuation<Taken, Never>? = state.withLock { state in
            guard let taker = state.taker else {
                state.event = event
                return nil
            }
            state.taker = nil
            return taker
        }
        taker?.resume(returning: .success(event))
    }

    func finish(_ error: FetchError?) {
        let taker = state.withLock { state -> CheckedContinuation<Taken, Never>? in
            state.end = error.map { .failure($0) } ?? .success(nil)
            defer { state.taker = nil }
            return state.taker
        }
        taker?.resume(returning: error.map { .failure($0) } ?? .success(nil))
    }

    func take() async -> Result<Event?, FetchError> {
        await withCheckedContinuation { (continuation: CheckedContinuation<Taken, Never>) in
            let (result, putter) = state.withLock {
                state -> (Taken?, CheckedContinuation<Bool, Never>?) in
                if let event = state.event {
                    state.event = nil
                    defer { state.putter = nil }
                    return (.success(event), state.putter)
                }
                if let end = state.end { return (end, nil) }
                state.taker = continuation
                return (nil, nil)
            }
            putter?.resume(returning: true)
            if let result { continuation.resume(returning: result) }
        }
    }
}
