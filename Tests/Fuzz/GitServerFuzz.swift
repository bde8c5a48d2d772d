// SPDX-License-Identifier: MIT
@testable internal import GitPlugin
internal import SmallWebCore

/// A server that answers each request with the next of its replies, and then hangs up.
private final class GitServer: Carrier, HTTPClient, Dialer {
    private let step: Int
    private let answer: ([UInt8]) -> [UInt8]?
    private var pending: ArraySlice<UInt8> = []
    private(set) var requests = 0
    private(set) var isClosed = false

    init(step: Int, _ answer: @escaping ([UInt8]) -> [UInt8]?) {
        self.step = step
        self.answer = answer
    }

    // MARK: git://

    func dial(_ endpoint: Endpoint) async throws(FetchError) -> ByteStream {
        ByteStream(self, idleSeconds: nil, deadline: .never)
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(FetchError) -> TransportRead {
        guard !pending.isEmpty else { return .ended(.endOfFile) }
        let count = min(step, buffer.count, pending.count)
        buffer.copyBytes(from: pending.prefix(count))
        pending = pending.dropFirst(count)
        return .bytes(count)
    }

    func send(_ bytes: UnsafeRawBufferPointer) throws(FetchError) -> TransportWrite {
        requests += 1
        check(requests < 100, "it asks for ever")
        pending += answer(Array(bytes)) ?? []
        return .bytes(bytes.count)
    }

    func wait(for readiness: Readiness, by deadline: Instant) async throws(FetchError) {
        fatalError("this server never lets anybody wait")
    }

    func close() { isClosed = true }

    // MARK: Smart HTTP

    func httpClient(for endpoint: Endpoint) -> any HTTPClient { self }

    /// The answer's first byte is 0 for the header that is wanted; else a header comes first.
    func exchange(
        _ request: HTTPRequest, onReply: (HTTPReply) async throws(FetchError) -> Void,
        onBody: (ArraySlice<UInt8>) async throws(FetchError) -> Void
    ) async throws(FetchError) -> Completeness {
        requests += 1
        check(requests < 100, "it asks for ever")
        guard let answer = answer(request.options.body ?? []), let first = answer.first else {
            throw FetchError(.emptyReply, .header, "nothing")
        }
        var reply = HTTPReply()
        var rest = answer.dropFirst()
        if first == 0 {
            let kind = request.options.body == nil ? "advertisement" : "result"
            reply.add(line: Array("HTTP/1.1 200 OK\r\n".utf8))
            reply.add(line: Array("Content-Type: application/x-git-upload-pack-\(kind)\n".utf8))
        } else {
            rest = answer[...]
            while let end = rest.firstIndex(of: ASCII.lineFeed) {
                let line = Array(rest[...end])
                rest = rest[(end + 1)...]
                if line.count == 1 { break }
                reply.add(line: line)
            }
        }
        try await onReply(reply)
        while !rest.isEmpty {
            let piece = rest.prefix(step)
            rest = rest.dropFirst(piece.count)
            try await onBody(piece)
        }
        return .complete
    }
}

/// The result of fetching a URL.
private struct GitOutcome: Sendable, Equatable {
    var head: Head?
    var items: [Item] = []
    var notes: [String] = []
    var body: [UInt8] = []
    var error: FetchError?
}

private func fetch(
    _ url: String, _ query: RefQuery, step: Int,
    _ answer: @escaping @Sendable (_ number: Int, _ request: [UInt8]) -> [UInt8]?
) -> GitOutcome {
    immediately {
        var outcome = GitOutcome()
        var number = 0
        let server = GitServer(step: step) { request in
            defer { number += 1 }
            return answer(number, request)
        }
        do throws(FetchError) {
            let plugin = GitPlugin()
            let uri = try URI(parsing: url)
            guard let scheme = plugin.schemes.first(where: { $0.name == uri.scheme }) else {
                fatalError(url)
            }
            var request = Request(uri: uri, scheme: scheme)
            request.options["heads"] = query.onlyHeads ? .flag(true) : nil
            request.options["tags"] = query.onlyTags ? .flag(true) : nil
            request.options["symref"] = query.showsSymrefs ? .flag(true) : nil
            if !query.patterns.isEmpty { request.referencePatterns = query.patterns }
            let end = try await plugin.fetch(request, dialer: server) {
                (event) async throws(FetchError) in
                switch event {
                case .head(let head):
                    check(outcome.head == nil, "two heads")
                    outcome.head = head
                case .body(let bytes):
                    check(!bytes.isEmpty && outcome.head != nil, "an empty body, or no head")
                    outcome.body += bytes
                case .item(let item): outcome.items.append(item)
                case .note(let note): outcome.notes.append(note.code)
                default: break
                }
            }
            check(end == .complete, "Git says where it ends")
            check(outcome.head != nil || outcome.items.isEmpty, "items without a head")
        } catch {
            outcome.error = error
        }
        return outcome
    }
}

/// The same, in one piece, in small ones and byte by byte.
private func fetchInPieces(
    _ url: String, _ query: RefQuery = RefQuery(),
    _ answer: @escaping @Sendable (_ number: Int, _ request: [UInt8]) -> [UInt8]?
) -> GitOutcome {
    let whole = fetch(url, query, step: .max, answer)
    for step in [1, 5] {
        let pieced = fetch(url, query, step: step, answer)
        // The message about a server that hangs up depends on the bytes that came before the
        // request.
        check(pieced.error?.outcome == whole.error?.outcome, "\(String(describing: pieced.error))")
        check(pieced.head == whole.head && pieced.notes == whole.notes, "the head")
        if whole.error == nil {
            check(pieced.items == whole.items, "the items depend on the pieces")
            check(pieced.body == whole.body, "the body depends on the pieces")
        }
    }
    return whole
}

/// A byte of flags, a path up to a line feed, and the replies, which 0xFF separates: packets as
/// `packets` has them, or any bytes where the reply's first byte is 1 over git://.
func gitConversation(_ input: [UInt8]) {
    guard let flags = input.first else { return }
    let rest = input.dropFirst()
    let end = rest.firstIndex(of: ASCII.lineFeed) ?? rest.endIndex
    guard let path = String(validating: rest[..<end], as: UTF8.self) else { return }
    let scheme = flags & 1 == 0 ? "git" : "git+https"
    let url = "\(scheme)://h.test/r\(path)"
    guard (try? URI(parsing: url)) != nil else { return }
    var query = RefQuery()
    query.showsSymrefs = flags & 2 != 0
    query.onlyTags = flags & 4 != 0
    query.onlyHeads = flags & 8 != 0
    query.patterns = flags & 16 == 0 ? [] : ["v*"]
    let replies = rest[end...].dropFirst()
        .split(separator: 0xFF, omittingEmptySubsequences: false)
        .map { gitReply($0, isHTTP: scheme != "git") }
    let outcome = fetchInPieces(url, query) { number, _ in
        replies.indices.contains(number) ? replies[number] : nil
    }
    check(outcome.error == nil || outcome.error?.outcome != .internal, "an internal error")
}

private func gitReply(_ bytes: ArraySlice<UInt8>, isHTTP: Bool) -> [UInt8] {
    if bytes.first == 1 { return Array(bytes.dropFirst()) }
    if isHTTP, bytes.first == UInt8(ascii: "H") { return Array(bytes) }
    let encoded = packets(bytes).flatMap { packet -> [UInt8] in
        switch packet {
        case .data(let payload): (try? PktLine.encode(payload)) ?? []
        case .flush: PktLine.flushPacket
        case .delim: PktLine.delimPacket
        case .responseEnd: Array("0002".utf8)
        }
    }
    return isHTTP ? [0] + encoded : encoded
}

/// A byte of flags, a path up to a line feed, and objects, each a byte of its type, one of its
/// length and its content, in which 0xFB N stands for the id of an earlier object, and 0xFC N for
/// its hexadecimal form. The server has these, and the last one is HEAD.
func contentReader(_ input: [UInt8]) {
    guard let flags = input.first else { return }
    let rest = input.dropFirst()
    guard let end = rest.firstIndex(of: ASCII.lineFeed),
        let path = String(validating: rest[..<end], as: UTF8.self),
        let hasher = try? ObjectHasher(.sha1)
    else { return }
    let url = "git\(flags & 1 == 0 ? "" : "+https")://h.test/r//\(path)"
    guard let uri = try? URI(parsing: url), let address = try? GitAddress(uri) else { return }
    var repository = FuzzRepository()
    repository.read(rest[(end + 1)...], hasher)
    guard let head = repository.objects.last else { return }
    let server = repository
    let outcome = fetchInPieces(url) { number, request in
        server.answer(number, request, flags, head: head.id)
    }
    guard outcome.error == nil, outcome.head?.replyClass == .success else { return }
    guard outcome.items.isEmpty else {
        check(outcome.items.allSatisfy { !$0.text.isEmpty }, "an entry without a name")
        for item in outcome.items {
            guard let url = item.url else { continue }
            let below = try? GitAddress(URI(parsing: url))
            let names = below?.path ?? []
            check(names.count == (address.path?.count ?? 0) + 1, "\(url) is elsewhere")
        }
        return
    }
    check(
        outcome.body.isEmpty
            || repository.objects.contains { $0.content == outcome.body && $0.type != .tree },
        "the body is of no object")
    if let size = outcome.head?.bodyBytes { check(size == outcome.body.count, "another size") }
}

private struct FuzzRepository: Sendable {
    struct Object: Sendable {
        let type: ObjectType
        let content: [UInt8]
        let id: ObjectID
    }

    private(set) var objects: [Object] = []

    mutating func read(_ input: ArraySlice<UInt8>, _ hasher: ObjectHasher) {
        var rest = input
        while rest.count >= 2, objects.count < 40 {
            let type = [ObjectType.blob, .tree, .commit, .tag][Int(rest.removeFirst() & 3)]
            let written = rest.dropFirst().prefix(Int(rest.removeFirst()))
            rest = rest.dropFirst(written.count)
            var content: [UInt8] = []
            var bytes = written
            while let byte = bytes.popFirst() {
                guard byte == 0xFB || byte == 0xFC, let number = bytes.first, !objects.isEmpty
                else {
                    content.append(byte)
                    continue
                }
                bytes.removeFirst()
                let id = objects[Int(number) % objects.count].id
                content += byte == 0xFB ? id.bytes : Array(id.description.utf8)
            }
            let id = hasher.id(of: type, content[...])
            objects.append(Object(type: type, content: content, id: id))
        }
    }

    /// Flags: 1 HTTP, 2 a server without filter, 4 version 1, 8 another object than was asked for,
    /// 16 a broken pack, 32 no side band in version 1, 64 a server without HEAD.
    func answer(_ number: Int, _ request: [UInt8], _ flags: UInt8, head: ObjectID) -> [UInt8]? {
        let name = flags & 64 == 0 ? "HEAD" : "refs/heads/x"
        let body: [UInt8]
        if number == 0 {
            body = flags & 4 == 0 ? greeting(flags) : oldGreeting(flags, name, head)
        } else {
            let text = String(decoding: request, as: UTF8.self)
            if text.contains("ls-refs") {
                body =
                    pkt("\(head) \(name)\n") + pkt("\(head) refs/tags/t peeled:\(head)\n")
                    + PktLine.flushPacket
            } else if let wanted = want(text) {
                let version1 = flags & 4 != 0
                body =
                    (version1 ? PktLine.flushPacket + pkt("NAK\n") : pkt("packfile\n"))
                    + pack(wanted, flags) + PktLine.flushPacket
            } else {
                return nil
            }
        }
        return flags & 1 == 0 ? body : [0] + body
    }

    private func pkt(_ text: String) -> [UInt8] { (try? PktLine.encode(text)) ?? [] }

    private func greeting(_ flags: UInt8) -> [UInt8] {
        pkt("version 2\n") + pkt("agent=f\n") + pkt("ls-refs=unborn\n")
            + pkt(flags & 2 == 0 ? "fetch=shallow filter\n" : "fetch=shallow\n")
            + PktLine.flushPacket
    }

    private func oldGreeting(_ flags: UInt8, _ name: String, _ head: ObjectID) -> [UInt8] {
        let capabilities = flags & 32 == 0 ? "side-band-64k shallow thin-pack agent=f" : "shallow"
        return pkt("\(head) \(name)\0\(capabilities)\n") + pkt("\(head) refs/tags/t\n")
            + PktLine.flushPacket
    }

    private func want(_ text: String) -> String? {
        guard
            let range = text.utf8.split(separator: ASCII.space).drop(while: {
                !$0.elementsEqual("want".utf8) && !$0.reversed().starts(with: "tnaw".utf8)
            }).dropFirst().first
        else { return nil }
        return String(decoding: range.prefix(40), as: UTF8.self)
    }

    /// The wanted object, or all of them for a server that cannot filter.
    private func pack(_ wanted: String, _ flags: UInt8) -> [UInt8] {
        var sent = objects
        if flags & 6 == 0 { sent = objects.filter { $0.id.description == wanted } }
        if flags & 8 != 0 { sent = Array(objects.prefix(1)) }
        var entries: [UInt8] = []
        for object in sent {
            let count = object.content.count
            entries += [object.type.rawValue << 4 | 0x80 | UInt8(count & 15)]
            entries += [UInt8(count >> 4 & 0x7F) | 0x80, UInt8(count >> 11)]
            entries += PackPlan.stored(object.content)
        }
        var bytes = sealed(entries, count: UInt8(sent.count))
        if flags & 16 != 0, !bytes.isEmpty { bytes[bytes.count / 2] ^= 1 }
        return (try? PktLine.encode([1] + bytes)) ?? []
    }
}
