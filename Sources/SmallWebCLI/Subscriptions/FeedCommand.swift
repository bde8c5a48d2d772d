// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebFormats
internal import SmallWebRecords

extension Command {
    static let feed = Command("feed URL…", taker: .feed) { settings, operands throws(FetchError) in
        try SubscriptionCommand(settings, operands, .feed).run()
    }.with(\.mainOptions, ["format", "max-entries", "new", "under", "state", "name"])
}

struct SubscriptionCommand: Sendable {
    let settings: Settings
    let operands: [String]
    let kind: SubscriptionState.Kind

    init(_ settings: Settings, _ operands: [String], _ kind: SubscriptionState.Kind) {
        var settings = settings
        settings.fetch.promptsAllowed = false
        // Parses menus and listings with their plugins.
        if kind == .feed || settings.feeds.comparesLinks { settings.output.followsLinks = true }
        if kind == .watch {
            // Only one request to a host at a time.
            (settings.run.policy.jobs, settings.run.policy.jobsPerHost) = (1, 1)
            settings.records.options.body = .none
        }
        self.settings = settings
        self.operands = settings.named(operands) + settings.run.lists
        self.kind = kind
    }

    /// - Returns: The exit status.
    func run() throws(FetchError) -> Int32 {
        try GetCommand.check(operands)
        try checkFiles()
        return try FetchRun.run(settings) {
            settings, loop async throws(FetchError) in
            let fetcher = try settings.fetcher(loop)
            return kind == .feed
                ? try await feed(settings, fetcher) : try await watch(settings, fetcher)
        }
    }

    private func checkFiles() throws(FetchError) {
        var files = settings.archive.paths
        guard !files.isEmpty else { return }
        if let path = settings.feeds.stateFile { files.append(("--state", path)) }
        try settings.checkDistinct(files)
    }

    /// Rounds repeat all requests, and the state's name depends on all URLs.
    func requests(_ loop: EventLoop) async throws(FetchError) -> [RequestLine] {
        try await OperandSource.all(
            operands, on: loop, max: Self.pagesMax, Messages(settings.messages))
    }

    private static let pagesMax = 100_000

    private func feed(_ settings: Settings, _ fetcher: Fetcher) async throws(FetchError) -> Int32 {
        let requests = try await requests(fetcher.loop)
        let feeds = settings.feeds
        var file: StateFile?
        if feeds.takesUndated || feeds.stateFile != nil || feeds.stateName != nil {
            file = try await StateFile(
                feeds.statePath("feed", of: requests.compactMap(\.url)), fetcher.loop,
                seconds: settings.fetch.totalSeconds)
        }
        let context = RunContext(settings, fetcher, isBulk: true)
        let run = try FeedRun(context, file, isOnly: requests.count == 1)
        let engine = context.engine(
            SubscriptionSource(requests, run), run.subscription.policy)
        await engine.run()
        var verdict = context.verdict(on: engine)
        if run.isUnusable { verdict.miss(.unusable(.protocolError)) }
        let status = try context.conclude(engine, verdict)
        if !engine.isStopping { try await run.finish() }
        return status
    }
}
