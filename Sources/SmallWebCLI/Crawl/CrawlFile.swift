// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb
internal import SmallWebFormats
internal import SmallWebRecords

/// The state of a crawl: a file of JSON lines that only grows, and the only truth about it. In
/// memory are a hash of each URL and the place in the file of each one that waits.
///
/// Lines are padded to 16 bytes, so that 32 bits hold a place in 64 GiB. One process has the file.
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
        let isOutside: Bool
        /// Requests of this run that did not end it.
        var tries = 0
    }

    let path: String
    private let registry: Registry
    private let file: Descriptor
    private var end = 0
    private var known = KnownURLs()
    /// Names of servers while the file is read, and their indices by hash.
    private var placeNames: [String] = []
    private var placeNumbers: [Int: UInt32] = [:]
    private(set) var rules: Rules?
    /// Rules of robots files by place, with the Unix seconds of their requests.
    private(set) var robots: [(place: String, lines: [String], time: Int)] = []
    /// Unix seconds of the last change before this run; 0 for a new file.
    private(set) var lastChange = 0.0
    /// Latest time of a request before this run: one that was under way has no line.
    var lastRequest: Instant {
        .now.advanced(seconds: min(0, lastChange - Double(wallClockNanoseconds()) / 1e9))
    }
    /// Number of the next URL.
    private(set) var next = 0
    /// Called with the place of each URL that waits, and where its line is.
    var onWaiting: (_ place: String, _ offset: UInt32) -> Void = { _, _ in }

    /// Called with each line that is written.
    var onLine: ((ArraySlice<UInt8>) throws(FetchError) -> Void)?

    private static let unit = 16
    private static let found = Array(#"{"type":"found","v":1,"n":"#.utf8)
    private static let link = Array(#"{"type":"link","v":1,"n":"#.utf8)
    private static let urlMember = Array(#","url":""#.utf8)
    private static let ends = ["response", "error", "skip"].map {
        Array("{\"type\":\"\($0)\",\"v\":1,\"n\":".utf8)
    }
    /// Longest line that is read back; ``CrawlTraps`` has shorter URLs.
    private static let lineBytesMax = 4096

    /// - Throws: `usage` for a file that cannot be a state; `write` if another crawl has it.
    init(_ path: String, _ registry: Registry) throws(FetchError) {
        (self.path, self.registry) = (path, registry)
        var status = stat()
        do throws(SystemError) {
            try makeDirectories(directory(of: path), mode: 0o700)
            let flags = O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK
            file = try Descriptor(opening: path, flags, mode: 0o600)
            _ = try systemCall { fstat(file.borrowed, &status) }
        } catch {
            throw error.number == ELOOP
                ? usageError("the state \(path) is a symbolic link", hint: "name its target")
                : FetchError(.write, .output, "cannot open the state \(path)", error)
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw usageError("the state \(path) is not a regular file")
        }
        guard (try? file.lock()) ?? true else {
            throw FetchError(.write, .output, "the state \(path) is in use: another crawl has it")
        }
        try Ledger.cutTornLine(file.borrowed, size: Int(status.st_size), path)
        lastChange =
            status.st_size == 0
            ? 0 : Double(status.st_mtim.tv_sec) + Double(status.st_mtim.tv_nsec) / 1e9
    }

    // MARK: Reading

    /// Reads the file; afterwards ``onWaiting`` has been called for each URL that waits.
    func load() throws(FetchError) {
        var waiting: [Waiting] = []
        end = try scan { line, offset throws(FetchError) in try take(line, at: offset, &waiting) }
        for entry in waiting where !known.isDone(entry.hash) {
            onWaiting(placeNames[Int(entry.place)], entry.offset)
        }
        (placeNames, placeNumbers) = ([], [:])
    }

    /// Forgets all but the time of the last change.
    ///
    /// - Throws: `write`.
    func clear() throws(FetchError) {
        try writing { () throws(SystemError) in
            _ = try systemCall { ftruncate(file.borrowed, 0) }
        }
        (end, next, known, rules, robots) = (0, 0, KnownURLs(), nil, [])
    }

    /// Passes each line, and where it is, to `body`.
    ///
    /// - Returns: The size of the file.
    func scan(
        _ body: (_ line: ArraySlice<UInt8>, _ offset: Int) throws(FetchError) -> Void
    ) throws(FetchError) -> Int {
        var rest: [UInt8] = []
        var (start, size) = (0, 0)
        while true {
            var piece: [UInt8]
            do throws(SystemError) {
                piece = try FileBytes.read(file.borrowed, at: size, count: 1 << 20)
            } catch {
                throw FetchError(.read, .input, "cannot read the state \(path)", error)
            }
            size += piece.count
            if piece.isEmpty { return size }
            piece = rest + piece
            var lines = piece[...]
            while let feed = lines.firstLineFeed {
                try body(lines[..<feed], start)
                start += feed + 1 - lines.startIndex
                lines = lines[(feed + 1)...]
            }
            rest = Array(lines)
            try LongWork.check()
        }
    }

    /// A URL of ``load()`` that may wait: there are as many as URLs, so it is small.
    private struct Waiting {
        let hash: UInt64
        /// Index in ``placeNames``.
        let place: UInt32
        let offset: UInt32
    }

    private func number(ofPlace url: ArraySlice<UInt8>) -> UInt32 {
        let place = Self.place(url)
        var hasher = Hasher()
        place.withUnsafeBytes { hasher.combine(bytes: $0) }
        let hash = hasher.finalize()
        if let number = placeNumbers[hash] { return number }
        placeNames.append(String(decoding: place, as: UTF8.self))
        let number = UInt32(placeNames.count - 1)
        placeNumbers[hash] = number
        return number
    }

    private func take(
        _ line: ArraySlice<UInt8>, at offset: Int,
        _ waiting: inout [Waiting]
    ) throws(FetchError) {
        if let (n, url) = Self.url(in: line, after: Self.found) {
            next = max(next, n + 1)
            let hash = hash(url)
            guard known.insert(hash, isDone: false) else { return }
            return waiting.append(
                Waiting(
                    hash: hash, place: number(ofPlace: url),
                    offset: UInt32(clamping: offset / Self.unit)))
        }
        // The word of the type tells most lines apart.
        let initial = line.dropFirst(9).first
        for start in Self.ends where start[9] == initial {
            guard let (n, url) = Self.url(in: line, after: start) else { continue }
            next = max(next, n + 1)
            _ = known.insert(hash(url), isDone: true)
            return
        }
        if line.starts(with: Self.link) { return }
        let isBlank = line.allSatisfy(ASCII.isSpace)
        guard !isBlank else { return }
        try take(record: line)
    }

    private func take(record line: ArraySlice<UInt8>) throws(FetchError) {
        guard let record = try? JSONValue.parse(line), case .number("1")? = record["v"],
            let type = record["type"]?.string
        else {
            throw usageError(
                "\(path) is not the state of a crawl", hint: "name another file with --state")
        }
        switch type {
        case "crawl":
            guard let scope = record["scope"]?.string.flatMap(CrawlScope.Extent.init) else {
                return
            }
            rules = Rules(
                seeds: record["seeds"]?.strings ?? [], scope: scope,
                roles: record["as"]?.string ?? "", checks: record["check"]?.bool ?? false)
        case "robots":
            guard let place = record["place"]?.string,
                case .number(let time)? = record["time"]?["start"], let start = Double(time)
            else { return }
            robots.append((place, record["lines"]?.strings ?? [], Int(start)))
        default: break
        }
    }

    /// The number and the URL of a line in the form in which they are written here.
    private static func url(
        in line: ArraySlice<UInt8>, after start: [UInt8]
    ) -> (n: Int, url: ArraySlice<UInt8>)? {
        guard line.starts(with: start) else { return nil }
        let digits = line.dropFirst(start.count).prefix(while: ASCII.isDigit)
        let mark = Self.urlMember
        let rest = line[digits.endIndex...]
        guard let n = ASCII.decimal(digits, max: 1 << 40), rest.starts(with: mark) else {
            return nil
        }
        let url = rest.dropFirst(mark.count)
        return url.firstIndex(of: UInt8(ascii: "\"")).map { (n, url[..<$0]) }
    }

    /// The part of a normal URL before its path.
    private static func place(_ url: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var (end, slashes) = (url.startIndex, 0)
        while end < url.endIndex {
            if url[end] == ASCII.slash { slashes += 1 }
            if slashes == 3 { break }
            end += 1
        }
        return url[..<end]
    }

    /// The entry of a line, for ``onWaiting``.
    ///
    /// - Returns: `nil` for one that was changed meanwhile.
    func entry(at offset: UInt32) -> Entry? {
        let start = Int(offset) * Self.unit
        guard let bytes = try? FileBytes.read(file.borrowed, at: start, count: Self.lineBytesMax),
            let end = bytes.firstIndex(of: ASCII.lineFeed),
            let (n, url) = Self.url(in: bytes[..<end], after: Self.found),
            let record = try? JSONValue.parse(bytes[..<end])
        else { return nil }
        return Entry(
            url: String(decoding: url, as: UTF8.self), n: n, depth: record["depth"]?.int ?? 0,
            hops: record["hops"]?.int ?? 0, isOutside: record["head"]?.bool ?? false)
    }

    // MARK: Known URLs

    /// Hash of a URL without the item type, if its scheme has such.
    private func hash(_ url: ArraySlice<UInt8>) -> UInt64 {
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

    func isKnown(_ url: String) -> Bool { known.contains(hash(Array(url.utf8)[...])) }

    // MARK: Writing

    /// The line of a URL that is new, or `nil` if it is known. It counts as known from now on.
    ///
    /// - Parameter isOutside: True to look at its head alone, and to follow nothing there.
    func lineOfNew(
        _ url: String, depth: Int, hops: Int = 0, from: Int?, isOutside: Bool = false
    ) -> [UInt8]? {
        guard known.insert(hash(Array(url.utf8)[...]), isDone: false) else { return nil }
        defer { next += 1 }
        return padded(
            JSONWriter.line { writer in
                begin("found", next, url, &writer)
                writer.member("depth", depth)
                if let from { writer.member("from", from) }
                if hops > 0 { writer.member("hops", hops) }
                if isOutside { writer.member("head", true) }
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

    /// The line of a page that has ended; it is not asked for again.
    ///
    /// - Parameter target: Where it redirects to, in normal form.
    func line(
        of entry: Entry, _ result: Attempt, _ outcome: Outcome, _ log: FetchLog?,
        target: String? = nil
    ) -> [UInt8] {
        _ = known.insert(hash(Array(entry.url.utf8)[...]), isDone: true)
        return padded(
            JSONWriter.line { writer in
                begin(result.error == nil ? "response" : "error", entry.n, entry.url, &writer)
                writer.member("outcome", outcome.rawValue)
                writer.member("status", log?.head?.status)
                writer.member("time", object: log?.timings) { writer, timings in
                    writer.member("start", seconds: timings.startTime)
                }
                writer.member("size", log?.bodyBytes)
                if let target { writer.member("to", target) }
            })
    }

    /// The line of a URL that is not asked for.
    func line(skipping url: String, n: Int?, _ reason: String) -> [UInt8] {
        _ = known.insert(hash(Array(url.utf8)[...]), isDone: true)
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

    private func writing(_ body: () throws(SystemError) -> Void) throws(FetchError) {
        do throws(SystemError) {
            try body()
        } catch {
            throw FetchError(.write, .output, "cannot write to the state \(path)", error)
        }
    }

    /// Adds lines with one call; the URLs that they find wait from now on.
    ///
    /// - Throws: `write`.
    func append(_ lines: [UInt8]) throws(FetchError) {
        guard !lines.isEmpty else { return }
        try writing { () throws(SystemError) in try writeAll(lines[...], to: file.borrowed) }
        var rest = lines[...]
        while let feed = rest.firstLineFeed {
            try onLine?(rest[..<feed])
            if let (_, url) = Self.url(in: rest[..<feed], after: Self.found) {
                onWaiting(
                    String(decoding: Self.place(url), as: UTF8.self),
                    UInt32(clamping: end / Self.unit))
            }
            end += feed + 1 - rest.startIndex
            rest = rest[(feed + 1)...]
        }
    }

    /// Fills a line with blanks before its end.
    private func padded(_ line: [UInt8]) -> [UInt8] {
        let missing = (Self.unit - line.count % Self.unit) % Self.unit
        return line.dropLast() + [UInt8](repeating: ASCII.space, count: missing)
            + [ASCII.lineFeed]
    }
}

extension JSONValue {
    var int: Int? { if case .number(let text) = self { Int(text) } else { nil } }

    /// The strings of an array.
    fileprivate var strings: [String]? {
        guard case .array(let values) = self else { return nil }
        return values.compactMap(\.string)
    }
}
