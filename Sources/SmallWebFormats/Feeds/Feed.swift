// SPDX-License-Identifier: MIT
internal import SmallWebText

/// Dated entries of one page or several, for feed readers.
package struct Feed: Sendable, Hashable {
    package struct Entry: Sendable, Hashable {
        /// Absolute.
        package var url: String
        /// Identifies the entry: the URL, unless its feed says more.
        package var id: String
        /// For people, on one line, without control characters.
        package var title: String
        /// Unix seconds.
        package var time: Int

        package init(url: String, title: String, time: Int, id: String? = nil) {
            (self.url, self.title, self.time, self.id) = (url, title, time, id ?? url)
        }
    }

    /// The requested URL: it stays the same when the page moves.
    package var id: String
    /// The URL of the page for people.
    package var url: String
    /// For people, on one line, without control characters; never empty.
    package var title: String
    package var subtitle: String?
    /// The host's name.
    package var author: String
    package var entries: [Entry]

    package init(
        id: String, url: String, title: String, subtitle: String? = nil, author: String,
        entries: [Entry] = []
    ) {
        (self.id, self.url, self.title) = (id, url, title)
        (self.subtitle, self.author, self.entries) = (subtitle, author, entries)
    }

    /// Unix seconds of the newest entry; 0 without any.
    package var updated: Int { entries.map(\.time).max() ?? 0 }
}

/// Collects the newest entries, each URL and id once. Holds at most max(2 * `countMax`, 1024)
/// entries, and a hash value of each.
package struct FeedEntries: Sendable {
    /// Limit of distinct entries; later ones are dropped.
    private static let knownMax = 1_000_000

    private let countMax: Int
    private var entries: [(entry: Feed.Entry, place: Int)] = []
    private var known: Set<Int> = []
    private var places = 0

    /// - Parameter countMax: Number of the newest entries to return.
    package init(countMax: Int) { self.countMax = countMax }

    /// Adds an entry, unless its URL was added before with the same id.
    package mutating func add(_ entry: Feed.Entry) {
        let key = [entry.url, entry.id].hashValue
        guard known.count < Self.knownMax, known.insert(key).inserted else {
            return
        }
        entries.append((entry, places))
        places += 1
        if entries.count >= max(2 * countMax, 1024) { shorten() }
    }

    package var isEmpty: Bool { places == 0 }

    /// The newest entries in descending order of time; entries of the same time in order of
    /// arrival.
    package mutating func newest() -> [Feed.Entry] {
        shorten()
        return entries.map(\.entry)
    }

    private mutating func shorten() {
        entries.sort { ($1.entry.time, $0.place) < ($0.entry.time, $1.place) }
        if entries.count > countMax { entries.removeSubrange(countMax...) }
    }
}

package enum FeedText {
    /// Longest text, in Unicode scalars.
    private static let scalarsMax = 1000

    /// A line for people: control characters and blanks become one space; characters that would
    /// reorder the text, or that XML does not allow, are dropped. Bytes that are not UTF-8 are
    /// replaced.
    package static func line(_ bytes: some Collection<UInt8>) -> String {
        let isPlain = { () -> Bool in
            guard bytes.count <= scalarsMax else { return false }
            var previous = ASCII.space
            for byte in bytes {
                guard byte &- 0x20 < 0x5F, byte != ASCII.space || previous != ASCII.space else {
                    return false
                }
                previous = byte
            }
            return previous != ASCII.space || bytes.isEmpty
        }
        if isPlain() { return String(decoding: bytes, as: UTF8.self) }
        var text = String.UnicodeScalarView()
        var (count, isGap) = (0, false)
        let bytes = TerminalText.withoutSequences(Array(bytes)[...])
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            if scalar == " " || isBreak(scalar) {
                isGap = true
                continue
            }
            guard !isLeftOut(scalar) else { continue }
            if isGap && count > 0 {
                text.append(" ")
                count += 1
            }
            isGap = false
            guard count < scalarsMax else {
                text.append("\u{2026}")
                break
            }
            text.append(scalar)
            count += 1
        }
        return String(text)
    }

    private static func isBreak(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: true
        default: false
        }
    }

    private static func isLeftOut(_ scalar: Unicode.Scalar) -> Bool {
        TerminalText.isDangerous(scalar) || scalar.value & 0xFFFE == 0xFFFE
            || 0xFDD0...0xFDEF ~= scalar.value
    }

    /// False for schemes that feed readers in browsers would execute, or show as pages of their own
    /// site.
    package static func isFollowed(_ url: String) -> Bool {
        ![
            "about", "blob", "data", "filesystem", "jar", "javascript", "jscript", "livescript",
            "mocha", "vbscript", "view-source",
        ].contains(URI.scheme(of: url) ?? "")
    }

    /// A URL valid in every feed format: characters that neither a URI nor an IRI may have become
    /// `%XX`.
    package static func url(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { $0 &- 0x21 < 0x5E && !isUnwise($0) }
        if isPlain { return text }
        var safe: [UInt8] = []
        for scalar in text.unicodeScalars {
            let bytes = Array(String(scalar).utf8)
            let isKept =
                scalar.value < 0x80
                ? scalar.value > 0x20 && scalar.value < 0x7F && !isUnwise(bytes[0])
                : !isLeftOut(scalar) && !scalar.properties.isWhitespace
            safe += isKept ? bytes : Array(PercentEncoding.encode(bytes).utf8)
        }
        return String(decoding: safe, as: UTF8.self)
    }

    /// Characters that RFC 3986 does not allow.
    private static func isUnwise(_ byte: UInt8) -> Bool {
        switch Unicode.Scalar(byte) {
        case "\"", "<", ">", "\\", "^", "`", "{", "|", "}": true
        default: false
        }
    }
}
