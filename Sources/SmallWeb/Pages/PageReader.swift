// SPDX-License-Identifier: MIT
package import SmallWebCore
package import SmallWebFormats

package struct PageLine: Sendable {
    package enum Content: Sendable {
        case gemtext(GemtextLine)
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

/// Reads a page while its events arrive: converts its charset, splits it into lines, parses gemtext
/// and resolves links. Holds at most one line, or a feed of at most ``feedBytesMax``. The lines do
/// not depend on how the bytes are cut.
package struct PageReader {
    package enum Kind: Sendable {
        case gemtext, text
        /// Lines arrive as items alone.
        case menu
        /// Text whose lines arrive as items, too.
        case listing
        /// Atom, RSS, JSON Feed or OPML, or perhaps: its lines come at its end, as gemtext.
        case feed
        /// Not text, and without items so far.
        case other
    }

    /// Longer lines are split.
    package static let lineBytesMax = 65_536
    /// The rest of a longer feed is left out.
    package static let feedBytesMax = 16 << 20

    package private(set) var kind: Kind
    private let base: URI
    private let registry: Registry
    private let readsSource: Bool
    private let charset: CharsetConverter?
    /// True if the media type names the charset, and so a document does not.
    private let namesCharset: Bool
    private var framer = LineFramer(lineBytesMax: lineBytesMax)
    private var gemtext: GemtextReader
    private var section: GemtextSection?
    private var itemsCount = 0
    /// The beginning of a page that may be a feed, and what it turned out to be.
    private var held: [UInt8]?
    package private(set) var sniffed: FeedSniffer.Kind?
    private var feedReader = FeedReader(bytesMax: feedBytesMax)
    /// The feed that the page is, after ``finish(isWhole:)``.
    package private(set) var feed: FeedDocument?

    /// - Parameters:
    ///   - base: The page's own URI, after redirects. Links do not repeat its password.
    ///   - heading: The text of the gemtext heading whose section is included; `nil` for all.
    ///   - readsSource: True to read the bytes of menus and listings, too.
    package init(
        _ head: Head, base: URI, registry: Registry, under heading: String? = nil,
        readsSource: Bool = false
    ) {
        let type = head.mediaType
        kind =
            switch type?.essence {
            case "text/gemini": .gemtext
            case "application/gopher-menu": .menu
            case let essence? where FeedReader.mayRead(essence): .feed
            default: type?.isText ?? true ? .text : .other
            }
        held = kind == .feed || kind == .text && type?.essence != "text/html" ? [] : nil
        charset = kind == .other ? nil : type?.charset.flatMap(CharsetConverter.init(from:))
        let name = type?.parameters["charset"]?.lowercased() ?? ""
        namesCharset = charset != nil || CharsetConverter.namesOfUTF8.contains(name)
        gemtext = GemtextReader(readsPrompts: registry[base.scheme]?.scheme.hasPromptLines ?? false)
        section = heading.map { GemtextSection(under: $0) }
        (self.base, self.registry, self.readsSource) = (base.withoutPassword, registry, readsSource)
    }

    /// True if the heading of the section was found, or none was asked for.
    package var hasHeading: Bool { section?.wasFound ?? true }

    /// The lines that end within a body, or the line that is an item.
    package mutating func read(_ event: Event) -> [PageLine] {
        switch event {
        case .body(let bytes) where mayBeFeed: return hold(bytes, isLast: false)
        case .body(let bytes): return lines(in: bytes)
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

    /// The last line, if no line feed ended it.
    ///
    /// - Parameter isWhole: False for a truncated page, whose last line is never a link.
    package mutating func finish(isWhole: Bool) -> [PageLine] {
        let first = mayBeFeed ? hold([], isLast: true) : []
        guard kind == .feed else { return first + lines(in: [], isLast: true, isWhole: isWhole) }
        feedReader.add(text(of: [], isLast: true))
        feed = feedReader.finish(converting: converted)
        let page = feed.map { $0.gemtext(at: base) } ?? []
        kind = .gemtext
        defer { kind = .feed }
        return lines(in: page[...], isConverted: true)
    }

    /// A document in the charset that it names itself, unless the media type has named one
    /// (RFC 7303 §3.2); UTF-8 never begins with a mark of UTF-16.
    func converted(_ document: [UInt8], from name: String) -> [UInt8]? {
        if namesCharset && (charset != nil || document.first ?? 0 < 0xFE) { return document }
        return CharsetConverter(from: name)?.convertAll(document)
    }

    /// A feed for readers that know neither its URL nor its media type; `nil` if its own bytes are
    /// that.
    func absolute(_ feed: FeedDocument) -> [UInt8]? {
        let isOther =
            charset != nil || namesCharset && feed.namesCharset
            || feed.places.contains { $0.address != nil }
        return isOther ? feed.absolute(at: base) : nil
    }

    /// True for a feed, and until it is known if the page is one: whatever its type says, a feed
    /// is one that begins like it.
    package var mayBeFeed: Bool { held != nil || kind == .feed }

    /// Holds the beginning of a page until it is known if it is a feed.
    ///
    /// - Returns: The lines, if it is not.
    private mutating func hold(_ bytes: ArraySlice<UInt8>, isLast: Bool) -> [PageLine] {
        guard var beginning = held.take() else {
            feedReader.add(text(of: bytes))
            return []
        }
        beginning += bytes
        sniffed = FeedSniffer.kind(of: beginning[...])
        guard isLast || sniffed != nil || beginning.count >= FeedSniffer.bytesMax else {
            held = beginning
            return []
        }
        if sniffed?.isFeed ?? false {
            kind = .feed
            feedReader.add(text(of: beginning[...]))
            return []
        }
        if kind == .feed { kind = .text }
        return lines(in: beginning[...])
    }

    /// A part of the body in UTF-8, as far as the charset is known; instead of its lines.
    package func text(of bytes: ArraySlice<UInt8>, isLast: Bool = false) -> ArraySlice<UInt8> {
        guard let charset else { return bytes }
        return (charset.convert(bytes) + (isLast ? charset.finish() : []))[...]
    }

    /// The link of a line, or an item that leads nowhere; `nil` for other lines.
    package func link(_ line: PageLine) -> Link? {
        switch line.content {
        case .gemtext(let text) where text.kind == .link || text.kind == .prompt:
            Link(text, base: base, registry: registry)
        case .item(let item): link(item, line: line.number)
        case .gemtext, .text: nil
        }
    }

    package func link(_ item: Item, line: Int) -> Link {
        Link(item, base: base, line: line, registry: registry)
    }

    private mutating func lines(
        in bytes: ArraySlice<UInt8>, isLast: Bool = false, isWhole: Bool = true,
        isConverted: Bool = false
    ) -> [PageLine] {
        guard kind != .other, kind != .menu || readsSource else { return [] }
        let lines = framer.split(
            isConverted ? bytes : text(of: bytes, isLast: isLast), isLast: isLast)
        // A line of a listing comes as an item, but for a last one without its end.
        if kind == .listing, !isLast, !readsSource { return [] }
        return lines.map { line in
            let parsed = kind == .gemtext ? gemtext.read(line, isTruncated: !isWhole) : nil
            return PageLine(
                content: parsed.map { .gemtext($0) } ?? .text, bytes: line.bytes,
                number: line.number,
                isIncluded: section == nil || parsed.map { section?.includes($0) ?? true } ?? false)
        }
    }
}

extension PageReader {
    /// False while the page is of a kind whose links are not read.
    package var readsLinks: Bool { kind != .text && kind != .other }

    /// The links of the lines of ``read(_:)``.
    package mutating func links(in event: Event) -> [Link] {
        if case .body(let bytes) = event, !readsLinks {
            // No line of other text is a link.
            if held?.isEmpty ?? false, FeedSniffer.kind(of: bytes) == .other { held = nil }
            guard mayBeFeed else { return [] }
        }
        return read(event).compactMap(link)
    }

    /// The links of ``finish(isWhole:)``.
    package mutating func lastLinks(isWhole: Bool) -> [Link] {
        finish(isWhole: isWhole).compactMap(link)
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
