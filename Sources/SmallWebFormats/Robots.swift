// SPDX-License-Identifier: MIT
package import SmallWebText

/// The rules of a robots.txt file that hold for one client: by the grammar of 1994, in which the
/// rules of all its roles and of `*` add up, or by RFC 9309. Pure. A file that can be read in two
/// ways is read in the way that forbids more.
package struct Robots: Sendable {
    /// An `Allow` or `Disallow` line.
    package struct Rule: Sendable, CustomStringConvertible {
        package let isAllow: Bool
        /// Percent-encoded, with `*` and a last `$`; not empty.
        package let pattern: [UInt8]
        /// Line number in the file, from 1; 0 in rules made from ``Robots/lines``.
        package let number: Int
        /// The line in its normal form, printable ASCII.
        package var text: String {
            (isAllow ? "Allow: " : "Disallow: ") + String(decoding: pattern, as: UTF8.self)
        }
        /// At most 200 bytes of it, with its number, if that is known.
        package var description: String {
            let text = pattern.count > 200 ? text.prefix(200) + "…" : text
            return number > 0 ? "\(text) (line \(number))" : text
        }
    }

    /// Longest part of a file that is read; RFC 9309 §2.5 asks for 500 KiB. All rules of it hold.
    package static let fileBytesMax = 512 * 1024
    /// Longest `Crawl-delay`, a day; a longer one counts as this.
    package static let delaySecondsMax = 86_400.0
    /// Comparisons of bytes for one path, some 10 ms; a path that needs more is forbidden.
    package static let stepsMax = 4_000_000

    package let rules: [Rule]
    /// The largest `Crawl-delay`; `nil` when there is none.
    package let delaySeconds: Double?
    /// False for a reply that only looks like a robots file, such as a menu or a page.
    package let namesAgents: Bool
    /// ``pairs(in:)`` of each rule.
    private let pairs: [UInt64]
    private let crawling: Crawling

    /// - Parameters:
    ///   - product: The client's own name, as in `User-agent`.
    ///   - roles: Names for its purposes, such as `archiver`; RFC 9309 knows none.
    ///   - isCut: True if the reply lacks its end, so that its last line may be truncated.
    package init(
        _ file: ArraySlice<UInt8>, _ crawling: Crawling, product: String, roles: [String],
        isCut: Bool = false
    ) {
        var reader = RobotsReader(crawling.dialect, product: product, roles: roles)
        let isCut = isCut || file.count > Self.fileBytesMax
        reader.read(file.prefix(Self.fileBytesMax).withoutByteOrderMark, isCut: isCut)
        self.init(reader, crawling)
    }

    /// - Parameter lines: ``lines`` of another value.
    package init(lines: [String], _ crawling: Crawling) {
        var reader = RobotsReader(crawling.dialect, product: "*", roles: [])
        for line in ["User-agent: *"] + lines { reader.add(Array(line.utf8)[...], number: 0) }
        self.init(reader, crawling)
    }

    private init(_ reader: RobotsReader, _ crawling: Crawling) {
        (rules, delaySeconds) = reader.result
        pairs = rules.map { Self.pairs(in: $0.pattern) }
        namesAgents = reader.namesAgents
        self.crawling = crawling
    }

    /// The lines that hold, for ``init(lines:_:)``.
    package var lines: [String] {
        rules.map(\.text) + (delaySeconds.map { ["Crawl-delay: \($0.shortest)"] } ?? [])
    }

    /// True if a reply's values of `X-Robots-Tag` forbid its links to be followed: for all robots,
    /// or behind one of `names` and a colon, up to the end of the value or to another name.
    ///
    /// - Parameter names: In lower case.
    package static func isNofollow(_ values: [String], names: [String]) -> Bool {
        values.contains { value in
            var isMeant = true
            return value.lowercased().split(separator: ",").contains { part in
                let halves = part.split(
                    separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                let name = halves[0].split(whereSeparator: \.isWhitespace)
                if halves.count == 2, name.count == 1 {
                    if valued.contains(name[0]) { return false }
                    isMeant = names.contains { $0 == name[0] }
                }
                let words = halves[halves.count - 1].split(whereSeparator: \.isWhitespace)
                return isMeant && words.contains { $0 == "nofollow" || $0 == "none" }
            }
        }
    }

    /// Words with a value behind their colon; others before one name a robot.
    private static let valued: [Substring] = [
        "unavailable_after", "max-snippet", "max-image-preview", "max-video-preview",
    ]

    // MARK: Matching

    /// - Parameter path: As in a URL, percent-encoded, with its item type and `?query`.
    package func allows(_ path: String) -> Bool { decision(on: path).rule?.isAllow ?? true }

    /// The line that decides about a path, or `nil` if there is none and the path is allowed; and
    /// the comparisons of bytes that it took.
    package func decision(on path: String) -> (rule: Rule?, steps: Int) {
        // The file itself is always allowed (RFC 9309 §2.2.2).
        guard !rules.isEmpty, !crawling.robots.contains(path) else { return (nil, 0) }
        let forms = forms(of: path)
        let missing = ~forms.reduce(0) { $0 | Self.pairs(in: $1) }
        var (best, length, steps) = (Rule?.none, 0, 0)
        for (rule, pairs) in zip(rules, pairs)
        where pairs & missing == 0 && rule.pattern.count >= length {
            // The longest pattern decides, and of two as long the one that allows.
            if rule.pattern.count == length, !rule.isAllow { continue }
            let isMatch = rule.pattern.withUnsafeBufferPointer { pattern in
                forms.contains { form in
                    form.withUnsafeBufferPointer { matches(pattern[...], $0[...], &steps) }
                }
            }
            guard isMatch else { continue }
            (best, length) = (rule, rule.pattern.count)
            if crawling.dialect == .original { break }
        }
        return (steps < Self.stepsMax ? best : rules.first { !$0.isAllow }, steps)
    }

    private typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

    /// True if the pattern matches a beginning of `text`, or with a last `$` all of it. The pieces
    /// between its `*`s are found one after the other, each where it comes first: linear.
    private func matches(_ pattern: Bytes, _ text: Bytes, _ steps: inout Int) -> Bool {
        let isWhole = pattern.last == Self.dollar
        // In 1994 it was a byte like any other.
        if isWhole, crawling.dialect == .original,
            (Array(pattern.dropLast()) + "%24".utf8).withUnsafeBufferPointer({
                matches($0[...], text, &steps)
            })
        {
            return true
        }
        var (rest, pattern) = (text, isWhole ? pattern.dropLast() : pattern)
        let head = pattern.prefix { $0 != Self.asterisk }
        guard rest.starts(with: head) else { return false }
        (rest, pattern) = (rest.dropFirst(head.count), pattern.dropFirst(head.count))
        if pattern.isEmpty { return !isWhole || rest.isEmpty }
        while !pattern.isEmpty, steps < Self.stepsMax {
            let piece = pattern.dropFirst().prefix { $0 != Self.asterisk }
            pattern = pattern.dropFirst(piece.count + 1)
            if isWhole, pattern.isEmpty { return rest.suffix(piece.count).elementsEqual(piece) }
            let end = rest.end(of: piece)
            steps += 32 + piece.count + (end ?? rest.endIndex) - rest.startIndex
            guard let end else { return false }
            rest = rest[end...]
        }
        return pattern.isEmpty
    }

    /// Hashes of two bytes in a row, as a set. Tells most texts that do not match from their pairs,
    /// which have no `*` and `$`.
    private static func pairs(in bytes: [UInt8]) -> UInt64 {
        zip(bytes, bytes.dropFirst()).reduce(0) { pairs, pair in
            pair.0 == asterisk || pair.1 == asterisk || pair.1 == dollar
                ? pairs : pairs | 1 << UInt64((pair.0 &* 5 ^ pair.1) & 63)
        }
    }

    private static let (asterisk, dollar) = (UInt8(ascii: "*"), UInt8(ascii: "$"))

    /// The forms of a path that patterns are tried against, with `*` and `$` escaped.
    private func forms(of path: String) -> [[UInt8]] {
        let text = PercentEncoding.normalised(
            (path.isEmpty ? "/" : path).utf8,
            escaping: { $0 == Self.asterisk || $0 == Self.dollar })
        if crawling.hasItemType { return Self.selectorForms(text) }
        if crawling.dialect == .original { return [text, Array(text.dropFirst())] }
        guard let mark = text.firstIndex(of: ASCII.questionMark) else { return [text] }
        // Within a query, `https://` and `https%3A%2F%2F` are the same (RFC 9309 §2.2.2).
        let (head, query) = (text[...mark], text[(mark + 1)...])
        let isDelimiter = { (byte: UInt8) in ":/?#[]@".utf8.contains(byte) }
        return [
            text, head + PercentEncoding.normalised(query, decoding: isDelimiter),
            head + PercentEncoding.normalised(query, escaping: isDelimiter),
        ]
    }

    /// A selector with and without its first slash, also with its item type before it, and each of
    /// them with a slash behind it, since `/path/` covers `/path`.
    private static func selectorForms(_ path: [UInt8]) -> [[UInt8]] {
        let typed = Array(path.dropFirst())
        let selector = typed.dropFirst(typed.first == ASCII.percent ? 3 : 1)
        let bare = Array(selector.first == ASCII.slash ? selector.dropFirst() : selector)
        let forms = [bare, [ASCII.slash] + bare, typed, path]
        return forms + forms.map { $0 + [ASCII.slash] }
    }

    /// Normalises a pattern: only a last `$` stays one.
    static func pattern(_ value: ArraySlice<UInt8>) -> [UInt8] {
        let isWhole = value.last == dollar
        let pattern = PercentEncoding.normalised(
            isWhole ? value.dropLast() : value, escaping: { $0 == dollar })
        return isWhole ? pattern + [dollar] : pattern
    }

    /// A pattern for all that begins so: without the half of an escape, and a `$` may go on.
    static func beginning(_ value: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let value = value.dropLast { $0 == dollar }
        let end = value.suffix(2).lastIndex(of: ASCII.percent) ?? value.endIndex
        return value[..<end] + [asterisk]
    }
}
