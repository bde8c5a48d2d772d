// SPDX-License-Identifier: MIT

/// What a request adds for HTTP; other schemes have no use for it.
public struct HTTPOptions: Sendable, Hashable {
    /// `nil` for GET, or POST when there is a body.
    public var method: String?
    /// In order, in addition to those that the client makes itself; an empty value removes one.
    public var fields: [HTTPField] = []
    public var body: [UInt8]?
    /// Bytes that are there already: asks for the rest; `nil` for everything.
    public var resumeOffset: Int?

    public init() {}

    public var isEmpty: Bool { self == HTTPOptions() }

    /// What may follow a redirect with `status` (RFC 9110 §15.4).
    ///
    /// - Parameter isSameOrigin: Whether scheme, host and port stay. Credentials go nowhere else.
    public func redirected(status: Int?, isSameOrigin: Bool) -> HTTPOptions {
        var options = self
        let keepsMethod = status == 307 || status == 308 || method == "HEAD"
        if !keepsMethod && (body != nil || status == 303) {
            options.method = nil
            options.body = nil
            options.fields.removeAll { $0.name.lowercased().hasPrefix("content-") }
        }
        if !isSameOrigin {
            let secrets = ["authorization", "cookie", "proxy-authorization"]
            options.fields.removeAll { secrets.contains($0.name.lowercased()) }
        }
        return options
    }
}

/// A header field as written: repeated names are repeated fields.
public struct HTTPField: Sendable, Hashable {
    public let name: String
    public let value: String

    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// One HTTP request, as a plugin hands it to the host side.
public struct HTTPRequest: Sendable {
    public var uri: URI
    public var options: HTTPOptions
    /// Whether the body shall stay as it was encoded for the transfer.
    public var wantsRawBody = false
    public var limits: Limits

    public init(uri: URI, options: HTTPOptions = HTTPOptions(), limits: Limits = Limits()) {
        self.uri = uri
        self.options = options
        self.limits = limits
    }
}

/// What comes before the body.
public struct HTTPReply: Sendable, Hashable {
    /// 200 to 999; 0 for a protocol that has no status.
    public var status = 0
    /// `1.1`, `2`.
    public var version = ""
    public var reason = ""
    public var fields: [HTTPField] = []
    /// As received, line ends included.
    public var header: [UInt8] = []

    public init() {}

    /// The first value of a field, by its name in lower case.
    public subscript(name: String) -> String? {
        fields.first {
            $0.name.utf8.elementsEqual(name.utf8) {
                $0 == $1 || ASCII.isLetter($0) && $0 | 0x20 == $1
            }
        }?.value
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
