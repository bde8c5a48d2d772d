// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// One connection of a program: its two pipes to the program, and the carrier of its bytes.
final class ProgramLink {
    /// The pipe that the program reads, and the one that it writes.
    let input, output: ProgramPipe
    let kind: ProgramConnection
    /// False for the connection of the URL, the first.
    let isFurther: Bool
    var keepsDatagrams: Bool { kind == .udp }
    /// `nil` before it is open, and if it could not be opened.
    var channel: (any Carrier)?
    /// True if the program has asked to open it.
    var isAsked = false
    var isSecure = false
    /// True if it carries the body of a URL: bytes that the program writes are dropped.
    var isFetched = false
    /// True if the connection of the URL was open before it.
    var hasControl = false
    /// True if a server accepts bytes from the program.
    var takesRequests: Bool { channel != nil && !isFetched && !isRefused }
    private(set) var serverEnding: ByteStream.Ending?

    /// Pending bytes. A datagram is one piece, and may be empty.
    private(set) var toServer: [UInt8]?
    private var toProgram: [UInt8]?
    private var isServerTold = false
    /// True if the server accepts no more bytes.
    private var isRefused = false
    /// The error of an incomplete send, until bytes from the server have come after it.
    private var sendFailure: FetchError?
    /// True if a paced channel was not read because the program had not read all.
    private(set) var isHeldBack = false

    init(
        _ input: ProgramPipe, _ output: ProgramPipe, _ kind: ProgramConnection, isFurther: Bool
    ) {
        (self.input, self.output, self.kind) = (input, output, kind)
        self.isFurther = isFurther
    }

    /// True if the program has read all bytes that came from the server.
    var isDrained: Bool { toProgram == nil && !input.hasUnread }

    /// True if the server has got all bytes of a program that has ended.
    var isAllSent: Bool { channel == nil ? toServer == nil : isServerTold }

    /// Marks it as failed: the program reads an end of file, and its bytes are dropped.
    func refuse() { input.close() }

    /// Reads the program's bytes for its server.
    ///
    /// - Parameter isKept: False if there will never be a server for them, so they are dropped.
    /// - Returns: True if there were any.
    func readRequest(
        _ piece: inout [UInt8], isKept: Bool
    ) throws(FetchError) -> Bool {
        guard toServer == nil else { return false }
        while let bytes = try output.read(&piece) {
            guard isKept else { continue }
            toServer = Array(bytes)
            return true
        }
        return false
    }

    /// - Returns: The bytes that were sent; `nil` for none.
    func moveToServer() throws(FetchError) -> [UInt8]? {
        guard let channel else { return nil }
        var sent: [UInt8]?
        while let bytes = toServer {
            let written: TransportWrite
            do throws(FetchError) {
                written = try bytes.span.bytes.withUnsafeBytes(channel.send)
            } catch {
                try passOver(error)
                toServer = nil
                break
            }
            guard case .bytes(let count) = written else { break }
            sent = (sent ?? []) + bytes.prefix(count)
            toServer = Self.rest(of: bytes, after: count)
        }
        if toServer == nil && output.hasEnded && !isServerTold {
            if !isFurther { channel.endSending() }
            isServerTold = isFurther ? channel.finishSending() : true
        }
        return sent
    }

    /// Ignores errors of sending that the program can live with. A server that accepts no more may
    /// have sent the reason; an FTP server does so during an upload, on the connection of the URL.
    /// With that connection open, a datagram that could not be delivered counts as lost.
    ///
    /// - Throws: `error`, in every other case.
    private func passOver(_ error: FetchError) throws(FetchError) {
        switch kind {
        case .udp: guard hasControl, error.outcome == .connect else { throw error }
        case .tcp:
            guard error.outcome == .send else { throw error }
            (isRefused, isServerTold) = (true, true)
            if isFurther {
                serverEnding = serverEnding ?? .reset
            } else {
                sendFailure = sendFailure ?? error
            }
        }
    }

    /// - Returns: Number of bytes from the server; `nil` for none.
    func moveToProgram(_ piece: inout [UInt8]) throws(FetchError) -> Int? {
        guard let channel else { return nil }
        var received: Int?
        isHeldBack = channel.keepsPieces && input.hasUnread
        if toProgram == nil && serverEnding == nil && !isHeldBack {
            let read = piece.withUnsafeMutableBytes { buffer in
                Result { () throws(FetchError) in try channel.receive(into: buffer) }
            }
            switch read {
            case .failure(let error):
                guard keepsDatagrams else {
                    throw error.outcome == .receive ? sendFailure ?? error : error
                }
                try passOver(error)
                // The error took the place of a datagram; more may be waiting.
                received = 0
            case .success(.bytes(let count)):
                (received, sendFailure) = (count, nil)
                toProgram = Array(piece[..<count])
            case .success(.wouldBlock): break
            // Without close_notify, an attacker may have truncated the TLS stream.
            case .success(.ended(let how)):
                if let sendFailure { throw sendFailure }
                serverEnding = isSecure && how == .endOfFile ? .reset : how
            }
        }
        try Self.move(&toProgram, to: input)
        // With datagrams, the program would read an end as an unlimited number of empty ones.
        if toProgram == nil && serverEnding != nil && !keepsDatagrams { input.close() }
        return received
    }

    /// The unsent rest; `nil` for none, also after an empty datagram.
    private static func rest(of bytes: [UInt8], after count: Int) -> [UInt8]? {
        count < bytes.count ? Array(bytes[count...]) : nil
    }

    /// - Returns: False if the program has closed the pipe.
    @discardableResult
    static func move(
        _ buffer: inout [UInt8]?, to pipe: ProgramPipe
    ) throws(FetchError) -> Bool {
        while let bytes = buffer {
            switch try bytes.span.bytes.withUnsafeBytes(pipe.send) {
            case .bytes(let count): buffer = rest(of: bytes, after: count)
            case .wouldBlock: return true
            case nil:
                buffer = nil
                return false
            }
        }
        return true
    }

    /// Descriptors to poll; an element is `nil` at the end of a turn.
    ///
    /// - Parameter readsRequests: True if the program's bytes are read.
    func interests(readsRequests: Bool) -> [[Interest]?] {
        var all: [[Interest]?] = []
        if toServer == nil && (isServerTold || !output.hasEnded || channel == nil) {
            if !output.hasEnded && readsRequests { all.append(output.interests()) }
        } else if let channel {
            all.append(channel.interests(.writable))
        }
        if toProgram != nil {
            all.append(input.interests())
        } else if let channel, serverEnding == nil {
            all.append(channel.interests(.readable))
        }
        return all
    }
}
