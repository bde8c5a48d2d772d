// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWebCore

/// Our end of a pipe to a program, or of a socket that keeps datagrams apart.
///
/// Writing to a pipe whose reader is gone raises SIGPIPE: ``ProgramExchange`` ignores it.
final class ProgramPipe {
    private let number: Int32
    private var isClosed = false
    /// True if the program has closed its end.
    private(set) var hasEnded = false
    private let isReader: Bool
    private let keepsDatagrams: Bool
    /// Bytes of one turn, limited as in ``TCPSocket``.
    private var turnBytes = 0
    private static let turnBytesMax = 4 << 20

    private init(
        _ number: Int32, isReader: Bool, keepsDatagrams: Bool, on loop: EventLoop
    ) throws(SystemError) {
        self.number = number
        self.isReader = isReader
        self.keepsDatagrams = keepsDatagrams
        _ = try systemCall { fcntl(number, F_SETFL, O_NONBLOCK) }
        if keepsDatagrams && isReader {
            var isOn: Int32 = 1
            let size = socklen_t(MemoryLayout<Int32>.size)
            _ = try systemCall { setsockopt(number, SOL_SOCKET, SO_PASSCRED, &isOn, size) }
        }
        try loop.attach(number)
    }

    deinit { close() }

    /// Makes the other end see an end of file.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        Glibc.close(number)
    }

    /// - Parameter isReader: True if the program writes and we read.
    /// - Returns: Our end, and the descriptor of the program's end, owned by the caller.
    static func make(
        isReader: Bool, keepsDatagrams: Bool = false, on loop: EventLoop
    ) throws(SystemError) -> (ours: ProgramPipe, theirs: Int32) {
        var ends: [Int32] = [-1, -1]
        _ = try systemCall {
            keepsDatagrams
                ? socketpair(AF_UNIX, swposix_seqpacket_socket, 0, &ends)
                : swposix_pipe(&ends)
        }
        let (ours, theirs) = isReader ? (ends[0], ends[1]) : (ends[1], ends[0])
        do throws(SystemError) {
            let pipe = try ProgramPipe(
                ours, isReader: isReader, keepsDatagrams: keepsDatagrams, on: loop)
            return (pipe, theirs)
        } catch {
            Glibc.close(theirs)
            throw error
        }
    }

    /// - Parameter piece: Buffer for the bytes.
    /// - Returns: The bytes read; `nil` for none, now or at the end.
    func read(_ piece: inout [UInt8]) throws(FetchError) -> ArraySlice<UInt8>? {
        guard !hasEnded else { return nil }
        let read = piece.withUnsafeMutableBytes { buffer in
            Result { () throws(FetchError) in try receive(into: buffer) }
        }
        switch try read.get() {
        case .bytes(let count): return piece[..<count]
        case .wouldBlock: return nil
        case .ended:
            hasEnded = true
            return nil
        }
    }

    private func receive(
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(FetchError) -> TransportRead {
        if turnBytes >= Self.turnBytesMax { return .wouldBlock(.readable) }
        do throws(SystemError) {
            if keepsDatagrams { return try receiveDatagram(into: buffer) }
            let count = try systemCall {
                Glibc.read(number, buffer.baseAddress, buffer.count)
            }
            turnBytes += count
            return count > 0 ? .bytes(count) : .ended(.endOfFile)
        } catch {
            if error.number == EAGAIN { return .wouldBlock(.readable) }
            // A socket whose other end was closed with unread data in it.
            if error.number == ECONNRESET { return .ended(.endOfFile) }
            throw failure(error)
        }
    }

    /// An empty datagram differs from the end by its sender's credentials, which come with each
    /// one. There is room for nothing else, so the system closes descriptors that are passed along.
    private func receiveDatagram(
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(SystemError) -> TransportRead {
        var piece = iovec(iov_base: buffer.baseAddress, iov_len: buffer.count)
        let (number, room) = (number, swposix_credentials_room)
        let read = withUnsafeTemporaryAllocation(byteCount: room, alignment: 8) { control in
            withUnsafeMutablePointer(to: &piece) { piece in
                var message = msghdr()
                message.msg_iov = piece
                message.msg_iovlen = 1
                message.msg_control = control.baseAddress
                message.msg_controllen = room
                return Result { () throws(SystemError) in
                    let count = try systemCall { recvmsg(number, &message, 0) }
                    return (count: count, isDatagram: message.msg_controllen > 0)
                }
            }
        }
        let (count, isDatagram) = try read.get()
        turnBytes += count + DatagramSocket.headerBytes
        return isDatagram ? .bytes(count) : .ended(.endOfFile)
    }

    /// - Returns: `nil` when the program has closed its end.
    func send(_ bytes: UnsafeRawBufferPointer) throws(FetchError) -> TransportWrite? {
        if isClosed { return nil }
        if turnBytes >= Self.turnBytesMax { return .wouldBlock(.writable) }
        do throws(SystemError) {
            let count = try systemCall {
                write(number, bytes.baseAddress, bytes.count)
            }
            turnBytes += count + (keepsDatagrams ? DatagramSocket.headerBytes : 0)
            return .bytes(count)
        } catch {
            switch error.number {
            case EAGAIN: return .wouldBlock(.writable)
            case EPIPE, ECONNRESET: return nil
            default: throw failure(error)
            }
        }
    }

    /// True if the program has not read all that was written.
    var hasUnread: Bool {
        guard !isClosed else { return false }
        var count: Int32 = 0
        let question = keepsDatagrams ? UInt(TIOCOUTQ) : UInt(FIONREAD)
        return ioctl(number, question, &count) == 0 && count > 0
    }

    /// Descriptors to poll. `nil` ends the current turn; the next call starts a new one.
    func interests() -> [Interest]? {
        defer { turnBytes = 0 }
        if isClosed { return [] }
        guard turnBytes < Self.turnBytesMax else { return nil }
        return [Interest(descriptor: number, readiness: isReader ? .readable : .writable)]
    }

    private func failure(_ error: SystemError) -> FetchError {
        FetchError(.plugin, .plugin, "talking to the program failed", error)
    }
}
