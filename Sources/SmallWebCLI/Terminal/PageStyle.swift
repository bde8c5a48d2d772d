// SPDX-License-Identifier: MIT

struct PageStyle {
    var usesColor: Bool
    var usesHyperlinks: Bool
    var columns: Int
    /// True to lay out pages for reading: long lines of plain text are wrapped, listings numbered.
    var isForReading: Bool

    init(_ settings: OutputSettings = .init(), color: Settings.When = .auto) {
        usesColor =
            switch settings.rendering {
            case .auto: Environment.usesColor(color, on: 1)
            case .plain, .text, .html, .markdown: false
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
