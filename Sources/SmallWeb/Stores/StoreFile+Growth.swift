// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWebCore

/// A store that grows line by line, and is read while it does.
extension StoreFile {
    /// State of a regular file when its lines were read.
    struct Extent {
        let stamp: FileStamp
        /// End of the lines that count, in bytes: without a last one that was never finished.
        let count: Int
        /// True if a line may be added at ``count``.
        let canGrow: Bool
        /// True if no process was adding a line, or was killed when it did.
        var isSettled: Bool { canGrow && count == stamp.size }
    }

    /// Reads the lines that count, as parts of whole lines; only the last one may lack its line
    /// feed. Lines that others add meanwhile do not count.
    ///
    /// The file is not mapped into memory: touching a part that another process has cut off would
    /// be fatal.
    ///
    /// - Parameter room: Size of a part in bytes, greater than 0; a longer line is one part.
    /// - Returns: `nil` when there is no file, and for a device.
    /// - Throws: `read`; errors of `body`.
    @discardableResult
    func forEachPart(
        room: Int = 65_536, _ body: (_ lines: [UInt8], _ start: Int) throws(FetchError) -> Void
    ) throws(FetchError) -> Extent? {
        guard try kind(for: .read) == .file else { return nil }
        removeRemains()
        let file = try attempt(.read, "cannot read") { () throws(SystemError) in
            try Descriptor(opening: path, O_RDONLY | O_NONBLOCK)
        }
        let stamp = try attempt(.read, "cannot read") { () throws(SystemError) in
            try Self.stamp(file.borrowed)
        }
        var (start, room) = (0, room)
        while true {
            let count = min(room, stamp.size - start)
            var part = try attempt(.read, "cannot read") { () throws(SystemError) in
                guard count <= Self.bytesMax else { throw SystemError(number: EFBIG) }
                return try FileBytes.read(file.borrowed, at: start, count: count)
            }
            // A line that is cut off meanwhile ends there, even if its rest comes back.
            let isCutOff = part.count < count
            let isLast = isCutOff || count == stamp.size - start
            // The last line of a part is read again with the next one: it may be unfinished.
            let end = isLast ? Self.whole(part).count : Self.lastLine(part)
            guard isLast || end > 0 else {
                room *= 2
                continue
            }
            part.removeLast(part.count - end)
            if !part.isEmpty { try body(part, start) }
            start += end
            guard isLast else { continue }
            let endsLine = part.last.map { $0 == ASCII.lineFeed } ?? (start > 0)
            return Extent(stamp: stamp, count: start, canGrow: endsLine && !isCutOff)
        }
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
            let number = file.borrowed
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
            try Self.write(bytes[...], to: file.borrowed, at: start)
            return try Self.stamp(file.borrowed)
        }
    }

    private func openToWrite() throws(SystemError) -> Descriptor? {
        do throws(SystemError) {
            return try Descriptor(opening: path, O_RDWR | O_NONBLOCK)
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
            let file = try Descriptor(opening: path, O_RDONLY | O_NONBLOCK)
            _ = try systemCall { fdatasync(file.borrowed) }
        }
    }

    /// `bytes` without a last line that was never finished.
    static func whole(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
        let start = lastLine(bytes)
        return start < bytes.count && bytes[start] == ASCII.nul ? bytes[..<start] : bytes[...]
    }

    /// Offset of the last line, which may lack its line feed.
    private static func lastLine(_ bytes: [UInt8]) -> Int {
        (bytes.dropLast().lastIndex(of: ASCII.lineFeed) ?? -1) + 1
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
