// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebCore

/// An exchange in progress: the bytes of one connection, or one request of the HTTP engine.
final class Exchange {
    /// The URL to record it for.
    let target: String
    let date = RecordDate.now
    private let began = Instant.now

    var connection: Connection?
    /// How the peer closed the connection; `nil` while it is open.
    var ending: ByteStream.Ending?
    let sent: BlockSpool
    var received: BlockSpool
    private(set) var turns: [Turn] = []
    private var areTurnsWhole = true
    private let keepsDatagrams: Bool
    /// The first error of keeping the bytes.
    private(set) var problem: FetchError?
    /// Byte counts reported by the engine.
    var traffic: Ending.Traffic?
    /// Set for exchanges of the HTTP engine, which passes heads and bodies separately.
    var engine: EngineParts?

    /// One direction's bytes until the other side sends, or a single datagram.
    struct Turn {
        let isSent: Bool
        var bytes: Int
        let seconds: Double
    }

    /// Heads and request body of an exchange of the HTTP engine, unmodified.
    struct EngineParts {
        var sent: [UInt8] = []
        var body: [UInt8]?
        var reply: HTTPReply?
        /// Recorded head of a reply whose body has no known length; `nil` if it needs the length of
        /// the body.
        var head: [UInt8]?
    }

    /// Limit of turns to keep: the number of datagrams has no bound.
    private static let turnsMax = 100_000

    init(target: String, directory: String, keepsDatagrams: Bool = false) {
        (self.target, self.keepsDatagrams) = (target, keepsDatagrams)
        sent = BlockSpool(in: directory)
        received = BlockSpool(in: directory)
    }

    func noteSent(_ bytes: UnsafeRawBufferPointer) throws(FetchError) {
        note(bytes.count, isSent: true)
        try keep(bytes, in: sent)
    }

    func noteReceived(_ bytes: UnsafeRawBufferPointer) throws(FetchError) {
        note(bytes.count, isSent: false)
        try keep(bytes, in: received)
    }

    private func keep(
        _ bytes: UnsafeRawBufferPointer, in spool: BlockSpool
    ) throws(FetchError) {
        do throws(FetchError) {
            try spool.append(bytes)
        } catch {
            problem = error
            throw error
        }
    }

    /// - Parameter count: Number of bytes in one direction.
    func note(_ count: Int, isSent: Bool) {
        if !keepsDatagrams, let last = turns.last, last.isSent == isSent {
            turns[turns.count - 1].bytes += count
        } else if turns.count < Self.turnsMax {
            turns.append(Turn(isSent: isSent, bytes: count, seconds: began.secondsUntilNow))
        } else {
            areTurnsWhole = false
        }
    }

    /// Replaces the turns by one for each direction: engines and masked data have no finer ones.
    func setTurns(sent: Int, received: Int) {
        let replied = turns.first { !$0.isSent }?.seconds ?? 0
        turns = []
        if sent > 0 { turns.append(Turn(isSent: true, bytes: sent, seconds: 0)) }
        if received > 0 { turns.append(Turn(isSent: false, bytes: received, seconds: replied)) }
    }

    var hasReply: Bool {
        engine.map { $0.reply != nil } ?? (received.count > 0 || ending != nil)
    }

    /// The turns as JSON.
    ///
    /// - Parameter masked: Maps an offset in the sent bytes to its offset after masking.
    func turnsText(_ masked: (Int) -> Int) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(96)
        text.append("{\"turns\":[")
        var (before, isFirst) = (0, true)
        for turn in turns {
            text.append(isFirst ? "[\"" : ",[\"")
            isFirst = false
            var bytes = turn.bytes
            if turn.isSent {
                bytes = masked(before + turn.bytes) - masked(before)
                before += turn.bytes
            }
            text.append(turn.isSent ? "sent\"," : "received\",")
            text.append(digits: bytes)
            let microseconds = Int(turn.seconds * 1e6)
            text.append(",")
            text.append(digits: microseconds / 1_000_000)
            text.append(".")
            text.append(digits: microseconds % 1_000_000, atLeast: 6)
            text.append("]")
        }
        text.append(areTurnsWhole ? "]}\n" : "],\"complete\":false}\n")
        return text
    }
}

extension Instant {
    fileprivate var secondsUntilNow: Double { Instant.now.seconds(since: self) }
}

/// Copies the traffic of a carrier to an exchange.
final class TeeCarrier: CarrierWrapper {
    var wrapped: any Carrier
    private let exchange: Exchange

    init(_ carrier: any Carrier, _ exchange: Exchange) {
        (wrapped, self.exchange) = (carrier, exchange)
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(FetchError) -> TransportRead {
        let read = try wrapped.receive(into: buffer)
        switch read {
        case .bytes(let count):
            try exchange.noteReceived(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        case .ended(let ending): exchange.ending = ending
        case .wouldBlock: break
        }
        return read
    }

    func send(_ bytes: UnsafeRawBufferPointer) throws(FetchError) -> TransportWrite {
        let write = try wrapped.send(bytes)
        if case .bytes(let count) = write {
            try exchange.noteSent(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        }
        return write
    }
}

/// Copies the HTTP engine's traffic to exchanges, one for each request.
struct TeeClient: HTTPClient {
    let client: any HTTPClient
    let tap: RecordingTap

    func exchange(
        _ request: HTTPRequest,
        onReply: (HTTPReply) async throws(FetchError) -> Void,
        onBody: (ArraySlice<UInt8>) async throws(FetchError) -> Void
    ) async throws(FetchError) -> Completeness {
        await tap.awaitTurn()
        defer { tap.endTurn() }
        let exchange = tap.begin(request)
        return try await client.exchange(request) { reply async throws(FetchError) in
            exchange.begin(reply)
            try await onReply(reply)
        } onBody: { bytes async throws(FetchError) in
            try bytes.span.bytes.withUnsafeBytes { piece throws(FetchError) in
                try exchange.noteReceived(piece)
            }
            try await onBody(bytes)
        }
    }
}
