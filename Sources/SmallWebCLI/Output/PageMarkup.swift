// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebFormats

/// `--render html` and `markdown`: a page as a markup fragment, safe with any content.
struct PageMarkup {
    var writer: MarkupWriter
    let registry: Registry

    mutating func bytes(of line: PageLine, _ links: [Link]) -> [UInt8] {
        if case .block(let block) = line.content {
            let registry = registry
            var links = links.makeIterator()
            return writer.block(block) { _ in
                links.next().map { (Self.url(of: $0, registry), Self.note($0.kind)) } ?? (nil, "")
            }
        }
        guard let link = links.first, link.kind != .info else {
            return writer.preformatted(line.bytes)
        }
        let url = Self.url(of: link, registry)
        return writer.link(link.text[...], to: url, note: Self.note(link.kind))
    }

    private static func note(_ kind: Item.Kind) -> String {
        kind == .input || kind == .search ? " (input)" : ""
    }

    /// `nil` without a link, and for schemes that a browser would execute instead of fetching.
    private static func url(of link: Link, _ registry: Registry) -> String? {
        guard let uri = link.uri,
            registry[uri.scheme] != nil || otherSchemes.contains(uri.scheme)
        else { return nil }
        return FeedText.url(uri.withoutPassword.description)
    }

    /// Safe schemes of other programs, for places and persons.
    private static let otherSchemes: Set<String> = [
        "dict", "ftp", "ftps", "geo", "irc", "ircs", "magnet", "mailto", "matrix", "news", "nntp",
        "rsync", "sftp", "sip", "sips", "sms", "ssh", "tel", "telnet", "tn3270", "xmpp",
    ]
}
