// SPDX-License-Identifier: MIT
internal import Glibc
package import SmallWebCore

/// A port that refuses every connection: bound, so nobody else gets it, but not listening.
public final class RefusingPort: Sendable {
    public let port: UInt16
    private let descriptor: Int32

    /// - Parameter port: 0 to have one picked.
    package init(address: String = "127.0.0.1", port: UInt16 = 0) throws(SystemError) {
        (descriptor, self.port) = try boundSocket(address, port: port)
    }

    deinit { close(descriptor) }
}

/// A port that answers nothing: its queue of connections is full, so the system drops further
/// requests to connect.
public final class SilentPort: Sendable {
    public let port: UInt16
    private let address: String
    private let descriptors: [Int32]

    /// - Parameter port: 0 to have one picked.
    package init(address: String = "127.0.0.1", port: UInt16 = 0) throws(SystemError) {
        let (listener, number) = try boundSocket(address, port: port)
        self.address = address
        self.port = number
        var descriptors = [listener]
        listen(listener, 0)
        // Until one of them hangs; the queue takes one or two.
        var isFull = false
        while !isFull && descriptors.count < 16 {
            let kind = Int32(
                SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
            let client = socket(AF_INET, kind, 0)
            withSocketAddress(address, port: number) { _ = connect(client, $0, $1) }
            descriptors.append(client)
            var waiting = pollfd(fd: client, events: Int16(POLLOUT), revents: 0)
            isFull = poll(&waiting, 1, 100) == 0
        }
        precondition(isFull, "the queue of a listening socket is bounded")
        self.descriptors = descriptors
    }

    /// Sockets that are connecting, without the port's own.
    public var clientSockets: Int {
        LoopbackServer.clientSockets(address, port: port) - (descriptors.count - 1)
    }

    deinit { for descriptor in descriptors { close(descriptor) } }
}

/// A socket that is bound and not listening, and its port.
func boundSocket(
    _ address: String, port: UInt16
) throws(SystemError) -> (descriptor: Int32, port: UInt16) {
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    let descriptor = try systemCall { socket(AF_INET, kind, 0) }
    do throws(SystemError) {
        var status: Int32 = -1
        withSocketAddress(address, port: port) { status = bind(descriptor, $0, $1) }
        if status != 0 { throw SystemError(number: errno) }
        var place = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &place) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                _ = getsockname(descriptor, pointer, &size)
            }
        }
        return (descriptor, UInt16(bigEndian: place.sin_port))
    } catch {
        close(descriptor)
        throw error
    }
}

func withSocketAddress(
    _ address: String, port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Void
) {
    var place = sockaddr_in()
    place.sin_family = sa_family_t(AF_INET)
    place.sin_port = port.bigEndian
    let status = inet_pton(AF_INET, address, &place.sin_addr)
    precondition(status == 1, "not an IPv4 address: \(address)")
    withUnsafePointer(to: &place) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
            body(pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
}
