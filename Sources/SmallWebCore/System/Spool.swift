// SPDX-License-Identifier: MIT
internal import Glibc

/// Bytes held back until their fate is known: in memory up to a limit, then in a temporary file
/// that has no name and so cannot be left behind.
package final class Spool {
    private let memoryMax: Int
    private var memory: [UInt8] = []
    private var file: Int32?
    package private(set) var count = 0

    package init(memoryMax: Int) { self.memoryMax = memoryMax }

    deinit { if let file { close(file) } }

    /// - Throws: `write` when the temporary directory is full or missing.
    package func append(_ bytes: ArraySlice<UInt8>) throws(FetchError) {
        count += bytes.count
        if memory.count + bytes.count <= memoryMax {
            memory += bytes
        } else {
            try spill()
            memory += bytes
            try spill()
        }
    }

    /// Gives everything back in order, in pieces, once. The spool is empty afterwards.
    package func drain(_ body: (ArraySlice<UInt8>) async throws(FetchError) -> Void)
        async throws(FetchError)
    {
        defer {
            memory = []
            count = 0
        }
        if let file {
            defer {
                close(file)
                self.file = nil
            }
            var left = count - memory.count
            try Self.rewind(file)
            while true {
                let piece = try Self.read(file)
                if piece.isEmpty { break }
                left -= piece.count
                try await body(piece)
            }
            // Whoever gets it would take it for the whole.
            guard left == 0 else { throw Self.failure("cannot read", SystemError(number: EIO)) }
        }
        if !memory.isEmpty { try await body(memory[...]) }
    }

    /// Gives everything back at once. The spool is empty afterwards.
    package func takeAll() async throws(FetchError) -> [UInt8] {
        guard file != nil else {
            defer {
                memory = []
                count = 0
            }
            return memory
        }
        var all: [UInt8] = []
        all.reserveCapacity(count)
        try await drain { all += $0 }
        return all
    }

    private func spill() throws(FetchError) {
        if self.file == nil { self.file = try Self.openTemporary() }
        guard let file else { return }
        do throws(SystemError) {
            try writeAll(memory[...], to: file)
        } catch {
            throw Self.failure("cannot write to", error)
        }
        memory.removeAll(keepingCapacity: true)
    }

    private static func rewind(_ file: Int32) throws(FetchError) {
        do throws(SystemError) {
            _ = try systemCall { lseek(file, 0, SEEK_SET) }
        } catch {
            throw failure("cannot read", error)
        }
    }

    private static func read(_ file: Int32) throws(FetchError) -> ArraySlice<UInt8> {
        var piece = [UInt8](repeating: 0, count: 65_536)
        do throws(SystemError) {
            let count = try systemCall { Glibc.read(file, &piece, piece.count) }
            return piece[..<count]
        } catch {
            throw failure("cannot read", error)
        }
    }

    private static func openTemporary() throws(FetchError) -> Int32 {
        let directory = TemporaryFile.directory
        do throws(SystemError) {
            return try TemporaryFile.open()
        } catch {
            throw failure("cannot create", error, " in \(directory)")
        }
    }

    private static func failure(
        _ what: String, _ error: SystemError, _ place: String = ""
    ) -> FetchError {
        FetchError(
            .write, .output, "\(what) a temporary file\(place)", error,
            hint: "set TMPDIR to a directory with room")
    }
}
