// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebFormats

/// Selects the part of a page to compare: its bytes, its text without some lines, or its links.
struct ComparisonRules {
    let heading: String?
    let comparesLinks: Bool
    let filter: LineFilter
    /// Hash of these rules, stored with digests so that only equal rules are compared.
    let basis: String
    /// True to keep the text for a difference.
    let keepsText: Bool

    init(_ settings: FeedSettings) throws(FetchError) {
        heading = settings.heading
        comparesLinks = settings.comparesLinks
        filter = try LineFilter(settings.ignored)
        keepsText = settings.showsDifference
        let digest = try Digest(.sha256)
        for part in [settings.heading ?? "", settings.comparesLinks ? "links" : "text"]
            + settings.ignored
        {
            digest.update(Array("\(part.utf8.count) \(part)".utf8)[...])
        }
        basis = String(digest.finish().hex.prefix(8))
    }

    /// True if the body's bytes are compared as they are.
    var isOfBody: Bool { heading == nil && !comparesLinks && filter.isEmpty }
}

/// Reads one page for comparison, in bounded memory.
final class WatchedPage: VisitReader {
    /// Longest text to show a difference of, and longest list of links, in bytes.
    static let keptMax = 1 << 20
    /// Longer lines are split.
    private static let lineBytesMax = 65_536

    private let rules: ComparisonRules
    private let base: URI
    private let registry: Registry
    private let body: Digest
    private let compared: Digest
    private let isText: Bool
    private let charset: CharsetConverter?
    /// Parsers of gemtext, for links and headings.
    private var gemtext: GemtextReader?
    private var section: GemtextSection?
    private var pending: [UInt8] = []
    private var links: Set<String> = []
    private var linkBytes = 0

    private(set) var size = 0
    private(set) var sha256 = ""
    /// Digest of the compared content, if that is not the body.
    private(set) var comparedDigest: String?
    /// The compared text; `nil` if the body is not text, or too long.
    private(set) var text: [UInt8]?
    /// Links in order; `nil` if there are too many.
    private(set) var linkList: [String]?
    /// The reason for the absence of `text`.
    private(set) var textProblem = "it has more than 1 MiB"

    init(_ head: Head, _ log: FetchLog, _ registry: Registry, _ rules: ComparisonRules)
        throws(FetchError)
    {
        self.rules = rules
        self.registry = registry
        base = log.uri.withoutPassword
        (body, compared) = (try Digest(.sha256), try Digest(.sha256))
        let type = head.mediaType
        isText = type?.isText ?? true
        charset = type?.charset.flatMap(CharsetConverter.init(from:))
        if type?.essence == "text/gemini" {
            gemtext = GemtextReader(of: log.uri, registry)
            section = rules.heading.map { GemtextSection(under: $0) }
        }
        text = rules.keepsText && isText ? [] : nil
        if !isText { textProblem = "\(type?.essence ?? "it") is not text" }
        linkList = rules.comparesLinks ? [] : nil
    }

    func take(_ event: Event) throws(FetchError) {
        switch event {
        case .body(let bytes):
            size += bytes.count
            body.update(bytes)
            if readsLines { try read(charset.map { $0.convert(bytes)[...] } ?? bytes) }
        case .item(let item) where rules.comparesLinks && rules.heading == nil:
            let link = Link(item, base: base, line: 0, registry: registry)
            if link.isLink, link.kind != .reference { add(link) }
        default: break
        }
    }

    private var readsLines: Bool { isText && (!rules.isOfBody || text != nil) }

    func finish(_ ending: Ending) throws(FetchError) {
        if let charset, readsLines { try read(charset.finish()[...]) }
        if readsLines, !pending.isEmpty { try takeLine() }
        if let heading = rules.heading, section?.wasFound != true {
            throw FetchError(
                .protocolError, .body, "no heading \"\(heading)\"",
                hint: "it must be the whole text of a heading line of gemtext")
        }
        sha256 = body.finish().hex
        guard !rules.isOfBody, isText || rules.comparesLinks else { return }
        if rules.comparesLinks {
            linkList = linkBytes <= Self.keptMax ? links.sorted() : nil
            for link in links.sorted() { compared.update(Array("\(link)\n".utf8)[...]) }
        }
        comparedDigest = rules.basis + ":" + compared.finish().hex
    }

    // MARK: Lines

    private func read(_ bytes: ArraySlice<UInt8>) throws(FetchError) {
        var rest = bytes
        while !rest.isEmpty {
            let end = rest.firstLineFeed
            var line = rest[..<(end ?? rest.endIndex)]
            rest = end.map { rest[($0 + 1)...] } ?? []
            while pending.count + line.count > Self.lineBytesMax {
                let room = Self.lineBytesMax - pending.count
                pending += line.prefix(room)
                line = line.dropFirst(room)
                try takeLine()
            }
            pending += line
            if end != nil { try takeLine() }
        }
    }

    private func takeLine() throws(FetchError) {
        var line = pending
        pending = []
        if line.last == ASCII.carriageReturn { line.removeLast() }
        if gemtext != nil, section != nil || rules.comparesLinks {
            let lines = gemtext?.add((line + [ASCII.lineFeed])[...]) ?? []
            // Each piece of a split line counts as a line.
            for line in lines {
                let isIncluded = section?.includes(line) ?? true
                if isIncluded && rules.comparesLinks && line.kind == .link {
                    add(Link(line, base: base, registry: registry))
                }
                guard isIncluded else { return }
            }
        } else if rules.heading != nil {
            return
        }
        guard !rules.comparesLinks || text != nil, try rules.filter.keeps(line[...]) else { return }
        line.append(ASCII.lineFeed)
        if !rules.comparesLinks { compared.update(line[...]) }
        guard let count = text?.count else { return }
        if count + line.count <= Self.keptMax { text? += line } else { text = nil }
    }

    private func add(_ link: Link) {
        guard let url = link.uri?.withoutPassword.description, linkBytes <= 16 * Self.keptMax,
            links.insert(url).inserted
        else { return }
        linkBytes += url.utf8.count + 1
    }
}
