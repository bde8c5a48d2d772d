// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// A connection to a server of one repository: a greeting, then requests and replies.
protocol GitConversation: AnyObject {
    /// Called whenever packets have arrived. Takes all of them, and returns true after the last one
    /// of the reply.
    typealias Take = (inout PktLineDecoder) async throws(FetchError) -> Bool

    /// The reply by which the server refused, once an exchange has thrown for that reason.
    var refusal: Head? { get set }

    /// - Parameter version: The version to ask for; the server answers with that or an older one.
    /// - Throws: `empty-reply`, `truncated`, errors of the transport and of `take`.
    func greet(_ version: Int, _ take: Take) async throws(FetchError)
    func exchange(_ request: [UInt8], _ take: Take) async throws(FetchError)

    /// Ends the connection politely. Ignores errors.
    func finish() async
}

extension GitConversation {
    /// Keeps the server's reason for the refusal, as that is a reply. Returns the error to throw.
    func refused(_ text: String) -> FetchError {
        refusal = refusal ?? Head(.permanentFailure, meta: text)
        return FetchError(.permanentFailure, .header, text)
    }

    /// The next packet of a reply. An `ERR` packet ends the conversation.
    func next(_ decoder: inout PktLineDecoder) throws(FetchError) -> PktLine? {
        let packet = try decoder.next()
        if let text = packet?.serverError { throw refused(text) }
        return packet
    }
}

/// git:// (gitprotocol-pack(5)): one connection for everything.
final class DaemonConversation: GitConversation {
    private let stream: ByteStream
    private let address: GitAddress
    private var decoder = PktLineDecoder()
    var refusal: Head?

    init(_ stream: ByteStream, _ address: GitAddress) {
        self.stream = stream
        self.address = address
    }

    func greet(_ version: Int, _ take: Take) async throws(FetchError) {
        try await exchange(address.daemonRequest(version), take)
    }

    func exchange(_ request: [UInt8], _ take: Take) async throws(FetchError) {
        let received = stream.bytesReceived
        try await stream.writeAll(request)
        while try await !take(&decoder) {
            let bytes = try await stream.readSome()
            guard !bytes.isEmpty else { throw endedTooSoon(after: received) }
            decoder.add(bytes)
        }
    }

    func finish() async {
        // Without the flush the server would report that the client hung up.
        try? await stream.writeAll(PktLine.flushPacket)
        stream.close()
    }

    /// - Parameter received: Number of bytes that had come before the request.
    private func endedTooSoon(after received: Int) -> FetchError {
        if received > 0 && received == stream.bytesReceived {
            // dulwich and JGit refuse silently.
            return FetchError(
                .truncated, .body, "the server hung up instead of answering a request",
                remedy: .listReferences)
        }
        guard stream.bytesReceived == 0 else {
            return FetchError(
                .truncated, .body,
                "the server hung up after \(stream.bytesReceived) bytes, in the middle of a reply")
        }
        var error = stream.endedTooSoon
        error.hint =
            "perhaps it is not a Git server, or has not this repository; a path in a repository "
            + "comes after //"
        return error
    }
}

/// Smart HTTP (gitprotocol-http(5)): each exchange is a request by itself.
final class HTTPConversation: GitConversation {
    private let client: any HTTPClient
    /// Counts bytes after replies.
    private var overhead: Overhead
    private let request: Request
    private let address: GitAddress
    var refusal: Head?

    init(
        _ client: any HTTPClient, _ request: Request, _ address: GitAddress, _ overhead: Overhead
    ) {
        self.client = client
        self.overhead = overhead
        self.request = request
        self.address = address
    }

    func greet(_ version: Int, _ take: Take) async throws(FetchError) {
        var uri = address.repository
        uri.path += "/info/refs"
        uri.query = Self.service
        try await perform(uri, body: nil, "advertisement", version, take)
    }

    func exchange(_ bytes: [UInt8], _ take: Take) async throws(FetchError) {
        var uri = address.repository
        uri.path += "/git-upload-pack"
        // The version of the greeting, whatever was requested: a cache may hold another client's.
        let isCommand = bytes.dropFirst(4).starts(with: "command=".utf8)
        try await perform(uri, body: bytes, "result", isCommand ? 2 : 0, take)
    }

    func finish() async {}

    private static let service = "service=git-upload-pack"

    private func perform(
        _ uri: URI, body: [UInt8]?, _ kind: String, _ version: Int, _ take: Take
    ) async throws(FetchError) {
        var options = HTTPOptions(request)
        let type = "application/x-git-upload-pack-"
        if version > 0 { options.fields.append(HTTPField("Git-Protocol", "version=\(version)")) }
        options.fields.append(HTTPField("Accept", type + kind))
        if body != nil { options.fields.append(HTTPField("Content-Type", type + "request")) }
        options.body = body
        var decoder = PktLineDecoder()
        var isDone = false
        var reason: [UInt8] = []
        _ = try await client.exchange(
            try HTTPRequest(request, uri: uri, options: options)
        ) { reply async throws(FetchError) in
            try check(reply, type + kind, method: body == nil ? "GET" : "POST", at: uri)
        } onBody: { bytes async throws(FetchError) in
            if refusal != nil {
                reason += bytes.prefix(Self.reasonBytesMax - reason.count)
                refusal?.explanation = Self.line(reason)
                guard reason.count < Self.reasonBytesMax else { throw refused("") }
                return
            }
            guard !isDone else { return try overhead.add(bytes: bytes.count) }
            decoder.add(bytes)
            isDone = try await take(&decoder)
        }
        if refusal != nil { throw refused("") }
        guard isDone else {
            throw FetchError(.truncated, .body, "the server's reply ended in the middle")
        }
    }

    /// Longest reason of a refusal that is read.
    private static let reasonBytesMax = 1024

    /// The text on one line; `nil` if it is empty or looks like HTML.
    static func line(_ text: [UInt8]) -> String? {
        let words = String(
            decoding: text[..<(text.count - text[...].cutCharacterCount)], as: UTF8.self
        )
        .split { $0.isWhitespace }
        return words.first?.hasPrefix("<") ?? true ? nil : words.joined(separator: " ")
    }

    /// Sets `refusal` for every reply but the expected one.
    ///
    /// - Throws: Unless the body may give a reason.
    private func check(
        _ reply: HTTPReply, _ type: String, method: String, at uri: URI
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
            var head = reply.head(.permanentFailure, method: method, factName: "http")
            if let target = redirectTarget(reply.location, from: uri) {
                head.replyClass = .redirect
                head.redirectTarget = target
                head.isPermanentRedirect = reply.status == 301 || reply.status == 308
            } else if let location = reply.location {
                let target = try? uri.resolving(location, keepsDotSegments: { _ in true })
                head.explanation =
                    "it leads to \(target?.display ?? location), which is not this repository; "
                    + "perhaps you have to sign in"
            }
            refusal = head
        case 408, 425, 429, 500...:
            refusal = reply.head(.temporaryFailure, method: method, factName: "http")
        default: break
        }
        refusal = refusal ?? reply.head(.permanentFailure, method: method, factName: "http")
        // Other types are pages for browsers.
        if reply.status >= 400, found?.essence == "text/plain" { return }
        throw refused(String(decoding: reply.reason, as: UTF8.self))
    }

    /// Only the first request is redirected. The URL without `/info/refs` is the new repository.
    private func redirectTarget(_ location: String?, from uri: URI) -> String? {
        guard let location, uri.query == Self.service,
            var target = try? uri.resolving(location, keepsDotSegments: { _ in true }),
            ["http", "https"].contains(target.scheme), target.path.hasSuffix("/info/refs")
        else { return nil }
        target.path.removeLast("/info/refs".count)
        target.query = nil
        target.fragment = nil
        // With "//" in it, the server could choose the path in the repository.
        let moved = address.url(at: target)
        guard let uri = try? URI(parsing: moved), let next = try? GitAddress(uri),
            next.path == address.path, next.question == address.question
        else { return nil }
        return moved
    }
}
