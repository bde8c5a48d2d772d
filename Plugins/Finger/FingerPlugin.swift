// SPDX-License-Identifier: MIT
public import SmallWebCore

/// Finger (RFC 1288; URLs as in draft-ietf-uri-url-finger): sends one line, and reads until the
/// server closes. There is no status, no type and no end mark.
public struct FingerPlugin: ProtocolHandler {
    public init() {}

    public let schemes = [
        Scheme(
            "finger", plugin: "finger", port: 79, transport: .tcp,
            summary: "Finger (RFC 1288)"
        ) {
            $0.pathForm = .opaque
            $0.isUserPartOfAddress = true
            $0.opensOnDesktop = true
        }
    ]

    public func fetch(
        _ request: Request, dialer: any Dialer, emit: Emit
    ) async throws(FetchError) -> Completeness {
        let query = try Self.query(request.uri)
        let stream = try await dialer.dial(request.endpoint)
        defer { stream.close() }

        try await stream.writeAll(query)
        try await stream.awaitReply(to: request)
        try await emit(.head(Head(.success, mediaType: MediaType("text/plain"))))
        let ending = try await stream.readToEnd { bytes async throws(FetchError) in
            try await emit(.body(bytes))
        }
        return ending.completenessOfClose
    }

    /// Long enough for any user name, too short for a message.
    static let queryBytesMax = 512

    /// `finger://host/user` and `finger://user@host` both ask for `user`; neither asks for all.
    static func query(_ uri: URI) throws(FetchError) -> [UInt8] {
        let path = PercentEncoding.decode(uri.path.dropFirst())
        let name = PercentEncoding.decode(uri.userinfo ?? "")
        guard path.isEmpty || name.isEmpty else {
            throw .badURL(
                "a user both before the host and in the path", hint: "write finger://host/user")
        }
        guard uri.query == nil else {
            throw .badURL("finger has no ?query")
        }
        let query = path.isEmpty ? name : path
        // RFC 1288 §3.2.1: forwarding hides who asks, and lets one host attack another.
        guard !query.contains(UInt8(ascii: "@")) else {
            throw .badURL("forwarding to another host is refused", hint: "ask that host itself")
        }
        guard query.count <= queryBytesMax else {
            throw .badURL("longer than \(queryBytesMax) bytes")
        }
        return try LineFramer.frame(query)
    }
}
