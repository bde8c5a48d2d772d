// SPDX-License-Identifier: MIT
package import SmallWebCore
package import SmallWebFormats
internal import SmallWebPlugins
internal import SmallWebTransport

/// Lets requests pass that robots files allow: asks for the file of a place before its first URL,
/// keeps it for a day, and keeps the pace of the place meanwhile.
package final class RobotsGate: Sendable {
    private enum File {
        /// It is asked for; these wake the requests that wait for it.
        case underWay([Bell])
        /// Rules, the time of the request for them in Unix seconds, and the earliest moment for
        /// the next request.
        case known(Robots, Int, opens: Instant)
        /// The error that kept them from coming, and the end of the pause that the server wants;
        /// `never` if it wants none.
        case failed(FetchError, until: Instant)
    }

    /// Lifetime of a file, in seconds.
    package static let secondsMax = 86_400
    /// Time limit of a file.
    private static let fileSecondsMax = 10.0

    private let product: String
    private let roles: [String]
    /// Least seconds between two requests to a place.
    private let paceSeconds: Double
    /// Longest `Crawl-delay` that is waited for.
    private let restSecondsMax: Double
    /// Called with each file that has come, for the place and time of the request.
    private let onFile: @Sendable (_ place: String, Robots, _ time: Int) -> Void
    private let files = Locked<[String: File]>([:])

    package init(
        product: String, roles: [String], paceSeconds: Double, restSecondsMax: Double = 600,
        onFile: @escaping @Sendable (_ place: String, Robots, _ time: Int) -> Void = { _, _, _ in }
    ) {
        (self.product, self.roles, self.paceSeconds) = (product, roles, paceSeconds)
        (self.restSecondsMax, self.onFile) = (restSecondsMax, onFile)
    }

    /// Takes the rules of an earlier run.
    ///
    /// - Parameters:
    ///   - time: Unix seconds of the request for them.
    ///   - last: Time of that run's last request.
    package func learn(_ place: String, _ robots: Robots, at time: Int, last: Instant) {
        let opens = last.advanced(seconds: pace(robots))
        files.withLock { $0[place] = .known(robots, time, opens: opens) }
    }

    private func pace(_ robots: Robots) -> Double { max(paceSeconds, robots.delaySeconds ?? 0) }

    /// The rules for a request, as far as they are known and not too old.
    package func rules(for request: Request, now: Int = UTCDate.now) -> Robots? {
        guard let place = try? request.server,
            case .known(let robots, let time, _)? = files.withLock({ $0[place] }),
            now - time < Self.secondsMax, time <= now
        else { return nil }
        return robots
    }

    /// The `Crawl-delay` for a request; `nil` if none is known.
    package func delaySeconds(for request: Request) -> Double? {
        rules(for: request)?.delaySeconds
    }

    /// The error that keeps the rules for a request from coming; `nil` without one, or if the
    /// server wants a pause, after which the file is asked for again.
    package func failure(of request: Request) -> FetchError? {
        guard let place = try? request.server,
            case .failed(let error, .never)? = files.withLock({ $0[place] })
        else { return nil }
        return error
    }

    /// Returns when the rules of the request's place are known, and allow it.
    ///
    /// - Parameter origin: The URI that the user asked for, before redirects.
    /// - Returns: True if it has waited for them, so that the deadline begins again.
    /// - Throws: `robots`; `temporary-failure` when the rules cannot be had; `interrupted`.
    func check(
        _ request: Request, from origin: URI, _ fetcher: Fetcher
    ) async throws(FetchError) -> Bool {
        guard let (robots, opens, hasWaited) = try await rules(for: request, from: origin, fetcher)
        else { return false }
        let (rule, steps) = robots.decision(on: request.uri.target)
        // There may be thousands of such URLs.
        if steps > Robots.stepsMax / 100 { try await LongWork.pause() }
        if let rule, !rule.isAllow {
            throw FetchError(.robots, .input, "robots.txt forbids it: \(rule)")
        }
        guard opens > .now else { return hasWaited }
        let seconds = min(opens.seconds(since: .now), 86_400)
        guard seconds <= restSecondsMax else {
            let message = "robots.txt asks to wait \(Int(seconds)) seconds"
            var error = FetchError(.temporaryFailure, .connect, message)
            error.retryAfter = .seconds(seconds)
            throw error
        }
        try await rest(until: opens, fetcher)
        return true
    }

    /// The line that decides about a request; `nil` if none does. Asks for the file unless it is
    /// known.
    ///
    /// - Throws: `robots` for a file that is somewhere else; `temporary-failure` when the rules
    ///   cannot be had; `interrupted`.
    package func rule(
        for request: Request, _ fetcher: Fetcher
    ) async throws(FetchError) -> Robots.Rule? {
        let known = try await rules(for: request, from: request.uri, fetcher)
        return known?.robots.decision(on: request.uri.target).rule
    }

    /// - Returns: `nil` for a scheme without robots files; with the earliest moment for a request.
    private func rules(
        for request: Request, from origin: URI, _ fetcher: Fetcher
    ) async throws(FetchError) -> (robots: Robots, opens: Instant, hasWaited: Bool)? {
        guard let crawling = request.scheme.crawling, !crawling.robots.isEmpty,
            !fetcher.registry.serves(request.uri)
        else { return nil }
        let place = try request.server
        var hasWaited = false
        while true {
            let file: File? = files.withLock { files in
                switch files[place] {
                case .underWay(let bells)?:
                    let bell = Bell()
                    files[place] = .underWay(bells + [bell])
                    return .underWay([bell])
                case .known(_, let time, _)? where UTCDate.now - time < Self.secondsMax: break
                case .failed(_, let until)? where until > .now: break
                default:
                    files[place] = .underWay([])
                    return nil
                }
                return files[place]
            }
            switch file {
            case .known(let robots, _, let opens)?: return (robots, opens, hasWaited)
            case .failed(let error, _)?:
                if [.robots, .refusedAddress].contains(error.outcome) { throw error }
                var failure = FetchError(
                    .temporaryFailure, .connect,
                    "robots.txt of \(place) cannot be had: \(error.message)",
                    hint: "fetch it again later")
                if error.remedy == .fetchAlone { failure.remedy = .fetchAlone }
                failure.retryAfter = error.retryAfter
                throw failure
            case .underWay(let bells)?:
                for bell in bells { await bell.wait() }
                if Task.isCancelled { throw .cancelled }
            case nil: try await ask(place, request, from: origin, crawling, fetcher)
            }
            hasWaited = true
        }
    }

    private func ask(
        _ place: String, _ request: Request, from origin: URI, _ crawling: Crawling,
        _ fetcher: Fetcher
    ) async throws(FetchError) {
        do throws(FetchError) {
            var (robots, time) = (Robots(lines: [], crawling), UTCDate.now)
            for path in crawling.robots {
                if path != crawling.robots.first {
                    try await rest(until: .now.advanced(seconds: pace(robots)), fetcher)
                }
                time = UTCDate.now
                robots = try await file(path, request, from: origin, crawling, fetcher)
                if robots.namesAgents { break }
            }
            end(place, .known(robots, time, opens: .now.advanced(seconds: pace(robots))))
            onFile(place, robots, time)
        } catch {
            let until = error.retryAfter.map { Instant.after(seconds: max(1, $0.inSeconds)) }
            let isOver = error.outcome == .interrupted
            end(place, isOver ? nil : .failed(error, until: until ?? .never))
            if isOver { throw error }
        }
    }

    private func end(_ place: String, _ file: File?) {
        let before = files.withLock { files in
            defer { files[place] = file }
            return files[place]
        }
        if case .underWay(let bells)? = before { for bell in bells { bell.ring() } }
    }

    private func rest(until opens: Instant, _ fetcher: Fetcher) async throws(FetchError) {
        await fetcher.loop.sleep(until: opens)
        if Task.isCancelled { throw .cancelled }
    }

    /// The request carries nothing that the user meant for the page: no fields, input, user or
    /// password. A client certificate is shown as after a redirect from `origin`: to its server
    /// alone, or where one is bound to the URL of the robots file. A redirect is followed to
    /// another server by RFC 9309 alone (§2.3.1.2), within this one at its pace.
    ///
    /// - Throws: `robots` if it redirects to where it is not followed; the error of a file that
    ///   cannot be had for now.
    private func file(
        _ path: String, _ request: Request, from origin: URI, _ crawling: Crawling,
        _ fetcher: Fetcher
    ) async throws(FetchError) -> Robots {
        let (place, pace) = (try request.server, paceSeconds)
        let alone = fetcher.changed { options in
            options.robots = nil
            options.redirects = RedirectPolicy()
            options.redirects.refusesPrivate = true
            options.mayFollow = nil
            options.opens = { redirect in
                guard let next = try? fetcher.request(redirect.to), (try? next.server) == place
                else { return crawling.dialect == .standard }
                await fetcher.loop.sleep(until: .now.advanced(seconds: pace))
                return true
            }
        }
        var uri = request.uri
        (uri.path, uri.query, uri.fragment, uri.userinfo) = (path, nil, nil, nil)
        var own = try alone.request(uri)
        own.limits = request.limits
        own.limits.totalSeconds = Self.fileSecondsMax + Double(RedirectPolicy().limit) * pace
        own.limits.bodyBytesMax = nil
        var (body, type, isMenu, isCut) = ([UInt8](), MediaType?.none, false, false)
        do throws(FetchError) {
            var fetch = Fetch(alone, own, FetchLog(uri), wantsRefusals: false, from: origin) {
                event throws(FetchError) in
                switch event {
                case .head(let head): type = head.mediaType
                case .item: isMenu = true
                case .body(let bytes):
                    body += bytes
                    // Ends the fetch: more would be cut.
                    if body.count > Robots.fileBytesMax { throw .cancelled }
                default: break
                }
            }
            let ending = try await fetch.run()
            isCut = ending.outcome == .truncated
            if ending.outcome == .redirectRefused {
                let target = URI.shown(ending.head?.redirectTarget ?? "")
                throw FetchError(
                    .robots, .header, "robots.txt of \(place) is elsewhere, at \(target)")
            }
            // Small servers leave out the end of TLS; over HTTP bytes are missing.
            if ending.outcome == .temporaryFailure || isCut && crawling.dialect == .standard {
                var error = FetchError(.temporaryFailure, .body, ending.message ?? "cut off")
                let least = ending.head?.isRateLimited ?? false ? Duration.zero : nil
                error.retryAfter = ending.head?.retryAfter ?? least
                throw error
            }
        } catch {
            isCut = true
            let isEnough = body.count > Robots.fileBytesMax
            if Task.isCancelled && !isEnough { throw .cancelled }
            let answers: [Outcome] =
                crawling.dialect == .standard
                ? [.notRecorded] : [.notRecorded, .emptyReply, .protocolError, .badURL]
            guard isEnough || answers.contains(error.outcome) else { throw error }
        }
        let start = body[...].withoutByteOrderMark.first { !ASCII.isWhiteSpace($0) }
        let isPage = start == UInt8(ascii: "<") && type?.essence.hasSuffix("html") ?? false
        return Robots(
            isMenu || isPage ? [] : body[...], crawling, product: product, roles: roles,
            isCut: isCut)
    }
}

extension URI {
    /// Path and query, as robots files have them.
    package var target: String { self.path + (self.query.map { "?" + $0 } ?? "") }
}
