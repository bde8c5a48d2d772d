// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Parses a delta (gitformat-pack(5)): two sizes, then instructions to copy from the base or to
/// insert the bytes that follow. Input may arrive in any pieces. Pure.
struct DeltaReader: Sendable {
    enum Step: Hashable, Sendable {
        /// Sizes of base and result, the first step. The caller checks them against limits.
        case sizes(base: Int, result: Int)
        /// A range of the base.
        case copy(Range<Int>)
        /// Never empty.
        case insert(ArraySlice<UInt8>)
    }

    private var input: ArraySlice<UInt8> = []
    private var sizes: (base: Int, result: Int)?
    /// Bytes of the result that no step has produced yet.
    private var missingBytes = 0
    /// Bytes of an insert instruction that are still to come.
    private var insertBytes = 0

    /// Adds the next bytes; cheapest when ``next()`` has consumed all bytes before.
    mutating func add(_ bytes: ArraySlice<UInt8>) {
        if input.isEmpty { input = bytes } else { input += bytes }
    }

    /// The next step; `nil` when more bytes are needed, or at the end.
    ///
    /// - Throws: `protocol-error` for an instruction that is out of bounds, or that exceeds the
    ///   size of the result.
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

    /// Called after the last byte.
    ///
    /// - Throws: `protocol-error` when the delta or its result is truncated.
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

    /// Seven bits per byte, least significant first.
    private static func size(_ rest: inout ArraySlice<UInt8>) throws(FetchError) -> Int? {
        var value = 0
        for shift in stride(from: 0, to: 56, by: 7) {
            guard let byte = rest.popFirst() else { return nil }
            value |= Int(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return value }
        }
        throw .malformedPack("the size in a delta is too large")
    }

    /// A little-endian number. The bits of `present` tell the bytes that follow; the others are 0.
    private static func number(_ present: UInt8, _ rest: inout ArraySlice<UInt8>) -> Int {
        var value = 0
        for position in 0..<4 where present >> position & 1 != 0 {
            value |= Int(rest.popFirst() ?? 0) << (8 * position)
        }
        return value
    }
}
