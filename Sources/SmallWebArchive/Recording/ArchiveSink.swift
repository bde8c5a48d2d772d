// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWebCore
internal import SmallWebLibraries

/// Writes records behind one another into a file, plain or compressed, and undoes what did not get
/// whole.
//
// @unchecked: used under the lock of its writer alone.
final class ArchiveSink: @unchecked Sendable {
    let path: String
    private let file: Descriptor
    private let digest: Digest
    private let deflater: Deflater?
    private let smallDeflater: Deflater?
    /// What is about to be written.
    private var pending: [UInt8] = []
    /// Where the last whole exchange ends.
    private var end: Int
    private var written = 0

    /// - Parameter end: Where to go on; what is behind it is cut off.
    /// - Throws: `write`, `not-built-in`.
    init(
        _ path: String, _ file: consuming Descriptor, end: Int, isCompressed: Bool
    ) throws(FetchError) {
        self.path = path
        self.file = file
        self.end = end
        digest = try Digest(.sha256)
        deflater = isCompressed ? try Deflater() : nil
        smallDeflater = isCompressed ? try Deflater(isForSmallStreams: true) : nil
        try attempt { () throws(SystemError) in try cut() }
    }

    func sha256(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        digest.update(bytes)
        return digest.finish()
    }

    func sha256(_ block: Block) throws(FetchError) -> [UInt8] {
        switch block {
        case .bytes(let bytes): return sha256(bytes[...])
        case .spool(let head, let spool, let start):
            digest.update(head[...])
            try spool.forEachPiece(from: start) { digest.update($0) }
            return digest.finish()
        }
    }

    /// Adds a record.
    ///
    /// - Throws: `write`; then ``undo()`` is called.
    func add(_ header: RecordText, _ block: Block) throws(FetchError) {
        switch block {
        case .bytes(let bytes):
            if deflater == nil {
                pending += header.bytes
                pending += bytes
                pending += Self.trailer
            } else {
                let record = header.bytes + bytes + Self.trailer
                let some = record.count < Self.smallMax ? smallDeflater : deflater
                record.withUnsafeBytes { some?.deflate($0, to: &pending, isLast: true) }
            }
        case .spool(let head, let spool, let start):
            if deflater == nil {
                pending += header.bytes + head
                try flush()
                let count = spool.count - start
                try attempt { () throws(SystemError) in
                    try spool.copy(from: start, to: file.borrowed)
                }
                written += count
                pending += Self.trailer
            } else {
                deflate(header.bytes + head, isLast: false)
                try spool.forEachPiece(from: start) { piece throws(FetchError) in
                    deflater?.deflate(piece, to: &pending, isLast: false)
                    if pending.count >= Self.pendingMax { try flush() }
                }
                deflate(Self.trailer, isLast: true)
            }
        }
        if pending.count >= Self.pendingMax { try flush() }
    }

    private static let trailer = ASCII.crlf + ASCII.crlf
    private static let pendingMax = 1 << 20
    private static let smallMax = 8192

    private func deflate(_ bytes: [UInt8], isLast: Bool) {
        bytes.withUnsafeBytes { deflater?.deflate($0, to: &pending, isLast: isLast) }
    }

    /// What has been added is whole.
    func commit() throws(FetchError) {
        try flush()
        end += written
        written = 0
    }

    /// Takes back what has been added since the last ``commit()``, as far as that works: the disk
    /// may be the reason.
    func undo() {
        pending = []
        written = 0
        try? cut()
    }

    private func cut() throws(SystemError) {
        _ = try systemCall { ftruncate(file.borrowed, off_t(end)) }
        _ = try systemCall { Int(lseek(file.borrowed, off_t(end), SEEK_SET)) }
    }

    private func flush() throws(FetchError) {
        guard !pending.isEmpty else { return }
        try attempt { () throws(SystemError) in try writeAll(pending[...], to: file.borrowed) }
        written += pending.count
        pending.removeAll(keepingCapacity: pending.count <= Self.pendingMax)
    }

    private func attempt(_ body: () throws(SystemError) -> Void) throws(FetchError) {
        do throws(SystemError) {
            try body()
        } catch {
            throw FetchError(.write, .output, "cannot write to the archive \(path)", error)
        }
    }
}
