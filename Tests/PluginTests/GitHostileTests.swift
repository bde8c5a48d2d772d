// SPDX-License-Identifier: MIT
@testable internal import GitPlugin
internal import SmallWebCore
internal import SmallWebTestSupport
internal import SmallWebTesting
internal import Testing

/// Servers that lie, die or never end.
@Suite struct GitHostileTests {
    static let git = FakeGit.sample
    static let fileURL = "git://h.test/r//dir/file"

    /// The sample's server, but for the requests that `change` answers; it gets their number.
    static func play(
        _ url: String = fileURL, _ manner: GitPeer.Manner = .init(), limits: Limits = Limits(),
        plugin: GitPlugin = GitPlugin(), _ change: @escaping (Int) -> GitAnswer?
    ) async -> GitPlayed {
        var number = -1
        return await playGit(url, manner, limits: limits, plugin: plugin) { request in
            number += 1
            return change(number) ?? git.answer(request)
        }
    }

    /// The requests for a file, by number.
    static let greeting = 0, refs = 1, commit = 2, root = 3, folder = 4, file = 5

    static func pack(_ type: ObjectType, _ content: [UInt8]) -> GitAnswer {
        var builder = PackBuilder()
        builder.add(type, content)
        return GitAnswer(FakeGit.packReply((try? builder.pack()) ?? []))
    }

    // MARK: Other objects than those asked for

    @Test(arguments: [commit, root, folder, file], ObjectType.allCases)
    func anotherObjectIsNeverTaken(_ stage: Int, _ type: ObjectType) async {
        let played = await Self.play {
            $0 == stage ? Self.pack(type, Array("hello!\n".utf8)) : nil
        }
        #expect(played.error?.outcome == .protocolError)
        #expect(played.completeness == nil)
        // A file as short as this is checked whole before any byte is passed on.
        #expect(played.body.isEmpty && played.head == nil)
    }

    /// Each object of the repository is sent in place of the requested one.
    @Test func anyOtherObjectOfTheRepositoryIsRefused() async {
        for object in Self.git.objects.values {
            for stage in [Self.commit, Self.root, Self.folder, Self.file] {
                let played = await Self.play {
                    $0 == stage ? Self.pack(object.type, object.content) : nil
                }
                guard played.isTaken else { continue }
                // Only the right object of that stage leads on.
                #expect(played.text == "hello\n")
            }
        }
    }

    @Test func noObjectOrTwoFilesAreRefused() async throws {
        let none = try PackBuilder().pack()
        var two = PackBuilder()
        two.add(.blob, Array("hello\n".utf8))
        two.add(.blob, Array("more\n".utf8))
        for pack in [none, try two.pack()] {
            let played = await Self.play {
                $0 == Self.file ? GitAnswer(FakeGit.packReply(pack)) : nil
            }
            #expect(played.error?.outcome == .protocolError)
        }
    }

    /// A tree cannot hold its own hash, so a server that claims it sends the wrong one.
    @Test func aTreeThatNamesItselfEnds() async {
        var git = FakeGit()
        let claimed = ObjectID([UInt8](repeating: 7, count: 20), .sha1)
        let tree = Array("40000 d\0".utf8) + claimed.bytes
        let commit = git.addCommit(tree: claimed)
        git.refs = pkt("\(commit) HEAD\n") + gitFlush
        let path = String(repeating: "d/", count: 100)
        let server = git
        let played = await playGit("git://h.test/r//" + path) { request in
            FakeGit.want(request) == "\(claimed)" ? Self.pack(.tree, tree) : server.answer(request)
        }
        #expect(played.error?.outcome == .protocolError)
        #expect(played.requests.count < 10)
    }

    /// A directory entry must be a tree, and a file entry a blob.
    @Test(arguments: ["40000 x", "100644 x", "120000 x"], ObjectType.allCases)
    func anEntryIsWhatItsModeSays(_ name: String, _ type: ObjectType) async {
        await anEntryIsWhatItsModeSays(name, type, filters: true)
        await anEntryIsWhatItsModeSays(name, type, filters: false)
    }

    private func anEntryIsWhatItsModeSays(
        _ name: String, _ type: ObjectType, filters: Bool
    ) async {
        var git = FakeGit()
        if !filters { git.greeting = FakeGit.greeting("fetch=shallow") }
        let empty = git.addTree([])
        let inner =
            switch type {
            case .tree: git.addTree([("100644 y", git.add(.blob, "y"))])
            case .commit: git.addCommit(tree: empty)
            default: git.add(type, "object \(empty)\ntype tree\n\n")
            }
        let tree = git.addTree([(name, inner)])
        let commit = git.addCommit(tree: tree)
        git.refs = pkt("\(commit) HEAD\n") + gitFlush
        let server = git
        let played = await playGit("git://h.test/r//x") { request in
            guard !filters, FakeGit.want(request) != nil else {
                return server.answer(request)
            }
            return GitAnswer(FakeGit.packReply(server.pack(server.objects.keys.sorted())))
        }
        let isRight = type == (name.hasPrefix("4") ? .tree : .blob)
        #expect(played.outcome == (isRight ? .ok : .protocolError))
        if !isRight { #expect(played.body.isEmpty && played.head == nil) }
    }

    @Test(arguments: [10, 40])
    func aChainOfTagsEnds(_ count: Int) async {
        var git = Self.git
        var target = git.objects.first { $0.value.type == .commit }?.key ?? ""
        var type = "commit"
        for _ in 0..<count {
            target = "\(git.add(.tag, "object \(target)\ntype \(type)\ntag t\n\n"))"
            type = "tag"
        }
        git.refs = pkt("\(target) HEAD\n") + gitFlush
        let server = git
        let played = await playGit(Self.fileURL) { server.answer($0) }
        #expect(played.outcome == (count == 10 ? .ok : .protocolError))
        #expect(played.requests.count < 25)
    }

    // MARK: Servers without an end

    /// The refrain of a server that never ends, and where it comes.
    static let endless: [(name: String, stage: Int, begin: [UInt8], refrain: [UInt8])] = [
        ("greeting", greeting, pkt("version 2\n"), pkt("x")),
        ("versions", greeting, [], pkt("version 1\n" + String(repeating: "x", count: 9))),
        (
            "preface", greeting, [],
            pkt("# service=" + String(repeating: "x", count: 60_000)) + gitFlush
        ),
        (
            "shallow", greeting, pkt("version 1"),
            pkt("shallow " + String(repeating: "x", count: 60_000))
        ),
        (
            "refs", greeting, pkt("\(GitAdvertisementTests.oid) HEAD\0x"),
            pkt("\(GitAdvertisementTests.oid) \(String(repeating: "x", count: 60_000))")
        ),
        (
            "ls-refs", refs, [],
            pkt("\(GitAdvertisementTests.oid) \(String(repeating: "x", count: 60_000))")
        ),
        ("unborn", refs, [], pkt("unborn \(String(repeating: "x", count: 60_000))")),
        ("sections", file, [], pkt(String(repeating: "x", count: 60_000))),
        ("delims", commit, [], gitDelim),
        ("progress", commit, pkt("packfile\n"), pkt([2] + [UInt8](repeating: 0x78, count: 60_000))),
        ("keepalive", file, pkt("packfile\n"), pkt([2])),
    ]

    @Test(arguments: endless.map(\.name))
    func nobodyIsListenedToForEver(_ name: String) async throws {
        let server = try #require(Self.endless.first { $0.name == name })
        var refrain = server.refrain
        while refrain.count < 60_000 { refrain += refrain }
        let answer = GitAnswer(server.begin, refrain: refrain)
        var plugin = GitPlugin()
        plugin.overhead.bytesLeft = 4 << 20
        let played = await Self.play(
            Self.fileURL, .init(bytesMax: 16 << 20), limits: Limits(bodyBytesMax: nil),
            plugin: plugin
        ) { $0 == server.stage ? answer : nil }
        #expect(played.completeness == nil)
        let outcome = played.error?.outcome
        #expect(outcome == .tooLarge || outcome == .protocolError)
        #expect(played.body.isEmpty)
    }

    @Test func anEndlessListEndsAtTheBodysLimit() async {
        let line = pkt("\(GitAdvertisementTests.oid) \(String(repeating: "x", count: 60_000))")
        for begin in [pkt("\(GitAdvertisementTests.oid) HEAD\0x"), pkt("version 2\n") + gitFlush] {
            let played = await Self.play(
                "git://h.test/r", limits: Limits(bodyBytesMax: 1 << 20)
            ) { _ in GitAnswer(begin, refrain: line) }
            #expect(played.error?.outcome == .tooLarge)
        }
    }

    @Test(arguments: [greeting, commit, file])
    func zerosWithoutAPacketAreNoMemory(_ stage: Int) async {
        let played = await Self.play {
            $0 == stage ? GitAnswer([], refrain: [UInt8](repeating: 0, count: 65_536)) : nil
        }
        #expect(played.error?.outcome == .protocolError)
    }

    // MARK: Bombs

    @Test(arguments: [ObjectType.tree, .blob, .commit], [commit, root, file])
    func aBombIsRefusedByItsSize(_ type: ObjectType, _ stage: Int) async throws {
        var builder = PackBuilder()
        // A megabyte that say they are a gigabyte.
        builder.add(type: type.rawValue, [], size: 1 << 30, stream: zlibZeros(1 << 20))
        let pack = try builder.pack()
        let played = await Self.play {
            $0 == stage ? GitAnswer(FakeGit.packReply(pack)) : nil
        }
        let isType = type == .blob && stage == Self.file
        #expect(
            played.error?.outcome == (isType || stage != Self.file ? .tooLarge : .protocolError))
        #expect(played.body.isEmpty)
    }

    @Test(arguments: [commit, file])
    func moreThanItsSizeIsRefused(_ stage: Int) async throws {
        var builder = PackBuilder()
        builder.add(type: ObjectType.blob.rawValue, [], size: 10, stream: zlibZeros(1 << 20))
        let pack = try builder.pack()
        let played = await Self.play { $0 == stage ? GitAnswer(FakeGit.packReply(pack)) : nil }
        #expect(played.error?.outcome == .protocolError)
        #expect(played.body.count <= 65_536)
    }

    @Test(arguments: [commit, file])
    func fourBillionObjectsAreRefused(_ stage: Int) async throws {
        let pack = try PackBuilder().pack(count: 0xFFFF_FFFF)
        let played = await Self.play { $0 == stage ? GitAnswer(FakeGit.packReply(pack)) : nil }
        #expect(played.error?.outcome == .tooLarge)
    }

    /// Each delta is a hundred times as long as its base.
    @Test(arguments: [commit, root])
    func deltasThatGrowAreBounded(_ stage: Int) async throws {
        var builder = PackBuilder()
        var size = 60_000
        var base = builder.add(.tree, [UInt8](repeating: 0, count: size))
        for _ in 0..<4 {
            let copies = Array([[UInt8]](repeating: [0xB0, 0x60, 0xEA], count: 100).joined())
            base = builder.addDelta(
                PackBuilder.delta(from: size, to: 100 * 60_000, copies), toOffset: base)
            size = 100 * 60_000
        }
        for _ in 0..<20 {
            builder.addDelta(
                PackBuilder.delta(
                    from: size, to: size,
                    Array([[UInt8]](repeating: [0xB0, 0x60, 0xEA], count: 100).joined())),
                toOffset: base)
        }
        let pack = try builder.pack()
        let played = await Self.play { $0 == stage ? GitAnswer(FakeGit.packReply(pack)) : nil }
        #expect(played.error?.outcome == .tooLarge)
    }

    /// We take thin packs, because dulwich wants that, but have nothing that a delta could be to.
    @Test(arguments: [true, false])
    func aThinPackIsWholeOrRefused(_ hasBase: Bool) async throws {
        let base = Array("hello\n".utf8)
        let file = Array("hello\nhello\n".utf8)
        let copy: [UInt8] = [0x90, UInt8(base.count)]
        var builder = PackBuilder()
        builder.addDelta(
            PackBuilder.delta(from: base.count, to: file.count, copy + copy),
            to: try PackBuilder.id(.blob, base))
        let entry = Array("100644 file\0".utf8) + (try PackBuilder.id(.blob, file)).bytes
        let tree = try PackBuilder.id(.tree, entry)
        let commit = Array("tree \(tree)\n\n".utf8)
        builder.add(.commit, commit)
        builder.add(.tree, entry)
        // A base may come after its delta.
        if hasBase { builder.add(.blob, base) }
        let pack = try builder.pack()
        let head = try PackBuilder.id(.commit, commit)
        let played = await playGit("git://h.test/r//file") { request in
            GitAnswer(
                request.contains(ASCII.lineFeed)
                    ? pkt("shallow \(head)") + gitFlush + pkt("NAK\n") + band(1, pack) + gitFlush
                    : pkt("\(head) HEAD\0side-band-64k shallow thin-pack ofs-delta") + gitFlush)
        }
        #expect(played.outcome == (hasBase ? .ok : .protocolError))
        #expect(played.body == (hasBase ? file : []))
        #expect((played.head == nil) == !hasBase)
        #expect(hasBase || played.error?.message.contains("without its base") == true)
    }

    @Test func aDeltaForAFileIsRefused() async throws {
        var builder = PackBuilder()
        let blob = try #require(Self.git.objects.first { $0.value.type == .blob })
        let id = try #require(ObjectID(hex: blob.key))
        builder.addDelta(PackBuilder.delta(from: 1, to: 1, [1, 1]), to: id)
        let pack = try builder.pack()
        let played = await Self.play {
            $0 == Self.file ? GitAnswer(FakeGit.packReply(pack)) : nil
        }
        #expect(played.error?.outcome == .protocolError)
    }

    // MARK: Refusals

    @Test(arguments: [greeting, refs, commit, root, folder, file])
    func aRefusalAtAnyStageIsAReply(_ stage: Int) async {
        let text = "access \u{1B}[31mdenied\u{7}\r\u{9B}: /r"
        let played = await Self.play {
            $0 == stage ? GitAnswer(pkt("ERR \(text)\n"), close: .fin) : nil
        }
        #expect(played.error == nil)
        #expect(played.outcome == .permanentFailure)
        // As it came: whoever shows it makes it safe.
        #expect(played.head?.meta == text)
        #expect(played.body.isEmpty)
    }

    @Test(arguments: [commit, root, folder, file])
    func theFatalBandIsARefusal(_ stage: Int) async {
        let played = await Self.play {
            let reply =
                pkt("packfile\n") + band(2, [0x2E]) + band(3, Array("no \u{7}memory\n".utf8))
            return $0 == stage ? GitAnswer(reply, close: .fin) : nil
        }
        #expect(played.outcome == .permanentFailure)
        #expect((played.head?.meta ?? played.error?.message)?.contains("no \u{7}memory") == true)
        #expect(played.completeness == nil || played.head?.replyClass == .permanentFailure)
    }

    /// Once a body has begun, a refusal can only cut it off.
    @Test(arguments: [band(3, Array("disk".utf8)), pkt("ERR disk\n")])
    func aRefusalWithinAFileIsAnError(_ refusal: [UInt8]) async throws {
        let pack = Self.git.pack([try PackBuilder.id(.blob, Array("hello\n".utf8)).description])
        let reply = pkt("packfile\n") + band(1, Array(pack.dropLast(20))) + refusal
        let played = await Self.play { $0 == Self.file ? GitAnswer(reply, close: .fin) : nil }
        #expect(played.completeness == nil)
        #expect(played.error?.outcome == .permanentFailure)
        #expect(played.head?.replyClass == .success)
    }

    @Test func aRefusalWithinAListIsAnError() async {
        let lines =
            pkt("\(GitAdvertisementTests.oid) HEAD\0x")
            + pkt("\(GitAdvertisementTests.oid) refs/heads/a")
        let played = await Self.play("git://h.test/r", .init(step: 50)) { _ in
            GitAnswer(lines + pkt("ERR disk"), close: .fin)
        }
        #expect(played.completeness == nil)
        #expect(played.error?.outcome == .permanentFailure)
    }

    // MARK: Servers that die

    @Test(arguments: [
        (greeting, ScriptedTransport.Close.fin, Outcome.emptyReply), (greeting, .reset, .connect),
        (refs, .fin, .truncated), (refs, .reset, .truncated), (commit, .fin, .truncated),
        (file, .fin, .truncated), (file, .reset, .truncated), (greeting, .silence, .timeout),
        (file, .silence, .timeout),
    ])
    func aServerThatDiesSilently(
        _ stage: Int, _ close: ScriptedTransport.Close, _ outcome: Outcome
    ) async {
        let played = await Self.play { $0 == stage ? GitAnswer([], close: close) : nil }
        #expect(played.error?.outcome == outcome)
        #expect(played.body.isEmpty)
    }

    /// The end of the reply where the pack has none.
    @Test(arguments: [0, 1, 11, 12, 13, 20, 30])
    func aFlushWithinThePackIsTruncation(_ count: Int) async throws {
        let pack = Self.git.pack([try PackBuilder.id(.blob, Array("hello\n".utf8)).description])
        let played = await Self.play {
            $0 == Self.file ? GitAnswer(FakeGit.packReply(Array(pack.prefix(count)))) : nil
        }
        #expect(played.error?.outcome == .truncated)
        #expect(played.completeness == nil)
    }

    @Test func bytesBehindThePackAreRefused() async throws {
        let pack = Self.git.pack([try PackBuilder.id(.blob, Array("hello\n".utf8)).description])
        let played = await Self.play {
            $0 == Self.file ? GitAnswer(FakeGit.packReply(pack + [0])) : nil
        }
        #expect(played.error?.outcome == .protocolError)
    }

    // MARK: Lines

    @Test(arguments: [
        "", "\n", " ", "x", "\(GitAdvertisementTests.oid) a peeled:x",
        "\(GitAdvertisementTests.oid) a\nb", "\(GitAdvertisementTests.oid)",
        "\(GitAdvertisementTests.oid) HEAD peeled:\(GitAdvertisementTests.oid)\n\n",
    ])
    func aMalformedReferenceIsAnError(_ line: String) async {
        let v0 = pkt("\(GitAdvertisementTests.oid) HEAD\0shallow side-band-64k") + pkt(line)
        for url in ["git://h.test/r", Self.fileURL] {
            let plain = await Self.play(url) { _ in GitAnswer(v0 + gitFlush, close: .fin) }
            #expect(plain.error?.outcome == .protocolError)
            let attributed = await Self.play(url) {
                $0 == Self.refs ? GitAnswer(pkt(line) + gitFlush) : nil
            }
            #expect(attributed.error?.outcome == .protocolError)
            #expect(attributed.body.isEmpty)
        }
    }

    /// Any bytes at any stage: an answer or an error, never a crash, and never another file.
    @Test func randomBytesAreNeverAFile() async {
        var random = SeededGenerator(seed: 24)
        for round in 0..<3_000 {
            let stage = round % 6
            var reply: [UInt8] = []
            for _ in 0..<Int.random(in: 0...5, using: &random) {
                switch random.next() % 8 {
                case 0: reply += gitFlush
                case 1: reply += gitDelim
                case 2: reply += pkt("packfile\n")
                case 3: reply += pkt([1] + random.bytes(upTo: 20, alphabet: "PACK\0\0\u{2}x"))
                case 4: reply += pkt("version \(random.next() % 3)\n")
                case 5: reply += pkt("\(GitAdvertisementTests.oid) HEAD\0side-band-64k shallow")
                case 6: reply += random.bytes(upTo: 12, alphabet: "00000001234567890abcdef")
                default: reply += pkt(random.bytes(upTo: 60, alphabet: "0123456789abcdef: \n"))
                }
            }
            let url = round % 4 == 0 ? "git://h.test/r" : Self.fileURL
            let answer = GitAnswer(reply, close: .fin)
            let played = await Self.play(url) { $0 == stage ? answer : nil }
            if played.isTaken && url == Self.fileURL { #expect(played.text == "hello\n") }
        }
    }
}
