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

/// The dot rules of RFC 1436 §3.9 on a whole reply, as simple as can be.
func plainGopherText(_ reply: [UInt8]) -> (body: [UInt8], isTerminated: Bool) {
    var lines: [[UInt8]] = [[]]
    for byte in reply {
        lines[lines.count - 1].append(byte)
        if byte == 0x0A { lines.append([]) }
    }
    if lines.last == [] { lines.removeLast() }
    guard let last = lines.last, last == Array(".\r\n".utf8) || last == Array(".\n".utf8) else {
        return (reply, false)
    }
    let body = lines.dropLast().flatMap { $0.starts(with: "..".utf8) ? $0.dropFirst() : $0[...] }
    return (body, true)
}
