// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

/// The links of a page, from its blocks or the plugin's items: tab-separated lines, on a terminal
/// columns; or records before the page's own.
final class LinkList: PageSink {
    /// `nil` for records.
    private let sink: BodySink?
    private let records: LinkRecords?
    private let log: FetchLog
    private let style: PageStyle?
    private let listsAll: Bool
    /// `nil` before the head.
    private var page: PageReader?
    private var rows: [(url: String, text: String)] = []
    private var hasHeader = false
    private var hasLinks = false

    /// Rows laid out together, with columns of the same width.
    private static let rowsMax = 1000

    /// - Parameter all: True to include lines without a link, and what a page embeds.
    init(to sink: BodySink, log: FetchLog, _ style: PageStyle, all: Bool) {
        (self.sink, records, self.log) = (sink, nil, log)
        self.style = sink.plan.isSeen ? style : nil
        listsAll = all
    }

    init(_ records: LinkRecords, log: FetchLog, all: Bool) {
        (sink, self.records, self.log) = (nil, records, log)
        (style, listsAll) = (nil, all)
    }

    func take(_ event: Event) throws(FetchError) {
        if case .head(let head) = event { try sink?.begin(head) }
    }

    func begin(_ page: PageReader) {
        self.page = page
        page.require(.links)
    }

    func finish(_ ending: Ending) throws(FetchError) {
        guard let page else { return }
        try writeRows()
        try sink?.commit(ending)
        if !page.readsLinks {
            noteUseless(ending)
        } else if records == nil, !hasLinks, ending.outcome == .ok {
            log.note(.note(Note("no-links", "the page has no links")))
        }
    }

    /// Notes that links are not read from this type of page, to explain an empty list.
    private func noteUseless(_ ending: Ending) {
        let type = ending.head?.mediaType?.essence ?? "a page without a type"
        let isXML = type.hasSuffix("xml") || type.hasSuffix("json")
        var note = Note(
            "no-links",
            isXML
                ? "\(type) that is neither Atom, RSS, JSON Feed nor OPML has no links"
                : "links are not read from \(type)")
        // A record always has the note; lines are for scripts, too.
        note.isWarning = records == nil
        log.note(.note(note))
    }

    func take(_ line: PageLine, _ links: () -> [Link]) throws(FetchError) {
        for link in links() where listsAll || link.isLink && !link.isEmbedded { try add(link) }
    }

    private func add(_ link: Link) throws(FetchError) {
        if let records { return try records.add(link, base: log.uri) }
        guard link.uri != nil || listsAll else { return }
        hasLinks = true
        let label = TerminalText.withoutSequences(link.text[...])
        let text = Self.plain(String(decoding: label, as: UTF8.self))
        let mark = style != nil && link.kind == .input ? " (input)" : ""
        rows.append((link.uri?.description ?? "", text + mark))
        if rows.count == Self.rowsMax { try writeRows() }
    }

    /// Columns on a terminal depend on all rows, so rows are buffered.
    func flush() throws(FetchError) {
        if style == nil { try writeRows() }
    }

    private func writeRows() throws(FetchError) {
        guard !rows.isEmpty else { return }
        let lines = style.map(columns) ?? rows.map { "\($0.url)\t\($0.text)\n" }.joined()
        rows.removeAll(keepingCapacity: true)
        try sink?.writeSafe(Array(lines.utf8)[...])
    }

    private func columns(_ style: PageStyle) -> String {
        if !hasHeader { rows.insert(("URL", "TEXT"), at: 0) }
        let longest = rows.reduce(0) { max($0, DisplayWidth.of($1.url)) }
        let width = min(longest, style.columns * 3 / 5)
        let indent = String(repeating: " ", count: width + 2)
        var lines = ""
        for (index, row) in rows.enumerated() {
            let isHeader = index == 0 && !hasHeader
            lines += isHeader ? row.url : style.hyperlink(row.url, to: row.url)
            // Never truncate a URL, as it is there to be copied; a long one gets the text below.
            let columns = DisplayWidth.of(row.url)
            let text = TerminalText.escapeLine(row.text)
            if !text.isEmpty {
                lines += columns > width ? "\n" + indent : String(indent.dropFirst(columns))
                lines += DisplayWidth.truncated(text, to: max(0, style.columns - width - 2))
            }
            lines += "\n"
        }
        hasHeader = true
        return lines
    }

    /// A field without separators and control characters, which a terminal could see later.
    private static func plain(_ text: String) -> String {
        var plain = ""
        for scalar in text.unicodeScalars {
            let isControl = scalar.value < 0x20 || 0x7F..<0xA0 ~= scalar.value
            plain.unicodeScalars.append(isControl ? " " : scalar)
        }
        return plain
    }
}
