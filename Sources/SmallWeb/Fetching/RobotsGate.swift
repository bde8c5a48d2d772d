// SPDX-License-Identifier: MIT
package import SmallWebCore
package import SmallWebFormats
internal import SmallWebTransport

/// Lets requests pass that robots files allow: asks for the file of a place before its first URL,
/// keeps it for a day, and keeps the pace of the place meanwhile.
package final class RobotsGate: Sendable {
    private enum File {
        case underWay
        /// Rules, the time of the request for them in Unix seconds, and the earliest moment for
        /// the next request.
        case known(Robots, Int, opens: Instant)
        /// The error that kept them from coming.
        case failed(FetchError)
    }

    /// Lifetime of a file, in seconds.
    package static let secondsMax = 86_400
    /// Time limit of a file; what has come by then counts.
    private static let fileSecondsMax = 10.0
    private static let redirectsMax = 5

    private let product: String
    private let roles: [String]
    /// Least seconds between two requests to a place.
    private let paceSeconds: Double
    /// Called with each file that has come, for the place and time of the request.
    private let onFile: @Sendable (_ place: String, Robots, _ time: Int) -> Void
    private let files = Locked<[String: File]>([:])

    package init(
        product: String, roles: [String], paceSeconds: Double,
        onFile: @escaping @Sendable (_ place: String, Robots, _ time: Int) -> Void = { _, _, _ in }
    ) {
        (self.product, self.roles, self.paceSeconds) = (product, roles, paceSeconds)
        self.onFile = onFile
    }

    /// The name of a server: scheme, host and port.
    package static func place(of request: Request) throws(FetchError) -> String {
        "\(request.scheme.name)://\(try request.endpoint)"
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
        guard let place = try? Self.place(of: request),
            case .known(let robots, let time, _)? = files.withLock({ $0[place] }),
            now - time < Self.secondsMax, time <= now
        else { return nil }
        return robots
    }

    /// The `Crawl-delay` for a request; `nil` if none is known.
    package func delaySeconds(for request: Request) -> Double? {
        rules(for: request)?.delaySeconds
    }

    /// The error that keeps the rules for a request from coming; `nil` without one.
    package func failure(of request: Request) -> FetchError? {
        guard let place = try? Self.place(of: request),
            case .failed(let error)? = files.withLock({ $0[place] })
        else { return nil }
        return error
    }

    /// Returns when the rules of the request's place are known, and allow it.
    ///
    /// - Returns: True if it has waited for them, so that the deadline begins again.
    /// - Throws: `robots`; `temporary-failure` when the rules cannot be had; `interrupted`.
    func check(_ request: Request, _ fetcher: Fetcher) async throws(FetchError) -> Bool {
        guard let (robots, opens, hasWaited) = try await rules(for: request, fetcher) else {
            return false
        }
        if let rule = robots.decision(on: request.uri.target).rule, !rule.isAllow {
            throw FetchError(.robots, .input, "robots.txt forbids it: \(rule)")
        }
        guard opens > .now else { return hasWaited }
        try await rest(until: opens, fetcher)
        return true
    }

    /// The line that decides about a request; `nil` if none does. Asks for the file unless it is
    /// known.
    ///
    /// - Throws: `temporary-failure` when the rules cannot be had; `interrupted`.
    package func rule(
        for request: Request, _ fetcher: Fetcher
    ) async throws(FetchError) -> Robots.Rule? {
        let known = try await rules(for: request, fetcher)
        return known?.robots.decision(on: request.uri.target).rule
    }

    /// - Returns: `nil` for a scheme without robots files; with the earliest moment for a request.
    private func rules(
        for request: Request, _ fetcher: Fetcher
    ) async throws(FetchError) -> (robots: Robots, opens: Instant, hasWaited: Bool)? {
        guard let crawling = request.scheme.crawling, !crawling.robots.isEmpty else { return nil }
        let place = try Self.place(of: request)
        var hasWaited = false
        while true {
            let isFree = files.withLock { files in
                switch files[place] {
                case .underWay?, .failed?: return false
                case .known(_, let time, _)? where UTCDate.now - time < Self.secondsMax:
                    return false
                default: files[place] = .underWay
                }
                return true
            }
            if isFree {
                hasWaited = true
                try await ask(place, request, crawling, fetcher)
            }
            switch files.withLock({ $0[place] }) {
            case .known(let robots, _, let opens)?: return (robots, opens, hasWaited)
            case .failed(let error)?:
                var failure = FetchError(
                    .temporaryFailure, .connect,
                    "robots.txt of \(place) cannot be had: \(error.message)",
                    hint: "fetch it again later")
                if error.remedy == .fetchAlone { failure.remedy = .fetchAlone }
                throw failure
            case .underWay?, nil:
                // Another request of the place is asking.
                hasWaited = true
                try await rest(until: .after(seconds: 0.02), fetcher)
            }
        }
    }

    private func ask(
        _ place: String, _ request: Request, _ crawling: Crawling, _ fetcher: Fetcher
    ) async throws(FetchError) {
        do throws(FetchError) {
            var (robots, time, last) = (Robots(lines: [], crawling), UTCDate.now, Instant.now)
            for path in crawling.robots {
                if path != crawling.robots.first {
                    try await rest(until: last.advanced(seconds: pace(robots)), fetcher)
                }
                time = UTCDate.now
                robots = try await file(path, request, crawling, fetcher, &last)
                if robots.namesAgents { break }
            }
            let opens = last.advanced(seconds: pace(robots))
            files.withLock { [robots, time] in $0[place] = .known(robots, time, opens: opens) }
            onFile(place, robots, time)
        } catch {
            let isOver = error.outcome == .interrupted
            files.withLock { $0[place] = isOver ? nil : .failed(error) }
            if isOver { throw error }
        }
    }

    private func rest(until opens: Instant, _ fetcher: Fetcher) async throws(FetchError) {
        await fetcher.loop.sleep(until: opens)
        if Task.isCancelled { throw .cancelled }
    }

    /// - Parameter last: Set to the time of the last request.
    /// - Throws: The error of a file that cannot be had for now.
    private func file(
        _ path: String, _ request: Request, _ crawling: Crawling, _ fetcher: Fetcher,
        _ last: inout Instant
    ) async throws(FetchError) -> Robots {
        let alone = fetcher.changed { options in
            options.robots = nil
            options.redirects.follows = false
        }
        var uri = request.uri
        (uri.path, uri.query, uri.fragment, uri.userinfo) = (path, nil, nil, nil)
        let place = try Self.place(of: request)
        for hop in 0...Self.redirectsMax {
            if hop > 0 { try await rest(until: last.advanced(seconds: paceSeconds), fetcher) }
            last = .now
            var own = try alone.request(uri)
            own.limits = request.limits
            own.limits.totalSeconds = Self.fileSecondsMax
            own.limits.bodyBytesMax = nil
            let (body, head, isCut) = try await fetch(own, alone)
            guard head?.replyClass == .redirect else {
                let isFile = head?.replyClass == .success
                return Robots(
                    isFile ? body[...] : [], crawling, product: product, roles: roles,
                    isCut: isCut)
            }
            guard let target = head?.redirectTarget,
                let next = try? uri.resolving(target, in: fetcher.registry),
                let following = try? alone.request(next),
                (try? Self.place(of: following)) == place
            else { break }
            uri = next
        }
        return Robots(lines: [], crawling)
    }

    /// - Throws: The error of a file that cannot be had for now.
    private func fetch(
        _ request: Request, _ fetcher: Fetcher
    ) async throws(FetchError) -> (body: [UInt8], head: Head?, isCut: Bool) {
        var (body, head, isCut) = ([UInt8](), Head?.none, false)
        do throws(FetchError) {
            var fetch = Fetch(fetcher, request, FetchLog(request.uri), wantsRefusals: false) {
                event throws(FetchError) in
                if case .head(let its) = event { head = its }
                guard case .body(let bytes) = event else { return }
                body += bytes
                // Ends the fetch: more would be cut.
                if body.count > Robots.fileBytesMax { throw .cancelled }
            }
            let ending = try await fetch.run()
            head = head ?? ending.head
            isCut = ending.outcome == .truncated
            if ending.outcome == .temporaryFailure {
                throw FetchError(.temporaryFailure, .header, ending.message ?? "refused for now")
            }
        } catch {
            isCut = true
            let isEnough = body.count > Robots.fileBytesMax
            if Task.isCancelled && !isEnough { throw .cancelled }
            let isAnswer = [
                .emptyReply, .notRecorded, .protocolError, .redirectRefused, .badURL,
            ].contains(error.outcome)
            let isFile = head?.replyClass == .success && !body.isEmpty
            guard isEnough || isAnswer || isFile else { throw error }
        }
        return (body, head, isCut)
    }
}

extension URI {
    /// Path and query, as robots files have them.
    package var target: String { path + (query.map { "?" + $0 } ?? "") }
}

extension Request {
    /// True if its host is this machine or an address of a private network, by its name alone.
    package var isPrivate: Bool {
        let host = uri.host ?? ""
        return Resolver.isPrivate(literal: host) || host == "localhost"
            || host.hasSuffix(".localhost")
    }
}
