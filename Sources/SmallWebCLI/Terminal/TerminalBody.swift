// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebFormats

/// A body on a terminal: gemtext and menus laid out, other text without control characters; or any
/// page as markup. Refuses binary data.
final class TerminalBody: EventSink {
    private enum Form {
        case laidOut
        /// Text without control characters.
        case text
        /// Binary data, unchanged.
        case bytes
    }

    private var form = Form.laidOut
    /// `nil` before the head.
    private var reader: PageReader?
    private let style: PageStyle
    private let isLaidOut: Bool
    private var view: PageView
    private let target: BodyTarget
    private let log: FetchLog
    private let registry: Registry
    private let page: OpenedPage?
    private var markup: PageMarkup?
    private var filter = TerminalText.Filter()

    /// - Parameter isLaidOut: False to remove control characters only.
    init(
        to target: BodyTarget, log: FetchLog, registry: Registry, style: PageStyle,
        isLaidOut: Bool, page: OpenedPage? = nil, markup: MarkupWriter.Format? = nil
    ) {
        self.markup = markup.map { PageMarkup(writer: MarkupWriter($0), registry: registry) }
        self.target = target
        self.log = log
        self.registry = registry
        self.page = page
        self.style = style
        self.isLaidOut = isLaidOut
        view = PageView(style: style, isMenu: false)
    }

    func take(_ event: Event) throws(FetchError) {
        if case .head(let head) = event { return try begin(head) }
        switch (form, event) {
        case (.laidOut, _): try show(reader?.read(event) ?? [])
        case (.text, .body(let bytes)):
            try target.write(filter.filter(reader?.text(of: bytes) ?? [])[...])
        case (.bytes, .body(let bytes)): try target.write(bytes)
        default: break
        }
    }

    /// - Throws: `write` for a body that is not text.
    private func begin(_ head: Head) throws(FetchError) {
        let type = head.mediaType
        if let type, !type.isText {
            // With --render a program gets unsupported types unchanged.
            guard style.isForReading || markup != nil || Environment.isTerminal(1) else {
                form = .bytes
                return
            }
            page?.isRefused = true
            throw refusal(of: type)
        }
        let reader = PageReader(head, base: log.uri, registry: registry)
        self.reader = reader
        // The source of a feed is shown as it is, but by a reader.
        let isPage = isLaidOut && (reader.kind == .gemtext || reader.kind == .menu)
        form = isPage || style.isForReading || markup != nil ? .laidOut : .text
        view = PageView(style: style, isMenu: reader.kind == .menu)
        if page?.isInSession ?? false {
            let age = log.recalled.map { " (as of \(UTCDate.second($0.date).prefix(10)))" } ?? ""
            try target.write(style.dim(TerminalText.escapeLine(log.uri.display) + age) + "\n")
        }
    }

    private func refusal(of type: MediaType) -> FetchError {
        guard style.isForReading || markup != nil || !Environment.isTerminal(1) else {
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

    private func show(_ lines: [PageLine]) throws(FetchError) {
        if markup != nil {
            let bytes = lines.flatMap { markup?.bytes(of: $0, reader?.link($0)) ?? [] }
            return bytes.isEmpty ? () : try target.write(bytes[...])
        }
        var shown = ""
        for line in lines {
            shown += view.lines(of: line, reader?.link(line))
            if case .gemtext(let line) = line.content, case .heading = line.kind, page?.title == ""
            {
                page?.title = String(PageView.plain(line.text).prefix(200))
            }
        }
        if !shown.isEmpty { try target.write(shown) }
    }

    /// Writes the buffered rest, and a line end if the text has none.
    func finish(_ ending: Ending) throws(FetchError) {
        defer { page?.targets = view.targets }
        switch form {
        case .laidOut:
            try show(reader?.finish(isWhole: ending.completeness != .truncated) ?? [])
            if let rest = markup?.writer.finish() { return try target.write(rest[...]) }
            try target.write(view.references())
        case .text:
            var rest = filter.filter(reader?.text(of: [], isLast: true) ?? [], isLast: true)
            if !filter.endsWithLineFeed { rest.append(ASCII.lineFeed) }
            try target.write(rest[...])
        case .bytes: break
        }
    }
}
