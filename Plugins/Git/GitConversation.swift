// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// A server of one repository, whatever carries its packets: it greets, then answers requests.
///
/// Replies are pushed: `take` gets each packet and says whether it was the last one; `pause` is
/// called when all packets that have arrived were taken.
protocol GitConversation: AnyObject {
    typealias Take = (PktLine) async throws(FetchError) -> Bool
    typealias Pause = () async throws(FetchError) -> Void

    /// What the server refused with, once an exchange has thrown for that reason.
    var refusal: Head? { get }

    /// - Throws: `empty-reply`, `truncated`, and what the transport, `take` and `pause` throw.
    func greet(_ take: Take, _ pause: Pause) async throws(FetchError)
    func exchange(
        _ request: [UInt8], _ take: Take, _ pause: Pause
    ) async throws(FetchError)

    /// Says goodbye.
    func finish() async
}

extension FetchError {
    /// Thrown to leave a conversation whose `refusal` has the rest.
    static func refused(_ text: String) -> FetchError {
        FetchError(.permanentFailure, .header, text)
    }
}

/// git:// (gitprotocol-pack(5)): one connection for everything.
final class DaemonConversation: GitConversation {
    private let stream: ByteStream
    private let address: GitAddress
    private var decoder = PktLineDecoder()
    private(set) var refusal: Head?

    init(_ stream: ByteStream, _ address: GitAddress) {
        self.stream = stream
        self.address = address
    }

    func greet(_ take: Take, _ pause: Pause) async throws(FetchError) {
        try await exchange(address.daemonRequest(), take, pause)
    }

    func exchange(
        _ request: [UInt8], _ take: Take, _ pause: Pause
    ) async throws(FetchError) {
        try await stream.writeAll(request)
        while true {
            while let packet = try decoder.next() {
                if let text = packet.serverError {
                    refusal = Head(.permanentFailure, meta: text)
                    throw .refused(text)
                }
                if try await take(packet) { return try await pause() }
            }
            try await pause()
            let bytes = try await stream.readSome()
            guard !bytes.isEmpty else { throw endedTooSoon }
            decoder.add(bytes)
        }
    }

    func finish() async {
        // Without it the server would report that the client hung up.
        try? await stream.writeAll(PktLine.flushPacket)
        stream.close()
    }

    private var endedTooSoon: FetchError {
        guard stream.bytesReceived == 0 else {
            return FetchError(
                .truncated, .body,
                "the server hung up after \(stream.bytesReceived) bytes, in the middle of a reply")
        }
        var error = stream.endedTooSoon
        error.hint = "perhaps it is no Git server, or it refuses the request"
        return error
    }
}

/// Smart HTTP (gitprotocol-http(5)): each exchange is a request by itself.
final class HTTPConversation: GitConversation {
    private let client: any HTTPClient
    private let request: Request
    private let address: GitAddress
    private(set) var refusal: Head?

    init(_ client: any HTTPClient, _ request: Request, _ address: GitAddress) {
        self.client = client
        self.request = request
        self.address = address
    }

    func greet(_ take: Take, _ pause: Pause) async throws(FetchError) {
        var uri = address.repository
        uri.path += "/info/refs"
        uri.query = Self.service
        // The reply may begin with a preface of its own: a comment and a flush.
        var preface = 0
        try await perform(
            uri, body: nil, "advertisement",
            { packet async throws(FetchError) in
                if preface == 0 && packet.text?.starts(with: "# service=".utf8) == true {
                    preface = 1
                    return false
                }
                defer { preface = 2 }
                if preface == 1 && packet == .flush { return false }
                return try await take(packet)
            }, pause)
    }

    func exchange(
        _ bytes: [UInt8], _ take: Take, _ pause: Pause
    ) async throws(FetchError) {
        var uri = address.repository
        uri.path += "/git-upload-pack"
        try await perform(uri, body: bytes, "result", take, pause)
    }

    func finish() async {}

    private static let service = "service=git-upload-pack"

    private func perform(
        _ uri: URI, body: [UInt8]?, _ kind: String, _ take: Take, _ pause: Pause
    ) async throws(FetchError) {
        var options = request.http
        let type = "application/x-git-upload-pack-"
        options.fields.append(HTTPField("Git-Protocol", "version=2"))
        options.fields.append(HTTPField("Accept", type + kind))
        if body != nil { options.fields.append(HTTPField("Content-Type", type + "request")) }
        options.body = body
        var decoder = PktLineDecoder()
        var isDone = false
        _ = try await client.exchange(
            HTTPRequest(uri: uri, options: options, limits: request.limits)
        ) { reply async throws(FetchError) in
            try check(reply, type + kind, at: uri)
        } onBody: { bytes async throws(FetchError) in
            decoder.add(bytes)
            while !isDone, let packet = try decoder.next() {
                if let text = packet.serverError {
                    refusal = Head(status: 200, .permanentFailure, meta: text)
                    throw .refused(text)
                }
                isDone = try await take(packet)
            }
            try await pause()
        }
        guard isDone else {
            throw FetchError(.truncated, .body, "the server's reply ended in the middle")
        }
    }

    /// - Throws: With a `refusal` for every reply but the one that was asked for.
    private func check(
        _ reply: HTTPReply, _ type: String, at uri: URI
    ) throws(FetchError) {
        let found = reply["content-type"].flatMap { MediaType(parsing: $0) }
        switch reply.status {
        case 200 where found?.essence == type: return
        case 200:
            throw FetchError(
                .protocolError, .header,
                "no smart Git server: the reply is of the type \(found?.essence ?? "unknown")",
                hint: "check the path of the repository")
        case 301, 302, 303, 307, 308:
            if let target = redirectTarget(reply["location"], from: uri) {
                var head = Head(status: reply.status, .redirect, meta: reply.reason)
                head.redirectTarget = target
                head.isPermanentRedirect = reply.status == 301 || reply.status == 308
                refusal = head
            }
        case 408, 425, 429, 500...:
            refusal = Head(status: reply.status, .temporaryFailure, meta: reply.reason)
        default: break
        }
        let head = refusal ?? Head(status: reply.status, .permanentFailure, meta: reply.reason)
        refusal = head
        refusal?.header = reply.header
        refusal?.http = reply
        throw .refused(reply.reason)
    }

    /// Only the first request is redirected, and what is left without its end is the repository.
    private func redirectTarget(_ location: String?, from uri: URI) -> String? {
        guard let location, uri.query == Self.service,
            var target = try? uri.resolving(location, keepsDotSegments: { _ in true }),
            ["http", "https"].contains(target.scheme), target.path.hasSuffix("/info/refs")
        else { return nil }
        target.path.removeLast("/info/refs".count)
        target.query = nil
        target.fragment = nil
        return address.url(at: target)
    }
}
