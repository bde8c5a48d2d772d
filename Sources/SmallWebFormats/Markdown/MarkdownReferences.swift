// SPDX-License-Identifier: MIT
internal import SmallWebText

/// The link reference definitions of a page, and the parts that links have, too. Pure.
struct MarkdownReferences: Sendable {
    private var targets: [[UInt8]: [UInt8]] = [:]
    /// Of labels and targets, with 64 for each.
    private var byteCount = 0
    /// Bytes of targets that links may still take: a long one that is used often would come to more
    /// than any page.
    var allowance = 100_000

    /// Bytes of definitions; those behind are not kept.
    static let byteCountMax = 16_777_216
    static let labelCountMax = 999

    // MARK: Definitions

    /// The end of the definition at the beginning of a paragraph, with its line feed; the first one
    /// of a label holds.
    mutating func define(at beginning: ArraySlice<UInt8>) -> Int? {
        let text = beginning
        guard let labelEnd = Self.labelEnd(in: text, at: text.startIndex), labelEnd < text.endIndex,
            text[labelEnd] == ASCII.colon
        else { return nil }
        let begin = Self.skipBlanks(in: text, from: labelEnd + 1)
        guard begin < text.endIndex, let target = Self.target(in: text, at: begin),
            target.end > begin
        else { return nil }
        let label = Self.key(of: text[(text.startIndex + 1)..<(labelEnd - 1)])
        guard !label.isEmpty else { return nil }
        func lineEnd(_ place: Int) -> Int? {
            let rest = text[place...].drop(while: ASCII.isBlank)
            guard let first = rest.first else { return text.endIndex }
            return first == ASCII.lineFeed ? rest.startIndex + 1 : nil
        }
        let titleStart = Self.skipBlanks(in: text, from: target.end)
        let title = titleStart > target.end ? Self.titleEnd(in: text, at: titleStart) : nil
        guard let end = title.flatMap(lineEnd) ?? lineEnd(target.end) else { return nil }
        if targets[label] == nil, byteCount < Self.byteCountMax {
            targets[label] = Self.url(text[target.range])
            byteCount += label.count + target.range.count + 64
        }
        return end
    }

    mutating func target(of label: ArraySlice<UInt8>) -> [UInt8]? {
        guard label.count <= 4 * Self.labelCountMax, let target = targets[Self.key(of: label)],
            target.count <= allowance
        else { return nil }
        allowance -= target.count
        return target
    }

    /// Equal for labels that are the same but for case and blanks.
    private static func key(of label: ArraySlice<UInt8>) -> [UInt8] {
        var key: [UInt8] = []
        var isAscii = true
        for byte in label {
            if ASCII.isWhiteSpace(byte) {
                if let last = key.last, last != ASCII.space { key.append(ASCII.space) }
            } else {
                key.append(ASCII.lowercased(byte))
                if byte >= 0x80 { isAscii = false }
            }
        }
        if key.last == ASCII.space { key.removeLast() }
        if isAscii { return key }
        return Array(
            String(decoding: key, as: UTF8.self).lowercased().uppercased().lowercased().utf8)
    }

    // MARK: Parts

    /// Behind blanks and line feeds.
    static func skipBlanks(in text: ArraySlice<UInt8>, from start: Int) -> Int {
        text[start...].firstIndex { !ASCII.isWhiteSpace($0) } ?? text.endIndex
    }

    /// Behind the bracket that closes the label, of at most 999 characters, at `[`.
    static func labelEnd(in text: ArraySlice<UInt8>, at start: Int) -> Int? {
        guard start < text.endIndex, text[start] == UInt8(ascii: "[") else { return nil }
        var (place, count) = (start + 1, 0)
        while place < text.endIndex, count <= labelCountMax {
            switch text[place] {
            case UInt8(ascii: "]"): return place + 1
            case UInt8(ascii: "["): return nil
            case UInt8(ascii: "\\") where place + 1 < text.endIndex && isMark(text[place + 1]):
                place += 1
                count += 1
            default: break
            }
            if text[place] & 0xC0 != 0x80 { count += 1 }
            place += 1
        }
        return nil
    }

    /// The target of a link or definition, which may be in angle brackets and may be empty, and its
    /// end.
    static func target(in text: ArraySlice<UInt8>, at start: Int) -> (range: Range<Int>, end: Int)?
    {
        var place = start
        func isEscape() -> Bool {
            text[place] == UInt8(ascii: "\\") && place + 1 < text.endIndex
                && isMark(text[place + 1])
        }
        if start < text.endIndex, text[start] == UInt8(ascii: "<") {
            place += 1
            while place < text.endIndex, text[place] != ASCII.lineFeed,
                text[place] != UInt8(ascii: "<")
            {
                if text[place] == UInt8(ascii: ">") { return (start + 1..<place, place + 1) }
                place += isEscape() ? 2 : 1
            }
            return nil
        }
        // A limit, because every `](` may read in vain as far as this allows.
        var depth = 0
        while place < text.endIndex, text[place] > ASCII.space, text[place] != 0x7F {
            if text[place] == UInt8(ascii: "(") {
                depth += 1
                if depth > 32 { return nil }
            } else if text[place] == UInt8(ascii: ")") {
                if depth == 0 { break }
                depth -= 1
            }
            place += isEscape() ? 2 : 1
        }
        return depth == 0 ? (start..<place, place) : nil
    }

    /// Behind the title of a link or definition, in quotation marks or parentheses.
    static func titleEnd(in text: ArraySlice<UInt8>, at start: Int) -> Int? {
        guard start < text.endIndex, "\"'(".utf8.contains(text[start]) else { return nil }
        let isInParentheses = text[start] == UInt8(ascii: "(")
        let mark = isInParentheses ? UInt8(ascii: ")") : text[start]
        var place = start + 1
        while place < text.endIndex {
            if text[place] == mark { return place + 1 }
            if isInParentheses, text[place] == UInt8(ascii: "(") { return nil }
            place += text[place] == UInt8(ascii: "\\") ? 2 : 1
        }
        return nil
    }

    /// The bytes that a backslash makes text.
    static func isMark(_ byte: UInt8) -> Bool {
        0x21...0x7E ~= byte && !ASCII.isLetter(byte) && !ASCII.isDigit(byte)
    }

    /// A target as a URL: without backslashes and character references.
    static func url(_ source: ArraySlice<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        var place = source.startIndex
        while place < source.endIndex {
            var end = place + 1
            if source[place] == UInt8(ascii: "\\"), end < source.endIndex, isMark(source[end]) {
                bytes.append(source[end])
                end += 1
            } else if source[place] == UInt8(ascii: "&"),
                let found = character(in: source, at: place)
            {
                bytes += found.bytes
                end = found.end
            } else {
                bytes.append(source[place])
            }
            place = end
        }
        return encoded(bytes[...])
    }

    /// A URL with `%XX` for bytes that URLs do not have.
    static func encoded(_ url: ArraySlice<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        for byte in url {
            if isMark(byte) ? "-_.+!*'(),%#@?=;:/&$~".utf8.contains(byte) : 0x21...0x7E ~= byte {
                bytes.append(byte)
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                bytes.append(digits.count == 1 ? "%0\(digits)" : "%\(digits)")
            }
        }
        return bytes
    }

    /// The character reference that begins at `&`, and its end.
    static func character(in text: ArraySlice<UInt8>, at start: Int) -> (bytes: [UInt8], end: Int)?
    {
        let name = text[(start + 1)...].prefix(40).prefix { $0 != UInt8(ascii: ";") }
        guard text[name.endIndex...].first == UInt8(ascii: ";") else { return nil }
        if name.first != UInt8(ascii: "#") {
            let found = HTMLReferences.characters(name, isOpen: false)
            return found.map { (Array($0), name.endIndex + 1) }
        }
        let isHex = name.dropFirst().first.map(ASCII.lowercased) == UInt8(ascii: "x")
        let digits = name.dropFirst(isHex ? 2 : 1)
        guard 1...(isHex ? 6 : 7) ~= digits.count,
            digits.allSatisfy(isHex ? { ASCII.hexValue($0) != nil } : ASCII.isDigit),
            let value = UInt32(String(decoding: digits, as: UTF8.self), radix: isHex ? 16 : 10)
        else { return nil }
        return (HTMLReferences.character(value), name.endIndex + 1)
    }
}
