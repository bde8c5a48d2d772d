// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb
internal import SmallWebArchive
internal import SmallWebRecords

/// Where the reply to one order goes: standard output or a file, records, the terminal. What its
/// server asks for, a person is asked for.
final class URLOutput: Output {
    /// What one URL may hold in memory; more goes to a temporary file.
    private static let heldBytesMax = 65_536

    let context: RunContext
    private(set) var plan: RequestPlan
    var order: Order { plan.order }
    var settings: URLSettings { plan.settings }
    var url: String { order.url ?? "" }
    /// What standard output means for this URL.
    private var target = BodyTarget.standardOutput(Patience())
    private(set) var recorder: Recorder?
    /// Of the last attempt.
    private(set) var log: FetchLog?
    /// Of the last attempt, where it is held back.
    private var header: HeldHeader?
    /// The exchange that is under way, or was the last.
    private var exchange: Exchange?
    /// The file that holds the body.
    private var path: String?
    /// The file that holds the beginning of one, for `-C -`.
    private(set) var leftover: String?
    /// After ``conclude(_:_:)``: how it ended, and whether that concerns it alone.
    private var (outcome, endsAlone) = (Outcome.ok, false)
    /// Its terminal record, for the ledger.
    private var record: Spool?

    /// What takes the events of one exchange; an answer to a prompt leads to another.
    private struct Exchange {
        let request: Request
        let hidesInput: Bool
        let sink: BodySink
        /// Where there is something to draw on.
        let meter: ProgressMeter?
        let delivery: Delivery
        let pace: Pace?
    }

    init(_ plan: RequestPlan, _ context: RunContext) { (self.plan, self.context) = (plan, context) }

    // MARK: An attempt

    func begin(_ job: Job) throws(FetchError) -> Step {
        // This attempt begins from the start.
        if let leftover, !plan.destination.continues(settings.fetch.resume) { unlink(leftover) }
        (log, recorder, path, leftover, exchange) = (nil, nil, nil, nil, nil)
        header = context.holdsHeaders ? HeldHeader() : nil
        openTarget()
        openRecord(job)
        for note in plan.notes {
            log?.note(.note(note))
            if job.attempts == 1 { context.messages.note(url, note) }
        }
        let request = try plan.makeRequest()
        return skipped(request).map(Step.end) ?? open(request, on: job.fetcher, hidesInput: false)
    }

    /// With `--skip-existing`, why there is nothing to fetch.
    private func skipped(_ request: Request) -> Ending? {
        guard let path = BodySink.path(plan.destination, request.uri, settings.output),
            BodySink.isEnough(path, request.uri, settings.output)
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
            ? .held(Spool(memoryMax: Self.heldBytesMax))
            : .standardOutput(patience)
    }

    /// With whatever reads what the URL has on standard output.
    private var patience: Patience { Patience(seconds: settings.fetch.totalSeconds) }

    /// A record to be, if one is wanted.
    private func openRecord(_ job: Job) {
        log = log ?? plan.request.map { FetchLog($0.uri) }
        let target = settings.records.areWanted ? target : nil
        guard target != nil || context.ledger != nil || settings.output.writeOut != nil
        else { return }
        let recorder = Recorder(
            order.subject, log, settings.records.options, RecordScope(settings),
            registry: job.fetcher.registry, target: target, wording: .commandLine)
        recorder.attempts = job.attempts
        recorder.queueSeconds = job.queueSeconds
        self.recorder = recorder
    }

    private func open(_ request: Request, on fetcher: Fetcher, hidesInput: Bool) -> Step {
        let (messages, log) = (context.messages, log ?? FetchLog(request.uri))
        let sink = BodySink(plan.destination, target: target, uri: log.origin, settings: settings)
        let goesToTerminal =
            !plan.destination.isFile && Environment.isTerminal(1) && !settings.output.isReading
        var watchers: [any EventOutput] = []
        if context.settings.messages.showsTrace {
            watchers.append(
                Trace(
                    url: url, messages: messages, isVerbose: context.settings.messages.isVerbose,
                    hidesInput: hidesInput))
        }
        if let recorder { watchers += recorder.outputs(hidesInput: hidesInput) }
        var meter: ProgressMeter?
        if context.progress != .none || context.meter != nil {
            let drawn = ProgressMeter(
                order: order, messages: messages, drawsTransfer: !goesToTerminal,
                offset: request.resumeOffset ?? 0, run: context.meter)
            watchers.append(drawn)
            meter = drawn
        }
        if let header {
            watchers.append(header)
        } else if let headers = context.headers {
            watchers.append(headers)
        }
        exchange = Exchange(
            request: request, hidesInput: hidesInput, sink: sink, meter: meter,
            delivery: Delivery(
                settings.fetch, log: log, watchers: watchers,
                outputs: outputs(to: sink, log: log, fetcher.registry)),
            pace: pace(fetcher.loop))
        meter?.start(context.progress, on: fetcher.loop)
        return .fetch(meter.map { Self.measured(request, by: $0) } ?? request, log)
    }

    /// `nil` where none is asked for.
    private func pace(_ loop: EventLoop) -> Pace? {
        guard settings.fetch.bytesPerSecond > 0 else { return nil }
        return Pace(
            bytesPerSecond: settings.fetch.bytesPerSecond,
            totalSeconds: settings.fetch.totalSeconds, loop)
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
        request.upload?.rewind = upload.rewind
        return request
    }

    var pace: Pace? { exchange?.pace }

    func take(_ event: Event) throws(FetchError) { try exchange?.delivery.take(event) }

    func finish(_ ending: Ending) throws(FetchError) {
        exchange?.meter?.stop()
        try exchange?.delivery.finish(ending)
        path = exchange?.sink.path
        settings.output.page?.path = path
        close(keepsPart: ending.outcome == .truncated)
    }

    func fail(_ error: FetchError) {
        close(keepsPart: [.interrupted, .truncated, .timeout, .connect].contains(error.outcome))
    }

    private func close(keepsPart: Bool) {
        guard let sink = exchange?.sink else { return }
        exchange?.meter?.stop()
        sink.discard(keepsPart: keepsPart && exchange?.request.scheme.canResume ?? false)
        leftover = sink.leftover
    }

    func step(after ending: Ending, _ fetcher: Fetcher) throws(FetchError) -> Step {
        guard ending.outcome == .needsInput, let exchange,
            exchange.request.input == nil || exchange.hidesInput,
            let head = ending.head, settings.fetch.promptsAllowed, Prompt.isPossible,
            // That it asks is what `head` has to say.
            !settings.fetch.wantsHeadAlone
        else { return .end(ending) }
        let asker = ending.uri.hostAndPort ?? url
        let question = "\(asker): \(head.meta.flatMap { $0.isEmpty ? nil : $0 } ?? "input")"
        guard
            let answer = Prompt.read(
                question, isSensitive: head.wantsSensitiveInput, messages: context.messages)
        else {
            if swposix_pending_signal() != 0 { throw .cancelled }
            return .end(ending)
        }
        var request = try fetcher.request(ending.uri.description)
        try plan.configure(&request)
        request.input = answer
        request.isInputSecret = head.wantsSensitiveInput
        return open(request, on: fetcher, hidesInput: head.wantsSensitiveInput)
    }

    // MARK: The end

    var canBeRepeated: Bool { !(recorder?.hasWritten ?? false) }

    func repeats(_ result: Attempt, _ retry: Retry) throws(FetchError) {
        let tenths = Int((retry.waitSeconds * 10).rounded(.up))
        let next =
            "attempt \(retry.attempts) of \(retry.attemptsMax) failed, "
            + "trying again in \(tenths / 10).\(tenths % 10) s"
        let reason = result.error?.message ?? result.ending?.message
        context.messages.trace("*", next + (reason.map { ": " + $0 } ?? ""))
        guard settings.records.options.includesEvents else { return }
        try recorder?.records.write(Note("retry", next))
    }

    /// Says what went wrong, if anything did, and writes the terminal record.
    func conclude(_ result: Attempt, _ job: Job) async throws(FetchError) -> Outcome {
        do throws(FetchError) {
            try context.settings.archive.writer?.check()
        } catch {
            // A record of success would speak of what is not there.
            let isCancelled = result.outcome == .interrupted
            _ = try await closeRecord(isCancelled ? result : .failed(error), job)
            throw error
        }
        return try await closeRecord(result, job)
    }

    private func closeRecord(_ result: Attempt, _ job: Job) async throws(FetchError) -> Outcome {
        endsAlone = result.error?.isPostponed ?? false || job.isCancelled
        // Nothing has been written for an order that was never tried.
        if job.attempts == 0 { openTarget() }
        if recorder == nil { openRecord(job) }
        var message: String?
        (outcome, message) = report(result)
        if let leftover, let uri = plan.request?.uri {
            // Without a name of its own, the URL does not lead to the file.
            let isNamed = BodySink.path(plan.destination, uri, settings.output) != nil
            let options =
                !isNamed ? "-o NAME -C -" : context.isBulk ? "-C - --skip-existing" : "-C -"
            context.messages.hint("\(leftover) has the part that came: \(options) continues it")
        }
        guard let recorder else { return outcome }
        let (line, problem) = try await recorder.finish(result, outcome, path: path)
        if let problem { (outcome, message) = report(.failed(problem)) }
        try recorder.records.target?.writeRecord(line)
        let format = context.settings.output.writeOut
        for (text, toError) in try format?.pieces(of: line, error: message) ?? [] {
            if toError { try StandardStream.error.write(text) } else { try target.write(text) }
        }
        // A request that was given up is not done: the ledger keeps its record.
        if context.ledger != nil && outcome != .interrupted {
            let spool = Spool(memoryMax: Self.heldBytesMax)
            try spool.append(line[...])
            record = spool
        }
        return outcome
    }

    /// Hands out what was held back, and then notes it in the ledger: what the ledger has is
    /// delivered.
    func deliver() async throws(FetchError) {
        let writesRecords = context.settings.records.areWanted
        // Where a serial run would have stopped, this one stops too.
        if !writesRecords && outcome == .interrupted && !endsAlone { context.isClosed = true }
        // What standard output did not get is not done.
        guard !context.isClosed else { return }
        if let header = header?.bytes { try context.headers?.write(header) }
        if case .held(let spool) = target {
            if let page = settings.output.page {
                page.text = spool
            } else {
                // Records come in whole lines; half of one must not stay behind at a signal.
                let patience = patience
                try await spool.drain { bytes throws(FetchError) in
                    try StandardStream.output.write(bytes, isWhole: writesRecords, patience)
                }
            }
        }
        if !writesRecords && context.settings.run.policy.failsEarly && outcome != .ok {
            context.isClosed = true
        }
        guard let record, let ledger = context.ledger else { return }
        try ledger.append(try await record.takeAll())
    }
}
