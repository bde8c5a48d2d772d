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
    let context: RunContext
    let file: CrawlFile
    let rules: CrawlSettings
    let robots: RobotsGate
    /// For seeds that were not given in this run: shows them nothing that is meant for others.
    private let reserved: Fetcher
    /// For places that no seed names: refuses private addresses, too.
    private let strict: Fetcher
    /// Places of the URLs given in this run, with user and password.
    private let given: [String: [UInt8]?]
    /// False if the links of pages are all that is wanted.
    let needsBodies: Bool
    let robotNames: [String]
    private(set) var scope: CrawlScope
    var traps = CrawlTraps()
    private(set) var seeds: Set<String> = []
    private(set) var places: [String: Queue] = [:]
    /// Places that may have a URL to hand out.
    private var turn: ArraySlice<Queue> = []
    let bell = Bell()
    var underWay = 0
    private var pages = 0
    /// True once ``CrawlSettings/pagesMax`` has kept a URL from being asked.
    var isCut = false
    /// Pages that were fetched, or have failed.
    var done = 0
    /// Pages refused for good, in this run.
    var refused = 0
    /// What is to be said of places at the end.
    var notices: [String] = []
    /// Changes of pages since the rounds before, and new ones.
    var changes: [WatchRun.Change: Int] = [:]
    /// URLs that were not followed, by reason.
    private(set) var skipped: [String: Int] = [:]
    /// The first requests wait for it: one may have been under way when an earlier run was killed.
    private let start: Instant

    private var registry: Registry { context.fetcher.registry }
    var paceSeconds: Double { context.policy.hostSeconds }
    /// Longest pause that is waited for.
    var pauseSecondsMax: Double {
        context.policy.retry.totalSeconds ?? context.policy.pauseSecondsMax
    }
    /// URLs of a place that wait in the engine.
    private static let windowMax = 4
    static let hopsMax = 5
    static let refusalsMax = 3
    /// Replies that show that a server does not end them.
    static let unendedMax = 3
    /// Requests of a page that the server asks to wait for, or resets, and replies in a row that
    /// ask so.
    static let (triesMax, resetsMax, pausesMax) = (5, 3, 20)

    /// - Parameter given: Places of the URLs given in this run, with user and password.
    init(
        _ context: RunContext, _ file: CrawlFile, _ rules: CrawlSettings, _ robots: RobotsGate,
        given: [String: [UInt8]?]
    ) {
        (self.context, self.file, self.rules, self.robots) = (context, file, rules, robots)
        self.given = given
        reserved = context.fetcher.changed { $0.identities.chosen = nil }
        strict = reserved.refusingPrivate()
        let archive = context.settings.archive
        needsBodies =
            !rules.checks || rules.mirror != nil || archive.file != nil || archive.hasCache
        (scope, robotNames) = (rules.scope, rules.robotNames)
        start = file.lastRequest.advanced(seconds: context.policy.hostSeconds)
        file.keepsDepths = rules.depthMax != nil
        if rules.fillsNewArchive {
            file.isKept = { _ in false }
        } else if rules.mirror != nil {
            file.isKept = { [unowned self] url in
                // A name that cannot be made is the failure of the page.
                guard let request = try? context.fetcher.request(url),
                    let path = try? mirrorPath(request.uri)
                else { return false }
                return fileKind(path).map { $0 != S_IFDIR } ?? false
            }
        }
        file.onWaiting = { [unowned self] name, offset, depth in
            // The pages of a directory do not wait for their server.
            let place = self.place(isServed(at: offset) ? name + "/" : name)
            place.add(offset, depth: depth)
            queue(place)
        }
    }

    private func isServed(at offset: Int) -> Bool {
        let url = context.settings.fetch.served == nil ? nil : (try? file.entry(at: offset))?.url
        return url.flatMap { try? URI(parsing: $0) }.map(context.fetcher.registry.serves) ?? false
    }

    func place(_ name: String) -> Queue {
        if let place = places[name] { return place }
        let place = Queue(name)
        places[name] = place
        return place
    }

    func queue(_ place: Queue) {
        guard !place.isQueued, place.reason == nil, place.unasked > 0 else { return }
        place.isQueued = true
        turn.append(place)
    }

    /// URLs that wait, also at places that are left.
    var waiting: Int { places.values.reduce(failed) { $0 + $1.unasked } }

    /// Those of them that failed for now.
    var failed: Int { places.values.reduce(0) { $0 + $1.failed } }

    /// Places that are left for now, with the reason.
    var placesLeft: [(name: String, reason: String)] {
        places.values.compactMap { place in
            place.unasked + place.failed == 0 ? nil : place.reason.map { (place.name, $0) }
        }.sorted { $0.name < $1.name }
    }

    func count(_ pages: Int, of place: String) { self.place(place).pages += pages }

    /// Has everything asked for again that is known; the state is to be loaded then.
    func beginRound() throws(FetchError) {
        try file.beginRound()
        (places, turn) = ([:], [])
    }

    // MARK: Seeds

    /// Adds a seed's scope, and the seed itself unless it is known.
    ///
    /// - Throws: `usage` for one that cannot be crawled; `write`.
    func add(seed url: String) throws(FetchError) {
        let key = try key(ofSeed: url)
        let request = try context.fetcher.request(key.uri)
        scope.add(key, request.scheme, request.scheme.crawling)
        let name = String(key.place)
        seeds.insert(name)
        let line = file.lineOfNew(key.uri.description, depth: 0, from: nil)
        if line != nil { place(name).pages += 1 }
        try file.append(line ?? [])
    }

    /// - Throws: `usage` for a seed that cannot be crawled.
    private func key(ofSeed url: String) throws(FetchError) -> CrawlKey {
        let request = try context.fetcher.request(url)
        guard request.scheme.crawling != nil else {
            let name = request.scheme.name
            throw usageError("links are not followed over \(name)", hint: Advice.alone(request))
        }
        let key = CrawlKey(request.uri, request.scheme, request.scheme.crawling)
        let (count, max) = (key.uri.description.utf8.count, CrawlTraps.bytesMax)
        guard count <= max else {
            throw usageError(
                "a URL of \(count) bytes is too long for a crawl: at most \(max)",
                hint: "'smallweb get' fetches it")
        }
        return key
    }

    /// The seeds that failed, with the outcome at the end of their redirects, and of which type the
    /// links are not read. One that waits is not among them.
    ///
    /// - Throws: `read`, `interrupted`.
    func failedSeeds(
        _ urls: [String]
    ) throws(FetchError) -> (failed: [(url: String, outcome: Outcome)], unread: [String]) {
        var wanted: Set<UInt64> = []
        for url in urls { wanted.insert(file.hash(try key(ofSeed: url).uri.description)) }
        var ends: [UInt64: CrawlFile.End] = [:]
        for _ in 0...Self.hopsMax where ends.count < wanted.count {
            ends = try file.ends(of: wanted)
            wanted.formUnion(ends.values.compactMap(\.next))
        }
        var (failed, unread): ([(url: String, outcome: Outcome)], [String]) = ([], [])
        for url in urls {
            let text = try key(ofSeed: url).uri.description
            let (outcome, isKnown) = ends.outcome(of: file.hash(text))
            // Redirects that lead nowhere that is asked.
            let last = ends.last(of: file.hash(text))
            let isLost = isKnown && outcome == nil && !file.waits(last)
            if let outcome = isLost ? .redirectRefused : outcome, outcome != .ok {
                if outcome.lasts || rules.checks { failed.append((text, outcome)) }
            } else if ends[last]?.isUnread ?? false {
                unread.append(text)
            }
        }
        return (failed, unread)
    }

    // MARK: Handing out

    func take(isLast: Bool) -> Taken {
        if start > .now {
            guard start.seconds(since: .now) <= pauseSecondsMax else {
                for place in places.values { place.reason = "--per-host-delay is not over" }
                return .end(nil)
            }
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
                guard let job = try job(of: place) else {
                    guard place.isQueued else { continue }
                    let loop = context.loop
                    return .later { await loop.sleep(until: .now) }
                }
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

    /// The next request of a place; `nil` if it has none now, or has had its turn.
    private func job(of place: Queue) throws(FetchError) -> Job? {
        let end = Instant.after(seconds: 0.01)
        while place.reason == nil, place.underWay < Self.windowMax {
            guard var entry = try next(of: place) else { return nil }
            // A page of the same depth may yet lead to it by a shorter way.
            guard rules.depthMax == nil || place.underWay == 0 || entry.depth <= place.depth else {
                place.again.insert(entry, at: 0)
                return nil
            }
            let request = try? context.fetcher.request(entry.url)
            let known = request.flatMap { robots.rules(for: $0) }
            let isForbidden = entry.depth > 0 && !(known?.allows(request?.uri.target ?? "") ?? true)
            if isForbidden { try skip(entry, "robots") }
            let isLeftOut = try isForbidden ? true : isRefused(&entry, request)
            if isLeftOut {
                guard end < .now else { continue }
                queue(place)
                return nil
            }
            if let request, let seconds = rest(of: place, request), seconds > pauseSecondsMax {
                place.again.insert(entry, at: 0)
                place.reason = "it is to be left alone for \(Int(seconds)) seconds more"
                return nil
            }
            // One request finds out about robots; others would wait for it.
            guard known != nil || place.underWay == 0 else {
                place.again.insert(entry, at: 0)
                return nil
            }
            place.depth = place.underWay == 0 ? entry.depth : min(place.depth, entry.depth)
            place.underWay += 1
            underWay += 1
            pages += 1
            return try job(entry, of: place, request)
        }
        return nil
    }

    private func job(
        _ entry: CrawlFile.Entry, of place: Queue, _ request: Request?
    ) throws(FetchError) -> Job {
        let asked = RequestLine(operand: entry.url)
        asked.subject.n = entry.n
        if rules.mirror != nil, let uri = request?.uri, !entry.isOutside {
            asked.writes(to: try mirrorPath(uri))
        }
        let job = context.job(asked, leavesOut: true) { plan in
            var plan = plan
            if entry.isOutside && !entry.readsBody { plan.leaveOutBody() }
            return CrawlPage(self, entry, place, URLOutput(asked, plan, context))
        }
        guard !given.keys.contains(place.name) else { return job }
        let isSeed = seeds.contains(place.name)
        guard job.fetcher !== context.fetcher else {
            job.fetcher = isSeed ? reserved : strict
            return job
        }
        // A config file has settings for this URL.
        job.fetcher = job.fetcher.changed { $0.identities.chosen = nil }
        if !isSeed { job.fetcher = job.fetcher.refusingPrivate() }
        return job
    }

    /// The request for a page, with what is meant for its place alone.
    func request(_ request: Request, at place: Queue) -> Request {
        guard let login = given[place.name] else {
            return context.fetcher.withoutSecrets(request)
        }
        var request = request
        let fields = request.options.list("header").map { $0.lowercased() }
        if let login, !fields.contains(where: { $0.hasPrefix("authorization") }) {
            request.options.append("Authorization: Basic " + Base64.encode(login), to: "header")
        }
        return request
    }

    /// Seconds for which a place is to be left alone, by what earlier runs have left; `nil` once it
    /// was asked.
    private func rest(of place: Queue, _ request: Request) -> Double? {
        guard place.underWay == 0, !place.isAsked else { return nil }
        let delay = robots.delaySeconds(for: request) ?? 0
        let since = file.lastRequest.advanced(seconds: delay).seconds(since: .now)
        return max(since, file.pauseSeconds(place.name))
    }

    /// Judges a URL that waits by the limits of this run. One that only a check may look at becomes
    /// such; others are skipped.
    private func isRefused(
        _ entry: inout CrawlFile.Entry, _ request: Request?
    ) throws(FetchError) -> Bool {
        guard entry.depth > 0 || entry.hops > 0, let request else { return false }
        let key = CrawlKey(request.uri, request.scheme, request.scheme.crawling)
        let embedding = entry.isEmbedded ? key.place : nil
        guard
            let refusal = entry.isEmbedded && rules.leavesOutEmbedded
                ? .embedded
                : try scope.refusal(of: key, depth: entry.depth, embedding: embedding)
        else { return false }
        guard !rules.checks else {
            entry.isOutside = true
            return false
        }
        try skip(entry, refusal.rawValue)
        return true
    }

    private func next(of place: Queue) throws(FetchError) -> CrawlFile.Entry? {
        while true {
            let entry: CrawlFile.Entry
            if let first = place.again.first, first.depth <= place.nextDepth {
                entry = first
                place.again.removeFirst()
            } else if let offset = place.pop() {
                entry = try file.entry(at: offset)
            } else {
                return nil
            }
            if !file.isOutdated(entry) { return entry }
        }
    }

    private func mirrorPath(_ uri: URI) throws(FetchError) -> String {
        try mirrorNames(uri).joined(separator: "/")
    }

    /// The directory of the mirror, and the names in it that lead to a page.
    func mirrorNames(_ uri: URI) throws(FetchError) -> [String] {
        guard let directory = rules.mirror, let scheme = registry[uri.scheme]?.scheme else {
            return [rules.mirror ?? ""]
        }
        let key = CrawlKey(uri, scheme, scheme.crawling)
        let index = scheme.crawling?.indexName ?? "index"
        return [directory] + (try MirrorName.components(of: key, index: index))
    }

    func skip(_ entry: CrawlFile.Entry, _ reason: String) throws(FetchError) {
        count(reason)
        try file.append(file.line(skipping: entry.url, n: entry.n, reason))
    }

    func count(_ reason: String) { skipped[reason, default: 0] += 1 }
}
