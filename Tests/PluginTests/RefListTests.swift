// SPDX-License-Identifier: MIT
@testable internal import GitPlugin
internal import SmallWebCore
internal import SmallWebTestSupport
internal import Testing

/// Lines about references, in and out.
@Suite struct RefListTests {
    static let one = String(repeating: "1a", count: 20)
    static let two = String(repeating: "2b", count: 20)
    static let long = String(repeating: "3c", count: 32)

    /// A server that has said this with its first reference.
    static func server(_ capabilities: String, version: Int = 0) throws -> Advertisement {
        var server = Advertisement()
        if version == 2 { _ = try server.take(.data(Array("version 2".utf8)[...])) }
        let line = version == 2 ? capabilities : "\(one) HEAD\0\(capabilities)"
        _ = try server.take(.data(Array(line.utf8)[...]))
        return server
    }

    struct Listing: Equatable {
        var text = ""
        var refs: [Ref] = []
    }

    static func plain(
        _ lines: [String], _ query: RefQuery = RefQuery(), capabilities: String = "x"
    ) throws -> Listing {
        var list = RefList(query, wantsRefs: true, try server(capabilities))
        for line in lines { try list.add(plain: Array(line.utf8)[...]) }
        list.finish()
        let (text, refs) = list.take()
        return Listing(text: String(decoding: text, as: UTF8.self), refs: refs)
    }

    static func attributed(
        _ lines: [String], _ query: RefQuery = RefQuery(), capabilities: String = "x"
    ) throws -> Listing {
        let server = try server(capabilities, version: 2)
        var list = RefList(query, wantsRefs: true, server)
        for line in lines {
            list.add(try RefLine(attributed: Array(line.utf8)[...], server.format))
        }
        list.finish()
        let (text, refs) = list.take()
        return Listing(text: String(decoding: text, as: UTF8.self), refs: refs)
    }

    static let sample = Listing(
        text: """
            ref: refs/heads/main\tHEAD
            \(one)\tHEAD
            \(one)\trefs/heads/main
            \(two)\trefs/tags/light
            \(two)\trefs/tags/v1
            \(one)\trefs/tags/v1^{}

            """,
        refs: [
            Ref(name: "HEAD", oid: one, symref: "refs/heads/main"),
            Ref(name: "refs/heads/main", oid: one), Ref(name: "refs/tags/light", oid: two),
            Ref(name: "refs/tags/v1", oid: two, peeled: one),
        ])

    static let withSymrefs: RefQuery = {
        var query = RefQuery()
        query.showsSymrefs = true
        return query
    }()

    @Test func everyVersionMakesTheSameOfTheSame() throws {
        let plain = try Self.plain(
            [
                "\(Self.one) HEAD", "\(Self.one) refs/heads/main", "\(Self.two) refs/tags/light",
                "\(Self.two) refs/tags/v1", "\(Self.one) refs/tags/v1^{}",
            ], Self.withSymrefs, capabilities: "symref=HEAD:refs/heads/main")
        #expect(plain == Self.sample)
        let attributed = try Self.attributed(
            [
                "\(Self.one) HEAD symref-target:refs/heads/main", "\(Self.one) refs/heads/main",
                "\(Self.two) refs/tags/light", "\(Self.two) refs/tags/v1 peeled:\(Self.one)",
            ], Self.withSymrefs)
        #expect(attributed == Self.sample)
    }

    @Test func symrefsAreShownOnlyWhenWanted() throws {
        let lines = ["\(Self.one) HEAD symref-target:refs/heads/main"]
        #expect(try Self.attributed(lines).text == "\(Self.one)\tHEAD\n")
        #expect(try Self.attributed(lines).refs[0].symref == "refs/heads/main")
    }

    @Test(arguments: [
        "peeled:\(one) symref-target:refs/x", "symref-target:refs/x peeled:\(one)",
        "new:thing symref-target:refs/x other peeled:\(one)",
        " peeled:\(one)  symref-target:refs/x ",
    ])
    func attributesComeInAnyOrder(_ attributes: String) throws {
        let refs = try Self.attributed(["\(Self.two) refs/y \(attributes)"]).refs
        #expect(refs == [Ref(name: "refs/y", oid: Self.two, symref: "refs/x", peeled: Self.one)])
    }

    @Test func anUnbornBranchIsNoReference() throws {
        let lines = ["unborn HEAD symref-target:refs/heads/main", "\(Self.one) refs/heads/x"]
        #expect(try Self.attributed(lines).refs == [Ref(name: "refs/heads/x", oid: Self.one)])
        let line = try RefLine(attributed: Array(lines[0].utf8)[...], .sha1)
        #expect(line.oid == nil)
        #expect(line.symref.map { String(decoding: $0, as: UTF8.self) } == "refs/heads/main")
    }

    @Test func aPeeledLineBelongsToTheTagBefore() throws {
        // To no tag, to another one, and a second time.
        let lines = [
            "\(Self.one) a^{}", "\(Self.one) b", "\(Self.two) c^{}", "\(Self.one) d",
            "\(Self.two) d^{}", "\(Self.one) d^{}",
        ]
        let list = try Self.plain(lines)
        #expect(list.refs.map(\.name) == ["a^{}", "b", "c^{}", "d", "d^{}"])
        #expect(list.refs.map(\.peeled) == [nil, nil, nil, Self.two, nil])
        #expect(list.text.split(separator: "\n").count == 6)
    }

    @Test func idsAreAsLongAsTheRepositorySays() throws {
        let lines = ["\(Self.long) HEAD"]
        let found = try Self.attributed(lines, capabilities: "object-format=sha256").refs
        #expect(found == [Ref(name: "HEAD", oid: Self.long)])
        #expect(try Self.plain(lines, capabilities: "object-format=sha256").refs == found)
        #expect(throws: FetchError.self) { try Self.attributed(lines) }
        #expect(throws: FetchError.self) {
            try Self.attributed(["\(Self.one) HEAD"], capabilities: "object-format=sha256")
        }
    }

    /// ``Ref/oid`` promises it.
    @Test func idsAreGivenOutInLowerCase() throws {
        let line = "\(Self.one.uppercased()) refs/y"
        let expected = [Ref(name: "refs/y", oid: Self.one)]
        #expect(try Self.plain([line]).refs == expected)
        #expect(try Self.attributed([line]).refs == expected)
        let peeled = try Self.attributed(["\(line) peeled:\(Self.two.uppercased())"])
        #expect(peeled.refs[0].peeled == Self.two)
        #expect(peeled.text == "\(Self.one)\trefs/y\n\(Self.two)\trefs/y^{}\n")
    }

    @Test(arguments: [
        "", " ", "  ", "x", "\(one)", "\(one) ", " HEAD", "\(one)  HEAD", "\(one)\tHEAD",
        "\(one)0 HEAD", "\(one.dropLast()) HEAD", "g\(one.dropLast()) HEAD", "+\(one.dropLast()) a",
        "\(one) a\nb", "\(one) a\rb", "\(one) a\tb", "\(one) a\u{7F}", "\(one) \0", "\(one) a\0b",
        "\(one) \u{1B}[31m", "unborn", "unborn ", "UNBORN HEAD", "\(long) HEAD",
        "ref: refs/heads/main HEAD",
    ])
    func aMalformedLineIsAnError(_ line: String) {
        let bytes = Array(line.utf8)[...]
        #expect(throws: FetchError.self) { try RefLine(plain: bytes, .sha1) }
        #expect(throws: FetchError.self) { try RefLine(attributed: bytes, .sha1) }
        // Also as a part of a packet, whose indices do not begin at 0.
        let part = ([0, 0, 0, 0] + bytes)[4...]
        #expect(throws: FetchError.self) { try RefLine(plain: part, .sha1) }
        #expect(throws: FetchError.self) { try RefLine(attributed: part, .sha1) }
    }

    @Test(arguments: [
        "peeled:", "peeled:x", "peeled:\(one)0", "peeled:\(long)", "peeled:\(one)\n",
        "symref-target:", "symref-target:a\nb", "symref-target:a\tb", "symref-target:\u{7F}",
    ])
    func aMalformedAttributeIsAnError(_ attribute: String) {
        let line = Array("\(Self.one) refs/x \(attribute)".utf8)[...]
        let error = #expect(throws: FetchError.self) { try RefLine(attributed: line, .sha1) }
        #expect(error?.outcome == .protocolError)
    }

    @Test func onlyAttributedLinesHaveSpaces() {
        #expect(throws: FetchError.self) { try Self.plain(["\(Self.one) HEAD peeled:\(Self.one)"]) }
    }

    /// Before version 2 the target comes in the capabilities, with bytes that have not been
    /// checked.
    @Test(arguments: ["a\nb", "a\tHEAD\n\(two)\trefs/heads/evil", "a\rb", "\u{1B}[2J", "a\u{7F}"])
    func aSymrefNeverMakesALineOfItsOwn(_ target: String) throws {
        let lines = ["\(Self.one) HEAD", "\(Self.one) refs/heads/main"]
        let list = try? Self.plain(lines, Self.withSymrefs, capabilities: "symref=HEAD:\(target)")
        guard let list else { return }
        #expect(list.text == "\(Self.one)\tHEAD\n\(Self.one)\trefs/heads/main\n")
        #expect(list.refs.allSatisfy { $0.symref == nil })
    }

    @Test func whatIsNotWantedIsLeftOut() throws {
        func names(heads: Bool, tags: Bool, _ patterns: String...) throws -> [String] {
            var query = RefQuery()
            query.onlyHeads = heads
            query.onlyTags = tags
            query.patterns = patterns
            let list = try Self.attributed(
                [
                    "\(Self.one) HEAD", "\(Self.one) refs/heads/main", "\(Self.one) refs/heads/v1",
                    "\(Self.two) refs/tags/v1 peeled:\(Self.one)", "\(Self.one) refs/notes/v1",
                ], query)
            return list.text.split(separator: "\n").map { String($0.split(separator: "\t")[1]) }
        }
        #expect(try names(heads: true, tags: false) == ["refs/heads/main", "refs/heads/v1"])
        #expect(try names(heads: false, tags: true) == ["refs/tags/v1", "refs/tags/v1^{}"])
        #expect(try names(heads: true, tags: true).count == 4)
        #expect(try names(heads: false, tags: false, "main") == ["refs/heads/main"])
        #expect(
            try names(heads: false, tags: false, "v1")
                == ["refs/heads/v1", "refs/tags/v1", "refs/notes/v1"])
        #expect(try names(heads: true, tags: false, "v1", "HEAD") == ["refs/heads/v1"])
        #expect(try names(heads: false, tags: false, "v1^{}") == ["refs/tags/v1^{}"])
        #expect(try names(heads: false, tags: false, "HEAD", "m*n") == ["HEAD", "refs/heads/main"])
        #expect(try names(heads: false, tags: false, "ain").isEmpty)
        #expect(try names(heads: false, tags: false, "").isEmpty)
    }

    @Test func theServerIsAskedForWhatIsWanted() throws {
        func request(_ prefixes: [String], symrefs: Bool, _ capabilities: String) throws -> String {
            String(
                decoding: try RefList.request(
                    prefixes: prefixes, symrefs: symrefs,
                    Self.server(capabilities, version: 2)), as: UTF8.self)
        }
        #expect(
            try request([], symrefs: false, "ls-refs") == "0014command=ls-refs\n00010009peel\n0000")
        #expect(
            try request(["refs/heads/"], symrefs: true, "agent=x")
                == "0014command=ls-refs\n0013agent=smallweb\n00010009peel\n000csymrefs\n"
                + "001bref-prefix refs/heads/\n0000")
        #expect(
            try request([], symrefs: false, "object-format=sha256")
                == "0014command=ls-refs\n0019object-format=sha256\n00010009peel\n0000")
    }

    /// Any bytes: an error, or lines that nobody can mistake.
    @Test func anyLineIsRefusedOrWritesWholeLines() throws {
        var random = SeededGenerator(seed: 22)
        var kept = 0
        for _ in 0..<5_000 {
            var line = random.bytes(upTo: 30, alphabet: "   \n\t\r:/refsHEAD^{}peeled\0")
            if random.next() % 4 > 0 { line = Array("\(Self.one) a".utf8) + line }
            if random.next() % 4 == 0 { line += Array(" peeled:\(Self.two)".utf8) }
            for isPlain in [true, false] {
                var list = RefList(RefQuery(), wantsRefs: true, try Self.server("x"))
                do throws(FetchError) {
                    if isPlain {
                        try list.add(plain: line[...])
                    } else {
                        list.add(try RefLine(attributed: line[...], .sha1))
                    }
                } catch {
                    continue
                }
                list.finish()
                let (text, refs) = list.take()
                guard let ref = refs.first else { continue }
                kept += 1
                let lines = text.split(separator: ASCII.lineFeed, omittingEmptySubsequences: false)
                #expect(lines.count == (ref.peeled == nil ? 2 : 3))
                #expect(lines.last?.isEmpty == true)
                for line in lines.dropLast() {
                    #expect(line.count { $0 == ASCII.tab } == 1)
                    #expect(line.firstIndex(of: ASCII.tab) == line.startIndex + 40)
                    #expect(line.allSatisfy { $0 == ASCII.tab || $0 > 0x20 && $0 != 0x7F })
                }
            }
        }
        #expect(kept > 500)
    }
}
