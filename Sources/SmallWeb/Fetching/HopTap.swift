// SPDX-License-Identifier: MIT
package import SmallWebCore

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
    case replied(Completeness)
    /// Only the head was wanted.
    case headAlone
    case failed(FetchError)
}
