// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb
internal import SmallWebPlugins
internal import SmallWebTransport

/// `smallweb get URL…`: bodies to standard output, back to back in the order of the URLs, or to
/// files.
struct GetCommand: Sendable {
    let settings: Settings
    let urls: [String]

    /// - Returns: The exit status: the first failing URL's.
    func run() throws(FetchError) -> Int32 {
        guard !urls.isEmpty else {
            throw usageError("no URL", hint: "smallweb get gemini://geminiprotocol.net/")
        }
        guard settings.outputs.count <= urls.count else {
            throw usageError("more --output than URLs")
        }
        let loop = try EventLoop()
        let fetcher = Fetcher(
            registry: try settings.registry(), options: try options(), loop: loop)
        let status = loop.runToCompletion { await fetchInterruptibly(fetcher, loop) }
        let signal = swposix_pending_signal()
        if signal != 0 { swposix_die_of(signal) }
        return status
    }

    private func options() throws(FetchError) -> Fetcher.Options {
        var options = Fetcher.Options(
            trustStore: TrustStore(
                path: settings.skipsTrust ? "" : try Environment.knownHosts(),
                policy: settings.skipsTrust ? .skip : .tofu))
        options.redirects = settings.redirects
        options.allowedSchemes = settings.allowedSchemes
        options.resolver.overrides = settings.resolverOverrides
        options.resolver.family = settings.family
        options.http = settings.connection
        options.http.reportsRequests = settings.isVerbose
        options.http.authorityFile = Environment.variable("SSL_CERT_FILE")
        options.http.authorityDirectory = Environment.variable("SSL_CERT_DIR")
        return options
    }

    /// Stops cleanly at a signal if there is something to clean up: a file, a terminal.
    private func fetchInterruptibly(_ fetcher: Fetcher, _ loop: EventLoop) async -> Int32 {
        let writesFiles = settings.usesRemoteName || settings.headerFile != nil
        guard writesFiles || !settings.outputs.isEmpty || Environment.isTerminal(2) else {
            return await fetchAll(fetcher, loop)
        }
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
            let headers = try settings.headerFile.map { name throws(FetchError) in
                try HeaderFile(name)
            }
            let jobs = urls.enumerated().map { index, url in
                OneURL(
                    url: url, destination: destination(index),
                    target: settings.jobs > 1
                        ? .held(Spool(memoryMax: ParallelRun.heldBytesMax)) : .standardOutput,
                    settings: settings, fetcher: fetcher, loop: loop, messages: messages,
                    headers: headers)
            }
            if settings.jobs > 1 {
                var run = ParallelRun(jobs, settings)
                status = try await run.run()
            } else {
                for job in jobs {
                    let outcome = await job.run()
                    if status == 0 { status = outcome.exitStatus }
                    if outcome == .interrupted { break }
                }
            }
            try headers?.commit()
        } catch {
            if error.outcome != .interrupted { messages.error(nil, error) }
            if status == 0 { status = error.outcome.exitStatus }
        }
        return status
    }

    private func destination(_ index: Int) -> BodySink.Destination {
        if index < settings.outputs.count {
            let name = settings.outputs[index]
            return name == "-" ? .rawStandardOutput : .file(name)
        }
        return settings.usesRemoteName
            ? .remoteName(directory: settings.outputDirectory) : .standardOutput
    }
}
