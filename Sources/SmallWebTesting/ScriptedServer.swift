// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebTransport

/// A way for the reply of a fixture to reach the program.
enum Play: Sendable, Hashable, CustomStringConvertible {
    /// In pieces as in the fixture.
    case whole
    case byteByByte
    /// In two pieces, cut at this offset.
    case split(Int)
    /// No more than so many bytes, or datagrams, before this end.
    case cut(Int, WireCase.Close)

    var description: String {
        switch self {
        case .whole: "whole"
        case .byteByByte: "byte by byte"
        case .split(let offset): "split at byte \(offset)"
        case .cut(let count, let close): "cut after \(count), \(close.rawValue)"
        }
    }
}

/// The server of a fixture: sends a piece when the last one is read, and the requests before it
/// have been sent.
final class ScriptedServer: Carrier {
    /// A part of the reply, and the bytes of the request that it waits for.
    private struct Piece {
        let after: Int
        /// Line of the fixture at its beginning.
        let line: Int
        var bytes: ArraySlice<UInt8>

        func part(_ bytes: ArraySlice<UInt8>) -> Piece {
            Piece(after: after, line: line, bytes: bytes)
        }
    }

    private let wire: WireCase

    private var pieces: [Piece] = []
    /// Bytes of the request after which it ends.
    private var endsAfter = 0
    /// Datagrams have no end: silence follows the last one.
    private let close: WireCase.Close
    private(set) var sent: [UInt8] = []
    private var firstBytes = 0
    private var given = 0

    /// A byte-by-byte play sends this many single bytes, then the rest at once.
    private static let singleBytesMax = 512

    /// True if the reply ends early.
    let isCut: Bool

    /// True to fail at once for another server or request than the fixture's.
    private let isStrict: Bool

    private let keepsDatagrams: Bool

    init(_ wire: WireCase, _ play: Play, keepsDatagrams: Bool, isStrict: Bool = false) {
        self.wire = wire
        self.isStrict = isStrict
        self.keepsDatagrams = keepsDatagrams
        isCut = if case .cut = play { true } else { wire.close == .reset }
        var before = 0
        for (step, line) in zip(wire.steps, wire.stepLines) {
            switch step {
            case .request(let bytes): before += bytes.count
            case .reply(let bytes):
                if !keepsDatagrams, pieces.last?.after == before {
                    pieces[pieces.count - 1].bytes += bytes
                } else {
                    pieces.append(Piece(after: before, line: line, bytes: bytes[...]))
                }
            }
        }
        endsAfter = before
        close =
            if keepsDatagrams {
                .silence
            } else if case .cut(_, let close) = play {
                close
            } else {
                wire.close
            }
        switch play {
        case .whole: break
        case .byteByByte: pieces = pieces.flatMap(Self.bytes)
        case .split(let offset): pieces = Array(Self.divided(pieces, at: offset).joined())
        case .cut(let count, _) where keepsDatagrams:
            endsAfter = count < pieces.count ? pieces[count].after : endsAfter
            pieces = Array(pieces.prefix(count))
        case .cut(let count, _):
            let parts = Self.divided(pieces, at: count)
            endsAfter = parts[1].first?.after ?? endsAfter
            pieces = parts[0]
        }
    }

    /// - Throws: `plugin` when it is strict and the fixture has another server.
    func checkPlace(_ endpoint: Endpoint) throws(FetchError) {
        guard isStrict, let dial = wire.dial, dial != endpoint.description else { return }
        throw FetchError(
            .plugin, .connect, "\(wire.name): connected to \(endpoint) instead of \(dial)")
    }

    /// The reply for a URL that a program opens. A body that was cut is never whole: with a URL
    /// that is always known.
    func fetched(_ uri: URI) -> FetchedReply {
        let head = wire.answer
        guard let outcome = head.replyClass.refusal else {
            return .init(uri, head, .success(ScriptedBody(self)))
        }
        let message = "the server refused: \(head.status ?? 0) \(head.meta ?? "")"
        return .init(uri, head, .failure(FetchError(outcome, .header, message)))
    }

    /// A server that sends everything at once, whatever the request.
    convenience init(reply: [UInt8], _ ending: ByteStream.Ending) {
        let close: WireCase.Close =
            switch ending {
            case .closeNotify: .closeNotify
            case .endOfFile: .fin
            case .reset: .reset
            }
        self.init(WireCase(reply: reply, close), .whole, keepsDatagrams: false)
    }

    private static func bytes(_ piece: Piece) -> [Piece] {
        let first = piece.bytes.prefix(singleBytesMax)
        let rest = piece.bytes.dropFirst(singleBytesMax)
        return first.indices.map { piece.part(first[$0...$0]) }
            + (rest.isEmpty ? [] : [piece.part(rest)])
    }

    /// The pieces before an offset in the whole reply, and those after it.
    private static func divided(_ pieces: [Piece], at offset: Int) -> [[Piece]] {
        var (before, behind, room) = ([Piece](), [Piece](), offset)
        for piece in pieces {
            let count = min(room, piece.bytes.count)
            room -= count
            if count > 0 {
                before.append(piece.part(piece.bytes.prefix(count)))
            }
            if count < piece.bytes.count {
                behind.append(piece.part(piece.bytes.dropFirst(count)))
            }
        }
        return [before, behind]
    }

    /// True if the program has used the connection, which is made after a while in any case.
    var isUsed: Bool { !sent.isEmpty || given > 0 }

    var keepsPieces: Bool { true }

    /// Describes the missing line of the request, and the line of the reply held back for it.
    var awaited: String? {
        guard sent.count < pieces.first?.after ?? endsAfter,
            let line = wire.line(ofRequestByte: sent.count)
        else { return nil }
        let next = pieces.first.map { "it sent line \($0.line)" } ?? "it ended"
        return "the server waited for line \(line) (>) before \(next)"
    }

    /// True if it has something to send now, even if only its end.
    var isReadable: Bool {
        if let piece = pieces.first { return sent.count >= piece.after }
        return sent.count >= endsAfter && close != .silence
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(FetchError) -> TransportRead {
        guard isReadable else { return .wouldBlock(.readable) }
        guard let piece = pieces.first else {
            switch close {
            case .closeNotify: return .ended(.closeNotify)
            case .fin: return .ended(.endOfFile)
            case .reset: return .ended(.reset)
            case .silence: return .wouldBlock(.readable)
            }
        }
        let count = min(piece.bytes.count, buffer.count)
        buffer.copyBytes(from: piece.bytes.prefix(count))
        pieces[0].bytes.removeFirst(count)
        if pieces[0].bytes.isEmpty { pieces.removeFirst() }
        given += count
        return .bytes(count)
    }

    func send(_ bytes: UnsafeRawBufferPointer) throws(FetchError) -> TransportWrite {
        if isRepeated(bytes) { return .bytes(bytes.count) }
        if sent.isEmpty { firstBytes = bytes.count }
        sent += bytes
        if isStrict && !wire.request.starts(with: sent) {
            throw FetchError(
                .plugin, .send, "\(wire.name): another request is sent",
                expected: Comparison.escaped(wire.request[...]),
                actual: Comparison.escaped(sent[...]))
        }
        return .bytes(bytes.count)
    }

    /// True if a datagram repeats the last one, or the first. A fixture need not expect that: the
    /// number of repeats depends on time.
    private func isRepeated(_ bytes: UnsafeRawBufferPointer) -> Bool {
        keepsDatagrams && !bytes.isEmpty
            && (sent.suffix(bytes.count).elementsEqual(bytes)
                || sent.prefix(firstBytes).elementsEqual(bytes))
            && !wire.request.starts(with: sent + bytes)
    }

    func wait(for readiness: Readiness, by deadline: Instant) throws(FetchError) {
        guard isReadable else { throw .silence(.body) }
    }
}

private final class ScriptedBody: Carrier {
    private let server: ScriptedServer

    init(_ server: ScriptedServer) { self.server = server }

    var keepsPieces: Bool { true }

    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(FetchError) -> TransportRead {
        let read = try server.receive(into: buffer)
        guard case .ended = read, server.isCut else { return read }
        throw FetchError(.truncated, .body, "the body may be cut off")
    }

    func send(_ bytes: UnsafeRawBufferPointer) throws(FetchError) -> TransportWrite {
        .bytes(bytes.count)
    }

    func wait(for readiness: Readiness, by deadline: Instant) throws(FetchError) {
        try server.wait(for: readiness, by: deadline)
    }
}

/// Connects a built-in plugin to the server. Nothing takes time: a read that would block is
/// silence.
final class ScriptedCarrier: Carrier {
    private let server: ScriptedServer
    /// Each piece is waited for.
    private var hasWaited = false

    init(_ server: ScriptedServer) { self.server = server }

    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(FetchError) -> TransportRead {
        guard hasWaited else { return .wouldBlock(.readable) }
        hasWaited = false
        return try server.receive(into: buffer)
    }

    func send(_ bytes: UnsafeRawBufferPointer) throws(FetchError) -> TransportWrite {
        try server.send(bytes)
    }

    func wait(for readiness: Readiness, by deadline: Instant) throws(FetchError) {
        try server.wait(for: readiness, by: deadline)
        hasWaited = true
    }
}

/// Connects a plugin, or its program, to a ``ScriptedServer``.
final class ScriptedDialer: ProgramHost, ProgramNetwork {
    let server: ScriptedServer
    private var endpoint: Endpoint?
    private var opened: String?
    /// True if the plugin or its manifest has asked for the connection, and not a timer.
    private var isWanted = false
    private let loop: EventLoop
    private let deadline: Instant

    init(_ server: ScriptedServer, on loop: EventLoop, by deadline: Instant) {
        self.server = server
        self.loop = loop
        self.deadline = deadline
    }

    var isRecorded: Bool { true }

    /// The endpoints or URLs that it has connected to.
    var dialled: [String] {
        if let opened { return [opened] }
        return isWanted || server.isUsed ? endpoint.map { [$0.description] } ?? [] : []
    }

    func dial(_ endpoint: Endpoint) async throws(FetchError) -> ByteStream {
        guard self.endpoint == nil else {
            throw FetchError(.internal, .connect, "a fixture has one connection")
        }
        self.endpoint = endpoint
        isWanted = true
        return ByteStream(ScriptedCarrier(server), idleSeconds: nil, deadline: deadline)
    }

    func programRunner() -> any ProgramRunner {
        ProgramExchange(on: loop, by: deadline, network: self)
    }

    func dial(for program: ProgramRequest) throws(FetchError) -> any Carrier {
        isWanted = program.isServerFirst
        switch program.transport {
        case .none: break
        case .stream(let endpoint), .datagrams(let endpoint):
            try server.checkPlace(endpoint)
            self.endpoint = endpoint
        }
        return server
    }

    func fetch(
        _ url: String, for program: ProgramRequest
    ) throws(FetchError) -> FetchedReply {
        let uri = try URI(parsing: url).removingDotSegments()
        guard program.mayFetch(uri, uri.port ?? 0, uri.port == nil) else {
            throw .plugin("the program opens \(url), which its manifest does not allow")
        }
        guard opened == nil else {
            throw FetchError(.notRecorded, .connect, "a fixture has one reply")
        }
        opened = url
        return server.fetched(uri)
    }
}
