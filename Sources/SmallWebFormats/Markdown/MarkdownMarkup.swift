// SPDX-License-Identifier: MIT
internal import SmallWebText

/// HTML within Markdown, by its beginning: the seven kinds of blocks of CommonMark 0.31.
enum MarkdownMarkup: Sendable {
    case verbatim, comment, instruction, declaration, section, block, tag

    // MARK: Blocks

    /// - Parameters:
    ///   - line: Begins with `<`.
    ///   - interrupts: True within a paragraph, which not every tag ends.
    init?(beginning line: ArraySlice<UInt8>, interrupts: Bool) {
        if let mark = Self.mark(at: line) { self = mark.kind; return }
        let rest = line.dropFirst()
        let isEnd = rest.first == ASCII.slash
        let name = rest.dropFirst(isEnd ? 1 : 0).prefix(12).prefix(while: Self.isNamePart)
        let behind = line[name.endIndex...]
        let key = String(decoding: name.map(ASCII.lowercased), as: UTF8.self)
        let isVerbatim = Self.verbatimNames.contains(key)
        let ends = behind.first.map { ASCII.isBlank($0) || $0 == UInt8(ascii: ">") } ?? true
        if isVerbatim, !isEnd, ends {
            self = .verbatim
        } else if ends || behind.starts(with: "/>".utf8), Self.blockNames.contains(key) {
            self = .block
        } else if !interrupts, !isVerbatim, let end = Self.tagEnd(in: line, at: line.startIndex),
            line[end...].allSatisfy(ASCII.isWhiteSpace)
        {
            self = .tag
        } else {
            return nil
        }
    }

    /// Where no name follows `<`: the kind, and the length of its mark.
    private static func mark(at text: ArraySlice<UInt8>) -> (kind: Self, length: Int)? {
        let rest = text.dropFirst().prefix(8)
        if rest.first == UInt8(ascii: "?") { return (.instruction, 2) }
        guard rest.first == UInt8(ascii: "!") else { return nil }
        if rest.starts(with: "!--".utf8) { return (.comment, 4) }
        if rest.elementsEqual("![CDATA[".utf8) { return (.section, 9) }
        return rest.dropFirst().first.map(ASCII.isLetter) == true ? (.declaration, 2) : nil
    }

    var endsBeforeBlank: Bool { self == .block || self == .tag }

    /// True if the line is the block's last.
    func ends(with line: ArraySlice<UInt8>) -> Bool {
        switch self {
        case .verbatim: Self.verbatimNames.contains { line.firstIndex(of: "</\($0)>") != nil }
        case .block, .tag: false
        default: line.firstIndex(of: terminator) != nil
        }
    }

    /// Keeps a block that nothing ended from hiding those behind it.
    var missingEnd: String {
        switch self {
        case .comment: "-->"
        case .verbatim: "</textarea></style></script></pre>"
        default: ""
        }
    }

    private var terminator: String {
        switch self {
        case .comment: "-->"
        case .instruction: "?>"
        case .section: "]]>"
        default: ">"
        }
    }

    private static let verbatimNames: Set<String> = ["pre", "script", "style", "textarea"]
    /// Elements that hide all behind them while they are open, or show it as it is written.
    private static let hidingNames: Set<String> = [
        "datalist", "iframe", "math", "noembed", "noframes", "plaintext", "script", "select",
        "style", "svg", "template", "textarea", "title", "xmp",
    ]
    private static let blockNames = Set(
        """
        address article aside base basefont blockquote body caption center col colgroup dd \
        details dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 \
        h3 h4 h5 h6 head header hr html iframe legend li link main menu menuitem nav noframes ol \
        optgroup option p param search section summary table tbody td tfoot th thead title tr \
        track ul
        """.split(separator: " ").map(String.init))

    // MARK: Within text

    /// The end of a tag, comment, instruction, declaration or section that begins at `<`.
    ///
    /// - Parameter unclosed: Marks that the rest of the text lacks; kept for the next call.
    static func end(
        in text: ArraySlice<UInt8>, at start: Int, unclosed: inout Set<String>
    ) -> Int? {
        let rest = text[start...]
        guard let (kind, length) = mark(at: rest) else {
            let end = tagEnd(in: text, at: start)
            return end.flatMap { endsWithin(text, $0, start, &unclosed) ? $0 : nil }
        }
        for comment in ["<!-->", "<!--->"] where rest.starts(with: comment.utf8) {
            return start + comment.utf8.count
        }
        let mark = kind.terminator
        if unclosed.contains(mark) { return nil }
        if let end = rest.dropFirst(length).firstIndex(of: mark) { return end + mark.utf8.count }
        unclosed.insert(mark)
        return nil
    }

    /// The end of an opening or closing tag that begins at `<`.
    ///
    /// A byte is read for at most three tags that turn out to have no end: the first that it is not
    /// quoted text for, and one within each kind of quotation marks. So time is linear.
    private static func tagEnd(in text: ArraySlice<UInt8>, at start: Int) -> Int? {
        var place = start + 1
        func byte() -> UInt8 { place < text.endIndex ? text[place] : 0 }
        func skip(while isSkipped: (UInt8) -> Bool) -> Bool {
            let begin = place
            while place < text.endIndex, isSkipped(text[place]) { place += 1 }
            return place > begin
        }
        let isEnd = byte() == ASCII.slash
        if isEnd { place += 1 }
        guard ASCII.isLetter(byte()) else { return nil }
        _ = skip(while: isNamePart)
        while skip(while: ASCII.isWhiteSpace), !isEnd, isNameStart(byte()) {
            _ = skip { isNameStart($0) || isNamePart($0) || $0 == ASCII.dot }
            let behind = place
            _ = skip(while: ASCII.isWhiteSpace)
            guard byte() == UInt8(ascii: "=") else {
                place = behind
                continue
            }
            place += 1
            _ = skip(while: ASCII.isWhiteSpace)
            let quote = byte()
            if quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
                place += 1
                _ = skip { $0 != quote }
                guard place < text.endIndex else { return nil }
                place += 1
            } else if !skip(while: { $0 > ASCII.space && !"\"'=<>`".utf8.contains($0) }) {
                return nil
            }
        }
        if byte() == ASCII.slash, !isEnd { place += 1 }
        return byte() == UInt8(ascii: ">") ? place + 1 : nil
    }

    /// False for a tag that hides everything behind it, if the text lacks its end.
    private static func endsWithin(
        _ text: ArraySlice<UInt8>, _ end: Int, _ start: Int, _ unclosed: inout Set<String>
    ) -> Bool {
        let name = text[(start + 1)..<end].prefix(10).prefix(while: isNamePart)
        let key = String(decoding: name.map(ASCII.lowercased), as: UTF8.self)
        let mark = "</\(key)"
        guard hidingNames.contains(key), !unclosed.contains(mark) else {
            return !hidingNames.contains(key)
        }
        if text[end...].firstIndex(of: mark) != nil { return true }
        unclosed.insert(mark)
        return false
    }

    private static func isNamePart(_ byte: UInt8) -> Bool {
        ASCII.isLetter(byte) || ASCII.isDigit(byte) || byte == UInt8(ascii: "-")
    }

    private static func isNameStart(_ byte: UInt8) -> Bool {
        ASCII.isLetter(byte) || byte == UInt8(ascii: "_") || byte == ASCII.colon
    }
}

extension ArraySlice<UInt8> {
    /// The index of the first `mark`, which is in lower case.
    fileprivate func firstIndex(of mark: String) -> Int? {
        let first = mark.utf8.first
        var rest = self
        while let index = rest.firstIndex(where: { $0 == first }) {
            let found = self[index...].prefix(mark.utf8.count)
            if ASCII.isName(found, mark) { return index }
            rest = self[(index + 1)...]
        }
        return nil
    }
}
