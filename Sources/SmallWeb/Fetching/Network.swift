// SPDX-License-Identifier: MIT
package import SmallWebCore
package import SmallWebTransport

/// What answers the requests of a ``Client``: servers, or what was recorded of them.
public struct Network: Sendable {
    /// Which way a request goes.
    let way: @Sendable (Request, Fetcher.Options) throws(FetchError) -> Route
    /// What the plugin gets for one exchange.
    let dialer: @Sendable (Request, Hop) throws(FetchError) -> any Dialer

    /// - Parameter way: Directly, where there is nothing to go through.
    package init(
        way: @escaping @Sendable (Request, Fetcher.Options) throws(FetchError) -> Route = {
            (_, _) throws(FetchError) in .direct
        },
        dialer: @escaping @Sendable (Request, Hop) throws(FetchError) -> any Dialer
    ) {
        self.way = way
        self.dialer = dialer
    }

    /// The same, of which `tap` sees each hop.
    package func tapped(
        _ tap: @escaping @Sendable (Request, Hop) -> any HopTap
    ) -> Network {
        let dialer = dialer
        return Network(way: way) { request, hop throws(FetchError) in
            hop.tap = tap(request, hop)
            return try dialer(request, hop)
        }
    }

    /// Servers, over connections of their own.
    public static let live = Network { request, options throws(FetchError) in
        try options.way(for: request.scheme, to: request.endpoint).route
    } dialer: { _, hop in
        NetworkDialer(hop: hop)
    }
}
