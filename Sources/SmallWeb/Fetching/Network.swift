// SPDX-License-Identifier: MIT
package import SmallWebCore
package import SmallWebTransport

/// The source of replies for a ``Client``: servers, or recordings of them.
public struct Network: Sendable {
    let way: @Sendable (Request, Fetcher.Options) throws(FetchError) -> Route
    let dialer: @Sendable (Request, Hop) throws(FetchError) -> any Dialer

    /// - Parameter way: By default always direct.
    package init(
        way: @escaping @Sendable (Request, Fetcher.Options) throws(FetchError) -> Route = {
            (_, _) throws(FetchError) in .direct
        },
        dialer: @escaping @Sendable (Request, Hop) throws(FetchError) -> any Dialer
    ) {
        self.way = way
        self.dialer = dialer
    }

    /// A copy that passes the traffic of each hop through `tap`.
    package func tapped(
        _ tap: @escaping @Sendable (Request, Hop) -> any HopTap
    ) -> Network {
        let dialer = dialer
        return Network(way: way) { request, hop throws(FetchError) in
            hop.tap = tap(request, hop)
            return try dialer(request, hop)
        }
    }

    /// Connections to servers.
    public static let live = Network { request, options throws(FetchError) in
        try options.way(for: request.scheme, to: request.endpoint).route
    } dialer: { _, hop in
        NetworkDialer(hop: hop)
    }
}
