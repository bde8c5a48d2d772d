// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWebCore

/// Writes records behind one another into a file, plain or compressed, and undoes what did not get
/// whole.
//
// @unchecked: used under the lock of its writer alone.
final class ArchiveSink: @unchecked Sendable {
    let path: String
    private let file: Descriptor
    private let digest: Digest
    /// `nil` for an archive that is not compressed.
    private let deflaters: Deflaters?
    /// What is about to be written.
    private var pending: [UInt8] = []
    /// Where a record is put together that will be compressed.
    private var record: [UInt8] = []
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

    /// The header of a record that ``add(_:_:)`` gets, and no other before.
    ///
    /// - Parameter common: Fields that several records have.
    func begin(_ type: String, _ id: RecordID, _ common: [UInt8]) -> RecordText {
        var buffer: [UInt8] = []
        // Moved: what two have is copied when it grows.
        if deflaters == nil { swap(&buffer, &pending) } else { swap(&buffer, &record) }
        return RecordText(type, id, common, in: buffer)
    }

    /// Adds a record.
    ///
    /// - Throws: `write`; then ``undo()`` is called.
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

        /// The one for a member of so many bytes.
        func some(for count: Int) -> Deflater {
            count < Deflater.tinyMax ? tiny : count < Self.smallMax ? small : any
        }

        private static let smallMax = 8192
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
