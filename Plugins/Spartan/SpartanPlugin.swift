// SPDX-License-Identifier: MIT
public import SmallWebCore

/// Spartan (specification of 2021-07-11): sends one line and perhaps a data block, and reads a
/// header line and perhaps a body. Nothing is encrypted, and a body ends with the connection.
public struct SpartanPlugin: ProtocolHandler {
    public init() {}

    public let schemes = [
        Scheme(
            "spartan", plugin: "spartan", port: 300, transport: .tcp,
            summary: "Spartan (specification of 2021)"
        ) {
            $0.input = .body
            $0.uploads = Scheme.Uploads(
                isOnlyUse: false, mediaType: "application/octet-stream", replySchemes: [])
            $0.hasPromptLines = true
            $0.opensOnDesktop = true
            $0.crawling = Crawling(
                robots: ["/robots.txt"], indexName: "index.gmi", missing: 4)
        }
    ]

    public func fetch(
        _ request: Request, dialer: any Dialer, emit: Emit
    ) async throws(FetchError) -> Completeness {
        let block = try Self.dataBlock(request)
        var sent = try Self.requestLine(request.uri, dataBytes: block.byteCount)
        if block.byteCount <= Self.shortBytesMax { sent += try block.next() }
        let stream = try await dialer.dial(request.endpoint)
        defer { stream.close() }

        try await stream.writeAll(sent)
        var isTaken = true
        while isTaken {
            let piece = try block.next()
            guard !piece.isEmpty else { break }
            // A server that refuses answers at once, and may not read the rest.
            isTaken = try await stream.writeUnlessAnswered(piece)
        }
        let head = try await Self.readHead(stream)
        try await emit(.head(head))
        if let note = Self.note(on: head, isTaken: isTaken) { try await emit(.note(note)) }
        // Bytes after the header of another class are not part of the reply.
        guard head.replyClass == .success else { return .complete }

        let ending = try await stream.readToEnd { bytes async throws(FetchError) in
            try await emit(.body(bytes))
        }
        return ending.completenessOfClose
    }

    /// Largest data block that is sent together with the line: any socket buffer has room for it.
    private static let shortBytesMax = 8192

    public func carriesData(_ request: Request) -> Bool {
        request.upload != nil || !(request.input?.isEmpty ?? true)
            || !(request.uri.query?.isEmpty ?? true)
    }

    /// The upload, or the input, or else the decoded query (§5). Its length is sent, so it may hold
    /// any byte.
    ///
    /// - Throws: `bad-url` for a query in addition to an upload, `usage` for input.
    static func dataBlock(_ request: Request) throws(FetchError) -> Request.Upload {
        guard let upload = request.upload else {
            return Request.Upload(request.input ?? PercentEncoding.decode(request.uri.query ?? ""))
        }
        guard request.uri.query == nil else {
            throw .badURL("a ?query is the data, and so is the upload", hint: "remove it")
        }
        guard request.input == nil else {
            throw usageError("the input is the data, and so is the upload")
        }
        return upload
    }

    /// `host SP path SP length CRLF`. Port, user and fragment are not sent (§5); the path is as
    /// written.
    ///
    /// - Throws: `bad-url` for bytes that would end the line or one of its words.
    static func requestLine(_ uri: URI, dataBytes: Int) throws(FetchError) -> [UInt8] {
        guard let host = uri.host else { throw .badURL("no host in the URL") }
        let words = [host.bracketedHost, uri.path.isEmpty ? "/" : uri.path, String(dataBytes)]
        guard words.allSatisfy({ !$0.utf8.contains(ASCII.space) }) else {
            throw .badURL("the request would contain a space")
        }
        return try LineFramer.frame(Array(words.joined(separator: " ").utf8))
    }

    private static func readHead(_ stream: ByteStream) async throws(FetchError) -> Head {
        let line = try await stream.readLine(upTo: SpartanHeader.bytesMax)
        guard line.last == ASCII.lineFeed else { throw stream.endedTooSoon }
        return try SpartanHeader(parsing: line).head(line)
    }

    private static func note(on head: Head, isTaken: Bool) -> Note? {
        switch head.replyClass {
        case .success where !isTaken, .redirect where !isTaken:
            Note("data-unread", "the server answered before it had all of the data")
        case .success where head.mediaType == nil:
            Note("media-type", "the reply names no valid media type")
        case .redirect where head.redirectTarget == nil:
            Note("redirect-target", "a Spartan redirect is an absolute path of the same server")
        default: nil
        }
    }
}
