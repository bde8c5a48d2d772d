// SPDX-License-Identifier: MIT
@testable internal import GitPlugin
internal import SmallWebCore
internal import SmallWebTestSupport
internal import Testing

/// Git over smart HTTP: the requests, and checks of the replies.
@Suite struct GitHTTPTests {
    static let oid = GitAdvertisementTests.oid
    static let result = "application/x-git-upload-pack-result"
    static let advertisement = "application/x-git-upload-pack-advertisement"

    /// A list of two references, in version 0.
    static let list =
        pkt("\(oid) HEAD\0symref=HEAD:refs/heads/main shallow side-band-64k\n")
        + pkt("\(oid) refs/heads/main\n") + gitFlush
    static let preface = pkt("# service=git-upload-pack\n") + gitFlush

    /// The sample's server over HTTP.
    static func sample(_ request: HTTPRequest) -> FakeHTTP.Reply {
        if request.options.body == nil {
            return FakeHTTP.Reply(advertisement, FakeGit.sample.greeting)
        }
        return FakeHTTP.Reply(result, FakeGit.sample.answer(request.options.body ?? []).bytes)
    }

    static func play(
        _ url: String = "git+https://h.test/r", step: Int = .max, plugin: GitPlugin = GitPlugin(),
        wantsItems: Bool = true, _ answer: @escaping (HTTPRequest) -> FakeHTTP.Reply
    ) async -> (played: GitPlayed, requests: [HTTPRequest]) {
        let http = FakeHTTP(step: step, answer)
        let played = await playGit(url, GitDialer(http), wantsItems: wantsItems, plugin: plugin)
        #expect(!http.isExhausted, "listened for ever")
        return (played, http.requests)
    }

    static func fields(_ request: HTTPRequest) -> [String] {
        request.options.fields.map { "\($0.name): \($0.value)" }
    }

    @Test(arguments: [[], preface])
    func theListComesWithTheGreeting(_ preface: [UInt8]) async {
        for step in [1, 3, Int.max] {
            let (played, requests) = await Self.play(
                "git+https://h.test:1/a/r/", step: step, wantsItems: false
            ) { _ in FakeHTTP.Reply(Self.advertisement, preface + Self.list) }
            #expect(played.isTaken)
            #expect(played.text == "\(Self.oid)\tHEAD\n\(Self.oid)\trefs/heads/main\n")
            #expect(played.refs.isEmpty)
            #expect(
                requests.map(\.uri.description)
                    == ["https://h.test:1/a/r/info/refs?service=git-upload-pack"])
            #expect(
                Self.fields(requests[0])
                    == ["Git-Protocol: version=2", "Accept: \(Self.advertisement)"])
            #expect(requests[0].options.body == nil && requests[0].options.method == nil)
        }
    }

    @Test(arguments: [1, 5, Int.max])
    func aFileTakesARequestForEachPart(_ step: Int) async {
        let (played, requests) = await Self.play(
            "git+http://h.test/r//dir/file", step: step, Self.sample)
        #expect(played.isTaken)
        #expect(played.text == "hello\n")
        #expect(requests.count == 6)
        #expect(requests[0].uri.description == "http://h.test/r/info/refs?service=git-upload-pack")
        #expect(
            Self.fields(requests[0])
                == ["Git-Protocol: version=2", "Accept: \(Self.advertisement)"])
        for request in requests.dropFirst() {
            #expect(request.uri.description == "http://h.test/r/git-upload-pack")
            #expect(
                Self.fields(request) == [
                    "Git-Protocol: version=2", "Accept: \(Self.result)",
                    "Content-Type: application/x-git-upload-pack-request",
                ])
            #expect(request.options.body != nil)
        }
    }

    @Test func aPrefaceMayComeBeforeVersion2() async {
        let (played, _) = await Self.play("git+http://h.test/r//dir/file") { request in
            var reply = Self.sample(request)
            if request.options.body == nil { reply.body = Self.preface + reply.body }
            return reply
        }
        #expect(played.isTaken)
    }

    @Test(arguments: [preface + gitFlush, gitFlush])
    func anEmptyRepositoryIsAnEmptyList(_ body: [UInt8]) async {
        let (played, _) = await Self.play { _ in FakeHTTP.Reply(Self.advertisement, body) }
        #expect(played.isTaken)
        #expect(played.body.isEmpty)
        #expect(played.head?.replyClass == .success)
    }

    // MARK: Refusals

    @Test(arguments: [
        "text/plain", "text/html; charset=utf-8", "application/x-git-upload-pack-result", "",
        "application/x-git-receive-pack-advertisement", "nonsense",
    ])
    func anotherTypeIsNoGitServer(_ type: String) async {
        let (played, requests) = await Self.play { _ in FakeHTTP.Reply(type, Self.list) }
        #expect(played.error?.outcome == .protocolError)
        #expect(played.head == nil && played.body.isEmpty)
        #expect(requests.count == 1)
    }

    @Test func anotherTypeOfAResultIsRefused() async {
        let (played, requests) = await Self.play("git+http://h.test/r//dir/file") { request in
            var reply = Self.sample(request)
            if request.options.body != nil { reply.type = Self.advertisement }
            return reply
        }
        #expect(played.error?.outcome == .protocolError)
        #expect(requests.count == 2)
    }

    @Test(arguments: [
        (401, Head.Class.permanentFailure), (403, .permanentFailure), (404, .permanentFailure),
        (410, .permanentFailure), (204, .permanentFailure), (206, .permanentFailure),
        (304, .permanentFailure), (300, .permanentFailure), (408, .temporaryFailure),
        (429, .temporaryFailure), (500, .temporaryFailure), (503, .temporaryFailure),
        (999, .temporaryFailure),
    ])
    func aStatusIsAReply(_ status: Int, _ replyClass: Head.Class) async {
        for stage in [0, 1, 5] {
            var count = 0
            let (played, _) = await Self.play("git+http://h.test/r//dir/file") { request in
                defer { count += 1 }
                var reply = Self.sample(request)
                if count == stage { reply.status = status }
                return reply
            }
            #expect(played.error == nil)
            #expect(played.head?.replyClass == replyClass)
            #expect(played.head?.status == status)
            #expect(played.head?.status == status)
            #expect(played.body.isEmpty)
            #expect(count == stage + 1)
        }
    }

    @Test func anERRPacketIsARefusal() async {
        for url in ["git+https://h.test/r", "git+https://h.test/r//a"] {
            let (played, _) = await Self.play(url) { _ in
                FakeHTTP.Reply(Self.advertisement, Self.preface + pkt("ERR no \u{1B}[1mway\n"))
            }
            #expect(played.head?.replyClass == .permanentFailure)
            #expect(played.head?.meta == "no \u{1B}[1mway")
            #expect(played.body.isEmpty)
        }
    }

    // MARK: Redirects

    @Test(arguments: [
        ("https://other.test/x/info/refs?service=git-upload-pack", "git+https://other.test/x"),
        ("https://other.test/x/info/refs", "git+https://other.test/x"),
        ("/x/info/refs?service=git-upload-pack#f", "git+https://h.test/x"),
        ("http://h.test/r/info/refs?a=b", "git+http://h.test/r"),
        ("https://h.test:1/a//info/refs", "git+https://h.test:1/a/"),
        ("../x/info/refs", "git+https://h.test/r/info/../x"),
    ])
    func aMovedRepositoryIsARedirect(_ location: String, _ target: String) async throws {
        for (path, end) in [("", ""), ("//dir/a%20b?ref=v1", "//dir/a%20b?ref=v1")] {
            let (played, requests) = await Self.play("git+https://h.test/r" + path) { _ in
                FakeHTTP.Reply(Self.advertisement, Self.list, status: 301, location: location)
            }
            #expect(played.error == nil)
            #expect(played.head?.replyClass == .redirect)
            #expect(played.head?.redirectTarget == target + end)
            #expect(played.head?.isPermanentRedirect == true)
            #expect(requests.count == 1)
            // Whoever follows it asks for the same path of the same version.
            let address = try GitAddress(URI(parsing: target + end))
            let before = try GitAddress(URI(parsing: "git+https://h.test/r" + path))
            #expect(address.path == before.path && address.version == before.version)
        }
    }

    /// No server decides by a redirect which file is asked for.
    @Test(arguments: [
        "https://h.test/a//b/info/refs", "https://h.test//a/b//c/info/refs",
        "https://other.test/login", "https://other.test/", "ftp://h.test/x/info/refs",
        "git://h.test/x/info/refs", "https://h.test/info/refs/", "https://h.test/x/info/refsx",
        "https://h.test/info/refs", "%", "https://h.test/a%0Ab/info/refs",
        "https://user:secret@h.test/x/info/refs",
    ])
    func anotherRedirectIsARefusal(_ location: String) async {
        for path in ["", "//dir/file"] {
            let (played, _) = await Self.play("git+https://h.test/r" + path) { _ in
                FakeHTTP.Reply(Self.advertisement, [], status: 302, location: location)
            }
            #expect(played.outcome == .permanentFailure)
            #expect(played.head?.redirectTarget == nil)
        }
    }

    @Test func onlyTheFirstRequestIsRedirected() async {
        let (played, _) = await Self.play("git+https://h.test/r//dir/file") { request in
            var reply = Self.sample(request)
            if request.options.body != nil {
                reply.status = 307
                reply.location = "https://evil.test/r/git-upload-pack"
            }
            return reply
        }
        #expect(played.outcome == .permanentFailure)
        #expect(played.head?.redirectTarget == nil)
    }

    // MARK: Bodies that end too soon, or never

    @Test func aCutBodyIsNeverTaken() async {
        for (url, stages) in [("git+http://h.test/r", 1), ("git+http://h.test/r//dir/file", 6)] {
            for stage in 0..<stages {
                var cut = 0
                while true {
                    var (count, length) = (0, 0)
                    let (played, _) = await Self.play(url) { request in
                        defer { count += 1 }
                        var reply =
                            stages == 1
                            ? FakeHTTP.Reply(Self.advertisement, Self.preface + Self.list)
                            : Self.sample(request)
                        guard count == stage else { return reply }
                        length = reply.body.count
                        reply.body = Array(reply.body.prefix(cut))
                        return reply
                    }
                    if cut == length { break }
                    #expect(played.completeness == nil, "\(stage) cut at \(cut)")
                    #expect(played.error?.outcome == .truncated, "\(stage) cut at \(cut)")
                    cut += 1
                }
            }
        }
    }

    @Test(arguments: [gitFlush, pkt("x"), Array("garbage".utf8)])
    func whatFollowsAReplyIsNotHeld(_ refrain: [UInt8]) async {
        let refrain = Array([[UInt8]](repeating: refrain, count: 60_000 / refrain.count).joined())
        var plugin = GitPlugin()
        plugin.overhead.bytesLeft = 4 << 20
        let (played, _) = await Self.play(plugin: plugin) { _ in
            FakeHTTP.Reply(Self.advertisement, Self.list, refrain: refrain)
        }
        #expect(played.error?.outcome == .tooLarge)
        #expect(played.completeness == nil)
    }

    @Test(arguments: ["POST", "HEAD"])
    func noOtherRequestsCanBeMade(_ method: String) async throws {
        let scheme = GitPlugin().schemes[2]
        var request = Request(uri: try URI(parsing: "git+https://h.test/r"), scheme: scheme)
        request.http.method = method
        let dialer = GitDialer(FakeHTTP { _ in FakeHTTP.Reply("", []) })
        let error = await #expect(throws: FetchError.self) {
            _ = try await GitPlugin().fetch(request, dialer: dialer) { _ in }
        }
        #expect(error?.outcome == .usage)
    }

    /// An error of a proxy, for example: only the Git server's own refusal is a reply.
    @Test func anErrorLikeARefusalStaysAnError() async {
        struct Denied: HTTPClient {
            func exchange(
                _ request: HTTPRequest,
                onReply: (HTTPReply) async throws(FetchError) -> Void,
                onBody: (ArraySlice<UInt8>) async throws(FetchError) -> Void
            ) async throws(FetchError) -> Completeness {
                throw FetchError(.permanentFailure, .header, "login denied")
            }
        }
        let played = await playGit("git+http://h.test/r", GitDialer(Denied()))
        #expect(played.head == nil)
        #expect(played.error?.message == "login denied")
    }

    @Test(arguments: ["git:/r", "git:r", "git:///r", "git+http:///r"])
    func aURLWithoutAHostIsRefused(_ url: String) async {
        let (played, requests) = await Self.play(url) { _ in FakeHTTP.Reply("", []) }
        #expect(played.error?.outcome == .badURL)
        #expect(requests.isEmpty)
    }
}

/// An HTTP engine that makes up its replies.
final class FakeHTTP: HTTPClient {
    struct Reply {
        var type: String
        var body: [UInt8]
        var status = 200
        var location: String?
        /// Bytes repeated after `body`.
        var refrain: [UInt8] = []

        init(
            _ type: String, _ body: [UInt8], status: Int = 200, location: String? = nil,
            refrain: [UInt8] = []
        ) {
            self.type = type
            self.body = body
            self.status = status
            self.location = location
            self.refrain = refrain
        }
    }

    private let step: Int
    private let answer: (HTTPRequest) -> Reply
    /// Several exchanges may be under way, and here on several threads.
    private let asked = Locked<[HTTPRequest]>([])
    var requests: [HTTPRequest] { asked.withLock { $0 } }
    private(set) var isExhausted = false

    init(step: Int = .max, _ answer: @escaping (HTTPRequest) -> Reply) {
        self.step = step
        self.answer = answer
    }

    func exchange(
        _ request: HTTPRequest, onReply: (HTTPReply) async throws(FetchError) -> Void,
        onBody: (ArraySlice<UInt8>) async throws(FetchError) -> Void
    ) async throws(FetchError) -> Completeness {
        asked.withLock { $0.append(request) }
        let reply = answer(request)
        var head = HTTPReply()
        head.add(line: Array("HTTP/1.1 \(reply.status) Reason\r\n".utf8))
        if !reply.type.isEmpty { head.add(line: Array("Content-Type: \(reply.type)\r\n".utf8)) }
        if let location = reply.location {
            head.add(line: Array("Location: \(location)\r\n".utf8))
        }
        head.add(line: Array("\r\n".utf8))
        try await onReply(head)
        var rest = reply.body[...]
        while !rest.isEmpty {
            try await onBody(rest.prefix(step))
            rest = rest.dropFirst(step)
        }
        var more = 0
        while !reply.refrain.isEmpty && more < 16 << 20 {
            try await onBody(reply.refrain[...])
            more += reply.refrain.count
        }
        isExhausted = more >= 16 << 20
        return .complete
    }
}
