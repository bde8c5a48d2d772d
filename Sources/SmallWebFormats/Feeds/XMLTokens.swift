// SPDX-License-Identifier: MIT
internal import SmallWebText

/// Splits XML or HTML into tags and texts, in linear time. Pure.
///
/// Takes documents that are not well-formed, too: `<` and `&` are texts where no tag and no
/// reference follows. Skips comments, instructions and the document type: it defines no entities.
struct XMLTokens {
    enum Token {
        /// A tag's name as written, and its attributes by their names in lower case.
        case start(ArraySlice<UInt8>, [String: String])
        /// Comes behind the start of an empty element (`<name/>`), too.
        case end(ArraySlice<UInt8>)
        /// A text or a part of one, its references replaced.
        case text(ArraySlice<UInt8>)
    }

    /// Limits of a tag: attributes, and the bytes of a name; others are left out.
    private static let (attributesMax, nameBytesMax) = (64, 64)
    private var rest: ArraySlice<UInt8>
    private var emptyElement: ArraySlice<UInt8>?
    /// The places of the last token, and of the addresses in its attributes.
    private(set) var place = 0..<0
    private(set) var addresses: [ArraySlice<UInt8>] = []

    init(_ document: ArraySlice<UInt8>) { rest = document }

    /// The next token; `nil` at the end of the document, and for a tag or section that ends there.
    mutating func next() -> Token? {
        let start = rest.startIndex
        defer { place = start..<rest.startIndex }
        if let name = emptyElement.take() { return .end(name) }
        while rest.first == UInt8(ascii: "<"), let second = rest.dropFirst().first {
            switch Unicode.Scalar(second) {
            case "?": skip(past: "?>")
            case "!": if let section = declaration() { return section }
            case "/":
                let name = rest.dropFirst(2).prefix { !Self.endsName($0) }
                if skip(past: ">") { return .end(name) }
            case "a"..."z", "A"..."Z", "_", ":", "\u{80}"...: return startTag()
            default: return text()
            }
        }
        return rest.isEmpty ? nil : text()
    }

    private mutating func text() -> Token {
        let end = rest.dropFirst().firstIndex(of: UInt8(ascii: "<")) ?? rest.endIndex
        defer { rest = rest[end...] }
        return .text(Self.replacingReferences(rest[..<end]))
    }

    /// Skips a comment, or a document type with all that it declares; returns a CDATA section.
    private mutating func declaration() -> Token? {
        if rest.starts(with: "<![CDATA[".utf8) {
            let section = rest.dropFirst(9)
            return skip(past: "]]>") ? .text(section[..<(rest.startIndex - 3)]) : nil
        }
        var depth = 0
        repeat {
            if rest.starts(with: "<!--".utf8) {
                skip(past: "-->")
                continue
            }
            switch Unicode.Scalar(rest.removeFirst()) {
            case "<": depth += 1
            case ">": depth -= 1
            case "\"": skip(past: "\"")
            case "'": skip(past: "'")
            default: continue
            }
        } while depth > 0 && !rest.isEmpty
        return nil
    }

    private mutating func startTag() -> Token? {
        rest.removeFirst()
        addresses = []
        let element = take { !Self.endsName($0) }
        var attributes: [String: String] = [:]
        while let byte = skipSpace() {
            if "</>".utf8.contains(byte) {
                if byte == ASCII.slash { emptyElement = element }
                // A tag that lacks its end ends before the next.
                guard byte == UInt8(ascii: "<") || skip(past: ">") else { return nil }
                return .start(element, attributes)
            }
            let (name, value) = (take { !Self.endsName($0) }, value())
            guard name.count <= Self.nameBytesMax, attributes.count < Self.attributesMax,
                case let key = String(decoding: name.map(ASCII.lowercased), as: UTF8.self),
                attributes[key] == nil
            else { continue }
            attributes[key] = String(trimming: Self.replacingReferences(value))
            if ["href", "src", "uri", "url"].contains(key) { addresses.append(value) }
        }
        return nil
    }

    /// The text between quotes behind `=`; empty without it.
    private mutating func value() -> ArraySlice<UInt8> {
        guard skipSpace() == UInt8(ascii: "=") else { return [] }
        rest.removeFirst()
        guard let quote = skipSpace(), "\"'".utf8.contains(quote) else { return [] }
        rest.removeFirst()
        defer { rest = rest.dropFirst() }
        return take { $0 != quote }
    }

    // MARK: Bytes

    private mutating func take(while isTaken: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        defer { rest = rest.drop(while: isTaken) }
        return rest.prefix(while: isTaken)
    }

    private mutating func skipSpace() -> UInt8? {
        rest = rest.drop(while: ASCII.isWhiteSpace)
        return rest.first
    }

    /// Skips to behind `mark`; without one, to the end of the document.
    @discardableResult
    private mutating func skip(past mark: String) -> Bool {
        while let index = rest.firstIndex(where: { $0 == mark.utf8.first }) {
            rest = rest[index...]
            if rest.starts(with: mark.utf8) {
                rest.removeFirst(mark.utf8.count)
                return true
            }
            rest.removeFirst()
        }
        rest = rest.suffix(0)
        return false
    }

    private static func endsName(_ byte: UInt8) -> Bool {
        ASCII.isWhiteSpace(byte) || "=/<>".utf8.contains(byte)
    }
}

extension XMLTokens {
    private static let characters: [String: Unicode.Scalar] = [
        "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'",
    ]

    /// Replaces references by numbers and the five names of XML; others stay as they are written.
    static func replacingReferences(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var (rest, start) = (text, [UInt8]())
        while let mark = rest.firstIndex(of: UInt8(ascii: "&")) {
            let name = rest[mark...].prefix(12).dropFirst().prefix { $0 != UInt8(ascii: ";") }
            let isEnded = rest[name.endIndex...].first == UInt8(ascii: ";")
            let found = isEnded ? character(String(decoding: name, as: UTF8.self)) : nil
            start += rest[..<mark]
            start.append(String(found ?? "&"))
            rest = rest[(found == nil ? mark + 1 : name.endIndex + 1)...]
        }
        return start.isEmpty ? text : (start + rest)[...]
    }

    private static func character(_ name: String) -> Unicode.Scalar? {
        guard name.hasPrefix("#") else { return characters[name] }
        let isHex = name.hasPrefix("#x")
        let digits = name.dropFirst(isHex ? 2 : 1)
        // Numbers with a sign are refused, and NUL.
        guard digits.utf8.first.flatMap(ASCII.hexValue) != nil,
            let number = UInt32(digits, radix: isHex ? 16 : 10), number > 0
        else { return nil }
        return Unicode.Scalar(number)
    }

    /// Elements within a line of text, as opposed to those that a title is about.
    private static let inlineElements = Set(
        "a abbr b br cite code del em font i img ins kbd mark p q s small span strong sub sup tt u"
            .split(separator: " ").map(String.init))

    /// Elements that keep the words around them apart.
    static let breaks: Set<Substring> = ["br", "div", "li", "p"]

    /// Removes the tags of HTML.
    ///
    /// - Parameter isGuess: True for a title that may be plain text: `nil` unless it has a
    ///   reference or ends an element, and all its elements are found within lines.
    static func text(html: ArraySlice<UInt8>, isGuess: Bool = false) -> String? {
        var (tokens, text) = (XMLTokens(html), [UInt8]())
        var isHTML = !isGuess || replacingReferences(html) != html
        while let token = tokens.next() {
            switch token {
            case .text(let part): text += part
            case .start(let name, _), .end(let name):
                let name = String(decoding: name.map(ASCII.lowercased), as: UTF8.self)
                if isGuess && !inlineElements.contains(name) { return nil }
                if breaks.contains(name[...]) { text.append(ASCII.space) }
                if case .end = token { isHTML = true }
            }
        }
        return isHTML ? String(trimming: text[...]) : nil
    }
}

extension String {
    /// A text without white space at its ends.
    init(trimming text: ArraySlice<UInt8>) {
        let text = text.drop(while: ASCII.isWhiteSpace).dropLast(while: ASCII.isWhiteSpace)
        self.init(decoding: text, as: UTF8.self)
    }
}
