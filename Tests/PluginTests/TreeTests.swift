// SPDX-License-Identifier: MIT
@testable internal import GitPlugin
internal import SmallWebCore
internal import SmallWebTestSupport
internal import Testing

/// Object ids, trees, and the headers of commits and tags.
@Suite struct TreeTests {
    static let sha1 = [UInt8](0..<20)
    static let sha256 = [UInt8](0..<32)

    static func entry(_ name: String, _ id: [UInt8]) -> [UInt8] { Array("\(name)\0".utf8) + id }

    @Test func idsOfKnownObjects() throws {
        #expect(
            try PackBuilder.id(.blob, []).description == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")
        let hello = Array("hello\n".utf8)
        #expect(
            try PackBuilder.id(.blob, hello).description
                == "ce013625030ba8dba906f756967f9e9ca394464a")
        let long = try PackBuilder.id(.blob, hello, .sha256).description
        #expect(long.hasPrefix("2cf8d83d"))
        #expect(long.hasSuffix("ebb4"))
        #expect(
            try PackBuilder.id(.tree, []).description == "4b825dc642cb6eb9a060e54bf8d69288fbee4904")
    }

    @Test(arguments: [
        "ce013625030ba8dba906f756967f9e9ca394464a", "CE013625030BA8DBA906F756967F9E9CA394464A",
        String(repeating: "0", count: 64),
    ])
    func hexIsReadAndPrinted(_ hex: String) throws {
        let id = try #require(ObjectID(hex: hex))
        #expect(id.description == hex.lowercased())
        #expect(id.format == (hex.count == 40 ? .sha1 : .sha256))
        #expect(id.bytes.count == id.format.byteCount)
        #expect(ObjectID(id.bytes[...], id.format) == id)
    }

    @Test(arguments: [
        "", "ce01", String(repeating: "0", count: 39), String(repeating: "0", count: 41),
        String(repeating: "0", count: 63), "+" + String(repeating: "0", count: 39),
        "g" + String(repeating: "0", count: 39), String(repeating: "0", count: 39) + "\n",
        "0x" + String(repeating: "0", count: 38),
    ])
    func otherHexIsNoID(_ hex: String) { #expect(ObjectID(hex: hex) == nil) }

    // MARK: Paths

    @Test func aPathIsBounded() throws {
        var path = TreePath()
        for depth in 0..<TreePath.depthMax {
            try path.enter(pathBytes: 2 * depth, treeBytes: 30)
        }
        #expect(throws: FetchError.self) { try path.enter(pathBytes: 9000, treeBytes: 0) }
        path.leave()
        #expect(path.pathBytes == 2 * (TreePath.depthMax - 2))
        let most = TreePath.pathBytesMax
        #expect(throws: FetchError.self) { try path.enter(pathBytes: most + 1, treeBytes: 0) }
        let left = TreePath.treeBytesMax - 30 * (TreePath.depthMax - 1)
        #expect(throws: FetchError.self) { try path.enter(pathBytes: most, treeBytes: left + 1) }
        try path.enter(pathBytes: most, treeBytes: left)
    }

    @Test func aNameIsThereOnce() throws {
        func count(_ names: [String], most: Int = 10) throws -> Int {
            let tree = names.flatMap { Self.entry($0, Self.sha1) }
            return try TreeCursor(tree[...], .sha1).countDistinct(atMost: most)
        }
        #expect(try count([]) == 0)
        #expect(try count(["100644 a", "100644 a.b", "40000 ab", "40000 b"]) == 4)
        #expect(try count(["100644 a", "100644 b", "100644 c"], most: 2) == 2)
        for names in [
            ["100644 a", "100644 a"], ["120000 a", "40000 a"],
            ["120000 a", "100644 a.b", "40000 a"], ["40000 a", "100644 b", "100644 a"],
        ] {
            let error = #expect(throws: FetchError.self) { try count(names) }
            #expect(error?.outcome == .protocolError)
        }
    }

    // MARK: Trees

    @Test(arguments: ObjectFormat.allCases)
    func aTreeHasItsEntries(_ format: ObjectFormat) throws {
        let id = format == .sha1 ? Self.sha1 : Self.sha256
        let tree = [
            "100644 a file", "40000 dir", "100755 run", "120000 link", "160000 module",
            "040000 old", "100664 group", "100644 .gitignore", "100644 ...",
        ].flatMap { Self.entry($0, id) }
        let entries = try TreeCursor(tree[...], format).entries()
        #expect(
            entries.map { String(decoding: $0.name, as: UTF8.self) } == [
                "a file", "dir", "run", "link", "module", "old", "group", ".gitignore", "...",
            ])
        #expect(
            entries.map(\.kind) == [
                .file, .directory, .executable, .symbolicLink, .submodule, .directory, .file, .file,
                .file,
            ])
        #expect(entries.allSatisfy { $0.id == ObjectID(id, format) })
        #expect(entries[0].mode == 0o100644)
        #expect(try TreeCursor([], format).entries().isEmpty)
    }

    @Test func aCutTreeIsAnError() throws {
        let one = Self.entry("100644 a", Self.sha1)
        let tree = one + Self.entry("40000 b", Self.sha1)
        for count in 1..<tree.count where count != one.count {
            let error = #expect(throws: FetchError.self, "\(count)") {
                try TreeCursor(tree[..<count], .sha1).entries()
            }
            #expect(error?.outcome == .protocolError)
        }
    }

    @Test(arguments: [
        "100644 ", "100644 .", "100644 ..", "100644 a/b", "100644 /", "100644", "", " a",
        "10064 a", "0 a", "100648 a", "1006440 a", "+100644 a", "100644\ta", "00000000100644 a",
        "777777 a", "abc a", "1100644 a",
    ])
    func aMalformedEntryIsAnError(_ entry: String) {
        let tree = Self.entry("100644 good", Self.sha1) + Self.entry(entry, Self.sha1)
        let error = #expect(throws: FetchError.self) { try TreeCursor(tree[...], .sha1).entries() }
        #expect(error?.outcome == .protocolError)
    }

    static let hex = "ce013625030ba8dba906f756967f9e9ca394464a"

    static func object(_ type: ObjectType, _ text: String) throws -> PackObject {
        PackObject(
            id: try #require(ObjectID(hex: hex)), type: type, content: Array(text.utf8))
    }

    @Test func aCommitNamesItsTree() throws {
        let commit = "tree \(Self.hex)\nparent \(Self.hex)\nauthor A <a@b> 1 +0000\n\ntext\n"
        #expect(
            try Self.object(.commit, commit).target()?.description == Self.hex)
    }

    @Test(arguments: [
        "", "tree", "tree \(hex)", "tree  \(hex)\n", "parent \(hex)\ntree \(hex)\n",
        "tree \(hex)0\n", "tree \(hex) \n", "tree\n\(hex)\n", "Tree \(hex)\n",
        "tree " + String(repeating: "0", count: 64) + "\n",
    ])
    func anotherBeginningIsNoCommit(_ commit: String) {
        let error = #expect(throws: FetchError.self) {
            try Self.object(.commit, commit).target()
        }
        #expect(error?.outcome == .protocolError)
    }

    @Test func aTagNamesItsObject() throws {
        for type in ObjectType.allCases {
            let tag = "object \(Self.hex)\ntype \(type.name)\ntag v1\ntagger A\n\nx"
            let target = try Self.object(.tag, tag).target()
            #expect(target?.description == Self.hex)
        }
    }

    @Test(arguments: [
        "", "object \(hex)\n", "object \(hex)\ntype\n", "object \(hex)\ntype commit",
        "object \(hex)\ntype commits\n", "type commit\nobject \(hex)\n",
        "object \(hex)\n\ntype commit\n",
    ])
    func anotherBeginningIsNoTag(_ tag: String) {
        let error = #expect(throws: FetchError.self) {
            try Self.object(.tag, tag).target()
        }
        #expect(error?.outcome == .protocolError)
    }
}
