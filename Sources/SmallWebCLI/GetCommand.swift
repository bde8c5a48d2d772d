// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb
internal import SmallWebPlugins
internal import SmallWebTransport

/// `smallweb get URL…`: the URLs one after the other, their bodies back to back.
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
        let fetcher = Fetcher(registry: .builtIn, options: try options(), loop: loop)
        let status = loop.runToCompletion { await fetchAll(fetcher, loop) }
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
        options.http.userAgent = settings.connection.userAgent
        options.http.reportsRequests = settings.isVerbose
        options.http.authorityFile = Environment.variable("SSL_CERT_FILE")
        options.http.authorityDirectory = Environment.variable("SSL_CERT_DIR")
        return options
    }

    private func fetchAll(_ fetcher: Fetcher, _ loop: EventLoop) async -> Int32 {
        let messages = Messages(settings: settings)
        var status: Int32 = 0
        do throws(FetchError) {
            let headers = try settings.headerFile.map { name throws(FetchError) in
                try HeaderFile(name)
            }
            for (index, url) in urls.enumerated() {
                let job = OneURL(
                    url: url, destination: destination(index), settings: settings,
                    fetcher: fetcher, loop: loop, messages: messages, headers: headers)
                let outcome = await job.runInterruptibly()
                if status == 0 { status = outcome.exitStatus }
                if outcome == .interrupted { break }
            }
            try headers?.commit()
        } catch {
            messages.error(nil, error)
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

/// One URL of a run, with the prompts that its server asks for.
//
// @unchecked: lives on the event loop of the run alone; tasks that share it are pinned there.
final class OneURL: @unchecked Sendable {
    private let url: String
    private let destination: BodySink.Destination
    private let settings: Settings
    private let fetcher: Fetcher
    private let loop: EventLoop
    private let messages: Messages
    private let headers: HeaderFile?

    init(
        url: String, destination: BodySink.Destination, settings: Settings, fetcher: Fetcher,
        loop: EventLoop, messages: Messages, headers: HeaderFile?
    ) {
        self.url = url
        self.destination = destination
        self.settings = settings
        self.fetcher = fetcher
        self.loop = loop
        self.messages = messages
        self.headers = headers
    }

    /// Runs, and stops cleanly at a signal if there is something to clean up: a file, a terminal.
    func runInterruptibly() async -> Outcome {
        guard isFile || Environment.isTerminal(2) else { return await run() }
        let job = Task(executorPreference: loop) { await self.run() }
        let watch = Task(executorPreference: loop) {
            if await self.loop.firstSignal(of: [SIGINT, SIGTERM, SIGHUP]) != 0 { job.cancel() }
        }
        defer { watch.cancel() }
        return await job.value
    }

    private func run() async -> Outcome {
        do throws(FetchError) {
            var request = try makeRequest()
            var hidesInput = false
            while true {
                let ending = try await exchange(request, hidesInput: hidesInput)
                guard ending.outcome == .needsInput, request.input == nil || hidesInput,
                    let head = ending.head, settings.promptsAllowed, Prompt.isPossible
                else { return report(ending) }
                let question = head.meta.flatMap { $0.isEmpty ? nil : $0 } ?? "Input:"
                guard
                    let answer = Prompt.read(
                        question, isSensitive: head.wantsSensitiveInput, messages: messages)
                else { return swposix_pending_signal() != 0 ? .interrupted : report(ending) }
                request = try fetcher.request(ending.uri.description)
                configure(&request)
                request.input = answer
                hidesInput = head.wantsSensitiveInput
            }
        } catch {
            if error.outcome != .interrupted { messages.error(url, error) }
            return error.outcome
        }
    }

    private func makeRequest() throws(FetchError) -> Request {
        var request = try fetcher.request(url)
        configure(&request)
        if let input = settings.input {
            guard request.scheme.takesInput else {
                throw usageError("the scheme \(request.scheme.name) has no use for --data")
            }
            request.input = input
        }
        let isHTTP = request.scheme.transport == .own
        if !isHTTP && !(settings.http.isEmpty && settings.resume == .fromStart) {
            throw usageError("the scheme \(request.scheme.name) has no use for HTTP options")
        }
        return request
    }

    private func configure(_ request: inout Request) {
        request.wantsRawBody = settings.wantsRawBody
        request.http = settings.http
        request.limits.connectSeconds = settings.connectSeconds
        request.limits.idleSeconds = settings.readSeconds
        request.limits.totalSeconds = settings.totalSeconds
        switch settings.bodyBytesMax {
        case 0?: request.limits.bodyBytesMax = nil
        case let size?: request.limits.bodyBytesMax = size
        case nil: if isFile { request.limits.bodyBytesMax = nil }
        }
    }

    private var isFile: Bool {
        destination != .standardOutput && destination != .rawStandardOutput
    }

    private func exchange(
        _ request: Request, hidesInput: Bool
    ) async throws(FetchError) -> Ending {
        let sink = BodySink(destination, settings: settings)
        let goesToTerminal = !isFile && Environment.isTerminal(1)
        let meter = ProgressMeter(messages: messages, drawsTransfer: !goesToTerminal)
        let delivery = Delivery(
            request, url: url, sink: sink, settings: settings, messages: messages,
            headers: headers, meter: meter)
        let drawing = Drawing(meter, isOn: messages.showsProgress, loop: loop)
        defer {
            drawing.stop()
            sink.discard()
        }
        let ending = try await fetcher.runHere(request) { event throws(FetchError) in
            try delivery.take(event, hidesInput: hidesInput)
        }
        drawing.stop()
        // What is cut off never gets a file's final name.
        if !(isFile && ending.outcome == .truncated) { try sink.commit() }
        return ending
    }

    /// Says what went wrong, if anything did.
    private func report(_ ending: Ending) -> Outcome {
        let isRefusal = ending.head.map { $0.replyClass != .success } ?? false
        if isRefusal && settings.refusal == .accept { return .ok }
        guard let message = ending.message else { return ending.outcome }
        var hint = ending.hint
        switch ending.outcome {
        case .needsInput: hint = "give it with -d TEXT, or keep it secret with -d @FILE"
        case .truncated where isFile:
            hint = "the file was not written; to keep what came, redirect standard output"
        default: break
        }
        messages.error(url, message, hint: hint)
        return ending.outcome
    }
}

/// The task that draws the progress, while there is one.
//
// @unchecked: on the event loop alone.
private final class Drawing: @unchecked Sendable {
    private let meter: ProgressMeter
    private var task: Task<Void, Never>?

    init(_ meter: ProgressMeter, isOn: Bool, loop: EventLoop) {
        self.meter = meter
        if isOn { task = Task(executorPreference: loop) { await self.meter.run(on: loop) } }
    }

    func stop() {
        task?.cancel()
        task = nil
    }
}
