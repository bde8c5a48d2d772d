// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Replies that were recorded, before a server is asked or when it cannot be.
extension Fetch {
    /// Most recordings, or eights of them, that are tried for one request.
    private static let triesMax = 64

    /// The exchange with the server, or a recording of it.
    mutating func answer() async throws(FetchError) -> Ending {
        let network = fetcher.options.network
        guard let recall = network.recall else { return try await exchange(over: network) }
        let identity = try fetcher.options.identities.identity(
            for: request.uri, origin: origin, in: fetcher.registry)
        guard handler.isSafe(request, hasIdentity: identity != nil) else {
            let ending = try await exchange(over: network)
            if [.success, .redirect].contains(ending.head?.replyClass ?? .success) {
                forget(request.uri)
            }
            return ending
        }
        let first = Double(UTCDate.now + 1) - recall.secondsMax
        if recall.isAlone || recall.secondsMax > 0 {
            do throws(FetchError) {
                return try await play(recall, since: recall.isAlone || first < 0 ? 0 : Int(first))
            } catch  where error.outcome == .notRecorded && log.head == nil && !recall.isAlone {}
        }
        return try await renew(recall, network)
    }

    /// Plays the latest conversation, or one before it if that lacks a part.
    ///
    /// - Parameters:
    ///   - since: Unix seconds of the oldest one.
    ///   - why: The reason to do without the server; empty for none.
    private mutating func play(
        _ recall: Recall, since: Int = 0, why: String = ""
    ) async throws(FetchError) -> Ending {
        var times = since * 1_000_000..<Int.max
        for _ in 1..<Self.triesMax {
            do throws(FetchError) {
                return try await exchange(over: recall.network(times), recalled: why)
            } catch  where error.outcome == .notRecorded && log.head == nil {
                guard let recorded, times.contains(recorded) else { throw error }
                times = times.lowerBound..<recorded
            }
        }
        return try await exchange(over: recall.network(times), recalled: why)
    }

    /// Asks the server; a recording answers if nothing has changed, or for a failure that may pass.
    private mutating func renew(
        _ recall: Recall, _ network: Network
    ) async throws(FetchError) -> Ending {
        let asked = request
        guard await condition() else { return try await exchange(over: network) }
        defer { request = asked }
        var (why, refusal, failure) = ("", Ending?.none, FetchError?.none)
        do throws(FetchError) {
            let ending = try await exchange(over: network, holdsFailures: true)
            let isUnchanged = ending.head?.isUnchanged ?? false
            guard isUnchanged || ending.outcome == .temporaryFailure else { return ending }
            if isUnchanged, asked.validator != nil, let head = ending.head {
                try await emit(.head(head))
                return ending
            }
            if !isUnchanged {
                (why, refusal) = (ending.message ?? "the server refused for now", ending)
            }
        } catch  where error.isRetryable && log.head == nil {
            (why, failure) = (error.message, error)
        }
        request = asked
        let held = heldBody
        do throws(FetchError) {
            return try await play(recall, why: why)
        } catch  where error.outcome == .notRecorded && log.head == nil {
            // It was removed, or there was none.
            if let failure { throw failure }
            guard let refusal else { return try await exchange(over: network) }
            if let head = refusal.head { try await emit(.head(head)) }
            if !held.isEmpty { try await emit(.body(held[...])) }
            return refusal
        }
    }

    /// Makes the request one for a change since a recording, if its reply can be told from others.
    ///
    /// - Returns: False if there is no recording.
    private mutating func condition() async -> Bool {
        // For other schemes it is looked for when it is needed.
        guard request.scheme.dialsForItself else { return true }
        var head: Head?
        let there = fetcher.changed { options in
            (options.robots, options.redirects.follows) = (nil, false)
            options.network.recall?.isAlone = true
        }
        var fetch = Fetch(there, request, FetchLog(request.uri)) { event throws(FetchError) in
            guard case .head(let found) = event else { return }
            head = found
            throw .cancelled
        }
        _ = try? await fetch.run()
        if request.validator == nil, let text = head?.validator {
            request.validator = Request.Validator(text, of: request.uri)
        }
        return head != nil
    }

    /// Has recordings of `uri` answer no more (RFC 9111, section 4.4), if the present request asks
    /// for a change at its server.
    func forget(_ uri: URI) {
        guard let recall = fetcher.options.network.recall, uri.host == request.uri.host,
            handler.carriesData(request)
        else { return }
        let schemes = request.scheme.uploads?.replySchemes ?? []
        for scheme in schemes.isEmpty ? [uri.scheme] : schemes {
            var changed = uri.withoutFragment
            (changed.scheme, changed.userinfo) = (scheme, nil)
            recall.forget(changed)
        }
    }
}
