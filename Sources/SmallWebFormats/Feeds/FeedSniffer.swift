// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Detects the kind of a document by its beginning, to find existing feeds. Pure.
package enum FeedSniffer {
    package enum Kind: Sendable, Hashable {
        /// Atom or RSS.
        case xmlFeed
        case jsonFeed
        case html
        case other
    }

    package static let bytesMax = 65_536

    /// - Parameter bytes: The first ``bytesMax``, or all of a shorter document.
    package static func kind(of bytes: ArraySlice<UInt8>) -> Kind {
        var text = bytes.prefix(bytesMax)
        // Without the zero bytes of UTF-16, the markup is ASCII.
        if text.starts(with: [0xFF, 0xFE]) || text.starts(with: [0xFE, 0xFF]) {
            text = text.dropFirst(2).filter { $0 != 0 }[...]
        }
        text = text.withoutByteOrderMark.drop { isSpace($0) }
        if text.first == UInt8(ascii: "{") {
            let head = String(decoding: text, as: UTF8.self)
            // JSON allows an escaped slash.
            let isFeed =
                head.contains(text: "jsonfeed.org/version/")
                || head.contains(text: "jsonfeed.org\\/version\\/")
            return isFeed ? .jsonFeed : .other
        }
        guard let name = rootElement(text) else { return .other }
        switch name {
        case "html", "!doctype html": return .html
        case "rss", "rdf": return .xmlFeed
        default:
            return name == "feed" || name.hasSuffix(":feed") || name == "rdf:rdf"
                ? .xmlFeed : .other
        }
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        ASCII.isSpace(byte) || byte == ASCII.lineFeed
    }

    /// The name of the first element, in lower case, or `!doctype html`.
    private static func rootElement(_ text: ArraySlice<UInt8>) -> String? {
        var rest = text
        while rest.first == UInt8(ascii: "<") {
            if rest.starts(with: "<?".utf8) {
                guard let next = after("?>", rest) else { return nil }
                rest = next
            } else if rest.starts(with: "<!--".utf8) {
                guard let next = after("-->", rest) else { return nil }
                rest = next
            } else if rest.starts(with: "<!".utf8) {
                let words = rest.dropFirst().prefix(64).map(ASCII.lowercased)
                if words.starts(with: "!doctype html".utf8) { return "!doctype html" }
                guard let next = afterDeclaration(rest) else { return nil }
                rest = next
            } else {
                let name = rest.dropFirst().prefix(64).prefix { byte in
                    ASCII.isLetter(byte) || ASCII.isDigit(byte) || ":-_.".utf8.contains(byte)
                }
                return String(decoding: name.map(ASCII.lowercased), as: UTF8.self)
            }
            rest = rest.drop { isSpace($0) }
        }
        return nil
    }

    /// The rest after a declaration, including nested ones in its brackets.
    private static func afterDeclaration(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        var (rest, depth) = (text, 0)
        while let byte = rest.first {
            if rest.starts(with: "<!--".utf8) {
                rest = after("-->", rest) ?? []
                continue
            }
            rest.removeFirst()
            switch Unicode.Scalar(byte) {
            case "<": depth += 1
            case ">": depth -= 1
            case "\"", "'": rest = rest.firstIndex(of: byte).map { rest[($0 + 1)...] } ?? []
            default: continue
            }
            if depth == 0 { return rest }
        }
        return nil
    }

    private static func after(_ mark: String, _ text: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        let mark = Array(mark.utf8)
        var rest = text
        while rest.count >= mark.count {
            if rest.starts(with: mark) { return rest.dropFirst(mark.count) }
            rest = rest.dropFirst()
        }
        return nil
    }
}
