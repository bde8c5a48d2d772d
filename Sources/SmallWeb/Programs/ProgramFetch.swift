// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebTransport

/// A fetch of a URL that a program has opened: a task next to the exchange's, which carries the
/// body to the program.
//
// @unchecked: all of it is on the loop of the exchange.
final class ProgramFetch: @unchecked Sendable {
    private let body: FetchedBody
    private let hop: Hop
    private let log: FetchLog
    private var task: Task<Void, Never>?
    /// The reply, once it is known, and the task that waits for it.
    private var known: Result<FetchedReply, FetchError>?
    private var waiting: CheckedContinuation<Void, Never>?

    /// - Parameter hop: The exchange of the program.
    init(_ fetcher: Fetcher, _ request: Request, for hop: Hop) throws(FetchError) {
        body = try FetchedBody(on: hop.loop)
        self.hop = hop
        log = FetchLog(request.uri)
        task = Task(executorPreference: hop.loop) { await self.run(fetcher, request) }
    }

    private func run(_ fetcher: Fetcher, _ request: Request) async {
        do throws(FetchError) {
            var fetch = Fetch(fetcher, request, log, wantsRefusals: false) {
                [self] event async throws(FetchError) in try await take(event)
            }
            end(try await fetch.run())
        } catch {
            end(error)
        }
    }

    private func take(_ event: Event) async throws(FetchError) {
        switch event {
        case .head(let head) where head.replyClass == .success:
            tell(.success(.init(log.uri, head, .success(body))))
        case .body(let bytes) where known != nil: try await body.put(bytes)
        // The exchange emits nothing while it waits for the reply; afterwards it alone does.
        case .sent(let bytes, let method) where known == nil:
            try await hop.emit(.sent(SecretMask(hop.secrets).masked(bytes), method: method))
        case .connecting where known == nil, .note where known == nil: try await hop.emit(event)
        default: break
        }
    }

    private func end(_ ending: Ending) {
        let message = ending.message ?? ending.outcome.summary
        let error = FetchError(ending.outcome, .body, message, remedy: ending.remedy)
        if let head = ending.head, ending.outcome != .ok {
            tell(.success(.init(log.uri, head, .failure(error))))
        }
        // A reply without a head is an empty success.
        tell(.success(.init(log.uri, Head(.success), .success(body))))
        body.finish(ending.outcome == .ok ? nil : error)
    }

    private func end(_ error: FetchError) {
        tell(.failure(error))
        body.finish(error)
    }

    private func tell(_ reply: Result<FetchedReply, FetchError>) {
        guard known == nil else { return }
        known = reply
        waiting.take()?.resume()
    }

    /// Returns at the head of the reply, or at a failure without one.
    func reply() async throws(FetchError) -> FetchedReply {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if known == nil { waiting = continuation } else { continuation.resume() }
            }
        } onCancel: {
            task?.cancel()
        }
        guard let known else { preconditionFailure("it is known when the wait is over") }
        return try known.get()
    }

    /// Cancels the fetch if it is still under way.
    ///
    /// - Returns: The bytes it has moved.
    func end() async -> Ending.Traffic {
        task?.cancel()
        await task?.value
        return log.traffic ?? Ending.Traffic()
    }
}

extension Network {
    /// A copy that refuses to connect to other servers than that in the request's URL.
    var withoutOthers: Network {
        let dialer = dialer
        return Network(way: way) { request, hop throws(FetchError) in
            GuardedDialer(inner: try dialer(request, hop), place: try request.endpoint)
        }
    }
}

private struct GuardedDialer: ProgramHost {
    let inner: any Dialer
    let place: Endpoint

    func dial(_ endpoint: Endpoint) async throws(FetchError) -> ByteStream {
        try check(endpoint)
        return try await inner.dial(endpoint)
    }

    func httpClient(for endpoint: Endpoint) throws(FetchError) -> any HTTPClient {
        try check(endpoint)
        return try inner.httpClient(for: endpoint)
    }

    func programRunner() throws(FetchError) -> any ProgramRunner { try inner.runner() }

    var isRecorded: Bool { inner.isRecorded }

    private func check(_ endpoint: Endpoint) throws(FetchError) {
        guard endpoint == place else {
            throw FetchError(
                .connect, .connect,
                "a page that a program opens leads to \(endpoint), which it may not open")
        }
    }
}
