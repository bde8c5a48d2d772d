// SPDX-License-Identifier: MIT

/// One request to one handler: a single hop, redirects are the fetcher's.
public struct Request: Sendable {
    private struct Parts: Sendable {
        var uri: URI
        let scheme: Scheme
        var input: [UInt8]?
        var isInputSecret = false
        var programSecrets: [[UInt8]] = []
        var wantsRawBody = false
        var wantsHeadAlone = false
        var allowsEmptyReply = false
        var options = Request.Options()
        var resumeOffset: Int?
        var bodyState: String?
        var upload: Request.Upload?
        var referencePatterns: [String]?
        var wantsItems = true
        var validator: Request.Validator?
        var limits: Limits
    }

    private var parts: Shared<Parts>

    /// Absolute, with an ASCII host; dot segments resolved where the scheme wants that.
    public var uri: URI {
        get { parts.value.uri }
        set { parts.value.uri = newValue }
    }
    /// The scheme's facts.
    public var scheme: Scheme { parts.value.scheme }
    /// Text that answers a prompt: a query or search words, unencoded. `nil` when none was given.
    public var input: [UInt8]? {
        get { parts.value.input }
        set { parts.value.input = newValue }
    }
    /// Whether ``input`` must not be shown or kept.
    public var isInputSecret: Bool {
        get { parts.value.isInputSecret }
        set { parts.value.isInputSecret = newValue }
    }
    /// Of the request of a program that has this one made, what must not be shown or kept.
    package var programSecrets: [[UInt8]] {
        get { parts.value.programSecrets }
        set { parts.value.programSecrets = newValue }
    }
    /// Whether the body has the bytes as received: doubled dots and the terminator stay.
    public var wantsRawBody: Bool {
        get { parts.value.wantsRawBody }
        set { parts.value.wantsRawBody = newValue }
    }
    /// Whether nothing is wanted behind the head: the host side ends the fetch when it is there,
    /// unless the protocol has been asked for no more.
    public var wantsHeadAlone: Bool {
        get { parts.value.wantsHeadAlone }
        set { parts.value.wantsHeadAlone = newValue }
    }
    /// Whether a reply without a single byte is a success, also where the protocol has no other
    /// sign that there is one.
    public var allowsEmptyReply: Bool {
        get { parts.value.allowsEmptyReply }
        set { parts.value.allowsEmptyReply = newValue }
    }
    /// The values of the options that the plugin declares; others mean nothing to it.
    public var options: Request.Options {
        get { parts.value.options }
        _modify { yield &parts.value.options }
    }
    /// Bytes of the body that are there already: asks for the rest; `nil` for everything.
    public var resumeOffset: Int? {
        get { parts.value.resumeOffset }
        set { parts.value.resumeOffset = newValue }
    }
    /// ``Head/bodyState`` of the bytes that are there already; `nil` when it is not known.
    public var bodyState: String? {
        get { parts.value.bodyState }
        set { parts.value.bodyState = newValue }
    }
    /// What is sent to be stored.
    public var upload: Request.Upload? {
        get { parts.value.upload }
        set { parts.value.upload = newValue }
    }
    /// Patterns of the references to list, none for all; `nil` when it is not references that are
    /// asked for. For a scheme that has references.
    public var referencePatterns: [String]? {
        get { parts.value.referencePatterns }
        set { parts.value.referencePatterns = newValue }
    }
    /// Whether the consumer has a use for ``Event/item(_:)``, which cost time
    /// where a reply has a hundred thousand of them. Bodies have the same as text.
    public var wantsItems: Bool {
        get { parts.value.wantsItems }
        set { parts.value.wantsItems = newValue }
    }
    /// What is known of the resource from an earlier reply: one that is still the same says
    /// ``Head/isUnchanged``, and has no body. A plugin that cannot tell ignores it.
    public var validator: Request.Validator? {
        get { parts.value.validator }
        set { parts.value.validator = newValue }
    }
    /// How long the fetch may take, and how large its body may be.
    public var limits: Limits {
        get { parts.value.limits }
        set { parts.value.limits = newValue }
    }

    /// A request without options.
    public init(uri: URI, scheme: Scheme, input: [UInt8]? = nil, limits: Limits = .standard) {
        parts = Shared(Parts(uri: uri, scheme: scheme, input: input, limits: limits))
    }

    /// `host:port`; `nil` when no server is needed and the URI names none.
    ///
    /// - Throws: `bad-url` when it must name one.
    package var place: String? {
        get throws(FetchError) {
            if uri.host == nil && scheme.hostForm != .required { return nil }
            return try endpoint.place
        }
    }

    /// Where to connect: the URI's host and port, or the scheme's default port.
    ///
    /// - Throws: `bad-url` when the URI names no host.
    public var endpoint: Endpoint {
        get throws(FetchError) {
            guard let host = uri.host else { throw .badURL("no host in the URL") }
            return Endpoint(
                host: host, port: uri.port ?? parts.value.scheme.defaultPort,
                security: parts.value.scheme.isSecure ? .tls : .none)
        }
    }
}

extension Request {
    /// What an earlier reply said of a resource.
    public struct Validator: Sendable, Hashable {
        /// The URI that gave it: no other resource is asked by it; a redirect may lead there.
        public let uri: URI
        /// ``Head/validator``
        public let text: String

        /// The validator of the reply to a request for `uri`.
        public init(_ text: String, of uri: URI) {
            self.uri = uri
            self.text = text
        }
    }

    /// A body to be stored. It is read once, also with redirects, which never send it again.
    public struct Upload: Sendable {
        /// How long the body is.
        public let byteCount: Int
        /// What the body is.
        public let mediaType: String
        /// The next piece, at most 64 KiB; empty at the end.
        public let next: @Sendable () throws(FetchError) -> [UInt8]
        /// Begins again, for another attempt; `nil` where that is impossible.
        package var rewind: (@Sendable () throws(FetchError) -> Void)?

        /// A body that is read piece by piece.
        public init(
            byteCount: Int, mediaType: String,
            next: @escaping @Sendable () throws(FetchError) -> [UInt8]
        ) {
            self.byteCount = byteCount
            self.mediaType = mediaType
            self.next = next
        }

        /// Bytes that are there already.
        package init(_ bytes: [UInt8], mediaType: String = "") {
            let rest = Locked(bytes[...])
            self.init(byteCount: bytes.count, mediaType: mediaType) { () throws(FetchError) in
                rest.withLock { rest in
                    defer { rest = rest.dropFirst(65_536) }
                    return Array(rest.prefix(65_536))
                }
            }
            rewind = { rest.withLock { $0 = bytes[...] } }
        }
    }
}

/// A place to connect to, not yet resolved.
public struct Endpoint: Sendable, Hashable, CustomStringConvertible {
    /// Whether the connection is encrypted.
    public enum Security: Sendable, Hashable {
        case none, tls
    }

    /// An ASCII name, or an IP literal without brackets.
    public let host: String
    /// The port to connect to.
    public let port: UInt16
    /// Whether the connection is encrypted.
    public let security: Security

    /// A place by its parts.
    public init(host: String, port: UInt16, security: Security) {
        self.host = host
        self.port = port
        self.security = security
    }

    /// `host:port`, IPv6 in brackets: the key of trust and of connection rules.
    public var description: String {
        "\(host.bracketedHost):\(port)"
    }
}

/// Bounds of one fetch. Sizes in bytes, times in seconds.
public struct Limits: Sendable, Hashable {
    /// Largest body, counted as it is delivered; `nil` for none.
    public var bodyBytesMax: Int?
    /// Whether ``bodyBytesMax`` is what holds where the user has said nothing.
    package var isUsualForBodies = false
    /// Resolving, connecting and the TLS handshake together.
    public var connectSeconds: Double
    /// Longest silence while sending or receiving; 0 for none.
    public var idleSeconds: Double
    /// The whole fetch, redirects included; 0 for none.
    public var totalSeconds: Double
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
        totalSeconds = total?.inSeconds ?? 0
        connectSeconds = connect?.inSeconds ?? 0
        idleSeconds = idle?.inSeconds ?? 0
        self.bodyBytesMax = bodyBytesMax
    }
}
