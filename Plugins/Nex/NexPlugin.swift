// SPDX-License-Identifier: MIT
public import SmallWebCore

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
        var listing = NexListing(request, isDirectory: isDirectory)
        let ending = try await stream.readToEnd { bytes async throws(FetchError) in
            // Items first: an output that shows them does not need the text.
            for item in try listing.add(bytes) { try await emit(.item(item)) }
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

/// The lines of a directory: text, and links that begin with `=>`. A last line without a line feed
/// is left out, as its target may be truncated.
struct NexListing {
    private let base: URI
    private let isWanted: Bool
    private var framer: LineFramer

    init(_ request: Request, isDirectory: Bool) {
        base = request.uri
        isWanted = isDirectory && request.wantsItems
        framer = LineFramer(lineBytesMax: request.limits.lineBytesMax)
    }

    /// - Throws: `protocol-error` for a line beyond the limit.
    mutating func add(_ bytes: ArraySlice<UInt8>) throws(FetchError) -> [Item] {
        guard isWanted else { return [] }
        var lines: [LineFramer.Line] = []
        try framer.add(bytes) { lines.append($0) }
        return lines.map { item($0.bytes) }
    }

    private func item(_ line: ArraySlice<UInt8>) -> Item {
        let text = String(decoding: line, as: UTF8.self)
        guard text.hasPrefix("=>") else { return Item(kind: .info, text: text) }
        let words = text.dropFirst(2).split(maxSplits: 1) { $0 == " " || $0 == "\t" }
        guard let target = words.first else { return Item(kind: .info, text: text) }
        let label = words.count > 1 ? words[1].drop { $0 == " " || $0 == "\t" } : target
        let url = try? base.resolving(String(target)) { _ in false }
        var item = Item(
            kind: target.hasSuffix("/") ? .menu : .link, text: String(label),
            url: url?.description)
        item.target = Array(target.utf8)
        return item
    }
}
