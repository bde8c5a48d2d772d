// SPDX-License-Identifier: MIT
@testable internal import GitPlugin
internal import SmallWebCore
internal import SmallWebTestSupport
internal import SmallWebTesting
internal import Testing

/// Files and directories out of a repository, over git://.
@Suite struct GitContentTests {
    static let git = FakeGit.sample
    static let url = "git://h.test/r//"

    static func play(
        _ path: String, _ manner: GitPeer.Manner = GitPeer.Manner(), limits: Limits = Limits()
    ) async -> GitPlayed {
        await playGit(url + path, manner, limits: limits) { git.answer($0) }
    }

    @Test func aFileTakesARequestForEachPart() async throws {
        let played = await Self.play("dir/file")
        #expect(played.text == "hello\n")
        #expect(played.isTaken)
        #expect(played.head?.mediaType?.description == "text/plain; charset=utf-8")
        #expect(played.head?.suggestedName == "file")
        let requests = played.requests.map { String(decoding: $0, as: UTF8.self) }
        // Greeting, references, commit, two trees, file, farewell.
        #expect(requests.count == 7)
        #expect(requests[0] == "002egit-upload-pack /r\0host=h.test\0\0version=2\0")
        #expect(requests[1].contains("ref-prefix HEAD\n"))
        #expect(requests[1].contains("ref-prefix refs/heads/HEAD\n"))
        for request in requests[2..<6] { #expect(request.contains("0012filter tree:0\n")) }
        #expect(requests[6] == "0000")
    }

    @Test func aFileMayBeEmptyOrBinary() async {
        let empty = await Self.play("empty")
        #expect(empty.isTaken)
        #expect(empty.body.isEmpty)
        #expect(empty.head?.mediaType?.essence == "text/plain")
        let binary = await Self.play("bin")
        #expect(binary.isTaken)
        #expect(binary.body == [1, 2, 3, 4, 5, 0, 6])
        #expect(binary.head?.mediaType?.essence == "application/octet-stream")
    }

    @Test(arguments: [
        "dir/run", "new%0Aline", "sp%20ace%252F%3F%23", "dir/file?ref=main",
        "dir/file?ref=v1", "dir/file?ref=refs/tags/v1", "dir/file?ref=heads/main",
    ])
    func everyNameIsFound(_ path: String) async {
        let played = await Self.play(path)
        #expect(played.text == "hello\n")
        #expect(played.isTaken)
    }

    @Test func aLinkIsItsTarget() async {
        let played = await Self.play("link")
        #expect(played.text == "dir/file")
        #expect(played.notes == ["symbolic-link"])
        #expect(played.isTaken)
    }

    @Test(arguments: [
        "none", "dir/none", "dir/file/none", "link/x", "module", "module/x", "file?ref=none",
        "dir/fil", "DIR/file", "dir/file?ref=ce013625030ba8dba906f756967f9e9ca394464b",
    ])
    func whatIsNotThereIsARefusal(_ path: String) async {
        let played = await Self.play(path)
        #expect(played.outcome == .permanentFailure)
        #expect(played.body.isEmpty)
    }

    @Test(arguments: [
        ("dir/fil", "did you mean \"dir/file\"?"), ("DIR/file", "did you mean \"dir\"?"),
        ("dri/file", "did you mean \"dir\"?"), ("dir/rnu", "did you mean \"dir/run\"?"),
        ("dir/other", "see what there is: git://h.test/r//dir"),
        ("dir/file/file", "see what there is: git://h.test/r//dir/file"),
        ("sp%20ace%FF", "see what there is: git://h.test/r//"),
    ])
    func theHintNamesWhatIsNearest(_ path: String, _ hint: String) async {
        #expect(await Self.play(path).error?.hint == hint)
    }

    @Test func aDirectoryIsAListThatLeadsOn() async throws {
        let played = await Self.play("?ref=main")
        #expect(played.isTaken)
        let module = String(repeating: "ab", count: 20)
        let lines = played.text.split(separator: "\n").map(String.init)
        #expect(lines.count == 7)
        #expect(lines.contains("160000 commit \(module)\tmodule"))
        #expect(lines.contains { $0.hasPrefix("040000 tree ") && $0.hasSuffix("\tdir") })
        #expect(lines.contains { $0.hasPrefix("120000 blob ") && $0.hasSuffix("\tlink") })
        // A name cannot make a line.
        #expect(lines.contains { $0.hasSuffix("\t\"new\\nline\"") })
        #expect(played.items.count == 7)
        for item in played.items {
            guard let url = item.url else {
                #expect(item.text == "module")
                continue
            }
            #expect(url.hasSuffix("?ref=main"))
            let again = await playGit(url) { Self.git.answer($0) }
            #expect(again.isTaken, "\(url)")
        }
    }

    @Test func anObjectCanBeNamedByItsID() async {
        for (id, object) in Self.git.objects {
            let played = await Self.play("?ref=\(id.uppercased())")
            #expect(played.isTaken)
            if object.type == .blob { #expect(played.body == object.content) }
        }
    }

    @Test func whatIsKnownIsNotAskedForAgain() async {
        let plugin = GitPlugin()
        for count in [7, 4] {
            let played = await playGit(Self.url + "dir/file", plugin: plugin) {
                Self.git.answer($0)
            }
            #expect(played.text == "hello\n")
            #expect(played.requests.count == count)
        }
    }

    // MARK: However the bytes come

    static func same(_ one: GitPlayed, _ other: GitPlayed) -> Bool {
        one.head == other.head && one.body == other.body && one.items == other.items
            && one.completeness == other.completeness && one.error == other.error
            && one.requests == other.requests && one.refs == other.refs
    }

    static let paths = ["dir/file", "bin", "empty", "dir", "?ref=v1", "none", "module"]

    @Test(arguments: paths)
    func meansTheSameInAnyPieces(_ path: String) async {
        let whole = await Self.play(path)
        for step in [1, 2, 3, 7] {
            #expect(Self.same(await Self.play(path, .init(step: step)), whole), "step \(step)")
        }
        for split in 0..<Self.length(of: whole) {
            #expect(Self.same(await Self.play(path, .init(split: split)), whole), "at \(split)")
        }
    }

    /// All that the server said.
    static func length(of played: GitPlayed) -> Int {
        played.requests.reduce(0) { $0 + git.answer($1).bytes.count }
    }

    /// A server that dies at any byte leads to an error, never to a part taken for the whole.
    @Test(arguments: paths, [ScriptedTransport.Close.fin, .reset, .silence])
    func aCutIsNeverTaken(_ path: String, _ close: ScriptedTransport.Close) async {
        let whole = await Self.play(path)
        let step = close == .fin ? 1 : 7
        for cut in stride(from: 0, to: Self.length(of: whole), by: step) {
            let played = await Self.play(path, .init(cut: cut, cutClose: close))
            #expect(played.completeness == nil, "after \(cut)")
            let expected: Outcome =
                close == .silence
                ? .timeout
                : cut > 0 ? .truncated : close == .fin ? .emptyReply : .connect
            #expect(played.error?.outcome == expected, "after \(cut)")
            #expect(whole.body.starts(with: played.body), "after \(cut)")
            #expect(played.head == nil || played.head == whole.head, "after \(cut)")
        }
    }

    /// Git looks for a NUL in the first 8000 bytes, wherever they are cut.
    @Test(arguments: [(7_999, true), (8_000, false)])
    func aNULNearTheBeginningMakesAFileBinary(_ offset: Int, _ isBinary: Bool) async {
        var git = FakeGit()
        var content = [UInt8](repeating: 0x61, count: 20_000)
        content[offset] = 0
        let tree = git.addTree([("100644 f", git.add(.blob, content))])
        let commit = git.addCommit(tree: tree)
        git.refs = pkt("\(commit) HEAD\n") + gitFlush
        let server = git
        for size in [1, 100, 5_000, 65_515] {
            let played = await playGit(Self.url + "f") { request in
                guard let id = FakeGit.want(request), id != "\(commit)", id != "\(tree)" else {
                    return server.answer(request)
                }
                let pack = server.pack([id])
                let packets = stride(from: 0, to: pack.count, by: size).map {
                    band(1, Array(pack[$0..<min($0 + size, pack.count)]))
                }
                return GitAnswer(pkt("packfile") + Array(packets.joined()) + gitFlush)
            }
            let type = played.head?.mediaType?.essence
            #expect(type == (isBinary ? "application/octet-stream" : "text/plain"), "\(size)")
            #expect(played.body == content)
            #expect(played.isTaken)
        }
    }

    @Test func aFileLargerThanTheLimitIsNotBegun() async {
        let played = await Self.play("dir/file", limits: Limits(bodyBytesMax: 5))
        #expect(played.outcome == .tooLarge)
        #expect(played.body.isEmpty)
        #expect(await Self.play("dir/file", limits: Limits(bodyBytesMax: 6)).isTaken)
    }
}
