// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The attributes that `.gitattributes` files give to a path (gitattributes(5)). Pure.
struct Attributes: Sendable {
    /// An attribute's value; `nil` if unspecified.
    enum Value: Hashable, Sendable, ExpressibleByStringLiteral {
        case set, unset
        case text([UInt8])

        init(stringLiteral text: String) { self = .text(Array(text.utf8)) }
    }

    /// The attributes of one path, by name.
    typealias Values = [String: Value]

    private struct File: Sendable {
        /// Path of its directory with a slash at the end; empty for the root.
        let directory: [UInt8]
        let lines: [AttributeLine]
        let byteCount: Int
    }

    /// From the root down.
    private var files: [File] = []
    private var macros: [String: [(name: String, value: Value?)]] = [
        "binary": [("diff", .unset), ("merge", .unset), ("text", .unset)]
    ]

    /// Total size of the files in force. Every path is matched against all of them.
    var byteCount: Int { files.reduce(0) { $0 + $1.byteCount } }

    var lineCount: Int { files.reduce(0) { $0 + $1.lines.count } }

    /// Adds the file of a directory, which is below the directory of the last added one.
    ///
    /// - Parameter directory: Empty for the root, else with a slash at its end.
    mutating func push(_ directory: [UInt8], _ content: ArraySlice<UInt8>) {
        let lines = AttributeLine.parse(content, definesMacros: directory.isEmpty)
        files.append(File(directory: directory, lines: lines, byteCount: content.count))
        for line in lines {
            // The last definition counts, before the built-in one.
            if case .macro(let name) = line.subject { macros[name] = line.states }
        }
    }

    mutating func pop() { files.removeLast() }

    /// - Parameter path: From the root, with a slash at its end for a directory.
    /// - Throws: `interrupted`, `timeout`: a pattern may be compared with each byte of the path.
    func values(for path: [UInt8]) throws(FetchError) -> Values {
        var found: [String: Value?] = [:]
        var work = 0
        for file in files.reversed() {
            // A file applies to the contents of its directory, not to the directory itself.
            guard path.count > file.directory.count, path.starts(with: file.directory) else {
                continue
            }
            for line in file.lines.reversed() {
                work += line.byteCount * path.count
                if work > Self.workMax {
                    try LongWork.check()
                    work = 0
                }
                guard case .pattern(let pattern) = line.subject,
                    pattern.matches(path, in: file.directory)
                else { continue }
                fill(&found, line.states)
            }
        }
        return found.compactMapValues { $0 }
    }

    private static let workMax = 1 << 20

    /// The first value counts. A macro that is set expands at its place.
    private func fill(
        _ found: inout [String: Value?], _ states: [(name: String, value: Value?)]
    ) {
        // Not recursive: a macro may name itself.
        var pending = Array(states)
        while let state = pending.popLast() {
            guard found.index(forKey: state.name) == nil else { continue }
            found.updateValue(state.value, forKey: state.name)
            if state.value == .set, let macro = macros[state.name] { pending += macro }
        }
    }
}

struct AttributeLine: Sendable {
    enum Subject: Sendable {
        case pattern(AttributePattern)
        case macro(String)
    }

    let subject: Subject
    let byteCount: Int
    /// `nil` for an attribute that is reset to unspecified.
    let states: [(name: String, value: Attributes.Value?)]

    /// Git ignores longer lines.
    private static let bytesMax = 2047
    private static let fileBytesMax = 100 << 20

    /// Ignores lines that Git does not understand.
    static func parse(_ content: ArraySlice<UInt8>, definesMacros: Bool) -> [AttributeLine] {
        guard content.count <= fileBytesMax else { return [] }
        return content.prefix { $0 != 0 }.split(separator: ASCII.lineFeed).compactMap {
            AttributeLine($0, definesMacros: definesMacros)
        }
    }

    private init?(_ line: ArraySlice<UInt8>, definesMacros: Bool) {
        var rest = line.drop(while: Self.isBlank)
        guard let first = rest.first, first != UInt8(ascii: "#"), rest.count <= Self.bytesMax
        else { return nil }
        byteCount = rest.count
        let name: [UInt8]
        if first == UInt8(ascii: "\""), let (text, end) = Self.unquoted(rest) {
            (name, rest) = (text, end)
        } else {
            let word = rest.prefix { !Self.isBlank($0) }
            (name, rest) = (Array(word), rest[word.endIndex...])
        }
        let prefix = Array("[attr]".utf8)
        if name.count > prefix.count && name.starts(with: prefix) {
            let macro = name.dropFirst(prefix.count)
            guard definesMacros, Self.isName(macro) else { return nil }
            subject = .macro(String(decoding: macro, as: UTF8.self))
        } else {
            guard name.first != UInt8(ascii: "!") else { return nil }
            subject = .pattern(AttributePattern(name))
        }
        var states: [(name: String, value: Attributes.Value?)] = []
        for word in rest.split(whereSeparator: Self.isBlank) {
            guard let state = Self.state(word) else { return nil }
            states.append(state)
        }
        self.states = states
    }

    private static func state(
        _ word: ArraySlice<UInt8>
    ) -> (name: String, value: Attributes.Value?)? {
        let mark = word.first
        let isMarked = mark == UInt8(ascii: "-") || mark == UInt8(ascii: "!")
        let name = (isMarked ? word.dropFirst() : word).prefix { $0 != UInt8(ascii: "=") }
        guard isName(name) else { return nil }
        let value: Attributes.Value? =
            mark == UInt8(ascii: "!")
            ? nil
            : mark == UInt8(ascii: "-")
                ? .unset
                : name.endIndex == word.endIndex
                    ? .set : .text(Array(word[(name.endIndex + 1)...]))
        return (String(decoding: name, as: UTF8.self), value)
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == ASCII.space || byte == ASCII.tab || byte == 0x0D || byte == ASCII.lineFeed
    }

    private static func isName(_ name: ArraySlice<UInt8>) -> Bool {
        guard let first = name.first, first != UInt8(ascii: "-") else { return false }
        return name.allSatisfy {
            ASCII.isLetter($0) || ASCII.isDigit($0) || "-._".utf8.contains($0)
        }
    }

    /// Parses a string quoted as in C; `nil` when it is not one.
    static func unquoted(
        _ text: ArraySlice<UInt8>
    ) -> (text: [UInt8], rest: ArraySlice<UInt8>)? {
        var (found, rest) = ([UInt8](), text.dropFirst())
        while let byte = rest.popFirst() {
            guard byte != UInt8(ascii: "\"") else { return (found, rest) }
            guard byte == UInt8(ascii: "\\") else {
                found.append(byte)
                continue
            }
            guard let escaped = rest.popFirst() else { return nil }
            if let index = "abtnvfr".utf8.enumerated().first(where: { $1 == escaped })?.offset {
                found.append(UInt8(index) + 7)
            } else if escaped == UInt8(ascii: "\\") || escaped == UInt8(ascii: "\"") {
                found.append(escaped)
            } else if 0x30...0x33 ~= escaped, rest.prefix(2).count == 2,
                rest.prefix(2).allSatisfy({ 0x30...0x37 ~= $0 })
            {
                let digits = [escaped] + rest.prefix(2)
                found.append(digits.reduce(0) { $0 << 3 | ($1 - 0x30) })
                rest = rest.dropFirst(2)
            } else {
                return nil
            }
        }
        return nil
    }
}

/// The pattern of a line, as in gitignore(5).
struct AttributePattern: Sendable {
    private let isForDirectories: Bool
    /// True if it is matched against the last component of a path alone.
    private let isName: Bool
    private let pattern: Wildmatch

    init(_ text: [UInt8]) {
        var text = text[...]
        isForDirectories = text.last == ASCII.slash
        if isForDirectories { text = text.dropLast() }
        isName = !text.contains(ASCII.slash)
        if text.first == ASCII.slash { text = text.dropFirst() }
        pattern = Wildmatch(text, isPath: !isName)
    }

    /// - Parameters:
    ///   - path: A path below the directory.
    ///   - directory: The directory of the file with the pattern, with a slash at its end.
    func matches(_ path: [UInt8], in directory: [UInt8]) -> Bool {
        let isDirectory = path.last == ASCII.slash
        guard isDirectory || !isForDirectories else { return false }
        let whole = isDirectory ? path.dropLast() : path[...]
        if isName {
            let slash = whole.lastIndex(of: ASCII.slash)
            return pattern.matches(slash.map { whole[($0 + 1)...] } ?? whole)
        }
        return pattern.matches(whole.dropFirst(directory.count))
    }
}
