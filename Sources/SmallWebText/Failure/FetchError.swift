// SPDX-License-Identifier: MIT

/// A failure on our side of the protocol.
///
/// A well-formed refusal by a server is not an error but an `Ending`. `outcome` is for programs
/// and stable; `message` is for people, may change, and may quote bytes of the server: code
/// that prints it neutralises control characters (see ``TerminalText``).
public struct FetchError: Error, Sendable, Hashable {
    private struct Parts: Sendable, Hashable {
        let outcome: Outcome
        var phase: Phase
        var message: String
        var detail: String?
        var errnoName: String?
        var hint: String?
        var remedy: FetchError.Remedy?
        var expected: String?
        var actual: String?
        var url: String?
        var isPostponed = false
        var hasSentData = false
        var retryAfter: Duration?
    }

    /// Shared: each await of an async function that may throw reserves room for an error, and there
    /// are a thousand such functions for a thousand connections.
    private var parts: Shared<Parts>

    /// The part of a fetch that failed.
    @nonexhaustive
    public enum Phase: String, Sendable, Hashable, Codable {
        /// The request, its URL or a file that it needs.
        case input
        /// The look-up of a host name.
        case resolve
        /// The connection to a server or a proxy.
        case connect
        /// The conversation with a proxy.
        case proxy
        /// The TLS handshake, and the judgement of the key.
        case tls
        /// Sending the request.
        case send
        /// The reply before its body, and redirects.
        case header
        /// The body.
        case body
        /// Writing what came, to a file, say.
        case output
        /// A program or handler that speaks the protocol.
        case plugin
    }

    /// Classified where the failure happened, never later from the message.
    public var outcome: Outcome { parts.value.outcome }
    /// The step that failed.
    public var phase: Phase { parts.value.phase }
    /// One line without a full stop, without the URL, which the caller knows.
    public var message: String {
        get { parts.value.message }
        set { parts.value.message = newValue }
    }
    /// Further information for people, as one line of its own.
    public var detail: String? {
        get { parts.value.detail }
        set { parts.value.detail = newValue }
    }
    /// ``message`` and ``detail`` on one line.
    public var fullMessage: String { detail.map { "\(message): \($0)" } ?? message }
    /// A name such as `ECONNREFUSED`, when a system call failed.
    public var errnoName: String? {
        get { parts.value.errnoName }
        set { parts.value.errnoName = newValue }
    }
    /// Advice for the user, as one line, where there is some.
    public var hint: String? {
        get { parts.value.hint }
        set { parts.value.hint = newValue }
    }
    /// A remedy, where programs have options or commands for it.
    package var remedy: FetchError.Remedy? {
        get { parts.value.remedy }
        set { parts.value.remedy = newValue }
    }
    /// For trust and limits: the expected value. Times are in seconds.
    public var expected: String? {
        get { parts.value.expected }
        set { parts.value.expected = newValue }
    }
    /// The value found instead of ``expected``.
    public var actual: String? {
        get { parts.value.actual }
        set { parts.value.actual = newValue }
    }
    /// The URL as it was requested; `nil` when the error is not about a single URL.
    public var url: String? {
        get { parts.value.url }
        set { parts.value.url = newValue }
    }
    /// True if nothing was tried, because the deadline had passed.
    package private(set) var isPostponed: Bool {
        get { parts.value.isPostponed }
        set { parts.value.isPostponed = newValue }
    }
    /// True if data was sent that the server may have accepted without confirming it.
    public package(set) var hasSentData: Bool {
        get { parts.value.hasSentData }
        set { parts.value.hasSentData = newValue }
    }
    /// `Head.Properties.retryAfter` of a robots file; zero for `Head.Properties.isRateLimited`
    /// alone.
    package var retryAfter: Duration? {
        get { parts.value.retryAfter }
        set { parts.value.retryAfter = newValue }
    }
    /// True if the same request may succeed later, and cannot repeat data that the server may have
    /// accepted.
    public var isRetryable: Bool { outcome.isRetryable && !hasSentData || isPostponed }

    /// True if the task of the fetch was cancelled: `catch where error.isCancelled`. A request that
    /// the deadline of its run has left over is `interrupted`, too, and was not cancelled.
    public var isCancelled: Bool { outcome == .interrupted && !isPostponed }

    /// An error whose outcome and phase are final.
    public init(
        _ outcome: Outcome, _ phase: Phase, _ message: String, errnoName: String? = nil,
        hint: String? = nil, expected: String? = nil, actual: String? = nil
    ) {
        parts = Shared(
            Parts(
                outcome: outcome, phase: phase, message: message, errnoName: errnoName, hint: hint,
                expected: expected, actual: actual))
    }

    /// An error with a remedy, if there is one.
    package init(
        _ outcome: Outcome, _ phase: Phase, _ message: String, errnoName: String? = nil,
        remedy: FetchError.Remedy?, expected: String? = nil, actual: String? = nil
    ) {
        self.init(
            outcome, phase, message, errnoName: errnoName, expected: expected, actual: actual)
        self.remedy = remedy
    }

    /// The body is beyond its limit, in bytes.
    public static func tooLarge(_ limit: Int) -> FetchError {
        let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")]
        let unit = units.first { limit > 0 && limit % $0.0 == 0 } ?? (1, "bytes")
        return FetchError(
            .tooLarge, .body, "the body is larger than \(limit / unit.0) \(unit.1)",
            remedy: .raise(.bodyBytes), expected: String(limit))
    }

    /// The server has sent and accepted no bytes for longer than the limit.
    package static func silence(_ phase: Phase) -> FetchError {
        FetchError(
            .timeout, phase, "the server was silent for too long", remedy: .raise(.silence))
    }

    /// A copy with another phase.
    package func of(_ phase: Phase) -> FetchError {
        var copy = self
        copy.parts.value.phase = phase
        return copy
    }

    package func of(_ url: String) -> FetchError {
        var copy = self
        copy.url = url
        return copy
    }

    /// The fetch's task was cancelled. One that was thrown has a ``url``, so it equals this one no
    /// more: ``isCancelled`` tells.
    public static let cancelled = FetchError(.interrupted, .input, "cancelled")

    /// Appended to messages when ``hasSentData`` is true.
    package static let sentDataNote = "; the data had been sent already"

    /// A copy with ``hasSentData``, and with a message that says so if the outcome is retryable.
    package var afterData: FetchError {
        guard !hasSentData else { return self }
        var copy = self
        copy.hasSentData = true
        if outcome.isRetryable { copy.message += Self.sentDataNote }
        return copy
    }

    /// The run's time was over before the request was made.
    package static let postponed: FetchError = {
        var error = FetchError(.interrupted, .input, "the deadline of the run has passed")
        error.isPostponed = true
        return error
    }()
}

extension FetchError: CustomStringConvertible {
    /// The failure and its cause, on one line that is safe to print: without passwords, with
    /// control characters as visible escapes.
    public var description: String {
        let place = url.map { URI.display($0) + ": " } ?? ""
        return TerminalText.escapeLine(place + fullMessage)
    }
}

extension FetchError {
    /// A server without the key that the user named.
    ///
    /// - Parameters:
    ///   - pin: SHA-256 of the key or certificate that is required.
    ///   - present: SHA-256 of the server's public key; `nil` when it is not known.
    package static func wrongKey(
        of endpoint: Endpoint, pin: [UInt8], present: [UInt8]?
    ) -> FetchError {
        FetchError(
            .trustChanged, .tls, "the key of \(endpoint) is not the one that must be there",
            remedy: .correctPin, expected: "sha256:\(pin.hex)",
            actual: present.map { "spki-sha256:\($0.hex)" })
    }

    package static func badURL(_ message: String, hint: String? = nil) -> FetchError {
        FetchError(.badURL, .input, message, hint: hint)
    }

    /// A program that breaks the rules of plugins, or cannot be run.
    package static func plugin(_ message: String, hint: String? = nil) -> FetchError {
        FetchError(.plugin, .plugin, message, hint: hint)
    }
}

/// An error in the user's request.
package func usageError(_ message: String, hint: String? = nil) -> FetchError {
    FetchError(.usage, .input, message, hint: hint)
}

extension FetchError {
    /// A remedy for a failure, as a fact: each program maps it to its own option or command.
    package enum Remedy: Sendable, Hashable {
        /// A limit of a fetch.
        package enum Limit: Sendable, Hashable {
            case connectTime, silence, totalTime, bodyBytes, redirects, openFiles, threads, pause
        }

        /// A higher limit than the one that ended the fetch.
        case raise(Limit)
        /// The same, or another port: no byte has come, of this protocol or of TLS.
        indirect case checkPort(speaks: String, Limit)
        case useKnownScheme
        /// The scheme is known, but not in the list of allowed ones.
        case allowScheme
        /// The file by itself: only a person names files of this machine.
        case nameFile
        /// The probable URL, with another scheme or path.
        indirect case useOtherURL(URI)
        case allowRedirectScheme
        /// A policy that HTTP's engine can follow.
        case useOtherPolicy
        /// No certificate authority vouches for the server.
        case trustOnFirstUse
        case nameAuthority
        indirect case addKey(Endpoint, key: String)
        indirect case replaceKey(Endpoint, key: String)
        /// The stored key cannot be read.
        indirect case removeKey(Endpoint)
        case correctPin
        case nameTrustStore
        case makeIdentity
        case listIdentities
        /// The identity's name is taken.
        indirect case removeIdentity(String)
        /// The server wants a client certificate.
        indirect case bindIdentity(URI?)
        /// Names a token for an upload, or an identity.
        indirect case giveToken(URI)
        /// The URL of a proxy into the network that the host is part of.
        case useProxy(String)
        /// User and password for the server.
        case giveCredentials
        /// User and password of the proxy.
        case giveProxyCredentials
        case nameProxyAuthority
        /// Addresses of one family were asked for.
        case useAnyFamily
        /// Input is for other URLs, such as the example.
        indirect case inputOnly(for: String, example: String)
        /// Accept an empty reply, too.
        case allowEmptyReply
        case upload
        /// The parameters of an upload by themselves, not in its URL.
        case nameParameters
        case listReferences
        /// The rest of a body cannot be had.
        case startOver
        /// Take the body without undoing its encoding.
        case takeEncoded
        /// Take all of a body that has no parts.
        case takeWhole
        /// Take the parts of a page from its beginning.
        case takeFromStart
        /// List the links themselves, or fewer of them: their records are too large.
        case listWithoutRecords
        /// The URL by itself: a page or program led to it, at a private address.
        case fetchAlone
        /// Ask addresses that are not public, too.
        case allowAnyAddress
        /// Fetch it, and keep it, while there is a network.
        case keepPages
    }
}
