// SPDX-License-Identifier: MIT
internal import SmallWebCore
package import SmallWebFormats
package import SmallWebText

extension FeedDocument {
    /// The document as a page of links, each with its day, time and title.
    ///
    /// - Parameter base: The document's own URI, after redirects.
    func blocks(at base: URI) -> [TextBlock] {
        var blocks: [TextBlock] = []
        func add(
            _ kind: TextBlock.Kind, _ text: String, to target: String? = nil, time: Int? = nil
        ) {
            let line = blocks.count + 1
            var link = target.map { TextBlock.Link(Array($0.utf8), line: line) }
            link?.time = time
            let runs = text.isEmpty ? [] : [TextBlock.Run(Array(text.utf8), link: link)]
            blocks.append(TextBlock(kind, runs, line: line))
        }
        if !feed.title.isEmpty { add(.heading(1), feed.title) }
        if !feed.summary.isEmpty { add(.quote(), feed.summary) }
        add(.blank, "")
        for entry in entries {
            let day = entry.time.map { UTCDate.day($0) + " " } ?? ""
            if let target = entry.uri(at: base)?.description {
                let label = day + (entry.label ?? "without a title")
                add(.link, label, to: target, time: entry.time)
            } else {
                // The space keeps a mark of gemtext in a title without a link from being one.
                add(.paragraph, " " + day + (entry.label ?? ""))
            }
        }
        return blocks
    }

    /// The document in UTF-8 with absolute addresses.
    func absolute(at base: URI) -> [UInt8] {
        let document = text { place in
            let uri = place.address.flatMap { Self.resolve($0, place.bases, at: base) }
            // Other marks are escaped in URLs.
            let url = uri.map { FeedText.url($0.description).replacing(text: "'", with: "%27") }
            let isXML = kind != .jsonFeed
            return (isXML ? url?.replacing(text: "&", with: "&amp;") : url).map { Array($0.utf8) }
        }
        guard namesCharset, let end = document.firstIndex(of: UInt8(ascii: ">"))
        else { return document }
        return Array("<?xml version=\"1.0\" encoding=\"UTF-8\"?>".utf8) + document[(end + 1)...]
    }

    fileprivate static func resolve(_ address: String, _ bases: [String], at base: URI) -> URI? {
        let resolve = { (base: URI, text: String) in
            try? base.resolving(FeedText.url(text)) { _ in false }
        }
        return resolve(bases.reduce(base) { resolve($0, $1) ?? $0 }, address)
    }
}

extension FeedDocument.Entry {
    /// The title, or without it the summary, cut to a line; `nil` without both.
    package var label: String? {
        title.isEmpty ? (summary.isEmpty ? nil : String(summary.prefix(80))) : title
    }

    /// The URI of the entry; `nil` if it has none.
    package func uri(at base: URI) -> URI? {
        target.flatMap { FeedDocument.resolve($0, bases, at: base) }
    }

    /// Tells the entries of one URL apart: the id, where that is a URI.
    func identifier(_ url: String) -> String? {
        id.map { id in
            URI.scheme(of: id) == nil
                ? url + (url.contains("#") ? "@" : "#") + PercentEncoding.encode(id.utf8)
                : FeedText.url(id)
        }
    }
}

extension FeedReader {
    /// The feeds of an OPML document; `nil` for another one.
    ///
    /// - Throws: `read` for a part of one.
    package static func list(
        _ bytes: [UInt8], of file: String
    ) throws(FetchError) -> [(url: String, title: String)]? {
        guard FeedSniffer.kind(of: bytes[...]) == .opml else { return nil }
        var reader = FeedReader(bytesMax: bytes.count, entriesMax: .max)
        reader.add(bytes[...])
        let document = reader.finish { CharsetConverter(from: $1)?.convertAll($0) }
        guard document?.isTruncated == false else {
            throw FetchError(.read, .input, "\(file) is cut off: OPML without its end")
        }
        return document?.entries.compactMap { entry in entry.target.map { ($0, entry.title) } }
    }

    /// True for the media type of a feed, or of XML or JSON, which may be one.
    static func mayRead(_ essence: String) -> Bool {
        essence.hasSuffix("/xml") || essence.hasSuffix("+xml") || essence == "text/x-opml"
            || essence == "application/feed+json" || essence == "application/json"
    }
}

extension FeedSniffer.Kind {
    var isFeed: Bool { self == .xmlFeed || self == .jsonFeed || self == .opml }
}
