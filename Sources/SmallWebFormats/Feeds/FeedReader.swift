// SPDX-License-Identifier: MIT
internal import SmallWebText

/// A feed, or a list of feeds.
package struct FeedDocument: Sendable, Hashable {
    package enum Kind: Sendable { case atom, rss, jsonFeed, opml }

    /// An entry, or the feed itself.
    package struct Entry: Sendable, Hashable {
        /// For people, on one line; empty without one.
        package let title: String
        /// Likewise the description, or the beginning of the content.
        package let summary: String
        /// As written: absolute, or relative to the last of ``bases``.
        package let target: String?
        /// The values of `xml:base` around the target, each relative to the one before it.
        package let bases: [String]
        package let id: String?
        /// Unix seconds of the publication, or else of the last change.
        package let time: Int?
    }

    package let kind: Kind
    /// Title, subtitle and home page.
    package let feed: Entry
    /// In the order of the document.
    package let entries: [Entry]
    /// True if entries may be missing: the document has no end, or exceeds a limit.
    package let isTruncated: Bool
    /// The document in UTF-8.
    package fileprivate(set) var text: ArraySlice<UInt8> = []
    /// True if it names another charset.
    package fileprivate(set) var namesCharset = false
    package fileprivate(set) var spans: [Span] = []

    /// A relative address in ``text``, or without one the time of the feed itself.
    package struct Span: Sendable, Hashable {
        package let range: Range<Int>
        package let address: String?
        package let bases: [String]
    }

    /// The document with other bytes at some of its spans; `nil` leaves a span as it is.
    package func text(writing write: (Span) -> [UInt8]?) -> [UInt8] {
        var (new, rest) = ([UInt8](), text)
        for span in spans {
            guard let bytes = write(span) else { continue }
            new += rest[..<span.range.lowerBound] + bytes
            rest = rest[span.range.upperBound...]
        }
        return new + rest
    }

    /// Not for absolute addresses, and places within a page.
    fileprivate static func isRelative(_ address: String) -> Bool {
        !address.isEmpty && !address.hasPrefix("#") && URI.scheme(of: address) == nil
    }
}

/// Reads Atom 0.3 and 1.0, RSS 0.9 to 2.0, JSON Feed and OPML. Pure; holds the document.
package struct FeedReader {
    private let bytesMax: Int
    private let entriesMax: Int
    private var bytes: [UInt8] = []

    /// - Parameters:
    ///   - bytesMax: Limit of the document; the rest is dropped.
    ///   - entriesMax: Limit of entries; more are dropped.
    package init(bytesMax: Int, entriesMax: Int = 10_000) {
        (self.bytesMax, self.entriesMax) = (bytesMax, entriesMax)
    }

    package mutating func add(_ bytes: ArraySlice<UInt8>) {
        self.bytes += bytes.prefix(bytesMax - self.bytes.count)
    }

    /// Reads the document; `nil` if it is not a feed.
    ///
    /// - Parameter convert: Converts a document that itself names another charset than UTF-8. Left
    ///   out for one that was converted by the charset of its media type.
    package func finish(
        converting convert: (_ document: [UInt8], _ charset: String) -> [UInt8]? = { _, _ in nil }
    ) -> FeedDocument? {
        let charset = charset
        let document = charset.flatMap { convert(bytes, $0) } ?? bytes
        let text = document[...].withoutByteOrderMark.drop(while: ASCII.isWhiteSpace)
        var parser = FeedParser(text, entriesMax)
        var feed = text.first == UInt8(ascii: "{") ? jsonFeed(text) : parser.parse()
        feed?.text = text
        feed?.namesCharset = charset != nil
        return feed
    }

    /// The charset of a byte order mark, or of the declaration, in lower case.
    private var charset: String? {
        if bytes.starts(with: [0xFE, 0xFF]) || bytes.starts(with: [0xFF, 0xFE]) {
            return "utf-16"
        }
        let start = bytes[...].drop(while: ASCII.isWhiteSpace)
        guard start.starts(with: "<?xml".utf8) else { return nil }
        // Without its question mark, the declaration is a tag.
        var tokens = XMLTokens([UInt8(ascii: "<")] + start.prefix(256).dropFirst(2))
        guard case .start(_, let attributes) = tokens.next() else { return nil }
        let name = attributes["encoding"]?.lowercased()
        return ["utf-8", "utf8", "us-ascii"].contains(name) ? nil : name
    }

    private func jsonFeed(_ text: ArraySlice<UInt8>) -> FeedDocument? {
        guard let value = try? JSONValue.parse(text) else {
            // The parser refuses all of a document that is cut off.
            guard FeedSniffer.kind(of: text) == .jsonFeed else { return nil }
            return FeedDocument(kind: .jsonFeed, feed: .init([:]), entries: [], isTruncated: true)
        }
        guard value["version"]?.string?.contains(text: "jsonfeed.org/version/") ?? false,
            case .array(let items) = value["items"] ?? .array([])
        else { return nil }
        return FeedDocument(
            kind: .jsonFeed, feed: .init(value.texts),
            entries: items.prefix(entriesMax).map { .init($0.texts) },
            isTruncated: items.count > entriesMax, spans: Self.addresses(in: text))
    }

    /// The relative addresses among the members of valid JSON.
    private static func addresses(in json: ArraySlice<UInt8>) -> [FeedDocument.Span] {
        var (rest, name, spans) = (json, "", [FeedDocument.Span]())
        while let quote = rest.firstIndex(of: UInt8(ascii: "\"")) {
            var end = quote + 1
            while json[end] != UInt8(ascii: "\"") { end += json[end] == 0x5C ? 2 : 1 }
            rest = json[(end + 1)...].drop(while: ASCII.isWhiteSpace)
            let text = (try? JSONValue.parse(json[quote...end]))?.string ?? ""
            if rest.first != ASCII.colon, FeedDocument.isRelative(text),
                ["icon", "image", "avatar"].contains(name) || name.hasSuffix("url")
            {
                spans.append(.init(range: (quote + 1)..<end, address: text, bases: []))
            }
            name = text
        }
        return spans
    }
}

extension JSONValue {
    /// The members of an object that are texts or numbers, and what else may be its address.
    fileprivate var texts: [String: String] {
        guard case .object(let members) = self else { return [:] }
        return members.reduce(into: [:]) { texts, member in
            if case .number(let digits) = member.value { texts[member.name] = digits }
            if case .array(let files) = member.value, member.name == "attachments" {
                texts["enclosure"] = files.lazy.compactMap { $0["url"]?.string }.first
            }
            guard let text = member.value.string.map({ Array($0.utf8)[...] }) else { return }
            let words = member.name == "content_html" ? XMLTokens.text(html: text) : nil
            texts[member.name] = words ?? String(trimming: text)
            if member.name == "id", member.value.string?.contains(text: "://") ?? false {
                texts["address"] = texts["id"]
            }
        }
    }
}

extension FeedDocument.Entry {
    /// Limit of a text, in bytes: a title is cut there, a target or id is left out.
    fileprivate static let textBytesMax = 4096

    // Elements, members of JSON and attributes of outlines, the best first.
    fileprivate static let titles = ["title", "dc:title", "text"]
    fileprivate static let summaries = [
        "description", "summary", "subtitle", "tagline", "content_text", "content", "content_html",
    ]
    private static let targets = [
        "link", "xmlurl", "url", "htmlurl", "home_page_url", "external_url", "other link", "src",
        "address", "rdf:about", "enclosure",
    ]
    fileprivate static let ids = ["id", "guid", "rdf:about"]
    private static let times = [
        "published", "pubdate", "issued", "dc:issued", "date_published", "dc:date", "updated",
        "modified", "dc:modified", "date_modified", "lastbuilddate", "created",
    ]
    fileprivate static let elements = Set(titles + summaries + ["link"] + ids + times)

    fileprivate init(_ texts: [String: String], bases: [String] = []) {
        let found = { (keys: [String]) in
            keys.lazy.compactMap { texts[$0] }.filter { !$0.isEmpty }
        }
        let isShort = { (text: String) in text.utf8.count <= Self.textBytesMax }
        title = FeedText.line((found(Self.titles).first ?? "").utf8)
        summary = FeedText.line((found(Self.summaries).first ?? "").utf8)
        target = found(Self.targets).first(where: isShort)
        self.bases = bases
        id = found(Self.ids).first(where: isShort)
        time = found(Self.times).compactMap(FeedTime.unixSeconds).first
    }
}

/// Finds the entries among the elements of a document.
private struct FeedParser {
    private struct Element {
        let name: ArraySlice<UInt8>
        /// The name in lower case, behind the prefix of its vocabulary.
        var key = ""
        /// Vocabularies of the prefixes that are declared.
        var prefixes = ["": "", "atom": "", "dc": "dc:", "rdf": "rdf:"]
        var bases: [String] = []
    }

    /// The feed, or the entry that is open.
    private struct Draft {
        var texts: [String: String] = [:]
        var bases: [String] = []
        /// Number of elements at its beginning: 0 before it, -1 behind it.
        var depth = 0
        var entry: FeedDocument.Entry { .init(texts, bases: bases) }
    }

    private static let (depthMax, prefixesMax, basesMax, baseBytesMax) = (64, 64, 4, 1024)
    private static let kinds: [String: FeedDocument.Kind] = [
        "feed": .atom, "rss": .rss, "opml": .opml,
    ]
    /// Namespaces of feeds and two others, without their scheme and last mark.
    private static let vocabularies = [
        "": "", "www.w3.org/2005/atom": "", "purl.org/atom/ns": "", "purl.org/rss/1.0": "",
        "my.netscape.com/rdf/simple/0.9": "", "channel.netscape.com/rdf/simple/0.9": "",
        "backend.userland.com/rss": "", "backend.userland.com/rss2": "",
        "blogs.law.harvard.edu/tech/rss": "", "purl.org/dc/elements/1.1": "dc:",
        "purl.org/dc/terms": "dc:", "www.w3.org/1999/02/22-rdf-syntax-ns": "rdf:",
    ]

    private var tokens: XMLTokens
    private let entriesMax: Int
    private var kind: FeedDocument.Kind?
    private var isFinished = false
    private var elements: [Element] = []
    /// Number of open elements beyond the limit.
    private var deeper = 0
    private var feed = Draft()
    private var entry: Draft?
    /// The text that is being collected.
    private var text: (key: String, depth: Int, isHTML: Bool?, bytes: [UInt8])?
    private var entries: [FeedDocument.Entry] = []
    private var spans: [FeedDocument.Span] = []
    /// True if the next text is an address, or else the time of the feed; `nil` for other texts.
    private var isAddress: Bool?

    init(_ document: ArraySlice<UInt8>, _ entriesMax: Int) {
        (tokens, self.entriesMax) = (XMLTokens(document), entriesMax)
    }

    mutating func parse() -> FeedDocument? {
        while !isFinished, let token = tokens.next() {
            if case .text(let text) = token, let isAddress {
                note(tokens.place, isAddress ? text : nil)
            }
            isAddress = nil
            switch token {
            case .start where elements.count == Self.depthMax: deeper += 1
            case .start(let name, let attributes): open(name, attributes)
            case .end where deeper > 0: deeper -= 1
            case .end(let name):
                let depth = elements.lastIndex { $0.name == name } ?? elements.count
                while !isFinished && elements.count > depth { close() }
            case .text(let text): collect(text)
            }
        }
        return kind.map { kind in
            FeedDocument(
                kind: kind, feed: feed.entry, entries: entries, isTruncated: !elements.isEmpty,
                spans: spans)
        }
    }

    private mutating func open(_ name: ArraySlice<UInt8>, _ attributes: [String: String]) {
        var element = Element(name: name)
        if let outer = elements.last {
            (element.prefixes, element.bases) = (outer.prefixes, outer.bases)
        }
        // In a fixed order, since there is a limit.
        for key in attributes.keys.filter({ $0 == "xmlns" || $0.hasPrefix("xmlns:") }).sorted()
        where element.prefixes.count < Self.prefixesMax {
            element.prefixes[String(key.dropFirst(6))] = Self.vocabulary(attributes[key] ?? "")
        }
        if let base = attributes["xml:base"], base.utf8.count <= Self.baseBytesMax,
            element.bases.count < Self.basesMax
        {
            element.bases.append(base)
        }
        let name = name.prefix(64).map(ASCII.lowercased)[...]
        let local = name.firstIndex(of: ASCII.colon).map { name[($0 + 1)...] } ?? name
        let prefix = String(decoding: name[..<local.startIndex].dropLast(), as: UTF8.self)
        element.key = String(decoding: local, as: UTF8.self)
        // The root's name says enough, but for `feed`: what has no prefix is of its vocabulary.
        let isOwn =
            prefix.isEmpty
            && (elements.isEmpty ? ["rss", "opml"].contains(element.key) : kind != .atom)
        let known = element.prefixes[prefix] ?? "?"
        if !isOwn || known != "?" { element.key = known + element.key }
        elements.append(element)
        noteSpans(element.key)
        begin(element, attributes)
    }

    /// The prefix in our tables for a namespace; `?` for one that is not in them.
    private static func vocabulary(_ namespace: String) -> String {
        let name = namespace.lowercased()[...]
        let place = name.range(ofText: "://").map { name[$0.upperBound...] } ?? name
        // Drafts of Atom have their own.
        if place.hasPrefix("purl.org/atom/ns#") { return "" }
        let isMarked = place.hasSuffix("/") || place.hasSuffix("#")
        return vocabularies[String(isMarked ? place.dropLast() : place)] ?? "?"
    }

    private mutating func begin(_ element: Element, _ attributes: [String: String]) {
        let (key, depth) = (element.key, elements.count)
        if depth == 1 {
            kind = Self.kinds[key]
            isFinished = kind == nil && key != "rdf:rdf"
        }
        if text != nil {
            if XMLTokens.breaks.contains(key.drop { $0 == "?" }) { collect([ASCII.space]) }
        } else if kind == .opml, key == "outline" {
            let made = FeedDocument.Entry(attributes, bases: element.bases)
            if made.target != nil { add(made) }
        } else if entry == nil, key == (kind == .atom ? "entry" : "item"), kind != .opml {
            kind = kind ?? .rss
            let about = attributes["rdf:about"].map { ["rdf:about": $0] } ?? [:]
            entry = Draft(texts: about, bases: element.bases, depth: depth)
        } else if feed.depth == 0, ["feed", "channel", "head"].contains(key) {
            kind = kind ?? .rss
            feed = Draft(bases: element.bases, depth: depth)
        } else if depth == (entry ?? feed).depth + 1 {
            take(key, attributes)
        }
    }

    /// Takes a part of the feed or the entry: its attributes, or its text when that is complete.
    private mutating func take(_ key: String, _ attributes: [String: String]) {
        if key == "content" { keep(attributes["src"], as: "src") }
        if key == "enclosure" {
            keep(attributes["url"], as: key)
        } else if key == "link", let target = attributes["href"] {
            let pages = [nil, "text/html", "text/gemini", "application/xhtml+xml"]
            let isPage = pages.contains(attributes["type"])
            switch attributes["rel"]?.lowercased().split(separator: "/").last ?? "alternate" {
            case "alternate": keep(target, as: isPage ? key : "other link")
            case "enclosure": keep(target, as: "enclosure")
            default: break
            }
        } else if FeedDocument.Entry.elements.contains(key) {
            let leads = attributes["ispermalink"]?.lowercased() != "false"
            let isAddress = leads && FeedDocument.Entry.ids.contains(key)
            text = (isAddress ? "address" : key, elements.count, isHTML(key, attributes), [])
        }
    }

    /// True for a text in HTML; `nil` for a title of RSS, which does not say it.
    private func isHTML(_ key: String, _ attributes: [String: String]) -> Bool? {
        guard kind == .atom else {
            let isTitle = FeedDocument.Entry.titles.contains(key)
            return isTitle ? nil : FeedDocument.Entry.summaries.contains(key)
        }
        let type = attributes["type"] ?? ""
        let isEscaped = !type.contains(text: "xhtml") || attributes["mode"] == "escaped"
        return type.hasSuffix("html") && isEscaped
    }

    private mutating func collect(_ part: ArraySlice<UInt8>) {
        let max = FeedDocument.Entry.textBytesMax
        if text?.bytes.count ?? .max <= max { text?.bytes += part.prefix(max + 1) }
    }

    private mutating func keep(_ text: String?, as key: String) {
        guard let text, !text.isEmpty, (entry ?? feed).texts[key] == nil else { return }
        if entry != nil { entry?.texts[key] = text } else { feed.texts[key] = text }
        // The element of the target may have a base of its own.
        let isTarget = ["other link", "src", "enclosure"].contains(key)
        if key == "link" || isTarget && entry?.texts["link"] == nil {
            entry?.bases = elements.last?.bases ?? []
        }
    }

    private static let ownTimes: Set<String> = [
        "updated", "modified", "dc:date", "lastbuilddate", "pubdate", "datemodified",
    ]

    private mutating func noteSpans(_ key: String) {
        for value in tokens.addresses {
            note(value.startIndex..<value.endIndex, XMLTokens.replacingReferences(value))
        }
        if ["link", "comments", "icon", "logo", "uri", "url"].contains(key) { isAddress = true }
        if entry == nil, elements.count == feed.depth + 1, Self.ownTimes.contains(key) {
            isAddress = false
        }
    }

    private mutating func note(_ range: Range<Int>, _ text: ArraySlice<UInt8>?) {
        let address = text.map { String(trimming: $0) }
        guard address.map(FeedDocument.isRelative) ?? true else { return }
        spans.append(.init(range: range, address: address, bases: elements.last?.bases ?? []))
    }

    private mutating func close() {
        if let (key, depth, isHTML, bytes) = text, depth == elements.count {
            text = nil
            let isCut = bytes.count > FeedDocument.Entry.textBytesMax
            let whole = bytes[...].dropLast(isCut ? bytes[...].cutCharacterCount : 0)
            let plain =
                isHTML == false ? nil : XMLTokens.text(html: whole, isGuess: isHTML == nil)
            let words = plain ?? String(trimming: whole)
            if key == "address" { keep(words, as: "id") }
            if key != "address" || words.contains(text: "://") { keep(words, as: key) }
        }
        if let whole = entry, whole.depth == elements.count {
            entry = nil
            add(whole.entry)
        }
        if feed.depth == elements.count { feed.depth = -1 }
        elements.removeLast()
        isFinished = isFinished || elements.isEmpty
    }

    private mutating func add(_ entry: FeedDocument.Entry) {
        isFinished = entries.count == entriesMax
        if !isFinished { entries.append(entry) }
    }
}
