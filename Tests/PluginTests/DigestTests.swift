// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebTestSupport
internal import Testing

/// Hashing and inflating by the system libraries.
@Suite struct DigestTests {
    /// FIPS 180-2, appendices A and B.
    static let vectors: [(Digest.Algorithm, String, String)] = [
        (.sha1, "", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        (.sha1, "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (
            .sha1, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
        ),
        (.sha256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (.sha256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            .sha256, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
    ]

    @Test(arguments: vectors)
    func isThatOfTheStandard(_ algorithm: Digest.Algorithm, _ text: String, _ hex: String) throws {
        let digest = try Digest(algorithm)
        digest.update(Array(text.utf8)[...])
        #expect(digest.finish().hex == hex)
        for byte in text.utf8 { digest.update([byte][...]) }
        #expect(digest.finish().hex == hex, "byte by byte, and the second time")
        #expect(hex.count == 2 * algorithm.byteCount)
    }

    @Test func aMillionBytesAtOnce() throws {
        let digest = try Digest(.sha1)
        [UInt8](repeating: 0x61, count: 1_000_000).withUnsafeBytes { digest.update($0) }
        #expect(digest.finish().hex == "34aa973cd4c4daa4f61eeb2bdbad27316534016f")
    }

    @Test func inflatesFromAnyPieces() throws {
        let inflater = try Inflater(.zlib)
        let text = Array("hello, hello, hello\n".utf8)
        let stream = zlibStored(text) + zlibStored([7])
        for split in stream.indices {
            var output: [UInt8] = []
            var rest: [UInt8] = []
            inflater.reset()
            for piece in [stream[..<split], stream[split...]] {
                var input = piece
                repeat {
                    let some = try inflater.inflate(&input)
                    output += some
                    if some.isEmpty { break }
                } while true
                #expect(inflater.isFinished || input.isEmpty)
                rest += input
            }
            #expect(output == text)
            #expect(inflater.isFinished)
            #expect(rest == zlibStored([7]), "what follows is left alone")
        }
    }

    @Test func inflatesMoreThanItsBuffer() throws {
        let inflater = try Inflater(.zlib)
        var input = zlibZeros(258 * 4_000)[...]
        #expect(input.count < 10_000)
        var count = 0
        while true {
            let output = try inflater.inflate(&input)
            if output.isEmpty { break }
            #expect(output.count <= Inflater.outputBytesMax)
            #expect(output.allSatisfy { $0 == 0 })
            count += output.count
        }
        #expect(inflater.isFinished)
        #expect(input.isEmpty)
        #expect(count == 258 * 4_000)
    }

    @Test func keepsOutputThatSomebodyHolds() throws {
        let inflater = try Inflater(.zlib)
        var input = zlibStored(Array("first".utf8))[...]
        let first = try inflater.inflate(&input)
        inflater.reset()
        input = zlibStored(Array("other".utf8))[...]
        let other = try inflater.inflate(&input)
        #expect(Array(first) == Array("first".utf8))
        #expect(Array(other) == Array("other".utf8))
    }

    @Test(
        arguments: [
            [0x78, 0x9D], [0x78, 0xBB, 0, 0, 0, 1], [0x78, 0x01, 0x07], [0x79, 0x01],
            Array(zlibStored([1, 2, 3]).dropLast()) + [0xFF],
        ] as [[UInt8]])
    func refusesCorruptData(_ stream: [UInt8]) throws {
        let inflater = try Inflater(.zlib)
        var input = stream[...]
        let error = #expect(throws: FetchError.self) {
            while !(try inflater.inflate(&input)).isEmpty {}
        }
        #expect(error?.outcome == .protocolError)
        #expect(!inflater.isFinished)
        inflater.reset()
        input = zlibStored([9])[...]
        #expect(try Array(inflater.inflate(&input)) == [9], "and is of use again")
    }
}
