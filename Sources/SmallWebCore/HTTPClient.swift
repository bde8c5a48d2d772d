// SPDX-License-Identifier: MIT

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

    /// - Parameter uri: Where it goes; `nil` for the URI of `request`.
    /// - Throws: `bad-url` when the URI names no host.
    public init(
        _ request: Request, uri: URI? = nil, options: HTTPOptions
    ) throws(FetchError) {
        self.uri = uri ?? request.uri
        endpoint = try request.endpoint
        self.options = options
        wantsRawBody = request.wantsRawBody
        limits = request.limits
    }
}

extension Head {
    /// A header as received, and where its fields are: they become text when they are asked for.
    public struct Fields: Sendable, Hashable {
        /// All lines, line ends included.
        public private(set) var bytes: [UInt8] = []
        /// Where the fields begin, have their colon, and end, without the line end.
        private var spans: [Span] = []

        private struct Span: Hashable {
            let start, colon, end: Int
        }

        /// No fields.
        public init() {}

        /// Takes the next line. What is not a field is kept in ``bytes`` alone.
        mutating func add(line: [UInt8], isField: Bool) {
            let start = bytes.count
            bytes += line
            var end = bytes.count
            while end > start,
                bytes[end - 1] == ASCII.lineFeed || bytes[end - 1] == ASCII.carriageReturn
            { end -= 1 }
            guard isField, let colon = bytes[start..<end].firstIndex(of: ASCII.colon), colon > start
            else { return }
            spans.append(Span(start: start, colon: colon, end: end))
        }

        /// In order, repeated ones repeated.
        public var all: [HTTPField] {
            spans.map { span in
                HTTPField(
                    String(decoding: bytes[span.start..<span.colon], as: UTF8.self), value(span))
            }
        }

        /// The first value of a field, by its name in lower case.
        public subscript(name: String) -> String? {
            let name = name.utf8
            return spans.first { span in
                span.colon - span.start == name.count
                    && zip(bytes[span.start..<span.colon], name).allSatisfy {
                        $0 == $1 || ASCII.isLetter($0) && $0 | 0x20 == $1
                    }
            }.map(value)
        }

        private func value(_ span: Span) -> String {
            let value = bytes[(span.colon + 1)..<span.end]
            return String(
                decoding: value.drop { $0 == ASCII.space || $0 == ASCII.tab }, as: UTF8.self)
        }
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

    /// The reply as an event, as far as it is the same whatever the status means.
    ///
    /// - Parameters:
    ///   - method: Of the request.
    ///   - factName: What the version and the method are called together in the head's facts.
    public func head(_ replyClass: Head.Class, method: String, factName: String) -> Head {
        var head = Head(
            status: status, replyClass, meta: String(decoding: reason, as: UTF8.self))
        if String(validating: reason, as: UTF8.self) == nil { head.rawMeta = Array(reason) }
        head.header = fields.bytes
        head.fields = fields
        head.facts = [factName: .object(["version": .text(version), "method": .text(method)])]
        return head
    }
}

/// The host side's HTTP engine: one exchange, redirects not followed, limits kept.
public protocol HTTPClient {
    /// - Parameters:
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
