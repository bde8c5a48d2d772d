// SPDX-License-Identifier: MIT
@testable internal import GitPlugin
internal import SmallWebCore
internal import SmallWebTesting
internal import Testing

/// Differences between two versions, over git://.
@Suite struct GitDifferenceTests {
    static let git: FakeGit = {
        var git = FakeGit()
        let (one, other) = (git.add(.blob, "one\n"), git.add(.blob, "other\n"))
        let inner = git.addTree([("100644 a", one), ("100644 b", one)])
        let changed = git.addTree([("100644 a", one), ("100755 b", one), ("100644 c\nd", one)])
        let first = git.addCommit(
            0,
            tree: git.addTree([
                ("40000 dir", inner), ("100644 file", one), ("100644 gone", one),
                ("100644 link", one), ("40000 same", inner), ("100644 x", one),
            ]), parents: [])
        let second = git.addCommit(
            1,
            tree: git.addTree([
                ("40000 dir", changed), ("100644 file", other), ("120000 link", other),
                ("40000 same", inner), ("40000 x", inner),
            ]), parents: [first])
        git.refs = pkt("\(second) HEAD\n") + pkt("\(first) refs/tags/v1\n") + gitFlush
        return git
    }()

    static func play(
        _ query: String, _ manner: GitPeer.Manner = GitPeer.Manner()
    ) async -> GitPlayed {
        await playGit("git://h.test/r\(query)", manner) { git.answerAll($0) }
    }

    @Test(arguments: [
        (
            "?diff=v1..",
            "M\tdir/b\nA\t\"dir/c\\nd\"\nM\tfile\nD\tgone\nT\tlink\nD\tx\nA\tx/a\nA\tx/b\n"
        ),
        ("?diff=v1..&path=dir", "M\tdir/b\nA\t\"dir/c\\nd\"\n"),
        ("?diff=v1..&path=x/&path=gone", "D\tgone\nD\tx\nA\tx/a\nA\tx/b\n"),
        ("?diff=v1..v1", ""), ("?diff=v1..HEAD&path=same", ""),
        ("?diff=..v1&path=link", "T\tlink\n"),
    ])
    func aDifferenceIsAListOfPaths(_ query: String, _ wanted: String) async {
        let played = await Self.play(query)
        #expect(played.isTaken)
        #expect(played.text == wanted)
        #expect(played.items.allSatisfy { $0.recordType == "change" })
        #expect(played.items.count == wanted.split(separator: "\n").count)
    }

    @Test func aRawLineHasModesAndIDs() async {
        let played = await Self.play("?diff=v1..&raw=1&path=gone")
        let zeros = String(repeating: "0", count: 40)
        let id = try? PackBuilder.id(.blob, Array("one\n".utf8)).description
        #expect(played.text == ":100644 000000 \(id ?? "") \(zeros) D\tgone\n")
    }

    @Test func aCutIsNeverTaken() async {
        let whole = await Self.play("?diff=v1..")
        let length = whole.requests.reduce(0) { $0 + Self.git.answerAll($1).bytes.count }
        for cut in stride(from: 0, to: length, by: 3) {
            let played = await Self.play("?diff=v1..", .init(cut: cut, cutClose: .fin))
            #expect(played.completeness == nil, "after \(cut)")
            #expect(played.body.isEmpty)
        }
    }

    /// Added files in one direction are the removed ones in the other, for any trees.
    @Test func bothWaysAreTheSame() async {
        let there = await Self.play("?diff=v1..HEAD")
        let back = await Self.play("?diff=HEAD..v1")
        let turned = back.text.map { $0 == "A" ? "D" : $0 == "D" ? "A" : $0 }
        #expect(String(turned) == there.text)
    }
}
