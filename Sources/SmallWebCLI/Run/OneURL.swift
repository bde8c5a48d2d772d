// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import SmallWeb
internal import SmallWebTransport

/// What the URLs of a run share.
//
// @unchecked: lives on the event loop of the run alone; tasks that share it are pinned there.
final class RunContext: @unchecked Sendable {
    let settings: Settings
    let fetcher: Fetcher
    let loop: EventLoop
    let messages: Messages
    let headers: HeaderFile?
    let ledger: Ledger?
    /// Whether standard output must have the order of the input.
    let keepsOrder: Bool
    /// Whether what belongs there waits for its turn.
    let holdsOutput: Bool

    init(
        settings: Settings, fetcher: Fetcher, loop: EventLoop, messages: Messages,
        headers: HeaderFile?, ledger: Ledger?
    ) {
        self.settings = settings
        self.fetcher = fetcher
        self.loop = loop
        self.messages = messages
        self.headers = headers
        self.ledger = ledger
        let savesAll =
            settings.usesRemoteName || settings.bodyForm == .file || settings.bodyForm == .none
        let writesBodies =
            !savesAll || settings.showsHeader || settings.outputs.contains("-")
            || settings.configuration.hasSections(with: ["remote-name", "body", "show-headers"])
        keepsOrder = settings.writesJSON ? settings.keepsInputOrder : writesBodies
        // A second attempt must find nothing of the first one there.
        holdsOutput =
            keepsOrder
            && (settings.writesJSON || settings.jobs > 1 || settings.retriesMax > 0
                || settings.isReading)
    }

    /// The same run for a URL with settings of its own.
    init(_ run: RunContext, settings: Settings, fetcher: Fetcher) {
        self.settings = settings
        self.fetcher = fetcher
        loop = run.loop
        messages = run.messages
        headers = run.headers
        ledger = run.ledger
        keepsOrder = run.keepsOrder
        holdsOutput = run.holdsOutput
    }
}

/// One URL of a run, with its attempts and the prompts that its server asks for.
//
// @unchecked: lives on the event loop of the run alone; tasks that share it are pinned there.
final class OneURL: @unchecked Sendable {
    let order: Order
    /// What standard output means for this URL.
    private(set) var target = BodyTarget.standardOutput(Patience())
    private(set) var attempts = 0
    /// After ``finish(_:)``.
    private(set) var outcome = Outcome.ok
    /// Its terminal record, for the ledger.
    private(set) var record: Spool?
    private let request: Result<Request, FetchError>
    private(set) var destination: BodySink.Destination
    private let context: RunContext
    private var settings: Settings
    private let arrived = Instant.now
    private(set) var started: Instant?
    /// Of the last attempt.
    private var log: FetchLog?
    private var recorder: Recorder?
    /// The file that holds the body.
    private var path: String?

    /// - Parameter request: Why there is none, for an order that makes no sense.
    init(
        _ order: Order, _ request: Result<Request, FetchError>,
        destination: BodySink.Destination, context: RunContext
    ) {
        self.order = order
        self.request = request
        self.destination = destination
        self.context = context
        settings = context.settings
    }

    private var url: String { order.url ?? "" }

    /// Why it cannot be tried at all.
    var problem: FetchError? {
        if case .failure(let error) = request { error } else { nil }
    }

    // MARK: An attempt

    /// Fetches and delivers.
    func attempt() async -> Result<Ending, FetchError> {
        attempts += 1
        started = started ?? .now
        (log, recorder, path) = (nil, nil, nil)
        openTarget()
        do throws(FetchError) {
            settings = try order.settings(context.settings)
            openRecord()
            var request = try makeRequest()
            var hidesInput = false
            while true {
                let ending = try await exchange(request, hidesInput: hidesInput)
                guard ending.outcome == .needsInput, request.input == nil || hidesInput,
                    let head = ending.head, settings.promptsAllowed, Prompt.isPossible,
                    // That it asks is what `head` has to say.
                    !settings.wantsHeadAlone
                else { return .success(ending) }
                let asker = ending.uri.hostAndPort ?? url
                let question = "\(asker): \(head.meta.flatMap { $0.isEmpty ? nil : $0 } ?? "input")"
                guard
                    let answer = Prompt.read(
                        question, isSensitive: head.wantsSensitiveInput,
                        messages: context.messages)
                else {
                    return swposix_pending_signal() != 0 ? .failure(.cancelled) : .success(ending)
                }
                request = try context.fetcher.request(ending.uri.description)
                try configure(&request)
                request.input = answer
                hidesInput = head.wantsSensitiveInput
            }
        } catch {
            return .failure(error)
        }
    }

    /// A place for the output, with nothing of an earlier attempt in it.
    private func openTarget() {
        target =
            context.holdsOutput
            ? .held(Spool(memoryMax: Run.heldBytesMax))
            : .standardOutput(patience)
    }

    /// With whatever reads what the URL has on standard output.
    var patience: Patience { Patience(seconds: settings.totalSeconds) }

    /// A record to be, if one is wanted.
    private func openRecord() {
        log = log ?? (try? request.get()).map { FetchLog($0.uri) }
        let target = settings.writesJSON ? target : nil
        guard target != nil || context.ledger != nil else { return }
        let recorder = Recorder(
            order, log, settings: settings, registry: context.fetcher.registry, target: target)
        recorder.attempts = attempts
        recorder.queueSeconds = (started ?? .now).seconds(since: arrived)
        self.recorder = recorder
    }

    /// `builtin:` and the plugin's own name.
    static func name(_ entry: Registry.Entry) -> String { "builtin:" + entry.scheme.plugin }

    /// What the first attempt asks for.
    func firstRequest() throws(FetchError) -> Request {
        settings = try order.settings(context.settings)
        return try makeRequest()
    }

    private func makeRequest() throws(FetchError) -> Request {
        var request = try request.get()
        try refuseForeignOptions(of: request.scheme)
        if settings.identityName != nil || settings.certificateFile != nil,
            request.scheme.identityScheme == nil
        {
            throw usageError(
                "no identity can be shown over \(request.scheme.name)",
                hint: Identities.hint(context.fetcher.registry))
        }
        if settings.referencePatterns != nil && !request.scheme.hasReferences {
            let names = context.fetcher.registry.schemes.filter(\.hasReferences).map(\.name)
            throw usageError(
                "\(request.scheme.name) has no references",
                hint: "they are for \(names.joined(separator: ", ")), and the https:// URL of a "
                    + "repository")
        }
        try configure(&request)
        if let input = settings.input {
            switch request.scheme.input {
            case .line: request.input = InputSource.withoutLineEnd(input)
            case .body: request.input = input
            case nil:
                throw usageError("the scheme \(request.scheme.name) has no use for --data")
            }
        }
        return request
    }

    /// Options that were given for this URL and that its protocol does not know.
    private func refuseForeignOptions(of scheme: Scheme) throws(FetchError) {
        var name: String?
        if !settings.requestOptions.isEmpty {
            let known = (context.fetcher.registry[scheme.name]?.handler.options ?? []).filter {
                $0.schemes?.contains(scheme.name) ?? true
            }
            let foreign = settings.requestOptions.keys.subtracting(known.map(\.key))
            name = settings.given.first { foreign.contains($0) }
        }
        if settings.resume != .fromStart && !scheme.canResume { name = "continue-at" }
        if !scheme.dialsForItself && settings.connection.isSpecial {
            name = settings.given.first { option in Option.engine.contains { $0.long == option } }
        }
        guard let name else { return }
        throw usageError("the scheme \(scheme.name) has no use for --\(name)")
    }

    private func configure(_ request: inout Request) throws(FetchError) {
        request.wantsRawBody = settings.wantsRawBody
        request.options = settings.requestOptions
        request.referencePatterns = settings.referencePatterns
        request.upload = settings.upload
        request.wantsItems =
            settings.listing == .links || settings.writesJSON && settings.listing != nil
            || !destination.isFile && settings.laysPagesOut
        request.wantsHeadAlone = settings.wantsHeadAlone
        request.limits.connectSeconds = settings.connectSeconds
        request.limits.idleSeconds = settings.readSeconds
        request.limits.totalSeconds = settings.totalSeconds
        switch settings.bodyBytesMax {
        case 0?: request.limits.bodyBytesMax = nil
        case let size?: request.limits.bodyBytesMax = size
        case nil: if destination.isFile { request.limits.bodyBytesMax = nil }
        }
        switch settings.resume {
        case .fromStart: break
        case .from(let offset):
            request.resumeOffset = offset
        case .fromFile:
            // The name must be known before the request is sent.
            if case .remoteName(let directory) = destination {
                let name = FileName.name(for: request.uri, head: nil)
                destination = .file(directory.map { "\($0)/\(name)" } ?? name)
            }
            guard case .file(let path) = destination else {
                throw usageError("-C - needs a file to continue", hint: "name it with -o or -O")
            }
            let offset = try FileOutput.resumableBytes(path)
            request.resumeOffset = offset > 0 ? offset : nil
        }
    }

    private func exchange(
        _ request: Request, hidesInput: Bool
    ) async throws(FetchError) -> Ending {
        let (messages, log) = (context.messages, log ?? FetchLog(request.uri))
        let sink = BodySink(destination, target: target, uri: log.origin, settings: settings)
        let goesToTerminal =
            !destination.isFile && Environment.isTerminal(1) && !settings.isReading
        let meter = ProgressMeter(
            order: order, messages: messages, drawsTransfer: !goesToTerminal)
        let trace = Trace(
            url: url, messages: messages, isVerbose: settings.isVerbose, hidesInput: hidesInput)
        var watchers: [any Output] = [trace]
        if let recorder { watchers += recorder.outputs(hidesInput: hidesInput) }
        watchers.append(meter)
        if let headers = context.headers { watchers.append(headers) }
        let delivery = Delivery(
            settings, log: log, watchers: watchers,
            outputs: settings.outputs(to: sink, url: url, log: log, recorder: recorder))
        let request = Self.measured(request, by: meter)
        meter.start(messages.progress, on: context.loop)
        defer {
            meter.stop()
            sink.discard()
        }
        let ending = try await context.fetcher.runHere(request, log: log) {
            event throws(FetchError) in
            try delivery.take(event)
        }
        meter.stop()
        try delivery.finish(ending)
        path = sink.path
        return ending
    }

    /// The request, whose upload the meter sees pass.
    private static func measured(_ request: Request, by meter: ProgressMeter) -> Request {
        guard let upload = request.upload else { return request }
        var request = request
        meter.upload(of: upload.byteCount)
        request.upload = Upload(
            byteCount: upload.byteCount, mediaType: upload.mediaType
        ) { () throws(FetchError) in
            let piece = try upload.next()
            meter.move(piece.count)
            return piece
        }
        return request
    }

    // MARK: The end

    /// Whether another attempt may find the place as it was before this one.
    var canBeRepeated: Bool { !(recorder?.hasWritten ?? false) }

    /// A remark in the records of `--events`.
    func note(_ note: Note) throws(FetchError) {
        if settings.writesEvents { try recorder?.records.write(note) }
    }

    /// Says what went wrong, if anything did, and writes the terminal record.
    ///
    /// - Throws: `write` when standard output fails.
    func finish(_ result: Result<Ending, FetchError>) async throws(FetchError) -> Outcome {
        // Nothing has been written for an order that was never tried.
        if attempts == 0 { openTarget() }
        if recorder == nil { openRecord() }
        var outcome = report(result)
        if let recorder {
            let (line, problem) = try await recorder.finish(result, outcome, path: path)
            if let problem { outcome = report(.failure(problem)) }
            try recorder.records.target?.writeRecord(line)
            // What was given up is not done: the ledger keeps what it knows.
            if context.ledger != nil && outcome != .interrupted {
                let spool = Spool(memoryMax: Run.heldBytesMax)
                try spool.append(line[...])
                record = spool
            }
        }
        self.outcome = outcome
        return outcome
    }

    private func report(_ result: Result<Ending, FetchError>) -> Outcome {
        switch result {
        case .success(let ending): return report(ending)
        case .failure(let error):
            if error.outcome != .interrupted { say(error.message, hint: error.advice, error.phase) }
            return error.outcome
        }
    }

    /// With the place that a redirect has led to: the URL alone does not tell where it went wrong.
    private func say(_ message: String, hint: String?, _ phase: FetchError.Phase = .header) {
        // A file that cannot be written has nothing to do with that place.
        let target = phase == .output ? nil : log?.redirects.last?.to
        let place = target.map { "redirected to \($0.display): " } ?? ""
        context.messages.error(order.url, place + message, hint: hint)
    }

    private func report(_ ending: Ending) -> Outcome {
        let isRefusal = ending.head.map { $0.replyClass != .success } ?? false
        if isRefusal && settings.refusal == .accept { return .ok }
        if settings.failsWithoutMatch && ending.outcome == .ok && ending.bodyBytes == 0 {
            say("no reference matches", hint: "without a pattern all are listed")
            return .permanentFailure
        }
        guard let message = ending.message else { return ending.outcome }
        var hint = ending.remedy?.hint
        switch ending.outcome {
        case .needsInput: hint = "give it with -d TEXT, or keep it secret with -d @FILE"
        case .truncated where destination.isFile && settings.resume == .fromStart:
            hint = "the file was not written; to keep what came, redirect standard output"
        default: break
        }
        say(message, hint: hint)
        return ending.outcome
    }
}
