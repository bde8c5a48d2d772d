// SPDX-License-Identifier: MIT

/// Method, fields and body of an HTTP request, made from the options of a `Request`.
public struct HTTPOptions: Sendable, Hashable {
    /// `nil` for GET, or POST when there is a body.
    public var method: String?
    /// Ordered fields, in addition to the client's own; an empty value removes one of those.
    public var fields: [HTTPField] = []
    /// The request's body; `nil` for none.
    public var body: [UInt8]?
    /// Number of body bytes already present, to request the rest; `nil` for everything.
    public var resumeOffset: Int?

    /// The Accept field for ``Request/Properties/prefersText``.
    package static let textFirst =
        "text/gemini, text/markdown;q=0.9, text/html;q=0.8, */*;q=0.5"

    /// A plain GET.
    public init() {}

    /// The options given in `request`.
    public init(_ request: Request) {
        let options = request.options
        method = options.text("request")
        fields = options.list("header").map { line in
            let name = line.prefix { $0 != ":" }
            return HTTPField(
                String(name), String(line.dropFirst(name.count + 1).drop { $0 == " " }))
        }
        // A field given by the user comes first, and instead of the option's.
        for (key, name) in [("user-agent", "User-Agent"), ("referer", "Referer")] {
            guard let value = options.text(key),
                !fields.contains(where: { $0.name.lowercased() == name.lowercased() })
            else { continue }
            fields.append(HTTPField(name, value))
        }
        body = request.input
        resumeOffset = request.resumeOffset
    }

    /// The options for the request after a redirect with `status` (RFC 9110 §15.4).
    ///
    /// - Parameters:
    ///   - status: The status of the redirect.
    ///   - isSameOrigin: True if scheme, host and port stay the same. No other origin gets the
    ///     body, or a field that may be a secret.
    public func redirected(status: Int?, isSameOrigin: Bool) -> HTTPOptions {
        var options = self
        let keepsMethod = status == 307 || status == 308 || method == "HEAD"
        if !keepsMethod && (body != nil || status == 303) {
            options.method = nil
            options.body = nil
            options.fields.removeAll { $0.name.lowercased().hasPrefix("content-") }
        }
        if !isSameOrigin {
            // A PUT without its body would empty a file.
            if options.body != nil && method != "HEAD" { options.method = nil }
            options.body = nil
            options.fields.removeAll { !SecretFields.open.contains($0.name.lowercased()) }
        }
        return options
    }

    /// The part of `request` that is sent on after a redirect, for a plugin that uses the engine.
    public static func carried(
        from request: Request, status: Int?, isSameOrigin: Bool
    ) -> Request.Carried {
        let options = HTTPOptions(request)
        let before = options.redirected(status: status, isSameOrigin: true)
        let after = options.redirected(status: status, isSameOrigin: isSameOrigin)
        var carried = Request.Carried(
            isSameOrigin ? request.options : request.options.withoutSecrets)
        carried.input = after.body
        for key in ["user-agent", "referer", "header"] { carried.options[key] = nil }
        for field in after.fields {
            carried.options.append("\(field.name): \(field.value)", to: "header")
        }
        carried.options["request"] = after.method.map { .text($0) }
        if before.body != nil && after.body == nil { carried.leftOut.append("the body") }
        // A field without a value only suppresses a default one.
        for field in before.fields where !field.value.isEmpty && !after.fields.contains(field) {
            if !carried.leftOut.contains(field.name) { carried.leftOut.append(field.name) }
        }
        return carried
    }

    // MARK: Options of requests

    private static let group = "HTTP"

    /// `-H`.
    public static let header = Request.Option(
        "header", short: "H", .list("LINE"),
        .init(
            group, "add a header field; @FILE reads several",
            manual: "Adds a field to the request's header, as NAME: VALUE. Without a value it "
                + "removes one that smallweb sends itself. @FILE reads one field per line, which "
                + "keeps secrets out of the process list. When a redirect leads to another scheme, "
                + "host or port, only fields such as Accept, User-Agent, Range and If-None-Match "
                + "go along, and no body.",
            example: "smallweb get -H 'Accept: application/json' https://example.org/")
    ) { line throws(FetchError) in
        guard let colon = line.firstIndex(of: ":"), colon > line.startIndex else {
            throw FetchError(.usage, .input, "a header field is NAME: VALUE, not \"\(line)\"")
        }
    }

    /// `-X`.
    public static let request = Request.Option(
        "request", short: "X", .text("METHOD"),
        .init(
            group, "use METHOD",
            manual: "Sends METHOD instead of GET, or of POST when there is --data.",
            example: "smallweb get -X DELETE https://example.org/item"),
        values: ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]
    ) { text throws(FetchError) in
        let isToken =
            !text.isEmpty
            && text.utf8.allSatisfy { ASCII.isLetter($0) || $0 == UInt8(ascii: "-") }
        guard isToken else {
            throw FetchError(.usage, .input, "invalid HTTP method \"\(text)\"")
        }
    }

    /// `-A`.
    public static let userAgent = Request.Option(
        "user-agent", short: "A", .text("NAME"),
        .init(
            group, "send NAME as the user agent",
            manual: "The User-Agent field. It is smallweb and its version by default.",
            example: "smallweb get -A 'my-reader/1.0' https://example.org/"))

    /// `-e`.
    public static let referer = Request.Option(
        "referer", short: "e", .text("URL"),
        .init(
            group, "say where the link was found",
            manual: "The Referer field.",
            example: "smallweb get -e https://example.org/ https://example.org/next"))
}

/// A header field as written: repeated names are repeated fields.
public struct HTTPField: Sendable, Hashable {
    /// The name as it is sent.
    public let name: String
    /// The value as it is sent; empty for a field to leave out.
    public let value: String

    /// - Parameters:
    ///   - name: Blanks around it are removed: many servers ignore them too, so a secret field must
    ///     be recognised with them.
    ///   - value: The value as it is sent.
    public init(_ name: String, _ value: String) {
        (self.name, self.value) = (name.trimmed, value)
    }
}

extension HTTPOptions: TerminalText.Line {}

extension HTTPField: TerminalText.Line {
    /// Name and value, which is `***` where it may be a secret.
    public var description: String { SecretFields.shown("\(name): \(value)") }
}
