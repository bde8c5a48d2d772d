// SPDX-License-Identifier: MIT
internal import SmallWebText

/// Reads a page of HTML in UTF-8, whose bytes arrive in arbitrary pieces, into blocks. Pure,
/// without a tree, in linear time; there are no errors. Holds at most one block, and the beginning
/// of a page until it has an `h1` or ``heldBytesMax`` bytes: without one its title is the first
/// heading.
public struct HTMLReader: Sendable {
    /// Bytes of texts and links that may come before an `h1`.
    public static let heldBytesMax = 65_536

    private var tokenizer: HTMLTokenizer<HTMLFlow>
    /// Blocks that wait for an `h1`; `nil` once that is decided.
    private var held: [TextBlock]? = []
    private var heldBytes = 0
    /// Bytes that may be a byte order mark; `nil` behind them.
    private var beginning: [UInt8]? = []

    /// - Parameter robotNames: Names of `meta` elements that say to robots if they may follow
    ///   links, in lower case.
    public init(robotNames: [String] = ["robots"]) {
        tokenizer = HTMLTokenizer(HTMLFlow(robotNames: robotNames))
    }

    /// The reference in the page's first `base`, which its links are relative to; `nil` without
    /// one.
    public var base: [UInt8]? { tokenizer.sink.base }

    /// True if robots must not follow the links, as far as the page was read.
    public var isNofollow: Bool { tokenizer.sink.isNofollow }

    /// The page's title, with single blanks; empty without one. At most 4,096 bytes.
    public var title: [UInt8] {
        let words = tokenizer.sink.title.split(whereSeparator: HTMLStops.isSpace)
        return Array(words.joined(separator: [ASCII.space]))
    }

    /// The blocks that end within the next bytes.
    public mutating func add(_ bytes: ArraySlice<UInt8>) -> [TextBlock] {
        if var beginning {
            beginning += bytes
            self.beginning = beginning.count < 3 ? beginning : nil
            if beginning.count >= 3 { tokenizer.add(beginning[...].withoutByteOrderMark) }
        } else {
            tokenizer.add(bytes)
        }
        return released(tokenizer.sink.blocks.takeReady())
    }

    /// The last blocks.
    public mutating func finish() -> [TextBlock] {
        if let beginning = beginning.take() { tokenizer.add(beginning[...]) }
        tokenizer.finish()
        tokenizer.sink.finish()
        let blocks = released(tokenizer.sink.blocks.takeReady())
        guard let rest = held.take() else { return blocks }
        return titled(rest + blocks)
    }

    package mutating func next() -> [TextBlock]? {
        let last = finish()
        return last.isEmpty ? nil : last
    }

    /// Holds blocks until an `h1` comes, or there are too many.
    private mutating func released(_ blocks: [TextBlock]) -> [TextBlock] {
        guard var before = held.take() else { return blocks }
        for (index, block) in blocks.enumerated() {
            if case .heading(1) = block.kind { return before + blocks[index...] }
            before.append(block)
            heldBytes += block.runs.reduce(64) {
                $0 + $1.text.count + ($1.link?.target.count ?? 0) + 64
            }
            if heldBytes > Self.heldBytesMax { return titled(before + blocks[(index + 1)...]) }
        }
        held = before
        return []
    }

    /// The blocks behind the page's title.
    private func titled(_ blocks: [TextBlock]) -> [TextBlock] {
        let title = title
        if title.isEmpty { return blocks }
        let heading = TextBlock(
            .heading(1), [TextBlock.Run(title)], line: tokenizer.sink.titleLine)
        return [heading] + blocks
    }
}
