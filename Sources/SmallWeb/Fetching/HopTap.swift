// SPDX-License-Identifier: MIT
package import SmallWebCore

/// Sees what the exchanges of one hop send and receive: a recorder. Lives on the loop of the fetch.
package protocol HopTap: AnyObject {
    /// A connection is about to be made.
    func dials()

    /// `carrier` as the plugin or its program gets it: what passes it is seen.
    func tee(_ carrier: any Carrier, keepsDatagrams: Bool) -> any Carrier

    /// The same for an engine that connects for itself.
    func tee(_ client: any HTTPClient) -> any HTTPClient

    /// What the engine has sent before the body of an exchange, and all that went over the wire
    /// for it, once it is over.
    func note(sent header: [UInt8], _ traffic: Ending.Traffic)

    /// What the host side says of the connection, before any of it is masked.
    func note(_ event: Event)

    /// The hop is over, and everything is closed.
    ///
    /// - Throws: `write` when what was seen cannot be kept.
    func end(_ end: HopEnd) throws(FetchError)
}

/// How a hop ended.
package enum HopEnd {
    case replied(Completeness)
    /// No more than the head was wanted.
    case headAlone
    case failed(FetchError)
}
