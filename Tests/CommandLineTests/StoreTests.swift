// SPDX-License-Identifier: MIT
import Foundation
import Glibc
import SmallWebTestSupport
import Testing

/// Effects of commands on the user's files, seen from outside.
@Suite(.timeLimit(.minutes(30)))
struct StoreTests {
    private let smallweb = Smallweb()
    private let bookmarks = ".config/smallweb/bookmarks"

    private func write(_ bytes: [UInt8], to name: String) throws {
        let path = smallweb.home.file(name)
        try FileManager.default.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent,
            withIntermediateDirectories: true)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    @Test func bookmarksThatAreNotChangedStayByteForByte() throws {
        let kept =
            Array("# mine\n\ngemini://a.test/\tcaf".utf8) + [0xE9, 0x0A]
            + Array("gemini://b.test/\tone\u{0B}two\u{2028}three\n\n".utf8)
        try write(kept + Array("gemini://c.test/\tC\n".utf8), to: bookmarks)
        chmod(smallweb.home.file(bookmarks), 0o644)
        #expect(try smallweb.run(["bookmarks", "add", "gemini://d.test/", "D"]).status == 0)
        #expect(try smallweb.run(["bookmarks", "remove", "gemini://c.test/"]).status == 0)
        #expect(
            smallweb.home.content(bookmarks) == kept + Array("gemini://d.test/\tD\n".utf8))
        var facts = stat()
        _ = stat(smallweb.home.file(bookmarks), &facts)
        #expect(facts.st_mode & 0o777 == 0o644)
    }

    @Test func sixtyThousandBookmarksStay() throws {
        let lines = (0..<60_000).map {
            "gemini://host\($0).test/\(String(repeating: "x", count: 60))\tpage \($0)\n"
        }
        let text = Array(lines.joined().utf8)
        try #require(text.count > 5_000_000)
        try write(text, to: bookmarks)
        #expect(try smallweb.run(["bookmarks", "add", "gemini://new.test/", "New"]).status == 0)
        #expect(
            smallweb.home.content(bookmarks) == text + Array("gemini://new.test/\tNew\n".utf8))
    }

    @Test(arguments: [bookmarksArguments, identityArguments])
    func whatCannotBeReadIsNeverRewritten(_ arguments: [String]) throws {
        let name = arguments[0] == "bookmarks" ? bookmarks : identities + "/bindings"
        _ = try smallweb.run(["identity", "new", "alice"])
        try FileManager.default.createDirectory(
            atPath: smallweb.home.file(name), withIntermediateDirectories: true)
        let result = try smallweb.run(arguments)
        #expect(result.status == 23)
        #expect(result.errors.contains("is a directory"))
    }

    private static let bookmarksArguments = ["bookmarks", "add", "gemini://new.test/"]
    private static let identityArguments = ["identity", "use", "alice", "gemini://new.test/"]
    private let identities = ".local/share/smallweb/identities"

    @Test func bindingsThatAreNotChangedStayByteForByte() throws {
        let kept = Array("# mine\n\n".utf8) + [0xFF, 0x0A] + Array("odd line\r\n".utf8)
        _ = try smallweb.run(["identity", "new", "alice"])
        try write(kept, to: identities + "/bindings")
        #expect(try smallweb.run(["identity", "use", "alice", "gemini://a.test/"]).status == 0)
        #expect(
            smallweb.home.content(identities + "/bindings")
                == kept + Array("alice gemini://a.test:1965/\n".utf8))
    }

    @Test func aTrustStoreThatIsADeviceStaysOne() throws {
        let capsule = try Capsule()
        let device = smallweb.home.file("null")
        guard mknod(device, S_IFCHR | 0o666, dev_t(1 << 8 | 3)) == 0 else { return }
        let commands = [
            ["get", "--known-hosts", device, capsule.place + "/about"],
            ["trust", "add", "--known-hosts", device, "127.0.0.1:\(capsule.server.port)"],
        ]
        for command in commands {
            let result = try smallweb.run(command)
            #expect(result.status == 0, "\(result.errors)")
            var facts = stat()
            _ = lstat(device, &facts)
            #expect(facts.st_mode & S_IFMT == S_IFCHR)
        }
    }

    @Test func clearingTheHistoryLeavesALinkInPlace() throws {
        let path = ".local/state/smallweb/history"
        try write(Array("1\tgemini://a.test/\n".utf8), to: "kept")
        try write([], to: path)
        unlink(smallweb.home.file(path))
        #expect(symlink(smallweb.home.file("kept"), smallweb.home.file(path)) == 0)
        #expect(try smallweb.run(["history", "clear"]).status == 0)
        #expect(smallweb.home.content("kept") == [])
        #expect(try smallweb.run(["history"]).text == "")
    }
}
