// SPDX-License-Identifier: MIT
internal import SmallWeb

/// A table: for a person aligned columns below a header, cut to the terminal's width; for a pipe
/// tabs and every character.
struct Columns {
    let header: [String]
    var rows: [[String]] = []

    init(_ header: [String]) { self.header = header }

    func write() throws(FetchError) {
        guard Environment.isTerminal(1) else {
            let text = rows.map { $0.joined(separator: "\t") + "\n" }.joined()
            return try StandardStream.output.write(text)
        }
        guard !rows.isEmpty else { return }
        let table = ([header] + rows).map { $0.map(TerminalText.escapeLine) }
        let widths = header.indices.map { column in table.map { $0[column].count }.max() ?? 0 }
        let columns = max(Environment.columns(1), 20)
        var text = ""
        for row in table {
            let line = zip(row, widths).map { Help.padded($0, $1) }.joined(separator: "  ")
            text += Self.fitted(line, columns) + "\n"
        }
        try StandardStream.output.write(text)
    }

    private static func fitted(_ line: String, _ columns: Int) -> String {
        var line = line[...]
        while line.last == " " { line.removeLast() }
        return line.count <= columns ? String(line) : line.prefix(columns - 1) + "…"
    }
}
