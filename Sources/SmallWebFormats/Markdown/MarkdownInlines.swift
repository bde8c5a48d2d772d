// SPDX-License-Identifier: MIT
internal import SmallWebText

/// Reads the text of a paragraph, a heading or a cell for links, images, code, escapes and HTML.
/// Pure; time is linear, and no call is nested in another.
///
/// Emphasis is left as written, but not in headings and in the text of links, which are names that
/// others compare.
struct MarkdownInlines {
    struct Piece {
        enum Kind: UInt8 {
            case text, reference, html, code, lineBreak, link, linkEnd, image, imageEnd
            /// A run of marks of emphasis, as long as is left of it.
            case marks
        }
        var kind: Kind
        /// Of the text; for a link and an image, `start` is an index of `targets`.
        var start, end: Int32

        init(_ kind: Kind, _ range: Range<Int>) {
            (self.kind, start, end) = (kind, Int32(range.lowerBound), Int32(range.upperBound))
        }

        var range: Range<Int> { Int(start)..<Int(end) }
    }

    private struct Bracket {
        let piece: Int32
        /// Of the text behind it.
        let start: Int32
        /// Of `marks` before it.
        let markCount: Int32
        let isImage: Bool
        /// True if another bracket is behind it, which no label has.
        var hasBracket = false
    }

    private struct Marks {
        let piece: Int
        let byte: UInt8
        /// At first.
        let count: Int
        let opens, closes: Bool
    }

    let text: ArraySlice<UInt8>
    private(set) var pieces: [Piece] = []
    private(set) var targets: [[UInt8]] = []
    private let isHeading: Bool
    private var place: Int
    /// Beginning of the text that no piece has yet.
    private var plain: Int
    private var brackets: [Bracket] = []
    /// Brackets below cannot open a link: one is within them.
    private var closedCount = 0
    private var marks: [Marks] = []
    private var unclosed: Set<String> = []
    /// The last run of backticks of each length; `nil` before the first search.
    private var ticks: [Int: Int]?

    init(_ text: ArraySlice<UInt8>, isHeading: Bool) {
        (self.text, self.isHeading) = (text, isHeading)
        (place, plain) = (text.startIndex, text.startIndex)
    }

    mutating func read(_ references: inout MarkdownReferences) {
        while place < text.endIndex {
            switch text[place] {
            case UInt8(ascii: "\\"): readEscape()
            case UInt8(ascii: "`"): readCode()
            case UInt8(ascii: "&"):
                let reference = MarkdownReferences.character(in: text, at: place)
                if let reference { put(.reference, place..<reference.end) } else { place += 1 }
            case UInt8(ascii: "<"): readAngle()
            case UInt8(ascii: "*"), UInt8(ascii: "_"): readMarks()
            case UInt8(ascii: "["): open(isImage: false)
            case UInt8(ascii: "!"):
                let isImage = place + 1 < text.endIndex && text[place + 1] == UInt8(ascii: "[")
                if isImage { open(isImage: true) } else { place += 1 }
            case UInt8(ascii: "]"): close(&references)
            case ASCII.lineFeed:
                if text[..<place].hasSuffix("  ") { put(.lineBreak, place..<place) }
                place += 1
            default: place += 1
            }
        }
        flush(to: place)
        if isHeading { dropMarks(from: 0) }
    }

    /// Makes the text before the place a piece, and `range` another one.
    private mutating func put(_ kind: Piece.Kind, _ range: Range<Int>, next: Int? = nil) {
        flush(to: place)
        pieces.append(Piece(kind, range))
        (plain, place) = (next ?? range.upperBound, next ?? range.upperBound)
    }

    private mutating func flush(to end: Int) {
        if plain < end { pieces.append(Piece(.text, plain..<end)) }
        plain = end
    }

    private mutating func readEscape() {
        guard place + 1 < text.endIndex else { place += 1; return }
        let next = text[place + 1]
        if next == ASCII.lineFeed {
            put(.lineBreak, place..<place, next: place + 1)
        } else if MarkdownReferences.isMark(next) {
            flush(to: place)
            plain = place + 1
            place += 2
        } else {
            place += 1
        }
    }

    // MARK: Code and HTML

    private mutating func readCode() {
        func run(at start: Int) -> Int { text[start...].prefix { $0 == UInt8(ascii: "`") }.count }
        func isSpace(_ byte: UInt8) -> Bool { byte == ASCII.space || byte == ASCII.lineFeed }
        let count = run(at: place)
        if ticks == nil {
            var found: [Int: Int] = [:]
            var next = place + count
            while let start = text[next...].firstIndex(of: UInt8(ascii: "`")) {
                let count = run(at: start)
                found[count] = start
                next = start + count
            }
            ticks = found
        }
        guard let last = ticks?[count], last > place else { place += count; return }
        var end = place + count
        while let start = text[end...].firstIndex(of: UInt8(ascii: "`")) {
            let length = run(at: start)
            if length == count {
                var code = place + count..<start
                // One space on each side belongs to the marks, unless there is nothing else.
                if let first = text[code].first, let last = text[code].last, isSpace(first),
                    isSpace(last), !text[code].allSatisfy(isSpace)
                {
                    code = code.lowerBound + 1..<code.upperBound - 1
                }
                return put(.code, code, next: start + count)
            }
            end = start + length
        }
    }

    private mutating func readAngle() {
        let (addressEnd, mailEnd) = (addressEnd(), mailEnd())
        if let end = addressEnd ?? mailEnd {
            let address = text[(place + 1)..<end - 1]
            let target = MarkdownReferences.encoded(address)
            put(.link, targets.count..<targets.count)
            targets.append(mailEnd == nil ? target : Array("mailto:".utf8) + target)
            pieces.append(Piece(.text, address.startIndex..<address.endIndex))
            pieces.append(Piece(.linkEnd, end..<end))
            (plain, place) = (end, end)
            return
        }
        if let end = MarkdownMarkup.end(in: text, at: place, unclosed: &unclosed) {
            return put(.html, place..<end)
        }
        place += 1
    }

    private func addressEnd() -> Int? {
        let scheme = text[(place + 1)...].prefix(33).prefix {
            ASCII.isLetter($0) || ASCII.isDigit($0) || "+-.".utf8.contains($0)
        }
        guard 2...32 ~= scheme.count, ASCII.isLetter(scheme[place + 1]) else { return nil }
        let rest = text[scheme.endIndex...]
        let end = rest.firstIndex {
            $0 <= ASCII.space || $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: ">")
        }
        guard rest.first == ASCII.colon, let end, text[end] == UInt8(ascii: ">") else { return nil }
        return end + 1
    }

    private func mailEnd() -> Int? {
        func isPart(_ byte: UInt8) -> Bool { ASCII.isLetter(byte) || ASCII.isDigit(byte) }
        let user = text[(place + 1)...].prefix {
            isPart($0) || ".!#$%&'*+/=?^_`{|}~-".utf8.contains($0)
        }
        let host = text[user.endIndex...].dropFirst()
        let end = host.firstIndex { !isPart($0) && $0 != UInt8(ascii: "-") && $0 != ASCII.dot }
        guard !user.isEmpty, text[user.endIndex...].first == UInt8(ascii: "@"), let end,
            text[end] == UInt8(ascii: ">")
        else { return nil }
        let labels = host[..<end].split(separator: ASCII.dot, omittingEmptySubsequences: false)
        let isHost = labels.allSatisfy {
            1...63 ~= $0.count && $0.first != UInt8(ascii: "-") && $0.last != UInt8(ascii: "-")
        }
        return isHost ? end + 1 : nil
    }

    // MARK: Links

    private mutating func open(isImage: Bool) {
        let begin = place
        put(.text, begin..<begin + (isImage ? 2 : 1))
        if !brackets.isEmpty { brackets[brackets.count - 1].hasBracket = true }
        brackets.append(
            Bracket(
                piece: Int32(pieces.count - 1), start: Int32(place), markCount: Int32(marks.count),
                isImage: isImage)
        )
    }

    private mutating func close(_ references: inout MarkdownReferences) {
        let begin = place
        place += 1
        guard let bracket = brackets.popLast() else { return }
        defer { closedCount = min(closedCount, brackets.count) }
        guard bracket.isImage || brackets.count >= closedCount else { return }
        var found = inlineTarget()
        if found == nil {
            let end = MarkdownReferences.labelEnd(in: text, at: place)
            var label: ArraySlice<UInt8>? =
                bracket.hasBracket ? nil : text[Int(bracket.start)..<begin]
            if let end, end > place + 2 { label = text[place + 1..<end - 1] }
            found = label.flatMap { references.target(of: $0) }
                .map { ($0, end ?? place) }
        }
        guard let (target, end) = found else { return }
        let piece = Int(bracket.piece)
        pieces[piece].kind = bracket.isImage ? .image : .link
        pieces[piece].start = Int32(targets.count)
        targets.append(target)
        place = begin
        put(bracket.isImage ? .imageEnd : .linkEnd, begin..<begin, next: end)
        dropMarks(from: Int(bracket.markCount))
        if !bracket.isImage { closedCount = brackets.count }
    }

    /// The target in parentheses at the place, and its end.
    private func inlineTarget() -> ([UInt8], Int)? {
        guard place < text.endIndex, text[place] == UInt8(ascii: "(") else { return nil }
        let begin = MarkdownReferences.skipBlanks(in: text, from: place + 1)
        guard let target = MarkdownReferences.target(in: text, at: begin) else { return nil }
        var end = MarkdownReferences.skipBlanks(in: text, from: target.end)
        if end > target.end, let title = MarkdownReferences.titleEnd(in: text, at: end) {
            end = MarkdownReferences.skipBlanks(in: text, from: title)
        }
        guard end < text.endIndex, text[end] == UInt8(ascii: ")") else { return nil }
        return (MarkdownReferences.url(text[target.range]), end + 1)
    }

    // MARK: Emphasis

    private enum Side { case blank, punctuation, other }

    private mutating func readMarks() {
        let begin = place
        let byte = text[begin]
        let end = begin + text[begin...].prefix { $0 == byte }.count
        guard isHeading || !brackets.isEmpty else {
            place = end
            return
        }
        let (before, after) = (side(before: begin), side(at: end))
        let isLeft = after != .blank && (after == .other || before != .other)
        let isRight = before != .blank && (before == .other || after != .other)
        let isWord = byte == UInt8(ascii: "_")
        put(.marks, begin..<end)
        marks.append(
            Marks(
                piece: pieces.count - 1, byte: byte, count: end - begin,
                opens: isLeft && (!isWord || !isRight || before == .punctuation),
                closes: isRight && (!isWord || !isLeft || after == .punctuation)))
    }

    private func side(before end: Int) -> Side {
        let start: Int = text[..<end].suffix(4).lastIndex { $0 & 0xC0 != 0x80 } ?? end
        return side(of: text[start..<end])
    }

    private func side(at start: Int) -> Side { side(of: text[start...].prefix(4)) }

    private func side(of bytes: ArraySlice<UInt8>) -> Side {
        guard let first = bytes.first else { return .blank }
        if first < 0x80 {
            if ASCII.isWhiteSpace(first) { return .blank }
            return MarkdownReferences.isMark(first) ? .punctuation : .other
        }
        let scalar = String(decoding: bytes, as: UTF8.self).unicodeScalars.first ?? " "
        return switch scalar.properties.generalCategory {
        case .spaceSeparator: .blank
        case .connectorPunctuation, .dashPunctuation, .openPunctuation, .closePunctuation,
            .initialPunctuation, .finalPunctuation, .otherPunctuation, .mathSymbol, .currencySymbol,
            .modifierSymbol, .otherSymbol:
            .punctuation
        default: .other
        }
    }

    /// Drops the marks of emphasis that belong together, by the rules of CommonMark.
    private mutating func dropMarks(from bottom: Int) {
        guard marks.count > bottom else { return }
        defer { marks.removeLast(marks.count - bottom) }
        var openers: [Int] = []
        // Openers below do not fit closers of the same byte, length and kind.
        var bottoms = [Int](repeating: 0, count: 12)
        for index in bottom..<marks.count {
            let closer = marks[index]
            let key =
                (closer.byte == UInt8(ascii: "_") ? 6 : 0) + (closer.opens ? 3 : 0) + closer.count
                % 3
            while closer.closes, left(closer) > 0 {
                let found = openers[bottoms[key]...].lastIndex { index in
                    let opener = marks[index]
                    let isOdd =
                        (closer.opens || opener.closes) && closer.count % 3 != 0
                        && (opener.count + closer.count) % 3 == 0
                    return opener.byte == closer.byte && !isOdd
                }
                guard let found else {
                    bottoms[key] = openers.count
                    break
                }
                let opener = marks[openers[found]]
                let count: Int32 = left(opener) > 1 && left(closer) > 1 ? 2 : 1
                pieces[opener.piece].end -= count
                pieces[closer.piece].end -= count
                openers.removeLast(openers.count - found - (left(opener) > 0 ? 1 : 0))
                for key in bottoms.indices { bottoms[key] = min(bottoms[key], openers.count) }
            }
            if closer.opens, left(closer) > 0 { openers.append(index) }
        }
    }

    private func left(_ marks: Marks) -> Int { pieces[marks.piece].range.count }
}

extension ArraySlice<UInt8> {
    fileprivate func hasSuffix(_ text: String) -> Bool {
        suffix(text.utf8.count).elementsEqual(text.utf8)
    }
}
