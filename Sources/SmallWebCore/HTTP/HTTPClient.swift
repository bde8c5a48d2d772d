// SPDX-License-Identifier: MIT

/// One HTTP request from a plugin to the host side.
public struct HTTPRequest: Sendable {
    /// The URI to request.
    public var uri: URI
    /// The server to connect to.
    public let endpoint: Endpoint
    /// Method, fields and body.
    public var options: HTTPOptions
    /// True to keep the body's content coding.
    public let wantsRawBody: Bool
    /// The limits of the fetch.
    public let limits: Limits

    /// - Parameters:
    ///   - request: The fetch's request.
    ///   - uri: The URI to request; `nil` for the URI of `request`.
    ///   - endpoint: The server to connect to; `nil` for the endpoint of `request`.
    ///   - options: Method, fields and body.
    /// - Throws: `bad-url` when the URI names no host.
    public init(
        _ request: Request, uri: URI? = nil, at endpoint: Endpoint? = nil, options: HTTPOptions
    ) throws(FetchError) {
        self.uri = uri ?? request.uri
        if let endpoint { self.endpoint = endpoint } else { self.endpoint = try request.endpoint }
        self.options = options
        wantsRawBody = request.wantsRawBody
        limits = request.limits
    }
}

/// The header of a reply.
public struct HTTPReply: Sendable, Hashable {
    /// 200 to 999; 0 for a protocol without a status.
    public private(set) var status = 0
    /// `1.1`, `2`.
    public private(set) var version = ""
    /// The reason phrase after the status.
    public private(set) var reason: ArraySlice<UInt8> = []
    /// The fields received so far.
    public private(set) var fields = Head.Fields()

    /// An empty header.
    public init() {}

    /// Parses a whole header.
    package init(_ header: ArraySlice<UInt8>) {
        for line in HeaderText.lines(header) { add(line: Array(line)) }
    }

    /// Adds the next line of the header; the first one is the status line.
    public mutating func add(line bytes: [UInt8]) {
        let isFirst = fields.bytes.isEmpty && bytes.starts(with: "HTTP/".utf8)
        fields.add(line: bytes, isField: !isFirst)
        guard isFirst else { return }
        let parts = fields.bytes[5...].withoutLineEnd.split(
            separator: ASCII.space, maxSplits: 2, omittingEmptySubsequences: false)
        version = String(decoding: parts[0], as: UTF8.self)
        status = parts.count > 1 ? ASCII.decimal(parts[1], max: 999) ?? 0 : 0
        reason = parts.count > 2 ? ArraySlice(Array(parts[2])) : []
    }

    /// The first value of a field, by its name in lower case.
    public subscript(name: String) -> String? { fields[name] }

    /// The value of Location, with `%XX` for each byte above 0x7F if it is not UTF-8.
    public var location: String? {
        fields.bytes(of: "location").map { value in
            String(validating: value, as: UTF8.self)
                ?? value.map { byte in
                    byte < 0x80
                        ? String(UnicodeScalar(byte)) : PercentEncoding.encode([byte])
                }.joined()
        }
    }

    /// The codings in a field such as Content-Encoding, in lower case, in the order of their
    /// application, without `identity`, which does nothing.
    public func codings(_ name: String) -> [String] {
        fields.values(of: name)
            .flatMap { $0.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" } }
            .map(String.init).filter { $0 != "identity" }
    }

    /// The time that the server asks to be left alone for.
    private var wait: Duration? {
        if let wait = self["retry-after"].flatMap({
            HTTPDate.wait(retryAfter: $0, date: self["date"])
        }) {
            return wait
        }
        var limits = fields.values(of: "ratelimit")
        if let left = self["ratelimit-remaining"], let reset = self["ratelimit-reset"] {
            limits.append("remaining=\(left), reset=\(reset)")
        }
        return limits.compactMap { HTTPDate.wait(rateLimit: $0) }.max()
    }

    /// The head for this reply, with the properties that do not depend on its class.
    ///
    /// - Parameters:
    ///   - replyClass: The meaning of the status.
    ///   - method: The method of the request.
    ///   - factName: The name for the version and the method in the head's facts.
    public func head(_ replyClass: Head.Class, method: String, factName: String) -> Head {
        var head = Head(
            status: status, replyClass, meta: String(decoding: reason, as: UTF8.self))
        if String(validating: reason, as: UTF8.self) == nil { head.rawMeta = Array(reason) }
        (head.isGone, head.isMissing) = (status == 410, status == 404)
        head.retryAfter = wait
        head.header = fields.bytes
        head.fields = fields
        head.facts = [factName: .object(["version": .text(version), "method": .text(method)])]
        return head
    }
}

/// The host side's HTTP engine: makes one exchange within its limits, without following redirects.
public protocol HTTPClient {
    /// - Parameters:
    ///   - request: The request to send.
    ///   - onReply: Called once, before any body.
    ///   - onBody: Called with each piece of the body; nothing more is received until it returns.
    /// - Throws: The outcome of libcurl's error, classified where it happened.
    func exchange(
        _ request: HTTPRequest,
        onReply: (HTTPReply) async throws(FetchError) -> Void,
        onBody: (ArraySlice<UInt8>) async throws(FetchError) -> Void
    ) async throws(FetchError) -> Completeness
}
