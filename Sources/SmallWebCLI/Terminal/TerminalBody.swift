// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebFormats

/// A body on a terminal: pages and menus laid out, other text without control characters; or any
/// page as markup. Refuses binary data.
final class TerminalBody: PageSink {
    private enum Form {
        case laidOut
        /// Text without control characters.
        case text
        /// Binary data, unchanged.
        case bytes
    }

    private var form = Form.laidOut
    /// For ``Form/text`` in another charset than UTF-8.
    private var converter: CharsetConverter?
    private let style: PageStyle
    private let isLaidOut: Bool
    private var view: PageView
    private let target: BodyTarget
    private let log: FetchLog
    private let page: OpenedPage?
    private let format: MarkupWriter.Format?
    private var markup: PageMarkup?
    private var filter = TerminalText.Filter()
    private var shown: [UInt8] = []

    /// - Parameter isLaidOut: False to remove control characters only.
    init(
        to target: BodyTarget, log: FetchLog, style: PageStyle, isLaidOut: Bool,
        page: OpenedPage? = nil, markup: MarkupWriter.Format? = nil
    ) {
        format = markup
        self.target = target
        self.log = log
        self.page = page
        self.style = style
        self.isLaidOut = isLaidOut
        view = PageView(style: style, isMenu: false)
    }

    func take(_ event: Event) throws(FetchError) {
        if case .head(let head) = event { return try begin(head) }
        switch (form, event) {
        case (.text, .body(let bytes)):
            let text = (converter?.convert(bytes)).map { $0[...] } ?? bytes
            try target.write(filter.filter(text)[...])
        case (.bytes, .body(let bytes)): try target.write(bytes)
        default: break
        }
    }

    /// - Throws: `write` for a body that is not text.
    private func begin(_ head: Head) throws(FetchError) {
        let type = head.mediaType
        if let type, !type.isText {
            // With --render a program gets unsupported types unchanged, and so does a record.
            if case .record = target { return form = .bytes }
            guard style.isForReading || format != nil || style.isSeen else {
                form = .bytes
                return
            }
            page?.isRefused = true
            throw refusal(of: type)
        }
        let kind = PageReader.Kind(head)
        // The source of a feed is shown as it is, but by a reader.
        let isPage = isLaidOut && (kind == .gemtext || kind == .menu || kind.isMarkup)
        form = isPage || style.isForReading || format != nil ? .laidOut : .text
        if form == .text { converter = PageReader.converter(head) }
        view = PageView(style: style, isMenu: kind == .menu, isSpaced: kind.isMarkup)
        if page?.isInSession ?? false {
            let age = log.recalled.map { " (as of \(UTCDate.second($0.date).prefix(10)))" } ?? ""
            try target.write(style.dim(TerminalText.escapeLine(log.uri.display) + age) + "\n")
        }
    }

    private func refusal(of type: MediaType) -> FetchError {
        guard style.isForReading || format != nil || !style.isSeen else {
            return FetchError(
                .write, .output, "not writing \(type.essence) to a terminal",
                hint: "save it with -O or -o FILE, or insist with -o -")
        }
        // In a session the next question offers alternatives.
        return FetchError(
            .write, .output, "\(type.essence) cannot be shown as text",
            hint: page?.isInSession ?? false
                ? nil : "save it: smallweb get -O URL, or -o FILE")
    }

    var pageSink: (any PageSink)? { form == .laidOut ? self : nil }

    func begin(_ page: PageReader) {
        page.require(.text)
        markup = format.map { PageMarkup(writer: MarkupWriter($0), registry: page.registry) }
    }

    func take(_ line: PageLine, _ links: () -> [Link]) throws(FetchError) {
        if let bytes = markup?.bytes(of: line, links()) {
            shown += bytes
        } else {
            shown.append(view.lines(of: line, links()))
        }
        switch line.content {
        case .item: try flush()
        case .block(let block):
            guard case .heading = block.kind, page?.title == "" else { break }
            page?.title = String(PageView.plain(block.text).prefix(200))
        case .text: break
        }
    }

    func flush() throws(FetchError) {
        guard !shown.isEmpty else { return }
        try target.write(shown[...])
        shown.removeAll(keepingCapacity: true)
    }

    /// Writes the buffered rest, and a line end if the text has none.
    func finish(_ ending: Ending) throws(FetchError) {
        defer { page?.targets = view.targets }
        switch form {
        case .laidOut:
            try flush()
            if let rest = markup?.writer.finish() { return try target.write(rest[...]) }
            let count = max(1, view.targets.count)
            for start in stride(from: 0, to: count, by: PageView.referencesMax) {
                try target.write(view.references(from: start))
            }
        case .text:
            var rest = filter.filter((converter?.finish() ?? [])[...], isLast: true)
            if !filter.endsWithLineFeed { rest.append(ASCII.lineFeed) }
            try target.write(rest[...])
        case .bytes: break
        }
    }
}
