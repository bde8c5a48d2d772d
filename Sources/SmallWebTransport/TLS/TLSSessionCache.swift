// SPDX-License-Identifier: MIT
internal import CSmallWebTLS
internal import SmallWebCore

/// TLS sessions that servers offered to resume (RFC 8446 §2.2), for later connections of one run.
/// They are never written to disk.
///
/// A session belongs to a host, a port and the client certificate that was shown: data of one
/// identity's connection never reaches another's. Resuming saves sending the certificate, not
/// judging it: the trust rules see the certificate that the session began with.
//
// @unchecked: used on its fetcher's event loop alone.
package final class TLSSessionCache: @unchecked Sendable {
    struct Key: Hashable {
        let endpoint: Endpoint
        /// SHA-256 of the certificate shown, or to be shown if the server asks; `nil` for none.
        let identity: [UInt8]?
        /// A resumed session identifies the client to the server, so routes do not share sessions.
        let route: Route
    }

    /// A session, of which it owns one reference, and the facts of the certificate that the session
    /// began with; `nil` when not read yet.
    typealias Entry = (
        session: OpaquePointer, certificate: Connection.Certificate?, hasShownIdentity: Bool
    )

    /// Newest last.
    private var entries: [Key: [Entry]] = [:]
    private var count = 0
    /// Places whose servers abort a handshake that offers a session of theirs.
    private var hopeless: Set<Key> = []

    /// Exceeds the number of simultaneous connections to one place.
    private static let entriesPerPlaceMax = 64
    private static let entriesMax = 1024

    package init() {}

    deinit { removeAll() }

    /// The newest session of a place. The caller owns the reference.
    ///
    /// A session of TLS 1.3 is used once, so that an observer cannot tell that two connections are
    /// the same client's (RFC 8446 §C.4).
    func take(_ key: Key, _ library: TLSLibrary) -> Entry? {
        guard let entry = entries[key]?.last else { return nil }
        if library.functions.SSL_SESSION_get_protocol_version(entry.session) >= TLS1_3_VERSION {
            entries[key]?.removeLast()
            count -= 1
        } else {
            _ = library.functions.SSL_SESSION_up_ref(entry.session)
        }
        return entry
    }

    /// - Parameter entry: The cache takes over its reference.
    func add(_ entry: Entry, for key: Key) {
        // After this many servers, the first ones are seldom visited again soon.
        if count >= Self.entriesMax { removeAll() }
        guard !hopeless.contains(key), entries[key, default: []].count < Self.entriesPerPlaceMax
        else { return Self.release(entry) }
        entries[key, default: []].append(entry)
        count += 1
    }

    /// Drops the sessions of `place`, and keeps none from here on.
    func giveUp(_ key: Key) {
        hopeless.insert(key)
        let gone = entries.removeValue(forKey: key) ?? []
        count -= gone.count
        gone.forEach(Self.release)
    }

    private func removeAll() {
        for entries in entries.values { entries.forEach(Self.release) }
        entries = [:]
        count = 0
    }

    static func release(_ entry: Entry) {
        // A session exists only if the library is loaded.
        (try? TLSLibrary.shared())?.functions.SSL_SESSION_free(entry.session)
    }
}
