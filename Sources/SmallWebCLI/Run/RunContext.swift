// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import SmallWeb
internal import SmallWebPlugins
internal import SmallWebRecords
internal import SmallWebTransport

/// What the URLs of a run share.
//
// @unchecked: `headers`, `ledger` and the threads are used on the event loop of the run alone, all
// else does not change.
final class RunContext: @unchecked Sendable {
    let settings: Settings
    var loop: EventLoop { fetcher.loop }
    let messages: Messages
    let headers: HeaderFile?
    let ledger: Ledger?
    /// Whether standard output must have the order of the input.
    let keepsOrder: Bool
    /// Whether what belongs there waits for its turn.
    let holdsOutput: Bool
    /// For URLs of which nothing in particular is said.
    let common: URLSettings
    let fetcher: Fetcher
    let progress: MessageSettings.Progress
    /// Where several URLs at a time share one line.
    let meter: RunMeter?
    /// Those that fetch, each with the fetcher of URLs of which nothing in particular is said.
    private var threads: [(loop: LoopThread, fetcher: Fetcher)] = []
    /// How many are still to be made, when they are needed first.
    private var missingThreads: Int
    /// Where the run's own loop fetches, among others: a run over one host needs no thread.
    private var home: String?
    private let hasHome: Bool

    /// - Parameter loops: The most that fetch at the same time.
    init(
        _ settings: Settings, _ fetcher: Fetcher, headers: HeaderFile? = nil,
        ledger: Ledger? = nil, loops: Int = 1
    ) {
        self.settings = settings
        self.fetcher = fetcher
        self.headers = headers
        self.ledger = ledger
        messages = Messages(settings.messages)
        common = URLSettings(settings)
        progress = messages.progress(writesRecords: settings.records.areWanted)
        let (output, records) = (settings.output, settings.records)
        let savesAll =
            output.usesRemoteName || records.bodyForm == .file || records.bodyForm == .none
        let writesBodies =
            !savesAll || output.showsHeader || output.files.contains("-")
            || output.writeOut != nil
            || settings.configuration.hasSections(with: ["remote-name", "body", "show-headers"])
        keepsOrder = records.areWanted ? records.keepsInputOrder : writesBodies
        let showsBodies = Environment.isTerminal(1) && (records.areWanted || writesBodies)
        meter =
            progress == .bar && settings.run.jobs > 1 && !showsBodies ? RunMeter(messages) : nil
        // A second attempt must find nothing of the first one there.
        holdsOutput =
            keepsOrder
            && (records.areWanted || settings.run.jobs > 1 || settings.run.retry.retries > 0
                || output.isReading)
        // What an attempt writes to standard output or into one file for all, it writes here.
        let writesMeanwhile =
            headers != nil
            || !holdsOutput && records.areWanted
                && (records.includesEvents || records.streamsBodies)
        if settings.run.jobs > 1 { Self.keepFreedMemory() }
        missingThreads = loops == 1 || writesMeanwhile ? 0 : loops
        hasHome = settings.run.loops == nil
    }

    /// What one page has freed, the next one takes: to give it back to the system and get it again
    /// costs more than a page's memory is worth.
    private static func keepFreedMemory() {
        let bytes: Int32 = 4 << 20
        mallopt(M_TRIM_THRESHOLD, bytes)
        // As soon as one threshold is set, malloc adjusts the other no more.
        mallopt(M_MMAP_THRESHOLD, bytes)
    }

    /// Those of a run with so many URLs at a time.
    static func loops(_ settings: RunSettings) -> Int {
        settings.jobs > 1 ? min(settings.jobs, settings.loops ?? processorCount()) : 1
    }

    /// `fetcher`, on the loop that has this place.
    func spread(_ fetcher: Fetcher, _ place: String) -> Fetcher {
        if hasHome {
            home = home ?? place
            if place == home { return fetcher }
        }
        if missingThreads > 0 { startThreads() }
        guard !threads.isEmpty else { return fetcher }
        // FNV-1a: any would do that spreads names that differ in one byte.
        let hash = place.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01B3
        }
        let there = threads[Int((hash >> 32) % UInt64(threads.count))]
        return fetcher === self.fetcher ? there.fetcher : fetcher.moved(to: there.loop.loop)
    }

    /// With fewer than were wanted the run takes longer, and with none this loop fetches.
    private func startThreads() {
        while missingThreads > 0, let thread = try? LoopThread() {
            threads.append((thread, fetcher.moved(to: thread.loop)))
            missingThreads -= 1
        }
        missingThreads = 0
        if !threads.isEmpty { Prompt.ask(on: loop) }
    }

    /// Makes what blocks a loop return, to see that it shall stop.
    func interrupt() { for thread in threads { thread.loop.interrupt() } }

    /// No URL is under way any more.
    func end() { for thread in threads { thread.loop.end() } }

    /// What holds for one URL, and the fetcher that keeps it.
    ///
    /// - Throws: `usage` for a section or an order that makes no sense, `identity-unusable`.
    func settings(for order: Order) throws(FetchError) -> (URLSettings, Fetcher) {
        let hasSections = settings.configuration.hasSections
        guard hasSections || !order.changes.isEmpty || order.upload != nil else {
            return (common, fetcher)
        }
        let base = settings
        var settings = base
        if hasSections {
            settings = try base.configuration.applied(to: base, for: order.url ?? "")
            try settings.fetch.readLists()
        }
        for change in order.changes { change(&settings) }
        let scheme =
            order.upload == nil ? nil : fetcher.registry[URI.scheme(of: order.url ?? "") ?? ""]
        settings.fetch.redirects.otherSchemes.formUnion(scheme?.scheme.uploads?.replySchemes ?? [])
        guard hasSections || order.changesFetcher || order.upload != nil else {
            return (URLSettings(settings), fetcher)
        }
        var rules: Fetcher.Options.Rules?
        if hasSections {
            // A redirect leads to where other rules may hold.
            rules = { uri throws(FetchError) in
                let there = try base.configuration.applied(to: base, for: uri.description)
                let options = try there.connectionOptions()
                return (options.trustStore, options.http, options.proxies)
            }
        }
        return (URLSettings(settings), try settings.fetcher(loop, afterRedirect: rules))
    }
}

extension Settings {
    /// Who may be asked, if there is a person.
    var asker: Asker { Asker(isAllowed: fetch.promptsAllowed, settings: messages) }

    /// - Parameter rules: What holds where a redirect leads to, if that depends on the place.
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

    /// How to connect, and whom to trust.
    fileprivate func connectionOptions() throws(FetchError) -> Fetcher.Options {
        var options = Fetcher.Options(trustStore: try connection.trustStore(asker))
        options.resolver.overrides = connection.resolverOverrides
        options.resolver.family = connection.family
        options.resolver.names = connection.hostNames
        options.proxies = try connection.readProxies()
        options.http = connection.http
        options.http.reportsRequests = messages.isVerbose || records.includesEvents
        options.http.authorityFile = Environment.variable("SSL_CERT_FILE")
        options.http.authorityDirectory = Environment.variable("SSL_CERT_DIR")
        return options
    }
}
