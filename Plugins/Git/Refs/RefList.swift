// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// A reference of a Git repository, as the server lists it.
struct Ref: Sendable, Hashable {
    /// `HEAD`, `refs/heads/main`; bytes that are not UTF-8 are replaced.
    let name: String
    /// 40 or 64 lower-case hexadecimal digits.
    let oid: String
    /// Target of a symbolic reference.
    var symref: String?
    /// Final target of an annotated tag.
    var peeled: String?

    var item: Item {
        var item = Item(kind: .reference, text: name)
        item.version = oid
        item.facts = [
            "oid": .text(oid), "symref": Facts.Value(symref), "peeled": Facts.Value(peeled),
        ]
        return item
    }
}

/// Turns a server's references into the lines and columns of git-ls-remote(1). Pure.
struct RefList {
    /// Lines that have not been taken yet.
    private(set) var lines: [UInt8] = []
    private(set) var refs: [Ref] = []
    private let query: RefQuery
    private let patterns: [RefPattern]
    private let wantsRefs: Bool
    private let format: ObjectFormat
    /// Before version 2: targets of symbolic references.
    private let symrefs: [(name: [UInt8], target: ArraySlice<UInt8>)]
    /// Before version 2, an annotated tag's target comes in the line after the tag.
    private var pending: RefLine?

    init(_ query: RefQuery, wantsRefs: Bool, _ server: Advertisement) {
        self.query = query
        self.wantsRefs = wantsRefs
        patterns = query.patterns.map { RefPattern($0) }
        format = server.format
        symrefs = server.values("symref").compactMap { value in
            let pair = value.split(separator: ":", maxSplits: 1)
            guard pair.count == 2 else { return nil }
            let target = Array(pair[1].utf8)[...]
            return RefLine.isName(target) ? (Array(pair[0].utf8), target) : nil
        }
    }

    /// The request of version 2 (gitprotocol-v2(5)).
    static func request(
        prefixes: [String], symrefs: Bool, _ server: Advertisement
    ) throws(FetchError) -> [UInt8] {
        var request = try server.command("ls-refs")
        request += try PktLine.encode("peel\n")
        if symrefs { request += try PktLine.encode("symrefs\n") }
        for prefix in prefixes { request += try PktLine.encode("ref-prefix \(prefix)\n") }
        return request + PktLine.flushPacket
    }

    /// Prefixes to request. The server may ignore them.
    static func prefixes(_ query: RefQuery) -> [String] {
        (query.onlyHeads ? ["refs/heads/"] : []) + (query.onlyTags ? ["refs/tags/"] : [])
    }

    /// Adds a line of version 2.
    mutating func add(_ ref: RefLine) {
        guard let oid = ref.oid else { return }
        add(ref.name, oid, symref: ref.symref, peeled: ref.peeled)
    }

    /// Adds a line from before version 2.
    mutating func add(plain line: ArraySlice<UInt8>) throws(FetchError) {
        let ref = try RefLine(plain: line, format)
        if let tag = pending, let tagOID = tag.oid, ref.name.suffix(3).elementsEqual("^{}".utf8),
            ref.name.dropLast(3) == tag.name
        {
            pending = nil
            return add(tag.name, tagOID, symref: nil, peeled: ref.oid)
        }
        finish()
        pending = ref
    }

    /// Called after the last plain line.
    mutating func finish() {
        guard let ref = pending, let oid = ref.oid else { return }
        pending = nil
        let symref = symrefs.first { ref.name.elementsEqual($0.name) }
        add(ref.name, oid, symref: symref?.target, peeled: nil)
    }

    /// Hands over the lines and references so far.
    mutating func take() -> (lines: [UInt8], refs: [Ref]) {
        defer {
            lines.removeAll(keepingCapacity: true)
            refs.removeAll()
        }
        return (lines, refs)
    }

    private mutating func add(
        _ name: ArraySlice<UInt8>, _ oid: ArraySlice<UInt8>, symref: ArraySlice<UInt8>?,
        peeled: ArraySlice<UInt8>?
    ) {
        let isNameWanted = isWanted(name, suffix: "")
        let isPeeledWanted = peeled != nil && isWanted(name, suffix: "^{}")
        guard isNameWanted || isPeeledWanted else { return }
        if isNameWanted {
            if query.showsSymrefs, let symref {
                lines += "ref: ".utf8
                lines += symref
                endLine(name, suffix: "")
            }
            lines += oid
            endLine(name, suffix: "")
        }
        if let peeled, isPeeledWanted {
            lines += peeled
            endLine(name, suffix: "^{}")
        }
        guard wantsRefs else { return }
        func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
        refs.append(
            Ref(
                name: text(name), oid: text(oid), symref: symref.map(text),
                peeled: peeled.map(text)))
    }

    private mutating func endLine(_ name: ArraySlice<UInt8>, suffix: String) {
        lines.append(ASCII.tab)
        lines += name
        lines += suffix.utf8
        lines.append(ASCII.lineFeed)
    }

    private func isWanted(_ name: ArraySlice<UInt8>, suffix: String) -> Bool {
        if query.onlyHeads || query.onlyTags {
            let isHead = query.onlyHeads && name.starts(with: "refs/heads/".utf8)
            let isTag = query.onlyTags && name.starts(with: "refs/tags/".utf8)
            guard isHead || isTag else { return false }
        }
        guard !patterns.isEmpty else { return true }
        let full = Array(name) + suffix.utf8
        return patterns.contains { $0.matches(full) }
    }
}

struct RefLine {
    private var line: ArraySlice<UInt8>
    private let isUnborn: Bool
    private let nameRange: Range<Int>
    private var symrefRange: Range<Int>?
    private var peeledRange: Range<Int>?

    /// Lower-case hexadecimal, as long as the repository's ids; `nil` for an unborn branch.
    var oid: ArraySlice<UInt8>? { isUnborn ? nil : line[..<(nameRange.lowerBound - 1)] }
    var name: ArraySlice<UInt8> { line[nameRange] }
    var symref: ArraySlice<UInt8>? { symrefRange.map { line[$0] } }
    var peeled: ArraySlice<UInt8>? { peeledRange.map { line[$0] } }

    /// Before version 2: `oid SP name`.
    ///
    /// - Throws: `protocol-error` for a malformed id or name.
    init(plain line: ArraySlice<UInt8>, _ format: ObjectFormat) throws(FetchError) {
        try self.init(line, nameEnd: line.endIndex, format)
    }

    /// Version 2: `oid SP name *(SP attribute)`.
    init(attributed line: ArraySlice<UInt8>, _ format: ObjectFormat) throws(FetchError) {
        let idEnd = line.firstIndex(of: ASCII.space) ?? line.startIndex
        let end = line[min(idEnd + 1, line.endIndex)...].firstIndex(of: ASCII.space)
        try self.init(line, nameEnd: end ?? line.endIndex, format)
        guard let end else { return }
        for attribute in line[end...].split(separator: ASCII.space) {
            if attribute.starts(with: "peeled:".utf8) {
                peeledRange = attribute.dropFirst(7).indices
            } else if attribute.starts(with: "symref-target:".utf8) {
                symrefRange = attribute.dropFirst(14).indices
            }
        }
        guard peeled.map({ Self.isID($0, format) }) ?? true, symref.map(Self.isName) ?? true else {
            throw Self.malformed(line)
        }
        if let peeledRange { lower(peeledRange) }
    }

    private init(
        _ line: ArraySlice<UInt8>, nameEnd: Int, _ format: ObjectFormat
    ) throws(FetchError) {
        let space = line.firstIndex(of: ASCII.space) ?? line.startIndex
        guard space < nameEnd else { throw Self.malformed(line) }
        self.line = line
        nameRange = (space + 1)..<nameEnd
        isUnborn = line[..<space].elementsEqual("unborn".utf8)
        guard isUnborn || Self.isID(line[..<space], format), Self.isName(line[nameRange]) else {
            throw Self.malformed(line)
        }
        if !isUnborn { lower(line.startIndex..<space) }
    }

    private mutating func lower(_ id: Range<Int>) {
        for index in id where line[index] &- 0x41 < 6 { line[index] |= 0x20 }
    }

    private static func isID(_ text: ArraySlice<UInt8>, _ format: ObjectFormat) -> Bool {
        text.count == 2 * format.byteCount && text.allSatisfy { ASCII.hexValue($0) != nil }
    }

    /// Refuses characters that could end a field, here or in a reader of our lines.
    fileprivate static func isName(_ text: ArraySlice<UInt8>) -> Bool {
        !text.isEmpty && text.allSatisfy { $0 > 0x20 && $0 != 0x7F }
    }

    private static func malformed(_ line: ArraySlice<UInt8>) -> FetchError {
        let text = String(decoding: line.prefix(100), as: UTF8.self)
        return FetchError(.protocolError, .body, "malformed reference: \"\(text)\"")
    }
}

/// A pattern of git-ls-remote(1), matched against the last components of a name: shell wildcards,
/// where `*` and `?` also match slashes.
struct RefPattern {
    private let pattern: Wildmatch

    init(_ text: String) { pattern = Wildmatch("*/\(text)".utf8, isPath: false) }

    func matches(_ name: [UInt8]) -> Bool { pattern.matches(Array("/".utf8) + name) }
}
