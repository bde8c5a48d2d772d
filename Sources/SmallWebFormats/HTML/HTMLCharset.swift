// SPDX-License-Identifier: MIT
internal import SmallWebText

/// The charset of a page, as browsers find it (WHATWG HTML §13.2.3).
public enum HTMLCharset {
    /// Bytes at the beginning of a page that are searched.
    public static let bytesMax = 1024

    /// The charset of a page: by its byte order mark, else `declared`, else the one that a `meta`
    /// names, else UTF-8 if the beginning is valid, else windows-1252.
    ///
    /// - Parameters:
    ///   - beginning: The first ``bytesMax`` bytes; fewer of a shorter page.
    ///   - declared: The charset of the media type.
    /// - Returns: A name in lower case.
    public static func name(of beginning: ArraySlice<UInt8>, declared: String? = nil) -> String {
        if beginning.starts(with: [0xEF, 0xBB, 0xBF]) { return "utf-8" }
        if beginning.starts(with: [0xFE, 0xFF]) { return "utf-16be" }
        if beginning.starts(with: [0xFF, 0xFE]) { return "utf-16le" }
        if let declared { return usual(declared.lowercased()) }
        if let named = named(in: beginning) { return named }
        // A character of a shorter page is not cut off by the limit.
        let cut = beginning.count < bytesMax ? 0 : beginning.cutCharacterCount
        let whole = beginning.dropLast(cut)
        return String(validating: whole, as: UTF8.self) == nil ? "windows-1252" : "utf-8"
    }

    /// The charset that a `meta` in the first ``bytesMax`` bytes names; `nil` without one.
    public static func named(in beginning: ArraySlice<UInt8>) -> String? {
        var tokenizer = HTMLTokenizer(MetaSink())
        tokenizer.add(beginning.prefix(bytesMax))
        // A page that can be read byte by byte is not in UTF-16, whatever it says.
        return tokenizer.sink.name.map { $0.hasPrefix("utf-16") ? "utf-8" : usual($0) }
    }

    /// Names that browsers read as a charset with more characters.
    private static func usual(_ name: String) -> String {
        switch name {
        case "iso-8859-1", "iso8859-1", "latin1", "l1", "us-ascii", "ascii", "x-user-defined":
            "windows-1252"
        case "iso-8859-9", "latin5": "windows-1254"
        case "iso-8859-11", "tis-620": "windows-874"
        case "gb2312", "gb_2312-80", "gbk": "gb18030"
        case "shift_jis", "shift-jis", "sjis", "x-sjis": "cp932"
        case "euc-kr", "ks_c_5601-1987": "cp949"
        case "utf8": "utf-8"
        default: name
        }
    }

    /// Looks for the first name of a charset.
    private struct MetaSink: HTMLTokenSink {
        var name: String?
        var isForeign: Bool { false }

        mutating func text(_ text: UnsafeBufferPointer<UInt8>, line: Int) {}
        mutating func end(_ tag: borrowing HTMLTag) {}
        mutating func aside(_ text: UnsafeBufferPointer<UInt8>, isDoctype: Bool, isLast: Bool) {}

        mutating func start(_ tag: borrowing HTMLTag) -> HTMLTokenizerMode {
            let element = HTMLElement(tag.name)
            guard element == .meta, name == nil else { return element.mode }
            if let charset = tag.value("charset") {
                name = Self.text(charset)
            } else if ASCII.isName(tag.value("http-equiv") ?? [], "content-type") {
                name = Self.charset(in: tag.value("content") ?? [])
            }
            return .data
        }

        private static func text(_ name: ArraySlice<UInt8>) -> String? {
            let name = name.drop(while: ASCII.isWhiteSpace).dropLast(while: ASCII.isWhiteSpace)
            let isName = !name.isEmpty && name.allSatisfy { 0x21..<0x7F ~= $0 }
            return isName ? String(decoding: name.map(ASCII.lowercased), as: UTF8.self) : nil
        }

        /// The value behind `charset=`.
        private static func charset(in content: ArraySlice<UInt8>) -> String? {
            var rest = content
            while rest.count > 7 {
                guard ASCII.isName(rest.prefix(7), "charset") else {
                    rest.removeFirst()
                    continue
                }
                rest = rest.dropFirst(7).drop(while: ASCII.isWhiteSpace)
                guard rest.first == UInt8(ascii: "=") else { continue }
                let value = rest.dropFirst().drop(while: ASCII.isWhiteSpace)
                if let quote = value.first, "\"'".utf8.contains(quote) {
                    let quoted = value.dropFirst().prefix { $0 != quote }
                    return quoted.endIndex < value.endIndex ? text(quoted) : nil
                }
                return text(value.prefix { !ASCII.isWhiteSpace($0) && $0 != UInt8(ascii: ";") })
            }
            return nil
        }
    }
}
