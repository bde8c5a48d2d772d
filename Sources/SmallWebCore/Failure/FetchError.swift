// SPDX-License-Identifier: MIT

/// A failure on our side of the protocol.
///
/// A well-formed refusal by a server is not an error but an ``Ending``. `outcome` is for programs
/// and stable; `message` is for people, may change, and may quote bytes of the server: code
/// that prints it neutralises control characters (see ``TerminalText``).
public struct FetchError: Error, Sendable, Hashable {
    /// Boxed: each await of an async function that may throw reserves room for an error, and there
    /// are a thousand such functions for a thousand connections.
    private struct Facts: Sendable, Hashable {
        let outcome: Outcome
        let phase: Phase
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
    }

    private final class Box: Sendable {
        let facts: Facts

        init(_ facts: Facts) { self.facts = facts }
    }

    private var box: Box

    private var facts: Facts {
        get { box.facts }
        set { box = Box(newValue) }
    }

    /// Compares all properties.
    public static func == (left: FetchError, right: FetchError) -> Bool {
        left.box.facts == right.box.facts
    }

    /// Hashes all properties.
    public func hash(into hasher: inout Hasher) { hasher.combine(box.facts) }

    /// The part of a fetch that failed.
    public enum Phase: String, Sendable, Hashable {
        case input, resolve, connect, proxy, tls, send, header, body, output, plugin
    }

    /// Classified where the failure happened, never later from the message.
    public var outcome: Outcome { box.facts.outcome }
    /// The step that failed.
    public var phase: Phase { box.facts.phase }
    /// One line without a full stop, without the URL, which the caller knows.
    public var message: String {
        get { box.facts.message }
        set { facts.message = newValue }
    }
    /// Further information for people, as one line of its own.
    public var detail: String? {
        get { box.facts.detail }
        set { facts.detail = newValue }
    }
    /// ``message`` and ``detail`` on one line.
    public var fullMessage: String { detail.map { "\(message): \($0)" } ?? message }
    /// A name such as `ECONNREFUSED`, when a system call failed.
    public var errnoName: String? {
        get { box.facts.errnoName }
        set { facts.errnoName = newValue }
    }
    /// Advice for the user, as one line; `nil` when ``remedy`` gives it.
    public var hint: String? {
        get { box.facts.hint }
        set { facts.hint = newValue }
    }
    /// A remedy, where programs have options or commands for it.
    public var remedy: FetchError.Remedy? {
        get { box.facts.remedy }
        set { facts.remedy = newValue }
    }
    /// For trust and limits: the expected value. Times are in seconds.
    public var expected: String? {
        get { box.facts.expected }
        set { facts.expected = newValue }
    }
    /// The value found instead of ``expected``.
    public var actual: String? {
        get { box.facts.actual }
        set { facts.actual = newValue }
    }
    /// The URL as it was requested; `nil` when the error is not about a single URL.
    public var url: String? {
        get { box.facts.url }
        set { facts.url = newValue }
    }
    /// True if nothing was tried, because the deadline had passed.
    package private(set) var isPostponed: Bool {
        get { box.facts.isPostponed }
        set { facts.isPostponed = newValue }
    }
    /// True if data was sent that the server may have accepted without confirming it.
    public package(set) var hasSentData: Bool {
        get { box.facts.hasSentData }
        set { facts.hasSentData = newValue }
    }
    /// True if the same request may succeed later, and cannot repeat data that the server may have
    /// accepted.
    public var isRetryable: Bool { outcome.isRetryable && !hasSentData || isPostponed }

    /// An error whose outcome and phase are final.
    public init(
        _ outcome: Outcome, _ phase: Phase, _ message: String, errnoName: String? = nil,
        hint: String? = nil, expected: String? = nil, actual: String? = nil
    ) {
        box = Box(
            Facts(
                outcome: outcome, phase: phase, message: message, errnoName: errnoName, hint: hint,
                expected: expected, actual: actual))
    }

    /// An error with a remedy, if there is one.
    public init(
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

    package func of(_ url: String) -> FetchError {
        var copy = self
        copy.url = url
        return copy
    }

    /// The fetch's task was cancelled.
    public static let cancelled = FetchError(.interrupted, .input, "cancelled")

    /// A copy with ``hasSentData``, and with a message that says so if the outcome is retryable.
    package var afterData: FetchError {
        guard !hasSentData else { return self }
        var copy = self
        copy.hasSentData = true
        if outcome.isRetryable { copy.message += Ending.afterData }
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
