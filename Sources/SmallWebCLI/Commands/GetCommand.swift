// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb
internal import SmallWebPlugins
internal import SmallWebTransport

/// `smallweb get URL…`: bodies to standard output, back to back in the order of the URLs, or to
/// files; with `--json` records.
struct GetCommand: Sendable {
    let settings: Settings
    /// URLs and lists.
    let operands: [String]

    init(settings: Settings, operands: [String]) {
        self.operands = operands + settings.lists
        var settings = settings
        // A prompt would not say which URL it is for.
        if settings.writesJSON || settings.jobs > 1 || Self.hasList(self.operands) {
            settings.promptsAllowed = false
        }
        self.settings = settings
    }

    /// - Returns: The exit status: the first failing URL's.
    func run() throws(FetchError) -> Int32 {
        try check()
        swposix_count_continuations()
        let loop = try EventLoop()
        let fetcher = try fetcher(loop)
        let status = loop.runToCompletion { await fetchInterruptibly(fetcher, loop) }
        let signal = swposix_pending_signal()
        if signal != 0 { swposix_die_of(signal) }
        return status
    }

    private static func hasList(_ operands: [String]) -> Bool {
        operands.contains(where: OrderSource.isList)
    }

    /// - Throws: `usage` for options and operands that do not go together.
    func check() throws(FetchError) {
        guard !operands.isEmpty else {
            throw usageError("no URL", hint: "smallweb get gemini://geminiprotocol.net/")
        }
        guard !operands.contains("") else {
            throw usageError("an empty word instead of a URL", hint: "look for an unset variable")
        }
        guard settings.outputs.count <= operands.count || Self.hasList(operands) else {
            throw usageError("more --output than URLs")
        }
        let readers = operands.count { $0 == "-" } + (settings.inputIsStandardInput ? 1 : 0)
        guard readers <= 1 else { throw usageError("standard input can be read only once") }
        if readers == 1 && !settings.inputIsStandardInput && Environment.isTerminal(0) {
            Messages(settings: settings).hint("type one URL per line, and Ctrl-D at the end")
        }
        if settings.writesJSON, settings.outputs.contains("-") || settings.headerFile == "-" {
            throw usageError("with --json standard output carries records alone")
        }
        if settings.ledgerOutcomes != nil && settings.ledger == nil {
            throw usageError("--only needs a --ledger")
        }
    }

    func fetcher(_ loop: EventLoop) throws(FetchError) -> Fetcher {
        let registry = try settings.registry()
        var options = try connectionOptions()
        options.redirects = try settings.redirects(registry)
        options.allowedSchemes = try settings.allowedSchemes(registry)
        options.identities = try settings.identities()
        return Fetcher(registry: registry, options: options, loop: loop)
    }

    /// How to connect, and whom to trust.
    func connectionOptions() throws(FetchError) -> Fetcher.Options {
        var options = Fetcher.Options(trustStore: try settings.trustStore())
        options.resolver.overrides = settings.resolverOverrides
        options.resolver.family = settings.family
        options.http = settings.connection
        options.http.reportsRequests = settings.isVerbose || settings.writesEvents
        options.http.authorityFile = Environment.variable("SSL_CERT_FILE")
        options.http.authorityDirectory = Environment.variable("SSL_CERT_DIR")
        return options
    }

    /// Stops cleanly at a signal if there is something to clean up or to say: a file, a terminal,
    /// records.
    private func fetchInterruptibly(_ fetcher: Fetcher, _ loop: EventLoop) async -> Int32 {
        let writesFiles =
            settings.usesRemoteName || settings.bodyForm == .file || settings.headerFile != nil
            || settings.configuration.hasSections
        guard
            writesFiles || !settings.outputs.isEmpty || settings.writesJSON
                || settings.ledger != nil || Self.hasList(operands) || Environment.isTerminal(2)
        else { return await fetchAll(fetcher, loop) }
        let job = Task(executorPreference: loop) { await fetchAll(fetcher, loop) }
        let watch = Task(executorPreference: loop) {
            if await loop.firstSignal(of: [SIGINT, SIGTERM, SIGHUP]) != 0 { job.cancel() }
        }
        defer { watch.cancel() }
        return await job.value
    }

    private func fetchAll(_ fetcher: Fetcher, _ loop: EventLoop) async -> Int32 {
        let messages = Messages(settings: settings)
        var status: Int32 = 0
        do throws(FetchError) {
            var settings = settings
            if settings.jobs > 1 { settings.jobs = min(settings.jobs, Self.jobsMax()) }
            let headers = try settings.headerFile.map { name throws(FetchError) in
                try HeaderFile(name, Patience(seconds: settings.totalSeconds))
            }
            let context = RunContext(
                settings: settings, fetcher: fetcher, loop: loop, messages: messages,
                headers: headers,
                ledger: try settings.ledger.map { path throws(FetchError) in try Ledger(path) })
            status = try await Run(OrderSource(operands), context).run()
            try headers?.commit()
        } catch {
            if error.outcome != .interrupted { messages.error(nil, error) }
            if status == 0 { status = error.outcome.exitStatus }
        }
        return status
    }

    /// As many as there are descriptors for: a socket each, and a file for a large body. Takes all
    /// that the system allows.
    private static func jobsMax() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return 100
        }
        if limit.rlim_cur < limit.rlim_max {
            limit.rlim_cur = limit.rlim_max
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        }
        return max(1, (Int(clamping: limit.rlim_cur) - 32) / 2)
    }
}
