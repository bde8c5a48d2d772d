// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebFormats

extension Command {
    static let links = Command(
        name: "links", aliases: ["ls"], synopsis: "links URL…",
        summary: "list the links of pages",
        manual: "Lists where a page leads, a line for each link: the absolute URL, a tab, the "
            + "text. It reads gemtext, gopher menus and directories of Git repositories; pages of "
            + "other kinds have none. A target that is no URL is shown with --json "
            + "alone. A terminal gets columns, cut to its width. ls is another name for links.",
        examples: [
            ("smallweb links gemini://geminiprotocol.net/ | cut -f1", "The URLs of a page's links"),
            (
                "smallweb links --json gopher://gopher.floodgap.com/ | jq -r .url",
                "A record for each of them"
            ),
        ],
        takes: { option in
            let useless = [
                "remote-name", "output-dir", "tree", "create-dirs", "show-headers", "raw", "head",
                "render", "body", "inline-max", "stream", "continue-at", "fail-with-body",
            ]
            return option.isForFetches && !option.isForReferences && !option.isForUploads
                && !useless.contains(option.long)
        }
    ) { settings, operands throws(FetchError) in
        var settings = settings
        settings.listing = .links
        // The records have all that is wanted of the body.
        if settings.writesJSON { settings.bodyForm = .none }
        return try GetCommand(settings: settings, operands: operands).run()
    }
}

/// The links of a page as text: lines with tabs, or for a person columns.
final class LinkList {
    private let style: PageStyle?
    private let write: (ArraySlice<UInt8>) throws(FetchError) -> Void
    private var rows: [(url: String, text: String)] = []
    private var hasHeader = false

    /// So many rows are laid out together.
    private static let rowsMax = 1000

    /// - Parameter style: For a terminal.
    init(
        style: PageStyle?, _ write: @escaping (ArraySlice<UInt8>) throws(FetchError) -> Void
    ) {
        self.style = style
        self.write = write
    }

    func add(_ link: Link) throws(FetchError) {
        let url = link.uri?.description ?? ""
        rows.append((url, Self.plain(String(decoding: link.text, as: UTF8.self))))
        if rows.count == Self.rowsMax { try finish() }
    }

    /// Writes what need not be held, at the end of a piece of the page.
    func flush() throws(FetchError) { if style == nil { try finish() } }

    func finish() throws(FetchError) {
        guard !rows.isEmpty else { return }
        defer { rows.removeAll(keepingCapacity: true) }
        if let style {
            try writeColumns(style)
        } else {
            var lines = ""
            for row in rows { lines += "\(row.url)\t\(row.text)\n" }
            try write(Array(lines.utf8)[...])
        }
    }

    private func writeColumns(_ style: PageStyle) throws(FetchError) {
        if !hasHeader { rows.insert(("URL", "TEXT"), at: 0) }
        let longest = rows.reduce(0) { max($0, DisplayWidth.of($1.url)) }
        let width = min(longest, style.columns * 3 / 5)
        var lines = ""
        for (index, row) in rows.enumerated() {
            let isHeader = index == 0 && !hasHeader
            let shown = DisplayWidth.truncated(row.url, to: width)
            let url = isHeader ? shown : style.hyperlink(shown, to: row.url)
            let space = String(repeating: " ", count: width - DisplayWidth.of(shown) + 2)
            lines += url + space
            let text = TerminalText.escapeLine(row.text)
            lines += DisplayWidth.truncated(text, to: max(0, style.columns - width - 2)) + "\n"
        }
        hasHeader = true
        try write(Array(lines.utf8)[...])
    }

    /// A field of a line: without what would end it, or drive a terminal that sees it later.
    private static func plain(_ text: String) -> String {
        var plain = ""
        for scalar in text.unicodeScalars {
            let isControl = scalar.value < 0x20 || 0x7F..<0xA0 ~= scalar.value
            plain.unicodeScalars.append(isControl ? " " : scalar)
        }
        return plain
    }
}
