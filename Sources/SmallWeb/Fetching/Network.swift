// SPDX-License-Identifier: MIT
package import SmallWebCore
package import SmallWebTransport

/// The source of replies for a ``Client``: servers, or recordings of them.
public struct Network: Sendable {
    let way: @Sendable (Request, Fetcher) throws(FetchError) -> Route
    let dialer: @Sendable (Request, Hop) throws(FetchError) -> any Dialer
    /// Replies that may answer instead; `nil` for none.
    package var recall: Recall?

    /// - Parameter way: By default always direct.
    package init(
        way: @escaping @Sendable (Request, Fetcher) throws(FetchError) -> Route = {
            (_, _) throws(FetchError) in .direct
        },
        dialer: @escaping @Sendable (Request, Hop) throws(FetchError) -> any Dialer
    ) {
        self.way = way
        self.dialer = dialer
    }

    /// A copy that passes the traffic of each hop through `tap`, if there is one.
    package func tapped(
        _ tap: @escaping @Sendable (Request, Hop) -> (any HopTap)?
    ) -> Network {
        let dialer = dialer
        var tapped = Network(way: way) { request, hop throws(FetchError) in
            hop.tap = tap(request, hop)
            return try dialer(request, hop)
        }
        tapped.recall = recall
        return tapped
    }

    /// Connections to servers.
    public static let live = Network { request, fetcher throws(FetchError) in
        try fetcher.way(for: request.scheme, to: request.endpoint).route
    } dialer: { _, hop in
        NetworkDialer(hop: hop)
    }
}

/// Replies that were recorded, to answer with instead of servers.
package struct Recall: Sendable {
    /// Oldest reply that answers without asking the server.
    let secondsMax: Double
    /// True to ask no server.
    var isAlone: Bool
    /// Called with a URL whose recordings are out of date from now on.
    let forget: @Sendable (URI) -> Void
    /// Plays the latest replies of a time, in microseconds since 1970. A request without one fails
    /// with `not-recorded`.
    let network: @Sendable (_ times: Range<Int>) -> Network

    package init(
        secondsMax: Double, isAlone: Bool, forget: @escaping @Sendable (URI) -> Void,
        network: @escaping @Sendable (_ times: Range<Int>) -> Network
    ) {
        (self.secondsMax, self.isAlone, self.forget) = (secondsMax, isAlone, forget)
        self.network = network
    }
}

/// Observes the traffic of one hop: a recorder. Lives on the loop of the fetch.
package protocol HopTap: AnyObject {
    /// Called before a connection is made.
    func dials()

    /// Wraps the carrier of the plugin or its program, to observe its traffic.
    func tee(_ carrier: any Carrier, keepsDatagrams: Bool) -> any Carrier

    /// Wraps an engine that connects for itself.
    func tee(_ client: any HTTPClient) -> any HTTPClient

    /// Called when an exchange of the engine is over, with the bytes sent before its body, and all
    /// of its traffic.
    func note(sent header: [UInt8], _ traffic: Ending.Traffic)

    /// Called with the events of the connection, before secrets are masked.
    func note(_ event: Event)

    /// Called when the hop is over, and everything is closed.
    ///
    /// - Throws: `write` when the recording cannot be kept.
    func end(_ end: HopEnd) throws(FetchError)
}

package enum HopEnd {
    case replied(Completeness, Head?)
    /// Only the head was wanted.
    case headAlone
    case failed(FetchError)
}
