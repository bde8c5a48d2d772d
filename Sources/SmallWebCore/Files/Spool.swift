// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc

/// A buffer for bytes to be kept or dropped later: in memory up to a limit, then in a temporary
/// file without a name, which cannot be left behind.
package final class Spool {
    private let memoryMax: Int
    private var memory: [UInt8] = []
    private var file: Int32?
    /// Number of valid bytes in the file; `memory` follows them.
    private var spilled = 0
    package var count: Int { spilled + memory.count }

    package init(memoryMax: Int) { self.memoryMax = memoryMax }

    deinit { if let file { close(file) } }

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

    /// Passes all bytes in order to `body`, in pieces, and keeps them.
    ///
    /// - Throws: `write` when the temporary file cannot be read; the errors of `body`.
    package func read(
        _ body: (ArraySlice<UInt8>) throws(FetchError) -> Void
    ) throws(FetchError) {
        var offset = 0
        while let piece = try filePiece(at: &offset) { try body(piece) }
        if !memory.isEmpty { try body(memory[...]) }
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
        guard file != nil else {
            defer { memory = [] }
            return memory
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
            file = try attempt("cannot create", in: TemporaryFile.directory, TemporaryFile.open)
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
            throw FetchError(
                .write, .output, "\(what) a temporary file" + (directory.map { " in " + $0 } ?? ""),
                error, hint: "set TMPDIR to a directory with room")
        }
    }
}

/// Files without a name: they disappear with the process.
package enum TemporaryFile {
    package static var directory: String { environmentVariable("TMPDIR") ?? "/var/tmp" }

    /// - Returns: A descriptor for reading and writing, owned by the caller.
    package static func open() throws(SystemError) -> Int32 {
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
