// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb
internal import SmallWebRecords

/// The output of one page of a crawl: that of `get`, and its links.
final class CrawlPage: Output, EventSink {
    private let crawl: Crawl
    private let entry: CrawlFile.Entry
    private let place: Crawl.Place
    private let inner: URLOutput
    private var reader: PageReader?
    /// The lines of what the page leads to.
    private var found: [UInt8] = []
    /// Where the page redirects to.
    private var target: String?
    private var result: (attempt: Attempt, outcome: Outcome)?
    private var verdict = Crawl.Verdict.done

    init(
        _ crawl: Crawl, _ entry: CrawlFile.Entry, _ place: Crawl.Place, _ inner: URLOutput
    ) {
        (self.crawl, self.entry, self.place, self.inner) = (crawl, entry, place, inner)
    }

    func begin(_ job: Job) throws(FetchError) -> Step {
        if let path = inner.asked.output {
            // A run that was killed has left it; no other process writes here.
            unlink(FileOutput.partName(path))
        }
        let step = try inner.begin(job)
        guard case .fetch(let reply) = step else { return step }
        return .fetch(reply.watched(by: self))
    }

    func take(_ event: Event) throws(FetchError) {
        switch event {
        case .head(let head) where head.replyClass == .success:
            reader = inner.log.map {
                PageReader(head, base: $0.uri, registry: crawl.context.fetcher.registry)
            }
        case .body, .item:
            for link in reader?.links(in: event) ?? [] { try follow(link) }
        default: break
        }
    }

    func finish(_ ending: Ending) throws(FetchError) {
        for link in reader?.lastLinks(isWhole: ending.completeness != .truncated) ?? [] {
            try follow(link)
        }
        if let head = ending.head, head.replyClass == .redirect, let target = head.redirectTarget {
            let next = try crawl.lines(redirecting: entry, to: target, base: ending.uri)
            found += next.lines
            self.target = next.target
        }
    }

    private func follow(_ link: Link) throws(FetchError) {
        found += try crawl.lines(of: link, on: entry)
        // The page itself is done only when its own line is there.
        guard found.count > 65_536 else { return }
        try crawl.file.append(found)
        found = []
    }

    func end(_ result: Attempt) { inner.end(result) }

    func restSeconds(after result: Attempt, _ job: Job) -> Double {
        // Without the time that a robots file took before it.
        var timings = inner.log?.timings ?? Ending.Timings()
        timings.end()
        let elapsed = timings.total?.inSeconds ?? 0
        return crawl.pace(place, replySeconds: elapsed, job.request) - elapsed
    }

    var canBeRepeated: Bool { inner.canBeRepeated }

    func repeats(_ result: Attempt, _ retry: Retry) throws(FetchError) {
        try inner.repeats(result, retry)
    }

    func conclude(_ result: Attempt, _ job: Job) async throws(FetchError) -> Outcome {
        let isOver = result.outcome == .interrupted || result.error?.isPostponed ?? false
        if isOver { crawl.stop() }
        verdict =
            isOver
            ? .left
            : crawl.verdict(on: entry, of: place, result, job.request)
        guard case .done = verdict else { return .ok }
        let outcome = try await inner.conclude(result, job)
        self.result = (result, outcome)
        return outcome
    }

    func deliver() async throws(FetchError) {
        defer {
            var again = false
            switch verdict {
            case .again, .left: again = true
            case .done, .skipped: break
            }
            crawl.end(entry, of: place, again: again)
        }
        switch verdict {
        case .again, .left: return
        case .skipped(let reason): return try crawl.skip(entry, reason)
        case .done: break
        }
        guard let (attempt, outcome) = result else { return }
        if !crawl.rules.checks { try await inner.deliver() }
        if !crawl.context.settings.records.areWanted && !crawl.rules.checks {
            let size = inner.log?.bodyBytes ?? 0
            let row = "\(outcome.rawValue)\t\(size)\t\(TerminalText.escapeLine(entry.url))\n"
            try StandardStream.output.write(Array(row.utf8)[...], isWhole: true, Patience())
        }
        try crawl.file.append(
            found
                + crawl.file.line(of: entry, attempt, outcome, inner.log, target: target))
    }
}
