// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb
internal import SmallWebRecords
internal import SmallWebTransport

/// One URL of a run, with its attempts and the prompts that its server asks for.
//
// @unchecked: an attempt has it for itself, on the loop of its fetcher; before and after, it lives
// on the event loop of the run.
final class OneURL: @unchecked Sendable {
    let order: Order
    /// What standard output means for this URL.
    private(set) var target = BodyTarget.standardOutput(Patience())
    private(set) var attempts = 0
    /// After ``finish(_:)``.
    private(set) var outcome = Outcome.ok
    /// Whether the run had no time left for it.
    private(set) var isPostponed = false
    /// Its terminal record, for the ledger.
    private(set) var record: Spool?
    /// `nil` for an order that makes no sense.
    let request: Request?
    /// Why it cannot be tried at all.
    let problem: FetchError?
    private(set) var destination: BodySink.Destination
    let context: RunContext
    let settings: URLSettings
    let fetcher: Fetcher
    /// `host:port`; `nil` where there is nothing to wait for.
    let place: String?
    private let arrived = Instant.now
    private(set) var started: Instant?
    /// Of the last attempt.
    private var log: FetchLog?
    private(set) var recorder: Recorder?
    /// The file that holds the body.
    private var path: String?
    /// The file that holds the beginning of one, for `-C -`.
    private var leftover: String?

    init(_ order: Order, _ context: RunContext) {
        self.order = order
        self.context = context
        var settings = context.common
        var fetcher = context.fetcher
        var request: Request?
        var problem = order.problem
        var place: String?
        if problem == nil {
            do throws(FetchError) {
                (settings, fetcher) = try context.settings(for: order)
                request = try fetcher.request(order.url ?? "")
                place = try request?.endpoint.place
            } catch {
                problem = error
            }
        }
        self.request = request
        self.problem = problem
        self.settings = settings
        self.fetcher = place.map { context.spread(fetcher, $0) } ?? fetcher
        self.place = place
        destination = BodySink.Destination(order, settings)
    }

    var url: String { order.url ?? "" }

    // MARK: An attempt

    /// Fetches and delivers.
    func attempt() async -> Attempt {
        attempts += 1
        started = started ?? .now
        // This attempt begins anew.
        if let leftover, settings.fetch.resume == .fromStart { unlink(leftover) }
        (log, recorder, path, leftover) = (nil, nil, nil, nil)
        openTarget()
        do throws(FetchError) {
            openRecord()
            var request = try makeRequest()
            if let ending = skipped(request) { return .ended(ending) }
            var hidesInput = false
            while true {
                let ending = try await exchange(request, hidesInput: hidesInput)
                guard ending.outcome == .needsInput, request.input == nil || hidesInput,
                    let head = ending.head, settings.fetch.promptsAllowed, Prompt.isPossible,
                    // That it asks is what `head` has to say.
                    !settings.fetch.wantsHeadAlone
                else { return .ended(ending) }
                let asker = ending.uri.hostAndPort ?? url
                let question = "\(asker): \(head.meta.flatMap { $0.isEmpty ? nil : $0 } ?? "input")"
                guard
                    let answer = Prompt.read(
                        question, isSensitive: head.wantsSensitiveInput,
                        messages: context.messages)
                else {
                    return swposix_pending_signal() != 0 ? .failed(.cancelled) : .ended(ending)
                }
                request = try fetcher.request(ending.uri.description)
                try configure(&request)
                request.input = answer
                hidesInput = head.wantsSensitiveInput
            }
        } catch {
            return .failed(error)
        }
    }

    /// With `--skip-existing`, why there is nothing to fetch.
    private func skipped(_ request: Request) -> Ending? {
        guard settings.output.existing == .enough,
            let path = BodySink.path(destination, request.uri, settings.output),
            FileOutput.isTaken(path)
        else { return nil }
        self.path = FileOutput.absolute(path)
        let note = Note.alreadyThere(path)
        log?.note(.note(note))
        context.messages.note(url, note)
        return Ending(
            outcome: .ok, completeness: .unverified, uri: request.uri, head: nil, bodyBytes: 0)
    }

    /// A place for the output, with nothing of an earlier attempt in it.
    private func openTarget() {
        target =
            context.holdsOutput
            ? .held(Spool(memoryMax: Run.heldBytesMax))
            : .standardOutput(patience)
    }

    /// With whatever reads what the URL has on standard output.
    var patience: Patience { Patience(seconds: settings.fetch.totalSeconds) }

    /// A record to be, if one is wanted.
    private func openRecord() {
        log = log ?? request.map { FetchLog($0.uri) }
        let target = settings.records.areWanted ? target : nil
        guard target != nil || context.ledger != nil || settings.output.writeOut != nil
        else { return }
        let recorder = Recorder(
            order.subject, log, settings.records, RecordScope(settings),
            registry: fetcher.registry, target: target, wording: .commandLine)
        recorder.attempts = attempts
        recorder.queueSeconds = (started ?? .now).seconds(since: arrived)
        self.recorder = recorder
    }

    /// What an attempt asks for.
    ///
    /// - Parameter sendsInput: Whether the data of the settings answers a prompt.
    func makeRequest(sendsInput: Bool = true) throws(FetchError) -> Request {
        guard var request else { throw problem ?? .cancelled }
        try refuseForeignOptions(of: request.scheme)
        if settings.connection.identityName != nil || settings.connection.certificateFile != nil,
            request.scheme.identityScheme == nil
        {
            throw usageError(
                "no identity can be shown over \(request.scheme.name)",
                hint: Identities.hint(fetcher.registry))
        }
        if settings.fetch.referencePatterns != nil && !request.scheme.hasReferences {
            let names = fetcher.registry.schemes.filter(\.hasReferences).map(\.name)
            throw usageError(
                "\(request.scheme.name) has no references",
                hint: "they are for \(names.joined(separator: ", ")), and the https:// URL of a "
                    + "repository")
        }
        try configure(&request)
        if let upload = order.upload {
            request.upload = try PutCommand.upload(bytes: upload.read(), to: request.scheme)
        }
        if sendsInput, let input = try settings.fetch.input?.read() {
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
        if !settings.fetch.options.isEmpty {
            let known = (fetcher.registry[scheme.name]?.handler.options ?? []).filter {
                $0.schemes?.contains(scheme.name) ?? true
            }
            let foreign = settings.fetch.options.keys.subtracting(known.map(\.key))
            name = settings.given.first { foreign.contains($0) }
        }
        if settings.fetch.resume != .fromStart && !scheme.canResume {
            name = settings.given.contains("continue") ? "continue" : "continue-at"
        }
        // A key that must be the server's must not be passed over.
        if settings.given.contains("pin"), (try? request?.endpoint.security) != .tls {
            name = "pin"
        }
        if !scheme.dialsForItself && settings.connection.http.isSpecial {
            name = settings.given.first { option in Option.engine.contains { $0.long == option } }
        }
        guard let name else { return }
        throw usageError("the scheme \(scheme.name) has no use for --\(name)")
    }

    private func configure(_ request: inout Request) throws(FetchError) {
        request.wantsRawBody = settings.fetch.wantsRawBody
        request.options = settings.fetch.options
        request.referencePatterns = settings.fetch.referencePatterns
        request.upload = settings.fetch.upload
        request.wantsItems =
            settings.output.listing == .links
            || settings.records.areWanted && settings.output.listing != nil
            || !destination.isFile && settings.output.laysPagesOut
        request.wantsHeadAlone = settings.fetch.wantsHeadAlone
        request.limits.connectSeconds = settings.fetch.connectSeconds
        request.limits.idleSeconds = settings.fetch.readSeconds
        request.limits.totalSeconds = settings.fetch.totalSeconds
        switch settings.fetch.bodyBytesMax {
        case 0?: request.limits.bodyBytesMax = nil
        case let size?: request.limits.bodyBytesMax = size
        case nil: if destination.isFile { request.limits.bodyBytesMax = nil }
        }
        switch settings.fetch.resume {
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
            !destination.isFile && Environment.isTerminal(1) && !settings.output.isReading
        let meter = ProgressMeter(
            order: order, messages: messages, drawsTransfer: !goesToTerminal,
            run: context.meter)
        let trace = Trace(
            url: url, messages: messages, isVerbose: context.settings.messages.isVerbose,
            hidesInput: hidesInput)
        var watchers: [any EventOutput] = [trace]
        if let recorder { watchers += recorder.outputs(hidesInput: hidesInput) }
        watchers.append(meter)
        if let headers = context.headers { watchers.append(headers) }
        let delivery = Delivery(
            settings.fetch, log: log, watchers: watchers,
            outputs: outputs(to: sink, log: log))
        let request = request.upload == nil ? request : Self.measured(request, by: meter)
        meter.start(context.progress, on: fetcher.loop)
        var canGoOn = false
        defer {
            meter.stop()
            sink.discard(keepsPart: canGoOn)
            leftover = sink.leftover
        }
        let pace = Pace(
            bytesPerSecond: settings.fetch.bytesPerSecond,
            totalSeconds: settings.fetch.totalSeconds, fetcher.loop)
        do throws(FetchError) {
            let ending = try await fetcher.runHere(request, log: log) {
                event async throws(FetchError) in
                guard let pace, case .body(var bytes) = event else {
                    return try delivery.take(event)
                }
                while !bytes.isEmpty {
                    let piece = bytes.prefix(pace.pieceBytes)
                    try delivery.take(.body(piece))
                    bytes = bytes.dropFirst(piece.count)
                    try await pace.pass(piece.count)
                }
            }
            meter.stop()
            try delivery.finish(ending)
            path = sink.path
            canGoOn = ending.outcome == .truncated && request.scheme.canResume
            return ending
        } catch {
            canGoOn =
                request.scheme.canResume
                && [.interrupted, .truncated, .timeout, .connect].contains(error.outcome)
            throw error
        }
    }

    /// The request, whose upload the meter sees pass.
    private static func measured(_ request: Request, by meter: ProgressMeter) -> Request {
        guard let upload = request.upload else { return request }
        var request = request
        meter.upload(of: upload.byteCount)
        request.upload = Request.Upload(
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
    var canBeRepeated: Bool { !(recorder?.hasWritten ?? false) && order.upload == nil }

    /// A remark in the records of `--events`.
    func note(_ note: Note) throws(FetchError) {
        if settings.records.includesEvents { try recorder?.records.write(note) }
    }

    /// Says what went wrong, if anything did, and writes the terminal record.
    ///
    /// - Throws: `write` when standard output fails.
    func finish(_ result: Attempt) async throws(FetchError) -> Outcome {
        isPostponed = result.error?.isPostponed ?? false
        // Nothing has been written for an order that was never tried.
        if attempts == 0 { openTarget() }
        if recorder == nil { openRecord() }
        var outcome = report(result)
        if let leftover {
            context.messages.hint("\(leftover) has what came: -C - goes on from there")
        }
        if let recorder {
            let (line, problem) = try await recorder.finish(result, outcome, path: path)
            if let problem { outcome = report(.failed(problem)) }
            try recorder.records.target?.writeRecord(line)
            try context.settings.output.writeOut?.write(line, to: target)
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

    private func report(_ result: Attempt) -> Outcome {
        switch result {
        case .ended(let ending): return report(ending)
        case .failed(let error):
            if error.outcome != .interrupted {
                say(error.message, error.fingerprints, hint: error.adviceForPerson, error.phase)
            }
            return error.outcome
        }
    }

    /// With the place that a redirect has led to: the URL alone does not tell where it went wrong.
    private func say(
        _ message: String, _ details: [String] = [], hint: String?,
        _ phase: FetchError.Phase = .header
    ) {
        // A file that cannot be written has nothing to do with that place.
        let target = phase == .output ? nil : log?.redirects.last?.to
        let place = target.map { "redirected to \($0.display): " } ?? ""
        context.messages.error(order.url, place + message, details: details, hint: hint)
    }

    private func report(_ ending: Ending) -> Outcome {
        let isRefusal = ending.head.map { $0.replyClass != .success } ?? false
        if isRefusal && settings.fetch.refusal == .accept { return .ok }
        if settings.fetch.failsWithoutMatch && ending.outcome == .ok && ending.bodyBytes == 0 {
            say("no reference matches", hint: "without a pattern all are listed")
            return .permanentFailure
        }
        guard let message = ending.message else { return ending.outcome }
        var hint = ending.remedy?.hint
        switch ending.outcome {
        case .needsInput: hint = "give it with -d TEXT, or keep it secret with -d @FILE"
        case .truncated where destination.isFile && leftover == nil:
            hint = "the file was not written; to keep what came, redirect standard output"
        default: break
        }
        say(message, hint: hint)
        return ending.outcome
    }
}
