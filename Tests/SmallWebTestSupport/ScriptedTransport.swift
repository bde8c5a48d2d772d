// SPDX-License-Identifier: MIT
package import SmallWebCore
package import SmallWebTesting

/// The other end of a connection, played back: it gives recorded bytes in chosen pieces and keeps
/// the bytes it receives.
package final class ScriptedTransport: Carrier {
    package typealias Close = WireCase.Close

    package struct Script: Sendable {
        package var reply: [UInt8]
        package var close: Close
        /// Most bytes of one `receive`.
        package var step = Int.max
        /// A `receive` never crosses this offset.
        package var split = Int.max
        /// True if each piece has to be waited for.
        package var pauses = false
        /// Most bytes of one `send`.
        package var sendStep = Int.max
        /// After so many bytes it takes no more.
        package var sentMax = Int.max
        /// Error thrown by `receive` after the reply, instead of an end.
        package var receiveError: FetchError?
        /// Error thrown by `send`.
        package var sendError: FetchError?

        package init(_ reply: [UInt8] = [], close: Close = .fin, step: Int = .max) {
            self.reply = reply
            self.close = close
            self.step = step
        }
    }

    package let script: Script
    package private(set) var sent: [UInt8] = []
    package private(set) var isClosed = false
    /// Calls of `wait`.
    package private(set) var waits = 0
    /// Calls of `receive`, and bytes given.
    package private(set) var receives = 0
    package private(set) var given = 0
    private var mayReceive = false
    private var maySend = false

    package init(_ script: Script) { self.script = script }

    package func receive(
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(FetchError) -> TransportRead {
        precondition(!isClosed && !buffer.isEmpty)
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

    package func send(_ bytes: UnsafeRawBufferPointer) throws(FetchError) -> TransportWrite {
        precondition(!isClosed && !bytes.isEmpty)
        if let error = script.sendError { throw error }
        if script.pauses && !maySend || sent.count == script.sentMax {
            return .wouldBlock(.writable)
        }
        maySend = false
        let count = min(script.sendStep, bytes.count, script.sentMax - sent.count)
        sent += bytes.prefix(count)
        return .bytes(count)
    }

    package func wait(for readiness: Readiness, by deadline: Instant) async throws(FetchError) {
        waits += 1
        switch readiness {
        case .readable:
            if given == script.reply.count && script.close == .silence {
                throw FetchError(.timeout, .body, "the peer is silent")
            }
            mayReceive = true
        case .writable:
            guard sent.count < script.sentMax else {
                throw FetchError(.timeout, .send, "the peer takes no more")
            }
            maySend = true
        case .either: (mayReceive, maySend) = (true, true)
        }
    }

    package func close() { isClosed = true }
}

/// Gives out one scripted connection, and remembers its endpoint.
package final class ScriptedDialer: Dialer {
    package let transport: ScriptedTransport
    package private(set) var endpoints: [Endpoint] = []

    package init(_ script: ScriptedTransport.Script) { transport = ScriptedTransport(script) }

    package func dial(_ endpoint: Endpoint) async throws(FetchError) -> ByteStream {
        endpoints.append(endpoint)
        precondition(endpoints.count == 1, "one fetch dials once")
        return ByteStream(transport, idleSeconds: nil, deadline: .never)
    }
}

/// Runs a case through a handler.
///
/// - Parameters:
///   - step: Most bytes per read.
///   - split: Where two reads meet.
///   - cut: After how many bytes of the reply the peer ends, in the way of `close`.
package func play(
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
package func play(
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
