// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// URLs of submodules by `.gitmodules` (gitmodules(5), in the syntax of git-config(1)). Pure.
///
/// Reading ends at the first error that Git would report.
struct Submodules: Hashable, Sendable {
    /// Unchanged URLs, by the path from the root.
    private var urls: [[UInt8]: [UInt8]] = [:]

    private static let bytesMax = 1 << 20

    init() {}

    init(_ content: ArraySlice<UInt8>) {
        guard content.count <= Self.bytesMax else { return }
        var reader = GitConfigurationReader(content)
        var modules: [[UInt8]: (path: [UInt8]?, url: [UInt8]?)] = [:]
        while let setting = reader.next() {
            guard setting.section == "submodule", let name = setting.subsection else { continue }
            // The last one counts.
            switch setting.key {
            case "path": modules[name, default: (nil, nil)].path = setting.value
            case "url": modules[name, default: (nil, nil)].url = setting.value
            default: break
            }
        }
        for case (let path?, let url?) in modules.values { urls[path] = url }
    }

    /// - Parameter path: From the root, without a slash at its end.
    func url(of path: [UInt8]) -> Facts.Value {
        urls[path].map { Facts.Value(utf8: $0) } ?? .none
    }
}

/// Settings in the syntax of git-config(1), one after the other, up to the first error. Pure.
struct GitConfigurationReader {
    /// Section and key are in lower case.
    typealias Setting = (section: String, subsection: [UInt8]?, key: String, value: [UInt8])

    private var rest: ArraySlice<UInt8>
    private var section = ""
    private var subsection: [UInt8]?

    init(_ content: ArraySlice<UInt8>) {
        rest = content.starts(with: [0xEF, 0xBB, 0xBF]) ? content.dropFirst(3) : content
    }

    /// The next setting; `nil` at the end or an error.
    mutating func next() -> Setting? {
        while let byte = rest.first {
            switch byte {
            case ASCII.space, ASCII.tab, ASCII.lineFeed, ASCII.carriageReturn: rest.removeFirst()
            case UInt8(ascii: "#"), UInt8(ascii: ";"):
                rest = rest.drop { $0 != ASCII.lineFeed }
            case UInt8(ascii: "["):
                guard takeSection() else { return end() }
            default:
                guard let setting = takeSetting() else { return end() }
                return setting
            }
        }
        return nil
    }

    private mutating func end() -> Setting? {
        rest = []
        return nil
    }

    private static func isName(_ byte: UInt8) -> Bool {
        ASCII.isLetter(byte) || ASCII.isDigit(byte) || byte == UInt8(ascii: "-")
            || byte == ASCII.dot
    }

    private mutating func takeName() -> String {
        let name = rest.prefix(while: Self.isName)
        rest = rest.dropFirst(name.count)
        return String(decoding: name, as: UTF8.self).lowercased()
    }

    private mutating func skipBlanks() {
        rest = rest.drop { $0 == ASCII.space || $0 == ASCII.tab }
    }

    /// `[section]` or `[section "subsection"]`.
    private mutating func takeSection() -> Bool {
        rest.removeFirst()
        section = takeName()
        subsection = nil
        skipBlanks()
        if rest.first == UInt8(ascii: "\"") {
            rest.removeFirst()
            var name: [UInt8] = []
            while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
                guard byte != ASCII.lineFeed else { return false }
                guard byte == UInt8(ascii: "\\") else {
                    name.append(byte)
                    continue
                }
                guard let escaped = rest.popFirst(), escaped != ASCII.lineFeed else { return false }
                name.append(escaped)
            }
            subsection = name
        }
        return !section.isEmpty && rest.popFirst() == UInt8(ascii: "]")
    }

    private mutating func takeSetting() -> Setting? {
        let key = takeName()
        guard !key.isEmpty, !section.isEmpty else { return nil }
        skipBlanks()
        guard rest.first == UInt8(ascii: "=") else {
            // A key alone is true.
            let isAlone = rest.first.map(ASCII.isLineEnd) ?? true
            guard isAlone else { return nil }
            return (section, subsection, key, [])
        }
        rest.removeFirst()
        skipBlanks()
        return takeValue().map { (section, subsection, key, $0) }
    }

    /// Reads to the end of the line; `nil` for a syntax error.
    private mutating func takeValue() -> [UInt8]? {
        var value: [UInt8] = []
        // Length without trailing blanks.
        var end = 0
        var isQuoted = false
        while let byte = rest.popFirst() {
            switch byte {
            case ASCII.lineFeed:
                guard !isQuoted else { return nil }
                return Array(value[..<end])
            case UInt8(ascii: "\""):
                isQuoted.toggle()
                end = value.count
            case UInt8(ascii: "#") where !isQuoted, UInt8(ascii: ";") where !isQuoted:
                rest = rest.drop { $0 != ASCII.lineFeed }
            case UInt8(ascii: "\\"):
                switch rest.popFirst() {
                case ASCII.lineFeed?: continue
                case UInt8(ascii: "n")?: value.append(ASCII.lineFeed)
                case UInt8(ascii: "t")?: value.append(ASCII.tab)
                case UInt8(ascii: "b")?: value.append(0x08)
                case let other? where other == UInt8(ascii: "\\") || other == UInt8(ascii: "\""):
                    value.append(other)
                default: return nil
                }
                end = value.count
            default:
                value.append(byte)
                let isBlank =
                    byte == ASCII.space || byte == ASCII.tab || byte == ASCII.carriageReturn
                if isQuoted || !isBlank { end = value.count }
            }
        }
        return isQuoted ? nil : Array(value[..<end])
    }
}
