// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Replies that were recorded, before a server is asked or when it cannot be.
extension Fetch {
    /// The exchange with the server, or a recording of it.
    mutating func answer() async throws(FetchError) -> Ending {
        let network = fetcher.options.network
        guard let recall = network.recall, request.upload == nil, request.input == nil,
            try fetcher.options.identities.identity(
                for: request.uri, origin: origin, in: fetcher.registry) == nil,
            let (date, recorded) = recall.find(request)
        else { return try await exchange(over: network) }
        let age = Double(max(0, UTCDate.now - date))
        guard recall.isAlone || age < recall.secondsMax else {
            return try await renew(date, recorded, network)
        }
        do throws(FetchError) {
            log.recalled = (date, false)
            return try await exchange(over: recorded)
        } catch  where error.outcome == .notRecorded && log.head == nil {
            // A recording of another request for the URL.
            log.recalled = nil
            return try await exchange(over: network)
        }
    }

    /// Asks the server again; the recording answers if nothing has changed, or for a failure that
    /// may pass.
    private mutating func renew(
        _ date: Int, _ recorded: Network, _ network: Network
    ) async throws(FetchError) -> Ending {
        let (asked, why): (Request, String)
        (asked, request) = (request, await conditional(request, recorded))
        defer { request = asked }
        do throws(FetchError) {
            let ending = try await exchange(over: network, holdsFailures: true)
            let isUnchanged = ending.head?.isUnchanged ?? false
            guard isUnchanged || ending.outcome == .temporaryFailure else { return ending }
            if isUnchanged, asked.validator != nil, let head = ending.head {
                try await emit(.head(head))
                return ending
            }
            why = isUnchanged ? "" : ending.message ?? "the server refused for now"
        } catch  where error.isRetryable && log.head == nil {
            why = error.message
        }
        request = asked
        log.recalled = (date, !why.isEmpty)
        if !why.isEmpty {
            let day = UTCDate.second(date).prefix(10)
            try await emit(.note(Note("stale", "as of \(day): \(why)")))
        }
        return try await exchange(over: recorded)
    }

    /// The request for a change since a recording, if its reply can be told from others.
    private func conditional(_ request: Request, _ recorded: Network) async -> Request {
        guard request.validator == nil, request.scheme.dialsForItself else { return request }
        var head: Head?
        let there = fetcher.changed { options in
            (options.network, options.robots, options.redirects.follows) = (recorded, nil, false)
        }
        var fetch = Fetch(there, request, FetchLog(request.uri)) { event throws(FetchError) in
            guard case .head(let found) = event else { return }
            head = found
            throw .cancelled
        }
        _ = try? await fetch.run()
        guard let text = head?.validator else { return request }
        var conditional = request
        conditional.validator = Request.Validator(text, of: request.uri)
        return conditional
    }
}
