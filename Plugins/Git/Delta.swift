// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// How to make an object out of another one (gitformat-pack(5)): two sizes, then instructions to
/// copy from the base or to insert what follows. They arrive in any pieces. Pure.
struct DeltaReader: Sendable {
    enum Step: Hashable, Sendable {
        /// Of base and result, before everything else. To be checked against limits.
        case sizes(base: Int, result: Int)
        /// Within the base.
        case copy(Range<Int>)
        /// Never empty.
        case insert(ArraySlice<UInt8>)
    }

    private var input: ArraySlice<UInt8> = []
    private var sizes: (base: Int, result: Int)?
    /// Bytes of the result that no step has made yet.
    private var missingBytes = 0
    /// Bytes still to come of an instruction to insert.
    private var insertBytes = 0

    /// Adds the next bytes; best when ``next()`` has given out all that came before.
    mutating func add(_ bytes: ArraySlice<UInt8>) {
        if input.isEmpty { input = bytes } else { input += bytes }
    }

    /// The next step; `nil` when more bytes are needed, or there are no more.
    ///
    /// - Throws: `protocol-error` for an instruction that is out of bounds, or makes more than the
    ///   result.
    mutating func next() throws(FetchError) -> Step? {
        guard let sizes else { return try readSizes() }
        if insertBytes > 0 { return insert() }
        guard let instruction = input.first else { return nil }
        guard instruction & 0x80 != 0 else {
            guard instruction != 0 else { throw .malformedPack("a delta's instruction 0") }
            try make(Int(instruction))
            insertBytes = Int(instruction)
            input = input.dropFirst()
            return insert()
        }
        var rest = input.dropFirst()
        guard rest.count >= (instruction & 0x7F).nonzeroBitCount else { return nil }
        let offset = Self.number(instruction & 15, &rest)
        let size = Self.number(instruction >> 4 & 7, &rest)
        let count = size == 0 ? 65_536 : size
        guard offset + count <= sizes.base else {
            throw .malformedPack("a delta copies from beyond its base")
        }
        try make(count)
        input = rest
        return .copy(offset..<(offset + count))
    }

    /// To be called behind the last byte.
    ///
    /// - Throws: `protocol-error` when the delta is cut off, or the result is.
    func finish() throws(FetchError) {
        guard sizes != nil, insertBytes == 0, input.isEmpty else {
            throw .malformedPack("a delta is cut off")
        }
        guard missingBytes == 0 else { throw .malformedPack("a delta makes less than it says") }
    }

    private mutating func make(_ count: Int) throws(FetchError) {
        missingBytes -= count
        guard missingBytes >= 0 else { throw .malformedPack("a delta makes more than it says") }
    }

    private mutating func insert() -> Step? {
        let bytes = input.prefix(insertBytes)
        guard !bytes.isEmpty else { return nil }
        insertBytes -= bytes.count
        input = input.dropFirst(bytes.count)
        return .insert(bytes)
    }

    private mutating func readSizes() throws(FetchError) -> Step? {
        var rest = input
        guard let base = try Self.size(&rest), let result = try Self.size(&rest) else {
            return nil
        }
        (sizes, missingBytes, input) = ((base, result), result, rest)
        return .sizes(base: base, result: result)
    }

    /// Seven bits per byte, the lowest first.
    private static func size(_ rest: inout ArraySlice<UInt8>) throws(FetchError) -> Int? {
        var value = 0
        for shift in stride(from: 0, to: 56, by: 7) {
            guard let byte = rest.popFirst() else { return nil }
            value |= Int(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return value }
        }
        throw .malformedPack("the size in a delta is too large")
    }

    /// A number, the lowest byte first, of which `present` tells by bit which bytes are not 0 and
    /// follow.
    private static func number(_ present: UInt8, _ rest: inout ArraySlice<UInt8>) -> Int {
        var value = 0
        for position in 0..<4 where present >> position & 1 != 0 {
            value |= Int(rest.popFirst() ?? 0) << (8 * position)
        }
        return value
    }
}
