// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebFormats

/// `--render html` and `markdown`: a page as a markup fragment, safe with any content.
struct PageMarkup {
    var writer: MarkupWriter
    let registry: Registry

    mutating func bytes(of line: PageLine, _ link: Link?) -> [UInt8] {
        if let link, link.kind != .info {
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
