// SPDX-License-Identifier: MIT
import Foundation
import SmallWebCore
import Testing

/// A file that changes while it is read ends at the size that it had.
@Suite struct LocalFileTests {
    private let path = NSTemporaryDirectory() + "smallweb-file-" + UUID().uuidString

    private func file(_ count: Int) throws {
        try Data(repeating: 0x61, count: count).write(to: URL(fileURLWithPath: path))
    }

    @Test(arguments: [1, 65_536, 200_000])
    func whatIsAddedMeanwhileIsLeftOut(_ count: Int) async throws {
        try self.file(count)
        defer { try? FileManager.default.removeItem(atPath: path) }
        var file = try LocalFile(opening: path)
        #expect(file.byteCount == count && !file.isDirectory)
        var read = 0
        let more = try #require(FileHandle(forWritingAtPath: path))
        while true {
            try more.seekToEnd()
            try more.write(contentsOf: Data(repeating: 0x62, count: 100_000))
            let piece = try await file.next()
            if piece.isEmpty { break }
            #expect(piece.allSatisfy { $0 == 0x61 })
            read += piece.count
        }
        let isCut = file.isCut
        #expect(read == count && !isCut)
    }

    @Test func whatIsTakenAwayMeanwhileIsMissed() async throws {
        try self.file(200_000)
        defer { try? FileManager.default.removeItem(atPath: path) }
        var file = try LocalFile(opening: path)
        var read = try await file.next().count
        #expect(truncate(path, off_t(read + 10)) == 0)
        while true {
            let piece = try await file.next()
            if piece.isEmpty { break }
            read += piece.count
        }
        let isCut = file.isCut
        #expect(read < 200_000 && isCut)
    }

    /// The kernel says that its files have no bytes.
    @Test func filesOfTheKernelHaveNoSize() async throws {
        var file = try LocalFile(opening: "/proc/self/status")
        #expect(file.byteCount == nil)
        let piece = try await file.next()
        #expect(piece.starts(with: "Name:".utf8))
        while true {
            let next = try await file.next()
            if next.isEmpty { break }
        }
        let isCut = file.isCut
        #expect(!isCut)
    }
}
