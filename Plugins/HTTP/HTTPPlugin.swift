// SPDX-License-Identifier: MIT
public import SmallWebCore

/// HTTP (RFC 9110) by the host side's engine, which is libcurl. The plugin says what a reply means;
/// redirects, limits and events are the same as for every other scheme.
public struct HTTPPlugin: ProtocolHandler {
    public init() {}

    public let schemes = [
        Scheme(
            "http", port: 80, transport: .own, takesInput: true, secureForm: "https",
            summary: "HTTP through libcurl (RFC 9110)"),
        Scheme(
            "https", port: 443, transport: .own, trust: .ca, takesInput: true,
            summary: "HTTP over TLS through libcurl (RFC 9110)"),
    ]

    public func fetch(
        _ request: Request, dialer: any Dialer, emit: Emit
    ) async throws(FetchError) -> Completeness {
        var exchange = HTTPRequest(uri: request.uri, options: request.http, limits: request.limits)
        exchange.wantsRawBody = request.wantsRawBody
        if let input = request.input, exchange.options.body == nil {
            exchange.options.body = input
        }
        for field in exchange.options.fields {
            _ = try LineFramer.frame("\(field.name): \(field.value)".utf8)
        }
        if let method = exchange.options.method, !Self.isToken(method) {
            throw FetchError(.usage, .input, "\"\(method)\" is no HTTP method")
        }
        let options = exchange.options
        var isWanted = true
        var range: ContentRange?
        var bodyBytes = 0
        let completeness = try await dialer.httpClient().exchange(exchange) {
            reply async throws(FetchError) in
            let head = try Self.head(reply, resumeOffset: options.resumeOffset)
            range = try Self.range(of: reply, options)
            isWanted = reply.status != 416 || head.replyClass != .success
            try await emit(.head(head))
        } onBody: { bytes async throws(FetchError) in
            bodyBytes += bytes.count
            if let range, bodyBytes > range.count { throw Self.beyond(range) }
            if isWanted { try await emit(.body(bytes)) }
        }
        guard let range, options.method != "HEAD", bodyBytes < range.countToEnd else {
            return completeness
        }
        return .truncated
    }

    /// What a 206 says that its body is; `nil` for every other reply, where the user has asked for
    /// a range of their own, and where the body that we get is not the one that was sent.
    ///
    /// - Throws: `protocol-error` when it is not the rest that was asked for: it would end up in
    ///   the wrong place.
    private static func range(
        of reply: HTTPReply, _ options: HTTPOptions
    ) throws(FetchError) -> ContentRange? {
        let asksByField = options.fields.contains { $0.name.lowercased() == "range" }
        guard reply.status == 206, options.resumeOffset != nil || !asksByField else { return nil }
        let text = reply["content-range"] ?? ""
        guard let range = ContentRange(parsing: text), range.first == options.resumeOffset ?? 0
        else {
            let said = text.isEmpty ? "a range it does not name" : "\"\(text.prefix(80))\""
            throw FetchError(
                .protocolError, .header,
                "the server sent \(said) instead of all from byte \(options.resumeOffset ?? 0)",
                hint: options.resumeOffset == nil ? nil : "fetch it anew, without -C")
        }
        // libcurl decodes only where no range was asked for.
        if options.resumeOffset == nil && reply["content-encoding"] != nil { return nil }
        let length = reply["content-length"].flatMap { ASCII.decimal($0.utf8, max: 1 << 52) }
        if let length, length > range.count { throw beyond(range) }
        return range
    }

    private static func beyond(_ range: ContentRange) -> FetchError {
        FetchError(
            .protocolError, .body,
            "the body is longer than its range, bytes \(range.first) to \(range.last)",
            expected: String(range.count))
    }

    /// RFC 9110 §5.6.2, as far as methods go.
    private static func isToken(_ text: String) -> Bool {
        let marks = "!#$%&'*+-.^_`|~".utf8
        return !text.isEmpty
            && text.utf8.allSatisfy {
                ASCII.isLetter($0) || ASCII.isDigit($0) || marks.contains($0)
            }
    }

    /// - Throws: `permanent-failure` when the server begins anew where it was asked to resume: its
    ///   body would end up in the wrong place.
    static func head(_ reply: HTTPReply, resumeOffset: Int?) throws(FetchError) -> Head {
        var head = Head(status: reply.status, replyClass(reply), meta: reply.reason)
        head.header = reply.header
        head.http = reply
        head.mediaType = reply["content-type"].flatMap { MediaType(parsing: $0) }
        // Of an encoded body nobody says how long it is when it is decoded.
        if reply["content-encoding"] == nil {
            head.bodyBytes = reply["content-length"].flatMap {
                ASCII.decimal($0.utf8, max: 1 << 52)
            }
        }
        if head.replyClass == .redirect {
            head.redirectTarget = reply["location"]
            head.isPermanentRedirect = reply.status == 301 || reply.status == 308
        }
        head.retryAfter = reply["retry-after"].flatMap {
            HTTPDate.seconds(retryAfter: $0, date: reply["date"])
        }
        guard let resumeOffset else { return head }
        if reply.status == 416 && reply["content-range"] == "bytes */\(resumeOffset)" {
            // Nothing is missing.
            head.replyClass = .success
        } else if head.replyClass == .success && reply.status != 206 {
            throw FetchError(
                .permanentFailure, .header, "the server cannot resume at byte \(resumeOffset)",
                hint: "fetch it anew, without -C")
        }
        return head
    }

    /// 408, 425, 429 and 5xx may go well later; a 3xx without a target is an answer like any other.
    static func replyClass(_ reply: HTTPReply) -> ReplyClass {
        switch reply.status {
        case 301, 302, 303, 307, 308: reply["location"] == nil ? .success : .redirect
        case 408, 425, 429, 500...599: .temporaryFailure
        case 400...: .permanentFailure
        default: .success
        }
    }
}
