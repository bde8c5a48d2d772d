// SPDX-License-Identifier: MIT
public import SmallWebCore

/// Further schemes that this machine's libcurl can fetch, for those who ask for them: what comes is
/// a body, without the meaning that a plugin of its own would give it.
public struct CurlPlugin: ProtocolHandler {
    public let schemes: [Scheme]

    /// - Parameter names: libcurl's scheme names.
    public init(_ names: [String]) {
        schemes = names.map { name in
            Scheme(
                name, port: 0, transport: .own, trust: name.hasSuffix("s") ? .ca : .none,
                path: .opaque, summary: "Whatever libcurl makes of it")
        }
    }

    public func fetch(
        _ request: Request, dialer: any Dialer, emit: Emit
    ) async throws(FetchError) -> Completeness {
        let exchange = HTTPRequest(uri: request.uri, options: request.http, limits: request.limits)
        return try await dialer.httpClient().exchange(exchange) {
            reply async throws(FetchError) in
            try await emit(.head(Head(.success)))
        } onBody: { bytes async throws(FetchError) in
            try await emit(.body(bytes))
        }
    }
}
