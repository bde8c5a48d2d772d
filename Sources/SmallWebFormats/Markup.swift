// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Converts the blocks of a page to a fragment of HTML or Markdown, one by one. Pure.
///
/// Text of the page cannot become markup: it is escaped, links lead to the caller's URLs, and
/// control characters and characters that reorder text are dropped. Deterministic: equal lines give
/// equal bytes.
public struct MarkupWriter: Sendable {
    /// The language of the fragment.
    public enum Format: Sendable {
        /// Elements of HTML 5, without a document around them.
        case html
        /// CommonMark.
        case markdown
    }

    /// The open block, which holds several lines.
    private enum Block { case none, list, quotation, preformatted }

    private let format: Format
    private var block = Block.none

    /// A writer without an open block.
    public init(_ format: Format) { self.format = format }

    // MARK: Blocks

    /// Converts a block.
    ///
    /// - Parameter target: Where a block of the kind ``TextBlock/Kind/link`` leads: an absolute URL
    ///   that is safe to follow, or `nil` to write its label alone; and trusted markup after the
    ///   link. Of links in other blocks the labels are written alone.
    public mutating func block(
        _ block: TextBlock,
        to target: (TextBlock.Link) -> (url: String?, note: String) = { _ in (nil, "") }
    ) -> [UInt8] {
        let text = block.text[...]
        switch block.kind {
        case .link:
            let target = block.runs.first?.link.map(target)
            return link(text, to: target?.url, note: target?.note ?? "")
        case .heading(let level): return heading(text, level)
        case .item: return within(.list, text)
        case .quote: return within(.quotation, text)
        case .preformatted: return within(.preformatted, text)
        case .fence:
            // Ends a block. The opening line has none to end: a block begins with its first text.
            return close()
        case .paragraph, .blank: return paragraph(text)
        }
    }

    /// Writes a paragraph; an empty one only closes the open block.
    public mutating func paragraph(_ text: ArraySlice<UInt8>) -> [UInt8] {
        let text = Self.clean(text.trimmed)
        var bytes = close()
        guard !text.isEmpty else { return bytes }
        switch format {
        case .html:
            bytes.append("<p>")
            bytes.append(markup: text)
            bytes.append("</p>\n")
        case .markdown:
            Self.append(escaped: text, to: &bytes)
            bytes.append("\n\n")
        }
        return bytes
    }

    /// - Parameters:
    ///   - label: Text in UTF-8; it is escaped.
    ///   - url: Absolute, and safe to follow; `nil` to write the label alone.
    ///   - note: Trusted markup after the link.
    public mutating func link(
        _ label: ArraySlice<UInt8>, to url: String?, note: String = ""
    ) -> [UInt8] {
        let label = Self.clean(label.trimmed)
        guard let url else { return paragraph(label[...]) }
        let shown = label.isEmpty ? Array(url.utf8) : label
        var bytes = close()
        switch format {
        case .html:
            bytes.append("<p><a href=\"")
            bytes.append(markup: Array(url.utf8))
            bytes.append("\">")
            bytes.append(markup: shown)
            bytes.append("</a>\(note)</p>\n")
        case .markdown:
            bytes.append("[")
            Self.append(escaped: shown, to: &bytes)
            bytes.append("](<")
            // Within <>, only these bytes need an escape: others that do are not in a URL.
            for byte in url.utf8 {
                if "\\&".utf8.contains(byte) { bytes.append(UInt8(ascii: "\\")) }
                bytes.append(byte)
            }
            bytes.append(">)\(note)\n\n")
        }
        return bytes
    }

    /// Writes a line that keeps its blanks.
    public mutating func preformatted(_ text: ArraySlice<UInt8>) -> [UInt8] {
        within(.preformatted, text)
    }

    /// Closes the open block at the end of the page.
    public mutating func finish() -> [UInt8] { close() }

    private mutating func heading(_ text: ArraySlice<UInt8>, _ level: Int) -> [UInt8] {
        let text = Self.clean(text.trimmed)
        var bytes = close()
        guard !text.isEmpty else { return bytes }
        switch format {
        case .html:
            bytes.append("<h\(level)>")
            bytes.append(markup: text)
            bytes.append("</h\(level)>\n")
        case .markdown:
            bytes.append(String(repeating: "#", count: level) + " ")
            Self.append(escaped: text, to: &bytes)
            bytes.append("\n\n")
        }
        return bytes
    }

    private mutating func within(_ kind: Block, _ text: ArraySlice<UInt8>) -> [UInt8] {
        var bytes = block == kind ? [] : close()
        let isFirst = block != kind
        block = kind
        let text = Self.clean(kind == .preformatted ? text : text.trimmed)
        switch (format, kind) {
        case (.html, .list):
            bytes.append(isFirst ? "<ul>\n<li>" : "<li>")
            bytes.append(markup: text)
            bytes.append("</li>\n")
        case (.html, .quotation):
            bytes.append(isFirst ? "<blockquote>\n<p>" : "<p>")
            bytes.append(markup: text)
            bytes.append("</p>\n")
        case (.html, _):
            // HTML ignores the line feed after the tag.
            if isFirst { bytes.append("<pre>\n") }
            bytes.append(markup: text)
            bytes.append("\n")
        case (.markdown, .list), (.markdown, .quotation):
            bytes.append(kind == .list ? "* " : isFirst ? "> " : ">\n> ")
            Self.append(escaped: text, to: &bytes)
            bytes.append("\n")
        case (.markdown, _):
            // Each line is indented, so no text can end the block.
            bytes.append("    ")
            bytes += text
            bytes.append("\n")
        }
        return bytes
    }

    private mutating func close() -> [UInt8] {
        defer { block = .none }
        switch (format, block) {
        case (_, .none): return []
        case (.html, .list): return Array("</ul>\n".utf8)
        case (.html, .quotation): return Array("</blockquote>\n".utf8)
        case (.html, .preformatted): return Array("</pre>\n".utf8)
        // Without it, an indented line after a list would belong to the list.
        case (.markdown, .list): return Array("\n<!-- -->\n\n".utf8)
        case (.markdown, _): return Array("\n".utf8)
        }
    }

    // MARK: Text

    /// Valid UTF-8 without control characters and characters that reorder text.
    private static func clean(_ text: ArraySlice<UInt8>) -> [UInt8] {
        if text.allSatisfy({ $0 &- 0x20 < 0x5F }) { return Array(text) }
        var clean = String.UnicodeScalarView()
        let text = TerminalText.withoutSequences(text)
        for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
            if scalar == "\t"
                || !TerminalText.isDangerous(scalar) && scalar.value & 0xFFFE != 0xFFFE
            {
                clean.append(scalar)
            }
        }
        return Array(String(clean).utf8)
    }

    /// Appends text that Markdown shows unchanged: escapes marks, and at the beginning also
    /// characters that would make it a list or a heading.
    private static func append(escaped text: [UInt8], to bytes: inout [UInt8]) {
        let digits = text.prefix(while: ASCII.isDigit).count
        for (index, byte) in text.enumerated() {
            let isMark = "\\`*_{}[]<>#|!&~".utf8.contains(byte)
            let isBeginning = index == 0 && "+-=:".utf8.contains(byte)
            let isNumber = digits > 0 && index == digits && ".)".utf8.contains(byte)
            if isMark || isBeginning || isNumber { bytes.append(UInt8(ascii: "\\")) }
            bytes.append(byte)
        }
    }
}
