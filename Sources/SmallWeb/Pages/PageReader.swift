// SPDX-License-Identifier: MIT
package import SmallWebCore
package import SmallWebFormats

package struct PageLine: Sendable {
    package enum Content: Sendable {
        case block(TextBlock)
        /// A line of a menu or listing.
        case item(Item)
        /// A line of any other text, or of the source of a menu or listing.
        case text
    }

    package let content: Content
    /// The source in UTF-8, as far as the charset is known, without its line end; for an item its
    /// text.
    package let bytes: ArraySlice<UInt8>
    /// From 1; pieces of a long line have the same. Items are counted by themselves.
    package let number: Int
    /// False outside the section that was asked for.
    package let isIncluded: Bool
}

/// Reads a page while its events arrive: converts its charset, splits it into lines, makes blocks
/// of gemtext and feeds, and resolves links. Holds at most one line, or a feed of at most
/// ``feedBytesMax``. The lines do not depend on how the bytes are cut.
package final class PageReader {
    package enum Kind: Sendable {
        case gemtext, text
        /// Lines arrive as items alone.
        case menu
        /// Text whose lines arrive as items, too.
        case listing
        case html, markdown
        /// Atom, RSS, JSON Feed or OPML, or perhaps: its blocks come at its end.
        case feed
        /// Not text, and without items so far.
        case other

        /// The kind by the media type alone.
        package init(_ head: Head) {
            let type = head.mediaType
            self =
                switch type?.essence {
                case "text/gemini": .gemtext
                case "application/gopher-menu": .menu
                case "text/html", "application/xhtml+xml": .html
                case "text/markdown", "text/x-markdown": .markdown
                case let essence? where FeedReader.mayRead(essence): .feed
                default: type?.isText ?? true ? .text : .other
                }
        }

        /// True for pages whose blocks are not their lines.
        package var isMarkup: Bool { self == .html || self == .markdown }
    }

    /// The lines that are read, besides those that come as items; each includes those before it.
    package enum Scope: Int, Sendable {
        /// None: it becomes known if the page is a feed, and which.
        case feed
        /// Those of gemtext and feeds.
        case links
        /// Those of other text.
        case text
        /// The source of menus and listings.
        case source
    }

    /// Longer lines are split.
    package static let lineBytesMax = 65_536
    /// The rest of a longer feed is left out.
    package static let feedBytesMax = 16 << 20

    package private(set) var kind: Kind
    /// The page's own URI, without its password.
    package let base: URI
    package let registry: Registry
    private var scope = Scope.feed
    private var charset: CharsetConverter?
    /// The charset that the media type names; a document that has one does not.
    private let declaredCharset: String?
    private var framer = LineFramer(lineBytesMax: lineBytesMax)
    private var gemtext: GemtextReader
    /// The reader of a page of HTML or Markdown; `nil` before its first bytes.
    private var markup: (any MarkupReader)?
    /// The URI that the page's links are relative to: the first that it names, unless that leads
    /// nowhere.
    private var namedBase: URI?
    /// Names of the reader, besides `robots`, by which HTML says what robots must not follow.
    package var robotNames: [String] = []
    private var section: PageSection?
    private var itemsCount = 0
    /// The beginning of a page that may be a feed or has a charset to be found, and what it turned
    /// out to be.
    private var held: [UInt8]?
    package private(set) var sniffed: FeedSniffer.Kind?
    private var feedReader = FeedReader(bytesMax: feedBytesMax)
    /// The feed that the page is, after ``finish(isWhole:)``.
    package private(set) var feed: FeedDocument?

    /// - Parameter base: The page's own URI, after redirects. Links do not repeat its password.
    package init(_ head: Head, base: URI, registry: Registry) {
        kind = Kind(head)
        held = kind == .gemtext || kind == .menu || kind == .other ? nil : []
        charset = Self.converter(head)
        declaredCharset = Self.declared(head)
        gemtext = GemtextReader(readsPrompts: registry[base.scheme]?.scheme.hasPromptLines ?? false)
        (self.base, self.registry) = (base.withoutPassword, registry)
    }

    /// The converter for text in another charset than UTF-8; `nil` without one.
    package static func converter(_ head: Head) -> CharsetConverter? {
        guard Kind(head) != .other else { return nil }
        return head.mediaType?.charset.flatMap(CharsetConverter.init(from:))
    }

    /// The charset of a whole page, which may be HTML that names it; UTF-8 in the place of one that
    /// cannot be read, `nil` for no text.
    static func charset(_ head: Head, _ body: [UInt8]) -> String? {
        let name: String? =
            switch Kind(head) {
            case .other: nil
            case .html: HTMLCharset.name(of: body[...], declared: declared(head))
            default: head.mediaType?.charset
            }
        return name.map { known($0) ?? "utf-8" }
    }

    /// The charset that a media type names, if it can be read.
    private static func declared(_ head: Head) -> String? {
        (head.mediaType?.parameters["charset"]?.lowercased()).flatMap(known)
    }

    private static func known(_ name: String) -> String? {
        let isUTF8 = CharsetConverter.namesOfUTF8.contains(name)
        return isUTF8 || CharsetConverter(from: name) != nil ? name : nil
    }

    /// Must be called before the first event.
    ///
    /// - Parameter heading: The text of the heading whose section is included; `nil` for
    ///   all.
    package func require(_ scope: Scope, under heading: String? = nil) {
        if scope.rawValue > self.scope.rawValue { self.scope = scope }
        section = heading.map { PageSection(under: $0) } ?? section
    }

    /// True if the heading of the section was found, or none was asked for.
    package var hasHeading: Bool { section?.wasFound ?? true }

    /// False while the page is of a kind whose links are not read.
    package var readsLinks: Bool { kind != .text && kind != .other }

    /// True for a feed, and until it is known if the page is one: whatever its type says, a feed
    /// is one that begins like it.
    package var mayBeFeed: Bool { held != nil && kind != .html || kind == .feed }

    /// The lines that end within a body, or the line that is an item.
    package func read(_ event: Event) -> [PageLine] {
        switch event {
        case .body(let bytes):
            return held != nil || kind == .feed ? hold(bytes, isLast: false) : lines(in: bytes)
        case .item(let item) where item.kind.isLine:
            kind = kind == .text ? .listing : kind == .other ? .menu : kind
            itemsCount += 1
            return [
                PageLine(
                    content: .item(item), bytes: Array(item.text.utf8)[...], number: itemsCount,
                    isIncluded: section == nil)
            ]
        default: return []
        }
    }

    /// All lines at the end of the page.
    package func finish(isWhole: Bool) -> [PageLine] {
        var lines = end(isWhole: isWhole)
        while let next = next() { lines += next }
        return lines
    }

    /// The next lines of a page of HTML or Markdown at its end, a part of them; `nil` behind the
    /// last.
    package func next() -> [PageLine]? {
        guard isRead, let blocks = markup?.next() else { return nil }
        return lines(of: blocks)
    }

    /// The last line, if no line feed ended it, or those of a feed. All others are in ``next()``.
    ///
    /// - Parameter isWhole: False for a truncated page, whose last line is never a link.
    package func end(isWhole: Bool) -> [PageLine] {
        let first = held != nil || kind == .feed ? hold([], isLast: true) : []
        guard kind == .feed else { return first + lines(in: [], isLast: true, isWhole: isWhole) }
        feedReader.add(text(of: [], isLast: true))
        feed = feedReader.finish(converting: converted)
        guard isRead, let feed else { return [] }
        return feed.blocks(at: base).map { line($0, $0.gemtext[...]) }
    }

    /// A document in the charset that it names itself, unless the media type has named one
    /// (RFC 7303 §3.2); UTF-8 never begins with a mark of UTF-16.
    private func converted(_ document: [UInt8], from name: String) -> [UInt8]? {
        let isKnown = charset != nil || document.first ?? 0 < 0xFE
        if declaredCharset != nil && isKnown { return document }
        return CharsetConverter(from: name)?.convertAll(document)
    }

    /// A feed for readers that know neither its URL nor its media type; `nil` if its own bytes are
    /// that.
    func absolute(_ feed: FeedDocument) -> [UInt8]? {
        let isOther =
            charset != nil || declaredCharset != nil && feed.namesCharset
            || feed.spans.contains { $0.address != nil }
        return isOther ? feed.absolute(at: base) : nil
    }

    /// Holds the beginning of a page until it is known if it is a feed.
    ///
    /// - Returns: The lines, if it is not.
    private func hold(_ bytes: ArraySlice<UInt8>, isLast: Bool) -> [PageLine] {
        guard let held = held.take() else {
            feedReader.add(text(of: bytes))
            return []
        }
        let beginning = held.isEmpty ? bytes : (held + bytes)[...]
        if kind != .html {
            sniffed = FeedSniffer.kind(of: beginning)
            guard isLast || sniffed != nil || beginning.count >= FeedSniffer.bytesMax else {
                self.held = Array(beginning)
                return []
            }
        }
        if sniffed?.isFeed ?? false {
            kind = .feed
            feedReader.add(text(of: beginning))
            return []
        }
        if kind == .feed { kind = sniffed == .html ? .html : .text }
        if kind == .html && isRead {
            guard isLast || beginning.count >= HTMLCharset.bytesMax else {
                self.held = Array(beginning)
                return []
            }
            charset = CharsetConverter(
                from: HTMLCharset.name(of: beginning, declared: declaredCharset))
        }
        return lines(in: beginning)
    }

    /// A part of the body in UTF-8, as far as the charset is known.
    private func text(of bytes: ArraySlice<UInt8>, isLast: Bool = false) -> ArraySlice<UInt8> {
        guard let charset else { return bytes }
        return (charset.convert(bytes) + (isLast ? charset.finish() : []))[...]
    }

    /// The links of a block, in order; or an item, even if it leads nowhere.
    package func links(_ line: PageLine) -> [Link] {
        switch line.content {
        case .block(let block):
            block.runs.indices.compactMap { index in
                block.runs[index].link.map {
                    Link(
                        $0, text: block.runs[index].text, base: namedBase ?? base,
                        registry: registry)
                }
            }
        case .item(let item): [link(item, line: line.number)]
        case .text: []
        }
    }

    func link(_ item: Item, line: Int) -> Link {
        Link(item, base: base, line: line, registry: registry)
    }

    /// True if the lines of a page of this kind are asked for.
    private var isRead: Bool {
        switch kind {
        case .gemtext, .feed, .html, .markdown: scope != .feed
        case .text, .listing: scope == .text || scope == .source
        case .menu: scope == .source
        case .other: false
        }
    }

    private func lines(
        in bytes: ArraySlice<UInt8>, isLast: Bool = false, isWhole: Bool = true
    ) -> [PageLine] {
        guard isRead else { return [] }
        if kind.isMarkup { return blocks(in: text(of: bytes, isLast: isLast)) }
        let lines = framer.split(text(of: bytes, isLast: isLast), isLast: isLast)
        // A line of a listing comes as an item, but for a last one without its end.
        if kind == .listing, !isLast, scope != .source { return [] }
        return lines.map { source in
            line(
                kind == .gemtext ? gemtext.read(source, isTruncated: !isWhole) : nil,
                source.bytes, number: source.number)
        }
    }

    /// The blocks of HTML or Markdown.
    private func blocks(in text: ArraySlice<UInt8>) -> [PageLine] {
        if markup == nil {
            let names = ["robots"] + robotNames
            markup = kind == .html ? HTMLReader(robotNames: names) : MarkdownReader()
        }
        return lines(of: markup?.add(text) ?? [])
    }

    private func lines(of blocks: [TextBlock]) -> [PageLine] {
        if namedBase == nil, let named = markup?.base {
            let found = Link.resolve(named, base: base, registry, isHTML: true)?.withoutPassword
            namedBase = found.flatMap { registry[$0.scheme] == nil ? nil : $0 } ?? base
        }
        return blocks.map { line($0, scope == .source ? $0.gemtext[...] : []) }
    }

    /// - Parameter block: `nil` for a line of other text, which is in no section.
    private func line(
        _ block: TextBlock?, _ source: ArraySlice<UInt8>, number: Int = 0
    ) -> PageLine {
        PageLine(
            content: block.map { .block($0) } ?? .text, bytes: source,
            number: block?.line ?? number,
            isIncluded: section == nil || block.map { section?.includes($0) ?? true } ?? false)
    }
}

/// Reads the lines of a gopher menu that came by another scheme.
struct MenuItems {
    /// Limit of items that are held; more are dropped.
    static let heldMax = 10_000

    private var reader: MenuReader
    private var held: [Item] = []
    private let isHeld: Bool
    /// True once lines were dropped.
    private(set) var isCut = false

    /// - Parameter isHeld: True to hold the items until the end: a program may send its own.
    /// - Returns: `nil` for a reply that is not such a menu.
    init?(_ head: Head, of request: Request, isHeld: Bool) {
        guard head.mediaType?.essence == "application/gopher-menu", head.replyClass == .success,
            !request.scheme.readsMenus, request.wantsItems, !request.wantsRawBody
        else { return nil }
        self.isHeld = isHeld
        reader = MenuReader(base: request.uri, lineBytesMax: request.limits.lineBytesMax)
    }

    /// A line that is too long ends the menu here; the bytes are delivered all the same.
    mutating func add(_ bytes: ArraySlice<UInt8>) -> [Item] {
        let items = reader.add(bytes).items
        if isHeld {
            isCut = isCut || items.count > Self.heldMax - held.count
            held += items.prefix(Self.heldMax - held.count)
        }
        return isHeld ? [] : items
    }

    mutating func finish() -> [Item] { held + (reader.finish().map { [$0] } ?? []) }
}
