// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb
internal import SmallWebFormats
internal import SmallWebRecords

/// The state of a crawl: a file of JSON lines that only grows, and the only truth about it. In
/// memory are a hash of each URL and the place in the file of each one that waits.
///
/// Lines are padded to 16 bytes, which earlier versions need. One process has the file.
//
// @unchecked: confined to the event loop of the run.
final class CrawlFile: @unchecked Sendable {
    /// Another crawl is another state.
    struct Rules: Equatable {
        var seeds: [String]
        var scope: CrawlScope.Extent
        var roles: String
        /// True for ``CrawlSettings/checks``: the state has lines of links.
        var checks = false
        /// True for a version that reads the links of HTML and Markdown.
        var readsMarkup = true
        /// The narrowest of its runs: pages that they left out are not in the state.
        var limits = Limits()
    }

    struct Limits: Equatable {
        static let names = ["exclude", "include", "types"]
        var depth: Int?
        var placePages: Int?
        var leavesOutEmbedded = false
        /// The values of these options; those without a value are left out.
        var lists: [String: [String]] = [:]

        /// An option that leaves out less than `other` did; `nil` if there is none.
        func option(widerThan other: Limits) -> String? {
            if let limit = other.depth, depth ?? .max > limit { return "depth" }
            if let limit = other.placePages, placePages ?? .max > limit { return "per-host-pages" }
            if other.leavesOutEmbedded && !leavesOutEmbedded { return "no-embedded" }
            return Self.names.first { name in
                let (own, others) = (lists[name, default: []], other.lists[name, default: []])
                let (more, fewer) = name == "exclude" ? (own, others) : (others, own)
                return !others.isEmpty && (fewer.isEmpty || !Set(fewer).isSubset(of: more))
            }
        }
    }

    /// The best way to a URL so far.
    struct Way: Equatable {
        /// Number of the URL.
        let n: UInt32
        /// 0 unless ``keepsDepths``.
        var depth: UInt16 = 0
        var hops: UInt8 = 0
        var isOutside = false
        /// True for a page that does not redirect: a shorter chain to it would change nothing.
        var isEnd = false
    }

    /// A URL that waits.
    struct Entry {
        let url: String
        let n: Int
        /// Links from a seed.
        let depth: Int
        /// Redirects that led here, one after the other.
        let hops: Int
        /// True for a target outside of the scope, which is only looked at.
        var isOutside: Bool
        /// True for what a page embeds, anywhere at the page's place.
        var isEmbedded = false
        /// Requests of this run that did not end it.
        var tries = 0
        /// True once the server has refused to give the head alone.
        var readsBody = false
        /// Size of a body that had no sign of its end.
        var bytes: Int?
    }

    let registry: Registry
    let lines: LineFile
    var path: String { lines.path }
    var known = KnownURLs()
    /// Ways of URLs that another way may improve, by hash.
    var ways: [UInt64: Way] = [:]
    /// True to have a shorter way asked again: for a limit of the depth.
    var keepsDepths = false
    /// Numbers of pages whose links are in the file without a line of the page behind them.
    var begun: Set<Int> = []
    /// False for a page that is done, and whose file is not there.
    var isKept: (_ url: String) -> Bool = { _ in true }
    /// True if a version that did not read links of HTML has fetched pages that may be HTML.
    var hasUnread = false
    /// Pages that were done, and whose files are not there: where their lines are, and while the
    /// file is read their hashes.
    var (lost, gone): ([Int], Set<UInt64>) = ([], [])
    /// Hashes of the URLs given: a link to one may have been skipped before it was.
    var seeds: Set<UInt64> = []
    /// Names of servers while the file is read, their pages, and their indices by hash.
    var places: [(name: String, pages: Int)] = []
    var placeNumbers: [Int: UInt32] = [:]
    var rules: Rules?
    /// Number of the present round, and where its line is.
    var (round, roundOffset) = (1, 0)
    /// True if the last run has come to its own end.
    var isEnded = false
    /// Where the lines of pages are that earlier rounds have left, by number.
    var contents: [Int: Int] = [:]
    /// Numbers of pages that are to be read again, whether they have changed or not.
    var begunAgain: Set<Int> = []
    /// Rules of robots files by place, with the Unix seconds of their requests.
    var robots: [(place: String, lines: [String], time: Int)] = []
    /// Pauses that servers have asked for, in seconds from a Unix time.
    var pauses: [String: (start: Double, seconds: Double)] = [:]
    /// Unix seconds of the last change before this run; 0 for a new file.
    let lastChange: Double
    /// Latest time of a request before this run: one that was under way has no line.
    var lastRequest: Instant {
        .now.advanced(seconds: min(0, lastChange - Double(wallClockNanoseconds()) / 1e9))
    }
    /// Number of the next URL.
    var next = 0
    /// Called with the place of each URL that waits, where its line is, and its depth if that
    /// counts.
    var onWaiting: (_ place: String, _ offset: Int, _ depth: UInt16?) -> Void = { _, _, _ in }

    /// Called with each line that is written.
    var onLine: ((ArraySlice<UInt8>) throws(FetchError) -> Void)?

    private static let unit = 16
    /// The reason in the line of a URL that is too far in a chain of redirects.
    static let tooFar = "redirects"

    /// - Throws: `usage` for a file that cannot be a state; `write` if another crawl has it.
    init(_ path: String, _ registry: Registry) throws(FetchError) {
        self.registry = registry
        let flags = O_APPEND | O_NOFOLLOW | O_NONBLOCK
        lines = try LineFile.open(path, title: "state", flags, makesDirectory: true)
        let (size, time) = (lines.status.st_size, lines.status.st_mtim)
        lastChange = size == 0 ? 0 : Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        guard lines.isRegular else {
            throw usageError("the state \(path) is not a regular file")
        }
        try lines.cutTornLine()
    }

    // MARK: Known URLs

    /// Hash of a URL without the item type, if its scheme has such.
    func hash(_ url: ArraySlice<UInt8>) -> UInt64 {
        var hasher = Hasher()
        var (start, slashes) = (url.startIndex, 0)
        if let colon = url.firstIndex(of: ASCII.colon) {
            let scheme = String(decoding: url[..<colon], as: UTF8.self)
            if registry[scheme]?.scheme.crawling?.hasItemType ?? false {
                while start < url.endIndex, slashes < 3 {
                    if url[start] == ASCII.slash { slashes += 1 }
                    start += 1
                }
                url[..<start].withUnsafeBytes { hasher.combine(bytes: $0) }
                if start < url.endIndex { start += url[start] == ASCII.percent ? 3 : 1 }
                start = min(start, url.endIndex)
            }
        }
        url[start...].withUnsafeBytes { hasher.combine(bytes: $0) }
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    func hash(_ url: String) -> UInt64 { hash(Array(url.utf8)[...]) }

    func isKnown(_ url: String) -> Bool { known.contains(hash(url)) }

    func waits(_ hash: UInt64) -> Bool { known.contains(hash) && !known.isDone(hash) }

    /// Seconds until the end of a pause that a server has asked an earlier run for.
    func pauseSeconds(_ place: String) -> Double {
        guard let (start, seconds) = pauses[place] else { return 0 }
        return min(start, lastChange) + seconds - Double(wallClockNanoseconds()) / 1e9
    }

    /// True if another line has the URL of an entry, with a better way.
    func isOutdated(_ entry: Entry) -> Bool {
        let way = ways[hash(entry.url)]
        return (way?.isOutside ?? false) != entry.isOutside || Int(way?.hops ?? 0) != entry.hops
            || keepsDepths && way.map { Int($0.depth) != entry.depth } ?? false
    }

    /// Keeps the way of a URL, unless none can be better; `nil` for a known URL whose way is not
    /// better than before.
    func improve(_ hash: UInt64, by way: Way) -> Way? {
        var way = way
        if !known.insert(hash, isDone: false) {
            guard let before = ways[hash], before.isOutside || !way.isOutside else { return nil }
            let best = Way(
                n: before.n, depth: min(way.depth, before.depth),
                hops: before.isEnd ? before.hops : min(way.hops, before.hops),
                isOutside: way.isOutside, isEnd: before.isEnd)
            guard best != before else { return nil }
            known.reopen(hash)
            way = best
        }
        keep(way, of: hash)
        return way
    }

    func keep(_ way: Way, of hash: UInt64) {
        ways[hash] = keepsDepths || way.hops > 0 || way.isOutside ? way : nil
    }

    // MARK: Writing

    /// The line of a URL that is new, or that a better way leads to; else `nil`. It counts as known
    /// from now on.
    ///
    /// - Parameter isOutside: True to look at its head alone, and to follow nothing there.
    func lineOfNew(
        _ url: String, depth: Int, hops: Int = 0, from: Int?, isOutside: Bool = false,
        isEmbedded: Bool = false
    ) -> [UInt8]? {
        let way = Way(
            n: UInt32(clamping: next), depth: keepsDepths ? UInt16(clamping: depth) : 0,
            hops: UInt8(clamping: hops), isOutside: isOutside)
        guard let best = improve(hash(url), by: way) else { return nil }
        if best.n == way.n { next += 1 }
        return line(
            of: Entry(
                url: url, n: Int(best.n), depth: keepsDepths ? Int(best.depth) : depth,
                hops: Int(best.hops), isOutside: isOutside, isEmbedded: isEmbedded), from: from)
    }

    /// The line of a URL. A second one of a number begins that page again: the links before it no
    /// longer count.
    func line(of entry: Entry, from: Int? = nil) -> [UInt8] {
        padded(
            JSONWriter.line { writer in
                begin("found", entry.n, entry.url, &writer)
                writer.member("depth", entry.depth)
                if let from { writer.member("from", from) }
                if entry.hops > 0 { writer.member("hops", entry.hops) }
                if entry.isOutside { writer.member("head", true) }
                if entry.isEmbedded { writer.member("embedded", true) }
            })
    }

    /// The line of a link, for `--check`.
    ///
    /// - Parameter url: In normal form, or as it is written if it is not a URL.
    func line(of link: Link, to url: String, on page: Entry) -> [UInt8] {
        padded(
            JSONWriter.line { writer in
                begin("link", page.n, url, &writer)
                writer.member("line", link.line)
                writer.member("raw", String(decoding: link.raw, as: UTF8.self))
                writer.member("text", link.label)
                writer.member("kind", link.kind.rawValue)
            })
    }

    /// The line of a page that has ended. It is not asked for again if its outcome lasts.
    ///
    /// - Parameters:
    ///   - content: Has the URL that it redirects to in normal form.
    ///   - facts: Members that are true: `ok` for a success that did not end well, `omitted` for a
    ///     body that was not wanted, `unread` for a type whose links are not read.
    func line(
        of entry: Entry, _ result: Attempt, _ outcome: Outcome, _ log: FetchLog?,
        _ content: Content, facts: [StaticString]
    ) -> [UInt8] {
        let hash = hash(entry.url)
        if outcome.lasts {
            _ = known.insert(hash, isDone: true)
            ways[hash]?.isEnd = content.target == nil
            begun.remove(entry.n)
        }
        return padded(
            JSONWriter.line { writer in
                begin(result.error == nil ? "response" : "error", entry.n, entry.url, &writer)
                writer.member("outcome", outcome.rawValue)
                writer.member("status", log?.head?.status)
                writer.member("time", object: log?.timings) { writer, timings in
                    writer.member("start", seconds: timings.startTime)
                }
                writer.member("size", content.size ?? log?.bodyBytes)
                if let hash = content.sha256 { writer.member("sha256", hash) }
                if let validator = content.validator { writer.member("validator", validator) }
                if let change = content.change { writer.member("change", change.rawValue) }
                if let seen = content.seen { writer.member("seen", seen) }
                for fact in facts { writer.member(fact, true) }
                if let pause = log?.head?.retryAfter, outcome == .temporaryFailure {
                    writer.member("retry_after", Int(pause.inSeconds.rounded(.up)))
                }
                if let target = content.target { writer.member("to", target) }
            })
    }

    /// The line of a URL that is not asked for.
    func line(skipping url: String, n: Int?, _ reason: String) -> [UInt8] {
        let hash = hash(url)
        _ = known.insert(hash, isDone: true)
        if reason == Self.tooFar { ways[hash] = .tooFar(n ?? next) }
        defer { if n == nil { next += 1 } }
        return padded(
            JSONWriter.line { writer in
                begin("skip", n ?? next, url, &writer)
                writer.member("reason", reason)
            })
    }

    private func begin(_ type: String, _ n: Int, _ url: String, _ writer: inout JSONWriter) {
        writer.begin(type)
        writer.member("n", n)
        writer.member("url", url)
    }

    func append(_ rules: Rules) throws(FetchError) {
        self.rules = rules
        try append(
            padded(
                JSONWriter.line { writer in
                    writer.begin("crawl")
                    writer.member("seeds", array: rules.seeds) { $0.value($1) }
                    writer.member("scope", rules.scope.rawValue)
                    writer.member("as", rules.roles)
                    if rules.checks { writer.member("check", true) }
                    writer.member("markup", true)
                    if let depth = rules.limits.depth { writer.member("depth", depth) }
                    if let pages = rules.limits.placePages {
                        writer.member("per_host_pages", pages)
                    }
                    if rules.limits.leavesOutEmbedded { writer.member("no_embedded", true) }
                    for (name, list) in rules.limits.lists.sorted(by: { $0.key < $1.key }) {
                        writer.member(named: name) { $0.array(list) { $0.value($1) } }
                    }
                }))
    }

    func append(_ robots: Robots, of place: String, at time: Int) throws(FetchError) {
        try append(
            padded(
                JSONWriter.line { writer in
                    writer.begin("robots")
                    writer.member("place", place)
                    writer.member("time", object: time) { $0.member("start", $1) }
                    writer.member("lines", array: robots.lines) { $0.value($1) }
                }))
    }

    /// Forgets all but the time of the last change.
    ///
    /// - Throws: `write`.
    func clear() throws(FetchError) {
        try lines.clear()
        forget()
    }

    func forget() {
        (next, known, rules, robots) = (0, KnownURLs(), nil, [])
        (ways, begun, pauses, lost) = ([:], [], [:], [])
        (round, roundOffset, contents, begunAgain) = (1, 0, [:], [])
    }

    /// Adds lines with one call; the URLs that they find wait from now on. After a failure the file
    /// has whole lines, and gets no more.
    ///
    /// - Parameter waits: False for the line of a URL that is asked for now.
    /// - Throws: `write`.
    func append(_ added: [UInt8], waits: Bool = true) throws(FetchError) {
        guard !added.isEmpty else { return }
        let start = lines.end
        try lines.append(added)
        isEnded = false
        for line in added.split(separator: ASCII.lineFeed) {
            try onLine?(line)
            guard let (n, url, _) = Self.url(in: line, after: Self.found) else { continue }
            if contents[n] != nil { begunAgain.insert(n) }
            if waits {
                let depth = keepsDepths ? ways[hash(url)]?.depth : nil
                let place = String(decoding: Self.place(url), as: UTF8.self)
                onWaiting(place, start + line.startIndex, depth)
            }
        }
    }

    /// Fills a line with blanks before its end.
    func padded(_ line: [UInt8]) -> [UInt8] {
        let missing = (Self.unit - line.count % Self.unit) % Self.unit
        return line.dropLast() + [UInt8](repeating: ASCII.space, count: missing)
            + [ASCII.lineFeed]
    }
}
