// SPDX-License-Identifier: MIT
package import SmallWebCore
package import SmallWebFormats

extension FeedDocument {
    /// The document as a page of links, each with its day and title.
    ///
    /// - Parameter base: The document's own URI, after redirects.
    func gemtext(at base: URI) -> [UInt8] {
        var lines = feed.title.isEmpty ? [] : ["# \(feed.title)"]
        if !feed.summary.isEmpty { lines.append("> \(feed.summary)") }
        lines.append("")
        for entry in entries {
            let day = entry.time.map { UTCDate.day($0) + " " } ?? ""
            let target = entry.uri(at: base)
            let label = day + (entry.label ?? (target == nil ? "" : "without a title"))
            // The space keeps a mark of gemtext in a title without a link from being one.
            lines.append(target.map { "=> \($0) \(label)" } ?? " \(label)")
        }
        return Array((lines.joined(separator: "\n") + "\n").utf8)
    }
}

extension FeedDocument.Entry {
    /// The title, or without it the summary, cut to a line; `nil` without both.
    package var label: String? {
        title.isEmpty ? (summary.isEmpty ? nil : String(summary.prefix(80))) : title
    }

    /// The URI of the entry; `nil` if it has none.
    package func uri(at base: URI) -> URI? {
        let resolve = { (base: URI, text: String) in
            try? base.resolving(FeedText.url(text)) { _ in false }
        }
        let base = bases.reduce(base) { resolve($0, $1) ?? $0 }
        return target.flatMap { resolve(base, $0) }
    }
}

extension FeedReader {
    /// The feeds of an OPML document; `nil` for another one.
    package static func list(_ bytes: [UInt8]) -> [(url: String, title: String)]? {
        guard FeedSniffer.kind(of: bytes[...]) == .opml else { return nil }
        var reader = FeedReader(bytesMax: PageReader.feedBytesMax)
        reader.add(bytes[...])
        let document = reader.finish { CharsetConverter(from: $1)?.convertAll($0) }
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
