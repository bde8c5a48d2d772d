// SPDX-License-Identifier: MIT
internal import Foundation
internal import SmallWebCore
internal import Testing

@Suite final class AtomicFileTests {
    private let folder: URL
    private let path: String
    private let part: String

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.appending(path: "file").path
        part = folder.appending(path: "file.part").path
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
    }

    private func facts(_ path: String) -> stat {
        var facts = stat()
        #expect(lstat(path, &facts) == 0)
        return facts
    }

    private func put(_ text: String, _ path: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    }

    @Test(arguments: [true, false])
    func replacesAFileOrMakesOneForItsOwnerAlone(_ isSynced: Bool) throws {
        for text in ["one", "", "three"] {
            let bytes = Array(text.utf8)
            let file = try AtomicFile.replace(path, by: bytes, part: part, isSynced: isSynced)
            var open = stat()
            #expect(fstat(file.borrowed, &open) == 0 && open.st_ino == facts(path).st_ino)
            #expect(facts(path).st_mode & 0o7777 == 0o600)
            #expect(try FileBytes.read(path, limit: 5) == bytes)
            #expect(try names == ["file"])
        }
    }

    @Test func takesThePlaceOfAPartThatWasLeftBehindAndOfALink() throws {
        try put("victim", folder.appending(path: "victim").path)
        for name in [path, part] { symlink("victim", name) }
        try AtomicFile.replace(path, by: [1], part: part)
        #expect(facts(path).st_mode & S_IFMT == S_IFREG)
        #expect(try FileBytes.read(folder.path + "/victim", limit: 9) == Array("victim".utf8))
        #expect(try names == ["file", "victim"])
    }

    /// At each step: while it is prepared, and when it gets its name.
    @Test func leavesTheOldFileAloneWhenItFails() throws {
        try put("old", path)
        let failure = SystemError(number: EPERM)
        #expect(throws: failure) {
            try AtomicFile.replace(path, by: [1], part: part) { _ throws(SystemError) in
                throw failure
            }
        }
        #expect(try FileBytes.read(path, limit: 9) == Array("old".utf8))
        #expect(try names == ["file"])
        try FileManager.default.createDirectory(
            atPath: folder.path + "/sub", withIntermediateDirectories: false)
        #expect(throws: SystemError(number: EISDIR)) {
            try AtomicFile.replace(folder.path + "/sub", by: [1], part: part)
        }
        #expect(throws: SystemError(number: ENOENT)) {
            try AtomicFile.replace(path, by: [1], part: folder.path + "/missing/part")
        }
        #expect(try names == ["file", "sub"])
    }

    #if compiler(>=6.3)  // captures of exit tests
    /// As on a full disk, in the middle of a write.
    @Test func leavesTheOldFileAloneWhenThereIsNoRoom() async throws {
        try put("old", path)
        await #expect(processExitsWith: .success) {
            [path = path as String, part = part as String] in
            signal(SIGXFSZ, SIG_IGN)
            let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
            var limit = rlimit()
            getrlimit(resource, &limit)
            limit.rlim_cur = 1_000
            setrlimit(resource, &limit)
            let bytes = [UInt8](repeating: 1, count: 2_000)
            #expect(throws: SystemError(number: EFBIG)) {
                try AtomicFile.replace(path, by: bytes, part: part)
            }
            #expect(throws: SystemError(number: EFBIG)) {
                try AtomicFile.add(path + "2", bytes, part: part)
            }
            #expect(throws: SystemError(number: EFBIG)) {
                // The descriptor is closed at once.
                _ = try AtomicFile.create(path + "3", bytes)
            }
        }
        #expect(try FileBytes.read(path, limit: 9) == Array("old".utf8))
        #expect(try names == ["file"])
    }
    #endif

    @Test func preparesTheFileBeforeItHasBytes() throws {
        try AtomicFile.replace(path, by: [1, 2], part: part) { file throws(SystemError) in
            var facts = stat()
            _ = try systemCall { fstat(file.borrowed, &facts) }
            #expect(facts.st_size == 0 && facts.st_ino == self.facts(part).st_ino)
            _ = try systemCall { fchmod(file.borrowed, 0o644) }
        }
        #expect(facts(path).st_mode & 0o7777 == 0o644)
    }

    @Test func addsNothingOverAFileOrLink() throws {
        try AtomicFile.add(path, [1], part: part)
        #expect(facts(path).st_mode & 0o7777 == 0o600 && facts(path).st_nlink == 1)
        symlink("nowhere", path + "2")
        for name in [path, path + "2"] {
            #expect(throws: SystemError(number: EEXIST)) {
                try AtomicFile.add(name, [2], part: part)
            }
            #expect(throws: SystemError(number: EEXIST)) { try AtomicFile.create(name, [2]) }
        }
        #expect(try FileBytes.read(path, limit: 1) == [1])
        #expect(try names == ["file", "file2"])
    }

    @Test func aLockIsThatOfOneDescriptor() throws {
        try put("", path)
        var first = try Descriptor(opening: path, O_RDONLY)
        #expect(try first.lock() && first.lock(waits: true))
        var second = try Descriptor(opening: path, O_RDONLY)
        #expect(try !second.lock())
        // As a program has it that another thread is just starting.
        let inherited = Descriptor(owning: dup(first.borrowed))
        try first.close()
        #expect(try second.lock() && inherited.borrowed >= 0)
    }
}
