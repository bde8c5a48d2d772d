// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb
internal import SmallWebPlugins
internal import SmallWebRecords

/// State shared by the URLs of a run.
//
// @unchecked: `headers`, `ledger` and `isClosed` are used on the event loop of the run alone, all
// else does not change.
final class RunContext: @unchecked Sendable {
    let settings: Settings
    var loop: EventLoop { fetcher.loop }
    let messages: Messages
    /// True if standard output gets records.
    let writesRecords: Bool
    /// True if a person sees standard output.
    let isWatched = Environment.isTerminal(1)
    let headers: HeaderFile?
    let ledger: Ledger?
    /// True to buffer standard output until the URL's turn.
    let holdsOutput: Bool
    /// True to buffer headers, as another URL's or another attempt's may have to come first.
    let holdsHeaders: Bool
    let fetcher: Fetcher
    /// True if there may be more than one URL.
    let isBulk: Bool
    let progress: MessageSettings.Progress
    /// Set if concurrent URLs share one progress line.
    let meter: RunMeter?
    let policy: RunPolicy
    /// True once nothing more may be written to standard output.
    var isClosed = false

    /// - Parameter isSilent: True to show progress, and say nothing else.
    init(
        _ settings: Settings, _ fetcher: Fetcher, headers: HeaderFile? = nil,
        ledger: Ledger? = nil, isBulk: Bool = false, isSilent: Bool = false
    ) {
        let shown = Messages(settings.messages)
        var settings = settings
        if isSilent { settings.messages.isSilent = true }
        self.settings = settings
        self.fetcher = fetcher
        self.headers = headers
        self.ledger = ledger
        self.isBulk = isBulk
        messages = isSilent ? Messages(settings.messages) : shown
        writesRecords = settings.records.areWanted
        progress = shown.progress(writesRecords: writesRecords)
        let (output, records) = (settings.output, settings.records)
        var policy = settings.run.policy
        let writesBodies =
            settings.usualDestination == .standardOutput || output.showsHeader
            || output.files.contains("-") || output.writeOut != nil
            || settings.configuration.hasSections(with: [.remoteName, .body, .showHeaders])
        holdsHeaders = headers != nil && (policy.jobs > 1 || policy.retry.retries > 0)
        // Standard output and the header file keep the order of the input.
        policy.keepsOrder =
            writesRecords ? records.keepsInputOrder : writesBodies || holdsHeaders
        let showsBodies = isWatched && (writesRecords || writesBodies)
        meter =
            progress == .bar && policy.jobs > 1 && !showsBodies ? RunMeter(shown) : nil
        // Buffered, so that a retry can discard the output of the attempt before.
        holdsOutput =
            policy.keepsOrder
            && (writesRecords || policy.jobs > 1 || policy.retry.retries > 0
                || output.isReading)
        // Without a buffer only one URL at a time can use standard output.
        policy.heldMax = holdsOutput ? max(4 * policy.jobs, 64) : 1
        // Unbuffered output of an attempt must be written on this loop.
        let writesMeanwhile =
            headers != nil && !holdsHeaders
            || !holdsOutput && writesRecords
                && (records.options.includesEvents || records.options.streamsBodies)
        if !isBulk || writesMeanwhile { policy.loops = 1 }
        self.policy = policy
        if policy.jobs > 1 { Self.keepFreedMemory() }
    }

    /// Keeps freed memory in the process: returning it to the system and requesting it again for
    /// each page costs more than it saves.
    private static func keepFreedMemory() {
        let bytes: Int32 = 4 << 20
        mallopt(M_TRIM_THRESHOLD, bytes)
        // malloc stops adjusting this threshold once the other one is set.
        mallopt(M_MMAP_THRESHOLD, bytes)
    }

    /// - Parameter policy: `nil` for the policy of the run.
    func engine(_ source: any Source, _ policy: RunPolicy? = nil) -> Engine {
        Engine(source, policy ?? self.policy, fetcher) { swposix_pending_signal() != 0 }
    }

    /// Runs an engine, and shows its progress.
    func run(
        _ engine: Engine, _ progress: @escaping () -> (done: Int, failed: Int, total: Int?)
    ) async {
        meter?.start(on: loop, progress)
        await engine.run()
        meter?.stop()
    }

    /// The verdict on a run whose requests are all of its work.
    ///
    /// - Parameter failure: A failure later than the engine's.
    func verdict(on engine: Engine, _ failure: FetchError? = nil) -> Verdict {
        var verdict = Verdict(signal: swposix_pending_signal(), failure: engine.failure ?? failure)
        verdict.miss(engine.tally, by: settings.run.status, isStopped: engine.isStopping)
        return verdict
    }

    /// Ends a run with its summary and messages.
    ///
    /// - Parameters:
    ///   - hasSummary: The default of its option; `nil` for true with several requests.
    ///   - more: Writes further members of it.
    /// - Returns: The exit status.
    /// - Throws: `write` if standard output or the ledger failed; `interrupted`.
    func conclude(
        _ engine: Engine, _ verdict: Verdict, _ failure: FetchError? = nil,
        hasSummary: Bool? = nil, skipped: [String: Int]? = nil,
        more: (inout JSONWriter) -> Void = { _ in }
    ) throws(FetchError) -> Int32 {
        let tally = engine.tally
        if tally.postponed > 0 {
            messages.warning(
                "\(tally.postponed) URL\(tally.postponed == 1 ? "" : "s") not fetched: "
                    + "the run's deadline passed")
        }
        var failure = engine.failure ?? failure
        let isDefault = hasSummary ?? (tally.requests + tally.skipped > 1)
        if writesRecords && settings.records.wantsSummary ?? isDefault {
            let summary = JSONWriter.line { writer in
                writer.members(of: tally, exit: verdict.status, skipped: skipped)
                more(&writer)
            }
            do throws(FetchError) {
                try StandardStream.output.write(summary[...], isWhole: true)
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return verdict.status
    }

    /// Makes the job of a request.
    ///
    /// - Parameters:
    ///   - leavesOut: True to leave out options that its scheme does not have.
    ///   - output: Gets the plan of its URL.
    func job(
        _ asked: RequestLine, leavesOut: Bool = false, _ output: (URLPlan) -> any Output
    ) -> Job {
        var (plan, fetcher) = (URLPlan?.none, fetcher)
        var (request, place): (Request?, String?)
        var problem = asked.problem
        if problem == nil {
            do throws(FetchError) {
                let own: Settings
                (own, fetcher) = try settings(for: asked)
                if own.fetch.readsFiles, asked.isNamed {
                    fetcher = fetcher.reachingFiles(of: asked.url ?? "")
                }
                plan = URLPlan(own, to: own.destination(of: asked))
                let made = try fetcher.request(own.url(asked.url ?? "", fetcher.registry))
                plan?.fit(made, fetcher.registry, leavesOut: leavesOut)
                request = made
                // A directory needs no pace.
                let isServed = own.fetch.served != nil && fetcher.registry.serves(made.uri)
                place = isServed ? nil : try made.place
            } catch {
                let url = asked.url.map { settings.unwrapped($0, fetcher.registry) }
                if url != asked.url, !asked.isJSON {
                    asked.subject.url = url
                    return job(asked, leavesOut: leavesOut, output)
                }
                problem = error
            }
        }
        if let word = asked.url, let outcome = problem?.outcome,
            [.badURL, .unsupportedScheme].contains(outcome),
            let hint =
                (asked.subject.line == nil
                    ? Advice.file(word, for: settings.invocation.command) : nil)
                ?? Advice.path(word, behind: settings.invocation.operands, fetcher.registry)
                ?? (settings.invocation.command?.taker == .refs
                    ? Advice.repository(meantBy: word, fetcher.registry) : nil)
                ?? Advice.url(word, fetcher.registry)
        {
            problem?.hint = hint
        } else if asked.subject.line != nil, !asked.isJSON, problem?.outcome == .badURL,
            let text = asked.url, text.hasPrefix("<") || text.contains(" ")
        {
            problem?.hint = Advice.page
        }
        if asked.subject.line != nil { problem = problem?.inPart }
        let job = Job(
            n: asked.subject.n, key: asked.key, request, place: place, problem: problem, fetcher,
            output(plan ?? URLPlan(settings, to: settings.destination(of: asked))))
        job.isUnreadList = asked.isUnreadList
        return job
    }

    /// The settings for one URL, and a fetcher with them.
    ///
    /// - Throws: `usage` for an invalid section or order, `identity-unusable`.
    private func settings(for asked: RequestLine) throws(FetchError) -> (Settings, Fetcher) {
        let hasSections = settings.configuration.hasSections
        guard hasSections || asked.hasSettings || asked.upload != nil else {
            return (settings, fetcher)
        }
        let base = settings
        var settings = base
        if hasSections {
            settings = try base.configuration.applied(to: base, for: asked.url ?? "")
        }
        let changesFetcher = try settings.apply(asked)
        try settings.fetch.readLists()
        try settings.fetch.readSecrets(base.asker)
        let scheme =
            asked.upload == nil ? nil : fetcher.registry[URI.scheme(of: asked.url ?? "") ?? ""]
        settings.fetch.redirects.otherSchemes.formUnion(scheme?.scheme.uploads?.replySchemes ?? [])
        guard hasSections || changesFetcher || asked.upload != nil else {
            return (settings, fetcher)
        }
        var rules: Fetcher.Options.Rules?
        if hasSections {
            // The target of a redirect may have other settings.
            rules = { uri throws(FetchError) in
                let there = try base.configuration.applied(to: base, for: uri.description)
                let options = try there.connectionOptions()
                return (options.trustStore, options.http, options.proxies)
            }
        }
        return (settings, try settings.fetcher(loop, afterRedirect: rules))
    }
}

final class JobSource: Source {
    private let requests: OperandSource
    private let context: RunContext
    /// Requests in a row that the ledger knows.
    private var knownCount = 0

    init(_ requests: OperandSource, _ context: RunContext) {
        (self.requests, self.context) = (requests, context)
    }

    func take(isLast: Bool) -> Taken {
        // The rest of a list that is newest first is known, too.
        guard knownCount < context.settings.run.knownMax else { return .end(nil) }
        switch requests.take() {
        case .request(let asked):
            let job = job(asked)
            let isDone = isDone(job, asked)
            knownCount = isDone ? knownCount + 1 : 0
            return isDone ? .done : .job(job)
        case .cancel(let key): return .cancel(key)
        case .foreign: return .foreign
        case .nothing(let descriptor):
            let loop = context.loop
            return .later { await loop.untilReadable(descriptor, by: .never) }
        case .end: return .end(nil)
        }
    }

    private func job(_ asked: RequestLine) -> Job {
        context.job(asked) { URLOutput(asked, $0, context) }
    }

    /// True if the ledger has a sufficient result.
    private func isDone(_ job: Job, _ asked: RequestLine) -> Bool {
        guard let ledger = context.ledger, let url = asked.url else { return false }
        let last = ledger.outcome(job.request, url)
        if let wanted = context.settings.run.ledgerOutcomes {
            return !(last.map(wanted.contains) ?? false)
        }
        return last == .ok
    }

    func rest() -> [Job] {
        requests.rest().map { asked in
            asked.problem = .cancelled
            return job(asked)
        }
    }
}

extension Settings {
    /// True if a run ends as soon as its output has no reader; bodies end it when they are written.
    var endsUnread: Bool { records.areWanted }

    /// Leaves prompts out of a run in which the user could not see for which URL one is.
    mutating func leaveOutPrompts(isBulk: Bool) {
        if records.areWanted || run.policy.jobs > 1 || isBulk { fetch.promptsAllowed = false }
    }

    /// The record of a request that cannot begin; `nil` without records.
    func refusal(of subject: RecordSubject, _ error: FetchError) -> [UInt8]? {
        guard records.areWanted else { return nil }
        let recorder = Recorder(
            subject, nil, records.options, RecordScope(), wording: .commandLine)
        return recorder.refusal(error)
    }

    var asker: Asker { Asker(isAllowed: fetch.promptsAllowed, settings: messages) }

    /// - Parameter rules: Settings for the target of a redirect, if they depend on the host.
    func fetcher(
        _ loop: EventLoop, afterRedirect rules: Fetcher.Options.Rules? = nil
    ) throws(FetchError) -> Fetcher {
        let registry = try registry()
        var options = try connectionOptions()
        options.rulesAfterRedirect = rules
        options.redirects = try redirects(registry)
        options.allowedSchemes = try allowedSchemes(registry)
        options.identities = try connection.identities(asker, registry)
        return Fetcher(registry: registry, options: options, loop: loop)
    }

    fileprivate func connectionOptions() throws(FetchError) -> Fetcher.Options {
        var options = Fetcher.Options(trustStore: try connection.trustStore(asker))
        options.resolver.overrides = connection.resolverOverrides
        options.resolver.family = connection.family
        options.resolver.isPublicOnly = connection.isPublicOnly
        options.resolver.names = connection.hostNames
        options.proxies = try connection.readProxies()
        options.network = archive.network
        options.robots = connection.robots
        options.http = connection.http
        options.http.reportsRequests = messages.isVerbose || records.options.includesEvents
        options.http.authorityFile = Environment.variable("SSL_CERT_FILE")
        options.http.authorityDirectory = Environment.variable("SSL_CERT_DIR")
        return options
    }
}
