// SPDX-License-Identifier: MIT
public import SmallWebCore
internal import SmallWebFormats

/// Files of this machine (RFC 8089): sends a file, the index of a directory, or its listing. There
/// is neither a server nor a network.
public struct FilePlugin: ProtocolHandler {
    public init() {}

    public let schemes = [
        Scheme(
            "file", plugin: "file", port: 0, transport: .none,
            summary: "Files of this machine (RFC 8089), with --local or open PATH"
        ) {
            $0.hostForm = .optional
            $0.computesForLong = true
        }
    ]

    public func fetch(
        _ request: Request, dialer: any Dialer, emit: Emit
    ) async throws(FetchError) -> Completeness {
        let path = try Self.path(of: request.uri)
        let file = try LocalFile(opening: path)
        guard file.isDirectory else {
            return try await Self.send(file, path, for: request, emit)
        }
        // The links of an index are relative to its directory.
        guard request.uri.path.utf8.last == ASCII.slash else {
            return try await Self.redirect(to: request.uri, emit)
        }
        let index = Self.indexes.map { path + $0 }.first(where: LocalFile.isThere)
        guard let index else { return try await Self.list(path, for: request, emit) }
        return try await Self.send(try LocalFile(opening: index), index, for: request, emit)
    }

    /// The URL of an absolute path.
    package static func url(ofPath path: String) -> String {
        "file://" + PercentEncoding.encode(path.systemBytes, also: "/!$&'()*+,;=:@")
    }

    /// - Throws: `bad-url` for a host, a query, a relative path, and a NUL.
    static func path(of uri: URI) throws(FetchError) -> String {
        guard uri.host == nil else {
            throw .badURL(
                "a file URL with a host: only files of this machine are read",
                hint: "write file:///PATH, with three slashes")
        }
        guard uri.query == nil else {
            throw .badURL("a file has no ?query", hint: "write a question mark as %3F")
        }
        let path = PercentEncoding.decode(uri.verbatimParts.path)
        guard path.first == ASCII.slash, !path.contains(0) else {
            throw .badURL("the path of a file begins with a slash and has no NUL")
        }
        return String(systemBytes: path)
    }

    static let indexes = ["index.gmi", "index.html"]

    /// Sends an open file.
    ///
    /// - Parameters:
    ///   - type: The type of its page; `nil` for the one by name, or by the first bytes.
    ///   - isListing: True for a file whose lines are items, too.
    static func send(
        _ opened: consuming LocalFile, _ path: String, for request: Request, _ emit: Emit,
        type: MediaType? = nil, isListing: Bool = false
    ) async throws(FetchError) -> Completeness {
        var file = opened
        var piece = try await file.next()
        let named = type ?? MediaType(ofFile: path)
        var head = Head(.success, mediaType: named ?? Self.type(of: piece))
        head.mediaTypeSource = named == nil ? .sniffed : .name
        head.bodyBytes = file.byteCount
        try await emit(.head(head))
        var listing =
            isListing && request.wantsItems
            ? ListingReader(base: request.uri, lineBytesMax: request.limits.lineBytesMax) : nil
        while !piece.isEmpty {
            for item in try listing?.add(piece) ?? [] { try await emit(.item(item)) }
            try await emit(.body(piece))
            piece = try await file.next()
        }
        return file.isCut ? .truncated : .complete
    }

    /// The type of a file whose name says none, by its first bytes.
    private static func type(of beginning: ArraySlice<UInt8>) -> MediaType {
        if beginning.contains(0) { return MediaType("application/octet-stream") }
        return MediaType(FeedSniffer.kind(of: beginning) == .html ? "text/html" : "text/plain")
    }

    /// Leads from a directory to its URL with a slash.
    static func redirect(
        to directory: URI, _ emit: Emit
    ) async throws(FetchError) -> Completeness {
        var target = directory
        target.path += "/"
        var head = Head(.redirect)
        head.redirectTarget = target.description
        try await emit(.head(head))
        return .complete
    }

    /// Sends the names in a directory as items, and as lines that begin with `=>`.
    private static func list(
        _ path: String, for request: Request, _ emit: Emit
    ) async throws(FetchError) -> Completeness {
        let names = try LocalFile.names(in: path)
        try await emit(.head(Head(.success, mediaType: MediaType("text/plain"))))
        var listing = ListingReader(
            base: request.uri, lineBytesMax: request.limits.lineBytesMax)
        for name in names {
            let target = PercentEncoding.encode(name.systemBytes, also: "/")
            let label = TerminalText.escapeLine(name.withoutSystemEscapes)
            let line = Array("=> \(target) \(label)\n".utf8)[...]
            if request.wantsItems {
                for item in try listing.add(line) { try await emit(.item(item)) }
            }
            try await emit(.body(line))
        }
        return .complete
    }
}
