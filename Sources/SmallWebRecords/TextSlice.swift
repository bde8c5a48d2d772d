// SPDX-License-Identifier: MIT
package import SmallWeb

/// The part of a page's text that is asked for, in bytes of UTF-8.
package struct TextRange: Sendable, Hashable {
    package var start: Int
    /// At least 1.
    package var count: Int
    /// The beginning of the page's SHA-256 in hexadecimal digits: the page of an earlier part.
    package var hash: String?

    package init(start: Int, count: Int, hash: String? = nil) {
        (self.start, self.count, self.hash) = (start, count, hash)
    }

    var end: Int { start + count }
}

/// Keeps one part of a text that comes in pieces, and no more of it.
///
/// A part begins and ends between two characters, and ends with a line if one ends within its last
/// eighth. What is a character depends on the bytes of the text alone, and a part has at least one;
/// so parts that begin where the one before them ended are the text, whatever its bytes are.
package final class TextSlice {
    package let range: TextRange
    /// The first byte that is kept. With three bytes before and behind the range it is known which
    /// of its ends are within a character.
    private let first: Int
    private let kept = Spool(memoryMax: 65_536)
    /// Bytes of the text so far.
    package private(set) var total = 0

    package init(_ range: TextRange) {
        self.range = range
        first = max(0, range.start - 3)
    }

    /// - Throws: `write` when the temporary directory is full or missing.
    package func add(_ bytes: ArraySlice<UInt8>) throws(FetchError) {
        let (from, end) = (max(0, first - total), range.end + 3 - total)
        total += bytes.count
        guard from < min(end, bytes.count) else { return }
        try kept.append(bytes.prefix(end).dropFirst(from))
    }

    /// - Parameter isCutOff: True if more of the text was to come.
    /// - Returns: The part, with the offset of the next one; `nil` at the end of the text.
    package func cut(
        isCutOff: Bool
    ) throws(FetchError) -> (bytes: ArraySlice<UInt8>, offset: Int, next: Int?) {
        guard range.start <= total else { return ([], range.start, isCutOff ? range.start : nil) }
        let offset = try characterStart(range.start)
        var end = min(range.end, total)
        if end < total {
            let tail = try bytes((end - range.count / 8)..<end)
            let line = tail.lastIndex(of: ASCII.lineFeed)
            end = if let line { end - (tail.endIndex - line) + 1 } else { try characterStart(end) }
            if end <= offset { end = offset + (try characterSize(at: offset)) }
        } else if isCutOff {
            end = max(offset, end - (try bytes(offset..<end).suffix(3).cutCharacterCount))
        }
        return (try bytes(offset..<end), offset, end < total || isCutOff ? end : nil)
    }

    /// The beginning of the character that the byte is within, or the byte itself.
    private func characterStart(_ place: Int) throws(FetchError) -> Int {
        for start in stride(from: place - 1, through: max(first, place - 3), by: -1) {
            if start + (try characterSize(at: start)) > place { return start }
        }
        return place
    }

    /// Bytes of the character that begins there; 1 for a byte that begins none.
    private func characterSize(at place: Int) throws(FetchError) -> Int {
        let bytes = try bytes(place..<(place + 4))
        let size =
            switch bytes.first ?? 0 {
            case 0xC2...0xDF: 2
            case 0xE0...0xEF: 3
            case 0xF0...0xF4: 4
            default: 1
            }
        let rest = bytes.dropFirst().prefix(size - 1)
        return rest.count == size - 1 && rest.allSatisfy { $0 & 0xC0 == 0x80 } ? size : 1
    }

    /// The bytes that are kept of a range of the text.
    private func bytes(_ range: Range<Int>) throws(FetchError) -> ArraySlice<UInt8> {
        let range = range.clamped(to: first..<(first + kept.count))
        return try kept.read((range.lowerBound - first)..<(range.upperBound - first))
    }
}
