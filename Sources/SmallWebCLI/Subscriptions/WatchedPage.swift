// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebFormats

/// Selects the part of a page to compare: its bytes, its text without some lines, or its links.
struct ComparisonRules {
    let heading: String?
    let comparesLinks: Bool
    let filter: LineFilter
    /// Hash of these rules, stored with digests so that only equal rules are compared; of pages
    /// whose blocks are not their lines another.
    let basis: String
    let blockBasis: String
    /// True to keep the text for a difference.
    let keepsText: Bool

    init(_ settings: FeedSettings) throws(FetchError) {
        heading = settings.heading
        comparesLinks = settings.comparesLinks
        filter = try LineFilter(settings.ignored)
        keepsText = settings.showsDifference
        let parts =
            [settings.heading ?? "", settings.comparesLinks ? "links" : "text"] + settings.ignored
        let text = parts.map { "\($0.utf8.count) \($0)" }.joined()
        basis = String(try Digest.sha256(text).prefix(8))
        blockBasis = String(try Digest.sha256(text + "blocks").prefix(8))
    }

    /// True if the body's bytes are compared as they are.
    var isOfBody: Bool { heading == nil && !comparesLinks && filter.isEmpty }
}

/// Reads one page for comparison, in bounded memory.
final class WatchedPage: PageSink {
    /// Longest text to show a difference of, and longest list of links, in bytes.
    static let keptMax = 1 << 20

    private let rules: ComparisonRules
    /// `nil` for a reply without a head.
    private var page: PageReader?
    private let body: Digest
    private let compared: Digest
    private let isText: Bool
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

    init(_ head: Head, _ rules: ComparisonRules) throws(FetchError) {
        self.rules = rules
        (body, compared) = (try Digest(.sha256), try Digest(.sha256))
        let type = head.mediaType
        isText = type?.isText ?? true
        text = rules.keepsText && isText ? [] : nil
        if !isText { textProblem = "\(type?.essence ?? "it") is not text" }
        linkList = rules.comparesLinks ? [] : nil
    }

    func begin(_ page: PageReader) {
        self.page = page
        let isWhole = rules.isOfBody && text == nil && !page.kind.isMarkup
        page.require(isText && !isWhole ? .source : .feed, under: rules.heading)
    }

    func take(_ event: Event) throws(FetchError) {
        guard case .body(let bytes) = event else { return }
        size += bytes.count
        body.update(bytes)
    }

    var isFeed: Bool { page?.feed != nil }
    private var isMarkup: Bool { page?.kind.isMarkup ?? false }

    func finish(_ ending: Ending) throws(FetchError) {
        if let heading = rules.heading, page?.hasHeading != true {
            throw FetchError(
                .protocolError, .body, "no heading \"\(heading)\"",
                hint: "it must be the whole text of a heading")
        }
        sha256 = body.finish().hex
        if rules.isOfBody && !isMarkup {
            // The time of a feed alone is not news.
            guard let feed = page?.feed, size <= PageReader.feedBytesMax else { return }
            compared.update(feed.text { $0.address == nil ? [] : nil }[...])
        }
        guard isText || rules.comparesLinks else { return }
        if rules.comparesLinks {
            linkList = linkBytes <= Self.keptMax ? links.sorted() : nil
            for link in links.sorted() { compared.update(Array("\(link)\n".utf8)[...]) }
        }
        comparedDigest =
            (isMarkup ? rules.blockBasis : rules.basis) + ":" + compared.finish().hex
    }

    func take(_ line: PageLine, _ links: () -> [Link]) throws(FetchError) {
        guard line.isIncluded else { return }
        if rules.comparesLinks {
            for link in links() where link.isLink && !link.isEmbedded { add(link) }
        }
        if case .item = line.content { return }
        guard !rules.comparesLinks || text != nil, try rules.filter.keeps(line.bytes)
        else { return }
        let bytes = line.bytes + [ASCII.lineFeed]
        if !rules.comparesLinks && (!rules.isOfBody || isMarkup) { compared.update(bytes) }
        guard let count = text?.count else { return }
        if count + bytes.count <= Self.keptMax { text? += bytes } else { text = nil }
    }

    private func add(_ link: Link) {
        guard let url = link.uri?.withoutPassword.description, linkBytes <= 16 * Self.keptMax,
            links.insert(url).inserted
        else { return }
        linkBytes += url.utf8.count + 1
    }
}

/// Removes lines that match extended regular expressions.
struct LineFilter {
    private let expressions: [ExtendedExpression]

    /// - Throws: `usage` for an invalid expression, and for one that could take exponential time or
    ///   memory.
    init(_ patterns: [String]) throws(FetchError) {
        expressions = try patterns.map { pattern throws(FetchError) in
            try OptionValue.expression(pattern, "--ignore")
        }
    }

    var isEmpty: Bool { expressions.isEmpty }

    /// True if no expression matches the line.
    ///
    /// - Throws: `interrupted`, `timeout`.
    func keeps(_ line: ArraySlice<UInt8>) throws(FetchError) -> Bool {
        for expression in expressions where try expression.matches(in: line) { return false }
        return true
    }
}
