// SPDX-License-Identifier: MIT
internal import SmallWebText

/// Splits lines of Markdown into the blocks of CommonMark 0.31 and GitHub's tables, and writes them
/// as HTML. Pure; holds one paragraph. A line costs its length, and at most ``depthMax`` steps.
struct MarkdownBlocks: Sendable {
    enum Container: Sendable {
        case quote
        case list(mark: UInt8)
        /// `columns`: the indentation of all lines behind the first.
        case item(columns: Int, isEmpty: Bool)
    }

    enum Leaf: Sendable {
        case none, paragraph, indented
        case fence(mark: UInt8, count: Int, indent: Int)
        case html(MarkdownMarkup)
        case table(columns: Int)
    }

    /// Marks of deeper blocks are text.
    static let depthMax = 128
    /// Bytes; a longer paragraph becomes several.
    static let paragraphBytesMax = 1_310_720

    /// `nil` to read the definitions alone.
    var writer: MarkdownWriter?
    var references: MarkdownReferences

    var containers: [Container] = []
    var leaf = Leaf.none
    /// Of a paragraph; of indented code, blank lines that are not known to be within it.
    var text: [UInt8] = []
    /// Beginning of the paragraph's last line, in `text`.
    var lineStart = 0
    /// Number of the leaf's first line.
    var line = 0
    var cursor = MarkdownLine([])
    /// Of the line, from 1.
    private(set) var number = 0
    /// Containers that the line continues, and true if it continues the leaf, too.
    private var (matched, isLeafMatched) = (0, false)

    init(_ writer: MarkdownWriter?, references: MarkdownReferences = MarkdownReferences()) {
        (self.writer, self.references) = (writer, references)
    }

    var isParagraph: Bool { if case .paragraph = leaf { true } else { false } }
    /// True if the line is the next of the open leaf, and not only text that may belong to it.
    var continuesLeaf: Bool { isLeafMatched }

    // MARK: Lines

    /// Reads a line without its end.
    ///
    /// - Parameter isBeginning: False for a part that continues a long line.
    mutating func add(_ bytes: ArraySlice<UInt8>, isBeginning: Bool = true) {
        if !isBeginning { return addPart(bytes) }
        number += 1
        cursor = MarkdownLine(bytes)
        (matched, isLeafMatched) = (0, false)
        while matched < containers.count, continues(containers[matched]) { matched += 1 }
        if matched == containers.count {
            switch leaf {
            case .paragraph, .table: isLeafMatched = !cursor.isBlank
            case .none: break
            default: if continuesVerbatim() { return }
            }
        }
        while openBlock() {}
    }

    /// The end of the page.
    mutating func finish() {
        closeLeaf()
        closeContainers(to: 0)
    }

    /// Text that continues the line before it, whatever it looks like.
    private mutating func addPart(_ bytes: ArraySlice<UInt8>) {
        switch leaf {
        case .fence, .indented: writer?.text(bytes)
        case .html: writer?.markup(bytes)
        case .paragraph:
            text += bytes
            limitParagraph()
        case .none, .table:
            begin(.paragraph)
            text += bytes
        }
    }

    private mutating func continues(_ container: Container) -> Bool {
        switch container {
        case .list: return true
        case .quote:
            guard !cursor.isIndented, cursor.first == UInt8(ascii: ">") else { return false }
            skipQuoteMark()
            return true
        case .item(let columns, let isEmpty):
            guard cursor.isBlank ? !isEmpty : cursor.indent >= columns else { return false }
            cursor.skipBlanks(columns: columns)
            return true
        }
    }

    mutating func skipQuoteMark() {
        cursor.skip(1)
        cursor.skipBlanks(columns: 1)
    }

    /// Adds the line to the open code or HTML.
    ///
    /// - Returns: False if it belongs to another block.
    private mutating func continuesVerbatim() -> Bool {
        switch leaf {
        case .fence(let mark, let count, let indent):
            if !cursor.isIndented, cursor.first == mark {
                let marks = cursor.rest.trimmed
                if marks.count >= count, marks.allSatisfy({ $0 == mark }) {
                    closeLeaf()
                    return true
                }
            }
            cursor.skipBlanks(columns: indent)
            addCode()
        case .indented:
            guard cursor.isIndented || cursor.isBlank else { return false }
            cursor.skipBlanks(columns: 4)
            addCode()
        case .html(let block):
            if cursor.isBlank, block.endsBeforeBlank { return false }
            addHTML(block)
        default: return false
        }
        return true
    }

    mutating func addCode() {
        if number > line { text.append(ASCII.lineFeed) }
        cursor.append(to: &text)
        // Blank lines at the end of indented code do not belong to it.
        if cursor.isBlank, case .indented = leaf { return }
        writer?.text(text[...])
        text.removeAll(keepingCapacity: true)
    }

    mutating func addHTML(_ block: MarkdownMarkup) {
        if number > line { writer?.markup([ASCII.lineFeed]) }
        writer?.markup(cursor.bytes[cursor.offset...])
        if block.ends(with: cursor.rest) { leaf = .none }
    }

    // MARK: Blocks

    /// Closes blocks that the line does not continue, and opens a leaf, or none before a container.
    ///
    /// - Parameters:
    ///   - tag: Written before the leaf's text.
    ///   - item: The mark, if the container is an item.
    mutating func begin(_ next: Leaf, _ tag: String = "", item: UInt8? = nil) {
        closeLeaf()
        closeContainers(to: matched)
        if case .list(let mark) = containers.last, mark != item { closeContainers(to: matched - 1) }
        if case .item(let columns, true) = containers.last {
            containers[containers.count - 1] = .item(columns: columns, isEmpty: false)
        }
        (leaf, line, isLeafMatched) = (next, number, true)
        if !tag.isEmpty { writer?.begin(tag, line: number) }
    }

    mutating func push(_ container: Container, _ tag: String) {
        containers.append(container)
        matched = containers.count
        writer?.begin(tag, line: number)
    }

    mutating func closeUnmatched() {
        if !isLeafMatched { closeLeaf() }
        closeContainers(to: matched)
    }

    private mutating func closeContainers(to count: Int) {
        while containers.count > count {
            switch containers.removeLast() {
            case .quote: writer?.end("</blockquote>")
            case .list(let mark): writer?.end(Self.isNumbered(mark) ? "</ol>" : "</ul>")
            case .item: writer?.end("</li>")
            }
        }
        matched = min(matched, count)
    }

    static func isNumbered(_ mark: UInt8) -> Bool { ".)".utf8.contains(mark) }

    mutating func closeLeaf() {
        switch leaf {
        case .none: break
        case .paragraph:
            takeDefinitions()
            if !text.isEmpty { writer?.inlines(text[...], in: "p", line: line, &references) }
        case .indented, .fence: writer?.end("</code></pre>")
        case .html(let block): writer?.end(block.missingEnd)
        case .table: writer?.end("</table>")
        }
        leaf = .none
        text.removeAll(keepingCapacity: true)
    }

    /// Takes the definitions at the beginning out of the open paragraph, and blanks at its end.
    mutating func takeDefinitions() {
        text.removeLast(text.count - text[...].dropLast(while: ASCII.isBlank).count)
        var start = 0
        while start < text.count, let end = references.define(at: text[start...]) { start = end }
        line += text[..<start].count { $0 == ASCII.lineFeed }
        text.removeFirst(start)
        lineStart = min(max(lineStart - start, 0), text.count)
    }

    mutating func limitParagraph() {
        if text.count > Self.paragraphBytesMax { closeLeaf() }
    }
}
