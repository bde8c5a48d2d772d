// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc

/// A buffer for bytes to be kept or dropped later: in memory up to a limit, then in a temporary
/// file without a name, which cannot be left behind.
package final class Spool {
    private let memoryMax: Int
    private let directory: String?
    private let complaint: String?
    private var memory: [UInt8] = []
    private var file: Int32?
    /// Number of valid bytes in the file; `memory` follows them.
    private var spilled = 0
    package var count: Int { spilled + memory.count }

    /// - Parameters:
    ///   - directory: Directory for the file; `nil` for that of temporary files.
    ///   - complaint: The beginning of messages about the file; `nil` for one that names a
    ///     temporary file.
    package init(memoryMax: Int, in directory: String? = nil, complaint: String? = nil) {
        (self.memoryMax, self.directory, self.complaint) = (memoryMax, directory, complaint)
    }

    deinit { if let file { close(file) } }

    /// All bytes; `nil` if some are in the file.
    package var whole: [UInt8]? { file == nil ? memory : nil }

    /// Appends all of `bytes`, or none.
    package func append(_ bytes: UnsafeRawBufferPointer) throws(FetchError) {
        if memory.count + bytes.count <= memoryMax {
            memory += bytes
        } else {
            try append(Array(bytes)[...])
        }
    }

    /// Appends all of `bytes`, or none.
    ///
    /// - Throws: `write` when the temporary directory is full or missing.
    package func append(_ bytes: ArraySlice<UInt8>) throws(FetchError) {
        if memory.count + bytes.count <= memoryMax {
            memory += bytes
        } else {
            try spill()
            try write(bytes)
        }
    }

    /// Passes the bytes from the offset `start` on to `body`, in pieces, and keeps them.
    ///
    /// - Throws: `write` when the temporary file cannot be read; the errors of `body`.
    package func read(
        from start: Int = 0, _ body: (ArraySlice<UInt8>) throws(FetchError) -> Void
    ) throws(FetchError) {
        var offset = start
        while let piece = try filePiece(at: &offset) { try body(piece) }
        let rest = memory.dropFirst(offset - spilled)
        if !rest.isEmpty { try body(rest) }
    }

    /// Copies the bytes from the offset `start` on to a file, within the kernel if possible.
    package func copy(from start: Int, to target: Int32) throws(SystemError) {
        var offset = off_t(start)
        while let file, Int(offset) < spilled {
            let copied = swposix_copy_range(file, &offset, target, spilled - Int(offset))
            if copied > 0 || copied < 0 && errno == EINTR { continue }
            break
        }
        while let file, Int(offset) < spilled {
            let piece = try FileBytes.read(
                file, at: Int(offset), count: min(spilled - Int(offset), 65_536))
            guard !piece.isEmpty else { throw SystemError(number: EIO) }
            try writeAll(piece[...], to: target)
            offset += off_t(piece.count)
        }
        try writeAll(memory.dropFirst(Int(offset) - spilled), to: target)
    }

    /// Passes all bytes in order to `body`, in pieces. The spool is empty afterwards.
    package func drain(_ body: (ArraySlice<UInt8>) async throws(FetchError) -> Void)
        async throws(FetchError)
    {
        defer {
            if let file { close(file) }
            file = nil
            spilled = 0
            memory = []
        }
        var offset = 0
        while let piece = try filePiece(at: &offset) { try await body(piece) }
        if !memory.isEmpty { try await body(memory[...]) }
    }

    /// The next piece of the file, at most 64 KiB; `nil` at its end.
    private func filePiece(at offset: inout Int) throws(FetchError) -> ArraySlice<UInt8>? {
        guard let file, offset < spilled else { return nil }
        let (start, rest) = (offset, spilled - offset)
        let piece = try attempt("cannot read") { () throws(SystemError) in
            let bytes = try FileBytes.read(file, at: start, count: min(rest, 65_536))
            // The file is shorter than recorded: fail instead of passing off a part as the whole.
            if bytes.isEmpty { throw SystemError(number: EIO) }
            return bytes[...]
        }
        offset += piece.count
        return piece
    }

    /// Returns all bytes. The spool is empty afterwards.
    package func takeAll() async throws(FetchError) -> [UInt8] {
        if let whole {
            memory = []
            return whole
        }
        var all: [UInt8] = []
        all.reserveCapacity(count)
        try await drain { all += $0 }
        return all
    }

    /// Returns a part of the bytes: a slice of the spool's own memory, or a copy.
    ///
    /// - Parameter range: Within ``count``.
    /// - Throws: `write` when the temporary file cannot be read, or written to.
    package func read(_ range: Range<Int>) throws(FetchError) -> ArraySlice<UInt8> {
        precondition(range.upperBound <= count)
        if range.lowerBound >= spilled {
            return memory[(range.lowerBound - spilled)..<(range.upperBound - spilled)]
        }
        if range.upperBound > spilled { try spill() }
        guard let file else { return [] }
        return try attempt("cannot read") { () throws(SystemError) in
            let bytes = try FileBytes.read(file, at: range.lowerBound, count: range.count)
            if bytes.count < range.count { throw SystemError(number: EIO) }
            return bytes[...]
        }
    }

    private func spill() throws(FetchError) {
        try write(memory[...])
        memory.removeAll(keepingCapacity: true)
    }

    /// Appends all of `bytes` to the file, or none.
    private func write(_ bytes: ArraySlice<UInt8>) throws(FetchError) {
        if file == nil {
            let place = directory ?? TemporaryFile.directory
            file = try attempt("cannot create", in: place) { () throws(SystemError) in
                try TemporaryFile.open(in: directory)
            }
        }
        guard let file else { return }
        do throws(FetchError) {
            try attempt("cannot write to") { () throws(SystemError) in
                try writeAll(bytes, to: file)
            }
        } catch {
            // Some of them may have been written. If they cannot be cut off, only room is lost,
            // because `spilled` is the valid length.
            _ = ftruncate(file, off_t(spilled))
            // The next write goes to the same offset; lseek cannot fail on a regular file.
            _ = lseek(file, off_t(spilled), SEEK_SET)
            throw error
        }
        spilled += bytes.count
    }

    private func attempt<Value>(
        _ what: String, in directory: String? = nil, _ body: () throws(SystemError) -> Value
    ) throws(FetchError) -> Value {
        do throws(SystemError) {
            return try body()
        } catch {
            if let complaint { throw FetchError(.write, .output, complaint, error) }
            throw FetchError(
                .write, .output, "\(what) a temporary file" + (directory.map { " in " + $0 } ?? ""),
                error, hint: "set TMPDIR to a directory with room")
        }
    }
}

/// Files without a name: they disappear with the process.
package enum TemporaryFile {
    package static var directory: String { environmentVariable("TMPDIR") ?? "/var/tmp" }

    /// - Parameter preferred: Directory for the file, if it can have files without a name.
    /// - Returns: A descriptor for reading and writing, owned by the caller.
    package static func open(in preferred: String? = nil) throws(SystemError) -> Int32 {
        if let preferred {
            let file = swposix_unnamed_file(preferred.systemName)
            if file >= 0 { return file }
        }
        let template = (directory + "/smallweb-XXXXXX").systemName
        var name = template
        let file = try systemCall {
            // An interrupted attempt has filled in the name.
            name = template
            return swposix_temporary_file(&name)
        }
        unlink(name)
        return file
    }
}
