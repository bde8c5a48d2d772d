// SPDX-License-Identifier: MIT
internal import Glibc
@testable internal import SmallWeb
@testable internal import SmallWebCLI
@testable internal import SmallWebCore
@testable internal import SmallWebFormats

/// The dates of labels, items and headings: days of the calendar, and no byte beyond the input.
@Sendable func feedDates(_ input: [UInt8]) {
    let label = DatedText(label: input[...])
    if let label {
        check(String(decoding: input.prefix(10), as: UTF8.self) == "\(label.day)", "\(label.day)")
        check(input.reversed().starts(with: label.rest.reversed()), "the rest is not the end")
        check(DatedText(item: input[...])?.day == label.day, "an item's is another")
    }
    if let item = DatedText(item: input[...]) {
        check(UTCDate(item.day.noon).day == item.day, "\(item.day) is another day")
        check(item.rest.count <= input.count, "more than there was")
    }
    check(FeedSniffer.kind(of: input[...]) != .html || input.contains(0x3C), "HTML without <")
    let whole = headings([input[...]])
    for cut in input.indices {
        check(headings([input[..<cut], input[cut...]]) == whole, "cut at \(cut)")
    }
    check(headings(input.indices.map { input[$0...$0] }) == whole, "byte by byte")
}

private func headings(_ pieces: [ArraySlice<UInt8>]) -> [PlainHeadingReader.Heading] {
    var (framer, reader) = (LineFramer(lineBytesMax: 65_536), PlainHeadingReader())
    let lines = pieces.flatMap { framer.split($0) } + framer.split([], isLast: true)
    return lines.compactMap { reader.add($0.bytes, number: $0.number) }
}

/// A stranger's feed as a page: it does not depend on the pieces, its texts stay on their lines,
/// and its entries lead to URLs.
@Sendable func feedDocument(_ input: [UInt8]) {
    guard let base = try? URI(parsing: "gemini://h.test/a/b") else { fatalError("base") }
    let read = { (pieces: [ArraySlice<UInt8>]) -> [[UInt8]] in
        let head = Head(.success, mediaType: MediaType("text/xml"))
        let reader = PageReader(head, base: base, registry: .builtIn)
        reader.require(.links)
        let lines = pieces.flatMap { reader.read(.body($0)) } + reader.finish(isWhole: true)
        for line in lines {
            check(!line.bytes.contains(0x0A), "a line of two")
            guard let url = reader.links(line).first?.url, !url.isEmpty else { continue }
            check((try? URI(parsing: url))?.description == url, "\(url) changes")
        }
        for entry in reader.feed?.entries ?? [] {
            let isShown = entry.title.unicodeScalars.allSatisfy { !TerminalText.isDangerous($0) }
            check(isShown, "\(entry.title) drives a terminal")
        }
        return lines.map { Array($0.bytes) }
    }
    check(read([input[...]]) == read(Pieces(of: input).pieces), "the page depends on the pieces")
}

/// Every format of a feed quotes its texts: no text ends an element or a line, or drives a
/// terminal, and the gemtext reads back as the same entries.
@Sendable func feedFormats(_ input: [UInt8]) {
    let parts = input.split(separator: 0x0A, omittingEmptySubsequences: false)
    let text = { (index: Int) in parts.count > index ? parts[index] : [] }
    func url(_ index: Int) -> String {
        FeedText.url("gemini://h/" + String(decoding: text(index), as: UTF8.self))
    }
    var entries = FeedEntries(countMax: 8)
    for index in stride(from: 2, to: min(parts.count, 64), by: 2) {
        let title = FeedText.line(text(index))
        entries.add(
            Feed.Entry(
                url: url(index + 1), title: title.isEmpty ? "-" : title,
                time: (index * 7919 % 5000) * 86_400 + 43_200))
    }
    let feed = Feed(
        id: url(1), url: url(1), title: "T" + FeedText.line(text(0)), author: "h",
        entries: entries.newest())
    for format in FeedFormat.allCases {
        let document = format.document(feed)
        check(document == format.document(feed), "\(format) differs")
        guard let shown = String(validating: document, as: UTF8.self) else {
            fatalError("\(format) is not UTF-8")
        }
        let isSafe = shown.unicodeScalars.allSatisfy {
            $0 == "\n" || !TerminalText.isDangerous($0) && $0.value & 0xFFFE != 0xFFFE
        }
        check(isSafe, "\(format) drives a terminal")
        if format == .atom || format == .rss { check(balanced(document), "\(format)") }
    }
    var reader = GemtextReader()
    let lines = reader.add(FeedFormat.gemtext.document(feed)[...])
    let links = lines.filter { $0.kind == .link }
    check(links.count == feed.entries.count, "\(links.count) links")
    for (line, entry) in zip(links, feed.entries) {
        let target = line.links.first { _ in true }?.target ?? []
        check(String(decoding: target, as: UTF8.self) == entry.url, "\(entry.url)")
        check(DatedText(label: line.text[...])?.day.noon == entry.time, "\(entry)")
    }
}

/// True if tags open and close as XML wants it, and no text has a `<`.
private func balanced(_ document: [UInt8]) -> Bool {
    var open: [ArraySlice<UInt8>] = []
    var rest = document[...]
    while let start = rest.firstIndex(of: UInt8(ascii: "<")) {
        guard let end = rest[start...].firstIndex(of: UInt8(ascii: ">")) else { return false }
        let tag = rest[(start + 1)..<end]
        rest = rest[(end + 1)...]
        if tag.contains(UInt8(ascii: "<")) { return false }
        if tag.first == UInt8(ascii: "?") || tag.last == UInt8(ascii: "/") { continue }
        if tag.first == UInt8(ascii: "/") {
            guard let name = open.popLast(), name.elementsEqual(tag.dropFirst()) else {
                return false
            }
        } else {
            open.append(tag.prefix { $0 != ASCII.space })
        }
    }
    return open.isEmpty
}

/// An expression of the user's: it is compiled or refused, and matches the same as the system's
/// own.
@Sendable func expression(_ input: [UInt8]) {
    let parts = input.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
    guard let pattern = String(validating: parts[0], as: UTF8.self), !pattern.isEmpty,
        let expression = try? ExtendedExpression(pattern)
    else { return }
    let text = Array((parts.count > 1 ? parts[1] : []).filter { $0 != 0 }.prefix(200))
    guard let isMatch = try? expression.matches(in: text[...]) else { return }
    // The system's takes very long for repetitions of repetitions, also to read them.
    guard pattern.utf8.count(where: { "{*+".utf8.contains($0) }) <= 3 else { return }
    var system = regex_t()
    guard regcomp(&system, pattern, REG_EXTENDED | REG_NOSUB) == 0 else { return }
    defer { regfree(&system) }
    let found = text.map(CChar.init(bitPattern:)) + [0]
    check(isMatch == (regexec(&system, found, 0, nil, 0) == 0), "\(pattern) matches otherwise")
}

/// The difference of two texts: it has every line of both, in their order.
@Sendable func difference(_ input: [UInt8]) {
    let parts = input.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
    func lines(_ index: Int) -> [ArraySlice<UInt8>] {
        parts.count > index
            ? parts[index].split(separator: 10, omittingEmptySubsequences: false) : []
    }
    let (old, new) = (lines(0), lines(1))
    let text = (try? UnifiedDiff.text(old: old, new: new, name: "n")) ?? []
    check(text.isEmpty == (old == new), "empty for what differs")
    var (x, y) = (0, 0)
    for line in text.split(separator: 10, omittingEmptySubsequences: false).dropFirst(2).dropLast()
    {
        let rest = line.dropFirst()
        if line.starts(with: "@@ -".utf8) {
            let numbers = rest.split { !ASCII.isDigit($0) && $0 != 0x2C }
            func start(_ part: ArraySlice<UInt8>) -> Int {
                let words = part.split(separator: 0x2C)
                let first = ASCII.decimal(words[0], max: .max / 16) ?? 0
                return words.count > 1 && words[1].elementsEqual([0x30]) ? first : first - 1
            }
            let at = numbers.filter { !$0.isEmpty }
            check(old[x..<start(at[0])] == new[y..<start(at[1])], "lines between hunks differ")
            (x, y) = (start(at[0]), start(at[1]))
            continue
        }
        let mark = line.first ?? 0x20
        if mark != UInt8(ascii: "+") {
            check(old[x].elementsEqual(rest), "another line of the old text")
            x += 1
        }
        if mark != UInt8(ascii: "-") {
            check(new[y].elementsEqual(rest), "another line of the new text")
            y += 1
        }
    }
    if !text.isEmpty { check(old[x...] == new[y...], "the ends differ") }
}

/// A page as HTML and Markdown: no tag and no link but ours, and the same for any pieces.
@Sendable func markup(_ input: [UInt8]) {
    for format in [MarkupWriter.Format.html, .markdown] {
        let whole = markup(format, [input[...]])
        check(whole == markup(format, input.indices.map { input[$0...$0] }), "byte by byte")
        guard let text = String(validating: whole, as: UTF8.self) else { fatalError("not UTF-8") }
        let isSafe = text.unicodeScalars.allSatisfy {
            $0 == "\n" || $0 == "\t" || !TerminalText.isDangerous($0)
        }
        check(isSafe, "it drives a terminal")
        guard format == .html else { continue }
        check(balanced(whole), "tags of the page's: \(text)")
        let tags = Set(["h1", "h2", "h3", "p", "ul", "li", "blockquote", "pre", "a href=\"x:y\""])
        // By bytes: a mark that combines with a ">" makes one character of both.
        for tag in whole.split(separator: UInt8(ascii: "<")).dropFirst() {
            let bytes = tag.prefix { $0 != UInt8(ascii: ">") }.drop { $0 == UInt8(ascii: "/") }
            let name = String(decoding: bytes, as: UTF8.self)
            check(tags.contains(name) || name == "a", "a tag of the page's: \(name)")
        }
    }
}

private func markup(_ format: MarkupWriter.Format, _ pieces: [ArraySlice<UInt8>]) -> [UInt8] {
    var (writer, reader) = (MarkupWriter(format), GemtextReader())
    var bytes: [UInt8] = []
    for block in pieces.flatMap({ reader.add($0) }) + [reader.finish()].compactMap(\.self) {
        bytes += writer.block(block) { _ in ("x:y", "") }
    }
    return bytes + writer.finish()
}

/// A state of `watch`: after parsing it can be written, and reads the same again.
@Sendable func subscriptions(_ input: [UInt8]) {
    for start in ["", "# smallweb watch 1\n"] {
        let bytes = Array(start.utf8) + input
        guard let state = try? SubscriptionState(.watch, bytes, at: "s") else { continue }
        guard let again = try? SubscriptionState(.watch, state.bytes, at: "s") else {
            fatalError("what was written cannot be read")
        }
        check(again.bytes == state.bytes, "it reads differently the second time")
        check(again.damaged == 0, "what was written is damaged")
    }
}

/// A stranger's robots file, by both grammars: bounded, and the same when made from its own lines.
@Sendable func robots(_ input: [UInt8]) {
    let path = "/" + String(decoding: input.prefix(64), as: UTF8.self)
    for dialect in [Crawling.Dialect.original, .standard] {
        var crawling = Crawling(robots: ["/robots.txt"])
        crawling.dialect = dialect
        let robots = Robots(
            input[...], crawling, product: "smallweb", roles: ["archiver", "indexer"])
        let again = Robots(lines: robots.lines, crawling)
        check(again.lines == robots.lines, "\(robots.lines) become \(again.lines)")
        check(again.allows(path) == robots.allows(path), "\(path) differs")
        check(robots.lines.allSatisfy { $0.utf8.allSatisfy { 0x20..<0x7F ~= $0 } }, "not ASCII")
        check(robots.decision(on: path).steps < 2 * Robots.stepsMax, "too many steps")
        // A line that is cut forbids no less, where none allows.
        let cut = Robots(
            input[...], crawling, product: "smallweb", roles: ["archiver", "indexer"], isCut: true)
        check(
            dialect == .standard || robots.allows(path) || !cut.allows(path),
            "\(robots.lines) become \(cut.lines)")
    }
    // Another name forbids no less.
    let tag = [String(decoding: input, as: UTF8.self)]
    check(
        !Robots.isNofollow(tag, names: []) || Robots.isNofollow(tag, names: ["a"]), "\(tag) allows")
}
