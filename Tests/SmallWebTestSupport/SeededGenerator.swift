// SPDX-License-Identifier: MIT

/// SplitMix64: the same numbers on every run, so that a failure can be repeated.
public struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    public init(seed: UInt64) { state = seed }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Up to `countMax` bytes, every other one from `alphabet`: the bytes that a format gives a
    /// meaning to.
    public mutating func bytes(upTo countMax: Int, alphabet: String) -> [UInt8] {
        let special = Array(alphabet.utf8)
        return (0..<Int.random(in: 0...countMax, using: &self)).map { _ in
            Bool.random(using: &self)
                ? special.randomElement(using: &self) ?? 0 : .random(in: 0...255, using: &self)
        }
    }

    /// The bytes in pieces of random size, none empty.
    public mutating func pieces(of bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        var pieces: [ArraySlice<UInt8>] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Int.random(in: 1...min(rest.count, 9), using: &self)
            pieces.append(rest.prefix(count))
            rest = rest.dropFirst(count)
        }
        return pieces
    }
}
