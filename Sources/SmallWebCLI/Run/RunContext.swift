// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebPlugins
internal import SmallWebTransport

/// What the URLs of a run share.
//
// @unchecked: lives on the event loop of the run alone; tasks that share it are pinned there.
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

    init(
        _ settings: Settings, _ fetcher: Fetcher, headers: HeaderFile? = nil,
        ledger: Ledger? = nil
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
    }

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
        var fetcher = try settings.fetcher(loop)
        if hasSections {
            // A redirect leads to where other rules may hold.
            fetcher.options.rulesAfterRedirect = { uri throws(FetchError) in
                let there = try base.configuration.applied(to: base, for: uri.description)
                let options = try there.connectionOptions()
                return (options.trustStore, options.http, options.proxies)
            }
        }
        return (URLSettings(settings), fetcher)
    }
}

extension Settings {
    /// Who may be asked, if there is a person.
    var asker: Asker { Asker(isAllowed: fetch.promptsAllowed, settings: messages) }

    func fetcher(_ loop: EventLoop) throws(FetchError) -> Fetcher {
        let registry = try registry()
        var options = try connectionOptions()
        options.redirects = try redirects(registry)
        options.allowedSchemes = try allowedSchemes(registry)
        options.identities = try connection.identities(asker)
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
