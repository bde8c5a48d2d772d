// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

/// Text of an option, a command or a topic: an entry of `Texts/*.txt`. Only help, the manual and
/// the descriptions of completions read those files.
///
/// A line `# NAME` begins an entry. The next one is its summary; then come paragraphs with empty
/// lines between them, or the page of a topic as it is printed; then `= EXAMPLE`, which may have
/// its purpose below it, indented.
package struct Texts: Sendable {
    /// In the order of the file.
    package static let topics = entries(of: PackageResources.topics_txt)

    /// For a name without an entry, which a test refuses.
    static let missing = Texts(bytes: [])

    private let bytes: ArraySlice<UInt8>

    /// Finds the entry of an option by its long name.
    static func option(_ name: String) -> Texts { find(name, in: PackageResources.options_txt) }

    /// - Parameter name: Of an action `COMMAND ACTION`.
    static func command(_ name: String) -> Texts { find(name, in: PackageResources.commands_txt) }

    /// Halves a file that is sorted by name, until the entry is found.
    private static func find(_ name: String, in file: [UInt8]) -> Texts {
        let mark = UInt8(ascii: "#")
        var (low, high) = (0, file.count)
        while low < high {
            let middle = (low + high) / 2
            guard let start = file[middle...].firstLineFeed(before: mark), start < high else {
                high = middle
                continue
            }
            let rest = file[(start + 1)...]
            let end = rest.firstLineFeed ?? rest.endIndex
            let found = rest[..<end].dropFirst(2)
            if found.elementsEqual(name.utf8) {
                let last = rest.firstLineFeed(before: mark) ?? rest.endIndex
                return Texts(bytes: rest[end..<last].dropFirst())
            }
            if found.lexicographicallyPrecedes(name.utf8) { low = end } else { high = middle }
        }
        return missing
    }

    /// Finds the entries, and decodes no more than their names.
    static func entries(of file: [UInt8]) -> [(name: String, texts: Texts)] {
        let mark = UInt8(ascii: "#")
        var entries: [(String, Texts)] = []
        var next = file[...].firstLineFeed(before: mark)
        while let start = next {
            let rest = file[(start + 1)...]
            next = rest.firstLineFeed(before: mark)
            let entry = rest[..<(next ?? rest.endIndex)]
            let end = entry.firstLineFeed ?? entry.endIndex
            let name = String(decoding: entry[..<end].dropFirst(2), as: UTF8.self)
            entries.append((name, Texts(bytes: entry[end...].dropFirst())))
        }
        return entries
    }

    package var summary: String {
        String(decoding: bytes[..<(bytes.firstLineFeed ?? bytes.endIndex)], as: UTF8.self)
    }

    /// All lines behind the summary.
    package var page: String {
        let text = String(decoding: bytes.dropFirst(summary.utf8.count + 1), as: UTF8.self)
        return Self.facts.reduce(text) { text, fact in
            guard text.contains(text: fact.key) else { return text }
            return text.replacing(text: fact.key, with: fact.value())
        }
    }

    /// Paragraphs, each in one line, with empty lines between them.
    package var manual: String {
        lines.prefix { !$0.hasPrefix("= ") }.reduce(into: "") { text, line in
            if !text.isEmpty { text += line.isEmpty ? "\n\n" : text.last == "\n" ? "" : " " }
            text += line
        }
    }

    /// Command lines, each with its purpose, which is empty for an option's.
    package var examples: [(line: String, use: String)] {
        let lines = lines
        return lines.indices.filter { lines[$0].hasPrefix("= ") }.map { index in
            let next = index + 1 < lines.count ? lines[index + 1] : ""
            return (String(lines[index].dropFirst(2)), next.hasPrefix("  ") ? next.trimmed : "")
        }
    }

    private var lines: [Substring] {
        page.dropLast().split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// Words of the texts that stand for lists which the program has anyway.
    static let facts: KeyValuePairs<String, @Sendable () -> String> = [
        "{fields}": { Help.wrapped(RecordFields.all(.builtIn).joined(separator: " "), indent: 2) },
        "{identity clients}": { IdentityFormat.names },
        "{keys}": {
            ReaderCommand.table.map { "\($0.key)\($0.rest) \($0.meaning)" }.joined(separator: "; ")
        },
        "{outcomes}": { Outcome.allCases.map(Help.row).joined() },
        "{topics}": { topics.map(\.name).joined(separator: ", ") },
        "{trust clients}": { TrustFormat.names },
    ]
}
