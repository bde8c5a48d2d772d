// SPDX-License-Identifier: MIT
@testable internal import GitPlugin
internal import SmallWebCore
internal import SmallWebTesting
internal import Testing

/// `VERSION^` and `VERSION~N`, as in gitrevisions(7).
@Suite struct AncestorTests {
    @Test(arguments: [
        ("v1^", "v1", [1]), ("v1~", "v1", [1]), ("v1^2", "v1", [2]), ("v1~3", "v1", [1, 1, 1]),
        ("HEAD^^", "HEAD", [1, 1]), ("a/b~2^3~1", "a/b", [1, 1, 3, 1]), ("v1^0", "v1", []),
        ("v1~0^", "v1", [1]),
    ])
    func isReadAsGitDoes(_ version: String, _ base: String, _ parents: [Int]) {
        let ancestor = Ancestor(version)
        #expect(ancestor?.base == base && ancestor?.parents == parents)
    }

    @Test(arguments: [
        "", "v1", "^", "~1", "^v1", "v1^{}", "v1^{tree}", "v1^x", "v1~1x", "v1^-1", "v1^ ", "v1~٣",
        "v1~100000", "v1~99999~1", "v1^99999999999999999999",
        "v1" + String(repeating: "^", count: 200_000),
    ])
    func isNothingElse(_ version: String) { #expect(Ancestor(version) == nil) }

    /// Two branches of two commits each, which a merge joins.
    private static let merge: (git: FakeGit, commits: [ObjectID]) = {
        var git = FakeGit()
        var commits: [ObjectID] = []
        func add(_ parents: Int...) {
            let number = commits.count
            let tree = git.addTree([("100644 file", git.add(.blob, "\(number)"))])
            commits.append(
                git.addCommit(number, tree: tree, parents: parents.map { commits[$0] }))
        }
        add()
        add(0)
        add(0)
        add(2)
        add(1, 3)
        git.refs =
            pkt("\(commits[4]) HEAD symref-target:refs/heads/main\n")
            + pkt("\(commits[4]) refs/heads/main\n") + gitFlush
        return (git, commits)
    }()

    @Test(arguments: [
        ("main^", 1), ("HEAD^2", 3), ("main^2~1", 2), ("main^2^", 2), ("main~2", 0), ("main~0", 4),
        ("main^2~2", 0), ("4^2", 3),
    ])
    func isTheCommitThatGitNames(_ version: String, _ number: Int) async {
        let (git, commits) = Self.merge
        let name = version.hasPrefix("4") ? "\(commits[4])\(version.dropFirst())" : version
        for manner in [GitPeer.Manner(), .init(step: 1)] {
            let file = await GitHistoryTests.play("//file?ref=\(name)", git, manner)
            #expect(file.isTaken && file.text == "\(number)", "\(file.error?.message ?? "")")
            let log = await GitHistoryTests.play("?log=\(name)&n=1", git, manner)
            #expect(log.isTaken && log.text.hasPrefix("\(commits[number])\t"))
        }
    }

    @Test func aRangeMayBeginAndEndThere() async {
        let (git, commits) = Self.merge
        let log = await GitHistoryTests.play("?log=main^..main", git)
        let ids = log.text.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
        #expect(Set(ids) == Set([4, 3, 2].map { "\(commits[$0])" }))
        let diff = await GitHistoryTests.play("?diff=main^..main", git)
        #expect(diff.isTaken && diff.text == "M\tfile\n")
    }

    @Test(arguments: [
        ("main^3", "has 2 parents"), ("main~3", "has no parent"), ("main~1^2", "has one parent"),
    ])
    func oneThatIsNotThereIsARefusal(_ version: String, _ words: String) async {
        for query in ["//file?ref=\(version)", "?log=\(version)", "?describe=\(version)"] {
            let played = await GitHistoryTests.play(query, Self.merge.git)
            #expect(played.outcome == .permanentFailure, "\(query)")
            let message = played.error?.message ?? ""
            #expect(message.hasSuffix(words), "\(query): \(message)")
        }
    }

    /// By a real server of each version.
    @Test(arguments: GitVersionTests.cases)
    func realServersSendIt(_ wanted: GitVersionTests.Case) async throws {
        for path in ["//README?ref=main^", "//README?ref=light~1", "//README?ref=HEAD^1~0"] {
            let played = try await GitVersionTests.play(path, wanted)
            guard wanted.version == 2 else {
                #expect(played.error?.outcome == .permanentFailure)
                #expect(played.error?.hint == "name a commit by its id")
                continue
            }
            #expect(played.text == "first\n", "\(path) \(played.error?.message ?? "")")
        }
    }
}
