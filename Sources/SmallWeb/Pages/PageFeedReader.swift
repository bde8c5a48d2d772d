// SPDX-License-Identifier: MIT
package import SmallWebCore
package import SmallWebFormats

package struct FeedRules: Sendable {
    /// Only the links below this heading; `nil` for all.
    package var heading: String?
    /// True to make entries of links without a date, too.
    package var takesUndated = false
    /// True to make entries of those of a feed, false to keep its bytes to be passed on.
    package var readsDocuments = false
    /// Dated entries to keep, the newest.
    package var entriesMax = 100

    package init() {}
}

package enum FeedNature: Sendable, Hashable {
    /// Its lines, items or headings become entries.
    case page
    /// It is a feed already, and passed on.
    case document
    /// Names of versions: new ones are recognized by their ids.
    case versions
    case other
    /// The page was not delivered, since it has not changed.
    case unchanged
}

/// Reads the entries of one page while it arrives: lines of gemtext, items of menus and listings,
/// headings of plain text, entries of a feed. The memory used does not grow with the page, but for
/// a feed of at most ``PageReader/feedBytesMax``.
package final class PageFeedReader: PageSink {
    /// Longer blocks of HTML are prose, whose dates are not those of their links.
    private static let labelBytesMax = 300
    /// Limit of entries without a date; more are dropped.
    package static let undatedMax = 20_000

    private let rules: FeedRules
    private let essence: String
    /// `nil` for a reply without a head.
    private var page: PageReader?
    private var headings: PlainHeadingReader?
    private var dated: FeedEntries
    private var known: Set<String> = []
    private var lastHeading = 0
    /// The dated heading above the present line.
    private var day: DayHeading?
    /// The date alone on a line above the present item, and true if items have come below it.
    private var itemDay: (day: CivilDay, hasItems: Bool)?

    package private(set) var nature: FeedNature
    /// The feed that the page names as its own; `nil` if it names none.
    package private(set) var alternate: URI?
    /// A feed that is passed on, with absolute addresses.
    package private(set) var document: Spool?
    private var isBlank = true
    package private(set) var title: String?
    package private(set) var subtitle: String?
    /// Entries without a date, in the order of the page; their time is 0.
    package private(set) var undated: [Feed.Entry] = []
    /// True if there were more than ``undatedMax`` of them.
    package private(set) var hasMore = false

    private struct DayHeading {
        let level: Int
        let dated: DatedText
        let text: [UInt8]
        /// True if the heading is the entry, as in a tinylog, false if the links below it are.
        let isEntry: Bool
        var hasLinks = false
    }

    package init(_ head: Head, _ rules: FeedRules) {
        self.rules = rules
        dated = FeedEntries(countMax: rules.entriesMax)
        let type = head.mediaType
        essence = type?.essence ?? ""
        nature = head.isUnchanged ? .unchanged : .other
        switch essence {
        case "text/gemini", "application/gopher-menu", "text/html", "application/xhtml+xml":
            nature = .page
        case "text/plain", "text/markdown", "text/x-markdown":
            headings = PlainHeadingReader()
            nature = .page
        default: break
        }
        if !rules.readsDocuments { document = Spool(memoryMax: 65_536) }
    }

    package func begin(_ page: PageReader) {
        self.page = page
        page.require(headings == nil ? .links : .source, under: rules.heading)
    }

    private var saysFeed: Bool { Link.feedTypes.contains(essence) }

    /// True if the heading of the rules is on the page, or they have none.
    package var hasHeading: Bool { page?.hasHeading ?? (rules.heading == nil) }

    /// True for a page that is a feed, or says so.
    private var isDocument: Bool {
        page?.kind == .feed && page?.sniffed != .opml
            || saysFeed && page?.sniffed != .html && !isBlank
    }

    package func take(_ event: Event) throws(FetchError) {
        switch event {
        case .body(let bytes):
            isBlank = isBlank && bytes.allSatisfy { $0 <= ASCII.space }
            if !saysFeed, page?.mayBeFeed == false { document = nil }
            try document?.append(bytes)
        case .item(let item) where item.kind == .reference: addVersion(item)
        case .item(let item) where !item.kind.isLine: add(item, page?.link(item, line: 0))
        default: break
        }
    }

    package func finish(_ ending: Ending) throws(FetchError) {
        guard isDocument else { return endDay() }
        (nature, headings) = (.document, nil)
        guard let feed = page?.feed else { return }
        if rules.readsDocuments {
            add(feed)
        } else if feed.text.count < PageReader.feedBytesMax,
            let absolute = page?.absolute(feed)
        {
            document = Spool(memoryMax: absolute.count)
            try document?.append(absolute[...])
        }
    }

    private func add(_ document: FeedDocument) {
        nature = .page
        var ids: [String: String] = [:]
        if !document.feed.title.isEmpty { title = document.feed.title }
        if !document.feed.summary.isEmpty { subtitle = document.feed.summary }
        for entry in document.entries {
            guard let uri = page.flatMap({ entry.uri(at: $0.base) })?.withoutPassword.description,
                FeedText.isFollowed(uri), entry.time != nil || rules.takesUndated
            else { continue }
            let (url, title) = (FeedText.url(uri), entry.label ?? uri)
            // A feed that repeats an id for another page has none.
            let id = entry.identifier(url).flatMap { id in
                ids[id] == nil || ids[id] == url ? id : nil
            }
            ids[id ?? url] = url
            guard let time = entry.time else {
                addUndated(url, title, id: id)
                continue
            }
            dated.add(Feed.Entry(url: url, title: title, time: time, id: id))
        }
    }

    /// The dated entries, the newest first.
    package func newest() -> [Feed.Entry] { dated.newest() }

    // MARK: Lines

    package func take(_ line: PageLine, _ links: () -> [Link]) {
        // A feed has its entries in its document.
        guard !isDocument else { return }
        switch line.content {
        case .block(let block):
            if headings != nil && line.isIncluded { addHeadings(in: line.bytes, at: block.line) }
            add(block, links, line.isIncluded)
        case .item(let item): add(item, links().first)
        case .text: addHeading(line.bytes, number: line.number)
        }
    }

    /// The headings of Markdown are found as those of text, which may be dates alone.
    private func addHeadings(in source: ArraySlice<UInt8>, at number: Int) {
        let lines = source.split(separator: ASCII.lineFeed, omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() { addHeading(line, number: number + index) }
    }

    private func addHeading(_ line: ArraySlice<UInt8>, number: Int) {
        guard let heading = headings?.add(line, number: number) else { return }
        add(heading.text, heading.dated)
    }

    private func add(_ block: TextBlock, _ links: () -> [Link], _ isIncluded: Bool) {
        let leads = block.links.contains { !$0.isEmbedded }
        if headings == nil, case .heading(let level) = block.kind {
            // A heading with a link is about its target.
            if leads && level <= day?.level ?? 0 { endDay() }
            if !leads && begin(block, level, isIncluded) { return }
        }
        switch block.kind {
        case .heading(1) where title == nil && !block.runs.isEmpty:
            title = FeedText.line(block.text)
            lastHeading = block.line
        case .heading(2) where lastHeading > 0 && block.line == lastHeading + 1:
            if !block.runs.isEmpty { subtitle = FeedText.line(block.text) }
        default: break
        }
        guard isIncluded, block.runs.contains(where: { $0.link != nil }) else { return }
        let start = page?.kind.isMarkup == true && leads ? Self.day(of: block) : nil
        // A prompt asks for input: nothing is there to be read.
        for (source, link) in zip(block.links, links()) where !source.isPrompt {
            if alternate == nil && link.isFeed { alternate = link.uri }
            if !link.isEmbedded { add(link, start) }
        }
    }

    /// The date before the links of a block of HTML, or beside its only one.
    private static func day(of block: TextBlock) -> CivilDay? {
        let text = block.text[...]
        let isShort = text.count <= labelBytesMax && block.links.count { !$0.isEmbedded } == 1
        let start = block.runs.first?.link == nil ? DatedText(start: text) : nil
        return (start ?? (isShort ? DatedText(item: text) : nil))?.day
    }

    /// - Parameter start: The date of its block.
    private func add(_ link: Link, _ start: CivilDay?) {
        let date = DatedText(label: link.text[...])
        let above = start ?? (day?.isEntry == false ? day?.dated.day : nil)
        let time = date == nil ? above?.noon : nil
        guard date != nil || time != nil || rules.takesUndated && day?.isEntry != true,
            let uri = link.uri
        else { return }
        if time != nil && start == nil { day?.hasLinks = true }
        add(uri.description, date, link.text[...], time: time)
    }

    /// A heading ends the section of one of its level or below, and may have a date.
    ///
    /// - Returns: True if it has a date, and so is not a title.
    private func begin(_ heading: TextBlock, _ level: Int, _ isIncluded: Bool) -> Bool {
        if level <= day?.level ?? 0 { endDay() }
        let text = heading.text
        guard let dated = DatedText(start: text[...].trimmed),
            level > 1 || title != nil || dated.rest.isEmpty
        else { return false }
        guard isIncluded || rules.heading == nil else { return true }
        endDay()
        day = DayHeading(
            level: level, dated: dated, text: text, isEntry: text.contains(ASCII.colon))
        return true
    }

    /// A heading with a time, or without a link below it, is an entry itself.
    private func endDay() {
        guard let heading = day.take(), heading.isEntry || !heading.hasLinks else { return }
        add(heading.text, heading.dated)
    }

    private func add(_ item: Item, _ link: Link?) {
        switch item.kind {
        case .info: return noteDay(item)
        case .error, .input: return
        default: break
        }
        headings = nil
        nature = .page
        guard rules.heading == nil else { return }
        let text = Array(item.text.utf8)
        let date = item.time == nil ? DatedText(item: text[...]) : nil
        let time = item.time ?? itemDay?.day.noon
        itemDay?.hasItems = true
        guard date != nil || time != nil || rules.takesUndated,
            let uri = link?.uri
        else { return }
        add(uri.withoutPassword.description, date, text[...], time: time)
    }

    /// A line with a date alone is about the items below it, to the next date or to a blank line
    /// behind them.
    private func noteDay(_ item: Item) {
        let isWord = { (byte: UInt8) in ASCII.isDigit(byte) || ASCII.isLetter(byte) }
        let text = Array(item.text.utf8)[...].drop { !isWord($0) }.dropLast { !isWord($0) }
        if let dated = DatedText(start: text), dated.rest.isEmpty {
            itemDay = (dated.day, false)
        } else if text.isEmpty, itemDay?.hasItems ?? false {
            itemDay = nil
        }
    }

    private func addVersion(_ item: Item) {
        guard let base = page?.base else { return }
        (headings, nature) = (nil, .versions)
        let name = item.text
        let isTag = name.hasPrefix("refs/tags/")
        guard isTag || name.hasPrefix("refs/heads/"), let version = item.version else { return }
        let short = name.dropFirst(isTag ? "refs/tags/".utf8.count : "refs/heads/".utf8.count)
        let title = isTag ? "tag \(short)" : "branch \(short) at \(version.prefix(12))"
        let place = item.url ?? "\(base)#" + PercentEncoding.encode(name.utf8, also: "/")
        let mark = item.url == nil ? "@" : "#"
        let url = "\(place)\(mark)\(PercentEncoding.encode(version.utf8))"
        add(url, nil, Array(title.utf8)[...], time: item.time)
    }

    /// Adds a heading with a date; its entry leads to the heading itself.
    private func add(_ heading: [UInt8], _ dated: DatedText) {
        let hasSections = page?.kind == .gemtext || page?.kind.isMarkup == true
        guard rules.heading == nil || hasSections, var uri = page?.base else { return }
        uri.fragment = PercentEncoding.encode(heading)
        add(uri.description, dated, heading[...])
    }

    private func add(
        _ url: String, _ date: DatedText?, _ label: ArraySlice<UInt8>, time: Int? = nil
    ) {
        guard FeedText.isFollowed(url) else { return }
        let url = FeedText.url(url)
        guard let time = date?.day.noon ?? time else {
            let title = FeedText.line(label)
            return addUndated(url, title.isEmpty ? url : title)
        }
        var title = FeedText.line(date?.rest ?? Array(label))
        // A time tells the entries of a day apart.
        if title.isEmpty, label.dropLast().contains(ASCII.colon) { title = FeedText.line(label) }
        if title.isEmpty { title = date?.day.description ?? url }
        dated.add(Feed.Entry(url: url, title: title, time: time))
    }

    private func addUndated(_ url: String, _ title: String, id: String? = nil) {
        guard FeedText.isFollowed(url) else { return }
        let url = FeedText.url(url)
        let entry = Feed.Entry(url: url, title: FeedText.line(title.utf8), time: 0, id: id)
        guard undated.count < Self.undatedMax else {
            hasMore = hasMore || !known.contains(entry.id)
            return
        }
        if known.insert(entry.id).inserted { undated.append(entry) }
    }
}

extension URI {
    /// Without user information if that has a password: a feed is read by others.
    package var withoutPassword: URI {
        guard self.userinfo?.contains(":") ?? false else { return self }
        var copy = self
        copy.userinfo = nil
        return copy
    }

    /// The name of a page in states of subscriptions, and in feeds.
    package var pageKey: String { withoutFragment.withoutPassword.description }
}
