// SPDX-License-Identifier: MIT
@testable internal import GitPlugin
internal import SmallWebCore
internal import SmallWebTestSupport
internal import Testing

@Suite struct PackTests {
    /// A pack that Git made, and the contents of its objects.
    struct Golden: Sendable, CustomTestStringConvertible {
        let name: String
        let pack: [UInt8]
        let contents: [[UInt8]]
        let hasDelta: Bool
        var testDescription: String { name }
    }

    static let text = Array(
        String(
            (0..<6).map { _ in "The quick brown fox jumps over the lazy dog. " }.joined() + "\n"
        ).utf8)
    static let text2: [UInt8] = text.prefix(100) + Array("XYZ".utf8) + text.dropFirst(100)

    static let body =
        "789c0bc94855282ccd4cce56482aca2fcf5348cbaf50c82acd2d2856c82f4b2d5228014ae72456552aa4e4a7eb"
        + "298490a73822328a7686535b31170002a762"
    static let delta = "789c9bc4d4cf342165e23be589bae6605297910b00543a0749"
    static let goldens = [
        Golden(
            name: "one blob",
            pack: bytes(
                "5041434b0000000200000001b211" + body + "0026e63d9b457ca612d9654b98583b6419fa675456"
            ),
            contents: [text2], hasDelta: false),
        Golden(
            name: "ofs-delta",
            pack: bytes(
                "5041434b0000000200000002b211" + body + "00e40142" + delta
                    + "627ec4710f9cfc2fd38959bff2f4d10fb017fe5e"), contents: [text2, text],
            hasDelta: true),
        Golden(
            name: "ref-delta",
            pack: bytes(
                "5041434b0000000200000002b211" + body
                    + "00f401ab1ffcd7dc70e89809e58c0b14b779d1d8c40629"
                    + delta + "a160541c7f477a1fca752454d614022f09bdf419"), contents: [text2, text],
            hasDelta: true),
        Golden(
            name: "empty",
            pack: bytes("5041434b0000000200000000029d08823bd8a8eab510ad6ac75c823cfd3ed31e"),
            contents: [], hasDelta: false),
    ]

    static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.utf8.compactMap(ASCII.hexValue)
        return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    @Test(arguments: goldens)
    func holdsWhatGitPutIn(_ golden: Golden) throws {
        for keeping in [true, false] where keeping || !golden.hasDelta {
            let read = PackReading(golden.pack, keeping: keeping)
            #expect(read.error == nil)
            #expect(read.objects.map(\.content) == golden.contents)
            #expect(read.objects.allSatisfy { $0.type == .blob })
        }
        let ids = [
            "ab1ffcd7dc70e89809e58c0b14b779d1d8c40629", "be0ef14c5cf7302562f3b8b7f7ba80bb17207681",
        ]
        #expect(
            PackReading(golden.pack).objects.map(\.id.description)
                == ids.prefix(golden.contents.count).map { $0 })
    }

    @Test(arguments: goldens)
    func isTheSameFromAnyTwoPieces(_ golden: Golden) {
        let whole = PackReading(golden.pack)
        for split in golden.pack.indices {
            #expect(PackReading([golden.pack[..<split], golden.pack[split...]]) == whole)
        }
        for step in 1...5 { #expect(PackReading(golden.pack, step: step) == whole) }
    }

    @Test(arguments: goldens)
    func aCutIsAnErrorAndInventsNothing(_ golden: Golden) {
        for count in golden.pack.indices {
            for step in [1, Int.max] {
                let cut = PackReading(Array(golden.pack[..<count]), step: step)
                #expect(cut.error?.outcome == .truncated, "cut after \(count)")
                #expect(cut.objects.isEmpty)
            }
        }
    }

    /// That an id belongs to its content is looked after by ``PackReading``.
    @Test(arguments: goldens)
    func aWrongByteIsAnError(_ golden: Golden) {
        for index in golden.pack.indices {
            for byte in 0...255 as ClosedRange<UInt8> where byte != golden.pack[index] {
                var pack = golden.pack
                pack[index] = byte
                #expect(PackReading(pack).error != nil, "\(byte) at byte \(index)")
            }
        }
    }

    @Test(arguments: goldens)
    func bytesAfterTheEndAreAnError(_ golden: Golden) {
        for step in [1, Int.max] {
            let read = PackReading(golden.pack + [0], step: step)
            #expect(read.error?.outcome == .protocolError)
        }
    }

    @Test(arguments: goldens.filter { $0.hasDelta })
    func aDeltaNeedsObjectsThatAreKept(_ golden: Golden) {
        let read = PackReading(golden.pack, keeping: false)
        #expect(read.error?.outcome == .protocolError)
        #expect(read.objects.map(\.content) == [Self.text2])
    }

    @Test func allObjectsTogetherAreBounded() throws {
        var builder = PackBuilder()
        let content = [UInt8](repeating: 7, count: 300_000)
        builder.add(.blob, content)
        for keeping in [true, false] {
            let enough = PackLimits(totalBytesMax: 300_000)
            let read = PackReading(
                try builder.pack(), limits: enough, keeping: keeping, step: 65_536)
            #expect(read.error == nil)
            #expect(read.objects.map(\.content) == [content])
            let less = PackLimits(totalBytesMax: 299_999)
            let cut = PackReading(try builder.pack(), limits: less, keeping: keeping)
            #expect(cut.error?.outcome == .tooLarge)
        }
        let small = PackReading(try builder.pack(), limits: PackLimits(packBytesMax: 1000))
        #expect(small.error?.outcome == .tooLarge)
    }

    /// Beyond the memory limit: the pack, a base and the result of a delta are kept in files.
    @Test func largeObjectsAreInFiles() throws {
        var random = SeededGenerator(seed: 11)
        let base = (0..<700_000).flatMap { _ in
            withUnsafeBytes(of: random.next()) { Array($0) }
        }
        var instructions: [UInt8] = []
        for start in stride(from: 0, to: base.count, by: 0xFF_FFFF) {
            let count = min(0xFF_FFFF, base.count - start)
            let numbers = [
                start, start >> 8, start >> 16, start >> 24, count, count >> 8, count >> 16,
            ]
            instructions += [0xFF] + numbers.map { UInt8($0 & 0xFF) }
        }
        var builder = PackBuilder()
        let first = builder.add(.blob, base)
        builder.addDelta(
            PackBuilder.delta(from: base.count, to: base.count + 1, instructions + [1, 0x61]),
            toOffset: first)
        let read = PackReading(try builder.pack(), step: 65_536)
        #expect(read.error == nil)
        #expect(read.objects.map(\.content) == [base, base + [0x61]])
    }

    @Test func everyTypeAndSizeIsRead() throws {
        for size in [0, 1, 15, 16, 2_047, 2_048, 65_536, 300_000] {
            for version in [2, 3] as [UInt8] {
                var builder = PackBuilder()
                for type in ObjectType.allCases {
                    builder.add(type, [UInt8](repeating: type.rawValue, count: size))
                }
                let read = PackReading(try builder.pack(version: version), keeping: version == 2)
                #expect(read.error == nil)
                #expect(read.objects.map(\.type) == ObjectType.allCases)
                #expect(read.objects.allSatisfy { $0.content.count == size })
            }
        }
    }

    struct Malformed: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let make: @Sendable (PackBuilder) throws -> [UInt8]

        init(_ name: String, _ make: @escaping @Sendable (PackBuilder) throws -> [UInt8]) {
            testDescription = name
            self.make = make
        }

        /// With something more in it than three blobs.
        init(_ name: String, with body: @escaping @Sendable (inout PackBuilder) -> Void) {
            self.init(name) { (builder: PackBuilder) in
                var builder = builder
                body(&builder)
                return try builder.pack()
            }
        }
    }

    static let malformed = [
        Malformed("version 1") { try $0.pack(version: 1) },
        Malformed("version 4") { try $0.pack(version: 4) },
        Malformed("one object too few") { try $0.pack(count: 2) },
        Malformed("one object too many") { try $0.pack(count: 4) },
        Malformed("no magic") { [0x51] + (try $0.pack()).dropFirst() },
        Malformed("type 0", with: { $0.add(type: 0, []) }),
        Malformed("type 5", with: { $0.add(type: 5, []) }),
        Malformed("longer than said", with: { $0.add(type: 3, [1, 2, 3], size: 2) }),
        Malformed("longer than nothing", with: { $0.add(type: 3, [1], size: 0) }),
        Malformed("shorter than said", with: { $0.add(type: 3, [1, 2, 3], size: 4) }),
        Malformed("a bomb", with: { $0.add(type: 3, [], size: 9, stream: zlibZeros(2_580_001)) }),
        Malformed("no zlib", with: { $0.add(type: 3, [1], stream: [1, 2, 3, 4]) }),
        Malformed("the header as base", with: { $0.addDelta([1, 1, 1, 0], toOffset: 0) }),
        Malformed(
            "before the pack", with: { $0.add(type: 6, [1, 1, 1, 0], base: [0x83, 0x00]) }),
        Malformed("itself as base", with: { $0.add(type: 6, [1, 1, 1, 0], base: [0]) }),
        Malformed("between objects", with: { $0.addDelta([1, 1, 1, 0], toOffset: 13) }),
        Malformed(
            "an endless distance",
            with: { $0.add(type: 6, [], base: [UInt8](repeating: 0xFF, count: 12)) }),
        Malformed("an unknown base", with: { $0.add(type: 7, [1, 1], base: Array(0..<20)) }),
        Malformed("a delta of nothing", with: { $0.addDelta([], toOffset: 12) }),
        Malformed("another base", with: { $0.addDelta([9, 1, 1, 0], toOffset: 12) }),
    ]

    @Test(arguments: malformed)
    func anythingElseIsAnError(_ malformed: Malformed) throws {
        var builder = PackBuilder()
        for text in ["a", "bc", "def"] { builder.add(.blob, Array(text.utf8)) }
        let pack = try malformed.make(builder)
        for step in [1, Int.max] {
            let read = PackReading(pack, step: step)
            #expect(read.error?.outcome == .protocolError)
            #expect(read.objects.count <= 3)
        }
    }

    /// Not only at the end, when no base has come.
    @Test(arguments: [[0], [13], [0x83, 0x00]] as [[UInt8]])
    func anOffsetOutOfThePackIsAnErrorAtOnce(_ distance: [UInt8]) throws {
        var builder = PackBuilder()
        builder.add(type: 6, [1, 1, 1, 0], base: distance)
        let pack = try builder.pack()
        let read = PackReading(Array(pack.prefix(12 + 1 + distance.count)))
        #expect(read.error?.outcome == .protocolError)
    }

    @Test(arguments: ObjectFormat.allCases)
    func idsAndTrailerAreOfTheFormat(_ format: ObjectFormat) throws {
        var builder = PackBuilder(format)
        builder.add(.blob, Array("hello\n".utf8))
        let id = try PackBuilder.id(.blob, Array("hello\n".utf8), format)
        let delta = PackBuilder.delta(from: 6, to: 3, [0x90, 3])
        builder.addDelta(delta, to: id)
        let read = PackReading(try builder.pack(), format)
        #expect(read.error == nil)
        #expect(
            read.objects.map(\.id) == [id, try PackBuilder.id(.blob, Array("hel".utf8), format)])
        let other: ObjectFormat = format == .sha1 ? .sha256 : .sha1
        #expect(PackReading(try builder.pack(), other).error != nil)
    }
}
