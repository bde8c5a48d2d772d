// SPDX-License-Identifier: MIT
package import SmallWeb

/// Parts to list instead of delivering a body, one record for each.
package enum ListForm: Sendable { case refs, links, records }

/// The settings of a request that its records depend on.
package struct RecordScope {
    /// True if the reply is the rest of a body that is partly there.
    package var isRest = false
    /// The beginning of the body, if an earlier attempt has left it; its hash goes on.
    package var beginning: RecordedBody?
    package var listing: ListForm?
    /// True to write records of a page's links, whatever ``listing`` is.
    package var withLinks = false
    /// The form in which a page is laid out into its record or file; `nil` for its bytes.
    package var rendering: String?
    /// The part of a page's text that is asked for; `nil` for all of it.
    package var slice: TextRange?
    /// Moves a body that is too large for its record into a file, and returns its path.
    package var overflow: ((Spool, FetchLog?) async throws(FetchError) -> String)?

    package init() {}
}

/// Words the hint and the expectation of an error for the user.
package struct ErrorWording: Sendable {
    let hint: @Sendable (FetchError) -> String?
    let expected: @Sendable (FetchError) -> String?

    package init(
        hint: @escaping @Sendable (FetchError) -> String?,
        expected: @escaping @Sendable (FetchError) -> String?
    ) {
        (self.hint, self.expected) = (hint, expected)
    }

    /// Without names of options.
    package static let plain = ErrorWording(hint: \.hint, expected: \.expected)
}

/// Makes the terminal record of an attempt: see docs/json.md, and docs/schema/v1.json.
package final class Recorder {
    package static let version = 1

    private var subject: RecordSubject { records.subject }
    private let options: RecordOptions
    private let scope: RecordScope
    private let wording: ErrorWording
    private let registry: Registry?
    private let log: FetchLog?
    package let body: RecordedBody
    /// The records before the terminal one.
    package let records: RecordStream
    private let refs: RefRecords?
    package let links: LinkRecords?
    private let items: ItemRecords?
    package var attempts = 0
    package var queueSeconds = 0.0
    /// True if the file for the body has the same bytes already.
    package var isUnchanged = false
    /// The change of the page since the round before, of a crawl.
    package var change: String?

    /// - Parameters:
    ///   - log: `nil` when the order could not become a request.
    ///   - registry: Has the plugins of schemes; `nil` when there was nothing to serve.
    ///   - target: Takes the records before the terminal one; `nil` for none.
    package init(
        _ subject: RecordSubject, _ log: FetchLog?, _ options: RecordOptions,
        _ scope: RecordScope, registry: Registry? = nil, target: (any RecordTarget)? = nil,
        wording: ErrorWording = .plain
    ) {
        self.log = log
        self.options = options
        self.scope = scope
        self.registry = registry
        self.wording = wording
        records = RecordStream(subject: subject, target: target)
        body = RecordedBody(records, log, options, scope)
        refs = scope.listing == .refs ? RefRecords(records) : nil
        links =
            scope.listing == .links || scope.withLinks
            ? LinkRecords(records, fields: options.fields) : nil
        items = [.records, nil].contains(scope.listing) ? ItemRecords(records) : nil
    }

    /// The sinks that take every event of an exchange.
    package var sinks: [any EventSink] {
        var sinks: [any EventSink] = [body]
        if options.includesEvents, let log {
            sinks.insert(EventRecords(records: records, log: log), at: 0)
        }
        if let refs { sinks.append(refs) }
        if let items { sinks.append(items) }
        return sinks
    }

    /// True if something has been written that cannot be taken back.
    package var hasWritten: Bool { body.hasWritten || (refs?.count ?? items?.count ?? 0) > 0 }

    /// - Parameters:
    ///   - outcome: The run's outcome for `result`.
    ///   - message: The reason for a reply that is not a success.
    ///   - path: The file that the body is in, if it is in one.
    /// - Returns: The line, and the error if the body could not be kept.
    /// - Throws: `write` when the last chunk cannot be written.
    package func finish(
        _ result: Attempt, _ outcome: Outcome, message: String?, path: String?
    ) async throws(FetchError) -> ([UInt8], FetchError?) {
        try body.writeChunks(of: [], isLast: true)
        try await links?.drain()
        let isCutOff = result.ending.map { $0.completeness == .truncated } ?? true
        do throws(FetchError) {
            let form = try await body.form(
                path: path, log, isCutOff: isCutOff ? true : outcome == .ok ? false : nil)
            return (line(result, outcome, message, form), nil)
        } catch {
            let form = RecordedBody.Form.omitted(body.omission ?? "not-written")
            return (line(.failed(error), error.outcome, nil, form), error)
        }
    }

    /// The `error` record of a request that could not be made.
    package func refusal(_ error: FetchError) -> [UInt8] {
        line(.failed(error), error.outcome, nil, .null)
    }

    private func line(
        _ result: Attempt, _ outcome: Outcome, _ message: String?, _ form: RecordedBody.Form
    ) -> [UInt8] {
        JSONWriter.line(wanted: options.fields) { writer in
            let (ending, error, subject) = (result.ending, result.error, subject)
            let (uri, head) = (log?.uri, log?.head)
            writer.begin(error == nil ? "response" : "error", subject)
            writer.member("ok", outcome == .ok)
            writer.member("exit", Int(outcome.exitStatus))
            writer.member("outcome", outcome.rawValue)
            let input = subject.url.map(URI.display)
            let url = log?.origin.display ?? input
            writer.member("url", url)
            if let raw = subject.rawURL, input == subject.url {
                writer.member("url_base64") { $0.value(base64: raw) }
            }
            if let input, input != url { writer.member("url_input", input) }
            writer.member("final_url", uri.flatMap { $0 == log?.origin ? url : $0.display })
            let scheme = uri?.scheme ?? subject.url.flatMap { try? URI(parsing: $0).scheme }
            writer.member("scheme", scheme)
            let entry = uri.flatMap { registry?[$0.scheme] }
            writer.member("plugin", entry?.pluginName)
            writer.member("version", entry?.handler.programVersion)
            if let count = log?.programConnections {
                writer.member("program", object: count) { $0.member("connections", $1) }
            }
            if let ending { write(ending, outcome, message, form, &writer) }
            if let error { write(error, form, &writer) }
            writer.member("redirects", array: log?.redirects ?? []) { writer, redirect in
                writer.object { $0.members(of: redirect) }
            }
            let isRefusal = error?.outcome == .trustChanged || error?.outcome == .untrusted
            writer.members(
                of: log?.connection, isOverTLS: entry?.scheme.transport == .tls, ending: ending,
                change: isRefusal ? error : nil)
            write(ending?.timings, &writer)
            if ending != nil, let head { writer.members(of: head.facts) }
            writer.member("retry_after", seconds: head?.retryAfter)
            writer.members(of: (log?.notes ?? []) + (ending?.warnings ?? []))
        }
    }

    private func write(
        _ ending: Ending, _ outcome: Outcome, _ message: String?, _ form: RecordedBody.Form,
        _ writer: inout JSONWriter
    ) {
        let head = log?.head
        writer.member("status", head?.status)
        writer.member("class", (head?.replyClass ?? .success).rawValue)
        writeMeta(of: head, &writer)
        if outcome != .ok, let message {
            writer.member("error", object: message) { writer, message in
                writer.member("code", outcome.rawValue)
                writer.member("message", message)
            }
        }
        let type = head?.mediaType
        writer.member("mime", type?.essence)
        let isSaid = type != nil && !(head?.header.isEmpty ?? true)
        writer.member("mime_source", head?.mediaTypeSource?.rawValue ?? (isSaid ? "server" : nil))
        writer.member("charset", type?.charset)
        writer.member("lang", type?.parameters["lang"])
        if let fields = head?.fields { writer.members(of: fields) }
        writer.member("size", log.map { $0.bodyBytes + body.startBytes })
        if isUnchanged || head?.isUnchanged ?? false { writer.member("unchanged", true) }
        if let change { writer.member("change", change) }
        let isComplete: Bool? =
            switch ending.completeness {
            case .complete: log?.wanted == .headAlone ? nil : true
            case .unverified: nil
            case .truncated: false
            }
        body.write(form, isComplete: isComplete, to: &writer)
    }

    private func write(
        _ error: FetchError, _ form: RecordedBody.Form, _ writer: inout JSONWriter
    ) {
        writer.member("status", Int?.none)
        writer.member("class", String?.none)
        writer.member("error", object: error) { writer, error in
            writer.member("code", error.outcome.rawValue)
            writer.member("message", error.fullMessage)
            writer.member("phase", error.phase.rawValue)
            writer.member("retryable", error.isRetryable)
            writer.member("errno", error.errnoName)
            writer.member("hint", wording.hint(error))
            writer.member("expected", wording.expected(error))
            writer.member("actual", error.actual)
            if let line = subject.line { writer.member("line", line) }
        }
        writer.member("partial", object: log?.head) { writer, head in
            writer.member("status", head.status)
            writeMeta(of: head, &writer)
            writer.member("mime", head.mediaType?.essence)
            writer.member("size", log.map { $0.bodyBytes + body.startBytes })
            // The error may be about a page that came to its end.
            body.write(form, isComplete: body.hash == nil ? false : nil, to: &writer)
        }
    }

    /// Writes the protocol's own text, and its bytes if they are not UTF-8.
    private func writeMeta(of head: Head?, _ writer: inout JSONWriter) {
        writer.member("meta", head?.meta)
        if let raw = head?.rawMeta { writer.member("meta_base64") { $0.value(base64: raw) } }
    }

    /// - Parameter timings: `nil` when the fetch ends only now.
    private func write(_ timings: Ending.Timings?, _ writer: inout JSONWriter) {
        var ended = log?.timings ?? Ending.Timings()
        ended.end()
        let timings = timings ?? ended
        writer.member("date", UTCDate.second(Int(timings.startTime)))
        if let (date, isStale) = log?.recalled {
            writer.member("recorded", UTCDate.second(date))
            if isStale { writer.member("stale", true) }
        }
        writer.member("time", object: timings) { writer, timings in
            writer.member("start", seconds: timings.startTime)
            writer.member("queue", seconds: queueSeconds)
            writer.member("namelookup", seconds: timings.nameLookup)
            writer.member("connect", seconds: timings.connect)
            writer.member("proxy", seconds: timings.proxy)
            writer.member("appconnect", seconds: timings.appConnect)
            writer.member("pretransfer", seconds: timings.preTransfer)
            writer.member("starttransfer", seconds: timings.startTransfer)
            writer.member("redirect", seconds: timings.redirect)
            writer.member("total", seconds: timings.total)
        }
        writer.member("bytes", object: log?.traffic) { writer, traffic in
            writer.member("sent", traffic.sent)
            writer.member("received", traffic.received)
        }
        writer.member("attempts", attempts)
        if let refs { writer.member("refs", refs.count) }
        if let links { writer.member("links", links.count) }
    }
}

extension Ending {
    fileprivate var warnings: [Note] {
        guard let message, outcome == .truncated || outcome == .redirectRefused else { return [] }
        return [Note(outcome.rawValue, message)]
    }
}
