// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb
internal import SmallWebRecords

// `watch --crawl STATE`
extension CrawlFile {
    /// Prints pages that are new, changed or gone in the last round, and those that failed for now.
    ///
    /// - Returns: The exit status.
    static func reportNews(_ path: String, _ context: RunContext) throws(FetchError) -> Int32 {
        guard access(path, F_OK) == 0 else {
            throw FetchError(
                .read, .input, "cannot read the state \(path)", SystemError(number: errno))
        }
        let file = try CrawlFile(path, context.fetcher.registry)
        var waiting = 0
        file.onWaiting = { _, _, _ in waiting += 1 }
        try file.load()
        guard file.rules != nil else { throw file.foreignError }
        try file.findContents()
        var verdict = Verdict(signal: swposix_pending_signal())
        var hasNews = false
        for offset in try file.news() {
            guard let line = file.record(at: offset), let n = line["n"]?.int else { continue }
            let content = Content(line)
            var news = WatchRun.News(
                change: content.change ?? (content.outcome == .ok ? .new : .failed),
                last: file.content(n)?.visit, exit: content.outcome)
            if content.outcome == .ok { (news.size, news.sha256) = (content.size, content.sha256) }
            hasNews = hasNews || news.change != .failed
            let url = line["url"]?.string ?? ""
            var subject = RecordSubject(url: url)
            subject.n = n
            let text =
                context.writesRecords
                ? news.record(subject, url)
                : news.lines(url, isShown: context.isWatched)
            try StandardStream.output.write(text[...], isWhole: true, Patience())
        }
        if waiting > 0 { verdict.miss(file.isEnded ? .waiting : .unasked) }
        verdict.news = hasNews
        return verdict.status
    }

    /// Where the lines of the last round are that say something new, and those of pages that have
    /// failed for now; of each page the last.
    private func news() throws(FetchError) -> [Int] {
        var found: [Int: Int] = [:]
        try lines.forEachLine { line, offset throws(FetchError) in
            for start in Self.ends {
                guard offset >= roundOffset, let (n, _, rest) = Self.url(in: line, after: start)
                else { continue }
                let outcome = rest.starts(with: Self.outcomeMember) ? Self.outcome(in: rest) : nil
                let isSame = rest.range(ofText: #","change":"unchanged""#) != nil
                // In the first round there was nothing that could be gone.
                let isNever = round == 1 && outcome != .ok && outcome?.lasts ?? true
                found[n] = outcome != nil && !isSame && !isNever ? offset : nil
            }
        }
        return found.values.sorted()
    }
}

extension CrawlFile.Content {
    /// As a state of `watch` has it.
    fileprivate var visit: SubscriptionState.Page {
        var page = SubscriptionState.Page()
        (page.time, page.size, page.sha256) = (outcome == .ok ? time : seen, size, sha256)
        page.exit = Int(outcome.exitStatus)
        return page
    }
}
