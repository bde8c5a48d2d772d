// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Records an archive already has: replies by URL and digest, and certificates by host, so that
/// duplicates are not written.
struct KnownRecords {
    struct Earlier {
        let id: RecordID
        let target: String
        let date: String
    }

    private var replies: [TwoHashKey: (id: RecordID, date: String)] = [:]
    private var certificates: Set<TwoHashKey> = []

    /// Limit of remembered replies, including earlier runs.
    static let repliesMax = 100_000

    /// True once a reply was not remembered for lack of room.
    private(set) var isFull = false

    /// - Parameter digest: Digest of the payload for HTTP messages, else of the block; empty for
    ///   the last page of HTTP, the target of a reply of status 304.
    func reply(_ target: String, _ digest: [UInt8]) -> Earlier? {
        replies[TwoHashKey(target, digest)].map {
            Earlier(id: $0.id, target: target, date: $0.date)
        }
    }

    mutating func add(_ target: String, _ digest: [UInt8], _ id: RecordID, _ date: String) {
        let key = TwoHashKey(target, digest)
        guard replies.count < Self.repliesMax || replies[key] != nil else {
            isFull = true
            return
        }
        replies[key] = (id, date)
    }

    /// Forgets the last page of `target`, after one that cannot be referred to.
    mutating func forgetPage(of target: String) { replies[TwoHashKey(target, [])] = nil }

    /// - Parameter sha256: Digest of the certificate.
    /// - Returns: True if it is new for this host.
    mutating func add(certificate sha256: [UInt8], of place: String) -> Bool {
        certificates.insert(TwoHashKey(place, sha256)).inserted
    }
}
