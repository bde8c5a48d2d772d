// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb
internal import SmallWebArchive
internal import SmallWebFormats
internal import SmallWebRecords

/// The output of one page of a crawl: that of `get`, and its links.
final class CrawlPage: Output, PageSink {
    private let crawl: Crawl
    private var entry: CrawlFile.Entry
    private let place: Crawl.Queue
    private let inner: URLOutput
    /// `nil` before the head of a success.
    private var page: PageReader?
    /// True if the head of the reply forbids its links to be followed.
    private var isNofollow = false
    /// The lines of its targets.
    private var found: [UInt8] = []
    /// Where the page redirects to.
    private var target: String?
    /// The page as an earlier round has left it, and as it is now.
    private var (last, content) = (CrawlFile.Content?.none, CrawlFile.Content())
    /// The change that is said: a page whose file goes only now is gone once more.
    private var change: WatchRun.Change?
    /// Of the body; `nil` before the head of a page that comes, and without libcrypto.
    private var digest: Digest?
    private var result: (attempt: Attempt, outcome: Outcome)?
    private var verdict = Crawl.Verdict.done
    /// True once nothing else is wanted of the reply.
    private var isEnough = false

    init(
        _ crawl: Crawl, _ entry: CrawlFile.Entry, _ place: Crawl.Queue, _ inner: URLOutput
    ) {
        (self.crawl, self.entry, self.place, self.inner) = (crawl, entry, place, inner)
    }

    func begin(_ job: Job) throws(FetchError) -> Step {
        if let path = inner.asked.output {
            // A run that was killed has left it; no other process writes here.
            unlink(FileOutput.partName(path))
        }
        (page, target, isEnough, digest) = (nil, nil, false, nil)
        last = crawl.file.content(entry.n)
        try writeFound()
        if crawl.file.begun.remove(entry.n) != nil {
            // The links of an attempt that did not come to its end.
            try crawl.file.append(crawl.file.line(of: entry), waits: false)
        }
        let step = try inner.begin(job)
        guard case .fetch(let reply) = step else { return step }
        var request = crawl.request(reply.request, at: place)
        // Another run may have left the file without the line of the page.
        request.validator = crawl.validator(entry, last, request)
        return .fetch(reply.watched(by: self, to: request))
    }

    func take(_ event: Event) {
        switch event {
        case .head(let head):
            let isPage = head.replyClass == .success && !head.isUnchanged && !entry.isOutside
            digest = isPage ? try? Digest(.sha256) : nil
        case .body(let bytes): digest?.update(bytes)
        default: break
        }
    }

    var pageSink: (any PageSink)? { isAnswer ? self : nil }

    /// Ends the fetch of a reply whose rest is not wanted.
    func begin(_ page: PageReader) throws(FetchError) {
        self.page = page
        page.require(.links)
        page.robotNames = crawl.robotNames
        let tags = inner.log?.head?.fields?.values(of: "x-robots-tag") ?? []
        isNofollow = Robots.isNofollow(tags, names: crawl.robotNames)
        let type = inner.log?.head?.mediaType?.essence
        // Lines of other text may come as items.
        let mayHaveLinks = page.readsLinks || type == nil || type == "text/plain"
        guard entry.readsBody || !crawl.needsBodies && !mayHaveLinks else { return }
        isEnough = true
        throw .cancelled
    }

    func judge(_ ending: Ending) {
        guard crawl.isWhole(entry, ending, of: place) else { return }
        (ending.completeness, ending.outcome, ending.message) = (.unverified, .ok, nil)
    }

    func finish(_ ending: Ending) throws(FetchError) {
        guard let target = ending.redirectTarget else { return }
        let next = try crawl.lines(redirecting: entry, to: target)
        found += next.lines
        self.target = next.target
    }

    func take(_ line: PageLine, _ links: () -> [Link]) throws(FetchError) {
        for link in links() {
            found += try crawl.lines(of: link, on: entry, isNofollow: isNofollow)
        }
        // The page itself is done only when its own line is there.
        if found.count > 65_536 { try writeFound() }
    }

    private func writeFound() throws(FetchError) {
        guard !found.isEmpty else { return }
        try crawl.file.append(found)
        found = []
        crawl.file.begun.insert(entry.n)
    }

    /// True for a reply that was a success as far as it came.
    private var isAnswer: Bool { inner.log?.head?.replyClass == .success }

    /// The result, or that of a reply whose links have all come, however its body ended.
    private func judged(_ result: Attempt) -> Attempt {
        if crawl.file.round > 1, inner.log?.recalled?.isStale ?? false {
            return .failed(
                FetchError(
                    .temporaryFailure, .header,
                    "the server does not answer; the cache has an earlier page"))
        }
        let isReadable = page?.readsLinks ?? true
        guard let log = inner.log, isEnough || !crawl.needsBodies && isAnswer && !isReadable,
            isEnough || result.outcome != .interrupted
        else { return result }
        return .ended(
            Ending(
                outcome: .ok, completeness: .unverified, uri: log.uri, head: log.head,
                bodyBytes: log.bodyBytes))
    }

    func end(_ result: Attempt) { inner.end(result) }

    func restSeconds(after result: Attempt, _ job: Job) -> Double {
        // Without the time that a robots file took before it.
        var timings = inner.log?.timings ?? Ending.Timings()
        timings.end()
        let elapsed = timings.total?.inSeconds ?? 0
        return crawl.pace(place, result, replySeconds: elapsed, job.request) - elapsed
    }

    var canBeRepeated: Bool { inner.canBeRepeated }

    func repeats(_ result: Attempt, _ retry: Retry) throws(FetchError) {
        try inner.repeats(result, retry)
    }

    func conclude(_ attempt: Attempt, _ job: Job) async throws(FetchError) -> Outcome {
        let result = judged(attempt)
        entry.bytes = result.ending?.bodyBytes
        let isOver = result.outcome == .interrupted || result.error?.isPostponed ?? false
        if isOver { crawl.stop() }
        verdict =
            isOver ? .left : try crawl.verdict(on: entry, of: place, result, job.request)
        entry.readsBody = result.ending?.head?.refusesMethod ?? entry.readsBody
        switch verdict {
        case .done, .failed: break
        case .again, .skipped, .left: return .ok
        }
        content = content(of: result)
        change = try removesFile() ? .gone : content.change
        inner.recorder?.change = change?.rawValue
        let outcome = try await inner.conclude(result, job)
        self.result = (result, outcome)
        return outcome
    }

    private func content(of result: Attempt) -> CrawlFile.Content {
        var content = CrawlFile.Content()
        (content.outcome, content.target) = (target == nil ? result.outcome : .ok, target)
        guard content.outcome.lasts else { return content }
        let head = inner.log?.head
        var isUnchanged = head?.isUnchanged ?? false
        if isUnchanged {
            (content.size, content.sha256) = (last?.size, last?.sha256)
            content.validator = last?.validator
        } else if content.outcome == .ok, !isEnough, target == nil {
            content.sha256 = digest?.finish().hex
            let isWhole = result.ending?.completeness == .complete && facts(.ok).isEmpty
            let validator = head?.validator ?? ""
            let isShort = 1...CrawlFile.validatorBytesMax ~= validator.utf8.count
            content.validator = isWhole && !entry.isOutside && isShort ? validator : nil
            // A version before rounds has kept no hash, but the file.
            isUnchanged = inner.isUnchanged && last?.sha256 == nil && last?.target == nil
        }
        if crawl.file.round > 1 {
            content.compare(
                with: last, isUnchanged: isUnchanged, isMissing: head?.isMissing ?? false)
        }
        return content
    }

    func deliver() async throws(FetchError) {
        defer { crawl.end(entry, of: place, verdict) }
        switch verdict {
        case .again, .left: return try writeFound()
        case .skipped(let reason):
            try writeFound()
            return try crawl.skip(entry, reason)
        case .done, .failed: break
        }
        guard let (attempt, outcome) = result else { return }
        let context = crawl.context
        if let failure = context.settings.archive.cache?.failure { throw failure }
        if !crawl.rules.checks { try await inner.deliver() }
        if !context.writesRecords && !crawl.rules.checks {
            let word = change?.rawValue ?? outcome.rawValue
            let size = content.size ?? inner.log?.bodyBytes ?? 0
            var row = "\(word)\t\(size)\t\(TerminalText.escapeLine(entry.url))"
            if change == .gone, let seen = content.seen {
                row +=
                    "\t\(inner.log?.head?.status.map(String.init) ?? "-")"
                    + "\t\(UTCDate.second(seen))"
            }
            row += "\n"
            try StandardStream.output.write(Array(row.utf8)[...], isWhole: true, Patience())
        }
        // A better way to it has been found meanwhile: it is asked again for its links.
        guard !crawl.file.isOutdated(entry) else { return try writeFound() }
        try crawl.file.append(
            found
                + crawl.file.line(
                    of: entry, attempt, outcome, inner.log, content, facts: facts(outcome)))
        crawl.count(change)
    }

    /// Removes the file of a page that is gone before the page has its line, and is not asked for
    /// again.
    ///
    /// - Returns: True if there was one.
    private func removesFile() throws(FetchError) -> Bool {
        let isGone = content.seen != nil && [.gone, .unchanged].contains(content.change)
        // Without a status a failure of the moment looks the same: such a page is gone twice.
        let isSure = inner.log?.head?.status != nil || content.change == .unchanged
        guard isGone, isSure, crawl.rules.deletes, !crawl.file.isOutdated(entry) else {
            return false
        }
        return try crawl.removeFile(of: entry.url)
    }

    private func facts(_ outcome: Outcome) -> [StaticString] {
        guard isAnswer, let head = inner.log?.head else { return [] }
        // Text has none to follow; that no link of it was checked is to be said.
        let mayHaveLinks = crawl.rules.checks || !(head.mediaType?.isText ?? true)
        let isUnread =
            entry.depth == 0 && crawl.rules.depthMax != 0 && head.mediaType != nil && mayHaveLinks
            && !(page?.readsLinks ?? true)
        // A body that cannot be decoded has no links that could be read.
        var facts: [StaticString] = [.ok, .protocolError].contains(outcome) ? [] : ["ok"]
        if !head.isOne(of: crawl.rules.mediaTypes) { facts.append("omitted") }
        return isUnread ? facts + ["unread"] : facts
    }
}
