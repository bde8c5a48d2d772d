// SPDX-License-Identifier: MIT
internal import SmallWebText

/// Rows of GitHub's tables. Pure.
enum MarkdownTable {
    /// The number of columns that the line below a table's heading has; `nil` for other lines.
    static func columnCount(_ line: ArraySlice<UInt8>) -> Int? {
        let cells = cells(of: line)
        let isRow = cells.allSatisfy { cell in
            let marks = cell.drop { $0 == ASCII.colon }
            let rest = marks.drop { $0 == UInt8(ascii: "-") }
            return cell.count - marks.count <= 1 && rest.count < marks.count
                && (rest.isEmpty || rest.elementsEqual(CollectionOfOne(ASCII.colon)))
        }
        return isRow && !cells.isEmpty ? cells.count : nil
    }

    /// The texts between the bars of a row. A bar within a cell has a backslash, even in code.
    static func cells(of row: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        let (bar, backslash) = (UInt8(ascii: "|"), UInt8(ascii: "\\"))
        var rest = row.trimmed
        if rest.first == bar { rest.removeFirst() }
        var cells: [ArraySlice<UInt8>] = []
        var place = rest.startIndex
        while place < rest.endIndex {
            if rest[place] == bar {
                cells.append(rest[..<place].trimmed)
                rest = rest[(place + 1)...]
            } else if rest[place] == backslash, place + 1 < rest.endIndex {
                place += MarkdownReferences.isMark(rest[place + 1]) ? 1 : 0
            }
            place += 1
        }
        if !rest.isEmpty { cells.append(rest.trimmed) }
        guard row.contains(backslash) else { return cells }
        return cells.map { cell in
            var bytes: [UInt8] = []
            for byte in cell {
                if byte == bar, bytes.last == backslash { bytes.removeLast() }
                bytes.append(byte)
            }
            return bytes[...]
        }
    }
}
