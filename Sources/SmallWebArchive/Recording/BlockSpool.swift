// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Buffer for one direction of an exchange: in memory up to `memoryMax`, then in an unnamed file
/// next to the archive, which is hashed as it grows.
final class BlockSpool {
    let bytes: Spool
    private let directory: String
    /// Digests of all bytes, once they are in a file: the first with `head` in front of them, the
    /// second, if `hasPayload`, without.
    private var digests: [Digest] = []
    /// Bytes of the block in front of those in the spool.
    private let head: [UInt8]
    private let hasPayload: Bool

    static let memoryMax = 1 << 20
    /// Number of bytes searched for the header of an upload.
    static let headBytesMax = 64 << 10

    /// - Parameters:
    ///    - head: The beginning of the block, if it is known.
    ///    - hasPayload: True to hash the bytes without `head`, too.
    init(in directory: String, head: [UInt8] = [], hasPayload: Bool = false) {
        (self.directory, self.head, self.hasPayload) = (directory, head, hasPayload)
        bytes = Spool(
            memoryMax: Self.memoryMax, in: directory,
            complaint: "cannot keep a body for the archive in \(directory)")
    }

    /// An empty spool for a block that begins with `head`, with a digest of the payload.
    func empty(head: [UInt8] = []) -> BlockSpool {
        BlockSpool(in: directory, head: head, hasPayload: true)
    }

    var count: Int { bytes.count }

    /// All bytes; `nil` if they are in a file.
    var whole: [UInt8]? { bytes.whole }

    /// - Throws: `write` if there is no space left.
    func append(_ piece: UnsafeRawBufferPointer) throws(FetchError) {
        try bytes.append(piece)
        guard digests.isEmpty else { return digests.forEach { $0.update(piece) } }
        guard whole == nil else { return }
        digests = [try Digest(.sha256)]
        digests[0].update(head[...])
        if hasPayload { digests.append(try Digest(.sha256)) }
        try bytes.read { piece in digests.forEach { $0.update(piece) } }
    }

    /// Digests of a block in a file: with `head`, and without it if `hasPayload`. Can be called
    /// once only.
    func finishDigests() -> [[UInt8]] { digests.map { $0.finish() } }

    /// The first bytes, at most `limit`.
    func prefix(_ limit: Int) throws(FetchError) -> [UInt8] {
        Array(try bytes.read(0..<min(limit, count)))
    }
}

/// The block of a record: bytes, and the content of a spool from an offset on.
struct Block {
    let bytes: [UInt8]
    let spool: BlockSpool?
    let start: Int

    init(_ bytes: [UInt8], _ spool: BlockSpool? = nil, from start: Int = 0) {
        (self.bytes, self.spool, self.start) = (bytes, spool, start)
    }

    var count: Int { bytes.count + (spool?.count ?? 0) - start }
}
