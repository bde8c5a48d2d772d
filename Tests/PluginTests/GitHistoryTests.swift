// SPDX-License-Identifier: MIT
@testable internal import GitPlugin
internal import SmallWebCore
internal import SmallWebTestSupport
internal import SmallWebTesting
internal import Testing

extension FakeGit {
    /// As a server that filters by `tree:0` answers, and sends all that hangs together where that
    /// is not asked for.
    func answerAll(_ request: [UInt8]) -> GitAnswer {
        let lines = String(decoding: request, as: UTF8.self).split(separator: "\n").map(String.init)
        guard lines.contains(where: { $0.contains("command=fetch") }) else {
            return answer(request)
        }
        let wants = Self.ids(lines, "want ")
        let isFiltered = lines.contains { $0.hasSuffix("filter tree:0") }
        let depth = lines.lazy.compactMap { line in
            line.firstRange(of: "deepen ").flatMap { Int(line[$0.upperBound...]) }
        }.first
        var known: Set<String> = []
        collect(Self.ids(lines, "have "), depth: nil, isFiltered: false, into: &known)
        var found: Set<String> = []
        collect(wants, depth: depth, isFiltered: isFiltered, into: &found)
        return GitAnswer(Self.packReply(pack(found.subtracting(known).sorted())))
    }

    private static func ids(_ lines: [String], _ word: String) -> [String] {
        lines.compactMap { line in
            line.firstRange(of: word).map { String(line[$0.upperBound...].prefix(40)) }
        }
    }

    private func collect(
        _ ids: [String], depth: Int?, isFiltered: Bool, into found: inout Set<String>
    ) {
        var pending = ids.map { ($0, 1, true) }
        while let (id, level, isWanted) = pending.popLast() {
            guard let object = objects[id] else { continue }
            switch object.type {
            case .commit:
                found.insert(id)
                guard let commit = try? Commit(object) else { break }
                if level < depth ?? .max {
                    pending += commit.parents.map { ("\($0)", level + 1, false) }
                }
                if !isFiltered { pending.append(("\(commit.tree)", level, false)) }
            case .tag:
                found.insert(id)
                let target = try? object.target()
                if let target { pending.append(("\(target)", level, false)) }
            case .tree:
                // Follows each tree only once: nested trees would take for ever.
                guard found.insert(id).inserted, !isFiltered else { break }
                let entries = (try? object.tree.entries()) ?? []
                pending += entries.map { ("\($0.id)", level, false) }
            case .blob: if isWanted || !isFiltered { found.insert(id) }
            }
        }
    }

    mutating func addCommit(_ number: Int, tree: ObjectID, parents: [ObjectID]) -> ObjectID {
        let lines = parents.map { "parent \($0)\n" }.joined()
        let who = "A <a@b> \(1_700_000_000 + number) +0000"
        return add(
            .commit, "tree \(tree)\n\(lines)author \(who)\ncommitter \(who)\n\nnumber \(number)\n")
    }

    /// Fifty commits, one after the other, with an annotated tag at the fifth and at the last but
    /// two, and one that is not at the last but one.
    static let line: FakeGit = {
        var git = FakeGit()
        let tree = git.addTree([("100644 file", git.add(.blob, "hello\n"))])
        var commits: [ObjectID] = []
        for number in 0..<50 {
            commits.append(
                git.addCommit(number, tree: tree, parents: commits.suffix(1).map { $0 }))
        }
        func tag(_ name: String, _ number: Int) -> ObjectID {
            git.add(
                .tag,
                "object \(commits[number])\ntype commit\ntag \(name)\ntagger A <a@b> 1 +0000\n\nx\n"
            )
        }
        let (first, second) = (tag("v1", 4), tag("v2", 47))
        git.refs =
            pkt("\(commits[49]) HEAD symref-target:refs/heads/main\n")
            + pkt("\(commits[49]) refs/heads/main\n") + pkt("\(commits[48]) refs/tags/light\n")
            + pkt("\(first) refs/tags/v1 peeled:\(commits[4])\n")
            + pkt("\(second) refs/tags/v2 peeled:\(commits[47])\n") + gitFlush
        return git
    }()
}

/// Archives, logs and names of versions, over git://.
@Suite struct GitHistoryTests {
    static let git = FakeGit.line

    static func play(
        _ query: String, _ git: FakeGit = git, _ manner: GitPeer.Manner = GitPeer.Manner(),
        limits: Limits = Limits()
    ) async -> GitPlayed {
        await playGit("git://h.test/r\(query)", manner, limits: limits) { git.answerAll($0) }
    }

    // MARK: Logs

    @Test func aLogIsTheLatestCommits() async {
        let played = await Self.play("?log&n=3")
        #expect(played.isTaken)
        let lines = played.text.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines.first?.hasSuffix("\t2023-11-14T22:14:09+00:00\tA\tnumber 49") == true)
        #expect(played.items.map(\.recordType) == ["commit", "commit", "commit"])
        let requests = played.requests.map { String(decoding: $0, as: UTF8.self) }
        // Greeting, references, commits, farewell.
        #expect(requests.count == 4)
        #expect(requests[2].contains("deepen 3\n") && requests[2].contains("filter tree:0\n"))
    }

    @Test(arguments: [
        ("?log=v1..v2", 43), ("?log=v2..", 2), ("?log=..v2", 0), ("?log=v1..light", 44),
        ("?log", 50), ("?log&n=50", 50), ("?log&n=51", 50), ("?log=v1&n=9", 5),
    ])
    func aRangeIsWhatOneAddsToTheOther(_ query: String, _ count: Int) async {
        let played = await Self.play(query)
        #expect(played.isTaken)
        #expect(played.text.split(separator: "\n").count == count)
    }

    /// The server sends all, whatever it is told.
    @Test func whatIsKnownIsLeftOutHere() async {
        let played = await playGit("git://h.test/r?log=v1..v2") { request in
            var text = String(decoding: request, as: UTF8.self)
            if let have = text.firstRange(of: "have ") {
                text.removeSubrange(have.lowerBound..<text.index(have.lowerBound, offsetBy: 46))
            }
            return Self.git.answerAll(Array(text.utf8))
        }
        #expect(played.text.split(separator: "\n").count == 43)
    }

    // MARK: Names

    @Test(arguments: [
        ("?describe", "v2-2-g"), ("?describe&tags=1", "light-1-g"), ("?describe=v2", "v2\n"),
        ("?describe=v2&long=1", "v2-0-g"), ("?describe&abbrev=0", "v2\n"),
        ("?describe&match=v1", "v1-45-g"),
    ])
    func aVersionIsNamedByItsLatestTag(_ query: String, _ name: String) async {
        let played = await Self.play(query)
        #expect(played.isTaken)
        #expect(played.text.hasPrefix(name))
    }

    @Test(arguments: ["?describe&exact-match", "?describe&match=x*", "?describe=none", "?log=none"])
    func whatIsNotThereIsARefusal(_ query: String) async {
        let played = await Self.play(query)
        #expect(played.outcome == .permanentFailure)
        #expect(played.body.isEmpty)
    }

    // MARK: Dates

    @Test func referencesHaveTheDatesOfTagsAndCommits() async {
        let played = await Self.play("?refs&dates=1")
        #expect(played.isTaken)
        let lines = played.text.split(separator: "\n").map { $0.split(separator: "\t") }
        #expect(
            lines.map { String($0[1]) }.sorted() == [
                "HEAD", "refs/heads/main", "refs/tags/light", "refs/tags/v1", "refs/tags/v2",
            ])
        for line in lines {
            let isTag = line[1].hasSuffix("v1") || line[1].hasSuffix("v2")
            #expect(line[2].hasPrefix(isTag ? "1970-01-01T00:00:01Z" : "2023-11-14T22:1"))
        }
        #expect(played.refs.count == 5)
        #expect(played.refs.allSatisfy { $0.facts["date"] != nil && $0.time != nil })
        #expect(played.refs.allSatisfy { $0.url?.hasPrefix("git://h.test/r") == true })
    }

    // MARK: Archives

    @Test func anArchiveHasWhatTheTreeHas() async {
        let git = FakeGit.sample
        for path in ["//?tar", "?tar", "?tar&ref=v1"] {
            let played = await Self.play(path, git)
            #expect(played.isTaken)
            #expect(played.head?.mediaType?.essence == "application/x-tar")
            #expect(played.body.count == 10_240)
            #expect(played.body.starts(with: "pax_global_header".utf8))
        }
        let part = await Self.play("//dir?tar&prefix=p/&strip=1", git)
        #expect(part.body[1024...].starts(with: "p/\0".utf8))
        #expect(part.body[1536...].starts(with: "p/file\0".utf8))
        #expect(part.body[2048...].starts(with: "hello\n\0".utf8))
    }

    @Test func submodulesAreNamed() async {
        var git = FakeGit()
        let module = ObjectID([UInt8](repeating: 0xAB, count: 20), .sha1)
        let modules = git.add(.blob, "[submodule \"x\"]\npath = d/m\nurl = ../m.git\n")
        let folder = git.addTree([("160000 m", module), ("160000 n", module)])
        let commit = git.addCommit(
            tree: git.addTree([("100644 .gitmodules", modules), ("40000 d", folder)]))
        git.refs = pkt("\(commit) HEAD\n") + gitFlush
        let listed = ["../m.git", nil].enumerated().map { number, url in
            Facts.Value.object([
                "path": .text(number == 0 ? "d/m" : "d/n"), "url": Facts.Value(url),
                "oid": .text("\(module)"),
            ])
        }
        for path in ["?tar", "//d?tar"] {
            let played = await Self.play(path, git)
            #expect(played.isTaken)
            guard case .object(let facts)? = played.head?.facts["git"] else { continue }
            #expect(facts["submodules"] == .list(listed))
        }
        let played = await Self.play("//d", git)
        #expect(played.items.map(\.recordType) == ["entry", "entry"])
        #expect(
            played.items.map { $0.facts["submodule"] } == [.text("../m.git"), Facts.Value.none])
        #expect(played.items.allSatisfy { $0.facts["kind"] == .text("submodule") })
    }

    @Test(arguments: [".git", ".GIT", "a/b", "..", "."])
    func aNameThatLeadsOutIsAFault(_ name: String) async {
        var git = FakeGit()
        let inner = git.addTree([("100644 \(name)", git.add(.blob, "x"))])
        let commit = git.addCommit(tree: git.addTree([("40000 d", inner)]))
        git.refs = pkt("\(commit) HEAD\n") + gitFlush
        let played = await Self.play("?tar", git)
        #expect(played.error?.outcome == .protocolError)
        #expect(played.body.isEmpty)
    }

    @Test func whatIsMissingIsAFaultBeforeAByte() async {
        var git = FakeGit()
        let none = ObjectID([UInt8](repeating: 7, count: 20), .sha1)
        let commit = git.addCommit(
            tree: git.addTree([("100644 a", git.add(.blob, "x")), ("100644 b", none)]))
        git.refs = pkt("\(commit) HEAD\n") + gitFlush
        let played = await Self.play("?tar", git)
        #expect(played.error?.outcome == .protocolError)
        #expect(played.body.isEmpty)
    }

    /// A directory that has the same one a thousand times, and so on: more files than stars.
    @Test func aTreeThatGrowsIsBounded() async {
        var git = FakeGit()
        let file = git.add(.blob, "x")
        var tree = git.addTree((0..<1024).map { ("100644 \($0)", file) })
        for _ in 0..<4 {
            let inner = tree
            tree = git.addTree((0..<1024).map { ("40000 \($0)", inner) })
        }
        let commit = git.addCommit(tree: tree)
        git.refs = pkt("\(commit) HEAD\n") + gitFlush
        let played = await Self.play("?tar", git)
        #expect(played.error?.outcome == .tooLarge)
        #expect(played.body.isEmpty)
    }

    // MARK: However the bytes come

    static let queries = ["?log=v1..v2", "?describe", "//?tar"]

    @Test(arguments: queries)
    func meansTheSameInAnyPieces(_ query: String) async {
        let whole = await Self.play(query)
        for step in [1, 7, 100] {
            let pieced = await Self.play(query, Self.git, .init(step: step))
            #expect(GitContentTests.same(pieced, whole), "step \(step)")
        }
    }

    @Test(arguments: queries)
    func aCutIsNeverTaken(_ query: String) async {
        let whole = await Self.play(query)
        let length = whole.requests.reduce(0) { $0 + Self.git.answerAll($1).bytes.count }
        for cut in stride(from: 0, to: length, by: 11) {
            let played = await Self.play(query, Self.git, .init(cut: cut, cutClose: .fin))
            #expect(played.completeness == nil, "after \(cut)")
            #expect(
                played.error?.outcome == (cut == 0 ? .emptyReply : .truncated), "after \(cut)")
            #expect(played.body.isEmpty)
        }
    }
}
