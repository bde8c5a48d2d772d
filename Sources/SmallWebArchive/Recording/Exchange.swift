// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebCore

/// What went over one connection, or was asked of HTTP's engine once, while it goes on.
final class Exchange {
    /// The URL that it is recorded for.
    let target: String
    let date = RecordDate.now
    private let began = Instant.now

    var connection: Connection?
    /// How the peer ended its side; `nil` while it has not.
    var ending: ByteStream.Ending?
    let sent: BlockSpool
    var received: BlockSpool
    private(set) var turns: [Turn] = []
    private var areTurnsWhole = true
    private let keepsDatagrams: Bool
    /// Why what passed could not be kept.
    private(set) var problem: FetchError?
    /// What the engine says that went over the wire.
    var traffic: Ending.Traffic?
    /// Where the engine gives heads apart from bodies.
    var engine: EngineParts?

    /// A piece of the conversation: what one side says before the other one does, or a datagram.
    struct Turn {
        let isSent: Bool
        var bytes: Int
        let seconds: Double
    }

    /// What HTTP's engine has sent and got before the bodies, as it came.
    struct EngineParts {
        var sent: [UInt8] = []
        var body: [UInt8]?
        var reply: HTTPReply?
        /// That of the reply as it is written before a body of unknown length; `nil` when only
        /// the body's end tells.
        var head: [UInt8]?
    }

    /// Most turns that are kept: datagrams have no end.
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

    /// - Parameter count: Of bytes that went one way.
    func note(_ count: Int, isSent: Bool) {
        if !keepsDatagrams, let last = turns.last, last.isSent == isSent {
            turns[turns.count - 1].bytes += count
        } else if turns.count < Self.turnsMax {
            turns.append(Turn(isSent: isSent, bytes: count, seconds: began.secondsUntilNow))
        } else {
            areTurnsWhole = false
        }
    }

    /// The engine's turns are its blocks.
    func setTurns(sent: Int, received: Int) {
        let replied = turns.first { !$0.isSent }?.seconds ?? 0
        turns = []
        if sent > 0 { turns.append(Turn(isSent: true, bytes: sent, seconds: 0)) }
        if received > 0 { turns.append(Turn(isSent: false, bytes: received, seconds: replied)) }
    }

    /// Whether anything of a reply is there.
    var hasReply: Bool {
        engine.map { $0.reply != nil } ?? (received.count > 0 || ending != nil)
    }

    /// As JSON.
    ///
    /// - Parameter masked: Tells where an offset of what was sent comes to lie.
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

/// Copies what passes a carrier to an exchange.
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

    func wait(for readiness: Readiness, by deadline: Instant) async throws(FetchError) {
        try await wrapped.wait(for: readiness, by: deadline)
    }

    func interests(_ readiness: Readiness) -> [Interest]? { wrapped.interests(readiness) }
    var readableAt: Instant { wrapped.readableAt }
    func endSending() { wrapped.endSending() }
    func close() { wrapped.close() }
    var keepsPieces: Bool { wrapped.keepsPieces }
}

/// Copies what HTTP's engine sends and gets to exchanges, one for each request.
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
