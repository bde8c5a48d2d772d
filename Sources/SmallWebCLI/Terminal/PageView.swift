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

    private let style: PageStyle
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
    init(style: PageStyle, isMenu: Bool, urlBytesMax: Int = 16 << 20) {
        self.style = style
        layout = isMenu ? .menu : nil
        urlBytesLeft = urlBytesMax
    }

    mutating func lines(of line: PageLine, _ links: [Link]) -> String {
        switch (line.content, links.first) {
        case (.block(let block), let link): lines(of: block, link)
        case (.item(let item), let link?): lines(of: item, link)
        case (.item, nil), (.text, _): wrapped(Self.preformatted(line.bytes))
        }
    }

    // MARK: Blocks

    private mutating func lines(of block: TextBlock, _ link: Link?) -> String {
        let text = Self.plain(block.text)
        switch block.kind {
        case .paragraph, .blank: return wrapped(text)
        case .heading(let level):
            return wrapped(String(repeating: "#", count: level) + " " + text, style.bold)
        case .item: return wrapped(text, first: "• ")
        case .quote: return wrapped(text, first: "> ", others: "> ")
        case .fence: return ""
        case .preformatted:
            return Self.preformatted(block.text[...]) + "\n"
        case .link:
            let target = Self.plain(link?.raw ?? [])
            let asks = link?.kind == .input
            guard let url = link?.uri?.description,
                let label = number(url, question: asks ? link?.label : nil)
            else { return wrapped("=> \(target)" + (text.isEmpty ? "" : " " + text)) }
            let name = (text.isEmpty ? target : text) + (asks ? " (input)" : "")
            return lines(ofLink: name, label, to: url)
        }
    }

    private mutating func lines(ofLink name: String, _ label: String, to url: String) -> String {
        let style = style
        // Copied first: capturing `self` would copy all targets.
        var left = urlBytesLeft
        defer { urlBytesLeft = left }
        return wrapped(name, first: label + " ") { line in
            // The terminal receives the URL again with every line of a long text.
            guard left >= url.utf8.count else { return style.accent(line) }
            left -= url.utf8.count
            return style.hyperlink(style.accent(line), to: url)
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
        return wrapped(link.isLink ? "=> " + text : text)
    }

    // MARK: The end

    func references() -> String {
        guard !targets.isEmpty else { return "" }
        var text = "\n"
        for (index, target) in targets.enumerated() {
            text += style.dim("[\(index + 1)] ")
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

    /// - Parameters:
    ///   - first: Prefix of the first line.
    ///   - others: Prefix of the other lines; `nil` for spaces.
    ///   - mark: Adds bold or a link to a line.
    private func wrapped(
        _ text: String, first: String = "", others: String? = nil,
        _ mark: (String) -> String = { $0 }
    ) -> String {
        let width = DisplayWidth.of(first)
        let others = others ?? String(repeating: " ", count: width)
        var lines = ""
        for line in DisplayWidth.wrapped(text, to: style.columns - width) {
            lines += (lines.isEmpty ? first : others) + mark(line) + "\n"
        }
        return lines
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

    func bold(_ text: String) -> String { coloured(text, "1") }
    func dim(_ text: String) -> String { coloured(text, "2") }
    func accent(_ text: String) -> String { coloured(text, "36") }

    private func coloured(_ text: String, _ code: String) -> String {
        usesColor && !text.isEmpty ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}
