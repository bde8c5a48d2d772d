// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebTestSupport
internal import SmallWebTesting
internal import Testing

/// The promises of every framer, and reading by one.
@Suite struct FramerTests {
    private static let framers: [any Framer<ArraySlice<UInt8>>] =
        [LineFramer(lineBytesMax: 300)]
        + (1...8).map { LengthFramer(prefixBytes: $0, messageBytesMax: $0 == 1 ? 255 : 300) }

    private static let messages: [[UInt8]] = [
        [], [7], Array("a line".utf8), .init(repeating: 65, count: 255),
    ]

    private func outcome(_ body: () async throws(FetchError) -> Void) async -> Outcome? {
        do throws(FetchError) {
            try await body()
            return nil
        } catch {
            return error.outcome
        }
    }

    /// The messages of a stream that brings `bytes` in the largest pieces.
    private func read(
        _ bytes: [UInt8], _ framer: some Framer<ArraySlice<UInt8>>
    ) async throws(FetchError) -> [[UInt8]] {
        let stream = ByteStream(replaying: bytes)
        var messages: [[UInt8]] = []
        while let message = try await stream.readMessage(by: framer) {
            messages.append(Array(message))
        }
        return messages
    }

    @Test func readsWhatItHasFramed() async throws {
        for framer in Self.framers {
            let bytes = try Self.messages.flatMap { try framer.frame($0[...]) }
            #expect(try await read(bytes, framer) == Self.messages)
        }
    }

    /// It never needs fewer bytes than there are in a frame, nor more for a whole one.
    @Test func needsAsManyBytesAsTheFrameHas() throws {
        for framer in Self.framers {
            for message in Self.messages {
                let frame = try framer.frame(message[...])
                for count in 0..<frame.count {
                    let needed = try framer.needs(frame.prefix(count))
                    #expect(count < needed && needed <= frame.count, "\(framer) \(count)")
                }
                #expect(try framer.needs((frame + [1])[...]) == frame.count)
                #expect(try framer.unframe(([9] + frame).dropFirst()) == message[...])
            }
        }
    }

    @Test func anEndWithinAMessageIsNone() async throws {
        for framer in Self.framers {
            for message in Self.messages {
                let frame = try framer.frame(message[...])
                for count in 1..<frame.count {
                    let cut = Array(frame.prefix(count))
                    let found = await outcome { () async throws(FetchError) in
                        _ = try await read(cut, framer)
                    }
                    #expect(found == .truncated, "\(framer): \(count) of \(frame.count)")
                }
            }
        }
    }

    @Test func aMessageBeyondTheLimitIsRefusedBeforeItComes() async {
        let line = await outcome { () async throws(FetchError) in
            _ = try await read(.init(repeating: 65, count: 302), LineFramer(lineBytesMax: 300))
        }
        #expect(line == .protocolError)
        for length in [301, 1 << 31, 1 << 62, 1 << 63, UInt64.max] {
            let prefix = (0..<8).map { UInt8(truncatingIfNeeded: length >> (56 - 8 * $0)) }
            for messageBytesMax in [0, 300, Int.max - 8] where length > messageBytesMax {
                let framer = LengthFramer(prefixBytes: 8, messageBytesMax: messageBytesMax)
                let found = await outcome { () async throws(FetchError) in
                    _ = try await read(prefix, framer)
                }
                #expect(found == .protocolError, "\(length)")
            }
        }
    }

    @Test func aMessageThatCannotBeFramedIsNotSent() async {
        let small = LengthFramer(prefixBytes: 1, messageBytesMax: 1000)
        #expect(throws: FetchError.self) { try small.frame(.init(repeating: 0, count: 256)) }
        let limited = LengthFramer(prefixBytes: 2, messageBytesMax: 3)
        #expect(throws: FetchError.self) { try limited.frame([1, 2, 3, 4]) }
        #expect(throws: FetchError.self) { try LineFramer(lineBytesMax: 9).frame([65, 10]) }
    }

    /// A framer of a stranger that asks for nothing, or for more than there can be.
    @Test func aFramerThatIsWrongEndsNoProgram() async throws {
        struct Odd: Framer {
            let count: Int
            func frame(_ message: Int) throws(FetchError) -> [UInt8] { [] }
            func needs(_ bytes: ArraySlice<UInt8>) throws(FetchError) -> Int { count }
            func unframe(_ frame: ArraySlice<UInt8>) throws(FetchError) -> Int { frame.count }
        }
        let stream = ByteStream(replaying: [1, 2, 3])
        for count in [0, -1, .min] {
            let found = await outcome { () async throws(FetchError) in
                _ = try await stream.readMessage(by: Odd(count: count))
            }
            #expect(found == .usage)
        }
        let found = await outcome { () async throws(FetchError) in
            _ = try await stream.readMessage(by: Odd(count: .max))
        }
        #expect(found == .truncated)
    }
}
