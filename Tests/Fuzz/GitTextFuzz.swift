// SPDX-License-Identifier: MIT
@testable internal import GitPlugin
internal import SmallWebCore

/// Any bytes as a commit, and as one whose first line is right.
func gitCommit(_ input: [UInt8]) {
    let tree = Array("tree \(String(repeating: "0", count: 40))\n".utf8)
    for bytes in [input, tree + input] {
        guard let commit = try? Commit(parsing: bytes[...], .sha1) else { continue }
        let entry = LogEntry(commit, commit.tree)
        let line = entry.line
        check(line.last == ASCII.lineFeed, "a line without its end")
        check(line.dropLast().allSatisfy { $0 >= 0x20 || $0 == ASCII.tab }, "a control character")
        check(line.count { $0 == ASCII.tab } == 3, "\(line.count { $0 == ASCII.tab }) tabs")
        check(entry.full.starts(with: "commit ".utf8), "no commit")
        _ = entry.item
        if let ident = Ident(commit.author), let date = ident.date {
            check(date.seconds >= 0, "\(date.seconds)")
            check(date.iso8601.utf8.count >= 25, date.iso8601)
        }
        var placeholders = Placeholders(commit, commit.tree)
        let text = Array("$Format:".utf8) + input + Array("$".utf8)
        _ = placeholders.expand(text)
    }
}

/// A `.gitattributes`, a NUL, and a path.
func gitAttributes(_ input: [UInt8]) {
    let parts = input.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[1].isEmpty else { return }
    var attributes = Attributes()
    attributes.push([], parts[0])
    attributes.push(Array("d/".utf8), parts[0])
    for path in [Array(parts[1]), Array("d/".utf8) + parts[1]] {
        let values = attributes.values(for: path)
        guard let id = ObjectID(hex: String(repeating: "0", count: 40)) else { return }
        let conversion = Conversion(values)
        let (content, isEncoded) = conversion.apply(to: input, id)
        if conversion.isEmpty { check(content == input && isEncoded, "it changes") }
    }
}

/// A pattern, a NUL, and a path: whatever is found, a star more in the pattern finds as well.
func wildmatch(_ input: [UInt8]) {
    let parts = input.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].count < 200, parts[1].count < 1000 else { return }
    let plain = Wildmatch(parts[0], isPath: false).matches(parts[1])
    let isPath = Wildmatch(parts[0], isPath: true).matches(parts[1])
    check(!isPath || plain, "a path matches more than a text")
    if !parts[0].contains(where: { "*?[\\".utf8.contains($0) }) {
        check(plain == (parts[0] == parts[1]) && isPath == plain, "a plain pattern")
    }
    if plain && !parts[0].contains(0x5C) && parts[0].last != UInt8(ascii: "*") {
        check(Wildmatch(parts[0] + Array("*".utf8), isPath: false).matches(parts[1]), "a star")
    }
}

/// A query: a question, or a bad URL.
func gitQuestion(_ input: [UInt8]) {
    guard let text = String(validating: input, as: UTF8.self) else { return }
    do throws(FetchError) {
        let (version, question) = try GitQuestion.parse(text)
        check(version?.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F } ?? true, "a bad version")
        if case .log(let log) = question {
            for name in [log.range.from, log.range.to] {
                check(name?.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F } ?? true, "a bad version")
            }
            check(log.count.map { 1...LogQuestion.countMax ~= $0 } ?? true, "a bad count")
        }
    } catch {
        check(error.outcome == .badURL, "\(error)")
    }
}
