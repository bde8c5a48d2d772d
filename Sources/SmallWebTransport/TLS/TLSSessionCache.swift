// SPDX-License-Identifier: MIT
internal import CSmallWebTLS
internal import SmallWebCore

/// TLS sessions that a server offered to resume (RFC 8446 §2.2), for the later connections of one
/// run. Nothing of it is ever written anywhere.
///
/// A session belongs to a host, a port and the identity that was shown: what the server knows about
/// one identity's connection never reaches another's. Resuming skips the certificate's way over the
/// wire, not its judgement: the trust rules see the one that the session began with.
//
// @unchecked: used on its fetcher's event loop alone.
package final class TLSSessionCache: @unchecked Sendable {
    struct Place: Hashable {
        let endpoint: Endpoint
        /// SHA-256 of the certificate shown, or to be shown if the server asks; `nil` for none.
        let identity: [UInt8]?
        /// A session tells the server who comes again, so it is not used for two ways.
        let route: Route
    }

    struct Entry {
        /// The entry owns one reference.
        let session: OpaquePointer
        /// Read from the certificate that the session began with; `nil` when not read yet.
        let certificate: Connection.Certificate?
        let hasShownIdentity: Bool
    }

    /// Newest last.
    private var entries: [Place: [Entry]] = [:]
    private var count = 0
    /// Places whose server breaks off when it is offered the session that it gave.
    private var hopeless: Set<Place> = []

    /// Enough for as many connections at once as anybody makes to one place.
    private static let entriesPerPlaceMax = 64
    private static let entriesMax = 1024

    package init() {}

    deinit { removeAll() }

    /// The newest session of a place, and the reference to it.
    ///
    /// A session of TLS 1.3 is used once, so that an observer cannot tell that two connections
    /// are the same client's (RFC 8446 §C.4).
    func take(_ place: Place, _ library: TLSLibrary) -> Entry? {
        guard let entry = entries[place]?.last else { return nil }
        if library.functions.SSL_SESSION_get_protocol_version(entry.session) >= TLS1_3_VERSION {
            entries[place]?.removeLast()
            count -= 1
        } else {
            _ = library.functions.SSL_SESSION_up_ref(entry.session)
        }
        return entry
    }

    /// - Parameter entry: Its reference is the cache's from here on.
    func add(_ entry: Entry, for place: Place) {
        // After that many servers, the first ones are seldom visited again soon.
        if count >= Self.entriesMax { removeAll() }
        guard !hopeless.contains(place), entries[place, default: []].count < Self.entriesPerPlaceMax
        else { return Self.release(entry) }
        entries[place, default: []].append(entry)
        count += 1
    }

    /// Keeps no session of `place` from here on.
    func giveUp(_ place: Place) {
        hopeless.insert(place)
        let gone = entries.removeValue(forKey: place) ?? []
        count -= gone.count
        gone.forEach(Self.release)
    }

    private func removeAll() {
        for place in entries.values { place.forEach(Self.release) }
        entries = [:]
        count = 0
    }

    static func release(_ entry: Entry) {
        // A session exists only once the library is loaded.
        (try? TLSLibrary.shared())?.functions.SSL_SESSION_free(entry.session)
    }
}
