// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWebCore

/// Appends records to a file, plain or compressed, and rolls back incomplete exchanges.
//
// @unchecked: used under the lock of its writer alone.
final class ArchiveFile: @unchecked Sendable {
    let file: LineFile
    private let digest: Digest
    /// `nil` for an uncompressed archive.
    private let deflaters: (large: Deflater, small: Deflater, tiny: Deflater)?
    /// The record that is being made. Without compression records before it, too: all that is not
    /// in the file yet.
    private var text: [UInt8] = []
    /// Compressed records that are not in the file yet.
    private var deflated: [UInt8] = []
    /// File offset behind the last whole exchange.
    private var end: Int
    private var written = 0
    /// State of the generator of identifiers.
    private var seed = UInt64.random(in: .min ... .max)
    var known: KnownRecords
    /// Lines for the index of the archive; `nil` without one.
    var lines: IndexLines?
    /// The error that has ended the recording.
    var failure: FetchError?

    private static let trailer = ASCII.crlf + ASCII.crlf
    private static let pendingMax = 1 << 20
    /// Limits of the streams for the smaller deflaters, in bytes.
    private static let (smallMax, tinyMax) = (8192, Deflater.tinyMax)

    /// - Parameter known: Records of the file; anything behind them is truncated.
    /// - Throws: `write`, `not-built-in`.
    init(
        _ file: LineFile, _ known: KnownRecords, isCompressed: Bool
    ) throws(FetchError) {
        (self.file, self.known) = (file, known)
        end = known.end
        digest = try Digest(.sha256)
        deflaters =
            isCompressed
            ? (try Deflater(), try Deflater(for: .small), try Deflater(for: .tiny)) : nil
        try file.attempt { () throws(SystemError) in try cut() }
    }

    func sha256(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        digest.update(bytes)
        return digest.finish()
    }

    func sha256(_ block: Block) throws(FetchError) -> [UInt8] {
        digest.update(block.bytes[...])
        try block.spool?.bytes.read(from: block.start) { digest.update($0) }
        return digest.finish()
    }

    // MARK: Records

    /// The date of a record that is written now.
    static var now: String {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return date(time)
    }

    /// `2026-11-20T22:17:13.000042Z`.
    static func date(_ time: timespec) -> String {
        var text: [UInt8] = []
        UTCDate(time.tv_sec).append(to: &text)
        text.append(ASCII.dot)
        text.append(digits: time.tv_nsec / 1000, atLeast: 6)
        text.append(UInt8(ascii: "Z"))
        return String(decoding: text, as: UTF8.self)
    }

    /// Begins a record: fields follow, then ``end(_:)``.
    @discardableResult
    func begin(_ type: String, date: String = now, target: String? = nil) -> WarcID {
        let id = WarcID(after: &seed)
        text.append("WARC/1.1\r\n")
        add("WARC-Type: ", type)
        add("WARC-Record-ID: ", id)
        add("WARC-Date: ", date)
        if let target { add("WARC-Target-URI: ", target) }
        return id
    }

    /// Adds a header field with its line end.
    ///
    /// - Parameter name: With the colon and a blank.
    func add(_ name: String, _ value: String) {
        text.append(name)
        let start = text.count
        text.append(value)
        // Drop control characters: a line end in a value would begin another field.
        let hasControls = text.withUnsafeBufferPointer { bytes in
            bytes[start...].contains { $0 < ASCII.space }
        }
        if hasControls {
            text.replaceSubrange(start..., with: text[start...].filter { $0 >= ASCII.space })
        }
        text += ASCII.crlf
    }

    func add(_ name: String, _ id: WarcID) {
        text.append(name)
        id.append(to: &text)
        text += ASCII.crlf
    }

    func add(_ name: String, sha256: [UInt8]) { add(name, "sha256:" + sha256.hex) }

    /// Ends a record of fields: those of a metadata record of a kind have JSON.
    func end(_ text: [UInt8], of kind: String?) throws(FetchError) {
        // Other programs index metadata of any other type as a page.
        add("Content-Type: ", "application/warc-fields")
        if let kind { add("Smallweb-Kind: ", kind) }
        let bytes = kind.map { WarcHeader.block($0, text) } ?? text
        add("WARC-Block-Digest: ", sha256: sha256(bytes[...]))
        try end(Block(bytes))
    }

    /// Ends the header with the length of the block, and adds the block.
    ///
    /// - Throws: `write`, within a ``change(_:)``.
    func end(_ block: Block) throws(FetchError) {
        text.append("Content-Length: ")
        text.append(digits: block.count)
        text.append("\r\n\r\n")
        text += block.bytes
        if let spool = block.spool { try add(spool.bytes, from: block.start) }
        text += Self.trailer
        if let deflaters {
            let isWhole = block.spool == nil
            let deflater =
                isWhole && text.count < Self.tinyMax
                ? deflaters.tiny
                : isWhole && text.count < Self.smallMax ? deflaters.small : deflaters.large
            deflate(with: deflater, isLast: true)
        }
        if max(text.count, deflated.count) >= Self.pendingMax { try flush() }
    }

    private func add(_ spool: Spool, from start: Int) throws(FetchError) {
        guard let deflater = deflaters?.large else {
            try flush()
            try file.attempt { () throws(SystemError) in
                try spool.copy(from: start, to: file.descriptor)
            }
            written += spool.count - start
            return
        }
        deflate(with: deflater, isLast: false)
        try spool.read(from: start) { piece throws(FetchError) in
            piece.withUnsafeBytes { deflater.deflate($0, to: &deflated, isLast: false) }
            if deflated.count >= Self.pendingMax { try flush() }
        }
    }

    /// Compresses all of the buffered text.
    private func deflate(with deflater: Deflater, isLast: Bool) {
        text.withUnsafeBytes { deflater.deflate($0, to: &deflated, isLast: isLast) }
        text.removeAll(keepingCapacity: text.count <= Self.pendingMax)
    }

    // MARK: The file

    /// Writes one unit, or rolls it back on failure, which ends the recording.
    ///
    /// - Throws: The error of `body` or an earlier failure; `write`.
    func change(_ body: (ArchiveFile) throws(FetchError) -> Void) throws(FetchError) {
        if let failure { throw failure }
        do throws(FetchError) {
            try body(self)
            try commit()
        } catch {
            undo()
            failure = error
            throw error
        }
    }

    private func commit() throws(FetchError) {
        try flush()
        end += written
        written = 0
        lines?.keep()
    }

    /// File offset of the next record.
    var place: Int { end + written + max(text.count, deflated.count) }

    /// Rolls back to the last ``commit()``. Best effort: a failing disk may be the reason.
    private func undo() {
        text = []
        deflated = []
        written = 0
        lines?.drop()
        try? cut()
    }

    private func cut() throws(SystemError) {
        _ = try systemCall { ftruncate(file.descriptor, off_t(end)) }
        _ = try systemCall { Int(lseek(file.descriptor, off_t(end), SEEK_SET)) }
    }

    private func flush() throws(FetchError) {
        if deflaters == nil { try write(&text) } else { try write(&deflated) }
    }

    private func write(_ pending: inout [UInt8]) throws(FetchError) {
        guard !pending.isEmpty else { return }
        try file.attempt { () throws(SystemError) in try writeAll(pending[...], to: file.descriptor)
        }
        written += pending.count
        pending.removeAll(keepingCapacity: pending.count <= Self.pendingMax)
    }
}
