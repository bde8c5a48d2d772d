// SPDX-License-Identifier: MIT
internal import SmallWebText

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

    /// - Parameter bytes: The first ``bytesMax``, or fewer.
    /// - Returns: `nil` while more bytes may tell.
    package static func kind(of bytes: ArraySlice<UInt8>) -> Kind? {
        // Perhaps a part of a byte order mark.
        guard bytes.count > 2 else { return nil }
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
            return isFeed ? .jsonFeed : nil
        }
        guard text.first == UInt8(ascii: "<") else { return text.isEmpty ? nil : .other }
        var tokens = XMLTokens(text)
        while let token = tokens.next() {
            switch token {
            case .start(let name, _):
                return root(String(decoding: name.map(ASCII.lowercased), as: UTF8.self))
            case .text(let text) where text.allSatisfy(ASCII.isWhiteSpace): continue
            case .text(let text) where text.elementsEqual("<".utf8): return nil
            default: return .other
            }
        }
        return nil
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
