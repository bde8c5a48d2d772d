// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Incremental decoder of the transfer coding "chunked" (RFC 9112, section 7.1), for bodies that
/// were recorded with it. Bodies without it pass unchanged. No I/O.
package struct ChunkedBody: Sendable {
    private enum Part {
        case size
        case data(left: Int)
        /// Behind the data of a chunk.
        case dataEnd
        case trailer
        case over
        case plain
    }

    private var part = Part.size
    private var held: [UInt8] = []
    private var isFirst = true
    /// Longest line of a size, with its extensions, and of a trailer.
    private static let lineBytesMax = 16_384

    package init() {}

    /// True at the end of the body, or if it has no mark of its end. The last chunk counts as the
    /// end: wget leaves out the empty line behind it.
    package var isWhole: Bool {
        switch part {
        case .trailer, .over, .plain: true
        default: false
        }
    }

    /// Decodes all of `input` in one call: chunks can be as short as a byte.
    ///
    /// - Returns: The decoded bytes, also those in front of a fault.
    package mutating func decode(
        _ input: inout ArraySlice<UInt8>
    ) -> (body: [UInt8], fault: Malformed?) {
        var body: [UInt8] = []
        do throws(Malformed) {
            while let more = try next(&input) { body += more }
            return (body, nil)
        } catch {
            return (body, error)
        }
    }

    /// Returns the buffered rest, after all input, of a body without chunks and without a line end.
    package mutating func finish() -> [UInt8] {
        let isSize = held.allSatisfy { ASCII.hexValue($0) != nil || $0 == ASCII.carriageReturn }
        guard isFirst, case .size = part, !isSize else { return [] }
        part = .plain
        return held
    }

    /// The next bytes of the body; `nil` if all of `input` is used and more is needed.
    ///
    /// - Parameter input: Used bytes are removed from its front.
    package mutating func next(
        _ input: inout ArraySlice<UInt8>
    ) throws(Malformed) -> ArraySlice<UInt8>? {
        while !input.isEmpty {
            switch part {
            case .plain:
                defer { input = [] }
                return input
            case .over:
                input = []
            case .data(let left):
                let piece = input.prefix(left)
                input = input.dropFirst(piece.count)
                part = piece.count == left ? .dataEnd : .data(left: left - piece.count)
                return piece
            case .size, .dataEnd, .trailer:
                if let plain = try takeLine(&input) { return plain }
            }
        }
        return nil
    }

    /// - Returns: The buffered beginning of a body that turned out not to be chunked.
    private mutating func takeLine(
        _ input: inout ArraySlice<UInt8>
    ) throws(Malformed) -> ArraySlice<UInt8>? {
        let end = input.firstLineFeed
        var taken = end.map { input[...$0] } ?? input
        input = input[taken.endIndex...]
        if end == nil || !held.isEmpty {
            held += taken
            taken = held[...]
        }
        guard taken.count <= Self.lineBytesMax else { return try giveUp(taken) }
        guard end != nil else { return nil }
        held = []
        var line = taken.dropLast()
        while line.last == ASCII.carriageReturn { line.removeLast() }
        switch part {
        case .dataEnd:
            guard line.isEmpty else {
                throw Malformed(why: "a chunk of the body is not as long as it says")
            }
            part = .size
        case .trailer: if line.isEmpty { part = .over }
        default:
            var (size, digits) = (0, 0)
            for digit in line {
                guard digits < 16, let value = ASCII.hexValue(digit) else { break }
                size = size << 4 | Int(value)
                digits += 1
            }
            let next = line.dropFirst(digits).first
            guard 1...15 ~= digits, next == nil || next == UInt8(ascii: ";") || next == 0x20
            else { return try giveUp(taken) }
            part = size == 0 ? .trailer : .data(left: size)
            isFirst = false
        }
        return nil
    }

    private mutating func giveUp(
        _ taken: ArraySlice<UInt8>
    ) throws(Malformed) -> ArraySlice<UInt8> {
        guard isFirst else { throw Malformed(why: "the body is not chunked as it should be") }
        part = .plain
        held = []
        return taken
    }
}
