// SPDX-License-Identifier: MIT
internal import SmallWeb

/// Stops where a server makes up pages without end. Pure.
struct CrawlTraps {
    /// Longest URL.
    static let bytesMax = 2083
    static let segmentsMax = 32
    /// Largest number of equal segments in a path.
    static let equalSegmentsMax = 2
    /// Largest number of queries of a path.
    static let queriesMax: UInt16 = 200
    /// Largest number of pages of a directory.
    static let pagesMax: UInt16 = 10_000
    /// Largest number of counts, 5 to 10 MiB. When it is reached, all counts are lowered by one and
    /// those of zero dropped: of N pages, a count is then too low by at most N divided by this.
    var countsMax = 1 << 18

    /// Pages of directories and queries of paths, by hash.
    private(set) var counts: [Int: UInt16] = [:]

    /// Counts a page that is new; `nil` if it may be asked for.
    mutating func refusal(of key: CrawlKey) -> CrawlRefusal? {
        if let shape = Self.refusal(ofShape: key) { return shape }
        let directory = key.directory.hashValue
        // Selectors have their queries escaped. The byte behind a path is not one of a directory.
        let selector = key.itemType == nil ? nil : key.page.range(ofText: "%3F")
        let path = selector.map { key.page[..<$0.lowerBound] } ?? key.page
        let page = selector != nil || key.uri.query != nil ? (path + "?").hashValue : nil
        if let page, counts[page, default: 0] >= Self.queriesMax { return .trapQueries }
        if counts[directory, default: 0] >= Self.pagesMax { return .trapDirectory }
        count(directory)
        if let page { count(page) }
        return nil
    }

    /// Judges a URL by its length and its segments.
    static func refusal(ofShape key: CrawlKey) -> CrawlRefusal? {
        if key.uri.description.utf8.count > bytesMax { return .trapLength }
        var segments = key.path.utf8.split(separator: ASCII.slash, omittingEmptySubsequences: false)
        if segments.first?.isEmpty ?? false { segments.removeFirst() }
        if segments.last?.isEmpty ?? false { segments.removeLast() }
        if segments.count > segmentsMax { return .trapDepth }
        var numbers: [Substring: Int] = [:]
        for segment in segments { numbers[Substring(segment), default: 0] += 1 }
        return numbers.values.contains { $0 > equalSegmentsMax } ? .trapSegment : nil
    }

    private mutating func count(_ hash: Int) {
        if counts[hash] == nil, counts.count >= countsMax {
            counts = counts.compactMapValues { $0 > 1 ? $0 - 1 : nil }
            return
        }
        counts[hash, default: 0] += 1
    }
}
