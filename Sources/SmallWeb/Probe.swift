// SPDX-License-Identifier: MIT
public import SmallWebCore
internal import SmallWebTransport

extension Fetcher {
    /// Connects to `endpoint`, judges its key and closes, without sending a request.
    ///
    /// Runs on the fetcher's loop, where the caller already is.
    ///
    /// - Throws: What ``Dialer/dial(_:)`` throws.
    public func probe(
        _ endpoint: Endpoint, limits: Limits = Limits()
    ) async throws(FetchError) -> Connection? {
        let wire = Wire()
        defer { wire.close() }
        let dialer = NetworkDialer(
            loop: loop, options: options, limits: limits, deadline: .never, wire: wire
        ) { event throws(FetchError) in
            if case .connected(let connection) = event { wire.connection = connection }
        }
        _ = try await dialer.dial(endpoint)
        return wire.connection
    }
}
