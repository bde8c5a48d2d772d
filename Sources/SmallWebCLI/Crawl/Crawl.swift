// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb
internal import SmallWebFormats
internal import SmallWebRecords

/// A run of `crawl`: hands out the URLs that wait, the places in turn, and takes the links of their
/// pages.
///
/// Confined to the event loop of the run, like its fetches.
final class Crawl: Source {
    /// A server, and the URLs of it that wait.
    final class Place {
        let name: String
        /// Where the lines of waiting URLs are in the file; ``next`` is the first of them.
        fileprivate var offsets: [UInt32] = []
        fileprivate var next = 0
        /// Those to be asked again, first.
        fileprivate var again: [CrawlFile.Entry] = []
        fileprivate var isQueued = false
        fileprivate var pages = 0
        var underWay = 0
        /// Requests in a row that got no connection.
        var refusals = 0
        /// Replies in a row that asked for a pause.
        var pauses = 0
        /// True once it has asked to be left alone: its pace is half.
        var isSlow = false
        /// The reason why it is left for this run.
        var reason: String?
        fileprivate var failure: Outcome?

        init(_ name: String) { self.name = name }

        fileprivate var waiting: Int { offsets.count - next + again.count }
    }

    let context: RunContext
    let file: CrawlFile
    let rules: CrawlSettings
    private let robots: RobotsGate
    /// For places that no seed names: refuses private addresses.
    private let strict: Fetcher
    private(set) var scope: CrawlScope
    private var traps = CrawlTraps()
    private var seeds: Set<String> = []
    private var places: [String: Place] = [:]
    /// Places that may have a URL to hand out.
    private var turn: ArraySlice<Place> = []
    private let bell = Bell()
    private var underWay = 0
    private var pages = 0
    /// True once ``CrawlSettings/pagesMax`` has kept a URL from being asked.
    private(set) var isCut = false
    /// Pages that were fetched, or have failed.
    private(set) var done = 0
    /// URLs that were not followed, by reason.
    private(set) var skipped: [String: Int] = [:]
    /// The outcome of a seed that robots forbid.
    private(set) var seedFailure: Outcome?
    /// The first requests wait for it: one may have been under way when an earlier run was killed.
    private let start: Instant

    private var registry: Registry { context.fetcher.registry }
    private var paceSeconds: Double { context.policy.hostSeconds }
    /// URLs of a place that wait in the engine.
    private static let windowMax = 4
    private static let hopsMax = 5
    private static let refusalsMax = 3
    /// Requests of a page that the server asks to wait for, and replies in a row that ask so.
    private static let (triesMax, pausesMax) = (5, 20)

    init(
        _ context: RunContext, _ file: CrawlFile, _ rules: CrawlSettings, _ robots: RobotsGate
    ) {
        (self.context, self.file, self.rules, self.robots) = (context, file, rules, robots)
        strict = context.fetcher.changed { $0.resolver.refusesPrivate = true }
        scope = rules.scope
        start = file.lastRequest.advanced(seconds: context.policy.hostSeconds)
        file.onWaiting = { [unowned self] name, offset in
            let place = self.place(name)
            place.offsets.append(offset)
            queue(place)
        }
    }

    private func place(_ name: String) -> Place {
        if let place = places[name] { return place }
        let place = Place(name)
        places[name] = place
        return place
    }

    private func queue(_ place: Place) {
        guard !place.isQueued, place.reason == nil, place.waiting > 0 else { return }
        place.isQueued = true
        turn.append(place)
    }

    /// URLs that wait, those of places that are left as well.
    var waiting: Int { places.values.reduce(0) { $0 + $1.waiting } }

    /// Places that are left for now, with the reason.
    var placesLeft: [(name: String, reason: String)] {
        places.values.compactMap { place in
            place.waiting == 0 ? nil : place.reason.map { (place.name, $0) }
        }.sorted { $0.name < $1.name }
    }

    // MARK: Seeds

    /// Adds a seed's scope, and the seed itself unless it is known.
    func add(seed url: String) throws(FetchError) {
        let request = try context.fetcher.request(url)
        let key = CrawlKey(request.uri, request.scheme, request.scheme.crawling)
        guard request.scheme.crawling != nil else {
            throw usageError("links are not followed over \(request.scheme.name)")
        }
        scope.add(key, request.scheme, request.scheme.crawling)
        seeds.insert(String(key.place))
        let line = file.lineOfNew(key.uri.description, depth: 0, from: nil)
        try file.append(line ?? [])
    }

    // MARK: Handing out

    func take(isLast: Bool) -> Taken {
        if start > .now {
            let (loop, start) = (context.loop, start)
            return .later { await loop.sleep(until: start) }
        }
        while !isCut, let place = turn.popFirst() {
            place.isQueued = false
            if pages >= rules.pagesMax {
                isCut = true
                break
            }
            do throws(FetchError) {
                guard let job = try job(of: place) else { continue }
                queue(place)
                return .job(job)
            } catch {
                return .end(error)
            }
        }
        guard underWay > 0 else { return .end(nil) }
        let bell = bell
        return .later { await bell.wait() }
    }

    /// The next request of a place; `nil` if it has none now.
    private func job(of place: Place) throws(FetchError) -> Job? {
        while place.reason == nil, place.underWay < Self.windowMax {
            guard let entry = next(of: place) else { return nil }
            let request = try? context.fetcher.request(entry.url)
            let known = request.flatMap { robots.rules(for: $0) }
            if let known, entry.depth > 0, let request, !known.allows(request.uri.target) {
                try skip(entry, "robots")
                continue
            }
            // One request finds out about robots; others would wait for it.
            guard known != nil || place.underWay == 0 else {
                place.again.insert(entry, at: 0)
                return nil
            }
            let asked = RequestLine(operand: entry.url)
            asked.subject.n = entry.n
            if let directory = rules.mirror, let uri = request?.uri, !entry.isOutside {
                asked.writes(to: mirrorPath(uri, in: directory))
            }
            let job = context.job(asked) { fitted in
                var fitted = fitted
                if entry.isOutside { fitted.wantsHeadAlone() }
                return CrawlPage(self, entry, place, URLOutput(asked, fitted, context))
            }
            if !seeds.contains(place.name) {
                job.fetcher =
                    job.fetcher === context.fetcher
                    ? strict : job.fetcher.changed { $0.resolver.refusesPrivate = true }
            }
            place.underWay += 1
            underWay += 1
            pages += 1
            return job
        }
        return nil
    }

    private func next(of place: Place) -> CrawlFile.Entry? {
        if !place.again.isEmpty { return place.again.removeFirst() }
        while place.next < place.offsets.count {
            let offset = place.offsets[place.next]
            place.next += 1
            if place.next >= 1024, 2 * place.next >= place.offsets.count {
                place.offsets.removeFirst(place.next)
                place.next = 0
            }
            if let entry = file.entry(at: offset) { return entry }
        }
        return nil
    }

    private func mirrorPath(_ uri: URI, in directory: String) -> String {
        let crawling = registry[uri.scheme]?.scheme.crawling
        guard let scheme = registry[uri.scheme]?.scheme else { return directory }
        let key = CrawlKey(uri, scheme, crawling)
        let names = MirrorName.components(of: key, index: crawling?.indexName ?? "index")
        return ([directory] + names).joined(separator: "/")
    }

    // MARK: Links

    /// The lines for a link of a page; none if it is not followed, or known.
    func lines(of link: Link, on page: CrawlFile.Entry) throws(FetchError) -> [UInt8] {
        guard link.isLink, !page.isOutside else { return [] }
        let raw = String(decoding: link.raw, as: UTF8.self)
        guard let uri = link.uri, let request = try? context.fetcher.request(uri) else {
            count(CrawlRefusal.unsupported.rawValue)
            // Without a plugin, it stays unchecked.
            let target = link.url.isEmpty ? raw : link.url
            return rules.checks ? file.line(of: link, to: target, on: page) : []
        }
        let key = CrawlKey(request.uri, request.scheme, request.scheme.crawling)
        let noted = rules.checks ? file.line(of: link, to: key.uri.description, on: page) : []
        return try noted
            + lines(to: key, request, kind: link.kind, depth: page.depth + 1, hops: 0, page)
    }

    /// The lines for the target of a redirect, a link of the same depth, and the target.
    func lines(
        redirecting page: CrawlFile.Entry, to target: String, base: URI
    ) throws(FetchError) -> (lines: [UInt8], target: String?) {
        guard let uri = try? base.resolving(target, in: registry),
            let request = try? context.fetcher.request(uri)
        else { return ([], target) }
        let key = CrawlKey(request.uri, request.scheme, request.scheme.crawling)
        guard page.hops < Self.hopsMax else {
            count("redirects")
            return ([], key.uri.description)
        }
        let lines = try lines(
            to: key, request, kind: .link, depth: page.depth, hops: page.hops + 1, page)
        return (lines, key.uri.description)
    }

    private func lines(
        to key: CrawlKey, _ request: Request, kind: Item.Kind, depth: Int, hops: Int,
        _ page: CrawlFile.Entry
    ) throws(FetchError) -> [UInt8] {
        let (scheme, crawling) = (request.scheme, request.scheme.crawling)
        if let refusal = CrawlRefusal.judge(key, kind, scheme, crawling) {
            count(refusal.rawValue)
            return []
        }
        let refusal = try scope.refusal(of: key, depth: depth)
        if let refusal, !rules.checks {
            count(refusal.rawValue)
            return []
        }
        let (url, name) = (key.uri.description, String(key.place))
        guard !file.isKnown(url) else { return [] }
        if !seeds.contains(name), request.isPrivate { return skipping(url, "private") }
        if let trap = traps.refusal(of: key) { return skipping(url, trap.rawValue) }
        let place = place(name)
        guard place.pages < rules.placePagesMax else { return skipping(url, "per-host-pages") }
        place.pages += 1
        return file.lineOfNew(
            url, depth: depth, hops: hops, from: page.n,
            isOutside: refusal != nil || page.isOutside) ?? []
    }

    private func skipping(_ url: String, _ reason: String) -> [UInt8] {
        count(reason)
        return file.line(skipping: url, n: nil, reason)
    }

    func skip(_ entry: CrawlFile.Entry, _ reason: String) throws(FetchError) {
        count(reason)
        try file.append(file.line(skipping: entry.url, n: entry.n, reason))
    }

    private func count(_ reason: String) { skipped[reason, default: 0] += 1 }

    // MARK: Results

    /// What becomes of a page after its only attempt.
    enum Verdict { case done, again, skipped(String), left }

    func verdict(
        on entry: CrawlFile.Entry, of place: Place, _ result: Attempt, _ request: Request?
    ) -> Verdict {
        let outcome = result.outcome
        if outcome == .robots {
            guard entry.depth == 0 else { return .skipped("robots") }
            seedFailure = .robots
            return .done
        }
        if !seeds.contains(place.name), result.error?.remedy == .fetchAlone {
            return .skipped("private")
        }
        if let request, let failure = robots.failure(of: request) {
            return leave(place, "robots.txt: \(failure.message)", failure.outcome)
        }
        if let head = result.ending?.head, let pause = head.retryAfter, pause > .zero {
            place.isSlow = true
            place.pauses += 1
            if place.pauses > Self.pausesMax {
                return leave(place, "it asked \(place.pauses) times in a row to wait")
            }
            return entry.tries < Self.triesMax ? .again : .done
        }
        place.pauses = 0
        switch outcome {
        case .connect, .resolve, .tls, .untrusted, .trustChanged, .proxy, .proxyResolve:
            place.refusals += 1
            guard
                outcome != .connect && outcome != .resolve
                    || place.refusals >= Self.refusalsMax
            else { return .again }
            return leave(place, result.error?.message ?? "", outcome)
        default:
            place.refusals = 0
            return .done
        }
    }

    /// The outcome of requests to a place that is left for now; `nil` for other places.
    func failure(of place: String) -> Outcome? { places[place]?.failure }

    private func leave(
        _ place: Place, _ reason: String, _ outcome: Outcome = .temporaryFailure
    ) -> Verdict {
        place.reason = reason
        place.failure = outcome
        return .left
    }

    /// Hands out nothing more: the run has no time left.
    func stop() { isCut = true }

    /// Called when an attempt is over.
    func end(_ entry: CrawlFile.Entry, of place: Place, again: Bool) {
        if again {
            var entry = entry
            entry.tries += 1
            place.again.append(entry)
        } else {
            done += 1
        }
        place.underWay -= 1
        underWay -= 1
        queue(place)
        bell.ring()
    }

    /// Seconds from one request to the next, for a place and the time that its reply took.
    func pace(_ place: Place, replySeconds: Double, _ request: Request?) -> Double {
        let delay = request.flatMap { robots.delaySeconds(for: $0) } ?? 0
        let usual = paceSeconds * (place.isSlow ? 2 : 1)
        return max(usual, delay, min(60, 2 * replySeconds))
    }
}
