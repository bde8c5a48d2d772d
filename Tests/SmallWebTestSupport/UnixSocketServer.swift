// SPDX-License-Identifier: MIT
internal import Glibc
package import SmallWebCore

/// A server on a Unix socket: one thread, one connection after the other. The file goes with it.
public final class UnixSocketServer: Sendable {
    public let path: String
    private let listener: Int32
    private let thread: pthread_t

    /// - Parameter handler: Serves one connection.
    package init(
        path: String, handler: @escaping @Sendable (Peer) -> Void
    ) throws(SystemError) {
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        let listener = try systemCall { socket(AF_UNIX, kind, 0) }
        var place = sockaddr_un()
        place.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        precondition(bytes.count < MemoryLayout.size(ofValue: place.sun_path), "a short path")
        withUnsafeMutableBytes(of: &place.sun_path) { $0.copyBytes(from: bytes) }
        let status = withUnsafePointer(to: &place) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(listener, pointer, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard status == 0 else {
            let number = errno
            close(listener)
            throw SystemError(number: number)
        }
        listen(listener, 8)
        self.path = path
        self.listener = listener
        thread = startThread {
            blockBrokenPipeSignal()
            while true {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else { return }
                let peer = Peer(descriptor: descriptor, context: nil)
                handler(peer)
                peer.finish()
                close(descriptor)
            }
        }
    }

    /// Waits for the thread.
    deinit {
        // Makes the blocked accept fail.
        shutdown(listener, Int32(SHUT_RDWR))
        pthread_join(thread, nil)
        close(listener)
        unlink(path)
    }
}
