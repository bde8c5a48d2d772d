// SPDX-License-Identifier: MIT
@testable internal import SmallWeb
@testable internal import SmallWebCore
@testable internal import SmallWebFormats

/// The dates of labels, items and headings: days of the calendar, and nothing but what is there.
@Sendable func feedDates(_ input: [UInt8]) {
    let label = DatedText(label: input[...])
    if let label {
        check(String(decoding: input.prefix(10), as: UTF8.self) == "\(label.day)", "\(label.day)")
        check(input.reversed().starts(with: label.rest.reversed()), "the rest is not the end")
        check(DatedText(item: input[...])?.day == label.day, "an item's is another")
    }
    if let item = DatedText(item: input[...]) {
        check(CivilDay(unixSeconds: item.day.noon) == item.day, "\(item.day) is another day")
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
    var reader = PlainHeadingReader()
    var found = pieces.flatMap { reader.add($0) }
    if let last = reader.finish() { found.append(last) }
    return found
}

/// Every format of a feed holds what it is given: no text ends an element or a line, nothing of it
/// drives a terminal, and the gemtext reads back as the same entries.
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
        check(String(decoding: line.target, as: UTF8.self) == entry.url, "\(entry.url)")
        check(DatedText(label: line.text[...])?.day.noon == entry.time, "\(entry)")
    }
}

/// Whether tags open and close as XML wants it, and no text has a `<`.
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
