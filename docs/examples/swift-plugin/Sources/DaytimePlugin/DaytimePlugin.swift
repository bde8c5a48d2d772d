// SPDX-License-Identifier: MIT
public import SmallWeb

/// Daytime (RFC 867): the server says what time it is, and closes.
public struct DaytimePlugin: ProtocolHandler {
    public init() {}

    public let schemes = [
        Scheme(
            "daytime", plugin: "daytime", port: 13, transport: .tcp,
            summary: "What time it is at a server (RFC 867)")
    ]

    public func fetch(
        _ request: Request, dialer: any Dialer, emit: Emit
    ) async throws(FetchError) -> Completeness {
        let stream = try await dialer.dial(request.endpoint)
        defer { stream.close() }
        try await emit(.head(Head(.success, mediaType: MediaType("text/plain"))))
        let ending = try await stream.readToEnd { bytes async throws(FetchError) in
            try await emit(.body(bytes))
        }
        return ending.completenessOfClose
    }
}
