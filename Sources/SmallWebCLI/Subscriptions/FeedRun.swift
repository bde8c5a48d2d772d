// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebFormats

/// One `smallweb feed`: collects the entries of its pages and merges them into a feed.
final class FeedRun: SubscriptionRun {
    let subscription: Subscription
    private let rules: FeedRules
    /// True if a page that is a feed already is written unchanged.
    private let passesDocuments: Bool
    /// The page to write unchanged.
    private var document: Spool?
    private var pages: [Feed] = []
    private var (leftOut, lacksHeading) = (0, false)
    /// True if a page lacks the heading of `--under`, or if no page can become a feed.
    var isUnusable: Bool { lacksHeading || leftOut > 0 && pages.isEmpty && document == nil }

    /// - Parameter isOnly: True for a run with a single URL.
    init(_ context: RunContext, _ file: StateFile?, isOnly: Bool) throws(FetchError) {
        let settings = context.settings.feeds
        var rules = FeedRules()
        rules.heading = settings.heading
        rules.takesUndated = settings.takesUndated
        rules.entriesMax = settings.entriesMax
        let isChanged = context.settings.invocation.on.contains(.maxEntries)
        passesDocuments = isOnly && settings.format == nil && !isChanged
        rules.readsDocuments = !passesDocuments
        self.rules = rules
        subscription = try Subscription(.feed, context, file)
    }

    func reader(_ head: Head) -> PageFeedReader { PageFeedReader(head, rules) }

    /// The page's own feed, unless a part of the page is wanted.
    func target(of reader: PageFeedReader) -> URI? {
        rules.heading == nil ? reader.alternate : nil
    }

    func take(_ visit: Visit<PageFeedReader>) async throws(FetchError) {
        guard let key = visit.key else { return }
        switch visit.result {
        case .gone(isFirst: true) where subscription.hasState:
            subscription.state.change(key) { $0.isGone = true }
        case .gone, .failed, .unchanged: break
        case .page(let reader):
            if let log = visit.log { try add(reader, key, log) }
        }
    }

    private func add(
        _ reader: PageFeedReader, _ key: String, _ log: FetchLog
    ) throws(FetchError) {
        let name = URI.display(key)
        switch reader.nature {
        case .document where passesDocuments:
            document = reader.document
            return
        case .other, .unchanged, .document:
            leftOut += 1
            let type = log.head?.mediaType?.essence ?? "a page without a type"
            subscription.messages.error(
                name, .permanentFailure, "left out: \(type) cannot become a feed", hint: nil)
            return
        case .page, .versions: break
        }
        if !reader.hasHeading {
            lacksHeading = true
            subscription.messages.error(
                name, .permanentFailure, "no heading \"\(rules.heading ?? "")\"",
                hint: "it must be the whole text of a heading")
        }
        var entries = FeedEntries(countMax: rules.entriesMax)
        for entry in reader.newest() { entries.add(entry) }
        if !reader.undated.isEmpty, !subscription.hasState {
            subscription.messages.warning(Advice.undated(name, reader.nature))
        }
        for entry in reader.undated {
            var entry = entry
            entry.time =
                subscription.hasState
                ? subscription.state.see(entry.id, at: subscription.now) : 0
            entries.add(entry)
        }
        if reader.hasMore {
            subscription.messages.warning(
                "\(name): only the first \(PageFeedReader.undatedMax) links without a date")
        }
        let found = entries.newest()
        if found.isEmpty && reader.hasHeading {
            subscription.messages.error(
                name, .permanentFailure,
                subscription.settings.feeds.takesUndated
                    ? "there is no link, and no heading with a date"
                    : "no link or heading has a date; --new makes an entry of every link",
                hint: nil)
        }
        let url = FeedText.url(log.uri.pageKey)
        let id = FeedText.url(key)
        pages.append(
            Feed(
                id: id, url: url, title: reader.title ?? id,
                subtitle: reader.subtitle, author: log.uri.host ?? id, entries: found))
    }

    // MARK: The feed

    /// Writes the feed, then saves the state.
    ///
    /// - Throws: `write`.
    func finish() async throws(FetchError) {
        let patience = Patience(seconds: subscription.settings.fetch.totalSeconds)
        if let document {
            var filter = subscription.context.isWatched ? TerminalText.Filter() : nil
            try await document.drain { bytes throws(FetchError) in
                let shown = (filter?.filter(bytes)).map { $0[...] } ?? bytes
                try StandardStream.output.write(shown, patience)
            }
        } else if let feed = try merged() {
            let format = subscription.settings.feeds.format ?? .atom
            try StandardStream.output.writeForeign(format.document(feed), patience)
        }
        try subscription.save()
    }

    private func merged() throws(FetchError) -> Feed? {
        guard pages.count > 1 else { return pages.first }
        var entries = FeedEntries(countMax: rules.entriesMax)
        for page in pages { for entry in page.entries { entries.add(entry) } }
        let more = pages.count > 3 ? " and \(pages.count - 3) more" : ""
        var seen: Set<String> = []
        let authors = pages.map(\.author).filter { seen.insert($0).inserted }
        return Feed(
            id: try Self.identifier(pages.map(\.id)), url: pages[0].url,
            title: pages.prefix(3).map(\.title).joined(separator: ", ") + more,
            author: authors.prefix(3).joined(separator: ", "), entries: entries.newest())
    }

    /// A UUID (RFC 9562 §5.8) derived from the pages' identifiers, so stable between runs.
    private static func identifier(_ ids: [String]) throws(FetchError) -> String {
        let digest = try Digest(.sha256)
        for id in ids.sorted() { digest.update(Array("\(id)\n".utf8)[...]) }
        var bytes = Array(digest.finish().prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = Array(bytes.hex)
        let parts = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }
        return "urn:uuid:" + parts.joined(separator: "-")
    }
}
