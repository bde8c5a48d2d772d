// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebFormats

/// `--render html` and `markdown`: a page as a markup fragment, safe with any content.
final class PageMarkup: EventOutput {
    private enum Form {
        case gemtext(GemtextReader)
        /// Lines arrive as items; the bytes are ignored.
        case items
        case text
    }

    private let target: BodyTarget
    private let log: FetchLog
    private let registry: Registry
    private var writer: MarkupWriter
    /// `nil` before the head.
    private var form: Form?
    private var charset: CharsetConverter?
    /// Incomplete last line of a text.
    private var pending: [UInt8] = []

    private static let lineBytesMax = 65_536

    init(
        to target: BodyTarget, log: FetchLog, registry: Registry, _ format: MarkupWriter.Format
    ) {
        (self.target, self.log, self.registry) = (target, log, registry)
        writer = MarkupWriter(format)
    }

    func take(_ event: Event) throws(FetchError) {
        switch event {
        case .head(let head): try begin(head)
        case .body(let bytes): try show(charset.map { $0.convert(bytes)[...] } ?? bytes)
        case .item(let item) where item.kind != .reference: try write(item)
        default: break
        }
    }

    /// - Throws: `write` for a body that is not text.
    private func begin(_ head: Head) throws(FetchError) {
        let type = head.mediaType
        if let type, !type.isText {
            throw FetchError(
                .write, .output, "\(type.essence) cannot be shown as text",
                hint: "save it with -O or -o FILE")
        }
        switch type?.essence {
        case "text/gemini": form = .gemtext(GemtextReader(of: log.uri, registry))
        case "application/gopher-menu": form = .items
        default: form = .text
        }
        charset = type?.charset.flatMap(CharsetConverter.init(from:))
    }

    func finish(_ ending: Ending) throws(FetchError) {
        if let charset { try show(charset.finish()[...]) }
        if case .gemtext(var reader) = form, let line = reader.finish() {
            try target.write(markup(of: line)[...])
        }
        if !pending.isEmpty { try target.write(writer.preformatted(pending[...])[...]) }
        try target.write(writer.finish()[...])
    }

    private func show(_ text: ArraySlice<UInt8>) throws(FetchError) {
        var bytes: [UInt8] = []
        switch form {
        case .gemtext(var reader):
            // Take the reader out of `form` first, to avoid a copy.
            form = .text
            let lines = reader.add(text)
            form = .gemtext(reader)
            for line in lines { bytes += markup(of: line) }
        case .text:
            for byte in text {
                let isEnd = byte == ASCII.lineFeed
                // Never split a character.
                if isEnd || pending.count >= Self.lineBytesMax && byte & 0xC0 != 0x80 {
                    if pending.last == ASCII.carriageReturn { pending.removeLast() }
                    bytes += writer.preformatted(pending[...])
                    pending.removeAll(keepingCapacity: true)
                }
                if !isEnd { pending.append(byte) }
            }
        case .items, nil: break
        }
        if !bytes.isEmpty { try target.write(bytes[...]) }
    }

    private func write(_ item: Item) throws(FetchError) {
        // A listing that is text as well, such as a directory of a Git repository.
        if case .text = form { form = .items }
        let link = Link(item, base: log.uri, line: 0, registry: registry)
        let bytes =
            item.kind == .info
            ? writer.preformatted(link.text[...])
            : writer.link(link.text[...], to: url(of: link), note: note(link.kind))
        try target.write(bytes[...])
    }

    private func markup(of line: GemtextLine) -> [UInt8] {
        guard line.kind == .link || line.kind == .prompt else { return writer.line(line) }
        let link = Link(line, base: log.uri.withoutPassword, registry: registry)
        return writer.link(line.text[...], to: url(of: link), note: note(link.kind))
    }

    private func note(_ kind: Item.Kind) -> String {
        kind == .input || kind == .search ? " (input)" : ""
    }

    /// `nil` without a link, and for schemes that a browser would execute instead of fetching.
    private func url(of link: Link) -> String? {
        guard let uri = link.uri,
            registry[uri.scheme] != nil || Self.otherSchemes.contains(uri.scheme)
        else { return nil }
        return FeedText.url(uri.withoutPassword.description)
    }

    /// Safe schemes of other programs, for places and persons.
    private static let otherSchemes: Set<String> = [
        "dict", "ftp", "ftps", "geo", "irc", "ircs", "magnet", "mailto", "matrix", "news", "nntp",
        "rsync", "sftp", "sip", "sips", "sms", "ssh", "tel", "telnet", "tn3270", "xmpp",
    ]
}
