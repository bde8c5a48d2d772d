// SPDX-License-Identifier: MIT
@testable internal import GitPlugin
internal import SmallWebCore
internal import SmallWebTestSupport
internal import SmallWebTesting
internal import Testing

/// Habits of hosts and caches that git's own server does not have.
@Suite(.timeLimit(.minutes(30)))
struct GitHabitTests {
    // MARK: Acknowledgements

    @Test(arguments: [
        ("multi_ack multi_ack_detailed", "multi_ack_detailed"), ("multi_ack", "multi_ack"),
        ("", ""),
    ])
    func whatIsOfferedOfAcknowledgementsIsAskedFor(
        _ offered: String, _ wanted: String
    ) throws {
        var server = Advertisement()
        let id = GitAdvertisementTests.oid
        let line = "\(id) HEAD\0side-band-64k shallow \(offered)\n"
        _ = try server.take(.data(Array(line.utf8)[...]))
        let want = try #require(ObjectID(hex: id))
        let request = try FetchRequest(wants: [want]).encoded(for: server)
        let words = String(decoding: request, as: UTF8.self).split { $0 == " " || $0 == "\n" }
        #expect(words.filter { $0.hasPrefix("multi") } == (wanted.isEmpty ? [] : [wanted[...]]))
    }

    /// Only the last acknowledgement has nothing behind the id.
    @Test func thePackComesBehindTheLastAcknowledgement() throws {
        var reply = FetchReply(Advertisement())
        let id = GitAdvertisementTests.oid
        for text in ["shallow \(id)", "ACK \(id) common", "ACK \(id) ready", "ACK \(id)"] {
            #expect(try reply.take(.data(Array((text + "\n").utf8)[...])) == .more)
        }
        #expect(try reply.take(.data([1, 2, 3])) == .pack([2, 3]))
    }

    // MARK: Versions

    static func versions(_ requests: [HTTPRequest]) -> [String?] {
        requests.dropFirst().map { request in
            request.options.fields.first { $0.name == "Git-Protocol" }?.value
        }
    }

    @Test(arguments: ["", "//", "//dir/file", "?log&n=1"])
    func aVersionThatNobodyAskedForIsSpoken(_ path: String) async {
        let (played, requests) = await GitHTTPTests.play(
            "git+https://h.test/r\(path)", wantsItems: false, GitHTTPTests.sample)
        #expect(played.isTaken)
        #expect(requests.count > 1)
        #expect(Self.versions(requests).allSatisfy { $0 == "version=2" })
    }

    /// A cache may have the greeting that another client asked for.
    @Test func anOlderGreetingIsAnsweredInItsVersion() async {
        let (_, requests) = await GitHTTPTests.play("git+https://h.test/r//a") { request in
            request.options.body == nil
                ? FakeHTTP.Reply(GitHTTPTests.advertisement, GitHTTPTests.list)
                : FakeHTTP.Reply(GitHTTPTests.result, pkt("NAK\n"))
        }
        #expect(requests.count == 2 && Self.versions(requests) == [nil])
    }

    @Test func aRedirectToAnotherPageIsNamed() async {
        let (played, _) = await GitHTTPTests.play { _ in
            FakeHTTP.Reply("", [], status: 302, location: "/users/sign_in")
        }
        #expect(played.outcome == .permanentFailure)
        #expect(played.head?.meta == "Reason")
        #expect(played.head?.explanation?.contains("/users/sign_in") ?? false)
    }

    // MARK: Histories

    /// The server left out the tree because one of the commits contains it, so it is requested
    /// again.
    @Test func aTagOfATreeHasNoDate() async throws {
        var git = FakeGit()
        let tree = git.addTree([])
        let commit = git.addCommit(7, tree: tree, parents: [])
        git.refs =
            pkt("\(commit) refs/heads/main\n") + pkt("\(tree) refs/tags/tree\n") + gitFlush
        let played = await playGit("git://h.test/r?refs&dates") { [git] request in
            let text = String(decoding: request, as: UTF8.self)
            guard text.contains("command=fetch"), text.contains("want \(commit)") else {
                return git.answerAll(request)
            }
            return GitAnswer(FakeGit.packReply(git.pack(["\(commit)"])))
        }
        #expect(played.isTaken, "\(String(describing: played.error))")
        #expect(
            played.text.split(separator: "\n").map(String.init) == [
                "\(commit)\trefs/heads/main\t2023-11-14T22:13:27Z", "\(tree)\trefs/tags/tree\t",
            ])
    }

    static let line: FakeGit = {
        var git = FakeGit()
        let tree = git.addTree([])
        var commits: [ObjectID] = []
        for number in 0..<4 {
            commits.append(git.addCommit(number, tree: tree, parents: commits.suffix(1)))
        }
        git.refs = pkt("\(commits[3]) HEAD\n") + pkt("\(commits[0]) refs/tags/v1\n") + gitFlush
        return git
    }()

    /// Without a word of where the server's own history ends.
    @Test(arguments: ["?log", "?log&since=2020-01-01", "?log&n=4", "?log&format=full"])
    func aParentThatIsMissingIsAFault(_ query: String) async {
        let ids = Self.line.objects.filter { $0.value.type == .commit }.keys.sorted()
        let first = Self.line.objects.first {
            String(decoding: $0.value.content, as: UTF8.self).hasSuffix("number 1\n")
        }?.key
        let pack = Self.line.pack(ids.filter { $0 != first })
        let played = await playGit("git://h.test/r\(query)") { request in
            String(decoding: request, as: UTF8.self).contains("command=fetch")
                ? GitAnswer(FakeGit.packReply(pack)) : Self.line.answerAll(request)
        }
        #expect(played.error?.outcome == .protocolError)
        #expect(played.body.isEmpty)
    }

    /// Records have the bound of text, 64 MiB, where the server sends all files.
    @Test(arguments: [true, false])
    func aLogWithAllFilesHasOneBound(_ isOfRecords: Bool) async throws {
        var limits = Limits()
        limits.isUsualForBodies = !isOfRecords
        var builder = PackBuilder()
        builder.add(.blob, [UInt8](repeating: 0x61, count: (64 << 20) + 1))
        let pack = try builder.pack()
        let capabilities = "side-band-64k shallow agent=test"
        let played = await playGit(
            "git://h.test/r?log&n=1", wantsItems: isOfRecords, limits: limits
        ) { request in
            String(decoding: request, as: UTF8.self).contains("git-upload-pack")
                ? GitAnswer(
                    pkt("\(GitAdvertisementTests.oid) HEAD\0\(capabilities)\n") + gitFlush)
                : GitAnswer(pkt("NAK\n") + band(1, pack) + gitFlush)
        }
        #expect(played.error?.outcome == .tooLarge)
        #expect(played.error?.expected == "\(64 << 20)")
    }
}
