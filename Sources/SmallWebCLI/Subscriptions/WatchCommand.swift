// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import SmallWeb
internal import SmallWebRecords

extension Command {
    static let watch = Command(
        "watch URL…", taker: .watch
    ) { settings, operands throws(FetchError) in
        guard let state = settings.feeds.crawl else {
            return try SubscriptionCommand(settings, operands, .watch).run()
        }
        guard operands.isEmpty else { throw usageError("the pages are those of the crawl") }
        return try FetchRun.run(settings) { settings, loop throws(FetchError) in
            try CrawlFile.reportNews(state, RunContext(settings, settings.fetcher(loop)))
        }
    }.with(
        \.mainOptions,
        [
            "news", "failures-after", "diff", "links", "ignore", "every", "exec", "under", "state",
            "name",
        ])
}

extension SubscriptionCommand {
    /// Runs one round of `watch`, or repeats it until a signal.
    func watch(_ settings: Settings, _ fetcher: Fetcher) async throws(FetchError) -> Int32 {
        let loop = fetcher.loop
        let requests = try await requests(loop)
        let path = try settings.feeds.statePath("watch", name: WatchStore.name)
        let rules = try ComparisonRules(settings.feeds)
        var settings = settings
        // Notes would come in every round.
        if settings.feeds.showsNews { settings.messages.isQuiet = true }
        while true {
            let started = Instant.now
            let status = try await round(requests, path, rules, settings, fetcher)
            guard let every = settings.feeds.everySeconds, swposix_pending_signal() == 0 else {
                return status
            }
            // Random delay of up to a tenth, to spread the load of many clients.
            let next = started.advanced(seconds: every * Double.random(in: 1...1.1))
            let rest = Instant.after(seconds: Self.restSeconds)
            await loop.sleep(until: max(next, rest))
            if Task.isCancelled { throw .cancelled }
        }
    }

    /// Minimal pause between two rounds.
    private static let restSeconds = 60.0

    private func round(
        _ requests: [RequestLine], _ path: String, _ rules: ComparisonRules, _ settings: Settings,
        _ fetcher: Fetcher
    ) async throws(FetchError) -> Int32 {
        let isShared = settings.feeds.stateFile == nil && settings.feeds.stateName == nil
        let file = try await StateFile(
            path, fetcher.loop, seconds: settings.fetch.totalSeconds, isShared: isShared)
        if isShared && settings.archive.replayed.isEmpty { try WatchStore.takeOver(to: path) }
        let context = RunContext(settings, fetcher, isBulk: true)
        let run = try WatchRun(context, file, rules)
        let engine = context.engine(
            SubscriptionSource(requests, run), run.subscription.policy)
        await engine.run()
        var failure: FetchError?
        do throws(FetchError) {
            try run.save()
        } catch {
            failure = error
        }
        var verdict = context.verdict(on: engine, failure ?? run.problem)
        // Otherwise 1 says that there are none, and 0 hides a failure.
        if !settings.feeds.showsNews { verdict.news = run.hasNews }
        return try context.conclude(engine, verdict, failure, hasSummary: false)
    }
}
