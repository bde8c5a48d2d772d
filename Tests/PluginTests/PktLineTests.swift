// SPDX-License-Identifier: MIT
@testable internal import GitPlugin
internal import SmallWebCore
internal import SmallWebTestSupport
internal import Testing

@Suite struct PktLineTests {
    /// Everything that comes of `pieces`, and the error that ends it.
    static func decode(_ pieces: [ArraySlice<UInt8>]) -> (packets: [PktLine], error: FetchError?) {
        var decoder = PktLineDecoder()
        var packets: [PktLine] = []
        for piece in pieces {
            decoder.add(piece)
            do throws(FetchError) {
                while let packet = try decoder.next() { packets.append(packet) }
            } catch {
                return (packets, error)
            }
            #expect(decoder.heldBytes < PktLine.bytesMax)
        }
        guard decoder.heldBytes == 0 else {
            return (packets, FetchError(.truncated, .body, "cut"))
        }
        return (packets, nil)
    }

    static func data(_ text: String) -> PktLine { .data(Array(text.utf8)[...]) }

    /// Examples of gitprotocol-pack(5), and lines that Git itself sends.
    @Test(arguments: [
        ("git-upload-pack /project.git\0host=myserver.com\0", "0033"),
        ("git-upload-pack /project.git\0host=myserver.com\0\0version=1\0", "003e"),
        ("git-upload-pack /schacon/gitbook.git\0host=example.com\0", "003a"),
        ("git-upload-archive /r.git\0host=localhost\0", "002d"),
        ("", "0004"), ("a\n", "0006"),
    ])
    func isWrittenAsGitWritesIt(_ payload: String, _ digits: String) throws {
        let packet = try PktLine.encode(payload)
        #expect(packet == Array((digits + payload).utf8))
        #expect(Self.decode([packet[...]]).packets == [Self.data(payload)])
    }

    @Test func theLongestPacketIsWrittenAndRead() throws {
        let payload = [UInt8](repeating: 0x78, count: PktLine.payloadBytesMax)
        let packet = try PktLine.encode(payload)
        #expect(packet.starts(with: "fff0".utf8))
        for step in [1, 1_000, 65_520] {
            let pieces = stride(from: 0, to: packet.count, by: step).map {
                packet[$0..<min($0 + step, packet.count)]
            }
            #expect(Self.decode(pieces).packets == [.data(payload[...])], "\(step)")
        }
        let error = #expect(throws: FetchError.self) { try PktLine.encode(payload + [0]) }
        #expect(error?.outcome == .badURL)
    }

    @Test func specialLengthsAreSpecialPackets() {
        let (packets, error) = Self.decode([Array("0000000100020004000Aabc\n0\n0000".utf8)[...]])
        #expect(
            packets == [
                .flush, .delim, .responseEnd, Self.data(""), Self.data("abc\n0\n"), .flush,
            ])
        #expect(error == nil)
        #expect(PktLine.flushPacket == Array("0000".utf8))
        #expect(PktLine.delimPacket == Array("0001".utf8))
    }

    @Test(arguments: ["0009abcde", "000aabcdef", "000Aabcdef", "00000009abcde"])
    func digitsAreOfEitherCase(_ text: String) {
        #expect(Self.decode([Array(text.utf8)[...]]).error == nil)
    }

    @Test(arguments: [
        "0003", "+abc", "0x0e", " 00e", "-001", "fff1", "ffff", "FFFF", "00g0", "HTTP/1.1",
        "0\0\0\0",
        "\u{FF10}00", "000\n",
    ])
    func otherLengthsAreErrors(_ text: String) {
        for prefix in ["", "0000", "0006ab"] {
            let bytes = Array((prefix + text + "more").utf8)
            let whole = Self.decode([bytes[...]])
            #expect(whole.error?.outcome == .protocolError)
            #expect(whole.packets.count == (prefix.isEmpty ? 0 : 1))
            let pieces = bytes.indices.map { bytes[$0...$0] }
            let pieced = Self.decode(pieces)
            #expect(pieced.packets == whole.packets)
            #expect(pieced.error == whole.error)
        }
        #expect(
            Self.decode([Array("HTTP/1.1".utf8)[...]]).error?.message.contains("\"HTTP\"") ?? false)
    }

    @Test func anErrorStays() {
        var decoder = PktLineDecoder()
        decoder.add(Array("0003".utf8)[...])
        for _ in 0..<3 { #expect(throws: FetchError.self) { try decoder.next() } }
    }

    static let conversation = Array(
        ("000eversion 2\n0015agent=git/2.39.5\n0013ls-refs=unborn\n00010004000bwithout"
            + "000000381111111111111111111111111111111111111111 refs/heads\n").utf8)

    @Test func isTheSameFromAnyTwoPieces() {
        let whole = Self.decode([Self.conversation[...]])
        #expect(whole.error == nil)
        #expect(whole.packets.count == 8)
        for split in Self.conversation.indices {
            let pieces = [Self.conversation[..<split], Self.conversation[split...]]
            let split = Self.decode(pieces)
            #expect(split.packets == whole.packets)
            #expect(split.error == nil)
        }
        let bytes = Self.conversation.indices.map { Self.conversation[$0...$0] }
        #expect(Self.decode(bytes).packets == whole.packets)
    }

    @Test func aCutInventsNothing() {
        let whole = Self.decode([Self.conversation[...]]).packets
        for count in Self.conversation.indices {
            let cut = Self.decode([Self.conversation[..<count]])
            #expect(whole.starts(with: cut.packets))
            #expect(cut.packets.count < whole.count)
            var length = 0
            for packet in cut.packets {
                if case .data(let payload) = packet { length += payload.count }
                length += 4
            }
            #expect((cut.error == nil) == (length == count), "cut after \(count)")
        }
    }

    @Test func isTheSameFromRandomPieces() {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<2_000 {
            let bytes = random.bytes(upTo: 60, alphabet: "00000000145aA")
            let whole = Self.decode([bytes[...]])
            let pieced = Self.decode(random.pieces(of: bytes))
            #expect(whole.packets == pieced.packets)
            #expect(whole.error == pieced.error)
        }
    }

    /// Packets are lent out of the piece that they came in.
    @Test func copiesNothingThatIsWhole() throws {
        let bytes = try PktLine.encode("one") + PktLine.encode("two")
        var decoder = PktLineDecoder()
        decoder.add(bytes[...])
        guard case .data(let one) = try decoder.next(), case .data(let two) = try decoder.next()
        else {
            Issue.record("no data")
            return
        }
        #expect(one.indices == 4..<7)
        #expect(two.indices == 11..<14)
    }

    @Test func textLosesOneLineFeed() {
        #expect(Self.data("a\n\n").text == Array("a\n".utf8)[...])
        #expect(Self.data("a").text == Array("a".utf8)[...])
        #expect(Self.data("").text == [])
        #expect(PktLine.flush.text == nil)
    }

    @Test func anErrorOfTheServerIsFound() {
        #expect(Self.data("ERR no such thing\n").serverError == "no such thing")
        #expect(Self.data("ERR ").serverError == "")
        for text in ["ERR", "ERRoneous", "err no", "", " ERR x"] {
            #expect(Self.data(text).serverError == nil)
        }
        #expect(PktLine.flush.serverError == nil)
    }

    /// The protocol of all framers, and the decoder's own functions.
    @Test func framesWhatItUnframes() throws {
        let packets = [
            PktLine.data([]), .data([1]), .data(.init(repeating: 7, count: 65_516)), .flush, .delim,
            .responseEnd,
        ]
        let framer = PktLineDecoder()
        for packet in packets {
            let frame = try framer.frame(packet)
            #expect(try framer.needs(frame[...]) == frame.count)
            #expect(try framer.needs((frame + frame)[...]) == frame.count)
            #expect(try framer.needs(frame.prefix(3)) == 4)
            #expect(try framer.unframe(frame[...]) == packet)
        }
        for text in ["0003", "fff1", "ffff", "zzzz", "-001"] {
            #expect(throws: FetchError.self) { try framer.needs(Array(text.utf8)[...]) }
        }
    }
}
