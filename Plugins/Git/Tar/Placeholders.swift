// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// `$Format:…$` in files with the attribute `export-subst` (gitattributes(5)), expanded for their
/// commit (PRETTY FORMATS of git-log(1)). Pure.
struct Placeholders {
    private let commit: Commit
    /// Placeholders left as they are, since they depend on more than the commit, or change with
    /// time.
    private(set) var unknown: [String] = []

    init(_ commit: Commit) { self.commit = commit }

    /// - Parameter bytesMax: Limits the result, and separately the bytes read from the commit: a
    ///   placeholder of two bytes may stand for a long message.
    /// - Returns: `nil` beyond the limit.
    mutating func expand(_ content: [UInt8], bytesMax: Int = .max) -> [UInt8]? {
        let mark = Array("$Format:".utf8)
        var (expanded, rest, bytesLeft) = ([UInt8](), content[...], bytesMax)
        while let start = Self.find(mark, in: rest) {
            let format = rest[(start + mark.count)...]
            guard let end = format.firstIndex(of: UInt8(ascii: "$")) else { break }
            expanded += rest[..<start]
            guard let text = expand(format[..<end], &bytesLeft) else { return nil }
            expanded += commit.inItsEncoding(text)
            guard expanded.count <= bytesMax else { return nil }
            rest = rest[(end + 1)...]
        }
        expanded += rest
        return expanded.count <= bytesMax ? expanded : nil
    }

    private static func find(_ mark: [UInt8], in bytes: ArraySlice<UInt8>) -> Int? {
        var rest = bytes
        while let start = rest.firstIndex(of: mark[0]) {
            rest = rest[start...]
            if rest.starts(with: mark) { return start }
            rest = rest.dropFirst()
        }
        return nil
    }

    /// `nil` when more than `bytesLeft` would be read or written.
    private mutating func expand(
        _ format: ArraySlice<UInt8>, _ bytesLeft: inout Int
    ) -> [UInt8]? {
        var (expanded, rest) = ([UInt8](), format)
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                expanded.append(byte)
                continue
            }
            if let (value, length) = value(rest) {
                // A subject is short, but to find it the whole message is read.
                bytesLeft -= max(value.count, readBytes(rest))
                guard bytesLeft >= 0 else { return nil }
                expanded += value
                rest = rest.dropFirst(length)
            } else {
                let isPart = rest.first.map { "acgGC".utf8.contains($0) } ?? false
                let name = rest.prefix(isPart ? 2 : 1)
                let text = "%" + String(decoding: name, as: UTF8.self)
                if !name.isEmpty && !unknown.contains(text) { unknown.append(text) }
                expanded.append(byte)
            }
        }
        return expanded
    }

    /// Number of the commit's bytes that are read for a placeholder.
    private func readBytes(_ rest: ArraySlice<UInt8>) -> Int {
        switch rest.first {
        case UInt8(ascii: "s"), UInt8(ascii: "f"), UInt8(ascii: "b"), UInt8(ascii: "B"):
            commit.message.count
        case UInt8(ascii: "a"): commit.author.count
        case UInt8(ascii: "c"): commit.committer.count
        default: 0
        }
    }

    /// The value and length of a placeholder; `nil` for an unknown one.
    private func value(_ rest: ArraySlice<UInt8>) -> (value: [UInt8], length: Int)? {
        guard let first = rest.first else { return nil }
        let text = { (text: String) in (Array(text.utf8), 1) }
        switch first {
        case UInt8(ascii: "%"): return text("%")
        case UInt8(ascii: "n"): return text("\n")
        case UInt8(ascii: "x"):
            let digits = rest.dropFirst().prefix(2)
            guard digits.count == 2, let byte = ASCII.bytes(hex: digits) else { return nil }
            return (byte, 3)
        case UInt8(ascii: "H"): return text("\(commit.id)")
        case UInt8(ascii: "T"): return text("\(commit.tree)")
        case UInt8(ascii: "P"):
            return text(commit.parents.map(\.description).joined(separator: " "))
        case UInt8(ascii: "e"): return text(commit.encoding ?? "")
        case UInt8(ascii: "s"): return (Commit.paragraph(commit.text).subject, 1)
        case UInt8(ascii: "f"):
            return (Self.fileName(Array(commit.text.prefix { $0 != ASCII.lineFeed })), 1)
        case UInt8(ascii: "b"):
            return (Array(Commit.withoutBlankLines(Commit.paragraph(commit.text).rest)), 1)
        case UInt8(ascii: "B"):
            return (commit.inUTF8(commit.message.prefix { $0 != ASCII.nul }), 1)
        case UInt8(ascii: "a"), UInt8(ascii: "c"):
            guard let part = rest.dropFirst().first else { return nil }
            let line = first == UInt8(ascii: "a") ? commit.author : commit.committer
            return person(line, part).map { ($0, 2) }
        default: return nil
        }
    }

    /// `nil` for an unknown part.
    private func person(_ line: ArraySlice<UInt8>, _ part: UInt8) -> [UInt8]? {
        let known = "neltDdiIs".utf8.contains(part)
        guard known else { return nil }
        guard let ident = Ident(commit.inUTF8(line)[...]) else { return [] }
        func date(_ show: (GitDate) -> String) -> [UInt8] {
            ident.date.map { Array(show($0).utf8) } ?? []
        }
        switch part {
        case UInt8(ascii: "n"): return Array(ident.name)
        case UInt8(ascii: "e"): return Array(ident.mail)
        case UInt8(ascii: "l"): return Array(ident.mail.prefix { $0 != UInt8(ascii: "@") })
        case UInt8(ascii: "t"): return date { String($0.seconds) }
        case UInt8(ascii: "d"): return date(\.text)
        case UInt8(ascii: "D"): return date(\.mail)
        case UInt8(ascii: "i"): return date(\.iso)
        case UInt8(ascii: "I"): return date(\.iso8601)
        default: return date(\.day)
        }
    }

    /// A file name for a subject: letters, digits, `.` and `_`; all else becomes single dashes.
    private static func fileName(_ subject: [UInt8]) -> [UInt8] {
        var name: [UInt8] = []
        // True if bytes were dropped since the last one that was kept.
        var isGap = false
        for (index, byte) in subject.enumerated() {
            let isDot = byte == UInt8(ascii: ".")
            guard isDot || ASCII.isLetter(byte) || ASCII.isDigit(byte) || byte == UInt8(ascii: "_")
            else {
                isGap = true
                continue
            }
            if isGap && !name.isEmpty { name.append(UInt8(ascii: "-")) }
            isGap = false
            // Two dots would lead out of the directory.
            if isDot && index > 0 && subject[index - 1] == UInt8(ascii: ".") { continue }
            name.append(byte)
        }
        while let last = name.last, last == UInt8(ascii: ".") || last == UInt8(ascii: "-") {
            name.removeLast()
        }
        return name
    }
}
