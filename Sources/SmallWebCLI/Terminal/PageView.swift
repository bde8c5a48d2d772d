// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebFormats

/// Lays out a page for the terminal, line by line: links get numbers in brackets, listed with their
/// URLs at the end.
struct PageView {
    struct Target: Sendable {
        let url: String
        /// The input that the link's page requires, as a question; `nil` if none.
        var question: String?
    }

    /// Rows and cells that are laid out together.
    private static let (rowsMax, cellsMax) = (200, 4000)
    static let referencesMax = 4096

    private let style: PageStyle
    /// True for pages of a kind whose blocks have no empty lines between them.
    private let isSpaced: Bool
    private var last: (group: Int, isWhole: Bool)?
    private var rows: [(cells: [String], isHeader: Bool)] = []
    /// Targets of the numbers, beginning with 1.
    private(set) var targets: [Target] = []
    /// The layout of items; `nil` before the first of a listing.
    private var layout: Layout?
    /// Remaining limit for URLs in bytes: a small page of `=> a` below a long address has large
    /// absolute URLs.
    private var urlBytesLeft: Int

    private enum Layout {
        case menu, listing
        /// Lines with a column for the protocol's item type.
        case table
    }

    /// - Parameter urlBytesMax: Limit for all URLs; links beyond it are shown unresolved.
    init(
        style: PageStyle, isMenu: Bool, isSpaced: Bool = false, urlBytesMax: Int = 16 << 20
    ) {
        (self.style, self.isSpaced) = (style, isSpaced)
        layout = isMenu ? .menu : nil
        urlBytesLeft = urlBytesMax
    }

    mutating func lines(of line: PageLine, _ links: [Link]) -> String {
        switch (line.content, links.first) {
        case (.block(let block), _): lines(of: block, links)
        case (.item(let item), let link?): lines(of: item, link)
        case (.item, nil), (.text, _): style.wrapped(Self.preformatted(line.bytes))
        }
    }

    // MARK: Blocks

    private mutating func lines(of block: TextBlock, _ links: [Link]) -> String {
        if case .row(let isHeader) = block.kind {
            // A head behind other rows is that of the next table.
            let isNext = isHeader && rows.last?.isHeader == false
            let edge = rows.isEmpty ? space(before: block) : isNext ? endRows() + "\n" : ""
            return edge + add(block, links, isHeader: isHeader)
        }
        return endRows() + space(before: block) + text(of: block, links)
    }

    private mutating func text(of block: TextBlock, _ links: [Link]) -> String {
        switch block.kind {
        case .heading(let level):
            let mark = block.isFirst ? String(repeating: "#", count: level) + " " : ""
            return style.wrapped(mark + line(of: block.runs[...], links), style.bold)
        case .item(let depth, let number):
            let mark = block.isFirst ? number.map { "\($0). " } ?? "• " : "  "
            let indent = String(repeating: " ", count: 2 * min(depth - 1, style.columns / 4))
            return wrapped(block, links, first: indent + mark)
        case .quote(let depth):
            let mark = String(repeating: "> ", count: min(depth, style.columns / 4))
            return wrapped(block, links, first: mark, others: mark)
        case .fence: return ""
        case .rule: return style.dim(String(repeating: "-", count: min(style.columns, 40))) + "\n"
        case .preformatted:
            return text(of: block.runs[...], links, plain: Self.preformatted) + "\n"
        case .paragraph, .blank, .row: return wrapped(block, links)
        case .link: return text(ofLinkLine: block, links.first)
        }
    }

    private mutating func text(ofLinkLine block: TextBlock, _ link: Link?) -> String {
        let text = Self.plain(block.text)
        let target = Self.plain(link?.raw ?? [])
        let asks = link?.kind == .input
        guard let url = link?.uri?.description,
            let label = number(url, question: asks ? link?.label : nil)
        else { return style.wrapped("=> \(target)" + (text.isEmpty ? "" : " " + text)) }
        let name = (text.isEmpty ? target : text) + (asks ? " (input)" : "")
        return lines(ofLink: name, label, to: url)
    }

    /// An empty line between the blocks of a page that does not have them itself.
    private mutating func space(before block: TextBlock) -> String {
        let group =
            switch block.kind {
            case .item: 1
            case .row: 2
            case .preformatted, .fence: 3
            default: 0
            }
        defer { last = (group, block.isLast) }
        guard isSpaced, let last, last.isWhole else { return "" }
        return group == 0 || group != last.group ? "\n" : ""
    }

    // MARK: Runs

    /// The text of runs, safe to show, with the number of each link behind its label.
    ///
    /// - Parameter mark: Called with the URL and the label of a link that has a number.
    private mutating func text(
        of runs: ArraySlice<TextBlock.Run>, _ links: [Link],
        mark: (String, String) -> String = { $1 },
        plain: (ArraySlice<UInt8>) -> String = { Self.plain(Array($0)) }
    ) -> String {
        var links = links[...]
        // By index: to copy a run costs more than its text.
        return runs.indices.reduce(into: "") { text, index in
            let bytes = runs[index].text
            let label = Self.safe(bytes, plain)
            let link = runs[index].link == nil ? nil : links.popFirst()
            if let link, !link.isEmbedded, !bytes.isEmpty, let url = link.uri?.description,
                let number = number(url)
            {
                text += mark(url, label) + number
            } else {
                text += label
            }
        }
    }

    private static func safe(
        _ text: [UInt8], _ plain: (ArraySlice<UInt8>) -> String
    ) -> String {
        // Most texts need nothing.
        if text.allSatisfy({ 0x20..<0x7F ~= $0 || $0 == ASCII.lineFeed }) {
            return String(decoding: text, as: UTF8.self)
        }
        let lines = text.split(separator: ASCII.lineFeed, omittingEmptySubsequences: false)
        return lines.map(plain).joined(separator: "\n")
    }

    /// The text of runs as one line.
    private mutating func line(of runs: ArraySlice<TextBlock.Run>, _ links: [Link]) -> String {
        let text = text(of: runs, links)
        return text.utf8.contains(ASCII.lineFeed) ? text.replacing(text: "\n", with: " ") : text
    }

    /// Wraps the text of a block with its links, which may go over several lines.
    private mutating func wrapped(
        _ block: TextBlock, _ links: [Link], first: String = "", others: String? = nil
    ) -> String {
        guard !links.isEmpty, style.usesColor || style.usesHyperlinks else {
            return style.wrapped(text(of: block.runs[...], links), first: first, others: others)
        }
        // No text that is safe to show has this character.
        let edge: Character = "\u{1}"
        var urls: [String] = []
        let text = text(of: block.runs[...], links) { url, label in
            urls.append(url)
            return "\(edge)\(label)\(edge)"
        }
        let style = style
        var (left, open, next) = (urlBytesLeft, String?.none, urls[...])
        defer { urlBytesLeft = left }
        return style.wrapped(text, first: first, others: others) { line in
            let parts = line.split(separator: edge, omittingEmptySubsequences: false)
            return parts.enumerated().map { index, part in
                if index > 0 { open = open == nil ? next.popFirst() : nil }
                guard let url = open, !part.isEmpty else { return String(part) }
                return Self.link(String(part), to: url, style, &left)
            }.joined()
        }
    }

    // MARK: Tables

    /// Rows of a table wait for the others, as many as ``rowsMax``, whose columns are aligned.
    private mutating func add(_ row: TextBlock, _ links: [Link], isHeader: Bool) -> String {
        var links = links[...]
        var cells: [String] = []
        for cell in row.cells {
            let own = links.prefix(cell.count { $0.link != nil })
            links = links.dropFirst(own.count)
            cells.append(line(of: cell, Array(own)))
        }
        rows.append((cells, isHeader))
        let isFull = rows.count == Self.rowsMax || cells.count * rows.count > Self.cellsMax
        return isFull ? endRows() : ""
    }

    /// The rows in columns, if they fit; else one cell under the other.
    private mutating func endRows() -> String {
        guard !rows.isEmpty else { return "" }
        defer { rows = [] }
        var widths: [Int] = []
        for row in rows {
            for (column, cell) in row.cells.enumerated() {
                if column == widths.count { widths.append(0) }
                widths[column] = max(widths[column], DisplayWidth.of(cell))
            }
        }
        let fits = widths.reduce(-2) { $0 + $1 + 2 } <= style.columns
        return rows.map { cells, isHeader in
            let mark = isHeader ? style.bold : { $0 }
            guard fits else {
                return cells.enumerated().map { index, cell in
                    style.wrapped(cell, first: index == 0 ? "" : "  ", mark)
                }.joined()
            }
            let padded = zip(cells.dropLast(), widths).map { DisplayWidth.padded($0, to: $1) }
            return mark((padded + cells.suffix(1)).joined(separator: "  ")) + "\n"
        }.joined()
    }

    // MARK: Links on lines of their own

    private static func link(
        _ text: String, to url: String, _ style: PageStyle, _ left: inout Int
    ) -> String {
        // The terminal receives the URL again with every line of a long text.
        guard left >= url.utf8.count else { return style.accent(text) }
        left -= url.utf8.count
        return style.hyperlink(style.accent(text), to: url)
    }

    private mutating func lines(ofLink name: String, _ label: String, to url: String) -> String {
        let style = style
        // Copied first: capturing `self` would copy all targets.
        var left = urlBytesLeft
        defer { urlBytesLeft = left }
        return style.wrapped(name, first: label + " ") { line in
            Self.link(line, to: url, style, &left)
        }
    }

    // MARK: Menus and listings

    private mutating func lines(of item: Item, _ link: Link) -> String {
        var header = ""
        if layout == nil {
            // A directory of a Git repository has types.
            layout = item.type == nil ? .listing : .table
            if layout == .table { header = style.bold("      TYPE    NAME") + "\n" }
        }
        return header + (layout == .listing ? entry(item, link) : row(item, link))
    }

    /// Neither wrapped nor truncated, as menus contain drawings.
    private mutating func row(_ item: Item, _ link: Link) -> String {
        let text = Self.line(item.text.utf8)
        let type =
            layout == .table ? Help.padded(TerminalText.escapeLine(item.type ?? ""), 6) + "  " : ""
        guard let url = link.uri?.description, let label = number(url) else {
            let mark = item.kind == .error ? "error: " : link.isLink ? "(no URL) " : ""
            return "      \(type)\(mark)\(text)\n"
        }
        let gutter = String(repeating: " ", count: max(0, 5 - label.count)) + label
        let mark =
            switch item.kind {
            case .menu: "/"
            case .text, .link: ""
            case .search, .input: " (search)"
            default: " (\(item.kind.rawValue))"
            }
        return "\(gutter) \(type)" + style.hyperlink(style.accent(text), to: url) + style.dim(mark)
            + "\n"
    }

    private mutating func entry(_ item: Item, _ link: Link) -> String {
        let text = Self.plain(Array(item.text.utf8))
        if let url = link.uri?.description, let label = number(url) {
            return lines(ofLink: text, label, to: url)
        }
        return style.wrapped(link.isLink ? "=> " + text : text)
    }

    // MARK: The end

    /// The last rows of a table, and the URLs of numbers, at most ``referencesMax``.
    ///
    /// - Parameter start: 0 at first, then as many as came before.
    mutating func references(from start: Int = 0) -> String {
        let rows = endRows()
        guard !targets.isEmpty else { return rows }
        var text = start == 0 ? rows + "\n" : ""
        for (index, target) in targets[start...].prefix(Self.referencesMax).enumerated() {
            text += style.dim("[\(start + index + 1)] ")
            text += style.hyperlink(TerminalText.escapeLine(target.url), to: target.url) + "\n"
        }
        return text
    }

    /// - Returns: `nil` if the limit of `urlBytesLeft` is exceeded.
    private mutating func number(_ url: String, question: String? = nil) -> String? {
        // Count the entry itself, too.
        let cost = url.utf8.count + (question?.utf8.count ?? 0) + MemoryLayout<Target>.size
        guard urlBytesLeft >= cost else { return nil }
        urlBytesLeft -= cost
        targets.append(Target(url: url, question: question))
        return "[\(targets.count)]"
    }

    /// One line with its tabs, safe to show.
    private static func preformatted(_ bytes: ArraySlice<UInt8>) -> String {
        let text = Array(TerminalText.withoutSequences(bytes))
        return String(decoding: TerminalText.escape(text), as: UTF8.self)
    }

    /// One line with tabs as spaces, safe to show.
    static func plain(_ bytes: [UInt8]) -> String {
        let spaced = bytes.map { $0 == ASCII.tab ? ASCII.space : $0 }
        return line(spaced)
    }

    /// One line with visible tabs, safe to show.
    private static func line(_ bytes: some Collection<UInt8>) -> String {
        let text = TerminalText.withoutSequences(Array(bytes)[...])
        return TerminalText.escapeLine(String(decoding: text, as: UTF8.self))
    }
}

struct PageStyle {
    var usesColor: Bool
    var usesHyperlinks: Bool
    var columns: Int
    /// True to lay out pages for reading: long lines of plain text are wrapped, listings numbered.
    var isForReading: Bool
    let isSeen: Bool

    /// - Parameter isSeen: True on a terminal.
    init(
        _ settings: OutputSettings = .init(), color: Settings.When = .auto, isSeen: Bool = false
    ) {
        self.isSeen = isSeen
        usesColor =
            switch settings.rendering {
            case .auto: Environment.usesColor(color, on: 1)
            case .plain, .text, .html, .markdown, .md: false
            case .ansi: color != .never
            }
        let links = settings.hyperlinks
        usesHyperlinks = links == .auto ? usesColor : links == .always
        columns = Environment.columns(1)
        isForReading = settings.isReading
    }

    /// Longer links are ignored by terminals (VTE and others).
    private static let linkBytesMax = 2083

    /// `text` as a clickable link (OSC 8), if hyperlinks are enabled.
    func hyperlink(_ text: String, to url: String) -> String {
        // Other characters could end the escape sequence and begin another.
        guard usesHyperlinks, 1...Self.linkBytesMax ~= url.utf8.count,
            url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { return text }
        return "\u{1B}]8;;\(url)\u{1B}\\\(text)\u{1B}]8;;\u{1B}\\"
    }

    /// Wraps a text of several lines.
    ///
    /// - Parameters:
    ///   - first: Prefix of the first line.
    ///   - others: Prefix of the other lines; `nil` for spaces.
    ///   - mark: Adds bold or a link to a line.
    func wrapped(
        _ text: String, first: String = "", others: String? = nil,
        _ mark: (String) -> String = { $0 }
    ) -> String {
        let width = DisplayWidth.of(first)
        let others = others ?? String(repeating: " ", count: width)
        var (text, lines) = (text, "")
        text.withUTF8 { text in
            var start = 0
            while start <= text.count {
                let end = text.firstLineFeed(from: start) ?? text.count
                let part = UnsafeBufferPointer(rebasing: text[start..<end])
                start = end + 1
                DisplayWidth.wrap(part, to: columns - width) { line in
                    lines += lines.isEmpty ? first : others
                    lines += mark(String(decoding: line, as: UTF8.self))
                    lines += "\n"
                }
            }
        }
        return lines
    }

    func bold(_ text: String) -> String { coloured(text, "1") }
    func dim(_ text: String) -> String { coloured(text, "2") }
    func accent(_ text: String) -> String { coloured(text, "36") }

    private func coloured(_ text: String, _ code: String) -> String {
        usesColor && !text.isEmpty ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}
