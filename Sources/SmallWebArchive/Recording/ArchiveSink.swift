// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWebCore

/// Appends records to a file, plain or compressed, and rolls back incomplete exchanges.
//
// @unchecked: used under the lock of its writer alone.
final class ArchiveSink: @unchecked Sendable {
    let path: String
    private let file: Descriptor
    private let digest: Digest
    /// `nil` for an uncompressed archive.
    private let deflaters: Deflaters?
    /// Output buffer of bytes for the file.
    private var pending: [UInt8] = []
    /// Buffer for a record before it is compressed.
    private var record: [UInt8] = []
    /// File offset behind the last whole exchange.
    private var end: Int
    private var written = 0

    /// - Parameter end: Offset to append at; anything behind it is truncated.
    /// - Throws: `write`, `not-built-in`.
    init(
        _ path: String, _ file: consuming Descriptor, end: Int, isCompressed: Bool
    ) throws(FetchError) {
        self.path = path
        self.file = file
        self.end = end
        digest = try Digest(.sha256)
        deflaters = isCompressed ? try Deflaters() : nil
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

    /// Begins the header of a record. ``add(_:_:)`` must follow before the next call: both use the
    /// same buffer.
    ///
    /// - Parameter common: Fields shared by several records.
    func begin(_ type: String, _ id: RecordID, _ common: [UInt8]) -> RecordText {
        var buffer: [UInt8] = []
        // Moved out of its owner: a second reference would copy the buffer when it grows.
        if deflaters == nil { swap(&buffer, &pending) } else { swap(&buffer, &record) }
        return RecordText(type, id, common, in: buffer)
    }

    /// - Throws: `write`; the caller must then call ``undo()``.
    func add(_ header: consuming RecordText, _ block: Block) throws(FetchError) {
        var text = header.end(blockBytes: block.count)
        switch block {
        case .bytes(let bytes):
            text += bytes
            text += Self.trailer
            if let deflaters {
                text.withUnsafeBytes {
                    deflaters.some(for: $0.count).deflate($0, to: &pending, isLast: true)
                }
            }
        case .spool(let head, let spool, let start):
            text += head
            if let deflater = deflaters?.any {
                text.withUnsafeBytes { deflater.deflate($0, to: &pending, isLast: false) }
                try spool.forEachPiece(from: start) { piece throws(FetchError) in
                    deflater.deflate(piece, to: &pending, isLast: false)
                    if pending.count >= Self.pendingMax { try flush() }
                }
                Self.trailer.withUnsafeBytes {
                    deflater.deflate($0, to: &pending, isLast: true)
                }
            } else {
                swap(&text, &pending)
                try flush()
                let count = spool.count - start
                try attempt { () throws(SystemError) in
                    try spool.copy(from: start, to: file.borrowed)
                }
                written += count
                text = Self.trailer
            }
        }
        if deflaters == nil {
            swap(&text, &pending)
        } else {
            text.removeAll(keepingCapacity: text.count <= Self.pendingMax)
            swap(&text, &record)
        }
        if pending.count >= Self.pendingMax { try flush() }
    }

    private static let trailer = ASCII.crlf + ASCII.crlf
    private static let pendingMax = 1 << 20

    private struct Deflaters {
        let any, small, tiny: Deflater

        init() throws(FetchError) {
            any = try Deflater()
            small = try Deflater(for: .small)
            tiny = try Deflater(for: .tiny)
        }

        /// The deflater for a member of `count` bytes.
        func some(for count: Int) -> Deflater {
            count < Deflater.tinyMax ? tiny : count < Self.smallMax ? small : any
        }

        private static let smallMax = 8192
    }

    func commit() throws(FetchError) {
        try flush()
        end += written
        written = 0
    }

    /// Rolls back to the last ``commit()``. Best effort: a failing disk may be the reason.
    func undo() {
        pending = []
        record = []
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
