// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWebCore

/// A non-blocking TCP socket, watched by an event loop. Closed with its last owner.
final class TCPSocket: Carrier {
    private let descriptor: Descriptor
    let loop: EventLoop
    let address: SocketAddress
    private var bytesReceived = 0
    /// Bytes moved since the last wait.
    private var turnBytes = 0
    /// Bytes after which a wait is forced. A peer that is always ready never makes us wait, and
    /// only a wait checks the deadline, a cancellation, and the other fetches of the loop. Counted
    /// here, on the wire: TLS records without data may go on for ever.
    private static let turnBytesMax = 4 << 20
    /// Acknowledgements are prompt until this many bytes have been received.
    private static let promptBytes = 65_536

    init(connectingTo address: SocketAddress, on loop: EventLoop) throws(SystemError) {
        self.loop = loop
        self.address = address
        let kind = Int32(SOCK_STREAM.rawValue)
        descriptor = Descriptor(owning: try systemCall { swposix_socket(address.family, kind) })
        // A request is one write; waiting for more data for its packet only costs time.
        setFlag(IPPROTO_TCP, TCP_NODELAY)
        do throws(SystemError) {
            try address.connect(descriptor.borrowed)
        } catch  where error.number == EINPROGRESS {
            // Writability reports the result.
        }
        try loop.attach(descriptor.borrowed)
    }

    /// Takes over a connected socket of any family.
    init(adopting number: Int32, on loop: EventLoop) throws(SystemError) {
        guard let local = SocketAddress(literal: "127.0.0.1", port: 0) else {
            preconditionFailure("a literal parses")
        }
        self.loop = loop
        address = local
        descriptor = Descriptor(owning: number)
        // A blocking one would hold up the whole loop.
        let flags = try systemCall { fcntl(number, F_GETFL) }
        _ = try systemCall { fcntl(number, F_SETFL, flags | O_NONBLOCK) }
        try loop.attach(number)
    }

    /// For waiting only; valid while this object lives.
    var number: Int32 { descriptor.borrowed }

    /// True if a pending connect has succeeded; false while it is pending.
    func isConnected() throws(SystemError) -> Bool {
        var peer = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let status = withUnsafeMutablePointer(to: &peer) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getpeername(descriptor.borrowed, $0, &length)
            }
        }
        // Most have succeeded by the time of the call.
        if status == 0 { return true }
        var number: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        _ = try systemCall {
            getsockopt(descriptor.borrowed, SOL_SOCKET, SO_ERROR, &number, &size)
        }
        if number != 0 { throw SystemError(number: number) }
        return false
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(FetchError) -> TransportRead {
        if turnBytes >= Self.turnBytesMax { return .wouldBlock(.readable) }
        do throws(SystemError) {
            let count = try systemCall {
                recv(descriptor.borrowed, buffer.baseAddress, buffer.count, 0)
            }
            if count > 0 {
                bytesReceived += count
                turnBytes += count
                return .bytes(count)
            }
            return .ended(.endOfFile)
        } catch {
            switch error.number {
            case EAGAIN:
                // A server that writes its header and body separately under Nagle's algorithm waits
                // for our acknowledgement, which the kernel would delay by 40 ms. In the middle of
                // a body, the kernel knows best.
                if bytesReceived < Self.promptBytes { setFlag(IPPROTO_TCP, TCP_QUICKACK) }
                return .wouldBlock(.readable)
            case ECONNRESET, EPIPE:
                return .ended(.reset)
            default:
                throw FetchError(.receive, .body, "receiving failed", error)
            }
        }
    }

    func send(_ bytes: UnsafeRawBufferPointer) throws(FetchError) -> TransportWrite {
        if turnBytes >= Self.turnBytesMax { return .wouldBlock(.writable) }
        do throws(SystemError) {
            let count = try systemCall {
                Glibc.send(
                    descriptor.borrowed, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
            }
            turnBytes += count
            return .bytes(count)
        } catch {
            if error.number == EAGAIN { return .wouldBlock(.writable) }
            throw FetchError(.send, .send, "sending failed", error)
        }
    }

    func wait(for readiness: Readiness, by deadline: Instant) async throws(FetchError) {
        try await loop.wait(interests(readiness), for: readiness, by: deadline)
    }

    func interests(_ readiness: Readiness) -> [Interest]? {
        defer { turnBytes = 0 }
        guard turnBytes < Self.turnBytesMax else { return nil }
        return [Interest(descriptor: number, readiness: readiness)]
    }

    func endSending() {
        // The peer may be gone; the next receive finds that.
        _ = shutdown(descriptor.borrowed, Int32(SHUT_WR))
    }

    private func setFlag(_ level: Int, _ name: Int32) {
        var one: Int32 = 1
        // The flags only save time, so a failure is ignored.
        _ = setsockopt(
            descriptor.borrowed, Int32(level), name, &one, socklen_t(MemoryLayout<Int32>.size))
    }
}

extension EventLoop {
    /// Waits for the server on behalf of a socket.
    ///
    /// - Parameter interests: `nil` at the end of the socket's turn: there was no EAGAIN, so no
    ///   edge will come, and this only yields.
    /// - Throws: `timeout` at `deadline`, `interrupted` when the task is cancelled.
    func wait(
        _ interests: [Interest]?, for readiness: Readiness, by deadline: Instant
    ) async throws(FetchError) {
        switch await wait(for: interests ?? [], by: interests == nil ? .now : deadline) {
        case .ready: return
        case .cancelled: throw .cancelled
        case .timedOut:
            guard interests == nil && Instant.now < deadline else {
                throw .silence(readiness == .readable ? .body : .send)
            }
        }
    }
}
