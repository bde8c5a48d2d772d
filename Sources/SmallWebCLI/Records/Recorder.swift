// SPDX-License-Identifier: MIT
internal import SmallWeb

/// Makes the terminal record of one attempt. docs/json.md describes it, docs/schema/v1.json defines
/// it.
final class Recorder {
    static let version = 1

    private let order: Order
    private let settings: Settings
    private let registry: Registry?
    private let log: FetchLog?
    private let body: RecordedBody
    /// Where records go before the terminal one.
    let records: RecordStream
    /// For `refs` and `links`: the records of what is listed.
    private let refs: RefRecords?
    let links: LinkRecords?
    /// How often the request was tried, this time included.
    var attempts = 0
    var queueSeconds = 0.0

    /// - Parameters:
    ///   - log: `nil` when the order could not become a request.
    ///   - registry: Knows who serves a scheme; `nil` when there was nothing to serve.
    ///   - target: Where records go before the terminal one; `nil` for nowhere.
    init(
        _ order: Order, _ log: FetchLog?, settings: Settings, registry: Registry?,
        target: BodyTarget?
    ) {
        self.order = order
        self.log = log
        self.settings = settings
        self.registry = registry
        records = RecordStream(order: order, target: target)
        body = RecordedBody(records, settings: settings)
        refs = settings.listing == .refs ? RefRecords(records) : nil
        links = settings.listing == .links ? LinkRecords(records) : nil
    }

    /// What gets every event of an exchange.
    ///
    /// - Parameter hidesInput: Whether the request line must not be shown.
    func outputs(hidesInput: Bool) -> [any Output] {
        var outputs: [any Output] = [body]
        if settings.writesEvents, let log {
            outputs.insert(EventRecords(records, log: log, hidesInput: hidesInput), at: 0)
        }
        if let refs { outputs.append(refs) }
        return outputs
    }

    /// Whether something has been written that cannot be taken back.
    var hasWritten: Bool { body.hasWritten || refs?.count ?? 0 > 0 }

    /// - Parameters:
    ///   - outcome: What the run makes of `result`.
    ///   - path: The file that the body is in, if it is in one.
    /// - Returns: The line, and why the body could not be kept, if it could not.
    /// - Throws: `write` when the last chunk cannot be written.
    func finish(
        _ result: Result<Ending, FetchError>, _ outcome: Outcome, path: String?
    ) async throws(FetchError) -> ([UInt8], FetchError?) {
        try body.finishChunks()
        try await links?.drain()
        do throws(FetchError) {
            return (line(result, outcome, try await body.form(path: path, log)), nil)
        } catch {
            return (line(.failure(error), error.outcome, .omitted("not-written")), error)
        }
    }

    private func line(
        _ result: Result<Ending, FetchError>, _ outcome: Outcome, _ form: RecordedBody.Form
    ) -> [UInt8] {
        var writer = JSONWriter(wanted: settings.recordFields)
        writer.object { writer in
            switch result {
            case .success(let ending): response(ending, outcome, form, &writer)
            case .failure(let error): failure(error, outcome, form, &writer)
            }
        }
        return writer.line
    }

    /// Says why nothing could be asked of a URL, with `--json` also by its `error` record.
    ///
    /// - Throws: `write`.
    static func refuse(
        _ order: Order, _ error: FetchError, _ settings: Settings
    ) throws(FetchError) {
        Messages(settings: settings).error(order.url, error)
        guard settings.writesJSON else { return }
        let recorder = Recorder(order, nil, settings: settings, registry: nil, target: nil)
        let line = recorder.line(.failure(error), error.outcome, .null)
        try StandardStream.output.write(line[...], isWhole: true)
    }

    private func plugin(_ scheme: String) -> String? {
        registry?[scheme].map(OneURL.name)
    }

    private func response(
        _ ending: Ending, _ outcome: Outcome, _ form: RecordedBody.Form, _ writer: inout JSONWriter
    ) {
        begin("response", outcome, &writer)
        writer.member("final_url", ending.uri.description)
        writer.member("scheme", ending.uri.scheme)
        writer.member("plugin", plugin(ending.uri.scheme))
        let head = log?.head
        writer.member("status", head?.status)
        writer.member("class", (head?.replyClass ?? .success).rawValue)
        writeMeta(&writer)
        let type = head?.mediaType
        writer.member("mime", type?.essence)
        let isSaid = type != nil && !(head?.header.isEmpty ?? true)
        writer.member("mime_source", head?.mediaTypeSource?.rawValue ?? (isSaid ? "server" : nil))
        writer.member("charset", type?.charset)
        writer.member("lang", type?.parameters["lang"])
        if let fields = head?.fields { writer.members(of: fields) }
        writer.member("size", log?.bodyBytes)
        let isComplete: Bool? =
            switch ending.completeness {
            case .complete: settings.wantsHeadAlone ? nil : true
            case .unverified: nil
            case .truncated: false
            }
        writer.member(
            body: form, sha256: body.sha256(), isComplete: isComplete,
            forcesText: settings.bodyForm == .text)
        writeConnection(refusal: nil, ending, &writer)
        write(ending.timings, &writer)
        if let facts = head?.facts { writer.members(of: facts) }
        writer.member("retry_after", seconds: head?.retryAfter)
        var warnings = log?.notes ?? []
        if let message = ending.message,
            ending.outcome == .truncated || ending.outcome == .redirectRefused
        {
            warnings.append(Note(ending.outcome.rawValue, message))
        }
        writer.members(of: warnings)
    }

    private func failure(
        _ error: FetchError, _ outcome: Outcome, _ form: RecordedBody.Form,
        _ writer: inout JSONWriter
    ) {
        begin("error", outcome, &writer)
        writer.member("final_url", log?.uri.description)
        let scheme = log?.uri.scheme ?? order.url.flatMap { try? URI(parsing: $0).scheme }
        writer.member("scheme", scheme)
        writer.member("plugin", log.flatMap { plugin($0.uri.scheme) })
        writer.member("status", Int?.none)
        writer.member("class", String?.none)
        writer.member("error") { writer in
            writer.object { writer in
                writer.member("code", error.outcome.rawValue)
                writer.member("message", error.message)
                writer.member("phase", error.phase.rawValue)
                writer.member("retryable", error.isRetryable)
                writer.member("errno", error.errnoName)
                writer.member("hint", error.hint)
                writer.member("expected", error.expected)
                writer.member("actual", error.actual)
                if let line = order.line { writer.member("line", line) }
            }
        }
        writer.member("partial") { writer in
            guard let log, let head = log.head else { return writer.null() }
            writer.object { writer in
                writer.member("status", head.status)
                writeMeta(&writer)
                writer.member("mime", head.mediaType?.essence)
                writer.member("size", log.bodyBytes)
                writer.member(
                    body: form, sha256: body.sha256(), isComplete: false,
                    forcesText: settings.bodyForm == .text)
            }
        }
        let isRefusal = error.outcome == .trustChanged || error.outcome == .untrusted
        writeConnection(refusal: isRefusal ? error : nil, nil, &writer)
        var timings = log?.timings ?? Timings()
        timings.end()
        write(timings, &writer)
        writer.member("retry_after", seconds: log?.head?.retryAfter)
        writer.members(of: log?.notes ?? [])
    }

    private func begin(_ type: String, _ outcome: Outcome, _ writer: inout JSONWriter) {
        writer.begin(type, order)
        writer.member("ok", outcome == .ok)
        writer.member("exit", Int(outcome.exitStatus))
        writer.member("outcome", outcome.rawValue)
        let url = log?.origin.description ?? order.url
        writer.member("url", url)
        if let raw = order.rawURL { writer.member("url_base64") { $0.value(base64: raw) } }
        if let input = order.url, input != url { writer.member("url_input", input) }
    }

    /// The protocol's own text; as it came, too, when it is not UTF-8.
    private func writeMeta(_ writer: inout JSONWriter) {
        writer.member("meta", log?.head?.meta)
        if let raw = log?.head?.rawMeta { writer.member("meta_base64") { $0.value(base64: raw) } }
    }

    private func write(_ timings: Timings, _ writer: inout JSONWriter) {
        writer.member("date", UTCDate.second(Int(timings.startTime)))
        writer.member("time") { writer in
            writer.object { writer in
                writer.member("start", seconds: timings.startTime)
                writer.member("queue", seconds: queueSeconds)
                writer.member("namelookup", seconds: timings.nameLookup)
                writer.member("connect", seconds: timings.connect)
                writer.member("appconnect", seconds: timings.appConnect)
                writer.member("pretransfer", seconds: timings.preTransfer)
                writer.member("starttransfer", seconds: timings.startTransfer)
                writer.member("redirect", seconds: timings.redirect)
                writer.member("total", seconds: timings.total)
            }
        }
        writer.member("bytes") { writer in
            guard let traffic = log?.traffic else { return writer.null() }
            writer.object { writer in
                writer.member("sent", traffic.sent)
                writer.member("received", traffic.received)
            }
        }
        writer.member("attempts", attempts)
        if let refs { writer.member("refs", refs.count) }
        if let links { writer.member("links", links.count) }
    }

    private func writeConnection(
        refusal: FetchError?, _ ending: Ending?, _ writer: inout JSONWriter
    ) {
        writer.member("redirects") { writer in
            writer.array(log?.redirects ?? []) { writer, redirect in
                writer.object { $0.members(of: redirect) }
            }
        }
        let scheme = log.flatMap { registry?[$0.uri.scheme]?.scheme }
        writer.members(of: log?.connection, scheme: scheme, ending: ending, change: refusal)
    }
}
