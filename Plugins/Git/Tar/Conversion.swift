// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Git's conversion of a file's content at checkout, by its attributes (gitattributes(5)): `ident`,
/// line endings, encoding. Pure.
struct Conversion: Hashable, Sendable {
    private enum LineEnds: Hashable {
        /// LF becomes CR LF: always, or if the content looks like text.
        case always, inText
    }

    private let expandsIdent: Bool
    private let lineEnds: LineEnds?
    private let encoding: String?

    init(_ attributes: Attributes.Values) {
        expandsIdent = attributes["ident"] == .set
        lineEnds = Self.lineEnds(attributes)
        encoding = Self.encoding(attributes["working-tree-encoding"])
    }

    var isEmpty: Bool { !expandsIdent && lineEnds == nil && encoding == nil }

    /// - Parameters:
    ///   - id: Object id of the content.
    ///   - bytesMax: A result of more bytes may be incomplete.
    /// - Returns: The converted content, and false if it could not be encoded: then Git leaves the
    ///   encoding as it is.
    func apply(
        to content: [UInt8], _ id: ObjectID, bytesMax: Int = .max
    ) -> (content: [UInt8], isEncoded: Bool) {
        var content = content
        if expandsIdent { content = Self.expanded(content, id, bytesMax) }
        if let lineEnds, Self.needsCarriageReturns(content, always: lineEnds == .always) {
            content = Self.withCarriageReturns(content)
        }
        guard let encoding, !content.isEmpty, content.count <= bytesMax else {
            return (content, true)
        }
        guard let encoded = Iconv.convert(content, from: "UTF-8", to: encoding) else {
            return (content, false)
        }
        return (encoded, true)
    }

    // MARK: Attributes

    private static func lineEnds(_ attributes: Attributes.Values) -> LineEnds? {
        let known: [Attributes.Value] = [.set, .unset, "input", "auto"]
        let kind = [attributes["text"], attributes["crlf"]].compactMap { $0 }
            .first(where: known.contains)
        guard kind != .unset, attributes["eol"] == "crlf" else { return nil }
        return kind == "auto" ? .inText : .always
    }

    private static func encoding(_ value: Attributes.Value?) -> String? {
        guard case .text(let bytes) = value, !bytes.isEmpty, bytes.allSatisfy({ $0 > 0x20 }),
            let name = String(validating: bytes, as: UTF8.self)
        else { return nil }
        let plain = name.lowercased().filter { $0 != "-" }
        return plain == "utf8" ? nil : name
    }

    // MARK: $Id$

    private static func expanded(
        _ content: [UInt8], _ id: ObjectID, _ bytesMax: Int
    ) -> [UInt8] {
        let dollar = UInt8(ascii: "$")
        var expanded: [UInt8] = []
        var rest = content[...]
        while let start = rest.firstIndex(of: dollar) {
            expanded += rest[...start]
            rest = rest[(start + 1)...]
            guard rest.count >= 3, rest.starts(with: "Id".utf8) else { continue }
            let mark = rest[rest.startIndex + 2]
            if mark == dollar {
                rest = rest.dropFirst(3)
            } else if mark == UInt8(ascii: ":") {
                let old = rest.dropFirst(3)
                guard let end = old.firstIndex(of: dollar) else { break }
                let text = old[..<end]
                // The keyword of another system: it has a line end, or a space before the last
                // byte.
                if text.contains(ASCII.lineFeed) { continue }
                if let space = text.dropFirst().firstIndex(of: ASCII.space), space < end - 1 {
                    continue
                }
                rest = rest[(end + 1)...]
            } else {
                continue
            }
            expanded += "Id: \(id) $".utf8
            guard expanded.count <= bytesMax else { return expanded }
        }
        return expanded + rest
    }

    // MARK: Ends of lines

    private static func needsCarriageReturns(_ content: [UInt8], always: Bool) -> Bool {
        var (loneFeeds, loneReturns, pairs, nuls, printable, other) = (0, 0, 0, 0, 0, 0)
        var index = 0
        while index < content.count {
            let byte = content[index]
            switch byte {
            case 0x0D:
                if index + 1 < content.count, content[index + 1] == ASCII.lineFeed {
                    pairs += 1
                    index += 1
                } else {
                    loneReturns += 1
                }
            case ASCII.lineFeed: loneFeeds += 1
            case 0x7F: other += 1
            case 0x08, 0x09, 0x1B, 0x0C: printable += 1
            case 0:
                nuls += 1
                other += 1
            case 0..<0x20: other += 1
            default: printable += 1
            }
            index += 1
        }
        // The end-of-file mark of DOS.
        if content.last == 0x1A { other -= 1 }
        guard loneFeeds > 0 else { return false }
        if always { return true }
        return loneReturns == 0 && pairs == 0 && nuls == 0 && printable >> 7 >= other
    }

    private static func withCarriageReturns(_ content: [UInt8]) -> [UInt8] {
        var converted: [UInt8] = []
        converted.reserveCapacity(content.count + content.count / 32)
        var last: UInt8 = 0
        for byte in content {
            if byte == ASCII.lineFeed && last != 0x0D { converted.append(0x0D) }
            converted.append(byte)
            last = byte
        }
        return converted
    }
}
