// SPDX-License-Identifier: MIT
@testable internal import GitPlugin
internal import SmallWebCore
internal import SmallWebTestSupport
internal import SmallWebTesting
internal import Testing

/// Archives of repositories that are made to do harm, and patches as git writes them.
@Suite(.timeLimit(.minutes(30)))
struct GitArchiveTests {
    static func play(_ query: String, _ make: (inout FakeGit) -> ObjectID) async -> GitPlayed {
        var git = FakeGit()
        let commit = git.addCommit(0, tree: make(&git), parents: [])
        git.refs = pkt("\(commit) HEAD\n") + gitFlush
        return await playGit("git://h.test/r\(query)") { [git] in git.answerAll($0) }
    }

    /// `PATH` or `PATH -> TARGET`, as a tree.
    static func tree(_ paths: [String], _ git: inout FakeGit) -> ObjectID {
        var entries: [(String, ObjectID)] = []
        var below: [String: [String]] = [:]
        for path in paths {
            if let slash = path.firstIndex(of: "/"),
                !path[..<slash].contains(" -> ")
            {
                below[String(path[..<slash]), default: []].append(
                    String(path[path.index(after: slash)...]))
            } else if let arrow = path.firstRange(of: " -> ") {
                let target = git.add(.blob, String(path[arrow.upperBound...]))
                entries.append(("120000 \(path[..<arrow.lowerBound])", target))
            } else {
                entries.append(("100644 \(path)", git.add(.blob, "text of \(path)")))
            }
        }
        for (name, paths) in below { entries.append(("40000 \(name)", tree(paths, &git))) }
        return git.addTree(entries.sorted { $0.0.dropFirst(5) < $1.0.dropFirst(5) })
    }

    /// Paths that collide once `strip` has shortened them are refused before the first byte.
    @Test(arguments: [
        ["a/link -> /tmp", "b/link/pwn"], ["b/link -> /tmp", "a/link/pwn"],
        ["a/f", "b/f"], ["a/f -> /tmp", "b/f"], ["a/f", "b/f -> /tmp"], ["a/x", "b/x/y"],
        ["a/l -> /tmp", "b/l -> /etc"], ["a/d/l -> /tmp", "b/d/l/f"], ["l -> /tmp", "a/f", "b/f"],
    ])
    func namesThatFallTogetherAreRefused(_ paths: [String]) async {
        for query in ["?tar&strip=1", "?tar&strip=1&prefix=p/", "?tar&strip=1&prefix=p"] {
            let played = await Self.play(query) { git in Self.tree(paths, &git) }
            #expect(played.error?.outcome == .protocolError, "\(paths)")
            #expect(played.head == nil && played.body.isEmpty)
        }
        let whole = await Self.play("?tar") { git in Self.tree(paths, &git) }
        #expect(whole.isTaken)
    }

    /// Directories that collide are merged, and files that are not in the archive do not count.
    @Test(arguments: [
        ["a/d/x", "b/d/y"], ["a/x", "b/y"], ["l -> /tmp", "a/l"], ["a/x", "b/y -> x"],
        ["a/f", "b/f", "b/.gitattributes"],
    ])
    func namesThatDifferAreWritten(_ paths: [String]) async {
        let played = await Self.play("?tar&strip=1") { git in
            // The text of that file is one of its rules.
            let tree = Self.tree(paths.filter { !$0.contains("git") }, &git)
            guard paths.contains("b/.gitattributes") else { return tree }
            let rules = git.add(.blob, "/b/f export-ignore\n")
            let entries = git.objects["\(tree)"]?.content ?? []
            return git.add(
                .tree, Array("100644 .gitattributes\0".utf8) + rules.bytes + entries)
        }
        #expect(played.isTaken, "\(paths): \(String(describing: played.error))")
    }

    /// Each name is compared with each line.
    @Test func linesTimesNamesAreBounded() async {
        for (names, isTaken) in [(3, true), (1100, false)] {
            let played = await Self.play("?tar") { git in
                let text = isTaken ? "b c\n" : String(repeating: "b c\n", count: 1 << 20)
                let file = git.add(.blob, "x")
                return git.addTree(
                    [("100644 .gitattributes", git.add(.blob, text))]
                        + (0..<names).map { ("100644 \($0 + 10_000)", file) })
            }
            #expect(played.isTaken == isTaken)
            if !isTaken { #expect(played.error?.outcome == .tooLarge && played.head == nil) }
        }
    }

    /// One comparison with all lines looks at the deadline.
    @Test func attributesEndAtTheDeadline() throws {
        var attributes = Attributes()
        let line = String(repeating: "*a", count: 1000) + "b x\n"
        attributes.push([], Array(String(repeating: line, count: 2000).utf8)[...])
        let path = [UInt8](repeating: 0x61, count: 16_000)
        let error = #expect(throws: FetchError.self) {
            try LongWork.within(0.001, reading: "it") { () throws(FetchError) in
                _ = try attributes.values(for: path)
            }
        }
        #expect(error?.outcome == .timeout)
    }

    // MARK: Patches

    static func heads(_ old: [String], _ new: [String]) throws -> [String] {
        let sides = try ["0", "1"].map {
            let id = try #require(ObjectID(hex: String(repeating: $0, count: 40)))
            return TreeChange.Side(
                TreeEntry(mode: 0o100644, kind: .file, name: Array("f".utf8)[...], id: id))
        }
        let change = TreeChange(path: Array("f".utf8), old: sides[0], new: sides[1])
        func content(_ lines: [String]) -> [UInt8] {
            lines.flatMap { Array(($0 + "\n").utf8) }
        }
        let patch = try FilePatch(change, content(old), content(new)).text()
        return String(decoding: patch, as: UTF8.self).split(separator: "\n").map(String.init)
            .filter { $0.hasPrefix("@@") }
    }

    /// As git-diff(1) writes them where no attribute names a language.
    @Test func hunksNameTheirFunctions() throws {
        let long =
            "f" + String(repeating: "g", count: 70) + "   h" + String(repeating: "i", count: 9)
        var old = ["int main(void)  ", "{"] + (0..<10).map { "\t\($0);" }
        old += ["}", "", "_under()", "{"] + (0..<10).map { "    \($0)" } + ["#define X", " y"]
        old += (0..<10).map { "\t-\($0)" } + ["$dollar", "1st"] + (0..<10).map { " .\($0)" }
        old += [long, "}"] + (0..<10).map { " +\($0)" }
        var new = old
        for place in [0, 8, 22, 36, 48, 60] { new[place] += "x" }
        #expect(
            try Self.heads(old, new) == [
                "@@ -1,4 +1,4 @@", "@@ -6,7 +6,7 @@ int main(void)", "@@ -20,7 +20,7 @@ _under()",
                "@@ -34,7 +34,7 @@ _under()", "@@ -46,7 +46,7 @@ $dollar",
                "@@ -58,5 +58,5 @@ " + long.prefix(80),
            ])
    }

    /// Texts of many lines take long: the deadline ends it.
    @Test func aPatchEndsAtTheDeadline() throws {
        let texts = ["a", "b"].map { word in (0..<100_000).map { "\(word)\($0 % 7)" } }
        let error = #expect(throws: FetchError.self) {
            try LongWork.within(0.001, reading: "it") { () throws(FetchError) in
                do {
                    _ = try Self.heads(texts[0], texts[1])
                } catch let error as FetchError {
                    throw error
                } catch {}
            }
        }
        #expect(error?.outcome == .timeout)
    }
}

/// LFS files that come at the same time.
@Suite(.timeLimit(.minutes(30)))
struct LFSTogetherTests {
    /// Lets exchanges of files go on when eight of them are there, or all that are left.
    private actor Gate {
        private let total: Int
        private(set) var most = 0
        private var (seen, open) = (0, 0)
        private var waiting: [CheckedContinuation<Void, Never>] = []

        init(total: Int) { self.total = total }

        func pass() async {
            seen += 1
            open += 1
            most = max(most, open)
            if open == 8 || seen == total {
                for one in waiting { one.resume() }
                waiting = []
            } else {
                await withCheckedContinuation { waiting.append($0) }
            }
            open -= 1
        }
    }

    private struct GatedHTTP: HTTPClient {
        let http: FakeHTTP
        let gate: Gate

        func exchange(
            _ request: HTTPRequest, onReply: (HTTPReply) async throws(FetchError) -> Void,
            onBody: (ArraySlice<UInt8>) async throws(FetchError) -> Void
        ) async throws(FetchError) -> Completeness {
            if request.uri.host == "s.test" { await gate.pass() }
            return try await http.exchange(request, onReply: onReply, onBody: onBody)
        }
    }

    @Test func eightFilesComeAtATime() async throws {
        let (git, files) = try LFSArchiveTests.repository(20)
        let http = FakeHTTP { request in
            let path = request.uri.path
            if path.hasSuffix("/batch") { return LFSArchiveTests.batch(request) }
            if let bytes = files[String(path.suffix(64))] { return FakeHTTP.Reply("", bytes) }
            return request.options.body.map {
                FakeHTTP.Reply(GitHTTPTests.result, git.answerAll($0).bytes)
            } ?? FakeHTTP.Reply(GitHTTPTests.advertisement, git.greeting)
        }
        let gate = Gate(total: 20)
        let played = await playGit(
            "git+https://h.test/r?tar&lfs", GitDialer(GatedHTTP(http: http, gate: gate)))
        #expect(played.isTaken)
        #expect(await gate.most == 8)
        for number in 0..<20 { #expect(played.text.contains("content\(number)\0")) }
    }
}
