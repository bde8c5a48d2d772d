// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebTransport

/// One fetch: an exchange, and another for each redirect that is followed.
struct Fetch {
    let fetcher: Fetcher
    let log: FetchLog
    let emit: Emit
    private(set) var deadline: Instant
    var request: Request
    private let attempt: Int
    let wantsRefusals: Bool
    /// True once a server has got data, and did not refuse it for now.
    private var hasSentData = false
    /// The connection of the last exchange.
    private var server: Connection?
    /// ``Hop/recorded`` of the last exchange, and the body that it held back.
    private(set) var (recorded, heldBody) = (Int?.none, [UInt8]())
    private(set) var reach = Reach()
    let origin: URI
    /// Requests so far; empty before the first redirect.
    var seen: Set<Visit> = []

    /// A redirect to the same URL after data was sent is followed once, without the data.
    struct Visit: Hashable {
        let uri: URI
        let hasData: Bool

        init(_ request: Request) {
            uri = request.uri.withoutFragment
            hasData = request.input != nil || request.upload != nil
        }
    }

    /// Called on the loop of the fetcher, like all of a fetch: `emit` may use values that are not
    /// `Sendable`.
    ///
    /// - Parameters:
    ///   - log: Gets each event before `emit`, also of a failed fetch.
    ///   - attempt: Number of the request's attempt, from 1.
    ///   - wantsRefusals: True to fetch the body of a refusal, too.
    ///   - origin: The URI that has led to this one, if any: what is meant for its server alone
    ///     goes to no other.
    init(
        _ fetcher: Fetcher, _ request: Request, _ log: FetchLog, attempt: Int = 1,
        wantsRefusals: Bool = true, from origin: URI? = nil, emit: @escaping Emit
    ) {
        (self.attempt, self.wantsRefusals) = (attempt, wantsRefusals)
        self.fetcher = fetcher
        self.log = log
        log.wanted = request.wants(nil)
        self.emit = { event async throws(FetchError) in
            if case .note(let note) = event {
                guard let note = log.admit(note) else { return }
                return try await emit(.note(note))
            }
            log.note(event)
            if case .head(let head) = event { log.wanted = request.wants(head) }
            try await emit(event)
        }
        self.request = request
        self.origin = origin ?? request.uri
        deadline = .end(of: request.limits.totalSeconds)
    }

    mutating func run() async throws(FetchError) -> Ending {
        log.begin(origin)
        try fetcher.check(&request)
        var hops = 0
        while true {
            let ending: Ending
            do throws(FetchError) {
                if let robots = fetcher.options.robots,
                    try await robots.check(request, from: origin, try fetcher(for: request))
                {
                    deadline = .end(of: request.limits.totalSeconds)
                    if hops == 0 { log.begin(origin) }
                }
                if hops == 0 { try checkLimits() }
                ending = try await sending()
            } catch  where hops > 0 && error.outcome == .badURL {
                // The plugin refuses the target, which the server has chosen and not the user.
                throw FetchError(
                    .protocolError, .header,
                    "bad redirect to \(request.uri.display): \(error.message)")
            } catch  where hops > 0 && error.outcome == .refusedAddress {
                var error = error
                error.message = "the redirect leads to \(request.uri.display): \(error.message)"
                throw error
            } catch {
                throw timed(error)
            }
            ending.connection = log.connection
            ending.traffic = log.traffic ?? Ending.Traffic()
            if hasSentData { ending.noteData() }
            reach.begin(origin, log.connection, fetcher.options)
            hops += 1
            if try await follow(ending, hops: hops) { continue }
            guard try await answer(ending, hops: hops) else { return ending }
        }
    }

    /// - Throws: `timeout` for a limit that is over before anything is tried.
    private func checkLimits() throws(FetchError) {
        try LongWork.check(deadline)
        if let seconds = request.limits.connectSeconds, seconds <= 0 {
            throw FetchError(
                .timeout, .connect, "there is no time to connect in", remedy: .raise(.connectTime))
        }
        if let seconds = request.limits.idleSeconds, seconds <= 0 { throw .silence(.header) }
    }

    /// Makes the next request if the reply is a redirect to be followed; false otherwise.
    //
    // Not inlined, like ``timed(_:)`` and ``hop(_:)``: their variables would be kept while an
    // exchange waits for the server.
    @inline(never)
    private mutating func follow(_ ending: Ending, hops: Int) async throws(FetchError) -> Bool {
        let policy = fetcher.options.redirects
        guard let head = ending.head, head.replyClass == .redirect,
            let target = head.redirectTarget, policy.follows || policy.judges
        else { return false }
        let (next, note): (Request, Note?)
        var redirect: Ending.Redirect
        do throws(FetchError) {
            (next, note) = try self.target(target, status: head.status)
            forget(next.uri)
            redirect = Ending.Redirect(
                status: head.status, from: request.uri, to: next.uri,
                isPermanent: head.isPermanentRedirect)
            try check(next, hops: hops)
            try await checkWay(to: next, redirect)
        } catch  where error.outcome == .redirectRefused {
            // The reply stands; only following it is refused.
            if policy.follows { try await emit(.head(head)) }
            ending.refuse(error)
            return false
        }
        guard policy.follows else {
            ending.redirectTarget = next.uri
            return false
        }
        redirect.header = head.header
        try await emit(.redirect(redirect))
        if let note { try await emit(.note(note)) }
        reach.leave(server)
        request = next
        return true
    }

    /// Completes a timeout with the limit that was exceeded, and how far the fetch had got. The
    /// code that waits for a server knows only the end of the wait.
    @inline(never)
    func timed(_ error: FetchError) -> FetchError {
        guard error.outcome == .timeout, case .raise(let limit)? = error.remedy else {
            return error
        }
        let limits = request.limits
        let phase = error.phase == .body && log.head == nil ? .header : error.phase
        var (result, seconds) = (error.of(phase), limits.connectSeconds ?? 0)
        if Instant.now >= deadline {
            seconds = limits.totalSeconds ?? 0
            result = FetchError(
                .timeout, phase, "the fetch took longer than \(seconds.shortest) s",
                remedy: .raise(.totalTime))
        } else if limit == .silence {
            seconds = limits.idleSeconds ?? 0
        }
        if case .raise(let limit)? = result.remedy, log.traffic?.received ?? 0 == 0,
            error.phase == .tls || log.connection != nil && error.phase != .connect
        {
            let name = request.scheme.name
            result.remedy = .checkPort(speaks: error.phase == .tls ? "TLS" : name, limit)
        }
        log.timings.end()
        let milliseconds = ((log.timings.total?.inSeconds ?? 0) * 1000).rounded()
        result.expected = seconds.shortest
        result.actual = "\((milliseconds / 1000).shortest) s, \(log.traffic?.received ?? 0) bytes"
        return result
    }

    /// One request and its reply. Marks errors after which the server may have data.
    private mutating func sending() async throws(FetchError) -> Ending {
        // Most requests have nothing that a handler could call data.
        let mayCarry =
            request.upload != nil || request.input != nil || request.uri.query != nil
            || !request.options.isEmpty
        guard mayCarry, handler.carriesData(request) else {
            do throws(FetchError) {
                return try await answer()
            } catch {
                throw hasSentData ? error.afterData : error
            }
        }
        let before = log.traffic?.sent ?? 0
        do throws(FetchError) {
            let ending = try await answer()
            // A refusal for now says that the data was not taken.
            if ending.outcome != .temporaryFailure { hasSentData = true }
            return ending
        } catch {
            let isTaken =
                error.outcome != .temporaryFailure && (log.traffic?.sent ?? 0) > before
            throw hasSentData || isTaken ? error.afterData : error
        }
    }

    /// One request and its reply. A redirect's head is held back while it may be followed.
    ///
    /// - Parameters:
    ///   - holdsFailures: True to hold back refusals for now, and "not changed".
    ///   - why: The reason to play a recording though the server was asked, empty for none; `nil`
    ///     for an exchange with the server.
    mutating func exchange(
        over network: Network, holdsFailures: Bool = false, recalled why: String? = nil
    ) async throws(FetchError) -> Ending {
        let entry = entry
        let hop = try hop(entry.handler)
        defer {
            (server, recorded) = (hop.connection, hop.recorded)
            hop.close()
            log.traffic?.sent += hop.traffic.sent
            log.traffic?.received += hop.traffic.received
            log.programConnections = hop.programConnections
        }
        let dialer = try network.dialer(request, hop)
        let delivery = Delivery(for: self, over: hop, holdsFailures: holdsFailures, recalled: why)
        var completeness = Completeness.unverified
        do throws(FetchError) {
            completeness = try await deliver(entry, dialer, delivery)
            heldBody = delivery.held
            try await delivery.finish()
        } catch {
            hop.close()
            let isEnough = delivery.isEnough
            if !isEnough { await (dialer as? NetworkDialer)?.reportRefused(error, request) }
            try hop.tap?.end(isEnough ? .headAlone : .failed(timed(error)))
            try await hop.endSent()
            guard isEnough else { throw error }
        }
        try await hop.endSent()
        hop.close()
        if !delivery.isEnough { try hop.tap?.end(.replied(completeness, delivery.head)) }
        log.timings.end()
        return ending(delivery.head, completeness, hop)
    }

    /// Has the plugin make the exchange.
    private func deliver(
        _ entry: Registry.Entry, _ dialer: any Dialer, _ delivery: Delivery
    ) async throws(FetchError) -> Completeness {
        let handler = entry.handler
        var asked = request
        if let validator = asked.validator, !validator.isForAll,
            validator.uri.withoutPassword != request.uri.withoutPassword
        {
            asked.validator = nil
        }
        if !entry.isOurs { return try await deliver(away: handler, asked, dialer, delivery) }
        guard asked.scheme.computesForLong else {
            return try await handler.fetch(asked, dialer: dialer, emit: delivery.take)
        }
        return try await LongWork.within(deadline) { () async throws(FetchError) in
            try await handler.fetch(asked, dialer: dialer, emit: delivery.take)
        }
    }

    private func ending(_ head: Head?, _ completeness: Completeness, _ hop: Hop) -> Ending {
        let ending = Ending(
            request.uri, head, completeness, bodyBytes: log.bodyBytes, log.timings)
        if [.permanentFailure, .temporaryFailure].contains(ending.outcome) {
            let wantsLogin = head?.fields?["www-authenticate"] != nil
            ending.remedy = wantsLogin ? .giveCredentials : otherURL()
        } else if ending.outcome == .needsIdentity {
            let options = request.upload.map { _ in handler.options(of: request.scheme.name) }
            if options?.contains(where: { $0.key == Request.Option.uploadToken.key }) ?? false {
                ending.remedy = .giveToken(request.uri)
            } else if hop.hasIdentity {
                // Another certificate would not help.
                ending.remedy = .listIdentities
            }
        }
        return ending
    }

    var handler: any ProtocolHandler { entry.handler }

    private var entry: Registry.Entry {
        guard let entry = fetcher.registry[request.uri.scheme] else {
            preconditionFailure("a request is made from a registry entry")
        }
        return entry
    }

    /// A better URL for one that was refused: of another scheme, or with a slash more.
    @inline(never)
    private func otherURL() -> FetchError.Remedy? {
        var other = request.uri
        for scheme in fetcher.registry.schemes {
            guard let mark = scheme.pathMark else { continue }
            let (isMarked, single) = (other.path.contains(text: mark), String(mark.dropLast()))
            let isOfWeb = scheme.webScheme == other.scheme
            guard isOfWeb || scheme.name == other.scheme && !isMarked,
                isMarked || other.path.contains(text: single)
                    || isOfWeb && other.path.hasSuffix(single.dropLast())
            else { continue }
            other.scheme = scheme.name
            if !isMarked { other.path = other.path.replacing(text: single, with: mark) }
            return .useOtherURL(other)
        }
        return nil
    }

    @inline(never)
    private func hop(_ handler: any ProtocolHandler) throws(FetchError) -> Hop {
        let emit = emit
        let fetcher = reach.applied(to: try fetcher(for: request))
        let hidesInput = request.isInputSecret && request.input != nil
        let hop = Hop(
            fetcher, request.scheme, request.limits, by: deadline
        ) { event async throws(FetchError) in
            guard case .sent(let bytes, let method) = event else { return try await emit(event) }
            // The input may be in any form, and in pieces.
            let shown = hidesInput ? SecretMask.mark : handler.redacted(bytes)
            try await emit(.sent(shown, method: method))
        }
        hop.isOfProgram = handler.programVersion != nil
        if hop.isOfProgram { hop.secrets = request.secretValues }
        hop.reach = reach
        hop.sessions = self.fetcher.sessions
        hop.attempt = attempt
        if request.uri != origin { hop.origin = origin }
        let identity = try fetcher.options.identities.identity(
            for: request.uri, origin: origin, in: fetcher.registry)
        if let identity { hop.show(identity, to: try request.endpoint) }
        return hop
    }

    func fetcher(for request: Request) throws(FetchError) -> Fetcher {
        request.uri == origin ? fetcher : try fetcher.afterRedirect(to: request.uri)
    }
}

extension FetchError {
    static func redirect(_ message: String) -> FetchError {
        FetchError(.redirectRefused, .header, message, remedy: .allowRedirectScheme)
    }
}

extension Ending {
    convenience init(
        _ uri: URI, _ head: Head?, _ completeness: Completeness, bodyBytes: Int,
        _ timings: Ending.Timings
    ) {
        let outcome =
            head?.replyClass.refusal ?? (completeness == .truncated ? .truncated : .ok)
        self.init(
            outcome: outcome, completeness: completeness, uri: uri, head: head,
            bodyBytes: bodyBytes, message: Self.message(outcome, head, bodyBytes), timings: timings)
        if outcome == .needsIdentity { remedy = .bindIdentity(uri) }
    }

    /// Marks that data was sent, and may have been taken by the server.
    func noteData() {
        hasSentData = true
        guard outcome.isRetryable, let said = message else { return }
        message = said + FetchError.sentDataNote
    }

    func refuse(_ error: FetchError) {
        outcome = error.outcome
        message = error.message
        remedy = error.remedy
    }

    private static func message(_ outcome: Outcome, _ head: Head?, _ bodyBytes: Int) -> String? {
        if outcome == .ok { return nil }
        let status = head?.status.map { "\($0)" } ?? ""
        let meta = head?.meta.map(URI.shown) ?? ""
        let words = [status, meta].filter { !$0.isEmpty }.joined(separator: " ")
        let said = [words, head?.explanation ?? ""].filter { !$0.isEmpty }.map { ": " + $0 }
            .joined()
        switch outcome {
        case .truncated:
            if let all = head?.bodyBytes, all > bodyBytes {
                return "the body is cut off: \(all - bodyBytes) of \(all) bytes are missing"
            }
            return "the body may be cut off: the connection ended without the sign of its end"
        case .needsInput: return "the server asks for input\(said)"
        case .redirectRefused: return "not following the redirect\(said)"
        case .needsIdentity: return "the server asks for a client certificate\(said)"
        default:
            // Perhaps longer than a run waits.
            let pause = "\(Int(head?.retryAfter?.inSeconds ?? 0))"
            let isSaid = pause == "0" || meta == pause
            return "the server refused\(said)"
                + (isSaid ? "" : "; it asks for a pause of \(pause) seconds")
        }
    }
}
