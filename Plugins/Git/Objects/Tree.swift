// SPDX-License-Identifier: MIT
internal import SmallWebCore

struct TreeEntry: Hashable, Sendable {
    enum Kind: Sendable {
        case file, executable, directory, symbolicLink
        /// A commit of another repository.
        case submodule
    }

    /// POSIX file type and permissions. Only ``kind`` has a meaning.
    let mode: UInt32
    let kind: Kind
    /// Never empty, `.` or `..`, and without `/`; not always UTF-8.
    let name: ArraySlice<UInt8>
    let id: ObjectID
}

/// Iterates over the entries of a tree object, which may have a million: `mode SP name NUL id`,
/// repeated. Pure.
struct TreeCursor {
    private let format: ObjectFormat
    private var rest: ArraySlice<UInt8>

    /// - Parameter bytes: The whole content. The names are slices of it.
    init(_ bytes: ArraySlice<UInt8>, _ format: ObjectFormat) {
        (rest, self.format) = (bytes, format)
    }

    /// - Returns: `nil` at the end.
    /// - Throws: `protocol-error` for malformed content.
    mutating func next() throws(FetchError) -> TreeEntry? {
        guard !rest.isEmpty else { return nil }
        guard let nul = rest.firstIndex(of: ASCII.nul) else {
            throw Self.malformed("a name without its end")
        }
        // A mode has seven digits at most, so the search for the space is bounded.
        guard let space = rest[..<nul].prefix(8).firstIndex(of: ASCII.space) else {
            throw Self.malformed("a name without its mode")
        }
        let (mode, kind) = try Self.mode(rest[..<space])
        let name = rest[(space + 1)..<nul]
        try Self.check(name)
        rest = rest[(nul + 1)...]
        guard rest.count >= format.byteCount else {
            throw Self.malformed("a name without its id")
        }
        let id = ObjectID(rest.prefix(format.byteCount), format)
        rest = rest.dropFirst(format.byteCount)
        return TreeEntry(mode: mode, kind: kind, name: name, id: id)
    }

    /// The remaining entries.
    ///
    /// - Throws: `protocol-error` for malformed content.
    func entries() throws(FetchError) -> [TreeEntry] {
        var cursor = self
        var entries: [TreeEntry] = []
        while let entry = try cursor.next() {
            entries.append(entry)
            if entries.count.isMultiple(of: 4096) { try LongWork.check() }
        }
        return entries
    }

    /// The entry of a name, among the remaining ones.
    func find(_ name: some Collection<UInt8>) throws(FetchError) -> TreeEntry? {
        var cursor = self
        while let entry = try cursor.next() {
            if entry.name.elementsEqual(name) { return entry }
        }
        return nil
    }

    /// Bytes of the remaining entries.
    var byteCount: Int { rest.count }

    /// Counts the remaining entries, and requires distinct names: with a link and a directory of
    /// the same name, programs that extract an archive could write through the link.
    ///
    /// - Parameter most: Stops after this many entries.
    /// - Throws: `protocol-error` for a name that occurs twice.
    func countDistinct(atMost most: Int) throws(FetchError) -> Int {
        var (cursor, names, isSorted) = (self, [ArraySlice<UInt8>](), true)
        while names.count < most, let entry = try cursor.next() {
            if let last = names.last, !last.lexicographicallyPrecedes(entry.name) {
                isSorted = false
            }
            names.append(entry.name)
        }
        // Valid trees may fail this test, as Git sorts directories as if a slash followed.
        guard !isSorted else { return names.count }
        names.sort { $0.lexicographicallyPrecedes($1) }
        for (name, next) in zip(names, names.dropFirst()) where name == next {
            let text = String(decoding: name.prefix(255), as: UTF8.self)
            throw Self.malformed("the name \"\(text)\" twice")
        }
        return names.count
    }

    func attributes() throws(FetchError) -> ObjectID? { try file(".gitattributes") }

    /// The file of this name, among the remaining entries; `nil` for none.
    func file(_ name: String) throws(FetchError) -> ObjectID? {
        guard let entry = try find(name.utf8),
            entry.kind != .directory && entry.kind != .submodule
        else { return nil }
        return entry.id
    }

    /// Octal digits. A leading zero is invalid, but occurs in old repositories, and Git accepts it.
    private static func mode(
        _ digits: ArraySlice<UInt8>
    ) throws(FetchError) -> (UInt32, TreeEntry.Kind) {
        var mode: UInt32 = 0
        for digit in digits {
            guard digit &- 0x30 < 8 else { throw malformed("a mode that is not octal") }
            mode = mode << 3 | UInt32(digit &- 0x30)
        }
        let kind: TreeEntry.Kind
        switch mode & ~0o7777 {
        case 0o100000: kind = mode & 0o100 != 0 ? .executable : .file
        case 0o040000: kind = .directory
        case 0o120000: kind = .symbolicLink
        case 0o160000: kind = .submodule
        default: throw malformed("the mode \(String(mode, radix: 8))")
        }
        return (mode, kind)
    }

    private static func check(_ name: ArraySlice<UInt8>) throws(FetchError) {
        // Such names would lead out of the directory.
        let isDots = name.count <= 2 && name.allSatisfy { $0 == ASCII.dot }
        guard !isDots && !name.contains(ASCII.slash) else {
            throw malformed("the name \"\(String(decoding: name, as: UTF8.self))\"")
        }
    }

    private static func malformed(_ why: String) -> FetchError {
        FetchError(.protocolError, .body, "malformed tree: \(why)")
    }
}

/// Limits the directories of one path. A walk through trees keeps the path and the tree of each
/// level, and a small pack can have very deep levels with very long names. Pure.
struct TreePath {
    /// Linux limits paths to 4096 bytes.
    static let depthMax = 4096
    static let pathBytesMax = 16 << 10
    /// Total of the trees on the path.
    static let treeBytesMax = 128 << 20

    private var levels: [(pathBytes: Int, treeBytes: Int)] = []

    /// Length of the current directory's path, with the slash at its end; 0 for the root.
    var pathBytes: Int { levels.last?.pathBytes ?? 0 }

    /// - Parameters:
    ///   - pathBytes: Length of the directory's path, with the slash at its end; 0 for the root.
    ///   - treeBytes: Size of its tree.
    /// - Throws: `too-large`.
    mutating func enter(pathBytes: Int, treeBytes: Int) throws(FetchError) {
        guard levels.count < Self.depthMax else {
            throw FetchError(
                .tooLarge, .body, "directories more than \(Self.depthMax) deep",
                expected: String(Self.depthMax))
        }
        try Self.check(pathBytes: pathBytes)
        let treeBytes = (levels.last?.treeBytes ?? 0) + treeBytes
        guard treeBytes <= Self.treeBytesMax else {
            throw FetchError(
                .tooLarge, .body,
                "a directory and those above it have more than \(Self.treeBytesMax) bytes",
                expected: String(Self.treeBytesMax))
        }
        levels.append((pathBytes, treeBytes))
    }

    mutating func leave() { levels.removeLast() }

    /// - Throws: `too-large`.
    static func check(pathBytes: Int) throws(FetchError) {
        guard pathBytes <= pathBytesMax else {
            throw FetchError(
                .tooLarge, .body, "a path of more than \(pathBytesMax) bytes",
                expected: String(pathBytesMax), actual: String(pathBytes))
        }
    }
}
