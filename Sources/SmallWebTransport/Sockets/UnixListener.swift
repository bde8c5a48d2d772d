// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWebCore

/// A Unix socket that accepts one connection from libcurl.
//
// @unchecked: used on its event loop's thread alone.
final class UnixListener: @unchecked Sendable {
    /// -1 when closed.
    private var number: Int32
    private let address: sockaddr_un
    private let length: socklen_t
    /// Owned directory with the socket's file in it; `nil` for an abstract socket.
    private let directory: String?

    /// In the abstract namespace, under a name that the system chooses.
    convenience init() throws(FetchError) {
        // With an empty name, Linux chooses one (unix(7), autobind).
        try self.init(path: "", in: nil)
    }

    /// With a file, for as long as this value lives, in a directory that other users cannot enter:
    /// libcurl 7.88 does not reuse connections to an abstract socket. If the directory cannot be
    /// made, the socket is abstract all the same.
    static func withFile() throws(FetchError) -> UnixListener {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/smallweb-XXXXXX".utf8CString)
        guard template.count < 100, mkdtemp(&template) != nil else { return try UnixListener() }
        let directory = String(buffer: template)
        return try UnixListener(path: directory + "/s", in: directory)
    }

    private init(path: String, in directory: String?) throws(FetchError) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let capacity = MemoryLayout.size(ofValue: address.sun_path)
        withUnsafeMutableBytes(of: &address.sun_path) { bytes in
            bytes.copyBytes(from: path.utf8.prefix(capacity - 1))
        }
        var length = socklen_t(
            MemoryLayout<sa_family_t>.size + (path.isEmpty ? 0 : path.utf8.count + 1))
        self.directory = directory
        var made: Int32 = -1
        do throws(SystemError) {
            made = try systemCall { socket(AF_UNIX, swposix_stream_socket, 0) }
            let number = made
            _ = try Self.withSocketAddress(of: &address) { pointer throws(SystemError) in
                try systemCall { bind(number, pointer, length) }
            }
            _ = try systemCall { listen(number, 1) }
            length = socklen_t(MemoryLayout<sockaddr_un>.size)
            _ = try Self.withSocketAddress(of: &address) { pointer throws(SystemError) in
                try systemCall { getsockname(number, pointer, &length) }
            }
            _ = try systemCall { fcntl(number, F_SETFL, O_NONBLOCK) }
        } catch {
            if made >= 0 { Glibc.close(made) }
            if let directory { Self.remove(directory) }
            throw FetchError(
                .connect, .connect, "no socket for libcurl", error, remedy: error.remedy)
        }
        number = made
        self.address = address
        self.length = length
    }

    deinit { close() }

    private func close() {
        guard number >= 0 else { return }
        Glibc.close(number)
        number = -1
        if let directory { Self.remove(directory) }
    }

    private static func remove(_ directory: String) {
        unlink(directory + "/s")
        rmdir(directory)
    }

    /// The abstract name, without the NUL that it begins with.
    var name: String {
        let bytes = withUnsafeBytes(of: address.sun_path) { Array($0) }
        let count = Int(length) - MemoryLayout<sa_family_t>.size
        return String(decoding: bytes[1..<count], as: UTF8.self)
    }

    /// Writes the address over one of at least the same size.
    ///
    /// - Returns: Its length in bytes.
    func write(to other: UnsafeMutablePointer<sockaddr>) -> socklen_t {
        withUnsafePointer(to: address) { own in
            UnsafeMutableRawPointer(other).copyMemory(from: own, byteCount: Int(length))
        }
        return length
    }

    /// Accepts the pending connection, and closes the listener.
    ///
    /// - Returns: The connection, owned by the caller; `nil` for none.
    func accept() -> Int32? {
        defer { close() }
        return try? systemCall { swposix_accept(number) }
    }

    private static func withSocketAddress<Value>(
        of address: inout sockaddr_un,
        _ body: (UnsafeMutablePointer<sockaddr>) throws(SystemError) -> Value
    ) throws(SystemError) -> Value {
        try withUnsafeMutablePointer(to: &address) { pointer throws(SystemError) in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1, body)
        }
    }
}
