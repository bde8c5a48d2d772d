// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb
internal import SmallWebFormats
internal import SmallWebRecords

/// One round of `smallweb watch`: prints a line or a record for each page, and runs `--exec`.
final class WatchRun: SubscriptionRun {
    let subscription: Subscription
    enum Change: String {
        case new, changed, unchanged, gone, failed
    }

    private let rules: ComparisonRules
    private let copies: PageCopies?
    private var lastSave = Instant.now
    /// Pages with texts and links not saved yet.
    private var unsaved: [(url: String, page: WatchedPage)] = []
    /// True if any page is new, changed or gone.
    private(set) var hasNews = false
    /// The failure of the command of `--exec`.
    private(set) var problem: FetchError?

    /// Longest time before results are saved.
    private static let saveSeconds = 1.0
    private static let unsavedMax = 8

    init(_ context: RunContext, _ file: StateFile, _ rules: ComparisonRules) throws(FetchError) {
        self.rules = rules
        let feeds = context.settings.feeds
        copies =
            file.isDevice || !(feeds.showsDifference || feeds.comparesLinks)
            ? nil : PageCopies(of: file.path)
        subscription = try Subscription(.watch, context, file)
        if file.isShared { subscription.state.suffix = WatchStore.suffix(rules) }
    }

    func reader(_ head: Head) throws(FetchError) -> WatchedPage { try WatchedPage(head, rules) }

    func take(_ visit: Visit<WatchedPage>) async throws(FetchError) {
        let last = visit.key.flatMap { subscription.state[$0] }
        var news = News(change: .failed, last: last, exit: visit.outcome)
        var page: WatchedPage?
        switch visit.result {
        case .page(let reader):
            page = reader
            news.change = change(reader, last)
            (news.size, news.sha256) = (reader.size, reader.sha256)
            if news.change == .changed, let key = visit.key {
                try compare(reader, key, &news)
            }
        case .unchanged:
            news.change = .unchanged
            (news.size, news.sha256) = (last?.size, last?.sha256)
        case .gone(let isFirst): news.change = isFirst ? .gone : .unchanged
        case .failed: break
        }
        let isNews = [.new, .changed, .gone].contains(news.change)
        if isNews || !subscription.settings.feeds.showsNews { try write(news, visit) }
        hasNews = hasNews || isNews
        if isNews, try await !runs(news, visit) { return }
        guard let key = visit.key else { return }
        remember(visit, page, key)
        if let page, news.change == .new || news.change == .changed {
            unsaved.append((named(key), page))
        }
        let isDue =
            subscription.settings.feeds.command != nil && isNews || unsaved.count >= Self.unsavedMax
            || Instant.now.seconds(since: lastSave) >= Self.saveSeconds
        if isDue { try save() }
    }

    /// - Throws: `write`; the state is then unchanged.
    func save() throws(FetchError) {
        try subscription.save()
        lastSave = .now
        defer { unsaved = [] }
        guard let copies, subscription.isKept else { return }
        for (url, page) in unsaved {
            do throws(FetchError) {
                if rules.keepsText { try copies.replace(.text, of: url, by: page.text) }
                if rules.comparesLinks {
                    let lines = page.linkList.map { $0.flatMap { Array("\($0)\n".utf8) } }
                    try copies.replace(.links, of: url, by: lines)
                }
            } catch {
                subscription.messages.warning(error.message)
            }
        }
    }

    // MARK: Comparing

    private func change(_ page: WatchedPage, _ last: SubscriptionState.Page?) -> Change {
        guard let last, last.time != nil else { return .new }
        if last.sha256 == page.sha256 { return .unchanged }
        guard let compared = page.comparedDigest, let before = last.compared,
            before.prefix(9) == compared.prefix(9)
        else { return .changed }
        return before == compared ? .unchanged : .changed
    }

    /// The key of a page's copies.
    private func named(_ key: String) -> String { key + subscription.state.suffix }

    private func compare(
        _ page: WatchedPage, _ key: String, _ news: inout News
    ) throws(FetchError) {
        guard let copies else { return }
        if rules.keepsText {
            var problem: String?
            if let text = page.text, let old = try copies.read(.text, of: named(key)) {
                news.difference = try UnifiedDiff.text(
                    old: Self.lines(old), new: Self.lines(text), name: URI.display(key))
                if news.difference == [] && !rules.comparesLinks {
                    problem =
                        page.isFeed
                        ? "--diff has no line to show: titles, days and addresses are the same"
                        : "--diff has no line to show: only line ends or the charset differ"
                }
            } else if page.text == nil {
                problem = "--diff cannot show what changed: \(page.textProblem)"
            } else {
                problem = "the text of before was not kept; --diff shows changes from now on"
            }
            if let problem { subscription.messages.warning("\(URI.display(key)): \(problem)") }
        }
        guard rules.comparesLinks, let links = page.linkList,
            let old = try copies.read(.links, of: named(key))
        else { return }
        let before = Set(Self.lines(old).map { String(decoding: $0, as: UTF8.self) })
        news.added = links.filter { !before.contains($0) }
        news.removed = before.subtracting(links).sorted()
    }

    private static func lines(_ text: [UInt8]) -> [ArraySlice<UInt8>] {
        var lines = text.split(separator: ASCII.lineFeed, omittingEmptySubsequences: false)
        if lines.last?.isEmpty ?? false { lines.removeLast() }
        return lines
    }

    private func remember(_ visit: Visit<WatchedPage>, _ page: WatchedPage?, _ key: String) {
        subscription.state.change(key) { entry in
            // Keep the exit status of the last real visit if the host was in back-off.
            if !visit.isHeld { entry.exit = Int(visit.outcome.exitStatus) }
            if case .failed = visit.result {
                guard !visit.isHeld, subscription.settings.feeds.showsNews else { return }
                entry.failures += 1
                if visit.isTold { entry.told.append(entry.exit) }
            } else {
                (entry.failures, entry.told) = (0, [])
            }
            switch visit.result {
            case .gone: entry.isGone = true
            case .failed: break
            case .unchanged:
                entry.time = subscription.now
                entry.validator = visit.validator ?? entry.validator
            case .page:
                guard let page else { return }
                (entry.time, entry.size, entry.sha256) = (subscription.now, page.size, page.sha256)
                entry.compared = page.comparedDigest
                entry.validator = visit.validator
                entry.at =
                    visit.validator == nil ? nil : visit.log?.uri.withoutPassword.description
            }
        }
    }

    // MARK: Putting out

    struct News {
        var change: Change
        let last: SubscriptionState.Page?
        let exit: Outcome
        var size: Int?
        var sha256: String?
        var difference: [UInt8]?
        var added: [String]?
        var removed: [String]?

        init(change: Change, last: SubscriptionState.Page?, exit: Outcome) {
            (self.change, self.last, self.exit) = (change, last, exit)
        }
    }

    private func write(_ news: News, _ visit: Visit<WatchedPage>) throws(FetchError) {
        let patience = Patience(seconds: subscription.settings.fetch.totalSeconds)
        guard !subscription.context.writesRecords else {
            return try StandardStream.output.write(
                record(news, visit)[...], isWhole: true, patience)
        }
        let lines = news.lines(
            visit.asked.url.map(URI.display) ?? "", isShown: subscription.context.isWatched)
        try StandardStream.output.writeForeign(lines, isWhole: true, patience)
    }

    private func record(_ news: News, _ visit: Visit<WatchedPage>) -> [UInt8] {
        news.record(visit.asked.subject, visit.key ?? visit.asked.url, rules)
    }

    /// Runs the command of `--exec`, if there is one.
    ///
    /// - Returns: True unless the command failed.
    private func runs(_ news: News, _ visit: Visit<WatchedPage>) async throws(FetchError) -> Bool {
        guard let command = subscription.settings.feeds.command else { return true }
        let runner = ChangeCommand(command: command, loop: subscription.context.loop)
        guard let problem = try await runner.run(record(news, visit)) else { return true }
        let error = FetchError(
            .write, .output, "the command of --exec \(problem)",
            hint: "the next run reports the page again")
        subscription.messages.error(visit.asked.url, error)
        self.problem = error
        return false
    }
}

extension WatchRun.News {
    func lines(_ url: String, isShown: Bool) -> [UInt8] {
        var lines: [UInt8] = []
        lines.append(isShown ? Help.padded(change.rawValue, 10) : change.rawValue + "\t")
        lines.append(TerminalText.escapeLine(url) + "\n")
        for link in added ?? [] { lines.append("+\(link)\n") }
        for link in removed ?? [] { lines.append("-\(link)\n") }
        return lines + (difference ?? [])
    }

    /// - Parameter rules: `nil` if bodies alone are compared.
    func record(
        _ subject: RecordSubject, _ url: String?, _ rules: ComparisonRules? = nil
    ) -> [UInt8] {
        JSONWriter.line { writer in
            writer.begin("watch", subject)
            writer.member("url", url.map(URI.display))
            writer.member("change", change.rawValue)
            writer.member("size", size)
            writer.member("sha256", sha256)
            writer.member("exit", Int(exit.exitStatus))
            writer.member("outcome", exit.rawValue)
            writer.member("last", object: last) { writer, last in
                writer.member("date", last.time.map(UTCDate.second))
                writer.member("size", last.size)
                writer.member("sha256", last.sha256)
                writer.member("exit", last.exit)
            }
            if rules?.keepsText ?? false {
                writer.member("diff", difference.map { String(decoding: $0, as: UTF8.self) })
            }
            if rules?.comparesLinks ?? false {
                writer.member("added", array: added ?? []) { $0.value($1) }
                writer.member("removed", array: removed ?? []) { $0.value($1) }
            }
        }
    }
}

/// Copies of texts and link lists, for `watch` to show differences: a file for each page, at most
/// ``WatchedPage/keptMax`` bytes, in a directory next to the state.
struct PageCopies {
    private static let pagesMax = 1000

    enum Kind: String { case text, links }

    private let directory: String

    /// - Parameter state: The path of the state.
    init(of state: String) { directory = state + ".copies" }

    /// - Returns: `nil` if there is no copy.
    func read(_ kind: Kind, of url: String) throws(FetchError) -> [UInt8]? {
        let path = try path(kind, url)
        return try? FileBytes.read(path, limit: 2 * WatchedPage.keptMax)
    }

    /// - Parameter bytes: `nil` to remove the copy.
    /// - Throws: `write` if it cannot be written; the old copy is then removed.
    func replace(_ kind: Kind, of url: String, by bytes: [UInt8]?) throws(FetchError) {
        let path = try path(kind, url)
        guard let bytes else {
            unlink(path)
            return
        }
        guard access(path, F_OK) == 0 || count(kind) < Self.pagesMax else {
            throw FetchError(
                .write, .output,
                "\(directory) has copies of \(Self.pagesMax) pages; no other is kept")
        }
        do throws(SystemError) {
            try makeDirectories(directory, mode: 0o700)
            try AtomicFile.replace(path, by: bytes, part: path + ".part", isSynced: false)
        } catch {
            // A difference to an older version would be wrong.
            unlink(path)
            throw FetchError(.write, .output, "cannot keep a copy in \(directory)", error)
        }
    }

    /// Moves the copies of a page to another directory.
    func move(_ url: String, to other: PageCopies, _ key: String) {
        for kind in [Kind.text, .links] {
            guard let old = try? path(kind, url), let new = try? other.path(kind, key),
                access(old, F_OK) == 0
            else { continue }
            try? makeDirectories(other.directory, mode: 0o700)
            // Without its copy a page has a difference from its next change on.
            _ = rename(old, new)
        }
    }

    /// Removes all copies.
    func remove() {
        for name in (try? directoryNames(directory)) ?? [] { unlink("\(directory)/\(name)") }
        rmdir(directory)
    }

    private func count(_ kind: Kind) -> Int {
        let names = (try? directoryNames(directory)) ?? []
        return names.count { $0.hasSuffix(".\(kind.rawValue)") }
    }

    private func path(_ kind: Kind, _ url: String) throws(FetchError) -> String {
        "\(directory)/\(try Digest.sha256(url).prefix(32)).\(kind.rawValue)"
    }
}
