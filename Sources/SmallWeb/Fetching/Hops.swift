// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebTransport

/// One fetch: an exchange, and another for each redirect that is followed.
struct Hops {
    private let fetcher: Fetcher
    private let log: FetchLog
    private let emit: Emit
    private let deadline: Instant
    private var request: Request
    private let attempt: Int
    private let wantsRefusals: Bool
    /// True once a server has got data, and did not refuse it for now.
    private var hasSentData = false
    /// The connection of the last exchange.
    private var server: Connection?
    /// True while all servers before the last were at private addresses.
    private var mayLeadToPrivate = true
    private let origin: URI
    /// True if ``origin`` led to a private address; `nil` before it is known, or if it is not asked.
    private var beganPrivate: Bool?
    /// Requests so far; empty before the first redirect.
    private var seen: Set<Visit> = []

    /// A redirect to the same URL after data was sent is followed once, without the data.
    private struct Visit: Hashable {
        let uri: URI
        let hasData: Bool

        init(_ request: Request) {
            uri = request.uri.withoutFragment
            hasData = request.input != nil || request.upload != nil
        }
    }

    /// Largest body of a redirect that is followed; it is discarded.
    private static let redirectBytesMax = 1 << 20

    /// Called on the loop of the fetcher, like all of a fetch: `emit` may use values that are not
    /// `Sendable`.
    ///
    /// - Parameters:
    ///   - log: Gets each event before `emit`, also of a failed fetch.
    ///   - attempt: Number of the request's attempt, from 1.
    ///   - wantsRefusals: True to fetch the body of a refusal, too.
    init(
        _ fetcher: Fetcher, _ request: Request, _ log: FetchLog, attempt: Int = 1,
        wantsRefusals: Bool = true, emit: @escaping Emit
    ) {
        (self.attempt, self.wantsRefusals) = (attempt, wantsRefusals)
        self.fetcher = fetcher
        self.log = log
        self.emit = { event async throws(FetchError) in
            guard let event = log.admit(event) else { return }
            try await emit(event)
        }
        self.request = request
        origin = request.uri
        deadline = .after(seconds: request.limits.totalSeconds)
    }

    mutating func run() async throws(FetchError) -> Ending {
        log.begin(origin)
        var hops = 0
        while true {
            let ending: Ending
            do throws(FetchError) {
                ending = try await sending()
            } catch  where hops > 0 && error.outcome == .badURL {
                // The plugin refuses the target, which the server has chosen and not the user.
                throw FetchError(
                    .protocolError, .header,
                    "bad redirect to \(request.uri.display): \(error.message)")
            } catch {
                throw timed(error)
            }
            ending.connection = log.connection
            ending.traffic = log.traffic ?? Ending.Traffic()
            if hasSentData { ending.noteData() }
            if fetcher.options.redirects.refusesPrivate {
                beganPrivate = beganPrivate ?? isPrivate(log.connection)
            }
            hops += 1
            guard try await follow(ending, hops: hops) else { return ending }
        }
    }

    /// Makes the next request if the reply is a redirect to be followed; false otherwise.
    //
    // Not inlined, like ``timed(_:)`` and ``hop(_:)``: their variables would be kept while an
    // exchange waits for the server.
    @inline(never)
    private mutating func follow(_ ending: Ending, hops: Int) async throws(FetchError) -> Bool {
        guard let head = ending.head, head.replyClass == .redirect,
            let target = head.redirectTarget, fetcher.options.redirects.follows
        else { return false }
        let (next, note): (Request, Note?)
        do throws(FetchError) {
            (next, note) = try self.target(target, status: head.status)
            try await checkWay(to: next)
            try check(next, hops: hops)
        } catch  where error.outcome == .redirectRefused {
            // The reply stands; only following it is refused.
            try await emit(.head(head))
            ending.refuse(error)
            return false
        }
        var redirect = Ending.Redirect(
            status: head.status, from: request.uri, to: next.uri,
            isPermanent: head.isPermanentRedirect)
        redirect.header = head.header
        try await emit(.redirect(redirect))
        if let note { try await emit(.note(note)) }
        mayLeadToPrivate = mayLeadToPrivate && server?.isPrivate ?? true
        request = next
        return true
    }

    /// Completes a timeout with the limit that was exceeded, and how far the fetch had got. The
    /// code that waits for a server knows only the end of the wait.
    @inline(never)
    private func timed(_ error: FetchError) -> FetchError {
        guard error.outcome == .timeout, case .raise(let limit)? = error.remedy else {
            return error
        }
        let limits = request.limits
        var (result, seconds) = (error, limits.connectSeconds)
        if Instant.now >= deadline {
            seconds = limits.totalSeconds
            result = FetchError(
                .timeout, error.phase, "the fetch took longer than \(seconds.shortest) s",
                remedy: .raise(.totalTime))
        } else if limit == .silence {
            seconds = limits.idleSeconds
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
        let mayCarry = request.upload != nil || request.input != nil || request.uri.query != nil
        guard mayCarry,
            fetcher.registry[request.uri.scheme]?.handler.carriesData(request) ?? false
        else {
            do throws(FetchError) {
                return try await exchange()
            } catch {
                throw hasSentData ? error.afterData : error
            }
        }
        let before = log.traffic?.sent ?? 0
        do throws(FetchError) {
            let ending = try await exchange()
            // A refusal for now says that the data was not taken.
            if ending.outcome != .temporaryFailure { hasSentData = true }
            return ending
        } catch {
            let isTaken =
                error.outcome != .temporaryFailure && (log.traffic?.sent ?? 0) > before
            throw hasSentData || isTaken ? error.afterData : error
        }
    }

    /// How far the reply of an exchange has been read. One value: each variable that the closure
    /// keeps would be an allocation of its own.
    private struct Reading {
        /// Bytes of body; `nil` for no limit.
        var limit: Int?
        var head: Head?
        /// True while the reply is a redirect that may be followed.
        var isHeld = false
        var heldBytes = 0
        /// True once nothing else is wanted of the reply.
        var isEnough = false
        var menu: MenuItems?
    }

    /// One request and its reply. A redirect's head is held back while it may be followed.
    private mutating func exchange() async throws(FetchError) -> Ending {
        guard let entry = fetcher.registry[request.uri.scheme] else {
            preconditionFailure("a request is made from a registry entry")
        }
        let hop = try hop(entry.handler)
        hop.mayLeadToPrivate = mayLeadToPrivate
        defer {
            server = hop.connection
            hop.close()
            log.traffic?.sent += hop.traffic.sent
            log.traffic?.received += hop.traffic.received
            log.programConnections = hop.programConnections
        }
        let (log, emit, limits) = (log, emit, request.limits)
        let holdsRedirects = fetcher.options.redirects.follows
        let dialer = try fetcher.options.network.dialer(request, hop)
        var reading = Reading(limit: limits.bodyBytesMax)
        let (page, isProgram) = (request, entry.handler.programVersion != nil)
        let (wantsHeadAlone, wantsRefusals) = (request.wantsHeadAlone, wantsRefusals)
        func take(_ event: Event) async throws(FetchError) {
            switch event {
            case .head(let reply):
                reading.head = reply
                if reply.hasNoUsualSize && limits.isUsualForBodies {
                    reading.limit = nil
                }
                log.timings.note(event)
                reading.isHeld = holdsRedirects && reply.redirectTarget != nil
                if reading.isHeld { return }
                reading.menu = MenuItems(reply, of: page, isHeld: isProgram)
            case .body(let bytes) where reading.isHeld:
                // A page about the redirect, not the one that was asked for.
                reading.heldBytes += bytes.count
                guard reading.heldBytes <= Self.redirectBytesMax else {
                    throw FetchError(
                        .tooLarge, .body, "the body of the redirect itself is too large",
                        expected: String(Self.redirectBytesMax))
                }
                return
            case .body(let bytes):
                if let limit = reading.limit, log.bodyBytes + bytes.count > limit {
                    throw .tooLarge(limit)
                }
            case .item: reading.menu = nil
            default: break
            }
            try await emit(event)
            if case .body(let bytes) = event {
                for item in reading.menu?.add(bytes) ?? [] { try await emit(.item(item)) }
            }
            // While a fast server sends, nothing else checks the deadline.
            try LongWork.check(deadline)
            if case .head(let reply) = event, !reply.hasNoBody,
                wantsHeadAlone || !wantsRefusals && reply.replyClass != .success
            {
                reading.isEnough = true
                // Caught below: it tells the plugin to stop.
                throw .cancelled
            }
        }
        var completeness = Completeness.unverified
        var asked = request
        if asked.validator?.uri.withoutPassword != request.uri.withoutPassword {
            asked.validator = nil
        }
        do throws(FetchError) {
            completeness =
                if asked.scheme.computesForLong {
                    try await LongWork.within(deadline) { () async throws(FetchError) in
                        try await entry.handler.fetch(asked, dialer: dialer, emit: take)
                    }
                } else {
                    try await entry.handler.fetch(asked, dialer: dialer, emit: take)
                }
            for item in reading.menu?.finish() ?? [] { try await emit(.item(item)) }
            if reading.menu?.isCut ?? false {
                try await emit(
                    .note(
                        Note(
                            "items-dropped",
                            "the menu has more than \(MenuItems.heldMax) lines: others are no items")))
            }
        } catch {
            hop.close()
            try hop.tap?.end(reading.isEnough ? .headAlone : .failed(timed(error)))
            try await hop.endSent()
            guard reading.isEnough else { throw error }
        }
        try await hop.endSent()
        hop.close()
        if !reading.isEnough { try hop.tap?.end(.replied(completeness)) }
        log.timings.end()
        let ending = Ending(
            request.uri, reading.head, completeness, bodyBytes: log.bodyBytes, log.timings)
        if [.permanentFailure, .temporaryFailure].contains(ending.outcome) {
            ending.remedy = otherURL()
        } else if ending.outcome == .needsIdentity, hop.hasIdentity {
            // Another certificate would not help.
            ending.remedy = .listIdentities
        }
        return ending
    }

    /// A better URL for one that was refused: of another scheme, or with a slash more.
    @inline(never)
    private func otherURL() -> FetchError.Remedy? {
        var other = request.uri
        for scheme in fetcher.registry.schemes {
            guard let mark = scheme.pathMark else { continue }
            let isMarked = other.path.contains(text: mark)
            if scheme.webScheme == other.scheme && isMarked {
                other.scheme = scheme.name
                return .useOtherURL(other)
            }
            let single = String(mark.dropLast())
            if scheme.name == other.scheme && !isMarked && other.path.contains(text: single) {
                other.path = other.path.replacing(text: single, with: mark)
                return .useOtherURL(other)
            }
        }
        return nil
    }

    @inline(never)
    private func hop(_ handler: any ProtocolHandler) throws(FetchError) -> Hop {
        let emit = emit
        var fetcher = try fetcher(for: request)
        if refusesPrivate { fetcher = fetcher.changed { $0.resolver.refusesPrivate = true } }
        let hop = Hop(
            fetcher, request.scheme, request.limits, by: deadline
        ) { event async throws(FetchError) in
            guard case .sent(let bytes, let method) = event else { return try await emit(event) }
            try await emit(.sent(handler.redacted(bytes), method: method))
        }
        if handler.programVersion != nil { hop.secrets = request.secretValues }
        hop.sessions = self.fetcher.sessions
        hop.attempt = attempt
        if request.uri != origin { hop.origin = origin }
        let identity = try fetcher.options.identities.identity(
            for: request.uri, origin: origin, in: fetcher.registry)
        if let identity { hop.show(identity, to: try request.endpoint) }
        return hop
    }

    private func fetcher(for request: Request) throws(FetchError) -> Fetcher {
        request.uri == origin ? fetcher : try fetcher.afterRedirect(to: request.uri)
    }

    /// The next request, resolved against the present URI, and a remark on data that is not sent
    /// on.
    private func target(
        _ reference: String, status: Int?
    ) throws(FetchError) -> (Request, Note?) {
        do throws(FetchError) {
            let redirects = fetcher.options.redirects
            // Before it is parsed: an unknown scheme may have URLs of another form.
            let named = URI.scheme(of: reference.trimmed) ?? request.uri.scheme
            guard redirects.allows(from: request.scheme, to: named) else {
                throw .redirect(
                    "not following a redirect to another scheme: \(URI.shown(reference))")
            }
            // Servers send spaces around a reference, and unescaped ones in names.
            let encoded = reference.trimmed.split(separator: " ", omittingEmptySubsequences: false)
            let text = encoded.joined(separator: "%20")
            var uri = try request.uri.resolving(text, in: fetcher.registry)
            // The server's fragment counts; ours stays when it gives none (RFC 9110 §10.2.2).
            if uri.fragment == nil { uri.fragment = request.uri.fragment }
            var next = try fetcher.request(uri)
            guard fetcher.options.mayFollow?(next.uri) ?? true else {
                throw .redirect("the program may not open \(next.uri.display)")
            }
            if request.upload != nil, URI.scheme(of: text) == nil,
                let scheme = next.scheme.uploads?.replySchemes.first
            {
                uri.scheme = scheme
                next = try fetcher.request(uri)
            }
            // A request to a scheme with uploads alone would be an upload.
            if request.upload != nil, next.scheme.uploads?.isOnlyUse == true {
                throw .redirect("not sending the upload again to \(uri.display)")
            }
            if fetcher.options.http.isSpecial && !next.scheme.dialsForItself {
                throw .redirect("not leaving HTTP's socket or host for \(uri.display)")
            }
            next.limits = request.limits
            next.wantsRawBody = request.wantsRawBody
            next.wantsHeadAlone = request.wantsHeadAlone
            next.allowsEmptyReply = request.allowsEmptyReply
            next.wantsItems = request.wantsItems
            next.validator = request.validator
            next.referencePatterns = request.referencePatterns
            if next.scheme.canResume {
                (next.resumeOffset, next.bodyState) = (request.resumeOffset, request.bodyState)
            }
            guard let entry = fetcher.registry[request.scheme.name] else {
                preconditionFailure("a request is made from a registry entry")
            }
            let carried = entry.handler.carried(
                from: request, status: status, isSameOrigin: isSameOrigin(next))
            next.options = carried.options
            next.input = carried.input
            next.isInputSecret = request.isInputSecret && carried.input != nil
            next.programSecrets = request.programSecrets
            return (next, Self.note(carried.leftOut, next.uri))
        } catch {
            if error.outcome == .redirectRefused { throw error }
            if error.outcome == .unsupportedScheme {
                throw .redirect("the redirect leads to \(URI.shown(reference)): \(error.message)")
            }
            throw FetchError(
                .protocolError, .header,
                "bad redirect to \"\(URI.shown(reference))\": \(error.message)")
        }
    }

    /// Refuses a redirect to a private address, and one that would leave a proxy.
    private func checkWay(to next: Request) async throws(FetchError) {
        let nextWay = try way(of: next)
        if try await isRefused(next, nextWay) {
            throw FetchError(
                .redirectRefused, .header,
                "the redirect leads to \(next.uri.display), at a private address",
                hint: "if you trust it, fetch that URL yourself")
        }
        guard let way = try way(of: request), !way.isDirect, nextWay == .direct else { return }
        throw .redirect("not leaving the proxy for \(next.uri.display)")
    }

    private func isRefused(_ next: Request, _ way: Route?) async throws(FetchError) -> Bool {
        guard refusesPrivate, let host = next.uri.host else { return false }
        if Resolver.isPrivate(literal: host) { return true }
        // A proxy looks names up: only a literal address is known here.
        guard way == .direct else { return false }
        do throws(FetchError) {
            return try await fetcher.options.resolver.isPrivate(
                next.endpoint, on: fetcher.loop, by: deadline)
        } catch {
            // The connection finds out as well, and says more.
            return false
        }
    }

    private var refusesPrivate: Bool { beganPrivate == false }

    /// True if the requested URL is at a private address; also if the user has named a socket or
    /// host, since no other is reached then.
    private func isPrivate(_ connection: Connection?) -> Bool {
        if fetcher.options.http.isSpecial { return true }
        let address = connection.flatMap { $0.proxy == nil ? $0.address : nil }
        return Resolver.isPrivate(literal: address ?? origin.host ?? "")
    }

    /// `nil` for a request without a connection.
    private func way(of request: Request) throws(FetchError) -> Route? {
        guard request.uri.host != nil else { return nil }
        return try fetcher.options.network.way(request, fetcher(for: request).options)
    }

    private func isSameOrigin(_ next: Request) -> Bool {
        let port = { (request: Request) in request.uri.port ?? request.scheme.defaultPort }
        return next.scheme.name == request.scheme.name && next.uri.host == request.uri.host
            && port(next) == port(request)
    }

    /// Lists the data that another origin does not get, though the one before has got it.
    private static func note(_ leftOut: [String], _ uri: URI) -> Note? {
        guard !leftOut.isEmpty, let place = uri.hostAndPort else { return nil }
        return Note("other-origin", "not sent on to \(place): \(leftOut.joined(separator: ", "))")
    }

    private mutating func check(_ next: Request, hops: Int) throws(FetchError) {
        let uri = next.uri
        let limit = fetcher.options.redirects.limit
        guard hops <= limit else {
            throw FetchError(
                .tooManyRedirects, .header,
                "more than \(limit) \(limit == 1 ? "redirect" : "redirects"), the next to "
                    + uri.display,
                remedy: .raise(.redirects), expected: String(limit))
        }
        seen.insert(Visit(request))
        guard seen.insert(Visit(next)).inserted else {
            throw FetchError(
                .tooManyRedirects, .header, "the redirects form a loop at \(uri.display)")
        }
    }
}
