// SPDX-License-Identifier: MIT

/// Delivers one event. Returns when it has been taken, so that a slow consumer slows the socket.
public typealias Emit = (Event) async throws(FetchError) -> Void

/// A protocol: facts as data, and one exchange as a straight-line function.
///
/// A handler checks the request, asks the dialer for a stream, writes, decodes and emits. It never
/// opens a socket, sleeps, prints, reads the clock or the environment, follows a redirect or counts
/// the body against a limit: the host side does all that for every protocol alike.
public protocol ProtocolHandler: Sendable {
    /// The schemes it serves; constant.
    var schemes: [Scheme] { get }

    /// The options of its requests, none by default. Made on demand: most runs do not need them.
    var options: [Request.Option] { get }

    /// The protocol's own commands, none by default. Made on demand, like options.
    var verbs: [Verb] { get }

    /// The version of the program that speaks the protocol; `nil` for a built-in handler.
    var programVersion: String? { get }

    /// The part of `request` that is sent on after a redirect: by default all options, which other
    /// protocols ignore, but no secret to another origin, and no input. The origin is the same if
    /// scheme, host and port are.
    func carried(
        from request: Request, status: Int?, isSameOrigin: Bool
    ) -> Request.Carried

    /// True if `request` carries data for the server to act on, which must not arrive twice: by
    /// default an upload, or input that is a body.
    func carriesData(_ request: Request) -> Bool

    /// Ascending ranges of secrets in the bytes of a request, to mask wherever these are shown or
    /// kept; by default the values of header fields such as Authorization.
    func secrets(in sent: [UInt8]) -> [Range<Int>]

    /// Runs one exchange.
    ///
    /// Every URL byte that reaches the wire has been checked *before* `dialer` is called. One
    /// `head` is emitted before all of `body`, `item` and `facts`; a refusal by the server is a
    /// head with its class, not a throw. `note` and `diagnostics` may come at any time; all other
    /// events are the client's alone. A handler that breaks these rules ends its fetch with
    /// `plugin`.
    ///
    /// - Returns: The proof, or lack of it, that nothing is missing.
    /// - Throws: `bad-url` before dialling; `protocol-error`, `empty-reply`, and whatever the
    ///   stream or the consumer throws, after.
    func fetch(
        _ request: Request, dialer: any Dialer, emit: Emit
    ) async throws(FetchError) -> Completeness
}

extension ProtocolHandler {
    /// None.
    public var options: [Request.Option] { [] }

    /// None.
    public var verbs: [Verb] { [] }

    /// Compiled in.
    public var programVersion: String? { nil }

    /// An upload, or input that is a body.
    public func carriesData(_ request: Request) -> Bool {
        request.upload != nil || request.input != nil && request.scheme.input == .body
    }

    /// True if `request` is for a page that anyone may have: it may be kept, and a recording may
    /// answer.
    ///
    /// - Parameter hasIdentity: True if a client certificate is shown.
    package func isSafe(_ request: Request, hasIdentity: Bool) -> Bool {
        !hasIdentity && request.input == nil && request.secretValues.isEmpty
            && !carriesData(request)
    }

    /// All options but the secrets of another origin, and no input.
    public func carried(
        from request: Request, status: Int?, isSameOrigin: Bool
    ) -> Request.Carried {
        Request.Carried(isSameOrigin ? request.options : request.options.withoutSecrets)
    }
}

extension Event {
    /// What a handler has emitted, by the rules of ``ProtocolHandler/fetch(_:dialer:emit:)``.
    package struct Order: Sendable {
        private var hasHead = false
        /// The first error of `emit`, which ends the fetch, also if the handler passes over it.
        package var error: FetchError?

        package init() {}

        /// - Throws: ``error``, which is `plugin` for an event against the rules.
        package mutating func add(_ event: Event) throws(FetchError) {
            let fault: String?
            switch event {
            case .head:
                fault = hasHead ? "a second head" : nil
                hasHead = true
            case .facts, .item, .body: fault = hasHead ? nil : "an event before its head"
            case .note, .diagnostics: fault = nil
            case .connecting, .connected, .sent, .redirect, .end:
                fault = "an event that is the client's alone"
            }
            if let fault { error = error ?? .plugin("the handler emitted \(fault): \(event)") }
            if let error { throw error }
        }

        /// Judges a handler that has returned.
        ///
        /// - Throws: ``error``; `plugin` without a head.
        package func end() throws(FetchError) {
            if let error { throw error }
            if !hasHead { throw .plugin("the handler returned without a head") }
        }
    }
}

extension Request {
    /// The part of a request that is sent on after a redirect.
    public struct Carried: Sendable {
        /// The options of the next request.
        public var options: Request.Options
        /// The input of the next request.
        public var input: [UInt8]?
        /// Names, for people, of parts that are left out here, but not for every place of the same
        /// origin.
        public var leftOut: [String] = []

        /// These options, and no input.
        public init(_ options: Request.Options) { self.options = options }
    }
}
