// SPDX-License-Identifier: MIT
public import SmallWebCore
internal import SmallWebPlugins

/// A complete reply, collected by ``Client/fetch(_:input:limits:timeout:)-(String,_,_,_)``.
public struct Page: Sendable {
    /// The result of the fetch, with all that is known about it.
    public let ending: Ending
    /// The body's bytes as received.
    public let body: [UInt8]
    /// The lines of a menu or listing, as parsed by its protocol.
    public let items: [Item]
    /// Facts about the reply that only this page's protocol has.
    public let facts: Facts
    private let plugins: Registry

    init(_ ending: Ending, _ parts: Parts, _ plugins: Registry) {
        self.ending = ending
        body = parts.body
        items = parts.items
        var facts = ending.head?.facts ?? Facts()
        facts.merge(parts.facts)
        self.facts = facts
        self.plugins = plugins
    }

    /// A page that was not fetched, for previews and tests.
    ///
    /// - Parameters:
    ///   - url: Its URL.
    ///   - body: The body's bytes, in the charset of `mediaType`. Links of a menu are not read
    ///     from it: a menu has `items`.
    ///   - mediaType: The media type of the body.
    ///   - items: The lines of a menu.
    /// - Throws: `bad-url`.
    public init(
        _ url: String, _ body: [UInt8], _ mediaType: MediaType, items: [Item] = []
    ) throws(FetchError) {
        try self.init(url, head: Head(.success, mediaType: mediaType), body, items: items)
    }

    /// A page that was not fetched, with a head of one's own: its ``outcome`` is that of the head's
    /// class, such as `permanent-failure`, and its ``facts`` are the head's.
    ///
    /// - Throws: `bad-url`.
    public init(
        _ url: String, head: Head, _ body: [UInt8] = [], items: [Item] = []
    ) throws(FetchError) {
        let ending = Ending(
            try URI(parsing: url), head, .complete, bodyBytes: body.count, Ending.Timings())
        var parts = Parts()
        (parts.body, parts.items) = (body, items)
        self.init(ending, parts, .builtIn)
    }

    /// The page's URL, after redirects; without input, which is not a part of it.
    public var url: String { ending.uri.description }

    /// `ok`, or the reason for a refusal, such as `permanent-failure` or `needs-input`.
    public var outcome: Outcome { ending.outcome }

    /// The protocol's status number, such as Gemini's 20; `nil` if it has none.
    public var status: Int? { ending.head?.status }

    /// The media type of the body, as far as the protocol gives one.
    public var mediaType: MediaType? { ending.head?.mediaType }

    /// The charset that ``text`` is read from, in lower case: the one that the server names. A page
    /// of HTML has its byte order mark before that, and after it a `meta` of its first 1,024 bytes.
    /// UTF-8 for other text and for a charset that the system does not know, `nil` for a body that
    /// is not read as text.
    public var charset: String? { ending.head.flatMap { PageReader.charset($0, body) } }

    /// The body as text, from its ``charset``, or else UTF-8; invalid bytes become U+FFFD. It may
    /// hold control characters.
    public var text: String {
        guard let converter = charset.flatMap(CharsetConverter.init(from:)) else {
            return String(decoding: body, as: UTF8.self)
        }
        return String(decoding: converter.convert(body[...]) + converter.finish(), as: UTF8.self)
    }

    /// Links of gemtext, HTML, Markdown and feeds, and menu lines that are links; not what the page
    /// embeds, such as images. Computed on each access.
    public var links: [Link] {
        let reader = PageReader(
            ending.head ?? Head(.success), base: ending.uri, registry: plugins)
        reader.require(.links)
        var lines = reader.read(.body(body[...])) + reader.finish(isWhole: true)
        for item in items { lines += reader.read(.item(item)) }
        return lines.flatMap(reader.links).filter { $0.isLink && $0.uri != nil && !$0.isEmbedded }
    }

    /// - Throws: `truncated` when the page is incomplete.
    static func check(_ ending: Ending) throws(FetchError) {
        guard ending.outcome == .truncated else { return }
        throw FetchError(.truncated, .body, ending.message ?? "the reply was cut off")
    }

    struct Parts: Sendable {
        var body: [UInt8] = []
        var items: [Item] = []
        var facts = Facts()

        mutating func take(_ event: Event) {
            switch event {
            case .body(let bytes): body += bytes
            case .item(let item): items.append(item)
            case .facts(let more): facts.merge(more)
            default: break
            }
        }
    }
}
