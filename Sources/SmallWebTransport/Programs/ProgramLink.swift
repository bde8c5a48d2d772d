// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// One connection of a program: the two pipes that it has of it, and what carries the bytes.
final class ProgramLink {
    /// What the program reads, and what it writes.
    let input, output: ProgramPipe
    let kind: ProgramConnection
    /// Whether it is not the first.
    let isFurther: Bool
    var keepsDatagrams: Bool { kind == .udp }
    /// `nil` before it is open, and where it could not be opened.
    var channel: (any Carrier)?
    /// Whether the program has asked for it.
    var isAsked = false
    var isSecure = false
    /// Whether it brings the body of a URL: what the program writes goes nowhere.
    var isFetched = false
    /// Whether that of the URL was there before it.
    var hasControl = false
    /// Whether there is a server that takes what the program writes.
    var takesRequests: Bool { channel != nil && !isFetched && !isRefused }
    private(set) var serverEnding: ByteStream.Ending?

    /// Bytes on their way, if there are any. A datagram goes as it came, and may be empty.
    private(set) var toServer: [UInt8]?
    private var toProgram: [UInt8]?
    private var isServerTold = false
    /// Whether the server takes no more.
    private var isRefused = false
    /// Why the server did not take all, until it has been heard after that.
    private var sendFailure: FetchError?
    /// Whether a paced channel was not asked, since the program had not read all.
    private(set) var isHeldBack = false

    init(
        _ input: ProgramPipe, _ output: ProgramPipe, _ kind: ProgramConnection, isFurther: Bool
    ) {
        (self.input, self.output, self.kind) = (input, output, kind)
        self.isFurther = isFurther
    }

    /// Whether all that came from the server has been read by the program.
    var isDrained: Bool { toProgram == nil && !input.hasUnread }

    /// Whether its server has got all that a program has written that has ended.
    var isAllSent: Bool { channel == nil ? toServer == nil : isServerTold }

    /// It could not be opened: the program reads an end, and writes to nowhere.
    func refuse() { input.close() }

    /// Takes what the program writes for its server.
    ///
    /// - Parameter isKept: Whether there is a server that it goes to, now or later.
    /// - Returns: Whether there was anything.
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

    /// - Returns: What has gone out; `nil` for nothing.
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

    /// A server that takes no more may have said why, and as FTP's does in an upload, on the
    /// connection of the URL. Beside that, a datagram that did not arrive is one that was lost.
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

    /// - Returns: How many bytes came from the server; `nil` when nothing came.
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
                // Nothing has come, and more may be there.
                received = 0
            case .success(.bytes(let count)):
                (received, sendFailure) = (count, nil)
                toProgram = Array(piece[..<count])
            case .success(.wouldBlock): break
            // Without close_notify, TLS may have been cut off by anybody.
            case .success(.ended(let how)):
                if let sendFailure { throw sendFailure }
                serverEnding = isSecure && how == .endOfFile ? .reset : how
            }
        }
        try Self.move(&toProgram, to: input)
        // To a program that receives datagrams, an end would be empty ones without end.
        if toProgram == nil && serverEnding != nil && !keepsDatagrams { input.close() }
        return received
    }

    /// What is still to go; `nil` when nothing is, not even an empty datagram.
    private static func rest(of bytes: [UInt8], after count: Int) -> [UInt8]? {
        count < bytes.count ? Array(bytes[count...]) : nil
    }

    /// - Returns: Whether the program still reads.
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

    /// What there is to wait for; `nil` in it at the end of a turn.
    ///
    /// - Parameter readsRequests: Whether what the program writes is taken.
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
