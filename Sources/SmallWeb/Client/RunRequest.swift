// SPDX-License-Identifier: MIT
public import SmallWebCore
public import SmallWebTransport

/// One of many requests: see
/// ``Client/run(_:parallel:options:)-(SendableSequence<RunRequest>,_,_)``.
public struct RunRequest: Sendable {
    /// A full URL, with its scheme; an international host becomes its A-labels.
    public var url: String
    /// Input that a server asked for, or is sent: search words, an answer, a body.
    public var input: [UInt8]?
    /// True if ``input`` must not be shown or kept.
    public var isInputSecret = false
    /// Data to store on the server. It is retried if it can be read again, and only by
    /// ``RunOptions/retriesData`` once the server may have it.
    public var upload: Request.Upload?
    /// Values of options that the plugin of the scheme declares.
    public var options = Request.Options()
    /// Limits of each attempt.
    public var limits: Limits
    /// Judges the server's key; `nil` for the client's trust.
    public var trust: TrustStore?
    /// The client certificate to show to the host and port of ``url``; `nil` for the client's
    /// identities.
    public var identity: ClientIdentity?
    /// The redirects to follow; `nil` for the client's policy.
    public var redirects: RedirectPolicy?
    /// Caller-defined tag, returned with the result.
    public var tag: String?

    /// A request for `url`; other properties are set afterwards.
    public init(
        _ url: String, input: String? = nil, limits: Limits = .page, tag: String? = nil
    ) {
        self.url = url
        self.input = input.map { Array($0.utf8) }
        self.limits = limits
        self.tag = tag
    }
}

/// A queue of requests that may grow during the run, as a crawler finds them: see
/// ``Client/run(_:parallel:options:)-(RunQueue,_,_)``.
public final class RunQueue: Sendable {
    private struct State {
        var requests: [RunRequest] = []
        /// Index of the first request not taken.
        var next = 0
        var isEnded = false
    }

    private let state = Locked(State())
    private let bell = Bell()
    let holdsOpen: Bool

    /// An empty queue.
    ///
    /// - Parameter holdsOpen: True to make the run wait for more until ``end()``: for requests
    ///   pushed by another task than the one that reads the results.
    public init(holdsOpen: Bool = false) { self.holdsOpen = holdsOpen }

    /// Adds a request. Never waits.
    ///
    /// - Throws: `usage` when the queue has ended.
    public func push(_ request: RunRequest) throws(FetchError) {
        let isEnded = state.withLock { state in
            if !state.isEnded { state.requests.append(request) }
            return state.isEnded
        }
        if isEnded { throw usageError("the run has ended: \(URI.display(request.url))") }
        bell.ring()
    }

    /// Ends the queue: no request follows.
    public func end() {
        state.withLock { $0.isEnded = true }
        bell.ring()
    }

    /// - Parameter isLast: True to end the queue if it is empty.
    /// - Returns: The next request, and true at the end of the queue.
    func take(isLast: Bool) -> (request: RunRequest?, isEnded: Bool) {
        state.withLock { state in
            guard state.next < state.requests.count else {
                (state.requests, state.next) = ([], 0)
                state.isEnded = state.isEnded || isLast
                return (nil, state.isEnded)
            }
            let request = state.requests[state.next]
            state.next += 1
            // Those that were taken are dropped, each moved at most once.
            if state.next >= 1024, 2 * state.next >= state.requests.count {
                state.requests.removeFirst(state.next)
                state.next = 0
            }
            return (request, false)
        }
    }

    /// Returns when there may be something to take, or the task is cancelled.
    func more() async { await bell.wait() }
}
