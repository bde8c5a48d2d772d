// SPDX-License-Identifier: MIT
internal import SmallWebText

extension MarkdownBlocks {
    /// Opens the block that begins at the cursor, or adds the rest of the line to the open one.
    ///
    /// - Returns: True if a block opened that holds others: the line goes on.
    mutating func openBlock() -> Bool {
        if cursor.isIndented, !isParagraph, !cursor.isBlank {
            openIndented()
            return false
        }
        let first = cursor.isIndented ? nil : cursor.first
        switch first ?? 0 {
        case UInt8(ascii: ">"):
            guard containers.count < Self.depthMax else { break }
            begin(.none)
            push(.quote, "<blockquote>")
            skipQuoteMark()
            return true
        case UInt8(ascii: "#"): if openHeading() { return false }
        case UInt8(ascii: "`"), UInt8(ascii: "~"): if openFence() { return false }
        case UInt8(ascii: "<"): if openHTML() { return false }
        case UInt8(ascii: "="), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "*"),
            UInt8(ascii: "+"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            if underlineHeading() { return false }
            if cursor.isRule {
                begin(.none, "<hr>")
                return false
            }
            if openItem() { return true }
        default: break
        }
        addLine()
        return false
    }

    private mutating func openIndented() {
        begin(.indented, "<pre><code>")
        cursor.skipBlanks(columns: 4)
        addCode()
    }

    private mutating func openHeading() -> Bool {
        guard let heading = cursor.heading else { return false }
        begin(.none)
        writer?.inlines(heading.text, in: "h\(heading.level)", line: number, &references)
        return true
    }

    private mutating func openFence() -> Bool {
        guard let fence = cursor.fence else { return false }
        begin(.fence(mark: fence.mark, count: fence.count, indent: cursor.indent))
        line += 1
        writer?.begin("<pre><code>", line: line)
        return true
    }

    private mutating func openHTML() -> Bool {
        guard let block = MarkdownMarkup(beginning: cursor.rest, interrupts: isParagraph)
        else { return false }
        begin(.html(block))
        writer?.begin("", line: number)
        addHTML(block)
        return true
    }

    /// Makes the open paragraph a heading.
    private mutating func underlineHeading() -> Bool {
        guard isParagraph, continuesLeaf, let level = cursor.underline else { return false }
        takeDefinitions()
        guard !text.isEmpty else { return false }
        writer?.inlines(text[...], in: "h\(level)", line: line, &references)
        text.removeAll(keepingCapacity: true)
        leaf = .none
        return true
    }

    private mutating func openItem() -> Bool {
        let interrupts = isParagraph && continuesLeaf
        guard containers.count < Self.depthMax, let item = cursor.itemMark(interrupts: interrupts)
        else { return false }
        var columns = cursor.indent + item.count
        cursor.skip(item.count)
        // The text begins up to four columns behind the mark; code within the item, further.
        let blanks = cursor.isBlank || cursor.indent > 4 ? 1 : cursor.indent
        columns += blanks
        cursor.skipBlanks(columns: blanks)
        begin(.none, item: item.mark)
        if case .list = containers.last {
        } else {
            let numbered = item.number == 1 ? "<ol>" : "<ol start=\"\(item.number)\">"
            push(.list(mark: item.mark), Self.isNumbered(item.mark) ? numbered : "<ul>")
        }
        push(.item(columns: columns, isEmpty: true), "<li>")
        return true
    }

    /// Adds the line to the open paragraph or table, or begins a paragraph.
    private mutating func addLine() {
        if cursor.isBlank { return closeUnmatched() }
        if case .table(let columns) = leaf, continuesLeaf {
            writer?.row(cursor.rest, columns: columns, cell: "td", line: number, &references)
            return
        }
        if !isParagraph {
            begin(.paragraph)
        } else if continuesLeaf, openTable() {
            return
        } else {
            text.append(ASCII.lineFeed)
        }
        lineStart = text.count
        text += cursor.rest
        limitParagraph()
    }

    /// Makes the last line of the paragraph a table's heading, if this line has its columns.
    private mutating func openTable() -> Bool {
        let heading = text[lineStart...]
        guard let first = cursor.first, "|:-".utf8.contains(first),
            cursor.rest.contains(UInt8(ascii: "|")) || heading.contains(UInt8(ascii: "|")),
            let columns = MarkdownTable.columnCount(cursor.rest),
            MarkdownTable.cells(of: heading).count == columns
        else { return false }
        text.removeLast(text.count - max(lineStart - 1, 0))
        begin(.table(columns: columns), "")
        writer?.begin("<table>", line: number - 1)
        writer?.row(heading, columns: columns, cell: "th", line: number - 1, &references)
        return true
    }
}
