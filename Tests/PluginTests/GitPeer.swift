// SPDX-License-Identifier: MIT
@testable internal import GitPlugin
internal import SmallWebCore
internal import SmallWebTestSupport
internal import SmallWebTesting
internal import Testing

/// The answer of a Git server to one request.
struct GitAnswer {
    var bytes: [UInt8]
    /// Whole packets, repeated for ever after `bytes`.
    var refrain: [UInt8] = []
    /// The end of the connection after that; `nil` to wait for another request.
    var close: ScriptedTransport.Close?

    init(_ bytes: [UInt8], refrain: [UInt8] = [], close: ScriptedTransport.Close? = nil) {
        self.bytes = bytes
        self.refrain = refrain
        self.close = close
    }

    init(_ text: String, close: ScriptedTransport.Close? = nil) {
        self.init(Array(text.utf8), close: close)
    }
}

/// The other end of a git:// connection: it answers each request when it has come, one per `send`.
final class GitPeer: Carrier {
    /// Sizes of the reads, and the offset at which the server dies.
    struct Manner {
        /// Most bytes of one `receive`.
        var step = Int.max
        /// A `receive` never crosses this offset.
        var split = Int.max
        var cut = Int.max
        var cutClose = ScriptedTransport.Close.fin
        /// Bytes after which an endless server is ended.
        var bytesMax = 1 << 30
    }

    private let manner: Manner
    private let answer: ([UInt8]) -> GitAnswer
    private(set) var requests: [[UInt8]] = []
    private(set) var given = 0
    private(set) var isClosed = false
    private var current = GitAnswer([])
    private var pending: ArraySlice<UInt8> = []

    init(_ manner: Manner = Manner(), _ answer: @escaping ([UInt8]) -> GitAnswer) {
        self.manner = manner
        self.answer = answer
    }

    /// True if an endless server was read to its limit.
    var isExhausted: Bool { given >= manner.bytesMax }

    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(FetchError) -> TransportRead {
        precondition(!isClosed && !buffer.isEmpty)
        guard given < manner.bytesMax else { return .ended(.endOfFile) }
        guard given < manner.cut else { return ending(manner.cutClose) }
        if pending.isEmpty { pending = current.refrain[...] }
        guard !pending.isEmpty else { return ending(current.close ?? .silence) }
        var count = min(manner.step, buffer.count, pending.count, manner.cut - given)
        if given < manner.split { count = min(count, manner.split - given) }
        buffer.copyBytes(from: pending.prefix(count))
        pending = pending.dropFirst(count)
        given += count
        return .bytes(count)
    }

    private func ending(_ close: ScriptedTransport.Close) -> TransportRead {
        switch close {
        case .closeNotify: .ended(.closeNotify)
        case .fin: .ended(.endOfFile)
        case .reset: .ended(.reset)
        case .silence: .wouldBlock(.readable)
        }
    }

    func send(_ bytes: UnsafeRawBufferPointer) throws(FetchError) -> TransportWrite {
        precondition(!isClosed)
        requests.append(Array(bytes))
        if pending.isEmpty && current.refrain.isEmpty && current.close == nil {
            current = answer(Array(bytes))
            pending = current.bytes[...]
        }
        return .bytes(bytes.count)
    }

    func wait(for readiness: Readiness, by deadline: Instant) async throws(FetchError) {
        throw FetchError(.timeout, .body, "the peer is silent")
    }

    func close() { isClosed = true }
}

/// Gives out connections to one peer, or its HTTP engine.
final class GitDialer: Dialer {
    private let peer: GitPeer?
    private let http: (any HTTPClient)?
    private(set) var endpoints: [Endpoint] = []

    init(_ peer: GitPeer) {
        self.peer = peer
        http = nil
    }

    init(_ http: any HTTPClient) {
        peer = nil
        self.http = http
    }

    func dial(_ endpoint: Endpoint) async throws(FetchError) -> ByteStream {
        endpoints.append(endpoint)
        guard let peer else { throw FetchError(.connect, .connect, "nobody is there") }
        return ByteStream(peer, idleSeconds: nil, deadline: .never)
    }

    func httpClient(for endpoint: Endpoint) throws(FetchError) -> any HTTPClient {
        guard let http else { throw FetchError(.notBuiltIn, .input, "there is no HTTP here") }
        return http
    }
}

/// The result of fetching a URL.
struct GitPlayed {
    var head: Head?
    var refs: [Item] = []
    var items: [Item] = []
    var notes: [String] = []
    var body: [UInt8] = []
    var completeness: Completeness?
    var error: FetchError?
    /// One per exchange; over git:// there is a farewell as well.
    var requests: [[UInt8]] = []

    var text: String { String(decoding: body, as: UTF8.self) }

    /// The result in one word.
    var outcome: Outcome {
        if let error { return error.outcome }
        return switch head?.replyClass {
        case .permanentFailure: .permanentFailure
        case .temporaryFailure: .temporaryFailure
        case .redirect: .redirectRefused
        default: .ok
        }
    }

    /// True if a caller would believe that the reply is complete.
    var isTaken: Bool { outcome == .ok && completeness == .complete }
}

/// Gives a URL to a plugin that remembers nothing, unless another one is given.
func playGit(
    _ url: String, _ dialer: GitDialer, refs: RefQuery = RefQuery(), wantsItems: Bool = true,
    limits: Limits = Limits(), plugin: GitPlugin = GitPlugin()
) async -> GitPlayed {
    var played = GitPlayed()
    do throws(FetchError) {
        let uri = try URI(parsing: url)
        guard let scheme = plugin.schemes.first(where: { $0.name == uri.scheme }) else {
            throw FetchError(.unsupportedScheme, .input, "not Git")
        }
        var request = Request(uri: uri, scheme: scheme, limits: limits)
        request.options["heads"] = refs.onlyHeads ? .flag(true) : nil
        request.options["tags"] = refs.onlyTags ? .flag(true) : nil
        request.options["symref"] = refs.showsSymrefs ? .flag(true) : nil
        if refs.isRequired || !refs.patterns.isEmpty { request.referencePatterns = refs.patterns }
        request.wantsItems = wantsItems
        played.completeness = try await plugin.fetch(request, dialer: dialer) {
            (event) async throws(FetchError) in
            switch event {
            case .head(let head):
                if played.head != nil { Issue.record("two heads") }
                played.head = head
            case .body(let bytes):
                if bytes.isEmpty { Issue.record("an empty body event") }
                if played.head == nil { Issue.record("a body before its head") }
                played.body += bytes
                // As the fetcher does.
                if let most = limits.bodyBytesMax, played.body.count > most {
                    throw FetchError(.tooLarge, .body, "the body is too large")
                }
            case .item(let item) where item.kind == .reference: played.refs.append(item)
            case .item(let item): played.items.append(item)
            case .facts(let facts): played.head?.facts.merge(facts)
            case .note(let note): played.notes.append(note.code)
            default: Issue.record("\(event)")
            }
        }
    } catch {
        played.error = error
    }
    if let completeness = played.completeness { #expect(completeness == .complete) }
    return played
}

/// The same against a server over git://.
func playGit(
    _ url: String, _ manner: GitPeer.Manner = GitPeer.Manner(), refs: RefQuery = RefQuery(),
    wantsItems: Bool = true, limits: Limits = Limits(), plugin: GitPlugin = GitPlugin(),
    _ answer: @escaping ([UInt8]) -> GitAnswer
) async -> GitPlayed {
    let peer = GitPeer(manner, answer)
    let dialer = GitDialer(peer)
    var played = await playGit(
        url, dialer, refs: refs, wantsItems: wantsItems, limits: limits, plugin: plugin)
    #expect(dialer.endpoints.isEmpty || peer.isClosed, "the connection is left open")
    #expect(!peer.isExhausted, "listened for ever")
    played.requests = peer.requests
    return played
}

// MARK: Packets

/// A data packet.
func pkt(_ payload: some Collection<UInt8>) -> [UInt8] {
    let digits = String(payload.count + 4, radix: 16)
    return Array((String(repeating: "0", count: 4 - digits.count) + digits).utf8) + payload
}

func pkt(_ text: String) -> [UInt8] { pkt(text.utf8) }

/// Packets of one side band.
func band(_ number: UInt8, _ bytes: [UInt8]) -> [UInt8] {
    var rest = bytes[...]
    var packets: [UInt8] = []
    while !rest.isEmpty {
        packets += pkt([number] + rest.prefix(65_515))
        rest = rest.dropFirst(65_515)
    }
    return packets
}

let gitFlush = Array("0000".utf8)
let gitDelim = Array("0001".utf8)

// MARK: A server

/// A repository in memory and a server of version 2 that can filter: every request gets the object
/// that it names and nothing else.
struct FakeGit {
    private(set) var objects: [String: PackObject] = [:]
    var greeting = Self.greeting("fetch=shallow filter")
    /// The reply to ls-refs.
    var refs = gitFlush

    static func greeting(_ capabilities: String...) -> [UInt8] {
        let lines = ["version 2", "agent=test", "ls-refs=unborn"] + capabilities
        return Array(lines.map { pkt($0 + "\n") }.joined()) + gitFlush
    }

    @discardableResult
    mutating func add(_ type: ObjectType, _ content: [UInt8]) -> ObjectID {
        guard let id = try? PackBuilder.id(type, content) else { preconditionFailure() }
        objects["\(id)"] = PackObject(id: id, type: type, content: content)
        return id
    }

    mutating func add(_ type: ObjectType, _ text: String) -> ObjectID {
        add(type, Array(text.utf8))
    }

    mutating func addTree(_ entries: [(String, ObjectID)]) -> ObjectID {
        add(.tree, Array(entries.map { Array("\($0)\0".utf8) + $1.bytes }.joined()))
    }

    mutating func addCommit(tree: ObjectID) -> ObjectID {
        add(.commit, "tree \(tree)\nauthor A <a@b> 1 +0000\n\ntext\n")
    }

    /// A reply to fetch, with these packs' bytes.
    static func packReply(_ pack: [UInt8]) -> [UInt8] {
        pkt("packfile\n") + band(2, Array("Counting\r".utf8)) + band(1, pack) + gitFlush
    }

    func pack(_ ids: [String]) -> [UInt8] {
        var builder = PackBuilder()
        for id in ids {
            guard let object = objects[id] else { continue }
            builder.add(object.type, object.content)
        }
        guard let pack = try? builder.pack() else { preconditionFailure() }
        return pack
    }

    func answer(_ request: [UInt8]) -> GitAnswer {
        let text = String(decoding: request, as: UTF8.self)
        if text.contains("git-upload-pack /") { return GitAnswer(greeting) }
        if text.contains("command=ls-refs") { return GitAnswer(refs) }
        if let id = Self.want(request) {
            guard objects[id] != nil else {
                return GitAnswer(pkt("ERR upload-pack: not our ref \(id)"), close: .fin)
            }
            return GitAnswer(Self.packReply(pack([id])))
        }
        return GitAnswer([], close: .fin)
    }

    /// The id in the `want` line of a request to fetch.
    static func want(_ request: [UInt8]) -> String? {
        let text = String(decoding: request, as: UTF8.self)
        return text.firstRange(of: "want ").map { String(text[$0.upperBound...].prefix(40)) }
    }

    /// `main` with a file of every kind, and an annotated tag.
    static let sample: FakeGit = {
        var git = FakeGit()
        let file = git.add(.blob, "hello\n")
        let binary = git.add(.blob, [1, 2, 3, 4, 5, 0, 6])
        let empty = git.add(.blob, [])
        let link = git.add(.blob, "dir/file")
        let folder = git.addTree([("100644 file", file), ("100755 run", file)])
        let module = ObjectID([UInt8](repeating: 0xAB, count: 20), .sha1)
        let root = git.addTree([
            ("100644 bin", binary), ("40000 dir", folder), ("100644 empty", empty),
            ("120000 link", link), ("160000 module", module),
            ("100644 new\nline", file), ("100644 sp ace%2F?#", file),
        ])
        let commit = git.addCommit(tree: root)
        let tag = git.add(
            .tag, "object \(commit)\ntype commit\ntag v1\ntagger A <a@b> 1 +0000\n\nx\n")
        git.refs =
            pkt("\(commit) HEAD symref-target:refs/heads/main\n")
            + pkt("\(commit) refs/heads/main\n")
            + pkt("\(tag) refs/tags/v1 peeled:\(commit)\n") + gitFlush
        return git
    }()
}
