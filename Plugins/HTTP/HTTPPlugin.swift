// SPDX-License-Identifier: MIT
public import SmallWebCore

/// HTTP (RFC 9110) by the host's engine, which is libcurl. The plugin interprets replies;
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
        scheme.crawling = Crawling(
            robots: ["/robots.txt"], indexName: "index.html", missing: 404)
        scheme.crawling?.dialect = .standard
    }

    public var options: [Request.Option] {
        [HTTPOptions.header, HTTPOptions.request, HTTPOptions.userAgent, HTTPOptions.referer]
    }

    /// Also a method other than those that read (RFC 9110 §9.2.1), without a body.
    public func carriesData(_ request: Request) -> Bool {
        let method = request.options.text("request") ?? "GET"
        return request.input != nil || !["GET", "HEAD", "OPTIONS", "TRACE"].contains(method)
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
        if request.prefersText,
            !exchange.options.fields.contains(where: { $0.name.lowercased() == "accept" })
        {
            exchange.options.fields.append(HTTPField("Accept", HTTPOptions.textFirst))
        }
        let validator = HTTPValidator(request, exchange.options)
        let rest = try HTTPRest(request, exchange.options)
        exchange.options.fields += validator?.fields ?? rest.fields
        for field in exchange.options.fields {
            _ = try LineFramer.frame("\(field.name): \(field.value)".utf8)
        }
        if let method = exchange.options.method, !Self.isToken(method) {
            throw FetchError(.usage, .input, "\"\(method)\" is not an HTTP method")
        }
        let options = exchange.options
        let method = options.method ?? (options.body == nil ? "GET" : "POST")
        var body = HTTPRest.Body.all
        var bodyBytes = 0
        let completeness = try await dialer.httpClient(for: request.endpoint).exchange(exchange) {
            reply async throws(FetchError) in
            var head = Self.head(reply, method: method)
            head.hasNoBody = method == "HEAD"
            head.validator = HTTPValidator.text(of: reply)
            head.bodyState = rest.state(of: reply)
            head.isStateExact = rest.isExact(reply)
            if reply.status == 304, validator != nil {
                (head.replyClass, head.isUnchanged) = (.success, true)
            }
            body = try rest.body(of: reply, isSuccess: head.replyClass == .success)
            if case .none = body { head.replyClass = .success }
            try await emit(.head(head))
        } onBody: { bytes async throws(FetchError) in
            bodyBytes += bytes.count
            if case .none = body { return }
            if case .part(let range) = body, bodyBytes > range.count {
                throw HTTPRest.beyond(range)
            }
            try await emit(.body(bytes))
        }
        guard case .part(let range) = body, method != "HEAD", bodyBytes < range.countToEnd
        else { return completeness }
        return .truncated
    }

    /// True for a token (RFC 9110 §5.6.2), such as a method.
    private static func isToken(_ text: String) -> Bool {
        let marks = "!#$%&'*+-.^_`|~".utf8
        return !text.isEmpty
            && text.utf8.allSatisfy {
                ASCII.isLetter($0) || ASCII.isDigit($0) || marks.contains($0)
            }
    }

    static func head(_ reply: HTTPReply, method: String) -> Head {
        var head = reply.head(replyClass(reply), method: method, factName: "http")
        head.mediaType = reply["content-type"].flatMap { MediaType(parsing: $0) }
        // The length of an encoded body is not the length of the decoded one.
        if reply.codings("content-encoding").isEmpty { head.bodyBytes = reply.contentLength }
        head.isRateLimited = reply.status == 429
        head.refusesMethod = method == "HEAD" && [405, 501].contains(reply.status)
        if head.replyClass == .redirect {
            head.redirectTarget = reply.location
            head.isPermanentRedirect = reply.status == 301 || reply.status == 308
        }
        return head
    }

    /// 408, 425, 429 and 5xx are temporary. A 3xx without a target is an answer like any other.
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
    var contentLength: Int? {
        self["content-length"].flatMap { ASCII.decimal($0.utf8, max: ContentRange.positionMax) }
    }
}
