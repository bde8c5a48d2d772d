// SPDX-License-Identifier: MIT
internal import SmallWeb

/// A body on a person's terminal: text without control characters, menus as lines, nothing binary.
final class TerminalBody {
    private let isMenu: Bool
    private let usesColor: Bool
    private let target: BodyTarget
    private let charset: CharsetConverter?
    private var filter = TerminalText.Filter()

    /// - Throws: `write` for a body that is no text.
    init(_ head: Head, usesColor: Bool, target: BodyTarget) throws(FetchError) {
        if let type = head.mediaType, !type.isText {
            throw FetchError(
                .write, .output, "not writing \(type.essence) to a terminal",
                hint: "save it with -O or -o FILE, or insist with -o -")
        }
        isMenu = head.mediaType?.essence == "application/gopher-menu"
        self.usesColor = usesColor
        self.target = target
        charset = head.mediaType?.charset.flatMap(CharsetConverter.init(from:))
    }

    func write(_ bytes: ArraySlice<UInt8>) throws(FetchError) {
        guard !isMenu else { return }
        let text = charset.map { $0.convert(bytes)[...] } ?? bytes
        try target.write(filter.filter(text)[...])
    }

    func write(_ item: Item) throws(FetchError) {
        guard isMenu else { return }
        let text = TerminalText.escapeLine(item.text)
        guard let url = item.url.map(TerminalText.escapeLine) else {
            return try target.write("          \(text)\n")
        }
        let kind = "\(item.kind.rawValue)".prefix(8)
        let label = String(repeating: " ", count: 8 - kind.count) + kind
        try target.write(
            usesColor
                ? "\u{1B}[36m\(label)\u{1B}[0m  \(text)  \u{1B}[2m\(url)\u{1B}[0m\n"
                : "\(label)  \(text)  \(url)\n")
    }

    /// Delivers what was held back, and a line end if the text has none.
    func finish() throws(FetchError) {
        guard !isMenu else { return }
        var rest = filter.filter([], isLast: true)
        if !filter.endsWithLineFeed { rest.append(ASCII.lineFeed) }
        try target.write(rest[...])
    }
}
