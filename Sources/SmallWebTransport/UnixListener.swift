// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWebCore

/// A Unix socket without a file, to which libcurl can connect.
struct UnixListener: ~Copyable {
    private let descriptor: Descriptor
    /// In the abstract namespace; the system chose it.
    let name: String

    init() throws(FetchError) {
        do throws(SystemError) {
            let descriptor = Descriptor(
                owning: try systemCall { socket(AF_UNIX, swposix_stream_socket, 0) })
            let number = descriptor.borrowed
            let name = try Self.bind(number)
            _ = try systemCall { listen(number, SOMAXCONN) }
            _ = fcntl(number, F_SETFL, O_NONBLOCK)
            self.descriptor = descriptor
            self.name = name
        } catch {
            throw FetchError(
                .connect, .connect, "no socket for libcurl: \(error.sentence)",
                errnoName: error.name, remedy: error.remedy)
        }
    }

    /// For waiting only; valid while this value lives.
    var number: Int32 { descriptor.borrowed }

    /// A socket to connect to a listener with, and its name; owned by the caller.
    static func client() throws(SystemError) -> (socket: Int32, name: String) {
        let number = try systemCall { socket(AF_UNIX, swposix_stream_socket, 0) }
        do throws(SystemError) {
            return (number, try bind(number))
        } catch {
            close(number)
            throw error
        }
    }

    /// The next connection, owned by the caller, and the name of its other end; `nil` when there is
    /// none.
    func accept() -> (socket: Int32, name: String)? {
        var address = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let number = try? Self.withSocketAddress(of: &address) { pointer throws(SystemError) in
            try systemCall { Glibc.accept(descriptor.borrowed, pointer, &length) }
        }
        if let number { _ = fcntl(number, F_SETFD, FD_CLOEXEC) }
        return number.map { ($0, Self.name(address, length)) }
    }

    /// With no name at all, Linux finds one (unix(7), autobind).
    private static func bind(_ number: Int32) throws(SystemError) -> String {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var length = socklen_t(MemoryLayout<sa_family_t>.size)
        _ = try withSocketAddress(of: &address) { pointer throws(SystemError) in
            try systemCall { Glibc.bind(number, pointer, length) }
        }
        length = socklen_t(MemoryLayout<sockaddr_un>.size)
        _ = try withSocketAddress(of: &address) { pointer throws(SystemError) in
            try systemCall { getsockname(number, pointer, &length) }
        }
        return name(address, length)
    }

    /// Without the NUL that it begins with; empty for a socket that has none.
    private static func name(_ address: sockaddr_un, _ length: socklen_t) -> String {
        let bytes = withUnsafeBytes(of: address.sun_path) { Array($0) }
        let count = Int(length) - MemoryLayout<sa_family_t>.size
        return count > 1 ? String(decoding: bytes[1..<count], as: UTF8.self) : ""
    }

    private static func withSocketAddress<Value>(
        of address: inout sockaddr_un,
        _ body: (UnsafeMutablePointer<sockaddr>) throws(SystemError) -> Value
    ) throws(SystemError) -> Value {
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                Result { () throws(SystemError) in try body(pointer) }
            }
        }
        return try result.get()
    }
}
