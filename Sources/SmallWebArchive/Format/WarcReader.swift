// SPDX-License-Identifier: MIT
internal import Glibc
package import SmallWebCore

/// Reads an archive record by record, plain or with a gzip member for each record. Never holds more
/// than a piece of a block in memory.
//
// @unchecked: used by one owner at a time.
package final class WarcReader: @unchecked Sendable {
    package let path: String
    package let isCompressed: Bool
    /// Offset in the file of the current record, and the end of the file after the last one.
    package private(set) var offset = 0
    /// The error of the record at ``offset``, once one was found.
    package private(set) var fault: Malformed?
    /// The first damage that ``nextWhole()`` has passed over, and true if records may be missing
    /// there: blank lines and zeros have none.
    package private(set) var damage: FetchError?
    package private(set) var hasLoss = false
    private var hasWhole = false
    /// True to pass over blank lines and zeros between records.
    var skipsPadding = false
    /// The beginning of the block of the last record of ``nextWhole(keeping:)``.
    package private(set) var beginning: [UInt8] = []

    private let file: Descriptor
    private var decoder = WarcDecoder()
    /// `nil` for an archive that is not compressed.
    private let members: Inflater?
    /// Bytes read from the file and not used yet: a suffix of `piece`.
    private var input: ArraySlice<UInt8> = []
    /// File offset of the next read, directly behind `input`.
    private var position = 0
    /// Buffer of the last read.
    private var piece: [UInt8] = []
    /// Inflated bytes not used yet.
    private var inflated: ArraySlice<UInt8> = []
    private var isInRecord = false

    private static let pieceBytes = 65_536
    /// The beginning of a member (RFC 1952, section 2.3): magic number and method "deflate".
    private static let memberMagic: [UInt8] = [0x1F, 0x8B, 0x08]

    /// - Throws: `read` for a file that cannot be opened, or is a directory, a pipe or a device.
    package init(_ path: String) throws(FetchError) {
        self.path = path
        let isCompressed: Bool
        do throws(SystemError) {
            // O_NONBLOCK, or a FIFO without a writer would block here.
            let file = try systemCall { open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) }
            self.file = Descriptor(owning: file)
            isCompressed = try Self.isCompressed(file)
        } catch {
            let message =
                error.number == ESPIPE
                ? "cannot read the archive \(path): it is not a file"
                : "cannot read the archive \(path): \(error.sentence)"
            throw FetchError(.read, .input, message, errnoName: error.name)
        }
        self.isCompressed = isCompressed
        members = isCompressed ? try Inflater(.gzip) : nil
    }

    private static func isCompressed(_ file: Int32) throws(SystemError) -> Bool {
        var status = stat()
        _ = try systemCall { fstat(file, &status) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw SystemError(number: status.st_mode & S_IFMT == S_IFDIR ? EISDIR : ESPIPE)
        }
        var magic = [UInt8](repeating: 0, count: 3)
        let count = max(1, try systemCall { pread(file, &magic, magic.count, 0) })
        return magic.prefix(count).elementsEqual(Self.memberMagic.prefix(count))
    }

    /// True once the current record's version line has arrived.
    package var hasBegunRecord: Bool { decoder.hasVersion }

    /// True while another run holds the file's lock to add records.
    package var isBeingWritten: Bool {
        guard flock(file.borrowed, LOCK_SH | LOCK_NB) == 0 else { return errno == EWOULDBLOCK }
        // On failure the lock is released when the descriptor is closed.
        _ = flock(file.borrowed, LOCK_UN)
        return false
    }

    /// Continues at `offset`, which must be the beginning of a record.
    package func seek(to offset: Int) {
        // Records that are asked for together are mostly in one piece.
        let behind = position - offset
        if behind > 0, behind <= piece.count {
            input = piece.suffix(behind)
        } else {
            (position, input) = (offset, [])
        }
        (self.offset, inflated) = (offset, [])
        (decoder, isInRecord, fault) = (WarcDecoder(), false, nil)
        members?.reset()
    }

    /// The next record's header; `nil` at the end of the file.
    ///
    /// - Throws: `protocol-error` for a file that is not a WARC, with the offset; `read`;
    ///   `interrupted` and `timeout`, since an archive may have millions of records.
    package func next() throws(FetchError) -> WarcHeader? {
        try LongWork.check()
        if isInRecord { try skip() }
        // The last member had more data than its record.
        if let fault { throw broken(fault) }
        if skipsPadding { try passPadding() }
        if input.isEmpty, try !fill() {
            offset = position
            return nil
        }
        offset = position - input.count
        if let members, members.isBetweenStreams { members.reset() }
        isInRecord = true
        guard case .header(let header)? = try element() else {
            throw broken(Malformed(why: "a record has no header"))
        }
        return header
    }

    private func passPadding() throws(FetchError) {
        offset = position - input.count
        while true {
            input = input.drop { $0 == 0 || ASCII.isLineEnd($0) }
            guard input.isEmpty, try fill() else { break }
        }
        guard position - input.count > offset else { return }
        damage = damage ?? broken(Malformed(why: "blank lines or zeros are not a record"))
        fault = nil
    }

    /// The next whole record, leaving the reader behind it. Damaged records are skipped; a record
    /// truncated by the end of the file is the last one.
    ///
    /// - Parameter limit: Bytes of the block to keep as ``beginning``.
    /// - Throws: ``damage`` if no record is whole; `read`.
    package func nextWhole(
        keeping limit: (WarcHeader) -> Int = { _ in 0 }
    ) throws(FetchError) -> WarcHeader? {
        skipsPadding = true
        while true {
            if fault != nil, try !recover() { break }
            var header: WarcHeader?
            do throws(FetchError) {
                header = try next()
                guard let header else { break }
                beginning = try block(upTo: limit(header))
                try skip()
                if let fault { throw broken(fault) }
            } catch {
                guard let fault else { throw error }
                // Another run is still writing this record.
                if fault.isTorn && isBeingWritten { return nil }
                damage = damage ?? error
                guard fault.isBehindRecord else {
                    hasLoss = true
                    continue
                }
            }
            hasWhole = true
            return header
        }
        if let damage, !hasWhole { throw damage }
        return nil
    }

    /// Looks for the beginning of another record behind a fault, but never within a record
    /// truncated by the end of the file: its body may be an archive itself.
    private func recover() throws(FetchError) -> Bool {
        guard let fault, !fault.isTorn || !hasBegunRecord else { return false }
        let mark = members == nil ? WarcHeader.magic : Self.memberMagic
        // Inflating a truncated member consumes the beginning of the next one, too.
        let back = members == nil ? 0 : 1024
        var place = offset + max(1, fault.headerBytes)
        place = max(place, position - input.count - back)
        while true {
            seek(to: place)
            if input.count < mark.count {
                (position, input) = (place, [])
                guard try fill(), input.count >= mark.count else { return false }
            }
            guard let first = input.dropLast(mark.count - 1).firstIndex(of: mark[0]) else {
                place += input.count - mark.count + 1
                continue
            }
            place += first - input.startIndex
            seek(to: place)
            if input.starts(with: mark) { return true }
            place += 1
        }
    }

    /// The next bytes of the record's block; empty at its end.
    ///
    /// - Throws: `protocol-error` with the offset of the record; `read`.
    package func block() throws(FetchError) -> ArraySlice<UInt8> {
        try LongWork.check()
        guard isInRecord, case .block(let bytes)? = try element() else {
            isInRecord = false
            return []
        }
        return bytes
    }

    /// All of the block, or its first `limit` bytes.
    package func block(upTo limit: Int) throws(FetchError) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < limit {
            let piece = try block()
            if piece.isEmpty { break }
            bytes += piece.prefix(limit - bytes.count)
        }
        return bytes
    }

    private func skip() throws(FetchError) {
        if members == nil {
            let left = decoder.skipBlock()
            if left <= input.count {
                input = input.dropFirst(left)
            } else {
                var status = stat()
                guard fstat(file.borrowed, &status) == 0,
                    Int(status.st_size) - position >= left - input.count
                else {
                    throw broken(
                        Malformed(why: "the record's block is cut off", isTorn: true))
                }
                position += left - input.count
                (piece, input) = ([], [])
            }
        }
        while try !block().isEmpty {}
    }

    /// - Returns: `nil` at the end of the record.
    private func element() throws(FetchError) -> WarcDecoder.Element? {
        while true {
            do throws(Malformed) {
                let element =
                    members == nil
                    ? try decoder.next(&input) : try decoder.next(&inflated)
                if case .end? = element {
                    try endMember()
                    return nil
                }
                if let element { return element }
                if let members {
                    try inflate(members)
                    if !inflated.isEmpty { continue }
                    if members.isBetweenStreams {
                        throw Malformed(
                            why: decoder.torn?.why ?? "a gzip member has nothing in it")
                    }
                }
            } catch {
                guard error.isBehindRecord else { throw broken(error) }
                // As in a member, the next call of `next()` reports it.
                fault = error
                return nil
            }
            guard input.isEmpty else { continue }
            guard try fill() else {
                throw broken(
                    members == nil
                        ? decoder.torn ?? Malformed(why: "the record is cut off", isTorn: true)
                        : Malformed(why: "the gzip member is cut off", isTorn: true))
            }
        }
    }

    /// Ends the member of a record: a member holds exactly one.
    private func endMember() throws(Malformed) {
        guard let members else { return }
        while inflated.isEmpty && !members.isBetweenStreams {
            if input.isEmpty {
                do throws(FetchError) {
                    guard try fill() else {
                        throw FetchError(.protocolError, .input, "the gzip member is cut off")
                    }
                } catch {
                    throw Malformed(why: error.message, isTorn: true)
                }
            }
            try inflate(members)
        }
        // The record itself is whole, so the next call of `next()` reports the fault.
        if !inflated.isEmpty {
            fault = Malformed(
                why: "the gzip member has more in it than a record: "
                    + "such a file must be compressed again, record by record",
                isBehindRecord: inflated.first != WarcHeader.magic.first)
        }
    }

    private func inflate(_ members: Inflater) throws(Malformed) {
        do throws(FetchError) {
            // Released first, which saves a copy.
            inflated = []
            inflated = try members.inflate(&input)
        } catch {
            throw Malformed(why: error.message)
        }
    }

    private func broken(_ malformed: Malformed) -> FetchError {
        fault = malformed
        isInRecord = false
        return FetchError(
            .protocolError, .input, "\(path): at byte \(offset): \(malformed.why)")
    }

    /// - Returns: False at the end of the file.
    private func fill() throws(FetchError) -> Bool {
        do throws(SystemError) {
            (piece, input) = ([], [])
            piece = try FileBytes.read(file.borrowed, at: position, count: Self.pieceBytes)
            position += piece.count
            input = piece[...]
            return !piece.isEmpty
        } catch {
            throw FetchError(.read, .input, "cannot read the archive \(path)", error)
        }
    }
}
