// SPDX-License-Identifier: MIT
internal import Foundation
internal import SmallWebCore
internal import Testing

@Suite struct SpoolTests {
    private func drained(_ spool: Spool) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        try await spool.drain { bytes += $0 }
        return bytes
    }

    @Test(arguments: [0, 1, 10, 64, 1_000, 1_000_000])
    func givesEverythingBackInOrder(_ memoryMax: Int) async throws {
        let spool = Spool(memoryMax: memoryMax)
        var all: [UInt8] = []
        for round in 0..<300 {
            let piece = (0..<(round % 97)).map { UInt8(truncatingIfNeeded: $0 &+ round) }
            try spool.append(piece[...])
            all += piece
        }
        #expect(spool.count == all.count)
        for _ in 0..<2 {
            var lent: [UInt8] = []
            try spool.read { lent += $0 }
            #expect(lent == all && spool.count == all.count, "it keeps what it lends")
        }
        try spool.append([1])
        all.append(1)
        #expect(try await drained(spool) == all)
        #expect(spool.count == 0)
        #expect(try await drained(spool).isEmpty)
        try spool.append(all[...])
        #expect(try await spool.takeAll() == all)
        #expect(spool.count == 0)
        #expect(try await spool.takeAll().isEmpty)
    }

    @Test func givesALargeFileBackInPieces() async throws {
        let spool = Spool(memoryMax: 100)
        let piece = [UInt8](repeating: 7, count: 300_000)
        try spool.append(piece[...])
        try spool.append([8])
        var pieces: [Int] = []
        try await spool.drain { pieces.append($0.count) }
        #expect(pieces.reduce(0, +) == 300_001)
        #expect(pieces.count > 1)
    }

    /// In the file, in memory, and in both.
    @Test func readsAndCopiesFromAnOffset() throws {
        let spool = Spool(memoryMax: 10, in: NSTemporaryDirectory(), complaint: "no room")
        let all = (0..<18).map { UInt8($0) }
        try spool.append(all[..<8])
        #expect(spool.whole == Array(all[..<8]))
        try all[8..<12].withUnsafeBytes { try spool.append($0) }
        try spool.append(all[12...])
        #expect(spool.whole == nil)
        for start in 0...all.count {
            var lent: [UInt8] = []
            try spool.read(from: start) { lent += $0 }
            #expect(lent == Array(all[start...]))
            let target = Descriptor(owning: try TemporaryFile.open())
            try spool.copy(from: start, to: target.borrowed)
            #expect(try FileBytes.read(target.borrowed, at: 0, count: 100) == lent)
        }
    }

    @Test func canBeUsedAgain() async throws {
        let spool = Spool(memoryMax: 2)
        for round: UInt8 in 0..<3 {
            try spool.append([round, round, round])
            try spool.append([9])
            #expect(try await drained(spool) == [round, round, round, 9])
        }
    }

    // In a process of their own: the environment is everybody's.

    @Test func leavesNoFileBehind() async {
        await #expect(processExitsWith: .success) {
            let folder = FileManager.default.temporaryDirectory
                .appending(path: "smallweb-spool-\(getpid())").path
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            setenv("TMPDIR", folder, 1)
            let spool = Spool(memoryMax: 4)
            try spool.append(Array("more than four".utf8)[...])
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
            let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
                .compactMap {
                    try? FileManager.default.destinationOfSymbolicLink(
                        atPath: "/proc/self/fd/\($0)")
                }
            #expect(open.contains { $0.hasPrefix(folder) && $0.hasSuffix("(deleted)") })
        }
    }

    @Test func saysThatItCannotWrite() async {
        await #expect(processExitsWith: .success) {
            setenv("TMPDIR", "/nonexistent/smallweb", 1)
            let spool = Spool(memoryMax: 4)
            try spool.append([1, 2, 3, 4])
            do throws(FetchError) {
                try spool.append([5])
                Issue.record("no error")
            } catch {
                #expect(error.outcome == .write)
                #expect(error.phase == .output)
                #expect(error.errnoName == "ENOENT")
                #expect(error.hint?.contains("TMPDIR") == true)
            }
        }
    }

    /// As on a full disk, in the middle of a write: bytes added before are still there, once.
    @Test func keepsWhatItHasWhenThereIsNoMoreRoom() async {
        await #expect(processExitsWith: .success) {
            signal(SIGXFSZ, SIG_IGN)
            let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
            var usual = rlimit()
            getrlimit(resource, &usual)
            var limit = rlimit(rlim_cur: 12_000, rlim_max: usual.rlim_max)
            setrlimit(resource, &limit)
            let spool = Spool(memoryMax: 4_000)
            let bytes = (0..<20_000).map { UInt8(truncatingIfNeeded: $0 / 100) }
            var kept = 0
            do throws(FetchError) {
                while kept < bytes.count {
                    try spool.append(bytes[kept..<(kept + 1_000)])
                    kept += 1_000
                }
                Issue.record("no error")
            } catch {
                #expect(error.outcome == .write && error.errnoName == "EFBIG")
            }
            #expect(spool.count == kept)
            var lent: [UInt8] = []
            try spool.read { lent += $0 }
            #expect(lent == Array(bytes[..<kept]))
            setrlimit(resource, &usual)
            try spool.append(bytes[kept..<(kept + 1_000)])
            kept += 1_000
            #expect(try spool.read(7_000..<kept) == bytes[7_000..<kept])
            #expect(try await spool.takeAll() == Array(bytes[..<kept]))
        }
    }

    #if compiler(>=6.3)  // captures of exit tests
    /// Its file in another process's hands, as it were: nothing of the spool is passed off as all.
    @Test(arguments: [true, false])
    func saysThatItCannotReadEverything(_ isCut: Bool) async {
        await #expect(processExitsWith: .success) { [isCut] in
            let spool = Spool(memoryMax: 4)
            try spool.append(Array("more than four".utf8)[...])
            let file = try #require(
                (3..<100).first { number in
                    let link = try? FileManager.default.destinationOfSymbolicLink(
                        atPath: "/proc/self/fd/\(number)")
                    return link?.contains("smallweb-") == true
                        && link?.hasSuffix("(deleted)") == true
                })
            if isCut {
                #expect(ftruncate(Int32(file), 5) == 0)
            } else {
                // A pipe, which cannot seek.
                var ends: [Int32] = [0, 0]
                #expect(pipe(&ends) == 0 && dup2(ends[0], Int32(file)) >= 0)
                close(ends[0])
                close(ends[1])
            }
            do throws(FetchError) {
                try await spool.drain { _ in }
                Issue.record("no error")
            } catch {
                #expect(error.outcome == .write && error.errnoName == (isCut ? "EIO" : "ESPIPE"))
            }
        }
    }
    #endif
}
