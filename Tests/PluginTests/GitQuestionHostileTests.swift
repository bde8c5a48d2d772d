// SPDX-License-Identifier: MIT
@testable internal import GitPlugin
internal import SmallWebCore
internal import SmallWebTestSupport
internal import SmallWebTesting
internal import Testing

/// Servers that lie about archives, logs, names of versions and differences.
@Suite struct GitQuestionHostileTests {
    static let queries = [
        "//?tar", "//dir?tar", "?log&n=3", "?log=v1..", "?log&path=file", "?describe=HEAD&tags=1",
        "?diff=v1..", "?diff=v1..&patch=1", "?refs&dates=1",
    ]

    /// Two versions of a few files; the first has a tag.
    static let git: FakeGit = {
        var git = FakeGit()
        let (one, other) = (git.add(.blob, "one\n"), git.add(.blob, "other\n"))
        let folder = git.addTree([("100644 a", one)])
        let first = git.addCommit(
            0, tree: git.addTree([("40000 dir", folder), ("100644 file", one)]), parents: [])
        let second = git.addCommit(
            1, tree: git.addTree([("40000 dir", folder), ("100644 file", other)]),
            parents: [first])
        git.refs =
            pkt("\(second) HEAD\n") + pkt("\(first) refs/heads/v1\n")
            + pkt("\(first) refs/tags/v1\n") + gitFlush
        return git
    }()

    /// The server, whose replies to fetch `change` gets, with their numbers.
    static func play(
        _ query: String, _ git: FakeGit = git,
        _ change: @escaping (Int, GitAnswer) -> GitAnswer = { $1 }
    ) async -> GitPlayed {
        var number = -1
        return await playGit("git://h.test/r\(query)") { request in
            let answer = git.answerAll(request)
            guard String(decoding: request, as: UTF8.self).contains("command=fetch") else {
                return answer
            }
            number += 1
            return change(number, answer)
        }
    }

    /// The number of fetches that a query takes.
    static func fetches(_ query: String) async -> Int {
        let played = await play(query)
        #expect(played.isTaken, "\(query): \(String(describing: played.error))")
        return played.requests.count {
            String(decoding: $0, as: UTF8.self).contains("command=fetch")
        }
    }

    @Test(arguments: queries)
    func noneOfWhatIsWantedIsAFault(_ query: String) async {
        for stage in 0..<(await Self.fetches(query)) {
            let played = await Self.play(query) { number, answer in
                number == stage ? GitAnswer(FakeGit.packReply(Self.git.pack([]))) : answer
            }
            // An empty pack is a valid reply if there are no new commits.
            if query == "?log=v1.." && played.isTaken && played.body.isEmpty { continue }
            #expect(played.error?.outcome == .protocolError, "fetch \(stage)")
            #expect(played.body.isEmpty)
        }
    }

    @Test(arguments: queries)
    func anotherContentIsAFault(_ query: String) async {
        let others = Self.git.objects.map { (id: $0, type: $1.type, content: $1.content) }
        for stage in 0..<(await Self.fetches(query)) {
            let played = await Self.play(query) { number, answer in
                guard number == stage else { return answer }
                var builder = PackBuilder()
                for object in others { builder.add(object.type, object.content + [0x20]) }
                return GitAnswer(FakeGit.packReply((try? builder.pack()) ?? []))
            }
            if query == "?log=v1.." && played.isTaken && played.body.isEmpty { continue }
            #expect(played.error?.outcome == .protocolError, "fetch \(stage)")
            #expect(played.body.isEmpty)
        }
    }

    /// All objects of the repository come in each reply.
    @Test(arguments: queries)
    func whatWasNotAskedForChangesNothing(_ query: String) async {
        let whole = await Self.play(query)
        let all = Self.git.pack(Self.git.objects.keys.sorted())
        let played = await Self.play(query) { _, answer in
            // One object alone is asked for where its reply may have no other.
            let isPack = answer.bytes.count > 0
            return isPack ? GitAnswer(FakeGit.packReply(all)) : answer
        }
        #expect(played.isTaken && played.body == whole.body)
    }

    @Test(arguments: queries)
    func aRefusalInTheMiddleIsNeverTaken(_ query: String) async {
        for stage in 0..<(await Self.fetches(query)) {
            for refusal in [pkt("ERR disk \u{1B}[31m"), band(3, Array("disk \u{1B}[31m".utf8))] {
                let played = await Self.play(query) { number, answer in
                    guard number == stage else { return answer }
                    // Behind the announcement of the pack and some of its bytes.
                    let begun = pkt("packfile\n") + band(1, Array("PACK\0\0".utf8))
                    return GitAnswer(begun + refusal, close: .fin)
                }
                #expect(played.outcome == .permanentFailure, "fetch \(stage)")
                #expect(played.body.isEmpty)
            }
        }
    }

    @Test(arguments: queries)
    func whatIsForPeopleChangesNothing(_ query: String) async {
        let whole = await Self.play(query)
        let played = await Self.play(query) { _, answer in
            let text = band(2, Array("\u{1B}]0;title\u{7}\u{1B}[2J\r".utf8))
            let bytes = answer.bytes
            guard let start = bytes.firstRange(of: pkt("packfile\n"))?.upperBound else {
                return answer
            }
            return GitAnswer(Array(bytes[..<start]) + text + text + Array(bytes[start...]))
        }
        #expect(played.isTaken && played.body == whole.body && played.notes == whole.notes)
    }

    @Test(arguments: queries)
    func countsThatLieAreAFault(_ query: String) async {
        for stage in 0..<(await Self.fetches(query)) {
            for count in [0, 1, 200] as [UInt8] {
                var isOther = false
                let played = await Self.play(query) { number, answer in
                    guard number == stage, let start = answer.bytes.firstRange(of: "PACK".utf8)
                    else { return answer }
                    var bytes = answer.bytes
                    guard bytes[start.lowerBound + 11] != count else { return answer }
                    bytes[start.lowerBound + 11] = count
                    isOther = true
                    return GitAnswer(bytes)
                }
                let isFault = [.protocolError, .truncated].contains(played.error?.outcome)
                #expect(isFault == isOther, "fetch \(stage), \(count) objects")
            }
        }
    }

    /// A blob or a tree where a commit is meant.
    @Test func anotherObjectIsNoVersion() async {
        let blob = Self.git.objects.first { $0.value.type == .blob }?.key ?? ""
        for query in ["?log=\(blob)", "?describe=\(blob)", "?diff=\(blob)..", "?tar&ref=\(blob)"] {
            let played = await Self.play(query)
            #expect(played.outcome == .permanentFailure, "\(query)")
            #expect(played.body.isEmpty)
        }
    }

    /// gitrevisions(7): the tag counts.
    @Test func aTagComesBeforeABranchOfItsName() async {
        var git = Self.git
        let head = git.refs
        let branch = git.addCommit(2, tree: git.addTree([]), parents: [])
        git.refs = pkt("\(branch) refs/heads/v1\n") + head
        let played = await Self.play("?log=v1", git)
        #expect(played.text.hasSuffix("\tnumber 0\n"))
        let other = await Self.play("?log=heads/v1", git)
        #expect(other.isTaken)
    }

    @Test(arguments: [false, true])
    func aLongMessageIsOneLine(_ isSubject: Bool) async {
        var git = FakeGit()
        let tree = git.addTree([])
        let text =
            (isSubject ? "" : "subject\n\n") + String(repeating: "0123456789", count: 1 << 16)
        let commit = git.add(
            .commit,
            "tree \(tree)\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\n\(text)\n")
        git.refs = pkt("\(commit) HEAD\n") + gitFlush
        let line = await Self.play("?log", git)
        #expect(line.isTaken && line.body.count { $0 == ASCII.lineFeed } == 1)
        #expect((line.body.count > 10 << 16) == isSubject)
        let full = await Self.play("?log&format=full", git)
        #expect(full.isTaken && full.body.count > 10 << 16)
    }

    // MARK: Small packs of large things

    /// A repository with two versions, of these trees.
    private static func repository(
        _ make: (inout FakeGit) -> (old: ObjectID, new: ObjectID)
    ) -> FakeGit {
        var git = FakeGit()
        let trees = make(&git)
        let first = git.addCommit(0, tree: trees.old, parents: [])
        let second = git.addCommit(1, tree: trees.new, parents: [first])
        git.refs = pkt("\(second) HEAD\n") + pkt("\(first) refs/tags/v1\n") + gitFlush
        return git
    }

    /// Each directory adds its name to the paths of all that is in it.
    @Test(arguments: ["?tar", "?diff=v1..", "?diff=v1..&patch=1"])
    func aLongPathIsRefused(_ query: String) async {
        for (depth, isTaken) in [(15, true), (17, false)] {
            let git = Self.repository { git in
                let trees = ["x", "y"].map { text in
                    var tree = git.addTree([("100644 f", git.add(.blob, text))])
                    for _ in 0..<depth {
                        tree = git.addTree([("40000 \(String(repeating: "d", count: 1000))", tree)])
                    }
                    return tree
                }
                return (trees[0], trees[1])
            }
            let played = await Self.play(query, git)
            #expect(played.isTaken == isTaken)
            if !isTaken { #expect(played.error?.outcome == .tooLarge && played.body.isEmpty) }
        }
    }

    @Test(arguments: [
        ["120000 a", "40000 a"], ["120000 a", "100644 a.b", "40000 a"], ["100644 a", "100644 a"],
    ])
    func anArchiveHasEachNameOnce(_ names: [String]) async {
        let git = Self.repository { git in
            let file = git.add(.blob, "/tmp")
            let folder = git.addTree([("100644 f", file)])
            let inner = git.addTree(names.map { ($0, $0.hasPrefix("4") ? folder : file) })
            let tree = git.addTree([("40000 d", inner)])
            return (tree, tree)
        }
        for query in ["?tar", "//d?tar"] {
            let played = await Self.play(query, git)
            #expect(played.error?.outcome == .protocolError && played.body.isEmpty)
        }
    }

    /// A message of a megabyte, which a file of two hundred bytes names sixty-five times.
    @Test func whatAnArchivePutsIntoFilesIsBounded() async {
        let git = Self.repository { git in
            let file = git.add(.blob, "$Format:\(String(repeating: "%B", count: 65))$")
            let attributes = git.add(.blob, "a export-subst\n")
            let tree = git.addTree([("100644 .gitattributes", attributes), ("100644 a", file)])
            return (tree, tree)
        }
        var long = git
        let tree = git.objects.first { $0.value.type == .tree }?.key ?? ""
        // The NUL ends it for Git, so that no time is needed to copy it.
        let message = "\0" + String(repeating: "x", count: 1 << 20)
        let who = "A <a@b> 1 +0000"
        let commit = long.add(
            .commit, "tree \(tree)\nauthor \(who)\ncommitter \(who)\n\n\(message)")
        long.refs = pkt("\(commit) HEAD\n") + gitFlush
        let played = await Self.play("?tar", long)
        #expect(played.error?.outcome == .tooLarge && played.body.isEmpty)
        let short = await Self.play("?tar", git)
        #expect(short.isTaken)
    }

    /// As one file, and as two whose lines count together.
    @Test(arguments: [[5], [3, 3]])
    func attributesAreBounded(_ megabytes: [Int]) async {
        let git = Self.repository { git in
            var tree = git.addTree([("100644 f", git.add(.blob, "x"))])
            for (count, letter) in zip(megabytes, "ab") {
                let text = "#" + String(repeating: letter, count: count << 20)
                let attributes = git.add(.blob, text)
                tree = git.addTree([("100644 .gitattributes", attributes), ("40000 d", tree)])
            }
            return (tree, tree)
        }
        let played = await Self.play("?tar", git)
        #expect(played.error?.outcome == .tooLarge)
    }

    /// Patches of files and matching with attributes take time: a deadline cancels in between.
    @Test(arguments: ["?tar", "?diff=v1..&patch=1"])
    func aCancelledFetchEndsBetweenFiles(_ query: String) async {
        let git = Self.repository { git in
            let attributes = git.add(.blob, "#" + String(repeating: "x", count: 200_000))
            let trees = ["x", "y"].map { text in
                git.addTree([
                    ("100644 .gitattributes", attributes), ("100644 f", git.add(.blob, text)),
                ])
            }
            return (trees[0], trees[1])
        }
        // A task of its own: the test's must go on.
        let played = await Task {
            await Self.play(query, git) { _, answer in
                withUnsafeCurrentTask { $0?.cancel() }
                return answer
            }
        }.value
        #expect(played.error == .cancelled && played.completeness == nil)
    }

    /// Each line takes some hundred bytes of memory, and may be of one byte.
    @Test func filesOfManyLinesAreNamedOnly() throws {
        let sides = try ["0", "1"].map {
            let id = try #require(ObjectID(hex: String(repeating: $0, count: 40)))
            return TreeChange.Side(
                TreeEntry(mode: 0o100644, kind: .file, name: Array("f".utf8)[...], id: id))
        }
        let change = TreeChange(path: Array("f".utf8), old: sides[0], new: sides[1])
        let half = [UInt8](repeating: ASCII.lineFeed, count: FilePatch.linesMax / 2)
        let patch = FilePatch(change, half, half + [ASCII.lineFeed])
        let text = String(decoding: try patch.text(), as: UTF8.self)
        #expect(text.hasSuffix("\nBinary files a/f and b/f differ\n"))
    }
}
