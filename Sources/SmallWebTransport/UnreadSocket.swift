// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWebCore

/// A Unix socket without a file, to which libcurl can write and that is never read.
struct UnreadSocket: ~Copyable {
    private let descriptor: Descriptor
    /// In the abstract namespace; the system chose it.
    let name: String

    init() throws(FetchError) {
        do throws(SystemError) {
            let descriptor = Descriptor(
                owning: try systemCall { socket(AF_UNIX, swposix_stream_socket, 0) })
            let number = descriptor.borrowed
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            // With no name at all, Linux finds one (unix(7), autobind).
            var length = socklen_t(MemoryLayout<sa_family_t>.size)
            _ = try Self.withSocketAddress(of: &address) { pointer throws(SystemError) in
                try systemCall { bind(number, pointer, length) }
            }
            _ = try systemCall { listen(number, 1) }
            length = socklen_t(MemoryLayout<sockaddr_un>.size)
            _ = try Self.withSocketAddress(of: &address) { pointer throws(SystemError) in
                try systemCall { getsockname(number, pointer, &length) }
            }
            let bytes = withUnsafeBytes(of: address.sun_path) { Array($0) }
            let count = Int(length) - MemoryLayout<sa_family_t>.size
            self.descriptor = descriptor
            name = String(decoding: bytes[1..<count], as: UTF8.self)
        } catch {
            throw FetchError(
                .connect, .connect, "no socket to rehearse with: \(error.sentence)",
                errnoName: error.name, remedy: error.remedy)
        }
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
