// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebFormats
internal import SmallWebRecords

// Reading the state of a crawl.
extension CrawlFile {
    static let found = line("found")
    static let link = line("link")
    static let ends = ["response", "error", "skip"].map(line)
    static let (urlMember, outcomeMember) = (member("url"), member("outcome"))
    /// Longest line that is read back; ``CrawlTraps`` has shorter URLs.
    private static let lineBytesMax = 4096

    private static func line(_ type: String) -> [UInt8] {
        Array("{\"type\":\"\(type)\",\"v\":1,\"n\":".utf8)
    }

    private static func member(_ name: String) -> [UInt8] { Array(",\"\(name)\":\"".utf8) }

    /// A URL of ``load()`` that may wait: there are as many as URLs, so it is small.
    private struct Waiting {
        let hash: UInt64
        /// Index in ``places``.
        let place: UInt32
        let offset: Int
    }

    /// Reads the file; afterwards ``onWaiting`` has been called for each URL that waits.
    ///
    /// - Parameter onPlace: Called with each server, and the number of its URLs.
    func load(onPlace: (_ name: String, _ pages: Int) -> Void = { _, _ in }) throws(FetchError) {
        var waiting: [Waiting] = []
        // The last lines of URLs that have several.
        var latest: [UInt64: Int] = [:]
        try lines.forEachLine { line, offset throws(FetchError) in
            isEnded = line.starts(with: Self.end)
            guard let found = Self.url(in: line, after: Self.found) else {
                let before = round
                try take(line, at: offset)
                guard round > before else { return }
                for entry in waiting { known.reopen(entry.hash) }
                for hash in ways.keys { ways[hash]?.isEnd = false }
                return gone = []
            }
            next = max(next, found.n + 1)
            let (hash, isNew) = (hash(found.url), !known.contains(hash(found.url)))
            begun.remove(found.n)
            let way = way(found.n, found.rest)
            if known.isDone(hash) {
                known.reopen(hash)
                keep(way, of: hash)
            } else if improve(hash, by: way) == nil && !isNew {
                return
            }
            let place = number(ofPlace: found.url)
            if isNew { places[Int(place)].pages += 1 }
            if !isNew { latest[hash] = offset }
            waiting.append(Waiting(hash: hash, place: place, offset: offset))
        }
        for entry in waiting where !known.isDone(entry.hash) {
            guard latest[entry.hash, default: entry.offset] == entry.offset else { continue }
            if gone.contains(entry.hash) { lost.append(entry.offset) }
            let depth = keepsDepths ? ways[entry.hash]?.depth : nil
            onWaiting(places[Int(entry.place)].name, entry.offset, depth)
        }
        for place in places { onPlace(place.name, place.pages) }
        (places, placeNumbers, gone) = ([], [:], [])
    }

    private func number(ofPlace url: ArraySlice<UInt8>) -> UInt32 {
        let place = Self.place(url)
        var hasher = Hasher()
        place.withUnsafeBytes { hasher.combine(bytes: $0) }
        let hash = hasher.finalize()
        if let number = placeNumbers[hash] { return number }
        places.append((String(decoding: place, as: UTF8.self), 0))
        let number = UInt32(places.count - 1)
        placeNumbers[hash] = number
        return number
    }

    /// The way in the rest of a line that finds a URL.
    private func way(_ n: Int, _ rest: ArraySlice<UInt8>) -> Way {
        let depth = keepsDepths ? Self.number("depth", in: rest) ?? 0 : 0
        return Way(
            n: UInt32(clamping: n), depth: UInt16(clamping: depth),
            hops: UInt8(clamping: Self.number("hops", in: rest) ?? 0),
            isOutside: rest.range(ofText: #","head":true"#) != nil)
    }

    /// Takes a line that finds no URL.
    private func take(_ line: ArraySlice<UInt8>, at offset: Int) throws(FetchError) {
        // The word of the type tells most lines apart.
        let initial = line.dropFirst(9).first
        for start in Self.ends where start[9] == initial {
            guard let (n, url, rest) = Self.url(in: line, after: start) else { continue }
            next = max(next, n + 1)
            return take(end: rest, of: url, n)
        }
        if line.starts(with: Self.link) {
            if let (n, _, _) = Self.url(in: line, after: Self.link) { begun.insert(n) }
        } else if !line.allSatisfy(ASCII.isSpace) {
            try take(record: line, at: offset)
        }
    }

    private func take(end rest: ArraySlice<UInt8>, of url: ArraySlice<UInt8>, _ n: Int) {
        let hash = hash(url)
        guard rest.starts(with: Self.outcomeMember) else {
            // A URL that is not asked for.
            _ = known.insert(hash, isDone: true)
            let isTooFar = rest.range(ofText: "\"\(Self.tooFar)\"") != nil
            if isTooFar || seeds.contains(hash) { ways[hash] = .tooFar(n) }
            return
        }
        let outcome = Self.outcome(in: rest)
        let redirects = rest.range(ofText: #","to":""#) != nil
        if let seconds = Self.number("retry_after", in: rest) {
            let start = Self.number("start", in: rest, after: "\"") ?? 0
            let place = String(decoding: Self.place(url), as: UTF8.self)
            pauses[place] = (Double(start), Double(seconds))
        }
        guard outcome?.lasts ?? false else { return }
        begun.remove(n)
        let isSaved =
            outcome == .ok && !redirects && !(ways[hash]?.isOutside ?? false)
            && rest.range(ofText: #","omitted":true"#) == nil
        if isSaved, isUnread(url) || !isKept(String(decoding: url, as: UTF8.self)) {
            gone.insert(hash)
            return
        }
        _ = known.insert(hash, isDone: true)
        ways[hash]?.isEnd = !redirects
    }

    /// True for a page that was fetched by a version without HTML and Markdown, and may be either.
    private func isUnread(_ url: ArraySlice<UInt8>) -> Bool {
        guard !(rules?.readsMarkup ?? true) else { return false }
        let text = String(decoding: url, as: UTF8.self)
        let name = (text.split(separator: "?").first ?? "").split(separator: "/").last ?? ""
        let isMarkup =
            URI.scheme(of: text).map { registry.hasHeaderFields($0) } ?? false
            || ["html", "htm", "md"].contains(name.split(separator: ".").last ?? "")
        hasUnread = hasUnread || isMarkup
        return isMarkup
    }

    private func take(record line: ArraySlice<UInt8>, at offset: Int) throws(FetchError) {
        guard let record = try? JSONValue.parse(line), case .number("1")? = record["v"],
            let type = record["type"]?.string
        else {
            throw foreignError
        }
        switch type {
        case "crawl":
            guard let scope = record["scope"]?.string.flatMap(CrawlScope.Extent.init) else {
                return
            }
            var rules = Rules(
                seeds: record["seeds"]?.strings ?? [], scope: scope,
                roles: record["as"]?.string ?? "", checks: record["check"]?.bool ?? false)
            rules.readsMarkup = record["markup"]?.bool ?? false
            rules.limits.leavesOutEmbedded = record["no_embedded"]?.bool ?? false
            rules.limits.depth = record["depth"]?.int
            rules.limits.placePages = record["per_host_pages"]?.int
            for name in Limits.names { rules.limits.lists[name] = record[name]?.strings }
            self.rules = rules
        case "robots":
            guard let place = record["place"]?.string,
                case .number(let time)? = record["time"]?["start"], let start = Double(time)
            else { return }
            robots.append((place, record["lines"]?.strings ?? [], Int(start)))
        case "round": (round, roundOffset) = (round + 1, offset)
        default: break
        }
    }

    /// The error for a file of something else.
    var foreignError: FetchError {
        usageError("\(path) is not the state of a crawl", hint: Advice.otherState)
    }

    /// The number and the URL of a line in the form in which they are written here, and what is
    /// behind them.
    static func url(
        in line: ArraySlice<UInt8>, after start: [UInt8]
    ) -> (n: Int, url: ArraySlice<UInt8>, rest: ArraySlice<UInt8>)? {
        guard line.starts(with: start) else { return nil }
        let digits = line.dropFirst(start.count).prefix(while: ASCII.isDigit)
        let rest = line[digits.endIndex...]
        guard let n = ASCII.decimal(digits, max: 1 << 40), rest.starts(with: urlMember) else {
            return nil
        }
        let url = rest.dropFirst(urlMember.count)
        return url.firstIndex(of: UInt8(ascii: "\"")).map { (n, url[..<$0], url[($0 + 1)...]) }
    }

    static func outcome(in rest: ArraySlice<UInt8>) -> Outcome? {
        let word = rest.dropFirst(outcomeMember.count).prefix { $0 != UInt8(ascii: "\"") }
        return word.elementsEqual("ok".utf8)
            ? .ok : Outcome(rawValue: String(decoding: word, as: UTF8.self))
    }

    /// The whole part of a member that is a number.
    private static func number(
        _ name: String, in rest: ArraySlice<UInt8>, after mark: String = ",\""
    ) -> Int? {
        guard let range = rest.range(ofText: "\(mark)\(name)\":") else { return nil }
        return ASCII.decimal(rest[range.upperBound...].prefix(while: ASCII.isDigit), max: 1 << 40)
    }

    /// The part of a normal URL before its path.
    static func place(_ url: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
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
    /// - Throws: `read` for a line that was changed meanwhile.
    func entry(at offset: Int) throws(FetchError) -> Entry {
        var lines = LineFile.Lines(
            lines.descriptor, from: offset, pieceBytes: Self.lineBytesMax,
            lineBytesMax: Self.lineBytesMax)
        guard let line = try? lines.next(),
            let (n, url, rest) = Self.url(in: line, after: Self.found)
        else {
            throw FetchError(.read, .input, "cannot read the state \(path): another has changed it")
        }
        return Entry(
            url: String(decoding: url, as: UTF8.self), n: n,
            depth: Self.number("depth", in: rest) ?? 0, hops: Self.number("hops", in: rest) ?? 0,
            isOutside: rest.range(ofText: #","head":true"#) != nil,
            isEmbedded: rest.range(ofText: #","embedded":true"#) != nil)
    }

    /// What the file says of the targets of links, the last line of each.
    struct End {
        /// `nil` for a URL that is not asked for.
        var outcome: Outcome?
        /// Hash of the URL that it redirects to.
        var next: UInt64?
        /// True for a page with links of which some were not read.
        var isCut = false
        /// True for a type whose links are not read.
        var isUnread = false
    }

    /// The ends of URLs by hash; of all if `wanted` is `nil`.
    ///
    /// - Throws: `read`, `interrupted`.
    func ends(of wanted: Set<UInt64>? = nil) throws(FetchError) -> [UInt64: End] {
        var ends: [UInt64: End] = [:]
        try lines.forEachLine { line, offset throws(FetchError) in
            // An end of an earlier round says nothing of this one.
            if offset == roundOffset { ends = [:] }
            for start in Self.ends where start[9] == line.dropFirst(9).first {
                guard let (_, url, rest) = Self.url(in: line, after: start) else { continue }
                let hash = hash(url)
                guard wanted?.contains(hash) ?? true else { return }
                var end = End()
                if rest.starts(with: Self.outcomeMember) {
                    end.outcome = Self.outcome(in: rest)
                    if rest.range(ofText: #","ok":true"#) != nil {
                        end.isCut = end.outcome == .tooLarge
                        end.outcome = .ok
                    }
                    end.isUnread = rest.range(ofText: #","unread":true"#) != nil
                    if rest.range(ofText: #","to":""#) != nil {
                        let target = (try? JSONValue.parse(line))?["to"]?.string
                        end.next = target.map { self.hash($0) }
                    }
                } else {
                    end.outcome = [.robots, .usage].first {
                        rest.range(ofText: ",\"reason\":\"\($0.rawValue)\"") != nil
                    }
                }
                ends[hash] = end
                return
            }
        }
        return ends
    }
}

extension CrawlFile.Way {
    /// The way to a URL that is too far in a chain of redirects: any other is better.
    static func tooFar(_ n: Int) -> CrawlFile.Way {
        CrawlFile.Way(n: UInt32(clamping: n), depth: .max, hops: .max)
    }
}

extension Outcome {
    /// True if a page with this outcome is not asked for again: it was fetched, refused for good,
    /// or forbidden.
    var lasts: Bool {
        switch self {
        case .ok, .unsupportedScheme, .usage, .badURL, .protocolError, .permanentFailure,
            .tooManyRedirects, .tooLarge, .needsIdentity, .needsInput, .redirectRefused,
            .notRecorded, .robots, .refusedAddress:
            true
        case .notBuiltIn, .proxyResolve, .resolve, .connect, .truncated, .write, .read, .timeout,
            .tls, .emptyReply, .send, .receive, .identityUnusable, .untrusted, .temporaryFailure,
            .trustChanged, .proxy, .plugin, .internal, .interrupted:
            false
        }
    }
}

extension ArraySlice<UInt8> {
    /// The first occurrence of `text` in a short slice.
    func range(ofText text: String) -> Range<Int>? {
        indices.first { self[$0...].starts(with: text.utf8) }.map { $0..<$0 + text.utf8.count }
    }
}

extension JSONValue {
    var int: Int? { if case .number(let text) = self { Int(text) } else { nil } }

    /// The strings of an array.
    var strings: [String]? {
        guard case .array(let values) = self else { return nil }
        return values.compactMap(\.string)
    }
}
