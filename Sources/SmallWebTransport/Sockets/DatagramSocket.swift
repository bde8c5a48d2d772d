// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
package import SmallWebCore

/// A non-blocking UDP socket with one peer, watched by an event loop. Closed with its last owner.
package final class DatagramSocket: Carrier {
    private let descriptor: Descriptor
    let loop: EventLoop
    private(set) var address: SocketAddress
    /// True until the first datagram has told the server's port.
    private var awaitsPort: Bool
    /// True if the system does not drop other senders' datagrams, so that we have to.
    private let checksSenders: Bool
    /// Bytes moved since the last wait, bounded for the reasons given in ``TCPSocket``.
    private var turnBytes = 0
    private static let turnBytesMax = 4 << 20
    /// Cost of a datagram on top of its bytes: a flood of empty ones must reach the bound, too.
    static let headerBytes = 64

    /// Largest datagram of either family, without jumbograms.
    static let datagramBytesMax = 65_535

    /// Connects, which sends nothing, but makes the system drop datagrams from other addresses.
    ///
    /// - Parameter acceptsAnyPort: True if the first datagram may come from any port of the
    ///   address: later ones go there, and are accepted from there alone (the transfer identifiers
    ///   of TFTP, RFC 1350 §4).
    init(
        connectingTo address: SocketAddress, acceptsAnyPort: Bool = false, on loop: EventLoop
    ) throws(SystemError) {
        self.loop = loop
        self.address = address
        (awaitsPort, checksSenders) = (acceptsAnyPort, acceptsAnyPort)
        let kind = Int32(SOCK_DGRAM.rawValue)
        descriptor = Descriptor(owning: try systemCall { swposix_socket(address.family, kind) })
        guard !acceptsAnyPort else {
            // A socket without a peer does not report unreachable hosts by default.
            var isOn: Int32 = 1
            let number = descriptor.borrowed
            let (level, option) =
                address.isV4 ? (IPPROTO_IP, IP_RECVERR) : (IPPROTO_IPV6, IPV6_RECVERR)
            _ = try systemCall {
                setsockopt(number, Int32(level), option, &isOn, socklen_t(4))
            }
            try loop.attach(number)
            return
        }
        try address.connect(descriptor.borrowed)
        // Drop datagrams from strangers that came between the two calls: the socket had a port, but
        // no peer yet.
        var byte: UInt8 = 0
        while recv(descriptor.borrowed, &byte, 1, 0) >= 0 {}
        try loop.attach(descriptor.borrowed)
    }

    /// Moves one datagram into `buffer`; 0 bytes are an empty one. Never returns `ended`.
    ///
    /// - Parameter buffer: ``datagramBytesMax`` bytes: the rest of a larger datagram is lost.
    /// - Throws: `connect` when the peer's port or host is known to refuse datagrams.
    package func receive(into buffer: UnsafeMutableRawBufferPointer) throws(FetchError)
        -> TransportRead
    {
        if turnBytes >= Self.turnBytesMax { return .wouldBlock(.readable) }
        do throws(SystemError) {
            if checksSenders { return try receiveFromHost(into: buffer) }
            let count = try systemCall {
                recv(descriptor.borrowed, buffer.baseAddress, buffer.count, 0)
            }
            turnBytes += count + Self.headerBytes
            return .bytes(count)
        } catch {
            if error.number == EAGAIN { return .wouldBlock(.readable) }
            throw failure(error, .receive, .body, "receiving failed")
        }
    }

    /// Skips datagrams from other senders than the server.
    private func receiveFromHost(
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(SystemError) -> TransportRead {
        let number = descriptor.borrowed
        while turnBytes < Self.turnBytesMax {
            var storage = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let count = try withUnsafeMutablePointer(to: &storage) { storage in
                storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { sender in
                    Result { () throws(SystemError) in
                        try systemCall {
                            recvfrom(number, buffer.baseAddress, buffer.count, 0, sender, &length)
                        }
                    }
                }
            }.get()
            turnBytes += count + Self.headerBytes
            let bytes = Swift.withUnsafeBytes(of: storage) { Array($0.prefix(Int(length))) }
            guard let sender = SocketAddress(bytes), sender.isV4 == address.isV4,
                sender.addressBytes == address.addressBytes,
                awaitsPort || sender.port == address.port
            else { continue }
            if awaitsPort {
                awaitsPort = false
                address = address.with(port: sender.port)
                try address.connect(number)
            }
            return .bytes(count)
        }
        return .wouldBlock(.readable)
    }

    /// Sends `bytes` as one datagram, whole or not at all.
    ///
    /// - Throws: `connect` as ``receive(into:)`` does; `send`, also for more bytes than fit.
    package func send(_ bytes: UnsafeRawBufferPointer) throws(FetchError) -> TransportWrite {
        if turnBytes >= Self.turnBytesMax { return .wouldBlock(.writable) }
        do throws(SystemError) {
            let (number, flags) = (descriptor.borrowed, Int32(MSG_NOSIGNAL))
            let count =
                awaitsPort
                ? try SocketAddress.withSocketAddress(address.bytes) {
                    peer, length throws(SystemError) in
                    try systemCall {
                        sendto(number, bytes.baseAddress, bytes.count, flags, peer, length)
                    }
                }
                : try systemCall { Glibc.send(number, bytes.baseAddress, bytes.count, flags) }
            turnBytes += count + Self.headerBytes
            return .bytes(count)
        } catch {
            switch error.number {
            case EAGAIN: return .wouldBlock(.writable)
            case EMSGSIZE:
                throw FetchError(
                    .send, .send, "\(bytes.count) bytes do not fit into one datagram",
                    errnoName: error.name)
            default: throw failure(error, .send, .send, "sending failed")
            }
        }
    }

    /// Maps an error that a router or the peer's system reported for an earlier datagram: it is
    /// about the address, not about this call.
    private func failure(
        _ error: SystemError, _ outcome: Outcome, _ phase: FetchError.Phase, _ what: String
    ) -> FetchError {
        switch error.number {
        case ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, EHOSTDOWN:
            FetchError(
                .connect, .connect, "cannot reach \(address.host)", error,
                hint: "check the port, and that the server is running")
        default:
            FetchError(outcome, phase, what, error)
        }
    }

    /// Suspends until a datagram can be received or sent.
    ///
    /// - Throws: `timeout` at `deadline`, `interrupted` when the task is cancelled.
    package func wait(for readiness: Readiness, by deadline: Instant) async throws(FetchError) {
        try await loop.wait(interests(readiness), for: readiness, by: deadline)
    }

    /// Descriptors to poll. `nil` ends the current turn; the next call starts a new one.
    package func interests(_ readiness: Readiness) -> [Interest]? {
        defer { turnBytes = 0 }
        return turnBytes < Self.turnBytesMax
            ? [Interest(descriptor: descriptor.borrowed, readiness: readiness)] : nil
    }
}

extension DatagramSocket {
    /// A socket to the first address of the endpoint for which one can be opened: without an answer
    /// there is no telling which address works.
    ///
    /// - Parameter acceptsAnyPort: True if the server may answer from another port.
    /// - Throws: `resolve`, `connect`, `timeout`, `interrupted`.
    package static func connect(
        to endpoint: Endpoint, acceptsAnyPort: Bool = false, _ resolver: Resolver,
        on loop: EventLoop, by deadline: Instant
    ) async throws(FetchError) -> (DatagramSocket, Connection) {
        var moments = Connection.Moments()
        let addresses = try await resolver.addresses(of: endpoint, on: loop, by: deadline)
        moments.resolved = .now
        var failure: SystemError?
        for address in addresses {
            do throws(SystemError) {
                let socket = try DatagramSocket(
                    connectingTo: address, acceptsAnyPort: acceptsAnyPort, on: loop)
                moments.ready = .now
                return (
                    socket,
                    Connection(
                        endpoint: endpoint, address: address.host, port: endpoint.port, tls: nil,
                        trust: nil, moments: moments)
                )
            } catch {
                failure = error
            }
        }
        throw FetchError(
            .connect, .connect,
            "cannot reach \(endpoint): \(failure?.sentence ?? "no address")",
            errnoName: failure?.name, remedy: failure?.remedy)
    }
}
