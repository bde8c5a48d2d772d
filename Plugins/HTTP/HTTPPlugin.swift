// SPDX-License-Identifier: MIT
public import SmallWebCore
internal import SmallWebHTTP

/// HTTP (RFC 9110) by the host side's engine, which is libcurl. The plugin says what a reply means;
/// redirects, limits and events are the same as for every other scheme.
public struct HTTPPlugin: ProtocolHandler {
    public init() {}

    public let schemes = [
        Scheme(
            "http", plugin: "http", port: 80, transport: .own,
            summary: "HTTP through libcurl (RFC 9110)"
        ) {
            Self.shared(&$0)
            $0.secureForm = "https"
        },
        Scheme(
            "https", plugin: "http", port: 443, transport: .own,
            summary: "HTTP over TLS through libcurl (RFC 9110)"
        ) {
            Self.shared(&$0)
            $0.trust = .ca
            $0.identityScheme = "https"
        },
    ]

    private static func shared(_ scheme: inout Scheme) {
        scheme.input = .body
        scheme.canResume = true
        scheme.factNames = ["http"]
    }

    public var options: [Request.Option] {
        [HTTPOptions.header, HTTPOptions.request, HTTPOptions.userAgent, HTTPOptions.referer]
    }

    public func carried(
        from request: Request, status: Int?, isSameOrigin: Bool
    ) -> Request.Carried {
        HTTPOptions.carried(from: request, status: status, isSameOrigin: isSameOrigin)
    }

    public func fetch(
        _ request: Request, dialer: any Dialer, emit: Emit
    ) async throws(FetchError) -> Completeness {
        var exchange = try HTTPRequest(request, options: HTTPOptions(request))
        if request.wantsHeadAlone && exchange.options.method == nil {
            exchange.options.method = "HEAD"
        }
        let validator = HTTPValidator(request, exchange.options)
        exchange.options.fields += validator?.fields ?? []
        for field in exchange.options.fields {
            _ = try LineFramer.frame("\(field.name): \(field.value)".utf8)
        }
        if let method = exchange.options.method, !Self.isToken(method) {
            throw FetchError(.usage, .input, "\"\(method)\" is not an HTTP method")
        }
        let options = exchange.options
        let method = options.method ?? (options.body == nil ? "GET" : "POST")
        var isWanted = true
        var range: ContentRange?
        var bodyBytes = 0
        let completeness = try await dialer.httpClient(for: request.endpoint).exchange(exchange) {
            reply async throws(FetchError) in
            var head = try Self.head(reply, method: method, resumeOffset: options.resumeOffset)
            head.hasNoBody = method == "HEAD"
            head.validator = HTTPValidator.text(of: reply)
            if reply.status == 304, validator != nil {
                (head.replyClass, head.isUnchanged) = (.success, true)
            }
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
                remedy: options.resumeOffset == nil ? nil : .startOver)
        }
        // Decoded, unless a range was asked for.
        if options.resumeOffset == nil && reply["content-encoding"] != nil { return nil }
        if let length = reply.contentLength, length > range.count { throw beyond(range) }
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

    /// - Throws: `permanent-failure` when the server starts again where it was asked to resume: its
    ///   body would end up in the wrong place.
    static func head(
        _ reply: HTTPReply, method: String, resumeOffset: Int?
    ) throws(FetchError) -> Head {
        var head = reply.head(replyClass(reply), method: method, factName: "http")
        head.mediaType = reply["content-type"].flatMap { MediaType(parsing: $0) }
        // The length of an encoded body is not the length of what it decodes to.
        if reply["content-encoding"] == nil { head.bodyBytes = reply.contentLength }
        if head.replyClass == .redirect {
            head.redirectTarget = reply["location"]
            head.isPermanentRedirect = reply.status == 301 || reply.status == 308
        }
        head.isGone = reply.status == 410
        head.retryAfter = reply["retry-after"].flatMap {
            HTTPDate.wait(retryAfter: $0, date: reply["date"])
        }
        guard let resumeOffset else { return head }
        if reply.status == 416 && reply["content-range"] == "bytes */\(resumeOffset)" {
            // Nothing is missing.
            head.replyClass = .success
        } else if head.replyClass == .success && reply.status != 206 {
            throw FetchError(
                .permanentFailure, .header, "the server cannot resume at byte \(resumeOffset)",
                remedy: .startOver)
        }
        return head
    }

    /// 408, 425, 429 and 5xx may go well later; a 3xx without a target is an answer like any other.
    static func replyClass(_ reply: HTTPReply) -> Head.Class {
        switch reply.status {
        case 301, 302, 303, 307, 308: reply["location"] == nil ? .success : .redirect
        case 408, 425, 429, 500...599: .temporaryFailure
        case 400...: .permanentFailure
        default: .success
        }
    }
}

extension HTTPReply {
    fileprivate var contentLength: Int? {
        self["content-length"].flatMap { ASCII.decimal($0.utf8, max: ContentRange.positionMax) }
    }
}
