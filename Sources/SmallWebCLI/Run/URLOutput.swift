// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb
internal import SmallWebArchive
internal import SmallWebRecords

/// Delivers the reply to one request: to standard output or a file, records or the terminal. Asks
/// the user for input on the server's request.
final class URLOutput: Output {
    /// Memory limit of one URL's buffer in bytes; more goes to a temporary file.
    private static let heldBytesMax = 65_536

    let context: RunContext
    let asked: RequestLine
    let plan: URLPlan
    var settings: Settings { plan.settings }
    var url: String { asked.url ?? "" }
    /// Destination of this URL's standard output.
    private var target = BodyTarget.standardOutput(Patience())
    private(set) var recorder: Recorder?
    private(set) var log: FetchLog?
    /// Buffered header of the last attempt.
    private var header: HeldHeader?
    private var attempted: Attempted?
    private var path: String?
    /// True if the file was left alone, as nothing has changed.
    private(set) var isUnchanged = false
    /// A file with an incomplete body, for `-C -`.
    private(set) var leftover: String?
    /// What a retry may ask for the rest of, with its bytes as they were recorded.
    private var part: (left: Part, body: RecordedBody?)?
    /// False once a server did not send the rest.
    private var mayContinue = true
    /// True while an attempt asks for the rest of ``part``.
    private var continues = false
    /// Set by ``conclude(_:_:)``: the outcome, and true if the failure concerns this URL alone.
    private var (outcome, endsAlone) = (Outcome.ok, false)
    private var record: Spool?

    /// Consumers of one exchange's events. Answering a prompt starts a new exchange.
    private struct Attempted {
        let request: Request
        /// True for input that was typed unseen, which may be asked for again.
        let isUnseen: Bool
        let sink: BodySink
        /// `nil` if there is nothing to draw on.
        let meter: ProgressMeter?
    }

    /// ``leftover`` as an attempt has left it, with its ``Head/Properties/bodyState``.
    private struct Part: Equatable {
        let file: FileIdentity
        let count: Int
        let state: String
    }

    init(_ asked: RequestLine, _ plan: URLPlan, _ context: RunContext) {
        (self.asked, self.plan, self.context) = (asked, plan, context)
    }

    // MARK: An attempt

    func begin(_ job: Job) throws(FetchError) -> Step {
        continues = part.map { mayContinue && left($0.left.state) == $0.left } ?? false
        if !continues { part = nil }
        // Starting from the beginning makes the file left by the last attempt useless.
        if !continues {
            if let leftover, let uri = job.request?.uri, !plan.continuesFile(of: uri) {
                unlink(leftover)
            }
            leftover = nil
        }
        (log, recorder, path, attempted) = (nil, nil, nil, nil)
        header = context.holdsHeaders ? HeldHeader() : nil
        openTarget()
        openRecord(job)
        for note in plan.notes {
            log?.note(.note(note))
            if job.attempts == 1 { context.messages.note(url, note) }
        }
        guard let made = job.request else { throw job.problem ?? .cancelled }
        var request = try plan.complete(made, for: asked, job.fetcher.registry)
        if let part {
            (request.resumeOffset, request.bodyState) = (part.left.count, part.left.state)
            request.validator = nil
            request.limits.bodyBytesMax = request.limits.bodyBytesMax.map {
                max(0, $0 - part.left.count)
            }
        }
        return skipped(request).map(Step.end) ?? open(request, on: job.fetcher)
    }

    /// The result of `--skip-existing`, if the file exists.
    private func skipped(_ request: Request) -> Ending? {
        guard let path = plan.path(of: request.uri), plan.isEnough(path, of: request.uri)
        else { return nil }
        self.path = FileOutput.absolute(path)
        let note = Note.alreadyThere(path)
        log?.note(.note(note))
        context.messages.note(url, note)
        return Ending(
            outcome: .ok, completeness: .unverified, uri: request.uri, head: nil, bodyBytes: 0)
    }

    /// ``leftover`` as it is now.
    ///
    /// - Parameter state: Where the file system does not keep it.
    private func left(_ state: String?) -> Part? {
        guard let leftover, let path = log.flatMap({ plan.path(of: $0.origin) }),
            let file = FileIdentity(path: leftover), let before = try? PartFile.beginning(of: path),
            before.part.flatMap(FileIdentity.init(path:)) == file,
            let state = before.state ?? state
        else { return nil }
        return Part(file: file, count: before.count, state: state)
    }

    /// True if a retry may continue the part that has come. A refusal that is delivered must not be
    /// appended, nor may the links of the beginning be left out.
    private var keepsRest: Bool {
        let (fetch, output) = (settings.fetch, settings.output)
        return (continues || log?.head?.isStateExact ?? false)
            && fetch.resume == .fromStart && fetch.refusal == .fail
            && !output.withLinks && !output.followsLinks
    }

    /// Creates an output without anything of an earlier attempt.
    private func openTarget() {
        target =
            context.holdsOutput
            ? .held(Spool(memoryMax: Self.heldBytesMax))
            : .standardOutput(patience)
    }

    /// Timeout for slow readers of standard output.
    private var patience: Patience { Patience(seconds: settings.fetch.totalSeconds) }

    private func openRecord(_ job: Job) {
        log = log ?? job.request.map { FetchLog($0.uri) }
        let target = plan.writesRecords ? target : nil
        guard
            target != nil || context.ledger != nil || settings.output.writeOut != nil
                || settings.records.slice != nil
        else { return }
        var scope = plan.recordScope
        if let part {
            if part.body?.byteCount == part.left.count { scope.beginning = part.body }
            scope.isRest = scope.beginning == nil
        }
        let recorder = Recorder(
            asked.subject, log, settings.records.options, scope,
            registry: job.fetcher.registry, target: target, wording: .commandLine)
        recorder.attempts = job.attempts
        recorder.queueSeconds = job.queueSeconds
        self.recorder = recorder
    }

    private func open(
        _ request: Request, on fetcher: Fetcher, isUnseen: Bool = false
    ) -> Step {
        let (messages, log) = (context.messages, log ?? FetchLog(request.uri))
        let sink = BodySink(
            plan, target: target, uri: log.origin, offset: request.resumeOffset ?? 0,
            isRetry: continues,
            canResume: request.scheme.canResume && request.upload == nil && request.input == nil)
        let goesToTerminal = plan.isSeen && !settings.output.isReading
        var watchers: [any EventSink] = []
        if context.settings.messages.showsTrace {
            watchers.append(
                Trace(
                    url: url, messages: messages, isVerbose: context.settings.messages.isVerbose))
        }
        if let recorder { watchers += recorder.sinks }
        var meter: ProgressMeter?
        if context.progress != .none || context.meter != nil {
            let drawn = ProgressMeter(
                asked: asked, messages: messages, drawsTransfer: !goesToTerminal,
                offset: request.resumeOffset ?? 0, run: context.meter)
            watchers.append(drawn)
            meter = drawn
        }
        if let header {
            watchers.append(header)
        } else if let headers = context.headers {
            watchers.append(headers)
        }
        attempted = Attempted(request: request, isUnseen: isUnseen, sink: sink, meter: meter)
        meter?.start(context.progress, on: fetcher.loop)
        return .fetch(
            Reply(
                to: meter.map { Self.measured(request, by: $0) } ?? request, log,
                fetcher.registry, watchers: watchers, sinks: sinks(to: sink, log: log),
                pace: pace(fetcher.loop)))
    }

    /// `nil` without a limit of the rate.
    private func pace(_ loop: EventLoop) -> Pace? {
        guard settings.fetch.bytesPerSecond > 0 else { return nil }
        return Pace(
            bytesPerSecond: settings.fetch.bytesPerSecond,
            totalSeconds: settings.fetch.totalSeconds, loop)
    }

    /// The request, with progress of its upload reported to `meter`.
    private static func measured(_ request: Request, by meter: ProgressMeter) -> Request {
        guard let upload = request.upload else { return request }
        var request = request
        meter.upload(of: upload.byteCount)
        request.upload?.report = { meter.move($0) }
        return request
    }

    func end(_ result: Attempt) {
        guard let attempted else { return }
        attempted.meter?.stop()
        if result.ending != nil {
            path = attempted.sink.path
            settings.output.page?.path = path
            isUnchanged = attempted.sink.isUnchanged
            recorder?.isUnchanged = isUnchanged
            if plan.form == .page { recorder?.body.renderedBytes = attempted.sink.bytesWritten }
        }
        if settings.output.existing == .updated, let ending = result.ending, let path,
            let head = ending.head, !head.isUnchanged
        {
            let isOfRequest = ending.uri == attempted.request.uri
            KeptFile.note(isOfRequest ? head.validator : nil, of: attempted.request, in: path)
        }
        let isPart =
            [.interrupted, .truncated, .timeout, .connect, .receive].contains(result.outcome)
        let old = continues ? leftover : nil
        let isWritten = attempted.sink.bytesWritten != nil
        // Nothing has come of the rest: it may come yet.
        if old != nil, !isWritten, isPart || result.outcome.isRetryable { return }
        attempted.sink.discard(keepsPart: isPart)
        leftover = attempted.sink.leftover
        let state = continues ? part?.left.state : log?.head?.bodyState
        part = keepsRest ? left(state).map { ($0, recorder?.body) } : nil
        if let old, leftover == nil, !isWritten || result.outcome != .ok,
            PartFile.mayReplace(old)
        {
            unlink(old)
        }
    }

    func beginsAgain(after result: Attempt) -> Bool {
        guard continues,
            [.permanentFailure, .protocolError, .redirectRefused, .tooManyRedirects].contains(
                result.outcome)
        else { return false }
        mayContinue = false
        return true
    }

    func step(after ending: Ending, _ fetcher: Fetcher) throws(FetchError) -> Step {
        guard ending.outcome == .needsInput, let attempted,
            attempted.request.input == nil || attempted.isUnseen,
            fetcher.registry[ending.uri.scheme]?.scheme.input != nil,
            let head = ending.head, settings.fetch.promptsAllowed, Prompt.isPossible,
            // The prompt itself is the result of `head`.
            attempted.request.wants(head) != .headAlone
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
        try plan.configure(&request, fetcher.registry)
        request.input = answer
        request.isInputSecret = head.wantsSensitiveInput
        return open(request, on: fetcher, isUnseen: head.wantsSensitiveInput)
    }

    // MARK: The end

    var canBeRepeated: Bool { !(recorder?.hasWritten ?? false) }

    func repeats(_ result: Attempt, _ retry: Retry) throws(FetchError) {
        let tenths = Int((retry.waitSeconds * 10).rounded(.up))
        let next =
            "attempt \(retry.attempts) of \(retry.attemptsMax) failed, "
            + "trying again in \(tenths / 10).\(tenths % 10) s"
            + (part.map { " from byte \($0.left.count)" } ?? "")
        let reason = result.error?.message ?? result.ending?.message
        context.messages.trace("*", next + (reason.map { ": " + $0 } ?? ""))
        guard settings.records.options.includesEvents else { return }
        try recorder?.records.write(Note("retry", next))
    }

    func conclude(_ result: Attempt, _ job: Job) async throws(FetchError) -> Outcome {
        do throws(FetchError) {
            try context.settings.archive.writer?.check()
        } catch {
            // Records must not report success for an exchange missing from the archive.
            let isCancelled = result.outcome == .interrupted
            _ = try await closeRecord(isCancelled ? result : .failed(error), job)
            throw error
        }
        return try await closeRecord(result, job)
    }

    private func closeRecord(_ result: Attempt, _ job: Job) async throws(FetchError) -> Outcome {
        endsAlone = result.error?.isPostponed ?? false || job.isCancelled
        // A request that was never tried has no output yet.
        if job.attempts == 0 { openTarget() }
        if recorder == nil { openRecord(job) }
        var message: String?
        (outcome, message) = report(result)
        if let leftover, let uri = job.request?.uri {
            let path = plan.path(of: uri)
            let names = path.map { [$0, resolvingLinks($0)] } ?? []
            let isNamed = names.contains { [$0, FileOutput.partName($0)].contains(leftover) }
            // Otherwise the reply has named it.
            let place = settings.output.directory.map { $0 + "/" } ?? ""
            let name = leftover.dropFirst(leftover.hasPrefix(place) ? place.count : 0).dropLast(5)
            let options = isNamed ? context.isBulk ? " --skip-existing" : "" : " -o \(name)"
            context.messages.hint(
                "\(leftover) has the part that came: -C -\(options) continues it")
        }
        guard let recorder else { return outcome }
        let (line, problem) = try await recorder.finish(
            result, outcome, message: message, path: path)
        if let problem { (outcome, message) = report(.failed(problem)) }
        if !settings.records.areOnlyLinks || outcome != .ok {
            try recorder.records.target?.writeRecord(line)
        }
        if let range = settings.records.slice, outcome != .interrupted, !plan.writesRecords {
            try writePart(of: recorder.body, range)
        }
        let format = context.settings.output.writeOut
        for (text, toError) in try format?.pieces(of: line, log?.head) ?? [] {
            if toError { try StandardStream.error.write(text) } else { try target.write(text) }
        }
        // An interrupted request is repeated by the next run, so the ledger must not have it.
        if context.ledger != nil && outcome != .interrupted {
            let spool = Spool(memoryMax: Self.heldBytesMax)
            try spool.append(line[...])
            record = spool
        }
        return outcome
    }

    /// Writes the part of a page, and says where the next one begins.
    private func writePart(of body: RecordedBody, _ range: TextRange) throws(FetchError) {
        guard let part = body.part else { return }
        var filter = TerminalText.Filter()
        try target.write(
            plan.isSeen ? filter.filter(part.bytes, isLast: true)[...] : part.bytes)
        guard let next = part.next else { return }
        let place = context.isBulk ? "\(URI.shown(url)): " : ""
        let size = part.total.map { " of \($0)" } ?? ""
        let hash = body.hash.map { ":\($0.prefix(16))" } ?? ""
        context.messages.hint(
            "\(place)the text goes on at byte \(next)\(size): "
                + "--slice \(next):\(range.count)\(hash)")
    }

    /// Writes the buffered output and then the ledger's record, so that the ledger has delivered
    /// results only.
    func deliver() async throws(FetchError) {
        let writesRecords = context.writesRecords
        // Stop at the same place as a serial run.
        if !writesRecords && outcome == .interrupted && !endsAlone { context.isClosed = true }
        // Not done until standard output has received the body.
        guard !context.isClosed else { return }
        if let header = header?.bytes { try context.headers?.write(header) }
        if case .held(let spool) = target {
            if let page = settings.output.page {
                page.text = spool
            } else {
                // Records are written in whole lines, also at a signal.
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

extension URLOutput {
    /// - Returns: The outcome in this run, and the error message of a failure.
    func report(_ result: Attempt) -> (Outcome, message: String?) {
        if let page = settings.output.page, page.isJudgedByCaller {
            page.attempt = result
            return (.ok, nil)
        }
        switch result {
        case .ended(let ending): return report(ending)
        case .failed(let error):
            told.failure(error)
            return (error.outcome, error.fullMessage)
        }
    }

    /// Lazy, as most fetches succeed.
    private var told: FetchReport {
        FetchReport(messages: context.messages, url: asked.url, log: log)
    }

    private func report(_ ending: Ending) -> (Outcome, message: String?) {
        let isRefusal = ending.head.map { $0.replyClass != .success } ?? false
        if isRefusal && settings.fetch.refusal == .accept && settings.fetch.keepsRefusals {
            return (.ok, nil)
        }
        if ending.redirectTarget != nil { return (.ok, nil) }
        if settings.fetch.failsWithoutMatch && ending.outcome == .ok && ending.bodyBytes == 0 {
            let message = "no reference matches"
            told.say(.permanentFailure, message, hint: "without a pattern all are listed")
            return (.permanentFailure, message)
        }
        guard ending.message != nil else { return (ending.outcome, nil) }
        let isUnwritten =
            ending.outcome == .truncated && plan.destination.isFile && leftover == nil
        told.refusal(
            ending,
            hint: isUnwritten
                ? "the file was not written; to keep the part that came, redirect standard output"
                : nil)
        return (ending.outcome, ending.message)
    }
}
