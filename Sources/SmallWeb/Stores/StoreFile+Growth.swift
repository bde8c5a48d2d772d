// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWebCore

/// A store that grows line by line, and is read while it does.
extension StoreFile {
    /// A reader's part of the file: from its beginning to the end of a line.
    struct Known {
        let file: OpenFile
        let count: Int
        /// The last bytes of that part. If they are not found in their place, the file was
        /// rewritten.
        let tail: [UInt8]
    }

    /// A regular file as it is at a moment.
    struct View {
        let file: OpenFile
        let stamp: FileStamp
        /// End of the complete lines, in bytes: before a last line that was never finished.
        let count: Int
        /// The last bytes of these lines.
        let tail: [UInt8]
        /// True if lines were only added to the known part.
        let hasGrown: Bool
    }

    /// Kept open as long as it is remembered: otherwise the next file could get the inode number of
    /// a replaced one, and be taken for it.
    final class OpenFile: Sendable {
        fileprivate let descriptor: Descriptor

        fileprivate init(_ path: String, _ access: Int32) throws(SystemError) {
            descriptor = try Descriptor(opening: path, access | O_NONBLOCK)
        }
    }

    /// The file as it is; only its last lines are read.
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
                try Self.read(number, known.count - known.tail.count, known.tail.count)
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
            let bytes = try read(file, start, size - start)
            let lines = whole(bytes)
            if start == 0 || bytes.dropLast().contains(ASCII.lineFeed) { return (start, lines) }
            count = try doubled(count)
        }
    }

    /// Bytes of the file from the beginning of `range`: whole lines, as many as there is room for,
    /// but at least one. The last line of the range may lack its line feed, and so may one that is
    /// truncated meanwhile; nothing follows it. The file is not mapped into memory, as touching
    /// pages that another process has truncated would be fatal.
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
                var bytes = try Self.read(file.descriptor.borrowed, range.lowerBound, count)
                if count == range.count || bytes.count < count { return bytes }
                if let end = bytes.lastIndex(of: ASCII.lineFeed) {
                    bytes.removeLast(bytes.count - end - 1)
                    return bytes
                }
                room = try Self.doubled(room)
            }
        }
    }

    /// Passes all of a range to `body`, in parts of whole lines.
    ///
    /// - Returns: False if the file was truncated meanwhile.
    /// - Throws: `read`; errors of `body`.
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
            // Nothing more counts of a line that was cut off, even if the file has it again.
            if part.last != ASCII.lineFeed { break }
        }
        return start == range.upperBound
    }

    private static func doubled(_ count: Int) throws(SystemError) -> Int {
        guard count <= bytesMax else { throw SystemError(number: EFBIG) }
        return 2 * count
    }

    /// Adds whole lines to a file that has some, without waiting for the disk: see ``sync()``.
    ///
    /// Their first byte is written last, and is 0 until then. So the remains of a kill are told
    /// from a line that a person has begun, wherever it was cut: a last line that begins with 0 is
    /// dropped (``whole(_:)``), and the next addition takes its place.
    ///
    /// - Parameter count: End of the last complete line.
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

    /// Overwrites as many bytes: a kill leaves each byte old or new.
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
            // A read-only file may lie in a writable directory.
            guard [EACCES, EPERM, ETXTBSY].contains(error.number) else { throw error }
            return nil
        }
    }

    /// Returns when the additions are on the disk.
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

    private static func read(
        _ file: Int32, _ start: Int, _ count: Int
    ) throws(SystemError) -> [UInt8] {
        var failure: SystemError?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
            do throws(SystemError) {
                while done < count {
                    let more = try systemCall {
                        pread(
                            file, buffer.baseAddress.map { $0 + done }, count - done,
                            off_t(start + done))
                    }
                    if more == 0 { return }
                    done += more
                }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
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
