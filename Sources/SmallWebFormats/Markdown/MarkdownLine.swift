// SPDX-License-Identifier: MIT
internal import SmallWebText

/// A position in a line of Markdown, in bytes and in columns: a tab reaches to the next multiple of
/// four. Pure.
struct MarkdownLine: Sendable {
    let bytes: ArraySlice<UInt8>
    private(set) var offset: Int
    private(set) var column = 0
    /// True if the position is within the columns of the tab at `offset`.
    private var isWithinTab = false
    /// The first byte at or behind the position that is not a blank, and its column.
    private(set) var next: Int
    private var nextColumn = 0

    init(_ bytes: ArraySlice<UInt8>) {
        (self.bytes, offset, next) = (bytes, bytes.startIndex, bytes.startIndex)
        findNext()
    }

    /// Columns of blanks at the position.
    var indent: Int { nextColumn - column }
    var isIndented: Bool { indent >= 4 }
    var isBlank: Bool { next == bytes.endIndex }
    /// The text behind the blanks.
    var rest: ArraySlice<UInt8> { bytes[next...] }
    var first: UInt8? { next < bytes.endIndex ? bytes[next] : nil }

    private mutating func findNext() {
        if next < offset { (next, nextColumn) = (offset, column) }
        while next < bytes.endIndex, ASCII.isBlank(bytes[next]) {
            nextColumn += bytes[next] == ASCII.tab ? 4 - nextColumn % 4 : 1
            next += 1
        }
    }

    /// Skips blanks, but not more columns of them than are given.
    mutating func skipBlanks(columns: Int = Int.max) {
        if columns >= indent {
            (offset, column, isWithinTab) = (next, nextColumn, false)
            return
        }
        let end = column + columns
        while column < end {
            let width = bytes[offset] == ASCII.tab ? 4 - column % 4 : 1
            isWithinTab = column + width > end
            column = min(column + width, end)
            if !isWithinTab { offset += 1 }
        }
    }

    /// Skips blanks, and `count` bytes behind them that have no tab.
    mutating func skip(_ count: Int) {
        skipBlanks()
        offset += count
        column += count
        findNext()
    }

    /// Appends the line from the position on.
    func append(to text: inout [UInt8]) {
        var start = offset
        if isWithinTab {
            text.append(contentsOf: repeatElement(ASCII.space, count: 4 - column % 4))
            start += 1
        }
        text += bytes[start...]
    }

    // MARK: Marks

    /// A line of three or more of the same mark, and blanks.
    var isRule: Bool {
        guard let mark = first,
            mark == UInt8(ascii: "-") || mark == UInt8(ascii: "*")
                || mark == UInt8(ascii: "_")
        else { return false }
        var count = 0
        for byte in rest where !ASCII.isBlank(byte) {
            guard byte == mark else { return false }
            count += 1
        }
        return count >= 3
    }

    /// 1 or 2 for a line under the text of a heading.
    var underline: Int? {
        guard let mark = first, mark == UInt8(ascii: "=") || mark == UInt8(ascii: "-"),
            rest.trimmed.allSatisfy({ $0 == mark })
        else { return nil }
        return mark == UInt8(ascii: "=") ? 1 : 2
    }

    /// The level and text of a heading with marks.
    var heading: (level: Int, text: ArraySlice<UInt8>)? {
        let mark = UInt8(ascii: "#")
        let level = rest.prefix(7).prefix { $0 == mark }.count
        let behind = rest.dropFirst(level)
        guard 1...6 ~= level, behind.first.map(ASCII.isBlank) ?? true else { return nil }
        let text = behind.trimmed
        let unmarked = text.dropLast { $0 == mark }
        let isClosed = unmarked.last.map(ASCII.isBlank) ?? true
        return (level, isClosed ? unmarked.trimmed : text)
    }

    /// The mark of a fence and its length. One of backticks has none behind it.
    var fence: (mark: UInt8, count: Int)? {
        guard let mark = first, mark == UInt8(ascii: "`") || mark == UInt8(ascii: "~")
        else { return nil }
        let count = rest.prefix { $0 == mark }.count
        let isFence =
            count >= 3 && (mark != UInt8(ascii: "`") || !rest.dropFirst(count).contains(mark))
        return isFence ? (mark, count) : nil
    }

    /// The mark of a list's item, with its number if it is `.` or `)`.
    ///
    /// - Parameter interrupts: True within a paragraph, which only an item with text ends, and if
    ///   it has a number, the first.
    func itemMark(interrupts: Bool) -> (mark: UInt8, number: Int, count: Int)? {
        var (number, count) = (0, 0)
        for digit in rest.prefix(9).prefix(while: ASCII.isDigit) {
            number = number * 10 + Int(digit &- 0x30)
            count += 1
        }
        guard let mark = rest.dropFirst(count).first else { return nil }
        let isMark = count > 0 ? ".)".utf8.contains(mark) : "-+*".utf8.contains(mark)
        let behind = rest.dropFirst(count + 1)
        guard isMark, behind.first.map(ASCII.isBlank) ?? true else { return nil }
        if interrupts, count > 0 && number != 1 || behind.allSatisfy(ASCII.isBlank) { return nil }
        return (mark, number, count + 1)
    }
}
