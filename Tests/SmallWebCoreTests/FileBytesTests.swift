// SPDX-License-Identifier: MIT
internal import Foundation
internal import SmallWebCore
internal import Testing

@Suite final class FileBytesTests {
    private let folder: URL
    private let path: String
    private let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 100) }

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.appending(path: "file").path
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    @Test func readsNoMoreThanTheLimit() throws {
        for limit in [bytes.count, .max] {
            #expect(try FileBytes.read(path, limit: limit) == bytes)
        }
        for limit in [bytes.count - 1, 1, 0] {
            #expect(throws: SystemError(number: EFBIG)) {
                try FileBytes.read(path, limit: limit)
            }
        }
        // Neither has a size to reserve room for.
        #expect(try FileBytes.read("/dev/null", limit: 0).isEmpty)
        #expect(try !FileBytes.read("/proc/self/stat", limit: 65_536).isEmpty)
        #expect(throws: SystemError(number: EFBIG)) {
            try FileBytes.read("/dev/zero", limit: 100_000)
        }
        #expect(throws: SystemError(number: ENOENT)) { try FileBytes.read(path + "2", limit: 1) }
        #expect(throws: SystemError(number: EISDIR)) {
            try FileBytes.read(folder.path, limit: 1)
        }
    }

    @Test func waitsForNoWriterOfAFIFO() throws {
        let fifo = folder.appending(path: "fifo").path
        #expect(mkfifo(fifo, 0o600) == 0)
        #expect(try FileBytes.read(fifo, limit: 1).isEmpty)
        #expect(try FileBytes.end(of: fifo, limit: 1).isEmpty)
    }

    /// As a signal to stop and the end of --max-time do.
    @Test func aCallThatFailsEndsTheReading() throws {
        let file = try Descriptor(opening: path, O_RDONLY)
        var calls = 0
        let failure = SystemError(number: ETIMEDOUT)
        #expect(throws: failure) {
            try FileBytes.read(file.borrowed, limit: .max) { call throws(SystemError) in
                calls += 1
                if calls == 3 { throw failure }
                return try systemCall(call)
            }
        }
        // It goes on from where the descriptor is.
        #expect(try FileBytes.read(file.borrowed, limit: .max) == Array(bytes[131_072...]))
    }

    @Test func readsARangeThatMayEndBehindTheFile() throws {
        let file = try Descriptor(opening: path, O_RDONLY)
        for range in [0..<0, 0..<1, 100_000..<200_000, 199_999..<300_000, 200_000..<200_001] {
            let read = try FileBytes.read(
                file.borrowed, at: range.lowerBound, count: range.count)
            #expect(read == Array(bytes[range.clamped(to: 0..<bytes.count)]), "\(range)")
        }
        #expect(lseek(file.borrowed, 0, SEEK_CUR) == 0)
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        defer { ends.forEach { close($0) } }
        #expect(throws: SystemError(number: ESPIPE)) {
            try FileBytes.read(ends[0], at: 0, count: 1)
        }
    }

    @Test func readsTheEnd() throws {
        for limit in [0, 1, 199_999, 200_000, 1_000_000] {
            let end = try FileBytes.end(of: path, limit: limit)
            #expect(end == Array(bytes.suffix(limit)), "\(limit)")
        }
        #expect(try FileBytes.end(of: "/dev/zero", limit: 10).isEmpty)
    }
}
