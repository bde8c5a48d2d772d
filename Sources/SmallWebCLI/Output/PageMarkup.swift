// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebFormats

/// `--render html` and `markdown`: a page as a markup fragment, safe with any content.
final class PageMarkup: EventSink {
    private let target: BodyTarget
    private let log: FetchLog
    private let registry: Registry
    private var writer: MarkupWriter
    /// `nil` before the head.
    private var reader: PageReader?

    init(
        to target: BodyTarget, log: FetchLog, registry: Registry, _ format: MarkupWriter.Format
    ) {
        (self.target, self.log, self.registry) = (target, log, registry)
        writer = MarkupWriter(format)
    }

    func take(_ event: Event) throws(FetchError) {
        if case .head(let head) = event { try begin(head) }
        try write(reader?.read(event) ?? [])
    }

    /// - Throws: `write` for a body that is not text.
    private func begin(_ head: Head) throws(FetchError) {
        let type = head.mediaType
        if let type, !type.isText {
            throw FetchError(
                .write, .output, "\(type.essence) cannot be shown as text",
                hint: "save it with -O or -o FILE")
        }
        reader = PageReader(head, base: log.uri, registry: registry)
    }

    func finish(_ ending: Ending) throws(FetchError) {
        try write(reader?.finish(isWhole: ending.completeness != .truncated) ?? [])
        try target.write(writer.finish()[...])
    }

    private func write(_ lines: [PageLine]) throws(FetchError) {
        let bytes = lines.flatMap(markup)
        if !bytes.isEmpty { try target.write(bytes[...]) }
    }

    private func markup(of line: PageLine) -> [UInt8] {
        if let link = reader?.link(line), link.kind != .info {
            return writer.link(link.text[...], to: url(of: link), note: note(link.kind))
        }
        guard case .gemtext(let line) = line.content else { return writer.preformatted(line.bytes) }
        return writer.line(line)
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
