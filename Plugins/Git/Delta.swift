// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// How to make an object out of another one (gitformat-pack(5)): two sizes, then instructions to
/// copy from the base or to insert what follows. Pure.
struct Delta: Sendable {
    let baseBytes: Int
    /// Checked against a limit by the caller.
    let resultBytes: Int
    private let instructions: ArraySlice<UInt8>

    /// - Throws: `protocol-error` without the two sizes.
    init(parsing bytes: ArraySlice<UInt8>) throws(FetchError) {
        var rest = bytes
        baseBytes = try Self.size(&rest)
        resultBytes = try Self.size(&rest)
        instructions = rest
    }

    /// The object. Takes memory for ``resultBytes`` and never more.
    ///
    /// - Throws: `protocol-error` when the base is another, an instruction is out of bounds, or the
    ///   result is not as long as it should be.
    func apply(to base: [UInt8]) throws(FetchError) -> [UInt8] {
        guard base.count == baseBytes else {
            throw .malformedPack(
                "a delta to \(baseBytes) bytes, with a base of \(base.count)")
        }
        var result: [UInt8] = []
        result.reserveCapacity(resultBytes)
        var rest = instructions
        while let instruction = rest.popFirst() {
            let source: ArraySlice<UInt8>
            if instruction & 0x80 != 0 {
                let offset = try Self.number(instruction & 15, &rest)
                let size = try Self.number(instruction >> 4 & 7, &rest)
                let count = size == 0 ? 65_536 : size
                guard offset + count <= base.count else {
                    throw .malformedPack("a delta copies from beyond its base")
                }
                source = base[offset..<(offset + count)]
            } else if instruction != 0 {
                guard rest.count >= Int(instruction) else { throw Self.cut }
                source = rest.prefix(Int(instruction))
                rest = rest.dropFirst(Int(instruction))
            } else {
                throw .malformedPack("a delta's instruction 0")
            }
            guard source.count <= resultBytes - result.count else {
                throw .malformedPack("a delta makes more than it says")
            }
            result += source
        }
        guard result.count == resultBytes else {
            throw .malformedPack("a delta makes less than it says")
        }
        return result
    }

    private static let cut = FetchError.malformedPack("a delta is cut off")

    /// Seven bits per byte, the lowest first.
    private static func size(_ rest: inout ArraySlice<UInt8>) throws(FetchError) -> Int {
        var value = 0
        for shift in stride(from: 0, to: 56, by: 7) {
            guard let byte = rest.popFirst() else { throw cut }
            value |= Int(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return value }
        }
        throw .malformedPack("the size in a delta is too large")
    }

    /// A number, the lowest byte first, of which `present` tells by bit which bytes are not 0 and
    /// follow.
    private static func number(
        _ present: UInt8, _ rest: inout ArraySlice<UInt8>
    ) throws(FetchError) -> Int {
        var value = 0
        for position in 0..<4 where present >> position & 1 != 0 {
            guard let byte = rest.popFirst() else { throw cut }
            value |= Int(byte) << (8 * position)
        }
        return value
    }
}
