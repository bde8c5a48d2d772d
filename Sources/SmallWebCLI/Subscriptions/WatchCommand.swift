// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import SmallWeb
internal import SmallWebRecords

extension Command {
    static let watch = Command(
        "watch URL…", "say which pages are new, changed or gone",
        manual: "Fetches each page, compares it with what it was, and prints a line for it: new, "
            + "changed, unchanged, gone or failed, a tab and the URL. What pages were is "
            + "remembered in $XDG_STATE_HOME/smallweb/watch/pages, by URL, --under, --ignore and "
            + "--links: a page is new once, on whatever list it is. Servers that can tell are "
            + "asked for no body unless the page has changed. A feed of which only its own time is "
            + "new is unchanged. With --replay pages are compared with the same file, but it is "
            + "left as it is, unless --state names it: archives come from elsewhere.\n\n"
            + "The exit status is 0 when something is new, changed or gone for the first time, 1 "
            + "when nothing is, and that of the first failure when nothing is and something "
            + "failed: it reads 'watch && act'. Since 1 has a meaning here, a scheme that no "
            + "plugin handles is 2; the record of its URL has 1, as everywhere. A page that is "
            + "gone for good (Gemini 52, HTTP 410) is not fetched again and counts as unchanged. "
            + "Where an engine takes 1 for an error, as urlwatch does, use 'smallweb feed --format "
            + "gemtext' as the job's command.\n\n"
            + "There is never more than one request at a time. A host that fails is left alone for "
            + "a minute, and for twice as long after each further failure, up to a day; a host "
            + "that asks to be left alone is.\n\n"
            + "A line of crontab(5), which mails what has changed; cron's PATH is short:\n\n"
            + "    */15 * * * * /usr/local/bin/smallweb watch -q gemini://example.org/ > news "
            + "&& mail -s news me < news\n\n"
            + "For systemd, a service and the timer that starts it, after which "
            + "'systemctl --user enable --now smallweb-watch.timer' is all:\n\n"
            + "    [Service]\n\n    Type=oneshot\n\n"
            + "    ExecStart=smallweb watch --exec 'jq -r .url >> %h/news' "
            + "gemini://example.org/\n\n"
            + "    SuccessExitStatus=1\n\n"
            + "    [Timer]\n\n    OnCalendar=*:0/15\n\n    RandomizedDelaySec=90\n\n"
            + "    [Install]\n\n    WantedBy=timers.target",
        examples: [
            "smallweb watch gemini://example.org/ && echo news": "Do something when there is news",
            "smallweb watch --every 1h --exec 'mail -s news me' gemini://example.org/":
                "Stay, and send each change by mail",
            "smallweb watch --json --links gopher://example.org/ | jq -r '.added[]'":
                "The links that were added",
        ],
        taker: .watch
    ) { settings, operands throws(FetchError) in
        try SubscriptionCommand(settings, operands, .watch).run()
    }.with(
        \.mainOptions, ["diff", "links", "ignore", "every", "exec", "under", "state", "name"])
}

extension SubscriptionCommand {
    /// Runs one round of `watch`, or repeats it until a signal.
    func watch(_ settings: Settings, _ fetcher: Fetcher) async throws(FetchError) -> Int32 {
        let loop = fetcher.loop
        let requests = try await requests(loop)
        let path = try settings.feeds.statePath("watch", name: WatchStore.name)
        let rules = try ComparisonRules(settings.feeds)
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
        verdict.news = run.hasNews
        return try context.conclude(engine, verdict, failure, hasSummary: false)
    }
}
