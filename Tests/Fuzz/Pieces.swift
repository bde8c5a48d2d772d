// SPDX-License-Identifier: MIT

/// An input cut into pieces of sizes that the input itself decides, so that the fuzzer can look for
/// the cut that hurts.
struct Pieces {
    private(set) var pieces: [ArraySlice<UInt8>] = []

    init(of bytes: [UInt8]) {
        var state = bytes.reduce(5381 as UInt32) { $0 &* 33 ^ UInt32($1) }
        var rest = bytes[...]
        while !rest.isEmpty {
            state = state &* 1_664_525 &+ 1_013_904_223
            let count = min(Int(state >> 24) % 11 + 1, rest.count)
            pieces.append(rest.prefix(count))
            rest = rest.dropFirst(count)
        }
    }
}
