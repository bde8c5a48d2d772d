// SPDX-License-Identifier: MIT
package import SmallWebCore
internal import SmallWebTransport

extension Fetcher {
    /// Connects to `endpoint`, judges its key and closes, without sending a request.
    ///
    /// Runs on the fetcher's loop, where the caller already is.
    ///
    /// - Returns: The connection, as far as it came, and the error of ``Dialer/dial(_:)``.
    package func probe(
        _ endpoint: Endpoint, of scheme: Scheme, limits: Limits = Limits()
    ) async -> (Connection?, FetchError?) {
        var connection: Connection?
        let hop = Hop(self, scheme, limits, by: .never) { event in
            if case .connected(let made) = event { connection = made }
        }
        defer { hop.close() }
        do throws(FetchError) {
            _ = try await NetworkDialer(hop: hop).dial(endpoint)
        } catch {
            return (connection, error)
        }
        return (connection, nil)
    }
}
