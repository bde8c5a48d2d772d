// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWebCore

/// A Unix socket to which libcurl can connect. Its file is gone at once: only this process can name
/// it, and nothing is left behind.
///
/// Not one of the abstract namespace: libcurl (7.88) never uses a connection to such a one again.
struct UnixListener: ~Copyable {
    private let descriptor: Descriptor
    /// Keeps the file that has no name any more.
    private let file: Descriptor
    /// Valid in this process, while this value lives.
    let path: String

    /// - Throws: `connect`, also when the directory for temporary files cannot be written to.
    init() throws(FetchError) {
        do throws(SystemError) {
            let descriptor = Descriptor(
                owning: try systemCall { socket(AF_UNIX, swposix_stream_socket, 0) })
            let number = descriptor.borrowed
            let directory = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
            let name = "/smallweb-" + String(UInt64.random(in: 0 ... .max), radix: 16)
            // There is little room for a path.
            let place = (directory.utf8.count < 60 ? directory : "/tmp") + name
            try Self.bind(number, to: place)
            defer { unlink(place) }
            _ = try systemCall { listen(number, SOMAXCONN) }
            _ = fcntl(number, F_SETFL, O_NONBLOCK)
            let file = Descriptor(owning: try systemCall { swposix_open_path(place) })
            path = "/proc/self/fd/\(file.borrowed)"
            self.file = file
            self.descriptor = descriptor
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

    private static func bind(_ number: Int32, to path: String) throws(SystemError) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + path.utf8.count + 1)
        _ = try withSocketAddress(of: &address) { pointer throws(SystemError) in
            try systemCall { Glibc.bind(number, pointer, length) }
        }
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
