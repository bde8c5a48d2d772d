// SPDX-License-Identifier: MIT
import Glibc
import SmallWebCore
import SmallWebTestSupport
import Testing

@testable import SmallWebTransport

@Suite(.timeLimit(.minutes(30)))
struct DatagramSocketTests {
    /// A blocking socket of the other side, bound to a port of the loopback.
    private final class Place: Sendable {
        let descriptor: Int32
        let address: SocketAddress

        init(_ host: String = "127.0.0.1") throws {
            let family = host.contains(":") ? AF_INET6 : AF_INET
            let kind = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
            descriptor = try systemCall { socket(family, kind, 0) }
            let any = try #require(SocketAddress(literal: host, port: 0))
            let descriptor = descriptor
            let status = SocketAddress.withSocketAddress(any.bytes) { bind(descriptor, $0, $1) }
            guard status == 0 else { throw SystemError(number: errno) }
            address = try #require(
                SocketAddress(literal: host, port: Self.port(of: descriptor)))
        }

        deinit { close(descriptor) }

        /// Connected, so that `send` goes back to where the datagram came from.
        func receive() throws -> [UInt8] {
            var bytes = [UInt8](repeating: 0, count: 65_536)
            var sender = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            return try withUnsafeMutablePointer(to: &sender) {
                try $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { sender in
                    let count = try systemCall {
                        recvfrom(descriptor, &bytes, bytes.count, 0, sender, &length)
                    }
                    _ = try systemCall { connect(descriptor, sender, length) }
                    return Array(bytes.prefix(count))
                }
            }
        }

        func send(_ texts: String...) throws {
            for text in texts {
                let bytes = Array(text.utf8)
                _ = try systemCall { Glibc.send(descriptor, bytes, bytes.count, 0) }
            }
        }

        static func port(of descriptor: Int32) -> UInt16 {
            var place = sockaddr_storage()
            var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
            return withUnsafeMutablePointer(to: &place) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    _ = getsockname(descriptor, $0, &size)
                }
                // The port is at the same place in both families.
                return pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    UInt16(bigEndian: $0.pointee.sin_port)
                }
            }
        }
    }

    @Test(arguments: ["127.0.0.1", "::1"])
    func keepsTheBoundariesOfDatagrams(_ host: String) async throws {
        let server = try Place(host)
        try await onLoop { loop in
            let socket = try DatagramSocket(connectingTo: server.address, on: loop)
            try await socket.sendAll("one")
            try await socket.sendAll("three")
            #expect(try server.receive() == Array("one".utf8))
            #expect(try server.receive() == Array("three".utf8))
            try server.send("a", "", "bcd", "", "")
            let largest = String(repeating: "x", count: 65_507)
            try server.send(largest)
            for expected in ["a", "", "bcd", "", "", largest] {
                #expect(try await socket.next() == expected)
            }
        }
    }

    @Test func dropsWhatAStrangerSends() async throws {
        let (server, stranger) = (try Place(), try Place())
        try await onLoop { loop in
            let socket = try DatagramSocket(connectingTo: server.address, on: loop)
            let interest = try #require(socket.interests(.readable)?.first)
            let port = Place.port(of: interest.descriptor)
            let ours = try #require(SocketAddress(literal: "127.0.0.1", port: port))
            try ours.connect(stranger.descriptor)
            try await socket.sendAll("hello")
            _ = try server.receive()
            // The system says that there is none who would take it.
            try stranger.send("forged")
            #expect(throws: SystemError(number: ECONNREFUSED)) { try stranger.send("forged") }
            try server.send("true")
            #expect(try await socket.next() == "true")
            #expect(try socket.attempt() == .wouldBlock(.readable))
        }
    }

    /// TFTP's server answers from a port of its own for each transfer.
    @Test(arguments: ["127.0.0.1", "::1"])
    func theFirstAnswerDecidesThePort(_ host: String) async throws {
        let (server, transfer, other) = (try Place(host), try Place(host), try Place(host))
        let stranger = host == "::1" ? nil : try Place("127.0.0.2")
        try await onLoop { loop in
            let socket = try DatagramSocket(
                connectingTo: server.address, acceptsAnyPort: true, on: loop)
            #expect(try socket.attempt() == .wouldBlock(.readable))
            try await socket.sendAll("request")
            #expect(try server.receive() == Array("request".utf8))
            let interest = try #require(socket.interests(.readable)?.first)
            let port = Place.port(of: interest.descriptor)
            let ours = try #require(SocketAddress(literal: host, port: port))
            for place in [transfer, other] + [stranger].compactMap(\.self) {
                try ours.connect(place.descriptor)
            }
            try stranger?.send("forged")
            try transfer.send("first")
            try other.send("late copy")
            #expect(try await socket.next() == "first")
            try transfer.send("second")
            #expect(try await socket.next() == "second")
            try await socket.sendAll("more")
            #expect(try transfer.receive() == Array("more".utf8))
            #expect(try socket.attempt() == .wouldBlock(.readable))
        }
    }

    @Test(arguments: [false, true])
    func aRefusedPortIsToldByTheNextCall(_ acceptsAnyPort: Bool) async throws {
        let address = try Place().address
        try await onLoop { loop in
            let socket = try DatagramSocket(
                connectingTo: address, acceptsAnyPort: acceptsAnyPort, on: loop)
            try await socket.sendAll("hello")
            let error = await failure { () async throws(FetchError) in
                _ = try await socket.next()
            }
            #expect(error?.outcome == .connect)
            #expect(error?.errnoName == "ECONNREFUSED")
            #expect(error?.message.contains("127.0.0.1") == true)
        }
    }

    @Test func aDatagramThatIsTooLargeIsNotSent() async throws {
        let server = try Place()
        try await onLoop { loop in
            let socket = try DatagramSocket(connectingTo: server.address, on: loop)
            let error = await failure { () async throws(FetchError) in
                try await socket.sendAll(String(repeating: "x", count: 65_508))
            }
            #expect(error?.outcome == .send)
            #expect(error?.errnoName == "EMSGSIZE")
            try await socket.sendAll("small")
            #expect(try server.receive() == Array("small".utf8))
        }
    }

    @Test func silenceEndsAtTheDeadline() async throws {
        let server = try Place()
        let error = try await onLoop { loop in
            let socket = try DatagramSocket(connectingTo: server.address, on: loop)
            return await failure { () async throws(FetchError) in
                _ = try await socket.next(by: .after(seconds: 0.05))
            }
        }
        #expect(error?.outcome == .timeout)
    }

    /// Also one of empty datagrams.
    @Test(arguments: [0, 60_000])
    func anEndlessServerDoesNotOutliveTheDeadline(_ size: Int) async throws {
        let server = try Place()
        let isOver = Locked(false)
        try await onLoop { loop in
            let socket = try DatagramSocket(connectingTo: server.address, on: loop)
            try await socket.sendAll("hello")
            _ = try server.receive()
            let text = String(repeating: "x", count: size)
            try onThread {
                while !isOver.withLock({ $0 }) { try? server.send(text) }
            }
            defer { isOver.withLock { $0 = true } }
            let deadline = Instant.after(seconds: 0.05)
            let error = await failure { () async throws(FetchError) in
                while true { _ = try await socket.next(by: deadline) }
            }
            #expect(error?.outcome == .timeout)
        }
    }
}

extension DatagramSocket {
    fileprivate func attempt() throws(FetchError) -> TransportRead {
        var bytes = [UInt8](repeating: 0, count: Self.datagramBytesMax)
        return try bytes.withUnsafeMutableBytes { buffer in
            Result { () throws(FetchError) in try receive(into: buffer) }
        }.get()
    }

    fileprivate func next(by deadline: Instant = .after(seconds: 20)) async throws(FetchError)
        -> String
    {
        var bytes = [UInt8](repeating: 0, count: Self.datagramBytesMax)
        while true {
            let read = try bytes.withUnsafeMutableBytes { buffer in
                Result { () throws(FetchError) in try receive(into: buffer) }
            }.get()
            switch read {
            case .bytes(let count): return String(decoding: bytes[..<count], as: UTF8.self)
            case .wouldBlock(let readiness): try await wait(for: readiness, by: deadline)
            case .ended: preconditionFailure("datagrams have no end")
            }
        }
    }

    fileprivate func sendAll(_ text: String) async throws(FetchError) {
        let bytes = Array(text.utf8)
        while true {
            let write = try bytes.withUnsafeBytes { buffer in
                Result { () throws(FetchError) in try send(buffer) }
            }.get()
            switch write {
            case .bytes(let count): return #expect(count == bytes.count)
            case .wouldBlock(let readiness):
                try await wait(for: readiness, by: .after(seconds: 20))
            }
        }
    }
}
