// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebCore

/// An exchange in progress: the bytes of one connection, or one request of the HTTP engine.
final class Exchange {
    /// Everything that is known but the bytes.
    var capture: Capture
    private let began = Instant.now
    let sent: BlockSpool
    private(set) var received: BlockSpool
    var turns = Turns()
    private let keepsDatagrams: Bool
    /// The first error of keeping the bytes.
    private(set) var problem: FetchError?
    /// Size of a reply beyond which nothing more is kept.
    private let bytesMax: Int
    /// Set for exchanges of the HTTP engine, which passes heads and bodies separately.
    var engine: EngineParts?

    /// Heads and request body of an exchange of the HTTP engine, unmodified.
    struct EngineParts {
        var sent: [UInt8] = []
        var body: [UInt8]?
        var reply: HTTPReply?
        /// Recorded head of a reply whose body has no known length; `nil` if it needs the length of
        /// the body.
        var head: [UInt8]?
    }

    init(_ capture: Capture, for archive: ArchiveWriter, keepsDatagrams: Bool = false) {
        (self.capture, self.keepsDatagrams) = (capture, keepsDatagrams)
        bytesMax = archive.pageBytesMax ?? .max
        sent = BlockSpool(in: archive.directory)
        received = BlockSpool(in: archive.directory)
    }

    /// Keeps the head of the engine's reply.
    func begin(_ reply: HTTPReply) {
        let head = MessageHead.isFinal(reply) ? MessageHead.ofReply(reply, bodyBytes: nil) : nil
        engine?.reply = reply
        engine?.head = head
        received = received.empty(head: head ?? [])
    }

    func noteSent(_ bytes: UnsafeRawBufferPointer) throws(FetchError) {
        note(bytes.count, isSent: true)
        try keep(bytes, in: sent)
    }

    func noteReceived(_ bytes: UnsafeRawBufferPointer) throws(FetchError) {
        note(bytes.count, isSent: false)
        if received.count <= bytesMax { try keep(bytes, in: received) }
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
        turns.add(
            count, isSent: isSent, seconds: Instant.now.seconds(since: began),
            joins: !keepsDatagrams)
    }

    /// True if one side asks not to keep it (RFC 9111, 5.2.1.5 and 5.2.2.5).
    var isNotToBeStored: Bool {
        [engine.map { HTTPReply($0.sent[...]) }, engine?.reply].compactMap(\.self).contains {
            $0.fields.values(of: "cache-control").joined(separator: ",").lowercased()
                .split(separator: ",").contains { String($0).trimmed == "no-store" }
        }
    }

    var hasReply: Bool {
        engine.map { $0.reply != nil } ?? (received.count > 0 || capture.ending != nil)
    }
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
        case .ended(let ending): exchange.capture.ending = ending
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
