// SPDX-License-Identifier: MIT

/// Scans a JSON object and passes on its members as raw text, without building values.
///
/// Refuses the same texts as ``JSONValue/parse(_:)``, except for duplicate names.
package struct JSONSkimmer {
    /// A part of the text, valid only during the scan.
    package typealias Part = UnsafeBufferPointer<UInt8>

    private let text: Part
    private var index = 0
    private var isASCII = true

    /// Must equal the parser's limit.
    private static let depthMax = 64

    /// - Parameter member: Called with each member of the outermost object: its name without
    ///   quotes, and its value.
    /// - Returns: True if all of the text is such an object. False also where only the parser can
    ///   decide: for escapes in the object's names, and for surrogates in strings.
    package static func skim(_ text: Part, _ member: (_ name: Part, _ value: Part) -> Void) -> Bool
    {
        var skimmer = JSONSkimmer(text: text)
        skimmer.skipSpace()
        guard skimmer.object(depth: 0, member) else { return false }
        skimmer.skipSpace()
        guard skimmer.index == text.count else { return false }
        return skimmer.isASCII || String(validating: text, as: UTF8.self) != nil
    }

    /// The contents of a string; `nil` for other values, and for a string with escapes.
    package static func string(_ value: Part) -> Part? {
        guard value.count >= 2, value.first == UInt8(ascii: "\""),
            !value.contains(UInt8(ascii: "\\"))
        else { return nil }
        return Part(rebasing: value[1..<(value.count - 1)])
    }

    package static func isEqual(_ name: Part, _ word: StaticString) -> Bool {
        name.elementsEqual(Part(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }

    private init(text: Part) { self.text = text }

    private var next: UInt8? { index < text.count ? text[index] : nil }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        index += 1
        return true
    }

    private mutating func value(depth: Int) -> Bool {
        guard depth < Self.depthMax else { return false }
        skipSpace()
        switch next {
        case UInt8(ascii: "\""): return string()
        case UInt8(ascii: "{"): return object(depth: depth) { _, _ in }
        case UInt8(ascii: "["): return array(depth: depth)
        case UInt8(ascii: "t"): return word("true")
        case UInt8(ascii: "f"): return word("false")
        case UInt8(ascii: "n"): return word("null")
        default: return number()
        }
    }

    private mutating func object(depth: Int, _ member: (Part, Part) -> Void) -> Bool {
        guard take(UInt8(ascii: "{")) else { return false }
        skipSpace()
        if take(UInt8(ascii: "}")) { return true }
        repeat {
            skipSpace()
            let nameStart = index
            guard next == UInt8(ascii: "\""), string() else { return false }
            let name = Part(rebasing: text[(nameStart + 1)..<(index - 1)])
            guard depth > 0 || !name.contains(UInt8(ascii: "\\")) else { return false }
            skipSpace()
            guard take(ASCII.colon) else { return false }
            skipSpace()
            let start = index
            guard value(depth: depth + 1) else { return false }
            member(name, Part(rebasing: text[start..<index]))
            skipSpace()
        } while take(UInt8(ascii: ","))
        return take(UInt8(ascii: "}"))
    }

    private mutating func array(depth: Int) -> Bool {
        guard take(UInt8(ascii: "[")) else { return false }
        skipSpace()
        if take(UInt8(ascii: "]")) { return true }
        repeat {
            guard value(depth: depth + 1) else { return false }
            skipSpace()
        } while take(UInt8(ascii: ","))
        return take(UInt8(ascii: "]"))
    }

    private mutating func string() -> Bool {
        index += 1
        while true {
            var end = index
            while end < text.count, Self.isPlain(text[end]) { end += 1 }
            index = end + 1
            guard end < text.count else { return false }
            switch text[end] {
            case UInt8(ascii: "\""): return true
            case UInt8(ascii: "\\"): guard escape() else { return false }
            case 0x80...: isASCII = false
            default: return false
            }
        }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        0x20..<0x80 ~= byte && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    private mutating func escape() -> Bool {
        guard let byte = next else { return false }
        index += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), ASCII.slash, UInt8(ascii: "b"),
            UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return true
        case UInt8(ascii: "u"): break
        default: return false
        }
        let digits = text[index...].prefix(4)
        guard digits.count == 4, digits.allSatisfy({ ASCII.hexValue($0) != nil }) else {
            return false
        }
        let isSurrogate = digits[index] | 0x20 == UInt8(ascii: "d") && digits[index + 1] > 0x37
        index += 4
        return !isSurrogate
    }

    private mutating func number() -> Bool {
        _ = take(UInt8(ascii: "-"))
        guard take(UInt8(ascii: "0")) || digits() else { return false }
        if take(ASCII.dot), !digits() { return false }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            return digits()
        }
        return true
    }

    private mutating func digits() -> Bool {
        let start = index
        while let byte = next, ASCII.isDigit(byte) { index += 1 }
        return index > start
    }

    private mutating func word(_ word: StaticString) -> Bool {
        let end = index + word.utf8CodeUnitCount
        guard end <= text.count, Self.isEqual(Part(rebasing: text[index..<end]), word) else {
            return false
        }
        index = end
        return true
    }

    private mutating func skipSpace() {
        while let byte = next, ASCII.isSpace(byte) || byte == ASCII.lineFeed { index += 1 }
    }
}
