// SPDX-License-Identifier: MIT
internal import Glibc

/// The bytes of files, in memory.
package enum FileBytes {
    /// Reads a whole file. A FIFO is not waited for: without a writer it is empty.
    ///
    /// - Throws: EFBIG for more than `limit` bytes.
    package static func read(_ path: String, limit: Int) throws(SystemError) -> [UInt8] {
        let file = try Descriptor(opening: path, O_RDONLY | O_NONBLOCK)
        return try read(file.borrowed, limit: limit)
    }

    /// Reads a file or pipe from its current offset to its end.
    ///
    /// - Parameter run: Makes each call, repeating it if needed.
    /// - Throws: EFBIG for more than `limit` bytes; the errors of `run`.
    package static func read(
        _ file: Int32, limit: Int,
        by run: (_ call: () -> Int) throws(SystemError) -> Int = systemCall
    ) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        var facts = stat()
        if fstat(file, &facts) == 0, facts.st_size > 0 {
            bytes.reserveCapacity(min(limit, Int(facts.st_size)))
        }
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = try run { Glibc.read(file, &piece, piece.count) }
            if count == 0 { return bytes }
            bytes += piece[..<count]
            if bytes.count > limit { throw SystemError(number: EFBIG) }
        }
    }

    /// Reads `count` bytes from the offset `start`, fewer at the end of the file.
    package static func read(
        _ file: Int32, at start: Int, count: Int
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

    /// Reads the last bytes of a file, at most `limit`. A FIFO or device has none.
    package static func end(of path: String, limit: Int) throws(SystemError) -> [UInt8] {
        let file = try Descriptor(opening: path, O_RDONLY | O_NONBLOCK)
        var facts = stat()
        _ = try systemCall { fstat(file.borrowed, &facts) }
        let count = min(Int(facts.st_size), limit)
        return try read(file.borrowed, at: Int(facts.st_size) - count, count: count)
    }
}
