// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// One line of gemtext, Gemini's own format (specification 0.24.1), without its mark and line end.
public struct GemtextLine: Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        case text, link, item, quote
        /// A link that asks for input, marked by `=:`.
        case prompt
        /// The level, 1 to 3.
        case heading(Int)
        /// A line that begins or ends a preformatted block; its text describes the block.
        case fence
        case preformatted
    }

    public let kind: Kind
    /// Bytes as received: they need not be UTF-8, and may have control characters. For a link, its
    /// label, which may be empty.
    public let text: [UInt8]
    /// For a link or prompt: the reference as written, never empty. Otherwise empty.
    public let target: [UInt8]
    /// Line number in the source, from 1.
    public let number: Int
}

/// Splits a gemtext page, whose bytes arrive in arbitrary pieces, into lines. Pure; holds at most
/// one line. There are no errors: anything unknown is text.
public struct GemtextReader: Sendable {
    /// Longer lines are split into pieces of this size; only the first may have a mark, but no
    /// link.
    public let lineBytesMax: Int
    private let readsPrompts: Bool
    private var pending: [UInt8] = []
    /// True if the first pieces of the line were returned.
    private var isContinued = false
    private var isPreformatted = false
    private var number = 1

    /// - Parameter readsPrompts: True if `=:` marks a prompt, as it does not in Gemini.
    public init(lineBytesMax: Int = 65_536, readsPrompts: Bool = false) {
        self.lineBytesMax = lineBytesMax
        self.readsPrompts = readsPrompts
    }

    /// The lines that end within the next bytes.
    public mutating func add(_ bytes: ArraySlice<UInt8>) -> [GemtextLine] {
        var lines: [GemtextLine] = []
        var rest = bytes
        while !rest.isEmpty {
            let end = rest.firstLineFeed
            var line = rest[..<(end ?? rest.endIndex)]
            rest = end.map { rest[($0 + 1)...] } ?? []
            while pending.count + line.count > lineBytesMax {
                let room = lineBytesMax - pending.count
                pending += line.prefix(room)
                line = line.dropFirst(room)
                lines.append(take(isWhole: false))
                isContinued = true
            }
            pending += line
            guard end != nil else { continue }
            // Skips the empty rest of a line that exactly filled its pieces.
            if pending.last == ASCII.carriageReturn { pending.removeLast() }
            if !(isContinued && pending.isEmpty) {
                lines.append(take(isWhole: !isContinued))
            }
            isContinued = false
            number += 1
        }
        return lines
    }

    /// The last line, if no line feed ended it. It may be truncated, unless the page is known to be
    /// complete.
    public mutating func finish() -> GemtextLine? {
        guard !pending.isEmpty else { return nil }
        if pending.last == ASCII.carriageReturn { pending.removeLast() }
        return take(isWhole: !isContinued)
    }

    private mutating func take(isWhole: Bool) -> GemtextLine {
        var line = pending[...]
        pending = []
        if number == 1 && !isContinued { line = line.withoutByteOrderMark }
        func result(_ kind: GemtextLine.Kind, dropping count: Int = 0) -> GemtextLine {
            let text = count == 0 ? line : line.dropFirst(count).trimmed
            return GemtextLine(kind: kind, text: Array(text), target: [], number: number)
        }
        if line.starts(with: "```".utf8) && !isContinued {
            isPreformatted.toggle()
            return result(.fence, dropping: 3)
        }
        if isPreformatted { return result(.preformatted) }
        if isContinued { return result(.text) }
        if line.starts(with: "=>".utf8), isWhole, let link = link(.link, line.dropFirst(2)) {
            return link
        }
        if readsPrompts, line.starts(with: "=:".utf8), isWhole,
            let prompt = link(.prompt, line.dropFirst(2))
        {
            return prompt
        }
        if line.starts(with: "* ".utf8) { return result(.item, dropping: 2) }
        if line.first == UInt8(ascii: ">") { return result(.quote, dropping: 1) }
        let marks = line.prefix(3).prefix { $0 == UInt8(ascii: "#") }.count
        return marks > 0 ? result(.heading(marks), dropping: marks) : result(.text)
    }

    /// `[space] target [space label]`; `nil` without a target.
    private func link(
        _ kind: GemtextLine.Kind, _ rest: ArraySlice<UInt8>
    ) -> GemtextLine? {
        let rest = rest.trimmed
        let target = rest.prefix { !ASCII.isBlank($0) }
        guard !target.isEmpty else { return nil }
        return GemtextLine(
            kind: kind, text: Array(rest.dropFirst(target.count).trimmed),
            target: Array(target), number: number)
    }
}
