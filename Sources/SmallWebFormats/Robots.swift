// SPDX-License-Identifier: MIT
package import SmallWebCore

/// The rules of a robots.txt file that hold for one client: by the grammar of 1994, in which the
/// rules of all its roles and of `*` add up, or by RFC 9309. Pure. A file that can be read in two
/// ways is read in the way that forbids more.
package struct Robots: Sendable {
    /// An `Allow` or `Disallow` line.
    package struct Rule: Sendable, CustomStringConvertible {
        package let isAllow: Bool
        /// Percent-encoded, with `*` and a last `$`; 1 to ``Robots/ruleBytesMax`` bytes.
        package let pattern: [UInt8]
        /// Line number in the file, from 1; 0 in rules made from ``Robots/lines``.
        package let number: Int
        /// The line in its normal form, printable ASCII.
        package var text: String {
            (isAllow ? "Allow: " : "Disallow: ") + String(decoding: pattern, as: UTF8.self)
        }
        /// With its number, if that is known.
        package var description: String { number > 0 ? "\(text) (line \(number))" : text }
    }

    /// Longest part of a file that is read; RFC 9309 §2.5 asks for 500 KiB.
    package static let fileBytesMax = 512 * 1024
    /// Largest number of rules of an agent; the first ones count.
    package static let rulesMax = 10_000
    /// Longest pattern; the beginning of a longer one is forbidden, and none of it allowed.
    package static let ruleBytesMax = 2048
    /// Longest `Crawl-delay`, a day; a longer one counts as this.
    package static let delaySecondsMax = 86_400.0
    /// Comparisons of bytes for one path, some 50 ms; a path that needs more is forbidden.
    package static let stepsMax = 20_000_000

    package let rules: [Rule]
    /// The largest `Crawl-delay`; `nil` when there is none.
    package let delaySeconds: Double?
    /// False for a reply that only looks like a robots file, such as a menu or a page.
    package let namesAgents: Bool
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
        namesAgents = reader.namesAgents
        self.crawling = crawling
    }

    /// The lines that hold, for ``init(lines:_:)``.
    package var lines: [String] {
        rules.map(\.text) + (delaySeconds.map { ["Crawl-delay: \($0.shortest)"] } ?? [])
    }

    // MARK: Matching

    /// - Parameter path: As in a URL, percent-encoded, with its item type and `?query`.
    package func allows(_ path: String) -> Bool { decision(on: path).rule?.isAllow ?? true }

    /// The line that decides about a path, or `nil` if there is none and the path is allowed; and
    /// the comparisons of bytes that it took.
    package func decision(on path: String) -> (rule: Rule?, steps: Int) {
        // The file itself is always allowed (RFC 9309 §2.2.2).
        guard !rules.isEmpty, !crawling.robots.contains(path) else { return (nil, 0) }
        let forms = forms(of: path)
        var (best, length, steps) = (Rule?.none, 0, 0)
        for rule in rules where rule.pattern.count >= length {
            // The longest pattern decides, and of two as long the one that allows.
            if rule.pattern.count == length, !rule.isAllow { continue }
            guard forms.contains(where: { matches(rule.pattern, $0, &steps) }) else { continue }
            (best, length) = (rule, rule.pattern.count)
            if crawling.dialect == .original { break }
        }
        guard steps < Self.stepsMax else { return (rules.first { !$0.isAllow }, steps) }
        return (best, steps)
    }

    /// True if the pattern matches a beginning of `text`, or with a last `$` all of it. Only the
    /// last `*` is tried again, so comparisons are at most the product of both lengths.
    private func matches(_ pattern: [UInt8], _ text: [UInt8], _ steps: inout Int) -> Bool {
        let isAnchored = pattern.last == Self.dollar
        let end = pattern.count - (isAnchored ? 1 : 0)
        var (at, place) = (0, 0)
        var retry: (at: Int, place: Int)?
        while steps < Self.stepsMax {
            steps += 1
            if at == end, !isAnchored || isEnd(text[place...]) { return true }
            if at < end, pattern[at] == Self.asterisk {
                at += 1
                retry = (at, place)
            } else if at < end, place < text.count, pattern[at] == text[place] {
                (at, place) = (at + 1, place + 1)
            } else if let last = retry, last.place < text.count {
                (at, place) = (last.at, last.place + 1)
                retry = (at, place)
            } else {
                return false
            }
        }
        return false
    }

    /// True if a last `$` matches here. In 1994 it was a byte like any other.
    private func isEnd(_ rest: ArraySlice<UInt8>) -> Bool {
        rest.isEmpty || crawling.dialect == .original && rest.starts(with: "%24".utf8)
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
    ///
    /// - Returns: `nil` for an `Allow` that is too long. A `Disallow` is cut, and ends in `*`, so
    ///   that it forbids all that the whole line would.
    static func pattern(_ value: ArraySlice<UInt8>, isAllow: Bool) -> [UInt8]? {
        let isAnchored = value.last == dollar
        var pattern = PercentEncoding.normalised(
            isAnchored ? value.dropLast() : value, escaping: { $0 == dollar })
        if isAnchored { pattern.append(dollar) }
        guard pattern.count > ruleBytesMax else { return pattern }
        pattern.removeLast(pattern.count - ruleBytesMax + 1)
        // An escape may have been cut.
        if let percent = pattern.suffix(2).lastIndex(of: ASCII.percent) {
            pattern.removeSubrange(percent...)
        }
        return isAllow ? nil : pattern + [asterisk]
    }
}
