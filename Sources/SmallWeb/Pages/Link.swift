// SPDX-License-Identifier: MIT
public import SmallWebCore
package import SmallWebFormats

/// A link of a page, or a line of a menu that leads nowhere.
public struct Link: Sendable, Hashable {
    /// The kind of its target, as far as its URL or its menu tells.
    public let kind: Item.Kind
    /// Absolute; `nil` when it leads nowhere, or its target cannot be a URL.
    package let uri: URI?
    /// The target as written.
    package let raw: [UInt8]
    /// The label, unchanged.
    package let text: [UInt8]
    /// Line number in the page, from 1.
    package let line: Int
    /// The name of the element of HTML; otherwise empty.
    package let element: String
    /// Its relations as written, separated by white space; otherwise empty.
    package let rel: [UInt8]
    /// The media type that the page says of its target; `nil` if it says none.
    package let type: String?
    /// True for a resource that belongs to the page, such as an image.
    package let isEmbedded: Bool
    /// True if robots must not follow it.
    package let isNofollow: Bool
    /// Facts about the link that only the page's protocol has.
    package var facts = Facts()
    /// The time of an entry of a feed, or of a line of a menu or listing that has one, in Unix
    /// seconds: the publication, or else the last change. Midnight in UTC for an entry that has a
    /// day alone; `nil` elsewhere, also for a label with a ``day``.
    public let time: Int?

    /// Absolute, with an ASCII host; empty for a line that leads nowhere, which ``Page/links``
    /// leaves out.
    public var url: String { uri?.description ?? "" }

    /// The label; may be empty, and may hold control characters.
    public var label: String { String(decoding: text, as: UTF8.self) }

    /// The day that the label begins with (`2026-01-02 Title`), as those of gemlogs do, and of
    /// the entries of feeds that have a time (in UTC); `nil` for another label.
    public var day: CivilDay? { DatedText(label: text[...])?.day }

    /// The label without its ``day`` and what separates them.
    public var title: String {
        String(decoding: DatedText(label: text[...])?.rest ?? text, as: UTF8.self)
    }

    /// A link that was not read from a page, for previews and tests.
    ///
    /// - Throws: `bad-url`.
    public init(
        _ url: String, label: String = "", kind: Item.Kind = .link
    ) throws(FetchError) {
        (uri, raw, text) = (try URI(parsing: url), Array(url.utf8), Array(label.utf8))
        (self.kind, line, element, rel, type, time) = (kind, 1, "", [], nil, nil)
        (isEmbedded, isNofollow) = (false, false)
    }

    /// A link of a block. A prompt whose target takes no data is a link like any other.
    ///
    /// - Parameters:
    ///   - text: Its label.
    ///   - base: The page's own URI, after redirects.
    package init(
        _ link: TextBlock.Link, text: [UInt8], base: URI, registry: Registry
    ) {
        raw = link.target
        uri = Self.resolve(raw, base: base, registry, isHTML: !link.element.isEmpty)
        self.text = text
        let takesData = uri.flatMap { registry[$0.scheme]?.scheme.hasPromptLines } ?? false
        kind =
            link.isPrompt && takesData
            ? .input : link.kind == .image ? .image : Self.kind(of: uri, registry)
        (line, element, rel, time) = (link.line, link.element, link.rel, link.time)
        type = link.type.isEmpty ? nil : String(decoding: link.type, as: UTF8.self)
        (isEmbedded, isNofollow) = (link.isEmbedded, link.isNofollow)
    }

    /// A line of a menu or listing.
    ///
    /// - Parameter base: The page's own URI, after redirects.
    package init(_ item: Item, base: URI, line: Int, registry: Registry) {
        uri = item.url.flatMap { Self.resolve(Array($0.utf8), base: base, registry) }
        raw = item.target ?? Array(item.text.utf8)
        text = Array(item.text.utf8)
        kind = item.kind
        (self.line, element, rel, type, time) = (line, "", [], nil, item.time)
        (isEmbedded, isNofollow) = (false, false)
        facts = item.facts
    }

    /// False for the information and error lines of a menu.
    package var isLink: Bool { kind != .info && kind != .error }

    /// Media types of feeds alone.
    static let feedTypes: Set<String> = [
        "application/atom+xml", "application/rss+xml", "application/feed+json",
    ]

    /// True for the feed of an HTML page.
    var isFeed: Bool {
        let relations = String(decoding: rel, as: UTF8.self).lowercased().split(
            whereSeparator: \.isWhitespace)
        return element == "link" && relations.contains("alternate")
            && Self.feedTypes.contains(type.flatMap { MediaType($0).essence } ?? "")
    }

    /// - Parameter isHTML: True for a reference of HTML, where characters that no URI may have are
    ///   escaped.
    static func resolve(
        _ target: [UInt8], base: URI, _ registry: Registry, isHTML: Bool = false
    ) -> URI? {
        guard let text = String(validating: target, as: UTF8.self),
            let uri = try? base.resolving(isHTML ? FeedText.url(text) : text, in: registry),
            uri.host != nil || registry[uri.scheme]?.scheme.hostForm != .required
        else { return nil }
        return uri.whereItLeads
    }

    /// The kind of a link's target: by a scheme without a plugin, or else by the end of the
    /// name.
    private static func kind(of uri: URI?, _ registry: Registry) -> Item.Kind {
        guard let uri else { return .link }
        if ["telnet", "tn3270", "ssh"].contains(uri.scheme) { return .telnet }
        guard registry[uri.scheme] != nil else { return .external }
        let path = uri.path.utf8
        let start = path.lastIndex(of: ASCII.slash).map(path.index(after:))
        let name = path[(start ?? path.startIndex)...]
        guard let dot = name.lastIndex(of: ASCII.dot), dot > name.startIndex else { return .link }
        return kinds[String(Substring(name[name.index(after: dot)...])).lowercased()] ?? .link
    }

    private static let kinds: [String: Item.Kind] = {
        let words: [Item.Kind: String] = [
            .image: "avif bmp gif ico jpeg jpg png svg tif tiff webp",
            .text: "asc csv diff json log markdown md patch text toml txt xml yaml yml",
            .binary: "7z aac apk avi bin bz2 deb djvu epub exe flac gz iso jar m4a midi mkv mov "
                + "mp3 mp4 mpeg odt ogg opus pdf rar rpm tar tgz wav webm xz zip zst",
        ]
        return words.reduce(into: [:]) { kinds, entry in
            for word in entry.value.split(separator: " ") { kinds[String(word)] = entry.key }
        }
    }()
}

extension URI {
    /// With an ASCII host; `nil` for a host that cannot be one.
    fileprivate var whereItLeads: URI? {
        do throws(FetchError) {
            return try withASCIIHost()
        } catch {
            // Without libidn2 this cannot be decided here; the fetch will report it.
            return error.outcome == .notBuiltIn ? self : nil
        }
    }
}
