// SPDX-License-Identifier: MIT
import Glibc
import SmallWebCore
import SmallWebTestSupport
import Testing

@testable import SmallWebTransport

@Suite(.timeLimit(.minutes(30)))
struct ByteStreamTests {
    static let text = Array("hello, world\n".utf8)

    @Test func writeAllFitsThroughAKibibyteOfBuffer() async throws {
        let sent = Array(DemoSites.block.prefix(300_000))
        try await onLoop { loop in
            let (ours, theirs) = try socketPair(sendBuffer: 1024)
            let stream = try await adopt(ours, on: loop)
            let received = Recorder<[UInt8]>()
            let done = Waiter(deadline: .after(seconds: 30))
            try onThread {
                var piece = [UInt8](repeating: 0, count: 1000)
                var turn = 0
                while true {
                    let count = read(theirs, &piece, [1, 7, 1000][turn % 3])
                    turn += 1
                    if count <= 0 { break }
                    received.add(Array(piece[..<count]))
                }
                close(theirs)
                loop.perform { loop.finish(done, .ready) }
            }
            try await stream.writeAll(sent)
            #expect(stream.bytesSent == sent.count)
            stream.close()
            #expect(await loop.wait(done) == .ready)
            #expect(Array(received.values.joined()) == sent)
        }
    }

    @Test(arguments: Layer.allCases)
    func aTrickleOfSingleBytesIsPutTogether(_ layer: Layer) async throws {
        let server = try layer.server { $0.writeSlowly(Self.text + Self.text) }
        try await onLoop { loop in
            let stream = try await layer.stream(to: server, on: loop)
            #expect(try await stream.readExactly(5) == Self.text[..<5])
            #expect(try await Array(stream.readLine(upTo: 100)) == Array(Self.text[5...]))
            #expect(try await Array(stream.readLine(upTo: 100)) == Self.text)
            #expect(try await stream.readSome() == [])
        }
    }

    @Test(arguments: Layer.allCases)
    func anEndInsideAFrameIsTruncation(_ layer: Layer) async throws {
        let server = try layer.server { peer in
            peer.write("1234")
            peer.fin()
        }
        try await onLoop { loop in
            let stream = try await layer.stream(to: server, on: loop)
            let error = await failure { () async throws(FetchError) in
                _ = try await stream.readExactly(10)
            }
            #expect(error?.outcome == .truncated)
            // The bytes that did arrive are not lost.
            #expect(try await Array(stream.readSome()) == Array("1234".utf8))
        }
    }

    @Test func bytesBeforeTheEndAreDeliveredBeforeTheEnd() async throws {
        let server = try LoopbackServer { $0.write("one\ntwo") }
        try await onLoop { loop in
            let stream = try await stream(to: server.port, on: loop)
            #expect(try await Array(stream.readLine(upTo: 10)) == Array("one\n".utf8))
            #expect(try await Array(stream.readLine(upTo: 10)) == Array("two".utf8))
            #expect(stream.ending == .endOfFile)
            #expect(try await stream.readLine(upTo: 10) == [])
            #expect(stream.state == .stopped(nil))
        }
    }

    @Test(arguments: [false, true])
    func aLineMayHaveItsLimitAndNotOneByteMore(_ isSlow: Bool) async throws {
        let server = try LoopbackServer { peer in
            peer.writeSlowly(Array("12345678\n123456789\n".utf8), step: isSlow ? 1 : 100)
            peer.hang()
        }
        try await onLoop { loop in
            let stream = try await stream(to: server.port, on: loop)
            #expect(try await stream.readLine(upTo: 9).count == 9)
            let error = await failure { () async throws(FetchError) in
                _ = try await stream.readLine(upTo: 9)
            }
            #expect(error?.outcome == .protocolError)
        }
    }

    @Test func aLineLongerThanTheBufferIsRead() async throws {
        let line = [UInt8](repeating: 0x61, count: 300_000) + [0x0A]
        let server = try LoopbackServer { peer in
            peer.write("x")
            peer.write(line)
        }
        try await onLoop { loop in
            let stream = try await stream(to: server.port, on: loop)
            #expect(try await stream.readExactly(1) == [0x78])
            #expect(try await Array(stream.readLine(upTo: 1 << 20)) == line)
        }
    }

    /// The signal that ``interruptedWaitsGoOn()`` sends itself, with a handler that does nothing.
    private static func catchSignal() {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in }
        // No SA_RESTART: every system call that waits fails with EINTR.
        action.sa_flags = 0
        sigaction(SIGUSR2, &action, nil)
    }

    @Test(arguments: Layer.allCases)
    func interruptedWaitsGoOn(_ layer: Layer) async throws {
        Self.catchSignal()
        let thread = Recorder<pthread_t>()
        let server = try layer.server { peer in
            _ = peer.readLine()
            for byte in Self.text {
                // The client waits, for it has got everything that was sent.
                for _ in 0..<20 { pthread_kill(thread.values[0], SIGUSR2) }
                peer.write([byte])
            }
        }
        try await onLoop { loop in
            thread.add(pthread_self())
            let stream = try await layer.stream(to: server, on: loop)
            try await stream.writeAll([0x0A])
            #expect(try await Array(stream.readExactly(Self.text.count)) == Self.text)
        }
    }

    @Test(arguments: Layer.allCases)
    func aLargeBodyArrivesIntact(_ layer: Layer) async throws {
        #if DEBUG
        let size = 8 << 20
        #else
        let size = 256 << 20
        #endif
        let server = try layer.server { peer in
            DemoSites.block.withUnsafeBytes { block in
                for _ in 0..<(size / block.count) { peer.write(block) }
            }
        }
        try await onLoop { loop in
            let stream = try await layer.stream(
                to: server, on: loop, idle: 200, deadline: .after(seconds: 400))
            var offset = 0
            let ending = try await stream.readToEnd { bytes async throws(FetchError) in
                #expect(DemoSites.isBlock(bytes, at: offset))
                offset += bytes.count
            }
            #expect(offset == size)
            #expect(ending == (layer == .tls ? .closeNotify : .endOfFile))
        }
    }

    @Test(arguments: Layer.allCases)
    func aLargeRequestArrivesIntact(_ layer: Layer) async throws {
        let server = try layer.server { peer in
            let bytes = peer.read(8 << 20)
            peer.write(DemoSites.isBlock(bytes[...], at: 0) ? "\(bytes.count)\n" : "garbled\n")
        }
        try await onLoop { loop in
            let stream = try await layer.stream(
                to: server, on: loop, idle: 200, deadline: .after(seconds: 400))
            for _ in 0..<8 { try await stream.writeAll(DemoSites.block) }
            #expect(try await Array(stream.readLine(upTo: 20)) == Array("\(8 << 20)\n".utf8))
        }
    }

    @Test(arguments: Layer.allCases)
    func twoHundredFetchesShareOneLoop(_ layer: Layer) async throws {
        let server = try layer.server { peer in
            guard let line = peer.readLine() else { return }
            peer.writeSlowly(line, step: 3)
        }
        try await onLoop { loop in
            await withTaskGroup(of: Bool.self) { group in
                for number in 0..<200 {
                    group.addTask(executorPreference: loop) {
                        let line = Array("fetch number \(number)\n".utf8)
                        let error = await failure { () async throws(FetchError) in
                            let stream = try await layer.stream(
                                to: server, on: loop, connect: .after(seconds: 30))
                            try await stream.writeAll(line)
                            let answer = try await stream.readLine(upTo: 100)
                            #expect(Array(answer) == line)
                        }
                        #expect(error == nil)
                        return error == nil
                    }
                }
                for await isOK in group { #expect(isOK) }
            }
        }
        #expect(server.clientSockets == 0)
    }
}
