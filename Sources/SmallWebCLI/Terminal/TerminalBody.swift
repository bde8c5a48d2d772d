// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebFormats

/// A body on a terminal: gemtext and menus laid out, other text without control characters. Refuses
/// binary data.
final class TerminalBody: EventOutput {
    private enum Form {
        case gemtext(GemtextReader)
        /// Lines arrive as items; the bytes are ignored.
        case menu
        /// A text with links; lines arrive as items, but a last line without its end as bytes only.
        case listing
        case text
        /// Text with long lines wrapped.
        case reading
        /// Binary data, unchanged.
        case bytes
    }

    /// `nil` before the head.
    private var form: Form?
    private let style: PageStyle
    private let isLaidOut: Bool
    private var view: PageView
    private let target: BodyTarget
    private let log: FetchLog
    private let registry: Registry
    private let page: OpenedPage?
    private var charset: CharsetConverter?
    private var filter = TerminalText.Filter()
    /// Incomplete last line of a wrapped text or a listing.
    private var pending: [UInt8] = []

    /// Longer lines are split.
    private static let lineBytesMax = 65_536

    /// - Parameter isLaidOut: False to remove control characters only.
    init(
        to target: BodyTarget, log: FetchLog, registry: Registry, style: PageStyle,
        isLaidOut: Bool, page: OpenedPage? = nil
    ) {
        self.target = target
        self.log = log
        self.registry = registry
        self.page = page
        self.style = style
        self.isLaidOut = isLaidOut
        view = PageView(style: style, base: log.uri, registry: registry)
    }

    func take(_ event: Event) throws(FetchError) {
        switch event {
        case .head(let head): try begin(head)
        case .body(let bytes): try write(bytes)
        case .item(let item) where item.kind.isLine: try write(item)
        default: break
        }
    }

    /// - Throws: `write` for a body that is not text.
    private func begin(_ head: Head) throws(FetchError) {
        let type = head.mediaType
        if let type, !type.isText {
            // With --render a program gets unsupported types unchanged.
            guard style.isForReading || Environment.isTerminal(1) else {
                form = .bytes
                return
            }
            page?.isRefused = true
            throw refusal(of: type)
        }
        form =
            switch type?.essence {
            case "text/gemini" where isLaidOut:
                .gemtext(GemtextReader(of: log.uri, registry))
            case "application/gopher-menu" where isLaidOut: .menu
            default: style.isForReading ? .reading : .text
            }
        view = PageView(style: style, base: log.uri, registry: registry)
        charset = type?.charset.flatMap(CharsetConverter.init(from:))
        if page?.isInSession ?? false {
            try target.write(style.dim(TerminalText.escapeLine(log.uri.display)) + "\n")
        }
    }

    private func refusal(of type: MediaType) -> FetchError {
        guard style.isForReading || !Environment.isTerminal(1) else {
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

    private func write(_ bytes: ArraySlice<UInt8>) throws(FetchError) {
        try show(charset.map { $0.convert(bytes)[...] } ?? bytes)
    }

    private func show(_ text: ArraySlice<UInt8>) throws(FetchError) {
        switch form {
        case .gemtext(var reader):
            // Take the reader out of `form` first, to avoid a copy.
            form = .text
            let lines = reader.add(text)
            form = .gemtext(reader)
            var shown = ""
            for line in lines {
                shown += view.lines(of: line)
                if case .heading = line.kind, page?.title == "" {
                    page?.title = String(PageView.plain(line.text).prefix(200))
                }
            }
            if !shown.isEmpty { try target.write(shown) }
        case .menu, nil: break
        case .listing: keepLastLine(text)
        case .text: try target.write(filter.filter(text)[...])
        case .bytes: try target.write(text)
        case .reading: try wrap(filter.filter(text))
        }
    }

    private func write(_ item: Item) throws(FetchError) {
        if case .reading = form {
            // The line received as bytes comes again as an item.
            (filter, pending) = (TerminalText.Filter(), [])
            // A directory of a Git repository has types, so show a table.
            form = item.type == nil ? .listing : .menu
            if item.type != nil { try target.write(view.beginTable()) }
        }
        switch form {
        case .menu: try target.write(view.line(of: item))
        case .listing: try target.write(view.lines(of: item))
        default: break
        }
    }

    private func keepLastLine(_ text: ArraySlice<UInt8>) {
        if let end = text.lastIndex(of: ASCII.lineFeed) {
            pending = Array(text[(end + 1)...].prefix(Self.lineBytesMax))
        } else {
            pending += text.prefix(Self.lineBytesMax - pending.count)
        }
    }

    /// Writes the buffered rest, and a line end if the text has none.
    func finish(_ ending: Ending) throws(FetchError) {
        defer { page?.targets = view.targets }
        if let charset { try show(charset.finish()[...]) }
        switch form {
        case .gemtext(var reader):
            if let line = reader.finish() { try target.write(view.lines(of: line)) }
            try target.write(view.references())
        case .menu: try target.write(view.references())
        case .listing:
            let last = pending
            pending = []
            if !last.isEmpty { try wrap(TerminalText.escape(last) + [ASCII.lineFeed]) }
            try target.write(view.references())
        case .text:
            var rest = filter.filter([], isLast: true)
            if !filter.endsWithLineFeed { rest.append(ASCII.lineFeed) }
            try target.write(rest[...])
        case .reading:
            try wrap(filter.filter([], isLast: true))
            if !pending.isEmpty { try wrap([ASCII.lineFeed]) }
        case .bytes, nil: break
        }
    }

    /// - Parameter text: Safe to show.
    private func wrap(_ text: [UInt8]) throws(FetchError) {
        var shown = ""
        func show(_ line: [UInt8]) {
            for line in DisplayWidth.wrapped(
                String(decoding: line, as: UTF8.self), to: style.columns)
            {
                shown += line + "\n"
            }
        }
        for byte in text {
            let isEnd = byte == ASCII.lineFeed
            // Never split a character.
            if isEnd || pending.count >= Self.lineBytesMax && byte & 0xC0 != 0x80 {
                show(pending)
                pending = []
            }
            if !isEnd { pending.append(byte) }
        }
        if !shown.isEmpty { try target.write(shown) }
    }
}
