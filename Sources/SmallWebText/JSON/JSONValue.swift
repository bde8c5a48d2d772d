// SPDX-License-Identifier: MIT

/// A parsed JSON value. Numbers stay text, to keep all digits.
package indirect enum JSONValue: Sendable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([Member])

    package struct Member: Sendable {
        package let name: String
        package let value: JSONValue
        /// For a member of the outermost object: the value's own text, safe to echo; otherwise
        /// empty.
        package let text: [UInt8]
    }

    package var string: String? { if case .string(let text) = self { text } else { nil } }
    package var bool: Bool? { if case .bool(let flag) = self { flag } else { nil } }

    package subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    /// Parses a whole text (RFC 8259), strictly: duplicate names, lone surrogates and bytes that
    /// are not UTF-8 are refused.
    ///
    /// - Throws: `usage` with the broken rule and its position.
    package static func parse(_ text: ArraySlice<UInt8>) throws(FetchError) -> JSONValue {
        var parser = JSONParser(text)
        return try parser.parse()
    }
}

private struct JSONParser {
    private let text: ArraySlice<UInt8>
    private var index: Int

    /// Limits the recursion.
    private static let depthMax = 64

    init(_ text: ArraySlice<UInt8>) {
        self.text = text
        index = text.startIndex
    }

    mutating func parse() throws(FetchError) -> JSONValue {
        let value = try value(depth: 0)
        skipSpace()
        guard index == text.endIndex else { throw problem("more text after the value") }
        return value
    }

    private var next: UInt8? { index < text.endIndex ? text[index] : nil }

    private mutating func value(depth: Int) throws(FetchError) -> JSONValue {
        guard depth < Self.depthMax else { throw problem("nested too deeply") }
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return .object(try members(depth: depth))
        case UInt8(ascii: "["): return .array(try elements(depth: depth))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return .number(try number())
        }
    }

    private mutating func members(depth: Int) throws(FetchError) -> [JSONValue.Member] {
        var members: [JSONValue.Member] = []
        var names: Set<String> = []
        try list(until: UInt8(ascii: "}")) { parser throws(FetchError) in
            guard parser.next == UInt8(ascii: "\"") else { throw parser.problem("a name expected") }
            let name = try parser.string()
            guard names.insert(name).inserted else {
                throw parser.problem("the name \"\(name)\" is there twice")
            }
            parser.skipSpace()
            try parser.expect(ASCII.colon)
            parser.skipSpace()
            let start = parser.index
            let value = try parser.value(depth: depth + 1)
            let echo = depth == 0 ? Self.harmless(parser.text[start..<parser.index]) : []
            members.append(JSONValue.Member(name: name, value: value, text: echo))
        }
        return members
    }

    private mutating func elements(depth: Int) throws(FetchError) -> [JSONValue] {
        var elements: [JSONValue] = []
        try list(until: UInt8(ascii: "]")) { parser throws(FetchError) in
            elements.append(try parser.value(depth: depth + 1))
        }
        return elements
    }

    /// Parses entries up to `close`, separated by commas; the next byte is the opening bracket.
    private mutating func list(
        until close: UInt8, _ entry: (inout JSONParser) throws(FetchError) -> Void
    ) throws(FetchError) {
        index += 1
        skipSpace()
        defer { index += 1 }
        if next == close { return }
        while true {
            skipSpace()
            try entry(&self)
            skipSpace()
            if next == close { return }
            try expect(UInt8(ascii: ","))
        }
    }

    private mutating func string() throws(FetchError) -> String {
        index += 1
        var bytes: [UInt8] = []
        while let byte = next {
            index += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let text = String(validating: bytes, as: UTF8.self) else {
                    throw problem("a string that is not UTF-8")
                }
                return text
            case UInt8(ascii: "\\"): bytes += String(try escape()).utf8
            case 0..<0x20: throw problem("a control character in a string")
            default: bytes.append(byte)
            }
        }
        throw problem("a string without its end")
    }

    private mutating func escape() throws(FetchError) -> Character {
        guard let byte = next else { throw problem("a string without its end") }
        index += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), ASCII.slash:
            return Character(Unicode.Scalar(byte))
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): break
        default: throw problem("an unknown escape in a string")
        }
        var value = try codeUnit()
        if value & 0xFC00 == 0xD800 && text[index...].starts(with: "\\u".utf8) {
            index += 2
            let low = try codeUnit()
            guard low & 0xFC00 == 0xDC00 else { throw problem("a lone surrogate in a string") }
            value = 0x10000 + (value & 0x3FF) << 10 + low & 0x3FF
        }
        guard let scalar = Unicode.Scalar(value) else {
            throw problem("a lone surrogate in a string")
        }
        return Character(scalar)
    }

    private mutating func codeUnit() throws(FetchError) -> UInt32 {
        let digits = text[index...].prefix(4).compactMap(ASCII.hexValue)
        guard digits.count == 4 else { throw problem("an escape without four digits") }
        index += 4
        return digits.reduce(0) { $0 << 4 | UInt32($1) }
    }

    /// `-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?`
    private mutating func number() throws(FetchError) -> String {
        let start = index
        if next == UInt8(ascii: "-") { index += 1 }
        if next == UInt8(ascii: "0") { index += 1 } else { try digits() }
        if next == ASCII.dot {
            index += 1
            try digits()
        }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            index += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { index += 1 }
            try digits()
        }
        return String(decoding: text[start..<index], as: UTF8.self)
    }

    private mutating func digits() throws(FetchError) {
        let start = index
        while let byte = next, ASCII.isDigit(byte) { index += 1 }
        if index == start { throw problem("a value expected") }
    }

    private mutating func word(
        _ word: String, _ value: JSONValue
    ) throws(FetchError) -> JSONValue {
        guard text[index...].starts(with: word.utf8) else { throw problem("a value expected") }
        index += word.utf8.count
        return value
    }

    private mutating func expect(_ byte: UInt8) throws(FetchError) {
        guard next == byte else {
            throw problem("\"\(Character(Unicode.Scalar(byte)))\" expected")
        }
        index += 1
    }

    private mutating func skipSpace() {
        while let byte = next, Self.isSpace(byte) { index += 1 }
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        ASCII.isSpace(byte) || byte == ASCII.lineFeed
    }

    /// Compacts a valid text to one line, with dangerous characters in its strings escaped.
    private static func harmless(_ value: ArraySlice<UInt8>) -> [UInt8] {
        var (isString, isEscaped) = (false, false)
        let compact = value.filter { byte in
            if isString {
                if byte == UInt8(ascii: "\"") && !isEscaped { isString = false }
                isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
                return true
            }
            isString = byte == UInt8(ascii: "\"")
            return !isSpace(byte)
        }
        // JSON's own syntax has no dangerous characters, so only strings change.
        guard compact.contains(where: { $0 >= 0x7F }) else { return compact }
        return String(decoding: compact, as: UTF8.self).unicodeScalars.reduce(into: []) {
            if TerminalText.isDangerous($1) {
                $0.append("\\u")
                $0.append(hex: UInt64($1.value), digits: 4)
            } else {
                $0 += String($1).utf8
            }
        }
    }

    private func problem(_ what: String) -> FetchError {
        var place = "byte \(index - text.startIndex + 1)"
        if text.contains(ASCII.lineFeed) {
            let lines = text[..<index].split(
                separator: ASCII.lineFeed, omittingEmptySubsequences: false)
            place = "line \(lines.count), column \((lines.last?.count ?? 0) + 1)"
        }
        return usageError("not JSON: \(what) (\(place))")
    }
}
