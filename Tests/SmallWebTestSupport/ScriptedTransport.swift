// SPDX-License-Identifier: MIT
public import SmallWebCore

/// The other end of a connection, played back: it gives recorded bytes in chosen pieces and keeps
/// what it was sent.
public final class ScriptedTransport: StreamTransport {
    /// How the peer ends after its last byte.
    public enum Close: String, Sendable {
        case closeNotify = "close_notify"
        case fin, reset
        /// Not at all: whoever waits gets a `timeout`.
        case silence
    }

    public struct Script: Sendable {
        public var reply: [UInt8]
        public var close: Close
        /// Most bytes of one `receive`.
        public var step = Int.max
        /// A `receive` never crosses this offset.
        public var split = Int.max
        /// Whether each piece has to be waited for.
        public var pauses = false
        /// Most bytes of one `send`.
        public var sendStep = Int.max
        /// What `start` throws.
        public var startError: FetchError?
        /// What `receive` throws after the reply, instead of ending.
        public var receiveError: FetchError?
        /// What `send` throws.
        public var sendError: FetchError?

        public init(_ reply: [UInt8] = [], close: Close = .fin, step: Int = .max) {
            self.reply = reply
            self.close = close
            self.step = step
        }
    }

    public let script: Script
    public private(set) var sent: [UInt8] = []
    public private(set) var isStarted = false
    public private(set) var isClosed = false
    /// Calls of `wait`.
    public private(set) var waits = 0
    /// Calls of `receive`, and bytes given.
    public private(set) var receives = 0
    public private(set) var given = 0
    private var mayReceive = false
    private var maySend = false

    public init(_ script: Script) { self.script = script }

    public func start(by deadline: Deadline) async throws(FetchError) {
        precondition(!isStarted)
        if let error = script.startError { throw error }
        isStarted = true
    }

    public func receive(
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(FetchError) -> TransportRead {
        precondition(isStarted && !isClosed && !buffer.isEmpty)
        receives += 1
        if script.pauses && !mayReceive { return .wouldBlock(.readable) }
        mayReceive = false
        guard given < script.reply.count else { return try end() }
        var end = min(given + min(script.step, buffer.count), script.reply.count)
        if given < script.split { end = min(end, script.split) }
        buffer.copyBytes(from: script.reply[given..<end])
        defer { given = end }
        return .bytes(end - given)
    }

    private func end() throws(FetchError) -> TransportRead {
        if let error = script.receiveError { throw error }
        switch script.close {
        case .closeNotify: return .ended(.closeNotify)
        case .fin: return .ended(.endOfFile)
        case .reset: return .ended(.reset)
        case .silence: return .wouldBlock(.readable)
        }
    }

    public func send(_ bytes: UnsafeRawBufferPointer) throws(FetchError) -> TransportWrite {
        precondition(isStarted && !isClosed && !bytes.isEmpty)
        if let error = script.sendError { throw error }
        if script.pauses && !maySend { return .wouldBlock(.writable) }
        maySend = false
        let count = min(script.sendStep, bytes.count)
        sent += bytes.prefix(count)
        return .bytes(count)
    }

    public func wait(for readiness: Readiness, by deadline: Deadline) async throws(FetchError) {
        waits += 1
        switch readiness {
        case .readable:
            if given == script.reply.count && script.close == .silence {
                throw FetchError(.timeout, .body, "the peer is silent")
            }
            mayReceive = true
        case .writable: maySend = true
        }
    }

    public func close() { isClosed = true }
}

/// Gives out one scripted connection, and remembers for what.
public final class ScriptedDialer: Dialer {
    public let transport: ScriptedTransport
    public private(set) var endpoints: [Endpoint] = []

    public init(_ script: ScriptedTransport.Script) { transport = ScriptedTransport(script) }

    public func dial(_ endpoint: Endpoint) async throws(FetchError) -> ByteStream {
        endpoints.append(endpoint)
        precondition(endpoints.count == 1, "one fetch dials once")
        let stream = ByteStream(transport: transport, idleSeconds: 0, deadline: .never)
        try await stream.start(by: .never)
        return stream
    }

    public func httpClient() throws(FetchError) -> any HTTPClient {
        throw FetchError(.notBuiltIn, .input, "a scripted dialer has no HTTP engine")
    }
}

/// What a handler made of a case.
public struct Played: Sendable, Hashable {
    /// Head, items and notes in order, each as ``eventLine(_:)``.
    public var events: [String] = []
    public var body: [UInt8] = []
    public var completeness: Completeness?
    public var error: FetchError?
    public var sent: [UInt8] = []
    /// Where it connected to.
    public var dialled: [String] = []

    /// Everything as the `=` lines of a fixture: the body joined, then how it ended.
    public var lines: [String] {
        var lines = events
        if !body.isEmpty { lines.append(eventLine(.body(body[...])) ?? "") }
        if let completeness {
            lines.append("{\"event\":\"end\",\"completeness\":\"\(completeness.rawValue)\"}")
        }
        return lines
    }

    public var heads: [String] { events.filter { $0.hasPrefix("{\"event\":\"head\"") } }
    public var items: [String] { events.filter { $0.hasPrefix("{\"event\":\"item\"") } }
}

/// Runs a case through a handler.
///
/// - Parameters:
///   - step: Most bytes per read.
///   - split: Where two reads meet.
///   - cut: After how many bytes of the reply the peer ends, in the way of `close`.
public func play(
    _ wire: WireCase, _ handler: any ProtocolHandler, step: Int = .max, split: Int = .max,
    cut: Int? = nil, close: ScriptedTransport.Close? = nil
) async -> Played {
    var script = ScriptedTransport.Script(
        cut.map { Array(wire.reply.prefix($0)) } ?? wire.reply, close: close ?? wire.close)
    script.step = step
    script.split = split
    script.pauses = step == 1
    script.sendStep = step
    return await play(wire, handler, script)
}

/// Runs a case's request against any script.
public func play(
    _ wire: WireCase, _ handler: any ProtocolHandler, _ script: ScriptedTransport.Script
) async -> Played {
    let dialer = ScriptedDialer(script)
    var played = Played()
    do throws(FetchError) {
        let request = try wire.prepared(for: handler)
        played.completeness = try await handler.fetch(request, dialer: dialer) {
            (event) async throws(FetchError) in
            if case .body(let bytes) = event {
                precondition(!bytes.isEmpty, "an empty body event")
                played.body += bytes
            } else if let line = eventLine(event) {
                played.events.append(line)
            }
        }
    } catch {
        played.error = error
    }
    played.sent = dialer.transport.sent
    played.dialled = dialer.endpoints.map(\.description)
    precondition(
        dialer.endpoints.isEmpty || dialer.transport.isClosed, "the connection is left open")
    return played
}

extension WireCase {
    /// The request as the fetcher would make it, for an ASCII host.
    public func prepared(for handler: any ProtocolHandler) throws(FetchError) -> Request {
        let uri = try URI(parsing: url)
        guard let scheme = handler.schemes.first(where: { $0.name == uri.scheme }) else {
            throw FetchError(.unsupportedScheme, .input, "not of this handler")
        }
        var request = Request(
            uri: scheme.pathForm == .opaque ? uri : uri.removingDotSegments(), scheme: scheme,
            input: input, limits: limits)
        request.wantsRawBody = isRaw
        return request
    }
}
