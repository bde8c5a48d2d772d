// SPDX-License-Identifier: MIT
internal import Foundation
@testable internal import SmallWebFormats

/// A token as the cases of html5lib-tests have it; texts are bytes, as some are not UTF-8.
enum HTMLToken: Hashable {
    case doctype([UInt8]?, [UInt8]?, [UInt8]?, isCorrect: Bool)
    case start([UInt8], [[UInt8]: [UInt8]], isSelfClosing: Bool)
    case end([UInt8])
    case comment([UInt8])
    case text([UInt8])
}

/// Records tokens; joins the parts of texts and comments.
struct HTMLTokenRecorder: HTMLTokenSink {
    var tokens: [HTMLToken] = []
    var lines: [Int] = []
    var isForeign = false
    /// Changes the way to read for the tags of raw texts, as a page's reader does.
    var readsRawTexts = false
    private var pending: [UInt8] = []
    private(set) var textBytes = 0

    mutating func text(_ text: UnsafeBufferPointer<UInt8>, line: Int) {
        textBytes += text.count
        if case .text(let before) = tokens.last {
            tokens[tokens.count - 1] = .text(before + text)
        } else if !text.isEmpty {
            tokens.append(.text(Array(text)))
            lines.append(line)
        }
    }

    mutating func start(_ tag: borrowing HTMLTag) -> HTMLTokenizerMode {
        var attributes: [[UInt8]: [UInt8]] = [:]
        for index in 0..<tag.attributesCount {
            let (name, value) = tag.attribute(index)
            attributes[Array(name)] = Array(value)
        }
        textBytes += tag.name.count + attributes.reduce(0) { $0 + $1.key.count + $1.value.count }
        let name = Array(tag.name)
        tokens.append(.start(name, attributes, isSelfClosing: tag.isSelfClosing))
        lines.append(tag.line)
        guard readsRawTexts else { return .data }
        return switch String(decoding: name, as: UTF8.self) {
        case "script": .script
        case "style": .rawtext
        case "title": .rcdata
        case "plaintext": .plaintext
        default: .data
        }
    }

    mutating func end(_ tag: borrowing HTMLTag) {
        tokens.append(.end(Array(tag.name)))
        lines.append(tag.line)
    }

    mutating func aside(_ text: UnsafeBufferPointer<UInt8>, isDoctype: Bool, isLast: Bool) {
        textBytes += text.count
        pending += text
        guard isLast else { return }
        lines.append(0)
        tokens.append(isDoctype ? Self.doctype(pending) : .comment(pending))
        pending = []
    }

    /// A document type's parts (WHATWG HTML §13.2.5.53), of the text that the tokenizer skips.
    private static func doctype(_ source: [UInt8]) -> HTMLToken {
        let isClosed = source.last == UInt8(ascii: ">")
        var rest = isClosed ? source.dropLast() : source[...]
        func isSpace(_ byte: UInt8) -> Bool { [9, 10, 12, 32].contains(byte) }
        func clean(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
            bytes.flatMap { $0 == 0 ? [0xEF, 0xBF, 0xBD] : [$0] }
        }
        /// A quoted text, which may lack its end; `nil` if there is none.
        func quoted() -> (text: [UInt8], isClosed: Bool)? {
            rest = rest.drop(while: isSpace)
            guard let quote = rest.first, "\"'".utf8.contains(quote) else { return nil }
            let text = rest.dropFirst().prefix { $0 != quote }
            defer { rest = rest[text.endIndex...].dropFirst() }
            return (clean(text), text.endIndex < rest.endIndex)
        }
        rest = rest.drop(while: isSpace)
        let name = rest.prefix { !isSpace($0) }
        rest = rest[name.endIndex...].drop(while: isSpace)
        let lower = clean(name).map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 }
        if name.isEmpty { return .doctype(nil, nil, nil, isCorrect: false) }
        if rest.isEmpty { return .doctype(lower, nil, nil, isCorrect: isClosed) }
        let word = String(decoding: rest.prefix(6), as: UTF8.self).lowercased()
        rest = rest.dropFirst(6)
        let publicID = word == "public" ? quoted() : nil
        let readsSystem = word == "system" || publicID?.isClosed ?? false
        rest = rest.drop(while: isSpace)
        let endsEarly = rest.isEmpty && publicID != nil
        let systemID = readsSystem ? quoted() : nil
        rest = rest.drop(while: isSpace)
        let isCorrect =
            switch (publicID?.isClosed, systemID?.isClosed) {
            // More behind both is skipped, up to the end of the page, too.
            case (_, true): isClosed || !rest.isEmpty
            case (true, nil): isClosed && endsEarly
            default: false
            }
        return .doctype(lower, publicID?.text, systemID?.text, isCorrect: isCorrect)
    }
}

/// A case of html5lib-tests, for one way to read its input.
struct HTMLCase {
    let description: String
    let input: [UInt8]
    let mode: HTMLTokenizerMode
    let isForeign: Bool
    let lastStartTag: [UInt8]
    let expected: [HTMLToken]

    func tokens(_ pieces: [ArraySlice<UInt8>]) -> [HTMLToken] {
        var recorder = HTMLTokenRecorder()
        recorder.isForeign = isForeign
        var tokenizer = HTMLTokenizer(recorder, mode: mode, rawName: lastStartTag)
        for piece in pieces { tokenizer.add(piece) }
        tokenizer.finish()
        return tokenizer.sink.tokens
    }

    /// All cases of a file.
    static func read(_ data: Data) throws -> [HTMLCase] {
        let root = try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
        let isXML = root["tests"] == nil
        let cases = root["tests"] ?? root["xmlViolationTests"]
        return (cases as? [[String: Any]] ?? []).flatMap { test -> [HTMLCase] in
            let isEscaped = test["doubleEscaped"] as? Bool ?? false
            let bytes = { (value: Any?) -> [UInt8]? in
                (value as? String).map { isEscaped ? unescaped($0) : Array($0.utf8) }
            }
            let output = (test["output"] as? [[Any]] ?? []).compactMap { token(bytes, $0) }
            let states = test["initialStates"] as? [String] ?? ["Data state"]
            return states.map { state in
                HTMLCase(
                    description: test["description"] as? String ?? "",
                    input: bytes(test["input"]) ?? [], mode: mode(state),
                    isForeign: state == "CDATA section state",
                    lastStartTag: bytes(test["lastStartTag"]) ?? [],
                    expected: isXML ? output.map(\.uncoerced) : output)
            }
        }
    }

    private static func mode(_ state: String) -> HTMLTokenizerMode {
        switch state {
        case "PLAINTEXT state": .plaintext
        case "RCDATA state": .rcdata
        case "RAWTEXT state": .rawtext
        case "Script data state": .script
        case "CDATA section state": .cdata
        default: .data
        }
    }

    private static func token(_ bytes: (Any?) -> [UInt8]?, _ parts: [Any]) -> HTMLToken? {
        guard let kind = parts.first as? String else { return nil }
        let first = bytes(parts[1]) ?? []
        switch kind {
        case "DOCTYPE":
            return .doctype(
                bytes(parts[1]), bytes(parts[2]), bytes(parts[3]),
                isCorrect: parts[4] as? Bool ?? false)
        case "StartTag":
            let attributes = (parts[2] as? [String: Any] ?? [:]).map { name, value in
                (bytes(name) ?? [], bytes(value) ?? [])
            }
            return .start(
                first, Dictionary(attributes) { first, _ in first },
                isSelfClosing: parts.count > 3)
        case "EndTag": return .end(first)
        case "Comment": return .comment(first)
        default: return .text(first)
        }
    }

    /// Replaces `\uHHHH`, unpaired surrogates as UTF-8 would have them if it could.
    private static func unescaped(_ text: String) -> [UInt8] {
        var units: [UInt16] = []
        var rest = Array(text.utf16)[...]
        while let unit = rest.popFirst() {
            let digits = String(decoding: rest.dropFirst().prefix(4), as: UTF16.self)
            if unit == 0x5C, rest.first == 0x75, let value = UInt16(digits, radix: 16) {
                units.append(value)
                rest = rest.dropFirst(5)
            } else {
                units.append(unit)
            }
        }
        var (bytes, index) = ([UInt8](), 0)
        while index < units.count {
            let unit = units[index]
            let isPair =
                UTF16.isLeadSurrogate(unit) && index + 1 < units.count
                && UTF16.isTrailSurrogate(units[index + 1])
            let count = isPair ? 2 : 1
            if 0xD800...0xDFFF ~= unit && !isPair {
                bytes += [0xED, UInt8(0x80 | unit >> 6 & 0x3F), UInt8(0x80 | unit & 0x3F)]
            } else {
                bytes += Array(
                    String(decoding: units[index..<(index + count)], as: UTF16.self).utf8)
            }
            index += count
        }
        return bytes
    }
}

extension HTMLToken {
    /// The token before it is changed so that XML can hold it, as far as the four cases do it.
    fileprivate var uncoerced: HTMLToken {
        func text(_ bytes: [UInt8]) -> [UInt8] {
            Array(
                String(decoding: bytes, as: UTF8.self)
                    .replacingOccurrences(of: "a\u{FFFD}b", with: "a\u{FFFF}b")
                    .replacingOccurrences(of: "a b", with: "a\u{C}b")
                    .replacingOccurrences(of: "- -", with: "--").utf8)
        }
        return switch self {
        case .text(let bytes): .text(text(bytes))
        case .comment(let bytes): .comment(text(bytes))
        default: self
        }
    }
}
