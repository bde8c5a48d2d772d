// SPDX-License-Identifier: MIT
internal import SmallWebText

/// Writes a feed in one of the common formats. Deterministic: equal feeds give equal bytes.
package enum FeedFormat: String, Sendable, CaseIterable {
    /// RFC 4287.
    case atom
    /// RSS 2.0.
    case rss
    /// JSON Feed 1.1.
    case jsonfeed
    /// "Subscribing to Gemini pages".
    case gemtext

    package func document(_ feed: Feed) -> [UInt8] {
        switch self {
        case .atom: atom(feed)
        case .rss: rss(feed)
        case .jsonfeed: jsonFeed(feed)
        case .gemtext: gemtext(feed)
        }
    }

    /// A list of subscriptions (OPML 2.0).
    package static func opml(
        title: String, _ pages: [(url: String, title: String)]
    ) -> [UInt8] {
        var xml = XMLBuilder()
        xml.open("opml version=\"2.0\"")
        xml.open("head")
        xml.line("title", title)
        xml.close("head")
        xml.open("body")
        for page in pages { xml.outline(page.title.isEmpty ? page.url : page.title, page.url) }
        xml.close("body")
        xml.close("opml")
        return xml.bytes
    }

    private func atom(_ feed: Feed) -> [UInt8] {
        var xml = XMLBuilder()
        xml.open("feed xmlns=\"http://www.w3.org/2005/Atom\"")
        xml.line("title", feed.title)
        if let subtitle = feed.subtitle { xml.line("subtitle", subtitle) }
        xml.line("id", feed.id)
        xml.link(feed.url)
        xml.line("updated", UTCDate.second(feed.updated))
        xml.open("author")
        xml.line("name", feed.author)
        xml.close("author")
        for entry in feed.entries {
            xml.open("entry")
            xml.line("title", entry.title)
            xml.line("id", entry.id)
            xml.link(entry.url)
            xml.line("updated", UTCDate.second(entry.time))
            xml.close("entry")
        }
        xml.close("feed")
        return xml.bytes
    }

    /// RSS 2.0 (rssboard.org/rss-specification).
    private func rss(_ feed: Feed) -> [UInt8] {
        var xml = XMLBuilder()
        xml.open("rss version=\"2.0\"")
        xml.open("channel")
        xml.line("title", feed.title)
        xml.line("link", feed.url)
        xml.line("description", feed.subtitle ?? feed.title)
        xml.line("lastBuildDate", Self.rfc822Date(feed.updated))
        for entry in feed.entries {
            xml.open("item")
            xml.line("title", entry.title)
            xml.line("link", entry.url)
            xml.line(
                "guid", Array(entry.id.utf8),
                attributes: " isPermaLink=\"\(entry.id == entry.url)\"")
            xml.line("pubDate", Self.rfc822Date(entry.time))
            xml.close("item")
        }
        xml.close("channel")
        xml.close("rss")
        return xml.bytes
    }

    /// `Sat, 06 Apr 2024 12:00:00 +0000` (RFC 822 with the years of RFC 1123).
    private static func rfc822Date(_ unixSeconds: Int) -> String {
        UTCDate.http(unixSeconds).dropLast(3) + "+0000"
    }

    private func gemtext(_ feed: Feed) -> [UInt8] {
        var text: [UInt8] = []
        text.append("# \(feed.title)\n")
        if let subtitle = feed.subtitle { text.append("## \(subtitle)\n") }
        text.append("\n")
        for entry in feed.entries {
            let day = UTCDate.day(entry.time)
            text.append(
                entry.title == day
                    ? "=> \(entry.url) \(day)\n" : "=> \(entry.url) \(day) \(entry.title)\n")
        }
        return text
    }

    private func jsonFeed(_ feed: Feed) -> [UInt8] {
        JSONWriter.line { writer in
            writer.member("version", "https://jsonfeed.org/version/1.1")
            writer.member("title", feed.title)
            writer.member("home_page_url", feed.url)
            if let subtitle = feed.subtitle { writer.member("description", subtitle) }
            writer.member("authors", array: [feed.author]) { writer, author in
                writer.object { $0.member("name", author) }
            }
            writer.member("items", array: feed.entries) { writer, entry in
                writer.object { writer in
                    writer.member("id", entry.id)
                    writer.member("url", entry.url)
                    writer.member("title", entry.title)
                    // An item must have contents.
                    writer.member("content_text", entry.title)
                    writer.member("date_published", UTCDate.second(entry.time))
                }
            }
        }
    }
}

/// Builds XML with one element per line.
private struct XMLBuilder {
    private(set) var bytes = Array("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".utf8)

    mutating func open(_ tag: String) {
        bytes.append("<")
        bytes.append(tag)
        bytes.append(">\n")
    }

    mutating func close(_ name: String) {
        bytes.append("</")
        bytes.append(name)
        bytes.append(">\n")
    }

    mutating func line(_ name: String, _ text: String) { line(name, Array(text.utf8)) }

    mutating func line(_ name: String, _ text: [UInt8], attributes: String = "") {
        bytes.append("<")
        bytes.append(name)
        bytes.append(attributes)
        bytes.append(">")
        bytes.append(markup: text)
        bytes.append("</")
        bytes.append(name)
        bytes.append(">\n")
    }

    mutating func outline(_ text: String, _ url: String) {
        bytes.append("<outline type=\"rss\" text=\"")
        bytes.append(markup: Array(FeedText.line(text.utf8).utf8))
        bytes.append("\" xmlUrl=\"")
        bytes.append(markup: Array(FeedText.line(url.utf8).utf8))
        bytes.append("\"/>\n")
    }

    mutating func link(_ url: String) {
        bytes.append("<link rel=\"alternate\" href=\"")
        bytes.append(markup: Array(url.utf8))
        bytes.append("\"/>\n")
    }
}

extension [UInt8] {
    /// Appends text, escaped for XML and HTML, between tags and in quoted attributes.
    mutating func append(markup text: [UInt8]) {
        for byte in text {
            switch byte {
            case UInt8(ascii: "&"): append("&amp;")
            case UInt8(ascii: "<"): append("&lt;")
            case UInt8(ascii: ">"): append("&gt;")
            case UInt8(ascii: "\""): append("&quot;")
            case UInt8(ascii: "'"): append("&#39;")
            default: append(byte)
            }
        }
    }
}
