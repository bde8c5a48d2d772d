// SPDX-License-Identifier: MIT
internal import SmallWeb

/// A table: for a person aligned columns below a header, cut to the terminal's width; for a pipe
/// tabs and every character.
struct Columns {
    private let header: [String]
    /// The columns as a person gets them: what may be cut off comes last.
    private let order: [Int]
    var rows: [[String]] = []

    /// - Parameter last: The column that a person can do without; by default the last.
    init(_ header: [String], last: Int? = nil) {
        self.header = header
        let last = last ?? header.count - 1
        order = header.indices.filter { $0 != last } + [last]
    }

    func write() throws(FetchError) {
        guard Environment.isTerminal(1) else {
            let text = rows.map { $0.joined(separator: "\t") + "\n" }.joined()
            return try StandardStream.output.write(text)
        }
        guard !rows.isEmpty else { return }
        let table = ([header] + rows).map { row in
            order.map { TerminalText.escapeLine(row[$0]) }
        }
        let widths = header.indices.map { column in
            table.map { DisplayWidth.of($0[column]) }.max() ?? 0
        }
        let columns = max(Environment.columns(1), 20)
        var text = ""
        for row in table {
            var line = zip(row, widths).map(DisplayWidth.padded).joined(separator: "  ")
            while line.last == " " { line.removeLast() }
            text += DisplayWidth.truncated(line, to: columns) + "\n"
        }
        try StandardStream.output.write(text)
    }
}
