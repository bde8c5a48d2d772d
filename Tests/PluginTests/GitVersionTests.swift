// SPDX-License-Identifier: MIT
@testable internal import GitPlugin
internal import SmallWebCore
internal import SmallWebTestSupport
internal import SmallWebTesting
internal import Testing

/// Real answers: every version of the protocol, with and without filters, in both formats.
@Suite struct GitVersionTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let version: Int
        let filters: Bool
        var format = ObjectFormat.sha1
        var testDescription: String { "version \(version), \(format), filters: \(filters)" }
    }

    static let cases = [
        Case(version: 0, filters: false), Case(version: 1, filters: false),
        Case(version: 2, filters: false), Case(version: 2, filters: true),
        Case(version: 0, filters: false, format: .sha256),
        Case(version: 2, filters: true, format: .sha256),
    ]

    static func play(
        _ path: String, _ wanted: Case, _ manner: GitPeer.Manner = GitPeer.Manner(),
        refs: RefQuery = RefQuery()
    ) async throws -> GitPlayed {
        let git = try UploadPack.shared(wanted.format)
        return await playGit("git://h.test/r" + path, manner, refs: refs) {
            git.answer($0, version: wanted.version, filters: wanted.filters)
        }
    }

    @Test(arguments: cases)
    func filesAreThoseThatWereAdded(_ wanted: Case) async throws {
        let expected = [
            "//README": "second\n", "//README?ref=main": "second\n",
            "//README?ref=v1": "first\n", "//README?ref=refs/tags/v1": "first\n",
            "//a/b/c": "deep\n", "//a/b/c?ref=light": "deep\n", "//link": "a/b/c",
        ]
        for (path, text) in expected {
            let played = try await Self.play(path, wanted)
            #expect(played.isTaken, "\(path): \(played.error?.message ?? "")")
            #expect(played.text == text, "\(path)")
        }
        let list = try await Self.play("//a", wanted)
        #expect(list.isTaken)
        #expect(list.text.hasSuffix("\tb\n"))
        #expect(list.items.map(\.url) == ["git://h.test/r//a/b"])
        for path in ["//none", "//README?ref=none", "//README/x"] {
            #expect(try await Self.play(path, wanted).outcome == .permanentFailure, "\(path)")
        }
    }

    @Test(arguments: cases)
    func referencesAreThoseOfGit(_ wanted: Case) async throws {
        let git = try UploadPack.shared(wanted.format)
        var query = RefQuery()
        let all = try await Self.play("", wanted, refs: query)
        #expect(all.isTaken)
        #expect(all.body == (try git.lsRemote([])))
        let head = all.refs.first { $0.text == "HEAD" }
        #expect(head?.facts["symref"] == .text("refs/heads/main"))
        let tag = all.refs.first { $0.text == "refs/tags/v1" }
        #expect(tag.map { $0.facts["peeled"] != Facts.Value.none } == true)
        // A list that nobody takes apart is asked for in the same way.
        let bare = await playGit("git://h.test/r", wantsItems: false) {
            git.answer($0, version: wanted.version, filters: wanted.filters)
        }
        #expect(bare.body == all.body)
        #expect(bare.refs.isEmpty)
        #expect(bare.requests == all.requests)
        query.showsSymrefs = true
        #expect(
            try await Self.play("", wanted, refs: query).body == (try git.lsRemote(["--symref"])))
        query.showsSymrefs = false
        query.onlyTags = true
        #expect(try await Self.play("", wanted, refs: query).body == (try git.lsRemote(["--tags"])))
        query.onlyHeads = true
        query.onlyTags = false
        #expect(
            try await Self.play("", wanted, refs: query).body == (try git.lsRemote(["--heads"])))
    }

    @Test func patternsMatchAsGitDoes() async throws {
        let git = try UploadPack.shared(.sha1)
        for pattern in [
            "main", "v1", "v[[:digit:]]", "[!m]*", "*/*", "v1^{}", "*^{}", "refs/*", "heads/*",
            "l*t", "[a-m]*", "ght", "?1", "\\v1", "[\\v]1", "", "HEAD", "v[",
        ] {
            var query = RefQuery()
            query.patterns = [pattern]
            let wanted = Case(version: 2, filters: false)
            let played = try await Self.play("", wanted, refs: query)
            #expect(played.body == (try git.lsRemote([], pattern)), "\(pattern)")
        }
    }

    @Test(arguments: cases)
    func anEmptyRepositoryHasNothing(_ wanted: Case) async throws {
        let git = try UploadPack(wanted.format)
        for path in ["", "//", "//a"] {
            let played = await playGit("git://h.test/r" + path) {
                git.answer($0, version: wanted.version, filters: wanted.filters)
            }
            #expect(played.body.isEmpty)
            #expect(played.outcome == (path.isEmpty ? .ok : .permanentFailure))
        }
    }

    /// The list of branches and tags comes with the greeting, or by request.
    @Test(arguments: cases)
    func theHintNamesTheNearestVersion(_ wanted: Case) async throws {
        for (version, hint) in [
            ("mian", "did you mean main?"), ("V1", "did you mean v1?"), ("nothing", nil),
            ("HEAD^{tree}", "write VERSION^, VERSION^2 or VERSION~3 for an ancestor of a version"),
            ("README.md", "a path in the repository comes after --, or after // in its URL"),
            (
                "0123abc",
                "a server finds an object by all \(wanted.format.byteCount * 2) digits of its id"
            ),
        ] {
            let played = try await Self.play("//a?ref=\(version)", wanted)
            let end = version == "0123abc" ? ", nor the whole id of an object" : ""
            #expect(played.error?.message == "no branch or tag \"\(version)\"" + end)
            #expect(played.error?.hint == hint)
            #expect((played.error?.remedy == .listReferences) == (hint == nil))
        }
    }

    /// Everything that a real server says in one visit, in pieces and cut off.
    @Test(arguments: cases)
    func realRepliesCutAndSplit(_ wanted: Case) async throws {
        for path in ["", "//a/b/c"] + (wanted.version == 2 ? ["//README?ref=main^"] : []) {
            let whole = try await Self.play(path, wanted)
            let count = try UploadPack.shared(wanted.format).bytesSaid(
                to: whole.requests, version: wanted.version, filters: wanted.filters)
            let bytewise = try await Self.play(path, wanted, .init(step: 1))
            #expect(GitContentTests.same(bytewise, whole))
            for offset in 0..<count where offset % 7 == 0 || min(offset, count - offset) < 40 {
                let split = try await Self.play(path, wanted, .init(split: offset))
                #expect(GitContentTests.same(split, whole), "split at \(offset)")
                let cut = try await Self.play(path, wanted, .init(cut: offset))
                #expect(cut.completeness == nil, "cut at \(offset)")
                #expect(
                    cut.error?.outcome == (offset == 0 ? .emptyReply : .truncated),
                    "cut at \(offset)")
                #expect(whole.body.starts(with: cut.body), "cut at \(offset)")
            }
        }
    }
}

/// `git upload-pack` on a temporary repository, one process for each new request: a stateless
/// server gives the same answers as any other.
final class UploadPack: Sendable {
    private let repository: GitRepository
    private let known = Locked<[[UInt8]: [UInt8]]>([:])

    private static let repositories = Result {
        try ObjectFormat.allCases.map { format in
            let git = try UploadPack(format)
            try git.repository.run(["fast-import", "--quiet"], input: Array(history.utf8))
            return (format, git)
        }
    }

    static func shared(_ format: ObjectFormat) throws -> UploadPack {
        try #require(try repositories.get().first { $0.0 == format }?.1)
    }

    init(_ format: ObjectFormat) throws { repository = try GitRepository(format) }

    func lsRemote(_ options: [String], _ patterns: String...) throws -> [UInt8] {
        try repository.run(["ls-remote", "-q"] + options + ["."] + patterns)
    }

    func answer(_ request: [UInt8], version: Int, filters: Bool) -> GitAnswer {
        // The farewell.
        if request == gitFlush { return GitAnswer([], close: .fin) }
        let key = [UInt8(version), filters ? 1 : 0] + request
        if let bytes = known.withLock({ $0[key] }) { return GitAnswer(bytes) }
        let isGreeting = request.dropFirst(4).starts(with: "git-upload-pack".utf8)
        // A server with state gives out only commits that it has listed, and begins with the list.
        let hasState = version < 2 && !isGreeting
        let arguments =
            ["-c", "uploadpack.allowFilter=\(filters)", "upload-pack"]
            + (hasState ? [] : ["--stateless-rpc"]) + (isGreeting ? ["--advertise-refs"] : [])
            + ["."]
        var bytes = try? repository.run(
            arguments, input: isGreeting ? [] : request, protocolVersion: version,
            mustSucceed: false)
        if hasState { bytes = bytes.map { Array(Self.withoutGreeting($0[...])) } }
        guard let bytes else {
            Issue.record("no answer")
            return GitAnswer([], close: .fin)
        }
        known.withLock { $0[key] = bytes }
        return GitAnswer(bytes)
    }

    /// The bytes after the first flush.
    private static func withoutGreeting(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var rest = bytes
        while let length = Int(String(decoding: rest.prefix(4), as: UTF8.self), radix: 16) {
            rest = rest.dropFirst(max(length, 4))
            if length == 0 { break }
        }
        return rest
    }

    func bytesSaid(to requests: [[UInt8]], version: Int, filters: Bool) -> Int {
        requests.reduce(0) { $0 + answer($1, version: version, filters: filters).bytes.count }
    }

    /// Two versions on a branch, and an annotated tag on the first, which no branch points to.
    private static let history = """
        blob
        mark :1
        data 6
        first
        blob
        mark :2
        data 7
        second
        blob
        mark :3
        data 5
        deep
        blob
        mark :4
        data 5
        a/b/c
        commit refs/heads/main
        mark :5
        committer A U Thor <a@example.com> 1700000000 +0000
        data 3
        one
        M 100644 :1 README
        M 100644 :3 a/b/c
        M 120000 :4 link
        tag v1
        from :5
        tagger A U Thor <a@example.com> 1700000000 +0000
        data 3
        tag
        commit refs/heads/main
        mark :6
        committer A U Thor <a@example.com> 1700000001 +0000
        data 3
        two
        from :5
        M 100644 :2 README
        reset refs/tags/light
        from :6

        """
}
