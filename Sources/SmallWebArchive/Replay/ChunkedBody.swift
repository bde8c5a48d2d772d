// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Undoes the transfer coding "chunked" (RFC 9112, section 7.1) of a body that an archive has as it
/// came. Bodies from which it was taken before pass as they are. Pure.
package struct ChunkedBody: Sendable {
    private enum Place {
        case size
        case data(left: Int)
        /// Behind the data of a chunk.
        case dataEnd
        case trailer
        case over
        /// It is not chunked.
        case plain
    }

    private var place = Place.size
    private var held: [UInt8] = []
    private var isFirst = true
    /// Longest line of a size, with its extensions, and of a trailer.
    private static let lineBytesMax = 16_384

    /// Before the first byte of a body.
    package init() {}

    /// Whether the end of the body has come, or there is none that could be missing.
    package var isWhole: Bool {
        switch place {
        case .over, .plain: true
        default: false
        }
    }

    /// The next bytes of the body; `nil` when all of `input` is used and more is needed.
    ///
    /// - Parameter input: What is used is removed from its front.
    package mutating func next(
        _ input: inout ArraySlice<UInt8>
    ) throws(Malformed) -> ArraySlice<UInt8>? {
        while !input.isEmpty {
            switch place {
            case .plain:
                defer { input = [] }
                return input
            case .over:
                input = []
            case .data(let left):
                let piece = input.prefix(left)
                input = input.dropFirst(piece.count)
                place = piece.count == left ? .dataEnd : .data(left: left - piece.count)
                return piece
            case .size, .dataEnd, .trailer:
                if let plain = try takeLine(&input) { return plain }
            }
        }
        return nil
    }

    /// - Returns: What was held back of a body that is not chunked.
    private mutating func takeLine(
        _ input: inout ArraySlice<UInt8>
    ) throws(Malformed) -> ArraySlice<UInt8>? {
        let end = input.firstLineFeed
        held += end.map { input[...$0] } ?? input
        input = end.map { input[($0 + 1)...] } ?? []
        guard held.count <= Self.lineBytesMax else { return try giveUp() }
        guard end != nil else { return nil }
        let line = held.filter { $0 != ASCII.carriageReturn && $0 != ASCII.lineFeed }
        switch place {
        case .dataEnd:
            guard line.isEmpty else {
                throw Malformed(why: "a chunk of the body is not as long as it says")
            }
            place = .size
        case .trailer: if line.isEmpty { place = .over }
        default:
            let digits = line.prefix { ASCII.hexValue($0) != nil }
            let next = line.dropFirst(digits.count).first
            guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16),
                digits.count <= 15, next == nil || next == UInt8(ascii: ";") || next == 0x20
            else { return try giveUp() }
            place = size == 0 ? .trailer : .data(left: size)
            isFirst = false
        }
        held = []
        return nil
    }

    private mutating func giveUp() throws(Malformed) -> ArraySlice<UInt8> {
        guard isFirst else { throw Malformed(why: "the body is not chunked as it should be") }
        place = .plain
        defer { held = [] }
        return held[...]
    }
}
