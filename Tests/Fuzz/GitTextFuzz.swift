// SPDX-License-Identifier: MIT
@testable internal import GitPlugin
internal import SmallWebCore

/// Any bytes as a commit, and as one whose first line is right.
func gitCommit(_ input: [UInt8]) {
    let tree = Array("tree \(String(repeating: "0", count: 40))\n".utf8)
    for bytes in [input, tree + input] {
        let id = ObjectID([UInt8](repeating: 0, count: 20), .sha1)
        let object = PackObject(id: id, type: .commit, content: bytes)
        guard let commit = try? Commit(object) else { continue }
        let line = commit.entryLine
        check(line.last == ASCII.lineFeed, "a line without its end")
        check(line.dropLast().allSatisfy { $0 >= 0x20 || $0 == ASCII.tab }, "a control character")
        check(line.count { $0 == ASCII.tab } == 3, "\(line.count { $0 == ASCII.tab }) tabs")
        check(commit.fullEntry.starts(with: "commit ".utf8), "no commit")
        if let uri = try? URI(parsing: "git://example.org/r"), let address = try? GitAddress(uri) {
            check(commit.item(address).url?.hasPrefix("git://example.org/r?log=") ?? false, "a URL")
        }
        if let ident = Ident(commit.author), let date = ident.date {
            check(date.seconds >= 0, "\(date.seconds)")
            check(date.iso8601.utf8.count >= 25, date.iso8601)
        }
        var placeholders = Placeholders(commit)
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
        guard let values = try? attributes.values(for: path),
            let id = ObjectID(hex: String(repeating: "0", count: 40))
        else { return }
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
    // Two stars stand for no directory at all in a path: a/**/b matches a/b.
    let hasTwoStars = zip(parts[0], parts[0].dropFirst()).contains { $0 == 0x2A && $1 == 0x2A }
    check(!isPath || plain || hasTwoStars, "a path matches more than a text")
    if !parts[0].contains(where: { "*?[\\".utf8.contains($0) }) {
        check(plain == (parts[0] == parts[1]) && isPath == plain, "a plain pattern")
    }
    if plain && !parts[0].contains(0x5C) && parts[0].last != UInt8(ascii: "*") {
        check(Wildmatch(parts[0] + Array("*".utf8), isPath: false).matches(parts[1]), "a star")
    }
}

/// Two files with a NUL between them, as a patch, which removes and adds as many lines as it must.
func gitPatch(_ input: [UInt8]) {
    let parts = input.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
    let ids = ["0", "1"].compactMap { ObjectID(hex: String(repeating: $0, count: 40)) }
    guard parts.count == 2, input.count < 4000 else { return }
    let sides = ids.map {
        TreeChange.Side(
            TreeEntry(mode: 0o100644, kind: .file, name: Array("f".utf8)[...], id: $0))
    }
    let change = TreeChange(path: Array("f".utf8), old: sides[0], new: sides[1])
    let texts = parts.map { $0.filter { $0 != 0 } }
    let patch = FilePatch(change, texts[0], texts[1])
    guard let text = try? patch.text() else { return }
    let lines = text.split(separator: ASCII.lineFeed, omittingEmptySubsequences: false)
    check(lines.first?.elementsEqual("diff --git a/f b/f".utf8) ?? false, "no header")
    // Behind the header, the ids, and the names of both sides.
    let body = lines.dropFirst(4)
    let removed = body.count { $0.first == UInt8(ascii: "-") }
    let added = body.count { $0.first == UInt8(ascii: "+") }
    let counts = texts.map { text in
        let ends = text.count { $0 == ASCII.lineFeed }
        return text.last.map { $0 == ASCII.lineFeed } ?? true ? ends : ends + 1
    }
    check(counts[1] - counts[0] == added - removed, "lines are lost")
}

/// Any bytes as a pointer of Git LFS, and as a server's batch reply: a place over HTTP with fields
/// that can be sent, or a refusal.
func gitLFS(_ input: [UInt8]) {
    let digits = String(repeating: "0", count: 64)
    let beginning = Array("version https://git-lfs.github.com/spec/v1\n".utf8)
    for bytes in [input, beginning + input] {
        guard let pointer = LFSPointer(bytes[...]) else { continue }
        check(pointer.digits.utf8.count == 64 && pointer.byteCount >= 0, "\(pointer)")
        let text = String(decoding: bytes, as: UTF8.self)
        check(text.contains(text: "oid \(pointer.id)\n"), "another id")
    }
    let file = LFSPointer((beginning + Array("oid sha256:\(digits)\nsize 5\n".utf8))[...])
    guard let file, let base = try? URI(parsing: "https://example.org/r") else {
        preconditionFailure()
    }
    let object = Array("{\"objects\": [{\"oid\": \"\(digits)\", ".utf8)
    for answer in [input, object + input + Array("}]}".utf8)] {
        do throws(FetchError) {
            let places = try LFSBatch.parse(answer[...], to: [file], from: base)
            check(places.count == 1, "\(places.count) places")
            guard case .download(let uri, let fields)? = places[digits] else { continue }
            check(uri.scheme == "https" && uri.host != nil && uri.userinfo == nil, "\(uri)")
            for field in fields {
                let line = "\(field.name): \(field.value)"
                check(line.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, line)
            }
        } catch {
            check(error.outcome == .protocolError, "\(error)")
        }
    }
}

/// Any bytes as settings of git-config(1), also after a section and a setting of ours.
func gitModules(_ input: [UInt8]) {
    var settings = 0
    var reader = GitConfigurationReader(input[...])
    while let setting = reader.next() {
        check(!setting.section.isEmpty && !setting.key.isEmpty, "no name")
        check(setting.key == setting.key.lowercased(), "a key in capitals")
        check(!setting.value.contains(0) || input.contains(0), "a NUL")
        settings += 1
    }
    check(settings <= input.count, "\(settings) settings")
    let front = Array("[submodule \"a\"]\npath = d/a\nurl = \"u\"\n".utf8)
    let modules = Submodules((front + Array("[x]\n".utf8) + input)[...])
    let isOther = input.contains { $0 == UInt8(ascii: "[") }
    check(isOther || modules.url(of: Array("d/a".utf8)) == .text("u"), "it is lost")
}

/// A query: a question, or a bad URL.
func gitQuestion(_ input: [UInt8]) {
    guard let text = String(validating: input, as: UTF8.self) else { return }
    do throws(FetchError) {
        let question = try GitQuestion(text)
        for name in [question.version, question.range?.from, question.range?.to] {
            check(name?.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F } ?? true, "a bad version")
        }
        let count = question.number(.count)
        check(count.map { 1...GitQuestion.countMax ~= $0 } ?? true, "a bad count")
    } catch {
        check(error.outcome == .badURL, "\(error)")
    }
}
