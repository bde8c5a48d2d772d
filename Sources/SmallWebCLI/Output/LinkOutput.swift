// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebFormats

/// The links of a page, as lines of text or as records.
final class LinkOutput: Output {
    private let writer: any LinkWriter
    private let sink: BodySink
    private let log: FetchLog
    private let listsAll: Bool
    private var reader: LinkReader?

    /// - Parameter listsAll: Whether the lines of a menu that lead nowhere are wanted too.
    init(_ writer: any LinkWriter, to sink: BodySink, log: FetchLog, listsAll: Bool) {
        self.writer = writer
        self.sink = sink
        self.log = log
        self.listsAll = listsAll
    }

    func take(_ event: Event) throws(FetchError) {
        switch event {
        case .head(let head):
            try sink.begin(head)
            reader = LinkReader(head, base: log.uri)
        case .body(let bytes):
            for link in reader?.links(in: bytes) ?? [] { try add(link) }
            try writer.flush()
        case .item(let item) where item.kind != .reference:
            if let link = reader?.link(item) { try add(link) }
        default: break
        }
    }

    func finish(_ ending: Ending) throws(FetchError) -> Note? {
        guard reader != nil else { return nil }
        // The last line of a page that was cut off may be cut off as well.
        if let link = reader?.finish(), ending.completeness != .truncated { try add(link) }
        try writer.finish()
        try sink.commit(ending)
        guard reader?.isOfUse == false else { return nil }
        let type = ending.head?.mediaType?.essence ?? "a page without a type"
        return Note("no-links", "\(type) is not read for links")
    }

    private func add(_ link: Link) throws(FetchError) {
        if link.isLink || listsAll { try writer.add(link, base: log.uri) }
    }
}

/// What links are written with.
protocol LinkWriter: AnyObject {
    /// - Parameter base: The page's own URI.
    func add(_ link: Link, base: URI) throws(FetchError)
    /// Writes what need not be held, at the end of a piece of the page.
    func flush() throws(FetchError)
    func finish() throws(FetchError)
}

/// The links of a page as text: lines with tabs, or for a person columns.
final class LinkList: LinkWriter {
    private let sink: BodySink
    private let style: PageStyle?
    private let listsAll: Bool
    private var rows: [(url: String, text: String)] = []
    private var hasHeader = false

    /// So many rows are laid out together.
    private static let rowsMax = 1000

    /// - Parameter style: For a terminal.
    init(to sink: BodySink, style: PageStyle?, listsAll: Bool) {
        self.sink = sink
        self.style = style
        self.listsAll = listsAll
    }

    func add(_ link: Link, base: URI) throws(FetchError) {
        guard link.uri != nil || listsAll else { return }
        let url = link.uri?.description ?? ""
        rows.append((url, Self.plain(String(decoding: link.text, as: UTF8.self))))
        if rows.count == Self.rowsMax { try finish() }
    }

    func flush() throws(FetchError) { if style == nil { try finish() } }

    func finish() throws(FetchError) {
        guard !rows.isEmpty else { return }
        defer { rows.removeAll(keepingCapacity: true) }
        if let style {
            try writeColumns(style)
        } else {
            var lines = ""
            for row in rows { lines += "\(row.url)\t\(row.text)\n" }
            try sink.write(Array(lines.utf8)[...])
        }
    }

    private func writeColumns(_ style: PageStyle) throws(FetchError) {
        if !hasHeader { rows.insert(("URL", "TEXT"), at: 0) }
        let longest = rows.reduce(0) { max($0, DisplayWidth.of($1.url)) }
        let width = min(longest, style.columns * 3 / 5)
        var lines = ""
        for (index, row) in rows.enumerated() {
            let isHeader = index == 0 && !hasHeader
            let shown = DisplayWidth.truncated(row.url, to: width)
            let url = isHeader ? shown : style.hyperlink(shown, to: row.url)
            let space = String(repeating: " ", count: width - DisplayWidth.of(shown) + 2)
            lines += url + space
            let text = TerminalText.escapeLine(row.text)
            lines += DisplayWidth.truncated(text, to: max(0, style.columns - width - 2)) + "\n"
        }
        hasHeader = true
        try sink.write(Array(lines.utf8)[...])
    }

    /// A field of a line: without what would end it, or drive a terminal that sees it later.
    private static func plain(_ text: String) -> String {
        var plain = ""
        for scalar in text.unicodeScalars {
            let isControl = scalar.value < 0x20 || 0x7F..<0xA0 ~= scalar.value
            plain.unicodeScalars.append(isControl ? " " : scalar)
        }
        return plain
    }
}
