// SPDX-License-Identifier: MIT
public import SmallWebCore
internal import SmallWebFormats

/// Nex (nightfall.city/nex/info/specification.txt): sends one path, and reads until the server
/// closes. There is no status, no type and no end mark.
public struct NexPlugin: ProtocolHandler {
    public init() {}

    public let schemes = [
        Scheme(
            "nex", plugin: "nex", port: 1900, transport: .tcp,
            summary: "Nex (nightfall.city/nex/info)"
        ) {
            $0.opensOnDesktop = true
            var crawling = Crawling(robots: ["/robots.txt"], indexName: "index.txt")
            crawling.hasListings = true
            $0.crawling = crawling
        }
    ]

    public func fetch(
        _ request: Request, dialer: any Dialer, emit: Emit
    ) async throws(FetchError) -> Completeness {
        let line = try Self.requestLine(request.uri)
        let stream = try await dialer.dial(request.endpoint)
        defer { stream.close() }

        try await stream.writeAll(line)
        try await stream.awaitReply(to: request)
        let isDirectory = line.dropLast().last == ASCII.slash
        let type = isDirectory ? nil : MediaType(ofFile: request.uri.path)
        var head = Head(.success, mediaType: type ?? MediaType("text/plain"))
        head.mediaTypeSource = type == nil ? nil : .name
        try await emit(.head(head))
        var listing =
            isDirectory && request.wantsItems
            ? ListingReader(base: request.uri, lineBytesMax: request.limits.lineBytesMax) : nil
        let ending = try await stream.readToEnd { bytes async throws(FetchError) in
            // Items first: an output that shows them does not need the text.
            for item in try listing?.add(bytes) ?? [] { try await emit(.item(item)) }
            try await emit(.body(bytes))
        }
        return ending.completenessOfClose
    }

    /// The decoded path and a line feed; `/` for an empty path.
    ///
    /// - Throws: `bad-url` for a user, a query, and bytes that would end the line.
    static func requestLine(_ uri: URI) throws(FetchError) -> [UInt8] {
        guard uri.userinfo == nil else {
            throw .badURL("Nex has no user@ in a URL", hint: "remove it")
        }
        guard uri.query == nil else {
            throw .badURL("Nex has no ?query", hint: "remove it")
        }
        let path = PercentEncoding.decode(uri.path)
        return try LineFramer.frame(
            path.isEmpty ? [ASCII.slash] : path, end: [ASCII.lineFeed])
    }
}
