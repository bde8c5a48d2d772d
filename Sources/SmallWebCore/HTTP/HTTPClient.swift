// SPDX-License-Identifier: MIT
public import SmallWebCore

/// One HTTP request, as a plugin hands it to the host side.
public struct HTTPRequest: Sendable {
    /// Where to send it.
    public var uri: URI
    /// The server that it is for.
    public let endpoint: Endpoint
    /// What it has beside that.
    public var options: HTTPOptions
    /// Whether the body shall stay as it was encoded for the transfer.
    public let wantsRawBody: Bool
    /// Those of the fetch.
    public let limits: Limits

    /// - Parameters:
    ///   - request: What was asked for.
    ///   - uri: Where it goes; `nil` for the URI of `request`.
    ///   - endpoint: The server that it is for; `nil` for that of `request`.
    ///   - options: Its method, fields and body.
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

/// What comes before the body.
public struct HTTPReply: Sendable, Hashable {
    /// 200 to 999; 0 for a protocol that has no status.
    public private(set) var status = 0
    /// `1.1`, `2`.
    public private(set) var version = ""
    /// What follows the status.
    public private(set) var reason: ArraySlice<UInt8> = []
    /// The fields so far.
    public private(set) var fields = Head.Fields()

    /// A header of which nothing has come.
    public init() {}

    /// Takes the next line of the header, the first of which is the status line.
    public mutating func add(line bytes: [UInt8]) {
        let isFirst = fields.bytes.isEmpty && bytes.starts(with: "HTTP/".utf8)
        fields.add(line: bytes, isField: !isFirst)
        guard isFirst else { return }
        var line = fields.bytes[5...]
        while line.last == ASCII.lineFeed || line.last == ASCII.carriageReturn {
            line.removeLast()
        }
        let parts = line.split(
            separator: ASCII.space, maxSplits: 2, omittingEmptySubsequences: false)
        version = String(decoding: parts[0], as: UTF8.self)
        status = parts.count > 1 ? ASCII.decimal(parts[1], max: 999) ?? 0 : 0
        reason = parts.count > 2 ? ArraySlice(Array(parts[2])) : []
    }

    /// The first value of a field, by its name in lower case.
    public subscript(name: String) -> String? { fields[name] }

    /// Where Location leads, with `%XX` for the bytes of one that is not UTF-8.
    public var location: String? {
        fields.bytes(of: "location").map { value in
            String(validating: value, as: UTF8.self)
                ?? value.map { byte in
                    byte < 0x80
                        ? String(UnicodeScalar(byte)) : PercentEncoding.encode([byte])
                }.joined()
        }
    }

    /// The codings of a field such as Content-Encoding, in lower case and in the order in which
    /// they were applied; without `identity`, which does nothing.
    public func codings(_ name: String) -> [String] {
        guard self[name] != nil else { return [] }
        return fields.all.filter { $0.name.lowercased() == name }
            .flatMap { $0.value.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" } }
            .map(String.init).filter { $0 != "identity" }
    }

    /// The reply as an event, as far as it is the same whatever the status means.
    ///
    /// - Parameters:
    ///   - replyClass: What the status means.
    ///   - method: Of the request.
    ///   - factName: What the version and the method are called together in the head's facts.
    public func head(_ replyClass: Head.Class, method: String, factName: String) -> Head {
        var head = Head(
            status: status, replyClass, meta: String(decoding: reason, as: UTF8.self))
        if String(validating: reason, as: UTF8.self) == nil { head.rawMeta = Array(reason) }
        head.isGone = status == 410
        head.retryAfter = self["retry-after"].flatMap {
            HTTPDate.wait(retryAfter: $0, date: self["date"])
        }
        head.header = fields.bytes
        head.fields = fields
        head.facts = [factName: .object(["version": .text(version), "method": .text(method)])]
        return head
    }
}

/// The host side's HTTP engine: one exchange, redirects not followed, limits kept.
public protocol HTTPClient {
    /// - Parameters:
    ///   - request: What is sent.
    ///   - onReply: Called once, before any body.
    ///   - onBody: Called with each piece of the body; while it does not return, nothing more is
    ///     received.
    /// - Throws: The outcome of libcurl's error, classified where it happened.
    func exchange(
        _ request: HTTPRequest,
        onReply: (HTTPReply) async throws(FetchError) -> Void,
        onBody: (ArraySlice<UInt8>) async throws(FetchError) -> Void
    ) async throws(FetchError) -> Completeness
}
