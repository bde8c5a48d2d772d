// SPDX-License-Identifier: MIT
@testable internal import GitPlugin
internal import SmallWebCore
internal import SmallWebTestSupport
internal import Testing

/// Deltas, alone and in packs that mean harm.
@Suite struct DeltaTests {
    static let base = Array("0123456789".utf8)

    static func apply(_ delta: [UInt8], to base: [UInt8] = base) throws(FetchError) -> String {
        let result = try apply([delta[...]], to: base)
        for split in 0..<min(delta.count, 100) {
            let pieced = try apply([delta[..<split], delta[split...]], to: base)
            #expect(pieced == result, "split at \(split)")
        }
        return String(decoding: result, as: UTF8.self)
    }

    static func apply(
        _ pieces: [ArraySlice<UInt8>], to base: [UInt8]
    ) throws(FetchError) -> [UInt8] {
        var reader = DeltaReader()
        var result: [UInt8] = []
        for piece in pieces {
            reader.add(piece)
            while let step = try reader.next() {
                switch step {
                case .sizes(let baseBytes, _):
                    guard baseBytes == base.count else {
                        throw .malformedPack("a delta to another base")
                    }
                case .copy(let range): result += base[range]
                case .insert(let bytes): result += bytes
                }
            }
        }
        try reader.finish()
        return result
    }

    static func apply(to result: Int, _ instructions: [UInt8]) throws(FetchError) -> String {
        try apply(PackBuilder.delta(from: base.count, to: result, instructions))
    }

    @Test func copiesAndInserts() throws {
        #expect(try Self.apply(to: 3, [0x91, 2, 3]) == "234")
        #expect(try Self.apply(to: 10, [0x90, 10]) == "0123456789")
        #expect(try Self.apply(to: 2, [2, 0x61, 0x62]) == "ab")
        #expect(try Self.apply(to: 5, [0x91, 9, 1, 2, 0x61, 0x62, 0x91, 0, 2]) == "9ab01")
        #expect(try Self.apply(to: 0, []) == "")
        // The bytes that are 0 may be there all the same.
        #expect(try Self.apply(to: 1, [0xFF, 5, 0, 0, 0, 1, 0, 0]) == "5")
    }

    @Test func aCopyOfNothingIsOf65536Bytes() throws {
        let base = [UInt8](repeating: 0x61, count: 70_000)
        let delta = PackBuilder.delta(from: base.count, to: 65_536, [0x80])
        #expect(try Self.apply(delta, to: base).utf8.count == 65_536)
        #expect(throws: FetchError.self) { try Self.apply(to: 65_536, [0x80]) }
    }

    @Test(
        arguments: [
            [], [10], [0x8A], [10, 0x80], [10, 3, 0x91, 2], [10, 3, 0x91], [10, 3, 3, 0x61, 0x62],
            [10, 3, 0x91, 8, 3], [10, 3, 0x9F, 0xFF, 0xFF, 0xFF, 0xFF, 3],
            [10, 3, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], [10, 3, 0],
            [10, 3, 0x91, 2, 3, 0],
            [10, 3], [10, 3, 0x91, 2, 2], [10, 3, 0x91, 2, 4], [10, 3, 4, 0x61, 0x61, 0x61, 0x61],
            [9, 3, 0x91, 2, 3], [11, 3, 0x91, 2, 3], [0x8A, 0x01, 3, 0x91, 2, 3],
            [255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
            [10] + [255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
        ] as [[UInt8]])
    func anythingElseIsAnError(_ delta: [UInt8]) {
        let error = #expect(throws: FetchError.self) { try Self.apply(delta) }
        #expect(error?.outcome == .protocolError)
    }

    /// Otherwise this would take 262 GB.
    @Test func nothingIsMadeBeyondTheSize() {
        let base = [UInt8](repeating: 0, count: 65_536)
        let copies = [UInt8](repeating: 0x80, count: 4_000_000)
        #expect(throws: FetchError.self) {
            try Self.apply(PackBuilder.delta(from: base.count, to: 1, copies), to: base)
        }
    }

    @Test func aCutDeltaIsAnError() throws {
        let delta = PackBuilder.delta(
            from: 10, to: 17, [0x91, 2, 3, 5, 1, 2, 3, 4, 5, 0x90, 9])
        #expect(try Self.apply(delta).utf8.count == 17)
        for count in delta.indices {
            #expect(throws: FetchError.self) { try Self.apply(Array(delta[..<count])) }
        }
    }

    // MARK: - In packs

    /// Chains whose bases come last, each delta one byte longer than its base.
    @Test(arguments: [false, true])
    func basesMayComeLater(_ shuffled: Bool) throws {
        var contents: [[UInt8]] = [[]]
        var deltas: [[UInt8]] = []
        for index in 0..<50 {
            let base = contents[index]
            contents.append(base + [UInt8(index)])
            let copy: [UInt8] = base.isEmpty ? [] : [0x90, UInt8(base.count)]
            deltas.append(
                PackBuilder.delta(from: base.count, to: base.count + 1, copy + [1, UInt8(index)]))
        }
        var order = Array(deltas.indices.reversed())
        var random = SeededGenerator(seed: 8)
        if shuffled { order.shuffle(using: &random) }
        var builder = PackBuilder()
        for index in order {
            builder.addDelta(deltas[index], to: try PackBuilder.id(.tree, contents[index]))
        }
        builder.add(.tree, contents[0])
        let pack = try builder.pack()
        for step in [1, Int.max] {
            let read = PackReading(pack, step: step)
            #expect(read.error == nil)
            let order = { (one: [UInt8], other: [UInt8]) in one.count < other.count }
            #expect(read.objects.map(\.content).sorted(by: order) == contents)
            #expect(read.objects.allSatisfy { $0.type == .tree })
        }
    }

    /// An offset that leads to a delta which itself waits for its base.
    @Test func anOffsetMayLeadToADeltaThatWaits() throws {
        var builder = PackBuilder()
        let base = Array("abc".utf8)
        let first = builder.addDelta(
            PackBuilder.delta(from: 3, to: 4, [0x90, 3, 1, 0x64]),
            to: try PackBuilder.id(.blob, base))
        builder.addDelta(PackBuilder.delta(from: 4, to: 5, [0x90, 4, 1, 0x65]), toOffset: first)
        builder.add(.blob, base)
        let read = PackReading(try builder.pack())
        #expect(read.error == nil)
        #expect(
            read.objects.map { String(decoding: $0.content, as: UTF8.self) } == [
                "abcd", "abcde", "abc",
            ])
    }

    @Test func theSameObjectMayComeTwice() throws {
        var builder = PackBuilder()
        let first = builder.add(.blob, [1])
        let second = builder.add(.blob, [1])
        builder.addDelta([1, 1, 0x90, 1], toOffset: first)
        builder.addDelta([1, 1, 0x90, 1], toOffset: second)
        let read = PackReading(try builder.pack())
        #expect(read.error == nil)
        #expect(read.objects.map(\.content) == [[1], [1], [1], [1]])
    }

    @Test func theChainOfDeltasIsBounded() throws {
        var builder = PackBuilder()
        var last = builder.add(.blob, [0])
        for index in 0..<PackLimits.deltaChainMax {
            last = builder.addDelta([1, 1, 1, UInt8(index & 0xFF)], toOffset: last)
        }
        #expect(PackReading(try builder.pack()).error == nil)
        builder.addDelta([1, 1, 1, 0], toOffset: last)
        #expect(PackReading(try builder.pack()).error?.outcome == .protocolError)
    }

    /// A chain in which each object is twice as long as the one before.
    @Test func amplificationIsBounded() throws {
        var builder = PackBuilder()
        var size = 65_536
        var last = builder.add(.blob, [UInt8](repeating: 0, count: size))
        for _ in 0..<30 {
            let copies = [UInt8](repeating: 0x80, count: min(size / 65_536 * 2, 1_000))
            last = builder.addDelta(
                PackBuilder.delta(from: size, to: size * 2, copies), toOffset: last)
            size *= 2
        }
        let pack = try builder.pack()
        for limits in [
            PackLimits(totalBytesMax: 1 << 20), PackLimits(objectBytesMax: 1 << 19), PackLimits(),
        ] {
            let read = PackReading(pack, limits: limits)
            #expect(read.error != nil)
            #expect(
                limits.totalBytesMax == PackLimits().totalBytesMax
                    || read.error?.outcome == .tooLarge)
        }
    }

    /// Before any memory is taken: these would be more than there is.
    @Test func sizesAreCheckedFirst() throws {
        var builder = PackBuilder()
        builder.add(type: 3, [1], size: 1 << 59)
        for keeping in [true, false] {
            let read = PackReading(try builder.pack(), keeping: keeping)
            #expect(read.error?.outcome == .tooLarge)
        }
        builder = PackBuilder()
        let base = builder.add(.blob, [1])
        builder.addDelta(PackBuilder.delta(from: 1, to: 1 << 55, [0x90, 1]), toOffset: base)
        #expect(PackReading(try builder.pack()).error?.outcome == .tooLarge)
        #expect(
            PackReading(try PackBuilder().pack(count: 0xFFFF_FFFF)).error?.outcome == .tooLarge)
    }

    @Test func deltasThatWaitAreCounted() throws {
        var builder = PackBuilder()
        let delta = [UInt8](repeating: 0, count: 1_000)
        for _ in 0..<20 { builder.add(type: 7, delta, base: Array(0..<20)) }
        let read = PackReading(try builder.pack(), limits: PackLimits(totalBytesMax: 10_000))
        #expect(read.error?.outcome == .tooLarge)
        #expect(PackReading(try builder.pack()).error?.outcome == .protocolError)
    }
}
