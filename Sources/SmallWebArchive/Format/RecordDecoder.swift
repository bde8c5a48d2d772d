// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Divides bytes that arrive in any pieces into WARC records. Pure: what it is given decides all.
package struct RecordDecoder: Sendable {
    package enum Element: Sendable, Hashable {
        case header(RecordHeader)
        /// The next bytes of the block, not empty.
        case block(ArraySlice<UInt8>)
        /// The block and the two empty lines behind it are over.
        case end
    }

    private enum Place {
        case header
        case block(left: Int)
        /// Within the two line ends behind a block.
        case trailer(matched: Int)
    }

    private var place = Place.header
    /// The beginning of a header.
    private var held: [UInt8] = []

    /// Before the first byte of a record.
    package init() {}

    /// Whether enough of a header has come to know it as one.
    package var hasVersion: Bool {
        if case .header = place { held.count > 7 } else { true }
    }

    /// What ends an archive here is the end of a record, or this is wrong with it.
    package var torn: Malformed? {
        switch place {
        case .header:
            return held.isEmpty
                ? nil : Malformed(why: "the record ends within its header", isTorn: true)
        case .block(let left):
            return Malformed(why: "the record's block lacks \(left) bytes", isTorn: true)
        case .trailer:
            return Malformed(why: "the record lacks the line ends behind its block", isTorn: true)
        }
    }

    /// The next element.
    ///
    /// - Parameter input: What is used is removed from its front.
    /// - Returns: `nil` when all of `input` is used and more is needed.
    package mutating func next(
        _ input: inout ArraySlice<UInt8>
    ) throws(Malformed) -> Element? {
        switch place {
        case .header:
            guard !input.isEmpty else { return nil }
            guard let header = try header(&input) else { return nil }
            place = header.blockBytes == 0 ? .trailer(matched: 0) : .block(left: header.blockBytes)
            return .header(header)
        case .block(let left):
            guard !input.isEmpty else { return nil }
            let piece = input.prefix(left)
            input = input.dropFirst(piece.count)
            place =
                piece.count == left ? .trailer(matched: 0) : .block(left: left - piece.count)
            return .block(piece)
        case .trailer(var matched):
            while matched < Self.trailer.count {
                guard let byte = input.first else {
                    place = .trailer(matched: matched)
                    return nil
                }
                guard byte == Self.trailer[matched] else {
                    throw Malformed(why: "the record's block is not as long as its Content-Length")
                }
                input = input.dropFirst()
                matched += 1
            }
            place = .header
            return .end
        }
    }

    /// The rest of the block is passed over without being read.
    ///
    /// - Returns: How many bytes that are.
    package mutating func skipBlock() -> Int {
        guard case .block(let left) = place else { return 0 }
        place = .trailer(matched: 0)
        return left
    }

    private static let trailer = ASCII.crlf + ASCII.crlf

    private mutating func header(
        _ input: inout ArraySlice<UInt8>
    ) throws(Malformed) -> RecordHeader? {
        if held.isEmpty {
            if let (header, count) = try RecordHeader.parse(input) {
                input = input.dropFirst(count)
                return header
            }
            held = Array(input)
            input = []
            return nil
        }
        // No more than may belong to it, or a header that grows byte by byte costs its square.
        let before = held.count
        let piece = input.prefix(max(before, 4096))
        held += piece
        guard let (header, count) = try RecordHeader.parse(held[...]) else {
            input = input.dropFirst(piece.count)
            return input.isEmpty ? nil : try self.header(&input)
        }
        held = []
        input = input.dropFirst(count - before)
        return header
    }
}
