// SPDX-License-Identifier: MIT
internal import SmallWeb

/// A table: on a terminal aligned columns below a header, truncated to its width; otherwise full
/// values separated by tabs.
struct Columns {
    private let header: [String]
    /// Column order on a terminal: the one to truncate comes last.
    private let order: [Int]
    var rows: [[String]] = []

    /// - Parameter last: The least important column; by default the last.
    init(_ header: [String], last: Int? = nil) {
        self.header = header
        let last = last ?? header.count - 1
        order = header.indices.filter { $0 != last } + [last]
    }

    func write() throws(FetchError) {
        try write { body throws(FetchError) in
            for row in rows { try body(row) }
        }
    }

    /// Writes rows without holding all of them in memory.
    ///
    /// - Parameter forEachRow: Called twice for a terminal, the first time to compute widths.
    func write(
        _ forEachRow: (_ body: ([String]) throws(FetchError) -> Void) throws(FetchError) -> Void
    ) throws(FetchError) {
        var text = ""
        func add(_ line: String) throws(FetchError) {
            text += line + "\n"
            guard text.utf8.count >= 65_536 else { return }
            try StandardStream.output.write(text)
            text = ""
        }
        if Environment.isTerminal(1) {
            var widths = order.map { DisplayWidth.of(header[$0]) }
            var isEmpty = true
            try forEachRow { row in
                isEmpty = false
                for (place, column) in order.enumerated() {
                    let width = DisplayWidth.of(TerminalText.escapeLine(row[column]))
                    widths[place] = max(widths[place], width)
                }
            }
            guard !isEmpty else { return }
            let columns = max(Environment.columns(1), 20)
            func show(_ row: [String]) throws(FetchError) {
                let cells = order.map { TerminalText.escapeLine(row[$0]) }
                var line = zip(cells, widths).map(DisplayWidth.padded).joined(separator: "  ")
                while line.last == " " { line.removeLast() }
                try add(DisplayWidth.truncated(line, to: columns))
            }
            try show(header)
            try forEachRow(show)
        } else {
            try forEachRow { row throws(FetchError) in try add(row.joined(separator: "\t")) }
        }
        try StandardStream.output.write(text)
    }
}

/// References in columns of the terminal's width. A pipe gets the lines of git-ls-remote.
struct RefColumns: EventSink {
    let target: BodyTarget
    let columns = Environment.columns(1)
    let usesColor: Bool

    func take(_ event: Event) throws(FetchError) {
        switch event {
        case .head:
            let header = Help.padded("OBJECT", width) + "  REFERENCE"
            try target.write(usesColor ? "\u{1B}[1m\(header)\u{1B}[0m\n" : header + "\n")
        case .item(let item) where item.kind == .reference: try write(item)
        default: break
        }
    }

    /// Twelve digits suffice for Git to identify an object.
    private var width: Int { columns >= 120 ? 40 : 12 }

    private func write(_ item: Item) throws(FetchError) {
        guard case .text(let oid) = item.facts["oid"] else { return }
        let id = Help.padded(String(oid.prefix(width)), width)
        var name = item.text
        if case .text(let target) = item.facts["symref"] { name += " -> " + target }
        let room = max(columns - width - 2, 8)
        let text = DisplayWidth.truncated(TerminalText.escapeLine(name), to: room)
        try target.write(usesColor ? "\u{1B}[33m\(id)\u{1B}[0m  \(text)\n" : "\(id)  \(text)\n")
    }
}
