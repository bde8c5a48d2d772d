// SPDX-License-Identifier: MIT
internal import SmallWebText

/// Converts the blocks of a page to a fragment of HTML or Markdown, one by one. Pure.
///
/// Text of the page cannot become markup: it is escaped, links lead to the caller's URLs, and
/// control characters and characters that reorder text are dropped. Deterministic: equal lines give
/// equal bytes.
public struct MarkupWriter: Sendable {
    /// The language of the fragment.
    @nonexhaustive
    public enum Format: Sendable {
        /// Elements of HTML 5, without a document around them.
        case html
        /// CommonMark.
        case markdown
    }

    /// Where a link leads: an absolute URL that is safe to follow, or `nil` to write its label
    /// alone; and trusted markup after the link.
    public typealias Target = (TextBlock.Link) -> (url: String?, note: String)

    /// The open block, which holds several lines; that of a quotation is as deep as it.
    private enum Block: Equatable { case none, list, quotation(Int), preformatted, table }

    /// An open list, with the columns before the text of its item.
    private struct List { var (isNumbered, width): (Bool, Int) }

    private let format: Format
    private var block = Block.none
    /// The lists around the next item, the outermost first.
    private var lists: [List] = []
    /// True behind a row of a table's head.
    private var isInHead = false

    /// A writer without an open block.
    public init(_ format: Format) { self.format = format }

    // MARK: Blocks

    /// Deeper lists and quotations are taken for as deep: programs make blocks, too.
    private static let depthMax = 64

    /// Converts a block.
    ///
    /// - Parameters:
    ///   - block: The next of the page.
    ///   - target: Called for each link of the block, in order.
    public mutating func block(
        _ block: TextBlock, to target: Target = { _ in (nil, "") }
    ) -> [UInt8] {
        switch block.kind {
        case .link:
            let target = block.runs.first?.link.map(target)
            return link(block.text[...], to: target?.url, note: target?.note ?? "")
        case .heading(let level):
            let level = min(max(level, 1), 6)
            return heading(inlines(block.runs[...], target, lineStart: nil), level)
        case .item(let depth, let number):
            return item(block, min(max(depth, 1), Self.depthMax), number, target)
        case .quote(let depth):
            let depth = min(max(depth, 1), Self.depthMax)
            let lineStart = "\\\n" + String(repeating: "> ", count: depth)
            return quotation(inlines(block.runs[...], target, lineStart: lineStart), depth)
        case .preformatted:
            // Code of Markdown has no links.
            let isCode = format == .html || !block.links.contains { !$0.isEmbedded }
            guard isCode else { return paragraph(inlines(block.runs[...], target)) }
            let targets = format == .html ? target : { _ in (nil, "") }
            return within(.preformatted, inlines(block.runs[...], targets, keepsBlanks: true))
        case .row(let isHeader): return row(block, isHeader, target)
        case .rule: return close() + Array((format == .html ? "<hr>\n" : "***\n\n").utf8)
        case .fence:
            // Ends a block. The opening line has none to end: a block begins with its first text.
            return close()
        case .paragraph, .blank: return paragraph(inlines(block.runs[...], target))
        }
    }

    /// Writes a paragraph; an empty one only closes the open block.
    public mutating func paragraph(_ text: ArraySlice<UInt8>) -> [UInt8] {
        paragraph(inlines([TextBlock.Run(Array(text))], { _ in (nil, "") }))
    }

    private mutating func paragraph(_ markup: [UInt8]) -> [UInt8] {
        let bytes = close()
        guard !markup.isEmpty else { return bytes }
        return bytes + line("p", markup, or: ("", "\n\n"))
    }

    /// - Parameters:
    ///   - label: Text in UTF-8; it is escaped.
    ///   - url: Absolute, and safe to follow; `nil` to write the label alone.
    ///   - note: Trusted markup after the link.
    public mutating func link(
        _ label: ArraySlice<UInt8>, to url: String?, note: String = ""
    ) -> [UInt8] {
        guard let url else { return paragraph(label) }
        let label = Self.clean(label)[...].trimmed
        return paragraph(link(label.isEmpty ? Array(url.utf8) : Array(label), url, note))
    }

    /// Writes a line, without its end, that keeps its blanks. A text of several lines is split
    /// before.
    public mutating func preformatted(_ text: ArraySlice<UInt8>) -> [UInt8] {
        let run = TextBlock.Run(Array(text))
        return within(.preformatted, inlines([run], { _ in (nil, "") }, keepsBlanks: true))
    }

    /// Closes the open block at the end of the page.
    public mutating func finish() -> [UInt8] { close() }

    private mutating func heading(_ markup: [UInt8], _ level: Int) -> [UInt8] {
        let bytes = close()
        guard !markup.isEmpty else { return bytes }
        let marks = String(repeating: "#", count: level) + " "
        return bytes + line("h\(level)", markup, or: (marks, "\n\n"))
    }

    private mutating func quotation(_ markup: [UInt8], _ depth: Int) -> [UInt8] {
        let isFirst = block != .quotation(depth)
        var bytes = isFirst ? close() : []
        block = .quotation(depth)
        let marks = String(repeating: "> ", count: depth)
        if isFirst && format == .html {
            bytes.append(String(repeating: "<blockquote>\n", count: depth))
        }
        let edge = isFirst ? "" : marks.dropLast() + "\n"
        return bytes + line("p", markup, or: (edge + marks, "\n"))
    }

    private mutating func item(
        _ item: TextBlock, _ depth: Int, _ number: Int?, _ target: Target
    ) -> [UInt8] {
        var bytes = block == .list ? [] : close()
        block = .list
        let isNew = item.isFirst || lists.isEmpty
        let mark = number.map { "\($0). " } ?? "* "
        if isNew { openItem(depth, number, width: mark.utf8.count, &bytes) }
        let indent = blanks(lists.dropLast().reduce(0) { $0 + $1.width })
        let column = indent + blanks(lists.last?.width ?? 0)
        let text = inlines(item.runs[...], target, lineStart: "\\\n" + column)
        if format == .html && isNew { return bytes + text }
        if format == .html { bytes.append(ASCII.lineFeed) }
        return bytes + line("p", text, or: (isNew ? indent + mark : "\n" + column, "\n"))
    }

    /// Closes lists that are deeper, or of another kind, and opens those that are missing.
    private mutating func openItem(
        _ depth: Int, _ number: Int?, width: Int, _ bytes: inout [UInt8]
    ) {
        let isNumbered = number != nil
        while lists.count > depth || lists.count == depth && lists.last?.isNumbered != isNumbered {
            closeList(&bytes)
        }
        let tag = number.map { "<li value=\"\($0)\">" } ?? "<li>"
        var markup = lists.count == depth ? "</li>\n" + tag : ""
        while lists.count < depth {
            markup += (lists.isEmpty ? "" : "\n") + (isNumbered ? "<ol>\n" : "<ul>\n")
            lists.append(List(isNumbered: isNumbered, width: width))
            markup += lists.count == depth ? tag : "<li>"
        }
        lists[depth - 1].width = width
        if format == .html { bytes.append(markup) }
    }

    private mutating func closeList(_ bytes: inout [UInt8]) {
        let list = lists.removeLast()
        if format == .html { bytes.append(list.isNumbered ? "</li>\n</ol>\n" : "</li>\n</ul>\n") }
    }

    private func blanks(_ count: Int) -> String { String(repeating: " ", count: count) }

    private mutating func row(
        _ row: TextBlock, _ isHeader: Bool, _ target: Target
    ) -> [UInt8] {
        // A head behind other rows is that of the next table.
        let isFirst = block != .table || isHeader && !isInHead
        var bytes = isFirst ? close() : []
        (block, isInHead) = (.table, isHeader)
        let cells = row.cells.map { inlines($0, target, lineStart: nil) }
        if format == .html {
            if isFirst { bytes.append("<table>\n") }
            bytes.append("<tr>")
            let name = isHeader ? "th" : "td"
            for cell in cells { bytes += line(name, cell, or: ("", "")).dropLast() }
            bytes.append("</tr>\n")
        } else {
            for cell in cells { bytes += Array("| ".utf8) + cell + [ASCII.space] }
            bytes.append("|\n")
            // The first row of a table is its head.
            if isFirst { bytes.append(String(repeating: "| --- ", count: cells.count) + "|\n") }
        }
        return bytes
    }

    private mutating func within(_ kind: Block, _ markup: [UInt8]) -> [UInt8] {
        let isFirst = block != kind
        var bytes = isFirst ? close() : []
        block = kind
        // HTML ignores the line feed after the tag. Each line of Markdown is indented, so no text
        // can end the block.
        bytes.append(format == .markdown ? "    " : isFirst ? "<pre>\n" : "")
        return bytes + markup + [ASCII.lineFeed]
    }

    private mutating func close() -> [UInt8] {
        defer { block = .none }
        switch (format, block) {
        case (_, .none): return []
        case (.html, .list):
            var bytes: [UInt8] = []
            while !lists.isEmpty { closeList(&bytes) }
            return bytes
        case (.html, .quotation(let depth)):
            return Array(String(repeating: "</blockquote>\n", count: depth).utf8)
        case (.html, .preformatted): return Array("</pre>\n".utf8)
        case (.html, .table): return Array("</table>\n".utf8)
        // Without it, an indented line after a list would belong to the list.
        case (.markdown, .list):
            lists = []
            return Array("\n<!-- -->\n\n".utf8)
        case (.markdown, _): return Array("\n".utf8)
        }
    }

    /// An element of HTML on a line, or a line of Markdown.
    private func line(
        _ name: String, _ markup: [UInt8], or edges: (String, String)
    ) -> [UInt8] {
        let (start, end) = format == .html ? ("<\(name)>", "</\(name)>\n") : edges
        return Array(start.utf8) + markup + Array(end.utf8)
    }

    // MARK: Runs

    /// The markup of runs, without blanks at its ends.
    ///
    /// - Parameter lineStart: Breaks a line of Markdown; `nil` for a space instead of a break.
    private func inlines(
        _ runs: ArraySlice<TextBlock.Run>,
        _ target: Target,
        lineStart: String? = "\\\n", keepsBlanks: Bool = false
    ) -> [UInt8] {
        var markup: [UInt8] = []
        let lineBreak = lineStart.map { format == .html ? "<br>\n" : $0 } ?? " "
        for (index, run) in zip(runs.indices, runs) {
            var text = Self.clean(run.text[...])[...]
            if !keepsBlanks && markup.isEmpty { text = text.drop(while: ASCII.isWhiteSpace) }
            if !keepsBlanks && index == runs.endIndex - 1 {
                text = text.dropLast(while: ASCII.isWhiteSpace)
            }
            let (url, note) = run.link.map(target) ?? (nil, "")
            guard !text.isEmpty else { continue }
            let lines = text.split(separator: ASCII.lineFeed, omittingEmptySubsequences: false)
            for (index, source) in lines.enumerated() {
                // A mark behind blanks would begin a block.
                let isNext = index > 0 && !keepsBlanks
                let line = isNext ? source.drop(while: ASCII.isWhiteSpace) : source
                if index > 0 { markup.append(lineBreak) }
                let isBeginning = index > 0 || markup.allSatisfy(ASCII.isDigit)
                if let url, run.link?.isEmbedded == false, !line.isEmpty {
                    markup += link(Array(line), url, note)
                } else if keepsBlanks && format == .markdown {
                    markup += line
                } else {
                    append(escaped: line, isBeginning: isBeginning, to: &markup)
                }
            }
        }
        return markup
    }

    /// The link with a label that is shown.
    private func link(_ label: [UInt8], _ url: String, _ note: String) -> [UInt8] {
        var bytes: [UInt8] = []
        switch format {
        case .html:
            bytes.append("<a href=\"")
            bytes.append(markup: Array(url.utf8))
            bytes.append("\">")
            bytes.append(markup: label)
            bytes.append("</a>\(note)")
        case .markdown:
            bytes.append("[")
            append(escaped: label[...], isBeginning: false, to: &bytes)
            bytes.append("](<")
            // Within <>, only these bytes need an escape: others that do are not in a URL.
            for byte in url.utf8 {
                if "\\&".utf8.contains(byte) { bytes.append(UInt8(ascii: "\\")) }
                bytes.append(byte)
            }
            bytes.append(">)\(note)")
        }
        return bytes
    }

    // MARK: Text

    /// Valid UTF-8 without control characters but tabs and line feeds, and without characters that
    /// reorder text.
    private static func clean(_ text: ArraySlice<UInt8>) -> [UInt8] {
        if text.allSatisfy({ $0 &- 0x20 < 0x5F || $0 == ASCII.lineFeed }) { return Array(text) }
        var clean = String.UnicodeScalarView()
        let text = TerminalText.withoutSequences(text)
        for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
            if scalar == "\t" || scalar == "\n"
                || !TerminalText.isDangerous(scalar) && scalar.value & 0xFFFE != 0xFFFE
            {
                clean.append(scalar)
            }
        }
        return Array(String(clean).utf8)
    }

    /// Appends text that is shown unchanged. In Markdown marks are escaped, and at the beginning of
    /// a line also characters that would make it a list or a heading.
    private func append(
        escaped text: ArraySlice<UInt8>, isBeginning: Bool, to bytes: inout [UInt8]
    ) {
        if format == .html { return bytes.append(markup: Array(text)) }
        let digits = isBeginning ? text.prefix(while: ASCII.isDigit).count : -1
        for (index, byte) in text.enumerated() {
            let isMark = "\\`*_{}[]<>#|!&~".utf8.contains(byte)
            let makesBlock = isBeginning && index == 0 && "+-=:".utf8.contains(byte)
            let isNumber = index == digits && ".)".utf8.contains(byte)
            if isMark || makesBlock || isNumber { bytes.append(UInt8(ascii: "\\")) }
            bytes.append(byte)
        }
    }
}
