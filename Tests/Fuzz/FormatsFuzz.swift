// SPDX-License-Identifier: MIT
@testable internal import SmallWebCLI
internal import SmallWebCore
internal import SmallWebFormats

/// Gemtext: the lines do not depend on the pieces, and nothing is lost but marks, white space and
/// line ends. With prompts as without.
@Sendable func gemtext(_ input: [UInt8]) {
    let readsPrompts = input.count % 2 == 1
    let read = { (pieces: [ArraySlice<UInt8>]) -> [TextBlock] in
        var reader = GemtextReader(lineBytesMax: 64, readsPrompts: readsPrompts)
        var lines = pieces.flatMap { reader.add($0) }
        if let last = reader.finish() { lines.append(last) }
        check(reader.finish() == nil, "a second last line")
        return lines
    }
    let lines = read([input[...]])
    check(lines == read(Pieces(of: input).pieces), "the lines depend on the pieces")
    let lineFeeds = input.count { $0 == 10 }
    var number = 0
    for line in lines {
        let link = line.links.first { _ in true }
        let target = link?.target ?? []
        check(line.line >= number && line.line <= lineFeeds + 1, "line \(line.line)")
        number = line.line
        check(line.runs.count <= 1, "more than one run")
        check(line.text.count + target.count <= 64, "longer than a line may be")
        check((line.kind == .link) == !target.isEmpty, "a link and its target")
        check(link?.isPrompt != true || readsPrompts, "a prompt")
        check(!(line.text + target).contains(10), "a line feed in a line")
        check(!target.contains { $0 == 32 || $0 == 9 }, "white space in a target")
        if case .heading(let level) = line.kind { check(1...3 ~= level, "heading \(level)") }
        guard link != nil, let base = try? URI(parsing: "gemini://h.test/a/b"),
            let text = String(validating: target, as: UTF8.self),
            let uri = try? base.resolving(text)
        else { continue }
        check(uri.description.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }, "\(uri)")
    }
}

/// A line of requests in JSON: the echo is the same value on one line, and cannot drive a terminal.
@Sendable func json(_ input: [UInt8]) {
    let skimmed = skim(input)
    let value: JSONValue
    do throws(FetchError) {
        value = try JSONValue.parse(input[...])
    } catch {
        check(skimmed == nil || error.message.contains("is there twice"), "skimmed, not parsed")
        return
    }
    check(String(validating: input, as: UTF8.self) != nil || !isObject(value), "not UTF-8")
    guard case .object(let members) = value else { return check(skimmed == nil, "no object") }
    check(skimmed.map { $0.map(\.name) == members.map(\.name) } ?? isEscaped(input), "other names")
    for (one, other) in zip(skimmed ?? [], members) {
        check((try? JSONValue.parse(one.value[...]))?.string == other.value.string, "other values")
    }
    check(Set(members.map(\.name)).count == members.count, "a name twice")
    for member in members {
        guard let text = String(validating: member.text, as: UTF8.self) else {
            fatalError("the echo is not UTF-8")
        }
        check(!text.unicodeScalars.contains(where: TerminalText.isDangerous), "the echo is \(text)")
        guard let again = try? JSONValue.parse(member.text[...]) else {
            fatalError("the echo is no JSON: \(text)")
        }
        check(again.string == member.value.string && again.bool == member.value.bool, text)
        check(value[member.name] != nil, "\(member.name) is lost")
    }
}

private func skim(_ input: [UInt8]) -> [(name: String, value: [UInt8])]? {
    var members: [(name: String, value: [UInt8])] = []
    let isObject = input.withUnsafeBufferPointer { text in
        JSONSkimmer.skim(text) { name, value in
            members.append((String(decoding: name, as: UTF8.self), Array(value)))
        }
    }
    return isObject ? members : nil
}

private func isEscaped(_ input: [UInt8]) -> Bool { input.contains(UInt8(ascii: "\\")) }

private func isObject(_ value: JSONValue) -> Bool {
    if case .object = value { true } else { false }
}

/// Wrapping: lines fit, and nothing is lost but spaces.
@Sendable func wrap(_ input: [UInt8]) {
    let columns = input.first.map { Int($0) % 40 + 2 } ?? 2
    let text = TerminalText.escapeLine(String(decoding: input.dropFirst(), as: UTF8.self))
    let lines = DisplayWidth.wrapped(text, to: columns)
    let scalars = { (text: String) in text.unicodeScalars.filter { $0 != " " }.map(\.value) }
    check(lines.flatMap(scalars) == scalars(text), "lost: \(text)")
    for line in lines where DisplayWidth.of(line) > columns {
        check(line.count == 1, "\(DisplayWidth.of(line)) columns instead of \(columns)")
    }
    let short = DisplayWidth.truncated(text, to: columns)
    check(DisplayWidth.of(short) <= columns, "\(short) is too long")
    check(DisplayWidth.of(text) > columns || short == text, "\(text) is cut for nothing")
}
