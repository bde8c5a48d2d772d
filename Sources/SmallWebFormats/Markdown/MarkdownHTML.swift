// SPDX-License-Identifier: MIT
internal import SmallWebText

/// Turns a page of Markdown, whose bytes arrive in arbitrary pieces, into HTML, with as many line
/// feeds before each block as the page has. Pure; never fails: anything unknown is text.
///
/// A link may be defined behind its use, so that a page is held until it ends. HTML of one that is
/// longer than ``heldBytesMax`` comes while it arrives, with the definitions before it.
package struct MarkdownHTML: Sendable {
    /// Bytes of a page whose definitions are read first.
    package static let heldBytesMax = 16_777_216
    /// A longer line comes in parts.
    private static let lineBytesMax = 1_048_576
    /// Of the page, which are turned at once.
    private static let pieceBytesMax = 16_384

    private let heldBytesMax: Int
    private var held: [UInt8] = []
    /// Offset in `held`: bytes before it were read.
    private var start = 0
    private var (knowsDefinitions, hasEnded) = (false, false)
    private var framer = LineFramer(lineBytesMax: lineBytesMax)
    private var blocks = MarkdownBlocks(MarkdownWriter())

    /// For the beginning of a page.
    package init(heldBytesMax: Int = heldBytesMax) { self.heldBytesMax = heldBytesMax }

    /// Takes the next bytes in UTF-8.
    ///
    /// - Returns: HTML before them; none of a page that is not longer than ``heldBytesMax``.
    package mutating func add(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        held += bytes
        guard held.count > heldBytesMax else { return [] }
        readDefinitions()
        return read(upTo: start + 2 * bytes.count)
    }

    /// The next HTML at the end of the page, as much as 16 KiB of it make; `nil` behind the last.
    package mutating func next() -> [UInt8]? {
        readDefinitions(isWhole: true)
        if start < held.count { return read(upTo: start + Self.pieceBytesMax) }
        if hasEnded { return nil }
        hasEnded = true
        blocks.add(framer.split([], isLast: true))
        blocks.finish()
        return blocks.writer?.take()
    }

    /// Reads the definitions of all that is held, for links before them.
    private mutating func readDefinitions(isWhole: Bool = false) {
        if knowsDefinitions { return }
        knowsDefinitions = true
        blocks.references.allowance = max(held.count, blocks.references.allowance)
        var framer = framer
        var first = MarkdownBlocks(nil, references: blocks.references)
        for start in stride(from: 0, to: held.count, by: Self.pieceBytesMax) {
            first.add(framer.split(held[start...].prefix(Self.pieceBytesMax)))
        }
        if isWhole {
            first.add(framer.split([], isLast: true))
            first.finish()
        }
        blocks.references = first.references
    }

    /// The HTML of the held bytes before `end`.
    private mutating func read(upTo end: Int) -> [UInt8] {
        while start < min(end, held.count) {
            let piece = held[start..<min(end, held.count)].prefix(Self.pieceBytesMax)
            blocks.add(framer.split(piece))
            start += piece.count
        }
        if start > held.count / 2 {
            held.removeFirst(start)
            start = 0
        }
        return blocks.writer?.take() ?? []
    }
}

extension MarkdownBlocks {
    fileprivate mutating func add(_ lines: [LineFramer.Line]) {
        for line in lines {
            var (rest, isBeginning) = (line.bytes, line.isBeginning)
            // A carriage return alone ends a line, too.
            while let end = rest.firstIndex(of: ASCII.carriageReturn) {
                add(rest[..<end], isBeginning: isBeginning)
                (rest, isBeginning) = (rest[(end + 1)...], true)
            }
            add(rest, isBeginning: isBeginning)
        }
    }
}
