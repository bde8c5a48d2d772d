// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Detects the kind of a document by its beginning, to find existing feeds. Pure.
package enum FeedSniffer {
    package enum Kind: Sendable, Hashable {
        /// Atom or RSS.
        case xmlFeed
        case jsonFeed
        /// A list of feeds.
        case opml
        case html
        case other
    }

    package static let bytesMax = 65_536

    /// False for a text that no more bytes make a feed.
    package static func mayBegin(_ bytes: ArraySlice<UInt8>) -> Bool {
        let first = bytes.withoutByteOrderMark.first { !ASCII.isWhiteSpace($0) }
        // Two are the marks of UTF-16, and one begins that of UTF-8.
        return first.map { [0x3C, 0x7B, 0xFE, 0xFF].contains($0) } ?? true
            || bytes.count < 3 && bytes.first == 0xEF
    }

    /// - Parameter bytes: The first ``bytesMax``, or all of a shorter document.
    package static func kind(of bytes: ArraySlice<UInt8>) -> Kind {
        var text = bytes.prefix(bytesMax)
        // Without the zero bytes of UTF-16, the markup is ASCII.
        if text.starts(with: [0xFF, 0xFE]) || text.starts(with: [0xFE, 0xFF]) {
            text = text.dropFirst(2).filter { $0 != 0 }[...]
        }
        text = text.withoutByteOrderMark.drop(while: ASCII.isWhiteSpace)
        if text.first == UInt8(ascii: "{") {
            let head = String(decoding: text, as: UTF8.self)
            // JSON allows an escaped slash.
            let isFeed =
                head.contains(text: "jsonfeed.org/version/")
                || head.contains(text: "jsonfeed.org\\/version\\/")
            return isFeed ? .jsonFeed : .other
        }
        var tokens = XMLTokens(text)
        while let token = tokens.next() {
            switch token {
            case .start(let name, _):
                return root(String(decoding: name.map(ASCII.lowercased), as: UTF8.self))
            case .text(let text) where text.allSatisfy(ASCII.isWhiteSpace): continue
            default: return .other
            }
        }
        return .other
    }

    /// The kind of a document by the name of its first element.
    private static func root(_ name: String) -> Kind {
        switch name {
        case "html": .html
        case "rss", "rdf", "rdf:rdf", "feed": .xmlFeed
        case "opml": .opml
        default: name.hasSuffix(":feed") ? .xmlFeed : .other
        }
    }
}
