// SPDX-License-Identifier: MIT
internal import SmallWeb

/// Folds the events of one attempt into its terminal record, and writes the records that come
/// before it. docs/json.md describes them, docs/schema/v1.json defines them.
final class Recorder {
    static let version = 1

    private let order: Order
    private let settings: Settings
    private let request: Request?
    private let plugin: String?
    /// Where records go before the terminal one; `nil` for nowhere.
    private let target: BodyTarget?
    private let attempts: Int
    private let queueSeconds: Double
    private var timings = Timings()
    private var connection: Connection?
    private var redirects: [Redirect] = []
    private var head: Head?
    private var warnings: [Note] = []
    private var chunks = ChunkWriter()
    private var refsCount = 0
    /// The records of links, which go out in one piece.
    private let links = Spool(memoryMax: Run.heldBytesMax)
    private var linksCount = 0
    private let linksBytesMax: Int
    let body: RecordedBody

    /// - Parameters:
    ///   - request: `nil` when the order could not become one.
    ///   - plugin: The handler's name.
    ///   - attempts: How often the request was tried, this time included.
    ///   - linksBytesMax: What the records of links may take in all. A few bytes of a page can make
    ///     a record of a kilobyte.
    init(
        _ order: Order, settings: Settings, request: Request?, plugin: String?,
        target: BodyTarget?, attempts: Int, queueSeconds: Double, linksBytesMax: Int = 256 << 20
    ) {
        self.linksBytesMax = linksBytesMax
        self.order = order
        self.settings = settings
        self.request = request
        self.plugin = plugin
        self.target = settings.writesJSON ? target : nil
        self.attempts = attempts
        self.queueSeconds = queueSeconds
        body = RecordedBody(settings: settings)
    }

    // MARK: Events

    /// - Parameter isDelivered: Whether a body is wanted, as far as the head tells.
    func take(_ event: Event, isDelivered: Bool, hidesInput: Bool) throws(FetchError) {
        timings.note(event)
        switch event {
        case .connected(let connection): self.connection = connection
        case .sent(let bytes, let method):
            try write(ifEvents: "request") { writer in
                writer.member("url", url: self.redirects.last?.to ?? self.request?.uri)
                writer.member("method", method)
                let hidden = Array("***".utf8)
                writer.member("raw", bytes: hidesInput ? hidden : bytes)
                let identity = self.connection?.tls?.shownIdentity
                writer.member("identity", identity.map { "sha256:" + $0.hex })
            }
        case .redirect(let redirect):
            redirects.append(redirect)
            try write(ifEvents: "redirect") { writer in
                writer.members(of: redirect)
                writer.member("followed", true)
                writer.member("reason", String?.none)
            }
        case .head(let head):
            self.head = head
            body.begin(head, isWanted: isDelivered)
        case .body(let bytes):
            try body.add(bytes)
            if body.isStreamed { try stream(bytes) }
        case .note(let note):
            warnings.append(note)
            try writeNotice(note)
        case .facts(let facts): head?.facts.merge(facts)
        case .item(let item):
            guard item.kind == .reference, settings.listing == .refs else { break }
            try write("ref") { writer in
                writer.member("i", self.refsCount)
                writer.member("name", item.text)
                writer.members(of: item.facts)
            }
            refsCount += 1
        case .connecting, .end: break
        }
    }

    /// The record `link`, which is held until the page is done.
    ///
    /// - Parameter base: The page's own URI.
    func add(_ link: Link, base: URI) throws(FetchError) {
        var writer = JSONWriter()
        writer.object { writer in
            writer.begin("link", order)
            writer.member("i", linksCount)
            writer.members(of: link, base: base)
        }
        linksCount += 1
        let line = writer.line
        guard links.count + line.count <= linksBytesMax else {
            throw FetchError(
                .tooLarge, .body,
                "the records of the page's links take more than \(linksBytesMax >> 20) MiB",
                hint: "list them without --json, or set --max-filesize",
                expected: String(linksBytesMax))
        }
        try links.append(line[...])
    }

    /// A remark that is no warning about the reply.
    func writeNotice(_ note: Note) throws(FetchError) {
        try write(ifEvents: "notice") { writer in
            writer.member("code", note.code)
            writer.member("message", note.message)
        }
    }

    /// Whether something has been written that cannot be taken back.
    var hasWritten: Bool { chunks.count > 0 || refsCount > 0 }

    private func stream(_ bytes: ArraySlice<UInt8>, isLast: Bool = false) throws(FetchError) {
        try chunks.add(bytes, isLast: isLast) { number, offset, piece throws(FetchError) in
            try self.write("chunk") { writer in
                writer.member("seq", number)
                writer.member("offset", offset)
                if self.body.isForeign || self.settings.bodyForm == .base64 {
                    writer.member("base64") { $0.value(base64: piece) }
                } else {
                    writer.member(text: piece, allowsNUL: false)
                }
            }
        }
    }

    private func write(
        ifEvents type: String, _ members: (inout JSONWriter) -> Void
    ) throws(FetchError) {
        if settings.writesEvents { try write(type, members) }
    }

    private func write(
        _ type: String, _ members: (inout JSONWriter) -> Void
    ) throws(FetchError) {
        guard let target else { return }
        var writer = JSONWriter()
        writer.object { writer in
            writer.begin(type, order)
            members(&writer)
        }
        try target.writeRecord(writer.line)
    }

    // MARK: The terminal record

    /// - Parameters:
    ///   - outcome: What the run makes of `result`.
    ///   - path: The file that the body is in, if it is in one.
    /// - Returns: The line, and why the body could not be kept, if it could not.
    /// - Throws: `write` when the last chunk cannot be written.
    func finish(
        _ result: Result<Ending, FetchError>, _ outcome: Outcome, path: String?
    ) async throws(FetchError) -> ([UInt8], FetchError?) {
        if body.isStreamed { try stream([], isLast: true) }
        try await links.drain { bytes throws(FetchError) in
            try self.target?.writeRecord(Array(bytes))
        }
        var (result, outcome, problem) = (result, outcome, FetchError?.none)
        var form = RecordedBody.Form.omitted("not-written")
        do throws(FetchError) {
            form = try await body.form(path: path, chunks: chunks.count) {
                self.request.map { FileName.name(for: $0.uri, head: self.head) } ?? "index"
            }
        } catch {
            (result, outcome, problem) = (.failure(error), error.outcome, error)
        }
        timings.end()
        var writer = JSONWriter(wanted: settings.recordFields)
        writer.object { writer in
            switch result {
            case .success(let ending): response(ending, outcome, form, &writer)
            case .failure(let error): failure(error, outcome, form, &writer)
            }
        }
        return (writer.line, problem)
    }

    private func response(
        _ ending: Ending, _ outcome: Outcome, _ form: RecordedBody.Form, _ writer: inout JSONWriter
    ) {
        begin("response", outcome, &writer)
        writer.member("final_url", url: ending.uri)
        writer.member("scheme", ending.uri.scheme)
        writer.member("plugin", plugin)
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
        writer.member("size", body.byteCount)
        let isComplete: Bool? =
            switch ending.completeness {
            case .complete: settings.wantsHeadAlone ? nil : true
            case .unverified: nil
            case .truncated: false
            }
        writer.member(
            body: form, sha256: body.sha256(), isComplete: isComplete,
            forcesText: settings.bodyForm == .text)
        writeConnection(ending.connection ?? connection, verdict: nil, ending, &writer)
        write(ending.timings, ending.traffic, &writer)
        if let facts = head?.facts { writer.members(of: facts) }
        writer.member("retry_after", seconds: head?.retryAfter)
        var warnings = warnings
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
        writer.member("final_url", url: redirects.last?.to ?? request?.uri)
        let scheme = redirects.last?.to.scheme ?? request?.scheme.name
        writer.member("scheme", scheme ?? order.url.flatMap { try? URI(parsing: $0).scheme })
        writer.member("plugin", plugin)
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
                if let line = self.order.line { writer.member("line", line) }
            }
        }
        writer.member("partial") { writer in
            guard let head = self.head else { return writer.null() }
            writer.object { writer in
                writer.member("status", head.status)
                self.writeMeta(&writer)
                writer.member("mime", head.mediaType?.essence)
                writer.member("size", self.body.byteCount)
                writer.member(
                    body: form, sha256: self.body.sha256(), isComplete: false,
                    forcesText: self.settings.bodyForm == .text)
            }
        }
        let isRefusal = error.outcome == .trustChanged || error.outcome == .untrusted
        writeConnection(connection, verdict: isRefusal ? error : nil, nil, &writer)
        write(timings, error.traffic, &writer)
        writer.member("retry_after", seconds: head?.retryAfter)
        writer.members(of: warnings)
    }

    private func begin(_ type: String, _ outcome: Outcome, _ writer: inout JSONWriter) {
        writer.begin(type, order)
        writer.member("ok", outcome == .ok)
        writer.member("exit", Int(outcome.exitStatus))
        writer.member("outcome", outcome.rawValue)
        let input = order.url.map(URI.display)
        let url = request?.uri.display ?? input
        writer.member("url", url)
        if let raw = order.rawURL, input == order.url {
            writer.member("url_base64") { $0.value(base64: raw) }
        }
        if let input, input != url { writer.member("url_input", input) }
    }

    /// The protocol's own text; as it came, too, when it is not UTF-8.
    private func writeMeta(_ writer: inout JSONWriter) {
        writer.member("meta", head?.meta)
        if let raw = head?.rawMeta { writer.member("meta_base64") { $0.value(base64: raw) } }
    }

    private func write(_ timings: Timings, _ traffic: Traffic?, _ writer: inout JSONWriter) {
        writer.member("date", UTCDate.second(Int(timings.startTime)))
        writer.member("time") { writer in
            writer.object { writer in
                writer.member("start", seconds: timings.startTime)
                writer.member("queue", seconds: self.queueSeconds)
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
            guard let traffic else { return writer.null() }
            writer.object { writer in
                writer.member("sent", traffic.sent)
                writer.member("received", traffic.received)
            }
        }
        writer.member("attempts", attempts)
        switch settings.listing {
        case .refs: writer.member("refs", refsCount)
        case .links: writer.member("links", linksCount)
        case nil: break
        }
    }

    private func writeConnection(
        _ connection: Connection?, verdict: FetchError?, _ ending: Ending?,
        _ writer: inout JSONWriter
    ) {
        writer.member("redirects") { writer in
            writer.array(self.redirects) { writer, redirect in
                writer.object { $0.members(of: redirect) }
            }
        }
        writer.members(of: connection, scheme: request?.scheme, ending: ending, change: verdict)
    }
}
