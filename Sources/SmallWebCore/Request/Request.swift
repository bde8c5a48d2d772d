// SPDX-License-Identifier: MIT
internal import Glibc

/// One request to one handler: a single hop. The fetcher follows redirects.
///
/// It is checked when it is fetched: a part that the scheme does not have fails with `usage`, and
/// nothing is sent.
@dynamicMemberLookup
public struct Request: Sendable {
    /// The properties of a request.
    public struct Properties: Sendable {
        /// Absolute, with an ASCII host; dot segments resolved where the scheme requires it.
        public var uri: URI
        /// The scheme's facts.
        public internal(set) var scheme: Scheme
        /// Text that answers a prompt: a query or search words, unencoded. `nil` when none was
        /// given.
        public var input: [UInt8]?
        /// True if ``input`` must not be shown or kept.
        public var isInputSecret = false
        /// The secrets of the request of a program that has this one made.
        package var programSecrets: [[UInt8]] = []
        /// True to keep the body's bytes as received: doubled dots and the terminator stay.
        public var wantsRawBody = false
        /// True if only the head is wanted: the host side ends the fetch after it, unless the
        /// protocol itself was asked for no more.
        public var wantsHeadAlone = false
        /// Media types whose bodies are wanted, such as `text/*`; empty for all. The fetch of
        /// another one ends after its head.
        package var mediaTypes: [String] = []
        /// True if a page is read: of several forms, its text is preferred.
        package var prefersText = false
        /// The type to read a page as, whatever the server says; `nil` for the server's.
        package var contentType: MediaType?
        /// The URI that links are relative to; `nil` for that of the page.
        package var base: URI?
        /// True to deliver the body of a refusal, too.
        package var keepsRefusals = false
        /// True if a reply without a single byte is a success, also where the protocol has no other
        /// sign of a reply.
        public var allowsEmptyReply = false
        /// The values of the options that the plugin declares for the scheme; others are refused.
        public var options = Request.Options()
        /// True if other options are ignored: those of a config file are for all schemes.
        package var mayHaveOtherOptions = false
        /// Number of body bytes already present, to request the rest; `nil` for everything.
        public var resumeOffset: Int?
        /// ``Head/Properties/bodyState`` of the bytes already present; `nil` if unknown.
        public var bodyState: String?
        /// The body to be stored by the server.
        public var upload: Request.Upload?
        /// Patterns of the references to list, empty for all; `nil` for a request that lists none.
        /// For schemes with references.
        public var referencePatterns: [String]?
        /// True if the consumer uses ``Event/item(_:)``. Items are slow for a reply with a hundred
        /// thousand of them; the body has the same as text.
        public var wantsItems = true
        /// The validator of an earlier reply: if the resource is still the same, the reply has
        /// ``Head/Properties/isUnchanged``, and no body. A plugin without such a check ignores it.
        public var validator: Request.Validator?
        /// Limits of time and size.
        public var limits: Limits
    }

    @usableFromInline var parts: Shared<Properties>

    /// A property, or its change.
    @inlinable
    public subscript<Value>(
        dynamicMember path: WritableKeyPath<Properties, Value>
    ) -> Value {
        @inline(__always) _read { yield parts.value[keyPath: path] }
        @inline(__always) _modify { yield &parts.value[keyPath: path] }
    }

    /// A property that does not change.
    @inlinable public subscript<Value>(dynamicMember path: KeyPath<Properties, Value>) -> Value {
        @inline(__always) _read { yield parts.value[keyPath: path] }
    }

    /// A request without options.
    public init(uri: URI, scheme: Scheme, input: [UInt8]? = nil, limits: Limits = .standard) {
        parts = Shared(Properties(uri: uri, scheme: scheme, input: input, limits: limits))
    }

    /// The endpoint's `Endpoint.place`; `nil` when no server is needed and the URI names none.
    ///
    /// - Throws: `bad-url` when it must name one.
    package var place: String? {
        get throws(FetchError) {
            if self.uri.host == nil && self.scheme.hostForm != .required { return nil }
            return try endpoint.place
        }
    }

    /// The endpoint to connect to: the URI's host and port, or the scheme's default port.
    ///
    /// - Throws: `bad-url` when the URI names no host.
    public var endpoint: Endpoint {
        get throws(FetchError) {
            guard let endpoint = self.scheme.endpoint(of: self.uri) else {
                throw .badURL("no host in the URL")
            }
            return endpoint
        }
    }

    /// The endpoint with its scheme, as `scheme://host:port`: the key of what differs by protocol.
    ///
    /// - Throws: `bad-url` when the URI names no host.
    package var server: String {
        get throws(FetchError) { "\(self.scheme.name)://\(try endpoint)" }
    }
}

extension Request {
    /// The body of a reply is wanted, or not for the reason that a record gives.
    package enum Wanted: String, Sendable {
        case body
        case headAlone = "head"
        case otherType = "not-wanted"
        /// It is read all the same, as some servers say more in it.
        case refusal = "error-status"

        /// True to end the fetch at the head.
        package var isHeadEnough: Bool { self == .headAlone || self == .otherType }
    }

    /// - Parameter head: `nil` for a reply without one.
    package func wants(_ head: Head?) -> Wanted {
        if self.wantsHeadAlone { return .headAlone }
        guard let head else { return .body }
        if !head.isOne(of: self.mediaTypes) { return .otherType }
        return head.replyClass == .success || self.keepsRefusals ? .body : .refusal
    }

    /// The request after a redirect: this one to another URI, without its upload.
    ///
    /// - Parameters:
    ///   - next: Has the URI and its scheme.
    ///   - carried: Options and input that may go there.
    package func onward(to next: Request, with carried: Carried) -> Request {
        var request = self
        (request.parts.value.uri, request.parts.value.scheme) = (next.uri, next.scheme)
        (request.options, request.input, request.upload) = (carried.options, carried.input, nil)
        request.isInputSecret = self.isInputSecret && carried.input != nil
        return request
    }

    /// True for the same scheme, host and port, also where one has the default port by its name.
    package func isSameOrigin(as other: Request) -> Bool {
        self.scheme.name == other.scheme.name
            && self.scheme.endpoint(of: self.uri) == other.scheme.endpoint(of: other.uri)
    }

    /// Identifies the state of a resource in an earlier reply.
    public struct Validator: Sendable, Hashable {
        /// The URI of that reply. Used for no other resource, though a redirect may lead to it.
        public let uri: URI
        /// ``Head/Properties/validator``
        public let text: String
        /// True to use it for whatever a redirect leads to, too: a condition of the user's.
        package var isForAll = false

        /// The validator of the reply to a request for `uri`.
        public init(_ text: String, of uri: URI) {
            self.uri = uri
            self.text = text
        }
    }
}

extension Scheme {
    /// The server of a URI of this scheme; `nil` if it names no host.
    package func endpoint(of uri: URI) -> Endpoint? {
        uri.host.map {
            Endpoint(
                host: $0, port: uri.port ?? defaultPort, security: isSecure ? .tls : .none)
        }
    }
}

/// Bounds of one fetch. Sizes in bytes, times in seconds; a time that is 0 or less is over at once.
public struct Limits: Sendable, Hashable {
    /// Largest body, counted as it is delivered; `nil` for none. A larger one ends with
    /// `too-large`; any number of its bytes, up to the limit, may have come before.
    public var bodyBytesMax: Int?
    /// True if ``bodyBytesMax`` is the default, not set by the user.
    package var isUsualForBodies = false
    /// Resolving, connecting and the TLS handshake together; `nil` for no limit.
    public var connectSeconds: Double?
    /// Longest silence while sending or receiving; `nil` for no limit.
    public var idleSeconds: Double?
    /// The whole fetch, redirects included; `nil` for no limit.
    public var totalSeconds: Double?
    /// Longest line of a menu or listing.
    public var lineBytesMax = 65_536
    /// Bytes that may be held back in memory before they go to a temporary file.
    public var heldBytesMax = 1 << 20

    /// The default limits.
    public static let standard = Limits()

    /// - Parameters:
    ///   - total: The whole fetch, redirects included; `nil` for no limit.
    ///   - connect: Resolving, connecting and the TLS handshake together; `nil` for no limit.
    ///   - idle: Longest silence while sending or receiving; `nil` for no limit.
    ///   - bodyBytesMax: Largest body; `nil` for no limit.
    public init(
        total: Duration? = nil, connect: Duration? = .seconds(15), idle: Duration? = .seconds(60),
        bodyBytesMax: Int? = 256 << 20
    ) {
        totalSeconds = total?.inSeconds
        connectSeconds = connect?.inSeconds
        idleSeconds = idle?.inSeconds
        self.bodyBytesMax = bodyBytesMax
    }
}

extension Endpoint {
    /// `host:port`, equal for all spellings of the host: a name without a trailing dot, IPv6 in its
    /// shortest form (RFC 5952) and in brackets. The key of the pace, and of shards.
    package var place: String {
        if host.utf8.last == ASCII.dot { return "\(host.dropLast()):\(port)" }
        let bracketed = host.holds(ASCII.colon) ? "[\(shortestIPv6(host) ?? host)]" : host
        return "\(bracketed):\(port)"
    }
}
