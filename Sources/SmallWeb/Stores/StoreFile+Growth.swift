// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWebCore

/// A store that grows line by line, and is read while it does.
extension StoreFile {
    /// What a reader has of the file: from its beginning to the end of a line.
    struct Known {
        let file: OpenFile
        let count: Int
        /// The last of that, to be found in the same place: else the file was rewritten.
        let tail: [UInt8]
    }

    /// A regular file as it is at a moment.
    struct View {
        let file: OpenFile
        let stamp: FileStamp
        /// Where the lines end that count: before a last one that was never finished.
        let count: Int
        /// The last bytes of these lines.
        let tail: [UInt8]
        /// Whether there is only more than was known.
        let hasGrown: Bool
    }

    /// Open for as long as it is remembered: the next file would else get the number of one that
    /// was replaced, and could be taken for it.
    final class OpenFile: Sendable {
        fileprivate let descriptor: Descriptor

        fileprivate init(_ path: String, _ access: Int32) throws(SystemError) {
            descriptor = try Descriptor(opening: path, access | O_NONBLOCK)
        }
    }

    /// The file as it is, of which nothing but the last lines is read.
    ///
    /// - Returns: `nil` when there is none, and for a device.
    /// - Throws: `read`.
    func view(beyond known: Known? = nil) throws(FetchError) -> View? {
        guard try kind(for: .read) == .file else { return nil }
        return try attempt(.read, "cannot read") { () throws(SystemError) in
            let file = try OpenFile(path, O_RDONLY)
            let number = file.descriptor.borrowed
            let stamp = try Self.stamp(number)
            let last = try Self.lastLines(number, stamp.size)
            let (count, tail) = (last.start + last.bytes.count, Array(last.bytes))
            if let known, known.count < stamp.size, known.count <= count,
                try Self.stamp(known.file.descriptor.borrowed).isSameFile(as: stamp),
                try FileBytes.read(
                    number, at: known.count - known.tail.count, count: known.tail.count)
                    == known.tail
            {
                return View(
                    file: known.file, stamp: stamp, count: count, tail: tail, hasGrown: true)
            }
            removeRemains()
            return View(file: file, stamp: stamp, count: count, tail: tail, hasGrown: false)
        }
    }

    /// Some lines at the end of a file, or all of it, without a last line that was never finished.
    private static func lastLines(
        _ file: Int32, _ size: Int
    ) throws(SystemError) -> (start: Int, bytes: ArraySlice<UInt8>) {
        var count = 8192
        while true {
            let start = max(0, size - count)
            let bytes = try FileBytes.read(file, at: start, count: size - start)
            let lines = whole(bytes)
            if start == 0 || bytes.dropLast().contains(ASCII.lineFeed) { return (start, lines) }
            count = try doubled(count)
        }
    }

    /// Bytes of the file from `range` on: whole lines, as many as there is room for, but at least
    /// one. The last line of the range may lack its line feed, and so does one that is cut off
    /// meanwhile; behind it there is nothing. The file is not mapped into memory, as touching what
    /// another process has cut off would be fatal.
    ///
    /// - Parameter room: In bytes, greater than 0; a line may have more.
    /// - Throws: `read`.
    func lines(
        of file: OpenFile, in range: Range<Int>, room: Int
    ) throws(FetchError) -> [UInt8] {
        try attempt(.read, "cannot read") { () throws(SystemError) in
            var room = room
            while true {
                let count = min(room, range.count)
                var bytes = try FileBytes.read(
                    file.descriptor.borrowed, at: range.lowerBound, count: count)
                if count == range.count || bytes.count < count { return bytes }
                if let end = bytes.lastIndex(of: ASCII.lineFeed) {
                    bytes.removeLast(bytes.count - end - 1)
                    return bytes
                }
                room = try Self.doubled(room)
            }
        }
    }

    /// All of a range, as parts of whole lines.
    ///
    /// - Returns: Whether it was all: the file may be cut off meanwhile.
    /// - Throws: `read`; what `body` throws.
    @discardableResult
    func forEachPart(
        of file: OpenFile, _ range: Range<Int>, room: Int = 65_536,
        _ body: (_ lines: [UInt8], _ start: Int) throws(FetchError) -> Void
    ) throws(FetchError) -> Bool {
        var start = range.lowerBound
        while start < range.upperBound {
            let part = try lines(of: file, in: start..<range.upperBound, room: room)
            if part.isEmpty { return false }
            try body(part, start)
            start += part.count
            // Of a line that was cut off nothing more counts, even if the file has it again.
            if part.last != ASCII.lineFeed { break }
        }
        return start == range.upperBound
    }

    /// Room for a line that needs more.
    private static func doubled(_ count: Int) throws(SystemError) -> Int {
        guard count <= bytesMax else { throw SystemError(number: EFBIG) }
        return 2 * count
    }

    /// Adds whole lines to a file that has some, without waiting for the disk: see ``sync()``.
    ///
    /// Their first byte is written last, and is 0 until then. So what a kill leaves is known from
    /// a line that a person has begun, wherever it was cut: a last line that begins with 0 is not
    /// (``whole(_:)``), and the next addition takes its place.
    ///
    /// - Parameter count: Where the last line ends that counts.
    /// - Returns: `nil` when only ``replace(by:_:)`` can write to it.
    /// - Throws: `write`; the file is then as it was.
    func append(
        _ lines: [UInt8], at count: Int, _ lock: borrowing Lock
    ) throws(FetchError) -> FileStamp? {
        try attempt(.write, "cannot write") { () throws(SystemError) in
            guard let file = try openToWrite() else { return nil }
            let number = file.descriptor.borrowed
            do throws(SystemError) {
                if try Self.stamp(number).size > count {
                    _ = try systemCall { ftruncate(number, off_t(count)) }
                }
                try Self.write(lines.dropFirst(), to: number, at: count + 1)
                try Self.write(lines.prefix(1), to: number, at: count)
                return try Self.stamp(number)
            } catch {
                // Its first byte is 0 until it is whole, so the rest of one is not read as a line.
                _ = ftruncate(number, off_t(count))
                throw error
            }
        }
    }

    /// Writes as many bytes over others: a kill leaves each byte as it was or as it is to be.
    ///
    /// - Returns: `nil` when only ``replace(by:_:)`` can write to it.
    /// - Throws: `write`.
    func overwrite(
        at start: Int, with bytes: [UInt8], _ lock: borrowing Lock
    ) throws(FetchError) -> FileStamp? {
        try attempt(.write, "cannot write") { () throws(SystemError) in
            guard let file = try openToWrite() else { return nil }
            try Self.write(bytes[...], to: file.descriptor.borrowed, at: start)
            return try Self.stamp(file.descriptor.borrowed)
        }
    }

    private func openToWrite() throws(SystemError) -> OpenFile? {
        do throws(SystemError) {
            return try OpenFile(path, O_RDWR)
        } catch {
            // A file that is not to be written may lie in a directory that is.
            guard [EACCES, EPERM, ETXTBSY].contains(error.number) else { throw error }
            return nil
        }
    }

    /// Returns when the disk has what was added.
    ///
    /// - Throws: `write`.
    func sync() throws(FetchError) {
        try attempt(.write, "cannot write") { () throws(SystemError) in
            let file = try OpenFile(path, O_RDONLY)
            _ = try systemCall { fdatasync(file.descriptor.borrowed) }
        }
    }

    /// `bytes` without a last line that was never finished.
    static func whole(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
        guard let last = bytes.indices.last else { return bytes[...] }
        let start = (bytes[..<last].lastIndex(of: ASCII.lineFeed) ?? -1) + 1
        return bytes[start] == ASCII.nul ? bytes[..<start] : bytes[...]
    }

    private static func stamp(_ file: Int32) throws(SystemError) -> FileStamp {
        var facts = stat()
        _ = try systemCall { fstat(file, &facts) }
        return FileStamp(facts)
    }

    private static func write(
        _ bytes: ArraySlice<UInt8>, to file: Int32, at start: Int
    ) throws(SystemError) {
        var rest = bytes
        while !rest.isEmpty {
            let offset = off_t(start + rest.startIndex - bytes.startIndex)
            let count = try systemCall {
                rest.withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, offset) }
            }
            guard count > 0 else { throw SystemError(number: EIO) }
            rest = rest.dropFirst(count)
        }
    }
}
