// SPDX-License-Identifier: MIT
@testable internal import GitPlugin
internal import SmallWebCore
internal import SmallWebTestSupport
internal import Testing

/// Answers of Git LFS to the question where files are.
@Suite struct LFSBatchTests {
    static let digits = String(repeating: "0a", count: 32)

    static func pointer(_ digits: String = digits, _ size: Int = 5) -> LFSPointer? {
        LFSPointer(
            Array(
                """
                version https://git-lfs.github.com/spec/v1
                oid sha256:\(digits)
                size \(size)

                """.utf8)[...])
    }

    static func uri(_ text: String = "https://h.test/r") throws -> URI { try URI(parsing: text) }

    static func answer(_ object: String) -> [UInt8] {
        Array("{\"objects\": [\(object.replacing("@", with: digits))]}".utf8)
    }

    static func parse(_ answer: [UInt8]) throws -> LFSBatch.Answer? {
        let file = try #require(pointer())
        return try LFSBatch.parse(answer[...], to: [file], from: try uri())[digits]
    }

    @Test(arguments: [
        ("https://h.test/r", "https://h.test/r.git/info/lfs/objects/batch"),
        ("http://h.test:81/a/r.git", "http://h.test:81/a/r.git/info/lfs/objects/batch"),
    ])
    func theServerIsBelowTheRepository(_ repository: String, _ wanted: String) throws {
        #expect(LFSBatch.uri(of: try Self.uri(repository)).description == wanted)
    }

    @Test func aRequestNamesFilesAndTheirSizes() throws {
        let text = String(decoding: LFSBatch.request([try #require(Self.pointer())]), as: UTF8.self)
        #expect(
            text == """
                {"operation":"download","transfers":["basic"],"objects":[{"oid":"\(Self.digits)",\
                "size":5}],"hash_algo":"sha256"}

                """)
    }

    @Test func aPlaceHasItsFields() throws {
        let place = try Self.parse(
            Self.answer(
                """
                {"oid": "@", "size": 5, "actions": {"download": {"href": "https://s.test/x?y=1",
                 "header": {"X-A": "b", "Host": "evil.test", "Range": "bytes=1-",
                            "Transfer-Encoding": "chunked", "X-Empty": ""}, "expires_in": 60}}}
                """))
        #expect(
            place == .download(try Self.uri("https://s.test/x?y=1"), fields: [.init("X-A", "b")]))
    }

    @Test(arguments: [
        ("\"error\": {\"code\": 404, \"message\": \"none\"}", "404 none"),
        ("\"error\": {}", "without a reason"), ("\"size\": 5", "the server offers no download"),
        ("\"actions\": {\"upload\": {}}", "the server offers no download"),
    ])
    func aRefusalIsSaid(_ member: String, _ why: String) throws {
        let place = try Self.parse(Self.answer("{\"oid\": \"@\", \(member)}"))
        #expect(place == .refused(why))
    }

    /// Members that are there and say nothing.
    @Test(arguments: ["\"error\": null", "\"size\": null", "\"authenticated\": null"])
    func nullIsNotThere(_ member: String) throws {
        let object =
            "{\"oid\": \"@\", \(member), \"actions\": {\"download\": "
            + "{\"href\": \"https://s.test/\", \"header\": null}}}"
        #expect(
            try Self.parse(Self.answer(object))
                == .download(try Self.uri("https://s.test/"), fields: []))
    }

    @Test(arguments: [
        ("application/vnd.git-lfs+json", "{\"message\": \"over its\\n quota\"}", "over its quota"),
        ("application/json; charset=utf-8", "{\"message\": \"no\", \"request_id\": 1}", "no"),
        ("text/plain; charset=utf-8", "not here\n", "not here"),
        ("application/json", "{\"message\": 1}", nil), ("application/json", "{\"mess", nil),
        ("text/html", "<html>no</html>", nil), ("text/plain", "", nil),
    ])
    func theReasonOfARefusalIsInItsBody(_ type: String, _ body: String, _ why: String?) {
        let reply = HTTPReply(Array("HTTP/1.1 403 No\r\nContent-Type: \(type)\r\n\r\n".utf8)[...])
        #expect(LFSBatch.reason(Array(body.utf8), reply) == why)
    }

    @Test(arguments: [
        "file:///etc/passwd", "ftp://h.test/x", "gopher://h.test/x", "//", "javascript:x",
        "http://h.test/x", "https://a:b@h.test/x", "https://h.test/a b", "https://h.test/\\u0001",
        "https://", "https:x",
    ])
    func anotherPlaceIsNotVisited(_ href: String) {
        let error = #expect(throws: FetchError.self) {
            try Self.parse(
                Self.answer(
                    "{\"oid\": \"@\", \"actions\": {\"download\": {\"href\": \"\(href)\"}}}"))
        }
        #expect(error?.outcome == .protocolError)
    }

    @Test(arguments: [
        "", "[]", "{}", "{\"objects\": {}}", "{\"objects\": []}", "{\"objects\": [1, null]}",
        "{\"transfer\": \"tus\", \"objects\": []}", "{\"hash_algo\": \"md5\", \"objects\": []}",
        "<html>", "{\"objects\": [{\"oid\": \"@\"}, {\"oid\": \"@\"}]}",
        "{\"objects\": [{\"oid\": \"@\", \"size\": 6}]}",
        "{\"objects\": [{\"oid\": \"\(String(repeating: "0b", count: 32))\"}]}",
        "{\"objects\": [{\"oid\": \"@\", \"actions\": {\"download\": {\"href\": \"https://h/\", "
            + "\"header\": {\"A\": 1}}}}]}",
        "{\"objects\": [{\"oid\": \"@\", \"actions\": {\"download\": {\"href\": \"https://h/\", "
            + "\"header\": {\"A b\": \"c\"}}}}]}",
        "{\"objects\": [{\"oid\": \"@\", \"actions\": {\"download\": {\"href\": \"https://h/\", "
            + "\"header\": {\"A\": \"b\\r\\nC: d\"}}}}]}",
        "{\"objects\": " + String(repeating: "[", count: 1000),
    ])
    func anotherAnswerIsRefused(_ text: String) {
        let error = #expect(throws: FetchError.self) {
            try Self.parse(Array(text.replacing("@", with: Self.digits).utf8))
        }
        #expect(error?.outcome == .protocolError)
    }

    @Test func aCutAnswerIsRefused() throws {
        let answer = Self.answer(
            "{\"oid\": \"@\", \"actions\": {\"download\": {\"href\": \"https://s.test/\"}}}")
        #expect(throws: Never.self) { try Self.parse(answer) }
        for count in answer.indices {
            let error = #expect(throws: FetchError.self) { try Self.parse(Array(answer[..<count])) }
            #expect(error?.outcome == .protocolError)
        }
    }
}

/// Archives whose files are in Git LFS.
@Suite struct LFSArchiveTests {
    static let content = Array("content".utf8)
    static let other = "https://s.test/files/"
    /// Last byte of the first file.
    static let first = UInt8(ascii: "0")

    /// A repository of `count` files in Git LFS, and a pointer that is a file of its own.
    static func repository(_ count: Int = 2) throws -> (git: FakeGit, files: [String: [UInt8]]) {
        var git = FakeGit()
        var (entries, files): ([(String, ObjectID)], [String: [UInt8]]) = ([], [:])
        entries.append(("100644 .gitattributes", git.add(.blob, "*.bin filter=lfs -text\n")))
        for number in 0...count {
            let bytes = content + Array("\(number)".utf8)
            let digest = try Digest(.sha256)
            digest.update(bytes[...])
            let digits = digest.finish().hex
            files[digits] = bytes
            let pointer = git.add(
                .blob,
                "version https://git-lfs.github.com/spec/v1\noid sha256:\(digits)\n"
                    + "size \(bytes.count)\n")
            let name = String(String(number + 10_000).dropFirst())
            entries.append(("100644 \(name).\(number == count ? "txt" : "bin")", pointer))
        }
        let commit = git.addCommit(tree: git.addTree(entries))
        git.refs = pkt("\(commit) HEAD\n") + gitFlush
        return (git, files)
    }

    /// A batch reply with a URL and header fields for each digest in the request.
    static func batch(
        _ request: HTTPRequest, at base: String = other, fields: String = "{\"X-Batch\": \"b\"}"
    ) -> FakeHTTP.Reply {
        let body = String(decoding: request.options.body ?? [], as: UTF8.self)
        let objects = body.split(separator: "\"oid\":\"").dropFirst().map { part in
            let digits = part.prefix(64)
            return """
                {"oid": "\(digits)", "actions": {"download": {"href": "\(base)\(digits)",
                "header": \(fields)}}}
                """
        }
        let text = "{\"objects\": [\(objects.joined(separator: ","))]}"
        return FakeHTTP.Reply(LFSBatch.mediaType, Array(text.utf8))
    }

    static func play(
        _ url: String = "git+https://h.test/r?tar&lfs", count: Int = 2, limits: Limits = Limits(),
        step: Int = .max, batch: @escaping (HTTPRequest) -> FakeHTTP.Reply = { batch($0) },
        file: @escaping (HTTPRequest, [UInt8]) -> FakeHTTP.Reply = { FakeHTTP.Reply("", $1) }
    ) async throws -> (played: GitPlayed, requests: [HTTPRequest]) {
        let (git, files) = try repository(count)
        let http = FakeHTTP(step: step) { request in
            let path = request.uri.path
            if path.hasSuffix("/info/lfs/objects/batch") { return batch(request) }
            if let bytes = files[String(path.suffix(64))] { return file(request, bytes) }
            if request.options.body == nil {
                return FakeHTTP.Reply(GitHTTPTests.advertisement, git.greeting)
            }
            return FakeHTTP.Reply(
                GitHTTPTests.result, git.answerAll(request.options.body ?? []).bytes)
        }
        var played = await playGit(url, GitDialer(http), limits: limits)
        played.requests = []
        return (played, http.requests.filter { !$0.uri.path.hasPrefix("/r/") })
    }

    @Test(arguments: [1, Int.max])
    func filesComeInsteadOfPointers(_ step: Int) async throws {
        let (played, requests) = try await Self.play(step: step)
        #expect(played.isTaken)
        #expect(played.text.contains("content0\0") && played.text.contains("content1\0"))
        #expect(!played.text.contains("content2"))
        // The last one, and it alone.
        #expect(played.notes == ["lfs-pointer"])
        #expect(requests.count == 3)
        #expect(requests[0].uri.description == "https://h.test/r.git/info/lfs/objects/batch")
        for request in requests.dropFirst() {
            #expect(request.uri.description.hasPrefix(Self.other))
            #expect(request.endpoint == Endpoint(host: "s.test", port: 443, security: .tls))
            #expect(GitHTTPTests.fields(request) == ["X-Batch: b"])
        }
    }

    @Test func withoutTheKeyPointersStay() async throws {
        let (played, requests) = try await Self.play("git+https://h.test/r?tar")
        #expect(played.isTaken)
        #expect(played.notes == ["lfs-pointer", "lfs-pointer", "lfs-pointer"])
        #expect(requests.isEmpty)
    }

    @Test func overGitPointersStay() async throws {
        let (git, _) = try Self.repository()
        let played = await playGit("git://h.test/r?tar&lfs") { git.answerAll($0) }
        #expect(played.isTaken)
        #expect(played.notes == ["lfs-pointer", "lfs-pointer", "lfs-pointer"])
    }

    @Test func aHundredFilesAreAskedForAtOnce() async throws {
        let (played, requests) = try await Self.play(count: 150)
        #expect(played.isTaken)
        #expect(requests.count { $0.options.body != nil } == 2)
        #expect(requests.count == 152)
    }

    @Test(arguments: [
        [UInt8](repeating: 0, count: 8), Array("content0x".utf8), Array("content".utf8), [],
    ])
    func anotherContentIsAFault(_ bytes: [UInt8]) async throws {
        let (played, _) = try await Self.play(file: { _, _ in FakeHTTP.Reply("", bytes) })
        #expect(played.error?.outcome == .protocolError)
        #expect(!played.text.contains("content0"))
    }

    @Test func moreThanTheSizeIsNotHeld() async throws {
        let (played, _) = try await Self.play(file: { _, bytes in
            FakeHTTP.Reply("", bytes, refrain: [0])
        })
        #expect(played.error?.outcome == .protocolError)
    }

    @Test func anAnswerWithoutAnEndIsRefused() async throws {
        let (played, requests) = try await Self.play(
            batch: { _ in
                FakeHTTP.Reply("", [], refrain: [UInt8](repeating: 0x20, count: 65_536))
            })
        #expect(played.error?.outcome == .protocolError)
        #expect(requests.count == 1)
    }

    @Test func aRedirectTakesNothingAlong() async throws {
        let (played, requests) = try await Self.play(file: { request, bytes in
            guard request.uri.host == "s.test" else { return FakeHTTP.Reply("", bytes) }
            let place = "https://t.test\(request.uri.path)"
            return FakeHTTP.Reply("", Array("moved".utf8), status: 302, location: place)
        })
        #expect(played.isTaken)
        let second = try #require(requests.first { $0.uri.host == "t.test" })
        #expect(second.options.fields.isEmpty)
        #expect(second.endpoint.host == "t.test")
    }

    @Test(arguments: ["file:///etc/passwd", "http://t.test/x", "ftp://t.test/"])
    func aRedirectElsewhereIsNotFollowed(_ location: String) async throws {
        let (played, requests) = try await Self.play(file: { _, _ in
            FakeHTTP.Reply("", [], status: 302, location: location)
        })
        #expect(played.error?.outcome == .protocolError)
        #expect(requests.count == 3)
    }

    @Test func redirectsEnd() async throws {
        let (played, requests) = try await Self.play(file: { request, _ in
            FakeHTTP.Reply("", [], status: 307, location: request.uri.description)
        })
        #expect(played.error?.outcome == .permanentFailure)
        #expect(requests.count == 13)
    }

    /// A place is good for a while: then its server is asked again, once.
    @Test func aPlaceThatHasExpiredIsAskedForAgain() async throws {
        var batches = 0
        let (played, requests) = try await Self.play(
            count: 5,
            batch: { request in
                batches += 1
                return Self.batch(request, at: Self.other + "\(batches)/")
            },
            file: { request, bytes in
                let isExpired = request.uri.path.contains("/1/") && bytes.last != Self.first
                return isExpired
                    ? FakeHTTP.Reply("", [], status: 403) : FakeHTTP.Reply("", bytes)
            })
        #expect(played.isTaken)
        #expect(requests.count { $0.options.body != nil } == 2)
        let (refused, _) = try await Self.play(file: { _, _ in FakeHTTP.Reply("", [], status: 403) }
        )
        #expect(refused.error?.outcome == .permanentFailure)
    }

    @Test(arguments: [
        (404, Outcome.permanentFailure), (401, .permanentFailure), (302, .permanentFailure),
        (503, .temporaryFailure), (429, .temporaryFailure),
    ])
    func aServerMayRefuse(_ status: Int, _ outcome: Outcome) async throws {
        let (played, requests) = try await Self.play(batch: { _ in
            FakeHTTP.Reply("", [], status: status, location: "https://t.test/")
        })
        #expect(played.error?.outcome == outcome)
        #expect(requests.count == 1)
    }

    @Test func theLimitCounts() async throws {
        let (played, requests) = try await Self.play(limits: Limits(bodyBytesMax: 7))
        #expect(played.error?.outcome == .tooLarge)
        #expect(requests.isEmpty)
    }
}
