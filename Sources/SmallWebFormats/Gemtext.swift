// SPDX-License-Identifier: MIT
package import SmallWebText

/// Reads a page of gemtext, Gemini's own format (specification 0.24.1), whose bytes arrive in
/// arbitrary pieces: each line is a block, without its mark and line end. Pure; holds at most one
/// line. There are no errors: anything unknown is a paragraph.
public struct GemtextReader: Sendable {
    /// Longer lines are split into pieces of this size; only the first may have a mark, but no
    /// link.
    public var lineBytesMax: Int { framer.lineBytesMax }
    private let readsPrompts: Bool
    private var framer: LineFramer
    private var isPreformatted = false

    /// - Parameters:
    ///   - lineBytesMax: A longer line comes in pieces; less than 4 counts as 4.
    ///   - readsPrompts: True if `=:` marks a prompt, as it does not in Gemini.
    public init(lineBytesMax: Int = 65_536, readsPrompts: Bool = false) {
        framer = LineFramer(lineBytesMax: lineBytesMax)
        self.readsPrompts = readsPrompts
    }

    /// The lines that end within the next bytes.
    public mutating func add(_ bytes: ArraySlice<UInt8>) -> [TextBlock] {
        framer.split(bytes).map { read($0) }
    }

    /// The last line, if no line feed ended it. It may be truncated, unless the page is known to be
    /// complete.
    public mutating func finish() -> TextBlock? {
        framer.split([], isLast: true).first.map { read($0) }
    }

    /// Parses a line of ``LineFramer/split(_:isLast:)``, instead of `add` and `finish`.
    ///
    /// - Parameter isTruncated: True for a line that may lack its end, which is not a link.
    package mutating func read(
        _ source: LineFramer.Line, isTruncated: Bool = false
    ) -> TextBlock {
        let (line, isContinued) = (source.bytes, !source.isBeginning)
        func result(_ kind: TextBlock.Kind, dropping count: Int = 0) -> TextBlock {
            let text = count == 0 ? line : line.dropFirst(count).trimmed
            return TextBlock(kind, text: Array(text), line: source.number)
        }
        func link(isPrompt: Bool) -> TextBlock? {
            let rest = line.dropFirst(2).trimmed
            let target = rest.prefix { !ASCII.isBlank($0) }
            guard source.isWhole, !isTruncated, !target.isEmpty else { return nil }
            let label = Array(rest.dropFirst(target.count).trimmed)
            var link = TextBlock.Link(Array(target), line: source.number)
            link.isPrompt = isPrompt
            return TextBlock(.link, [.init(label, link: link)], line: source.number)
        }
        if line.starts(with: "```".utf8) && !isContinued {
            isPreformatted.toggle()
            return result(.fence, dropping: 3)
        }
        if isPreformatted { return result(.preformatted) }
        if isContinued { return result(.paragraph) }
        if line.starts(with: "=>".utf8), let link = link(isPrompt: false) { return link }
        if readsPrompts, line.starts(with: "=:".utf8), let prompt = link(isPrompt: true) {
            return prompt
        }
        if line.starts(with: "* ".utf8) { return result(.item(), dropping: 2) }
        if line.first == UInt8(ascii: ">") { return result(.quote(), dropping: 1) }
        let marks = line.prefix(3).prefix { $0 == UInt8(ascii: "#") }.count
        if marks > 0 { return result(.heading(marks), dropping: marks) }
        return result(line.isEmpty ? .blank : .paragraph)
    }
}

extension TextBlock {
    /// The block as gemtext, without its last line end. A paragraph's marks stay.
    package var gemtext: [UInt8] {
        let mark: [UInt8] =
            switch kind {
            case .heading(let level): Array(repeating: 0x23, count: level) + [ASCII.space]
            case .quote(let depth): Array(String(repeating: "> ", count: depth).utf8)
            case .item(let depth, let number):
                Array(repeating: ASCII.space, count: 2 * (depth - 1))
                    + Array((number.map { "\($0). " } ?? "* ").utf8)
            case .fence: Array("```".utf8)
            case .rule: Array("---".utf8)
            case .link: Array("=> ".utf8) + (runs.first?.link?.target ?? []) + [ASCII.space]
            case .paragraph, .preformatted, .blank, .row: []
            }
        return isFirst ? mark + text : text
    }
}

/// The part of a page below one heading: from the first heading with its text to the next one of
/// its level or above. Pure.
public struct PageSection: Sendable {
    private enum Part: Sendable {
        case before
        case within(level: Int)
        case behind
    }

    private let heading: [UInt8]
    private var part = Part.before

    /// - Parameter heading: The text without its mark; blanks around it are ignored.
    public init(under heading: String) {
        self.heading = Array(Array(heading.utf8)[...].trimmed)
    }

    /// True if the heading has come.
    public var wasFound: Bool { if case .before = part { false } else { true } }

    /// True if the block belongs to the part, which excludes the heading itself. Must be called
    /// with each block of the page in order.
    public mutating func includes(_ block: TextBlock) -> Bool {
        guard case .heading(let level) = block.kind else {
            if case .within = part { return true }
            return false
        }
        switch part {
        case .before:
            if block.text == heading { part = .within(level: level) }
            return false
        case .within(let own):
            if level <= own { part = .behind }
            return level > own
        case .behind: return false
        }
    }
}
