// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Incremental parser of WARC records, for bytes in pieces of any size. No I/O.
package struct WarcDecoder: Sendable {
    package enum Element: Sendable {
        case header(WarcHeader)
        /// The next bytes of the block, not empty.
        case block(ArraySlice<UInt8>)
        /// The end of the block and of the two empty lines behind it.
        case end
    }

    private enum Part {
        case header
        case block(left: Int)
        /// Within the two line ends behind a block.
        case trailer(matched: Int)
    }

    private var part = Part.header
    /// The beginning of an incomplete header.
    private var held: [UInt8] = []

    package init() {}

    /// True if enough of a header has arrived to recognise a record.
    package var hasVersion: Bool {
        if case .header = part { held.count > 7 } else { true }
    }

    /// The error if the input ended here; `nil` at a record boundary.
    package var torn: Malformed? {
        switch part {
        case .header:
            return held.isEmpty
                ? nil : Malformed(why: "the record ends within its header", isTorn: true)
        case .block(let left):
            return Malformed(why: "the record's block lacks \(left) bytes", isTorn: true)
        case .trailer:
            return Malformed(why: "the record lacks the line ends behind its block", isTorn: true)
        }
    }

    /// - Parameter input: Used bytes are removed from its front.
    /// - Returns: `nil` when all of `input` is used and more is needed.
    package mutating func next(
        _ input: inout ArraySlice<UInt8>
    ) throws(Malformed) -> Element? {
        switch part {
        case .header:
            guard !input.isEmpty else { return nil }
            guard let header = try header(&input) else { return nil }
            part = header.blockBytes == 0 ? .trailer(matched: 0) : .block(left: header.blockBytes)
            return .header(header)
        case .block(let left):
            guard !input.isEmpty else { return nil }
            let piece = input.prefix(left)
            input = input.dropFirst(piece.count)
            part =
                piece.count == left ? .trailer(matched: 0) : .block(left: left - piece.count)
            return .block(piece)
        case .trailer(var matched):
            while matched < Self.trailer.count {
                guard let byte = input.first else {
                    part = .trailer(matched: matched)
                    return nil
                }
                guard byte == Self.trailer[matched] else {
                    // Some programs end a record with one line end.
                    throw Malformed(
                        why: "the record's block is not as long as its Content-Length",
                        isBehindRecord: matched == 2 && byte == WarcHeader.magic[0])
                }
                input = input.dropFirst()
                matched += 1
            }
            part = .header
            return .end
        }
    }

    /// Skips the rest of the block without reading it.
    ///
    /// - Returns: The number of bytes for the caller to skip.
    package mutating func skipBlock() -> Int {
        guard case .block(let left) = part else { return 0 }
        part = .trailer(matched: 0)
        return left
    }

    private static let trailer = ASCII.crlf + ASCII.crlf

    private mutating func header(
        _ input: inout ArraySlice<UInt8>
    ) throws(Malformed) -> WarcHeader? {
        if held.isEmpty {
            if let (header, count) = try WarcHeader.parse(input) {
                input = input.dropFirst(count)
                return header
            }
            held = Array(input)
            input = []
            return nil
        }
        // Bounded by `before`: appending everything for each new byte would take quadratic time.
        let before = held.count
        let piece = input.prefix(max(before, 4096))
        held += piece
        guard let (header, count) = try WarcHeader.parse(held[...]) else {
            input = input.dropFirst(piece.count)
            return input.isEmpty ? nil : try self.header(&input)
        }
        held = []
        input = input.dropFirst(count - before)
        return header
    }
}
