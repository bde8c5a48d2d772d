// SPDX-License-Identifier: MIT
import Glibc
import SmallWebCore
import Testing

@testable import SmallWeb

/// The one way in which the user's files are read and changed.
@Suite struct StoreFileTests {
    private final class Directory {
        let path: String

        init() throws {
            var template = Array("/tmp/smallweb-test-XXXXXX".utf8CString)
            guard mkdtemp(&template) != nil else { throw SystemError(number: errno) }
            path = String(decoding: template.dropLast().map(UInt8.init), as: UTF8.self)
        }

        deinit {
            for name in names { unlink("\(path)/\(name)") }
            rmdir(path + "/sub")
            rmdir(path)
        }

        var names: [String] {
            guard let handle = opendir(path) else { return [] }
            defer { closedir(handle) }
            var names: [String] = []
            while let entry = readdir(handle) {
                let name = withUnsafeBytes(of: entry.pointee.d_name) {
                    String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
                }
                if name != "." && name != ".." { names.append(name) }
            }
            return names.sorted()
        }
    }

    private let directory: Directory
    private let store: StoreFile

    init() throws {
        directory = try Directory()
        store = StoreFile(directory.path + "/store", title: "test store")
    }

    private func set(_ bytes: [UInt8]) throws(FetchError) {
        try store.change { old throws(FetchError) in old = bytes }
    }

    private func facts(_ path: String) -> stat {
        var facts = stat()
        _ = lstat(path, &facts)
        return facts
    }

    @Test func aFileThatIsMissingIsEmptyAndIsMadeForTheUserAlone() throws {
        #expect(try store.read() == [])
        try set([1, 0, 255])
        #expect(try store.read() == [1, 0, 255])
        #expect(facts(store.path).st_mode & 0o777 == 0o600)
        #expect(directory.names == ["store"])
    }

    @Test func modesAreKept() throws {
        try set([1])
        chmod(store.path, 0o644)
        try set([2])
        #expect(facts(store.path).st_mode & 0o777 == 0o644)
    }

    @Test(.enabled(if: geteuid() == 0, "only root may give a file away"))
    func rootLeavesAUsersFileTheUsers() throws {
        try set([1])
        #expect(chown(store.path, 12_345, 12_346) == 0)
        try set([2])
        #expect(facts(store.path).st_uid == 12_345 && facts(store.path).st_gid == 12_346)
        #expect(facts(store.path).st_mode & 0o777 == 0o600)
    }

    @Test func nothingIsWrittenWhenNothingChanges() throws {
        try set([1])
        let before = facts(store.path).st_ino
        try set([1])
        #expect(facts(store.path).st_ino == before)
    }

    @Test func aChangeThatThrowsWritesNothing() throws {
        try set([1])
        #expect(throws: FetchError.self) {
            try store.change { bytes throws(FetchError) in
                bytes = [2]
                throw FetchError(.usage, .input, "no")
            }
        }
        #expect(try store.read() == [1])
    }

    @Test func aDeviceReadsAsEmptyAndKeepsNothing() throws {
        // A node of our own, never /dev/null: a failing test would replace it.
        let isMade = mknod(store.path, S_IFCHR | 0o666, makedev(1, 3)) == 0
        guard isMade else { return }
        for path in [store.path, directory.path + "/link"] {
            if path != store.path { symlink("store", path) }
            let store = StoreFile(path, title: "test store")
            #expect(try store.read() == [])
            try store.change { bytes throws(FetchError) in bytes = [1] }
            _ = try store.append(lines: [1, 10])
            #expect(facts(self.store.path).st_mode & S_IFMT == S_IFCHR)
            #expect(try store.read() == [])
        }
        #expect(facts(directory.path + "/link").st_mode & S_IFMT == S_IFLNK)
    }

    private func makedev(_ major: UInt, _ minor: UInt) -> dev_t { dev_t(major << 8 | minor) }

    @Test func aDirectoryAPipeAndASocketAreRefusedByName() throws {
        let place = directory.path
        _ = mkdir(place + "/sub", 0o700)
        mkfifo(place + "/pipe", 0o600)
        for (name, word) in [("sub", "directory"), ("pipe", "pipe")] {
            let store = StoreFile(place + "/" + name, title: "test store")
            let error = #expect(throws: FetchError.self) { try store.read() }
            #expect(
                error?.message
                    == "cannot read the test store \(store.path): it is a \(word), not a file")
            let other = #expect(throws: FetchError.self) {
                try store.change { bytes throws(FetchError) in bytes = [1] }
            }
            #expect(other?.outcome == .write)
        }
        #expect(directory.names == ["pipe", "sub"])
    }

    @Test func aLinkStaysALink() throws {
        let link = StoreFile(directory.path + "/link", title: "test store")
        #expect(symlink("store", link.path) == 0)
        // First while its target does not exist.
        for byte in UInt8(1)...2 {
            try link.change { bytes throws(FetchError) in bytes = [byte] }
            #expect(facts(link.path).st_mode & S_IFMT == S_IFLNK)
            #expect(try store.read() == [byte])
        }
    }

    @Test func linesAreAddedAfterALineThatWasCutOff() throws {
        try set(Array("one".utf8))
        #expect(try store.append(lines: Array("two\n".utf8)) == 8)
        #expect(try store.read() == Array("one\ntwo\n".utf8))
    }

    @Test func aMissingDirectoryIsMadeAndAFileInItsPlaceIsAnError() throws {
        let deep = StoreFile(directory.path + "/sub/store", title: "test store")
        try deep.change { bytes throws(FetchError) in bytes = [1] }
        #expect(facts(directory.path + "/sub").st_mode & 0o777 == 0o700)
        unlink(deep.path)
        try set([1])
        let wrong = StoreFile(store.path + "/store", title: "test store")
        let error = #expect(throws: FetchError.self) { try wrong.read() }
        #expect(error?.errnoName == "ENOTDIR")
    }
}
