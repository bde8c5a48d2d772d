// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWebCore

/// Buffer for one direction of an exchange: in memory up to `memoryMax`, then in an unnamed file
/// next to the archive, which is hashed as it grows.
final class BlockSpool {
    private(set) var count = 0
    /// All bytes, or those not yet written to the file.
    private var memory: [UInt8] = []
    private var file: Int32?
    private let directory: String
    /// Digests of the bytes in the file: the first with `head` in front of them, the second, if
    /// `hasPayload`, without.
    private var digests: [Digest] = []
    /// Bytes of the block in front of those in the spool.
    private let head: [UInt8]
    private let hasPayload: Bool

    static let memoryMax = 1 << 20
    private static let pieceBytes = 256 << 10
    /// Number of bytes searched for the header of an upload.
    static let headBytesMax = 64 << 10

    /// - Parameters:
    ///    - head: The beginning of the block, if it is known.
    ///    - hasPayload: True to hash the bytes without `head`, too.
    init(in directory: String, head: [UInt8] = [], hasPayload: Bool = false) {
        (self.directory, self.head, self.hasPayload) = (directory, head, hasPayload)
    }

    deinit { if let file { close(file) } }

    /// An empty spool for a block that begins with `head`, with a digest of the payload.
    func empty(head: [UInt8]?) -> BlockSpool {
        BlockSpool(in: directory, head: head ?? [], hasPayload: true)
    }

    /// All bytes; `nil` if they are in a file.
    var whole: [UInt8]? { file == nil ? memory : nil }

    /// - Throws: `write` if there is no space left.
    func append(_ bytes: UnsafeRawBufferPointer) throws(FetchError) {
        count += bytes.count
        guard file != nil || memory.count + bytes.count > Self.memoryMax else {
            memory += bytes
            return
        }
        if file == nil {
            try attempt { () throws(SystemError) in try openFile() }
            digests = [try Digest(.sha256)]
            head.withUnsafeBytes { digests[0].update($0) }
            if hasPayload { digests.append(try Digest(.sha256)) }
            try spill()
        }
        memory += bytes
        if memory.count >= Self.pieceBytes { try spill() }
    }

    /// Digests of the bytes in the file: with `head`, and without it if `hasPayload`. Can be called
    /// once only.
    func finishDigests() throws(FetchError) -> [[UInt8]] {
        try spill()
        return digests.map { $0.finish() }
    }

    /// The first bytes, at most `limit`.
    func prefix(_ limit: Int) throws(FetchError) -> [UInt8] {
        guard let file else { return Array(memory.prefix(limit)) }
        try spill()
        return try attempt { () throws(SystemError) in
            try FileBytes.read(file, at: 0, count: min(limit, count))
        }
    }

    /// Passes the bytes in the file from `start` on to `body`, piece by piece.
    func forEachPiece(
        from start: Int = 0, _ body: (UnsafeRawBufferPointer) throws(FetchError) -> Void
    ) throws(FetchError) {
        guard let file else { return }
        try spill()
        var (piece, offset) = ([UInt8](repeating: 0, count: Self.pieceBytes), start)
        while offset < count {
            let read = try attempt { () throws(SystemError) in
                let read = try systemCall {
                    pread(file, &piece, piece.count, off_t(offset))
                }
                guard read > 0 else { throw SystemError(number: EIO) }
                return read
            }
            offset += read
            try piece.span.bytes.extracting(first: read).withUnsafeBytes(body)
        }
    }

    /// Copies the bytes in the file from `start` on to the descriptor `target`, within the kernel
    /// if possible.
    func copy(from start: Int, to target: Int32) throws(SystemError) {
        guard let file else { return }
        var offset = off_t(start)
        while Int(offset) < count {
            let copied = swposix_copy_range(file, &offset, target, count - Int(offset))
            if copied > 0 { continue }
            if copied < 0, errno == EINTR { continue }
            break
        }
        var piece = [UInt8](repeating: 0, count: Self.pieceBytes)
        while Int(offset) < count {
            let read = try systemCall { pread(file, &piece, piece.count, offset) }
            guard read > 0 else { throw SystemError(number: EIO) }
            try writeAll(piece[..<read], to: target)
            offset += off_t(read)
        }
    }

    /// Writes the memory buffer to the file, if there is one.
    private func spill() throws(FetchError) {
        guard let file, !memory.isEmpty else { return }
        for digest in digests { digest.update(memory[...]) }
        try attempt { () throws(SystemError) in try writeAll(memory[...], to: file) }
        memory.removeAll(keepingCapacity: true)
    }

    private func openFile() throws(SystemError) {
        let name = directory.systemName
        let number = swposix_unnamed_file(name)
        file = number >= 0 ? number : try TemporaryFile.open()
    }

    private func attempt<Value>(
        _ body: () throws(SystemError) -> Value
    ) throws(FetchError) -> Value {
        do throws(SystemError) {
            return try body()
        } catch {
            throw FetchError(
                .write, .output, "cannot keep a body for the archive in \(directory)", error)
        }
    }
}
