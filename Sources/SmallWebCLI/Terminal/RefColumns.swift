// SPDX-License-Identifier: MIT
internal import SmallWeb

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
