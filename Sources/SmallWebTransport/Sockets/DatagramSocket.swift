// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
package import SmallWebCore

/// A non-blocking UDP socket with one peer, watched by an event loop. Closed when its last owner
/// lets go.
package final class DatagramSocket: Carrier {
    private let descriptor: Descriptor
    let loop: EventLoop
    let address: SocketAddress
    /// Bytes moved since the last wait, bounded for the reasons that ``TCPSocket`` has.
    private var turnBytes = 0
    private static let turnBytesMax = 4 << 20
    /// What a datagram counts beside its bytes: empty ones must not be for ever, either.
    static let headerBytes = 64

    /// Largest datagram of either family, without jumbograms.
    static let datagramBytesMax = 65_535

    /// Connects, which sends nothing, but has the system drop what comes from other places.
    init(connectingTo address: SocketAddress, on loop: EventLoop) throws(SystemError) {
        self.loop = loop
        self.address = address
        let kind = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        descriptor = Descriptor(owning: try systemCall { socket(address.family, kind, 0) })
        try address.connect(descriptor.borrowed)
        // Datagrams between the two calls, when the socket had a port and no peer, are strangers'.
        var byte: UInt8 = 0
        while recv(descriptor.borrowed, &byte, 1, 0) >= 0 {}
        try loop.attach(descriptor.borrowed)
    }

    /// Moves one datagram into `buffer`: no bytes are an empty one. It never says `ended`.
    ///
    /// - Parameter buffer: Of ``datagramBytesMax`` bytes: what does not fit is lost.
    /// - Throws: `connect` when the peer's port or host is known to refuse datagrams.
    package func receive(into buffer: UnsafeMutableRawBufferPointer) throws(FetchError)
        -> TransportRead
    {
        if turnBytes >= Self.turnBytesMax { return .wouldBlock(.readable) }
        do throws(SystemError) {
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

    /// Sends `bytes` as one datagram, whole or not at all.
    ///
    /// - Throws: `connect` as ``receive(into:)`` does, `send`, also for more bytes than fit.
    package func send(_ bytes: UnsafeRawBufferPointer) throws(FetchError) -> TransportWrite {
        if turnBytes >= Self.turnBytesMax { return .wouldBlock(.writable) }
        do throws(SystemError) {
            let count = try systemCall {
                Glibc.send(
                    descriptor.borrowed, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
            }
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

    /// What a router or the peer's system said about an earlier datagram is about the address, not
    /// about this call.
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

    /// Suspends until a datagram may be there, or there is room for one.
    ///
    /// - Throws: `timeout` at `deadline`, `interrupted` when the task is cancelled.
    package func wait(for readiness: Readiness, by deadline: Instant) async throws(FetchError) {
        try await loop.wait(interests(readiness), for: readiness, by: deadline)
    }

    /// What there is to wait for; `nil` at the end of its turn; this begins the next one.
    package func interests(_ readiness: Readiness) -> [Interest]? {
        defer { turnBytes = 0 }
        return turnBytes < Self.turnBytesMax
            ? [Interest(descriptor: descriptor.borrowed, readiness: readiness)] : nil
    }
}

extension DatagramSocket {
    /// A socket to the first of the endpoint's addresses: without an answer there is no telling
    /// which one works.
    ///
    /// - Throws: `resolve`, `connect`, `timeout`, `interrupted`.
    package static func connect(
        to endpoint: Endpoint, _ resolver: Resolver, on loop: EventLoop, by deadline: Instant
    ) async throws(FetchError) -> (DatagramSocket, Connection) {
        var moments = Connection.Moments()
        let addresses = try await resolver.addresses(of: endpoint, on: loop, by: deadline)
        moments.resolved = .now
        var failure: SystemError?
        for address in addresses {
            do throws(SystemError) {
                let socket = try DatagramSocket(connectingTo: address, on: loop)
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
