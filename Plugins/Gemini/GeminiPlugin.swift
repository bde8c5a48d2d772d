// SPDX-License-Identifier: MIT
public import SmallWebCore

/// Gemini (specification 0.24.1): sends one URL, reads a header line and perhaps a body, over TLS.
/// Its close_notify is the only proof that the body is complete.
public struct GeminiPlugin: ProtocolHandler {
    public init() {}

    public let schemes = [
        Scheme(
            "gemini", plugin: "gemini", port: 1965, transport: .tls,
            summary: "Gemini (specification 0.24.1)"
        ) {
            $0.trust = .tofu
            $0.input = .line
            $0.identityScheme = "gemini"
            $0.opensOnDesktop = true
            $0.isDefaultForHosts = true
            $0.crawling = Crawling(
                robots: ["/robots.txt"], indexName: "index.gmi", missing: 51)
        }
    ]

    public func fetch(
        _ request: Request, dialer: any Dialer, emit: Emit
    ) async throws(FetchError) -> Completeness {
        let line = try Self.requestLine(request)
        let stream = try await dialer.dial(request.endpoint)
        defer { stream.close() }

        try await stream.writeAll(line)
        return try await Self.readReply(stream, emit: emit)
    }

    /// Reads the header line, and the body of a success.
    static func readReply(
        _ stream: ByteStream, emit: Emit
    ) async throws(FetchError) -> Completeness {
        let head = try await readHead(stream)
        try await emit(.head(head))
        if head.mediaType == nil && head.replyClass == .success {
            try await emit(.note(Note("media-type", "the reply names no valid media type")))
        }
        // Bytes after the header of another class are not part of the reply.
        guard head.replyClass == .success else { return .complete }

        let ending = try await stream.readToEnd { bytes async throws(FetchError) in
            try await emit(.body(bytes))
        }
        return ending == .closeNotify ? .complete : .truncated
    }

    // The line is released at return: as long as it is kept, the stream copies the bytes it reads.
    private static func readHead(_ stream: ByteStream) async throws(FetchError) -> Head {
        let line = try await stream.readLine(upTo: GeminiHeader.bytesMax)
        guard line.last == ASCII.lineFeed else { throw stream.endedTooSoon }
        return try GeminiHeader(parsing: line).head(line)
    }

    /// Longest URI in a request, CRLF not counted.
    static let uriBytesMax = 1024

    /// The absolute URI with CRLF: no fragment, no default port, a `/` for an empty path, and the
    /// input, when there is some, as the query.
    static func requestLine(_ request: Request) throws(FetchError) -> [UInt8] {
        var uri = request.uri.withoutFragment
        guard uri.userinfo == nil else {
            throw .badURL("Gemini does not allow user@ in a URL", hint: "remove it")
        }
        if uri.port == request.scheme.defaultPort { uri.port = nil }
        if uri.path.isEmpty { uri.path = "/" }
        if let input = request.input { uri.query = PercentEncoding.encode(input) }
        let text = uri.description
        guard text.utf8.count <= uriBytesMax else {
            throw .badURL(
                "\(text.utf8.count) bytes, but a Gemini URL has at most \(uriBytesMax)"
                    + (request.input == nil ? "" : ", input included"))
        }
        return try LineFramer.frame(text.utf8)
    }
}
