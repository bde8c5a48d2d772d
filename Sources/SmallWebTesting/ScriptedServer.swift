// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebTransport

/// How the reply of a fixture reaches the program.
enum Play: Sendable, Hashable, CustomStringConvertible {
    /// As its lines are.
    case whole
    case byteByByte
    /// In two pieces, which meet there.
    case split(Int)
    /// No more than so many bytes, or datagrams.
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

/// The server of a fixture: says a piece when the last is read and what precedes it has been sent.
final class ScriptedServer: Carrier {
    /// What it says, and after how many bytes of the request.
    private struct Piece {
        let after: Int
        /// Of the fixture, where it begins.
        let line: Int
        var bytes: ArraySlice<UInt8>

        func part(_ bytes: ArraySlice<UInt8>) -> Piece {
            Piece(after: after, line: line, bytes: bytes)
        }
    }

    private let wire: WireCase

    private var pieces: [Piece] = []
    /// After how many bytes of the request it ends.
    private var endsAfter = 0
    /// Datagrams have no end: what comes after the last one is silence.
    private let close: WireCase.Close
    private(set) var sent: [UInt8] = []
    /// Of the first datagram.
    private var firstBytes = 0
    private var given = 0

    /// Of a stream one piece at a time is a byte up to here, and more beyond.
    private static let singleBytesMax = 512

    /// Whether the reply ends before its end.
    let isCut: Bool

    /// Whether another place or request than the fixture's is an error at once.
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

    /// - Throws: `plugin` when it is strict and stands somewhere else.
    func checkPlace(_ endpoint: Endpoint) throws(FetchError) {
        guard isStrict, let dial = wire.dial, dial != endpoint.description else { return }
        throw FetchError(
            .plugin, .connect, "\(wire.name): connected to \(endpoint) instead of \(dial)")
    }

    /// What came of the URL that a program opens. Nothing of a body that was cut is whole: of a
    /// URL it is always known.
    func fetched(_ uri: URI) -> ProgramNetwork.Fetched {
        let head = wire.answer
        guard let outcome = head.replyClass.refusal else {
            return .init(uri, head, .success(ScriptedBody(self)))
        }
        let message = "the server refused: \(head.status ?? 0) \(head.meta ?? "")"
        return .init(uri, head, .failure(FetchError(outcome, .header, message)))
    }

    /// One that says everything at once, whatever it is sent.
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

    /// What is before an offset of all that is said, and what is behind.
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

    /// Whether the program has used the connection: it is made after a while all the same.
    var isUsed: Bool { !sent.isEmpty || given > 0 }

    var keepsPieces: Bool { true }

    /// What it has not been sent, and what it holds back for that.
    var awaited: String? {
        guard sent.count < pieces.first?.after ?? endsAfter,
            let line = wire.line(ofRequestByte: sent.count)
        else { return nil }
        let next = pieces.first.map { "it sent line \($0.line)" } ?? "it ended"
        return "the server waited for line \(line) (>) before \(next)"
    }

    /// Whether it has something to say now, if only its end.
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

    /// Whether a datagram is the last one again, or the first, which a fixture need not expect: how
    /// often it is sent is a matter of time.
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

/// The body of a URL that a program opens.
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

/// The same for a plugin that is built in. Nothing takes time: what cannot come is silence.
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

/// Connects a plugin, or its program, with a ``ScriptedServer``.
final class ScriptedDialer: ProgramHost {
    let server: ScriptedServer
    private var endpoint: Endpoint?
    /// The URL that the program has opened.
    private var opened: String?
    /// Whether the plugin or its manifest has asked for the connection, and not a timer.
    private var isWanted = false
    private let loop: EventLoop
    private let deadline: Instant

    init(_ server: ScriptedServer, on loop: EventLoop, by deadline: Instant) {
        self.server = server
        self.loop = loop
        self.deadline = deadline
    }

    /// Where to it has connected.
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
        return ByteStream(ScriptedCarrier(server), idleSeconds: 0, deadline: deadline)
    }

    func programRunner() -> any ProgramRunner {
        var network = ProgramNetwork { [self] program throws(FetchError) in
            isWanted = program.isServerFirst
            switch program.transport {
            case .none: break
            case .stream(let endpoint), .datagrams(let endpoint):
                try server.checkPlace(endpoint)
                self.endpoint = endpoint
            }
            return server
        }
        network.fetch = { [self] program, url throws(FetchError) in
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
        return ProgramExchange(on: loop, by: deadline, network: network)
    }
}
