// SPDX-License-Identifier: MIT
public import SmallWebCore

/// Titan: Gemini's way to upload. The URL carries the size, the media type and a token as
/// parameters of its last segment; the body follows, and a Gemini reply comes back.
public struct TitanHandler: ProtocolHandler {
    public init() {}

    /// The parameter of a request for the text to be edited (transjovian.org/titan, Edit Link).
    private static let editMark = ";edit"

    public let schemes = [
        Scheme(
            "titan", plugin: "titan", port: 1965, transport: .tls,
            summary: "Titan uploads (transjovian.org/titan), for 'smallweb put'"
        ) {
            $0.trust = .tofu
            $0.identityScheme = "gemini"
            // Servers disagree about the default type, so the type is always sent.
            $0.uploads = Scheme.Uploads(
                isOnlyUse: true, mediaType: "text/gemini", replySchemes: ["gemini"],
                deletesWhenEmpty: true)
            $0.pageScheme = "gemini"
            $0.editMark = Self.editMark
        }
    ]

    public var options: [Request.Option] { [.uploadType, .uploadToken] }

    /// The token is a parameter of the request line, the last one.
    public func secrets(in sent: [UInt8]) -> [Range<Int>] {
        let line = sent.prefix { $0 != ASCII.carriageReturn }
        let mark = Array(";token=".utf8)
        guard
            let start = line.indices.first(where: { line[$0...].starts(with: mark) })
        else { return [] }
        return [(start + mark.count)..<line.endIndex]
    }

    public func fetch(
        _ request: Request, dialer: any Dialer, emit: Emit
    ) async throws(FetchError) -> Completeness {
        let isEdit = request.upload == nil && request.uri.path.hasSuffix(Self.editMark)
        guard isEdit || request.upload != nil else {
            throw FetchError(.usage, .input, "titan:// is for uploads", remedy: .upload)
        }
        let line = try Self.requestLine(request)
        let stream = try await dialer.dial(request.endpoint)
        defer { stream.close() }

        try await stream.writeAll(line)
        while let piece = try request.upload?.next() {
            // A server that refuses answers at once, and may not read the rest.
            guard !piece.isEmpty, try await stream.writeUnlessAnswered(piece) else { break }
        }
        return try await GeminiPlugin.readReply(stream, emit: emit)
    }

    /// The line of an upload, or of a request for the text to be edited: its parameter is in the
    /// URL.
    ///
    /// - Throws: `bad-url` for a path that has other parameters already, and for user@.
    static func requestLine(_ request: Request) throws(FetchError) -> [UInt8] {
        var uri = request.uri.withoutFragment
        if uri.port == request.scheme.defaultPort { uri.port = nil }
        guard uri.userinfo == nil else { throw .badURL("Titan does not allow user@ in a URL") }
        if uri.path.isEmpty { uri.path = "/" }
        // Parameters found in a link are not the user's.
        let mark = request.upload == nil ? editMark.count : 0
        guard !uri.path.dropLast(mark).contains(";") else {
            let isOurs = ["size=", "mime=", "token="].contains { uri.path.contains(text: ";" + $0) }
            throw FetchError(
                .badURL, .input,
                isOurs
                    ? "leave ;size, ;mime and ;token to smallweb"
                    : "a ; in the path would begin a parameter: write it as %3B",
                remedy: isOurs ? .nameParameters : nil)
        }
        if let upload = request.upload {
            // A `;` in a value would begin another parameter.
            let mediaType = PercentEncoding.encode(
                (request.options.text("mime") ?? upload.mediaType).utf8, also: "/+")
            uri.path += ";size=\(upload.byteCount);mime=\(mediaType)"
            if let token = request.options.secret(Request.Option.uploadToken.key) {
                uri.path += ";token=" + PercentEncoding.encode(token)
            }
        }
        let text = uri.description
        guard text.utf8.count <= GeminiPlugin.uriBytesMax else {
            throw .badURL("longer than \(GeminiPlugin.uriBytesMax) bytes with its parameters")
        }
        return try LineFramer.frame(text.utf8)
    }
}
