// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// What an archive has already: replies by URL and digest, so that the same one is not written
/// twice, and certificates by host.
struct KnownRecords {
    /// A reply that is there.
    struct Earlier {
        let id: RecordID
        let target: String
        let date: String
    }

    private struct Key: Hashable {
        let first, second: Int

        init(_ target: String, _ digest: [UInt8]) {
            var (target, hasher) = (target, Hasher())
            target.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
            // No byte of UTF-8: a digest and the end of a URL are two things.
            hasher.combine(UInt8.max)
            digest.withUnsafeBytes { hasher.combine(bytes: $0) }
            var other = hasher
            other.combine(UInt8.max)
            (first, second) = (hasher.finalize(), other.finalize())
        }
    }

    private var replies: [Key: (id: RecordID, date: String)] = [:]
    private var certificates: Set<Key> = []

    /// Most replies that are remembered, those of earlier runs included.
    static let repliesMax = 100_000

    /// Whether there were more replies than are remembered.
    private(set) var isFull = false

    /// - Parameter digest: Of the payload, where the messages have one, else of the block; empty
    ///   for the last page of HTTP, which a reply of status 304 is about.
    func reply(_ target: String, _ digest: [UInt8]) -> Earlier? {
        replies[Key(target, digest)].map { Earlier(id: $0.id, target: target, date: $0.date) }
    }

    mutating func add(_ target: String, _ digest: [UInt8], _ id: RecordID, _ date: String) {
        let key = Key(target, digest)
        guard replies.count < Self.repliesMax || replies[key] != nil else {
            isFull = true
            return
        }
        replies[key] = (id, date)
    }

    /// The last page is one that cannot be referred to.
    mutating func forgetPage(of target: String) { replies[Key(target, [])] = nil }

    /// - Parameter sha256: Of the certificate.
    /// - Returns: Whether it is new for this host.
    mutating func add(certificate sha256: [UInt8], of place: String) -> Bool {
        certificates.insert(Key(place, sha256)).inserted
    }
}
