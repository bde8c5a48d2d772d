// SPDX-License-Identifier: MIT
package import SmallWebCore

/// One line of gemtext, Gemini's own format (specification 0.24.1), without its mark and line end.
public struct GemtextLine: Sendable, Hashable {
    /// The kind of a line, by its mark.
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

    /// The kind of the line.
    public let kind: Kind
    /// Bytes as received: they need not be UTF-8, and may have control characters. For a link, its
    /// label, which may be empty.
    public let text: [UInt8]
    /// For a link or prompt: the reference as written, never empty. Otherwise empty.
    public let target: [UInt8]
    /// Line number in the source, from 1.
    public let number: Int

    package init(kind: Kind, text: [UInt8], target: [UInt8], number: Int) {
        (self.kind, self.text, self.target, self.number) = (kind, text, target, number)
    }
}

/// Splits a gemtext page, whose bytes arrive in arbitrary pieces, into lines. Pure; holds at most
/// one line. There are no errors: anything unknown is text.
public struct GemtextReader: Sendable {
    /// Longer lines are split into pieces of this size; only the first may have a mark, but no
    /// link.
    public var lineBytesMax: Int { framer.lineBytesMax }
    private let readsPrompts: Bool
    private var framer: LineFramer
    private var isPreformatted = false

    /// - Parameters:
    ///   - lineBytesMax: At least 4.
    ///   - readsPrompts: True if `=:` marks a prompt, as it does not in Gemini.
    public init(lineBytesMax: Int = 65_536, readsPrompts: Bool = false) {
        framer = LineFramer(lineBytesMax: lineBytesMax)
        self.readsPrompts = readsPrompts
    }

    /// The lines that end within the next bytes.
    public mutating func add(_ bytes: ArraySlice<UInt8>) -> [GemtextLine] {
        framer.split(bytes).map { read($0) }
    }

    /// The last line, if no line feed ended it. It may be truncated, unless the page is known to be
    /// complete.
    public mutating func finish() -> GemtextLine? {
        framer.split([], isLast: true).first.map { read($0) }
    }

    /// Parses a line of ``LineFramer/split(_:isLast:)``, instead of `add` and `finish`.
    ///
    /// - Parameter isTruncated: True for a line that may lack its end, which is not a link.
    package mutating func read(
        _ source: LineFramer.Line, isTruncated: Bool = false
    ) -> GemtextLine {
        let (line, isContinued) = (source.bytes, !source.isBeginning)
        func result(_ kind: GemtextLine.Kind, dropping count: Int = 0) -> GemtextLine {
            let text = count == 0 ? line : line.dropFirst(count).trimmed
            return GemtextLine(kind: kind, text: Array(text), target: [], number: source.number)
        }
        func link(_ kind: GemtextLine.Kind) -> GemtextLine? {
            let rest = line.dropFirst(2).trimmed
            let target = rest.prefix { !ASCII.isBlank($0) }
            guard source.isWhole, !isTruncated, !target.isEmpty else { return nil }
            return GemtextLine(
                kind: kind, text: Array(rest.dropFirst(target.count).trimmed),
                target: Array(target), number: source.number)
        }
        if line.starts(with: "```".utf8) && !isContinued {
            isPreformatted.toggle()
            return result(.fence, dropping: 3)
        }
        if isPreformatted { return result(.preformatted) }
        if isContinued { return result(.text) }
        if line.starts(with: "=>".utf8), let link = link(.link) { return link }
        if readsPrompts, line.starts(with: "=:".utf8), let prompt = link(.prompt) { return prompt }
        if line.starts(with: "* ".utf8) { return result(.item, dropping: 2) }
        if line.first == UInt8(ascii: ">") { return result(.quote, dropping: 1) }
        let marks = line.prefix(3).prefix { $0 == UInt8(ascii: "#") }.count
        return marks > 0 ? result(.heading(marks), dropping: marks) : result(.text)
    }
}

/// The part of a gemtext page below one heading: from the first heading line with its text to the
/// next heading of its level or above. Pure.
public struct GemtextSection: Sendable {
    private enum Place: Sendable {
        case before
        case within(level: Int)
        case behind
    }

    private let heading: [UInt8]
    private var place = Place.before

    /// - Parameter heading: The text without its mark; blanks around it are ignored.
    public init(under heading: String) {
        self.heading = Array(Array(heading.utf8)[...].trimmed)
    }

    /// True if the heading has come.
    public var wasFound: Bool { if case .before = place { false } else { true } }

    /// True if the line belongs to the part, which excludes the heading itself. Must be called with
    /// each line of the page in order.
    public mutating func includes(_ line: GemtextLine) -> Bool {
        guard case .heading(let level) = line.kind else {
            if case .within = place { return true }
            return false
        }
        switch place {
        case .before:
            if line.text == heading { place = .within(level: level) }
            return false
        case .within(let own):
            if level <= own { place = .behind }
            return level > own
        case .behind: return false
        }
    }
}
