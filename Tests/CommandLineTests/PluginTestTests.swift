// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

/// `plugin test` of built-in plugins, and as records; plugins that come as archives.
@Suite(.timeLimit(.minutes(30)))
struct PluginTestTests {
    private var smallweb = Smallweb()

    /// With the tree's fixtures where an installation has them.
    init() throws {
        let share = smallweb.home.file("share/smallweb")
        try FileManager.default.createDirectory(
            atPath: share, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: share + "/fixtures",
            withDestinationPath: PluginKitTests.root + "/Tests/PluginTests/Fixtures")
        smallweb.environment["XDG_DATA_DIRS"] = smallweb.home.file("share")
    }

    private func plugin(_ words: String...) throws -> Smallweb.Result {
        try smallweb.run(["plugin"] + words)
    }

    private func shell(_ script: String) throws {
        let result = try smallweb.run([], shell: script)
        #expect(result.status == 0, "\(result.errors)")
    }

    @Test(arguments: ["finger", "gemini", "git", "gopher", "nex", "spartan"])
    func whatIsBuiltInPasses(_ name: String) throws {
        let result = try plugin("test", name)
        let failures = result.text.split(separator: "\n").filter { !$0.hasPrefix("ok ") }
        #expect(result.status == 0, "\(failures.joined(separator: "\n"))\(result.errors)")
        #expect(result.text.hasPrefix("ok      "))
    }

    @Test func findsWhatABuiltInPluginDoesNot() throws {
        let share = smallweb.home.file("other/smallweb/fixtures/nex")
        try FileManager.default.createDirectory(
            atPath: share, withIntermediateDirectories: true)
        try Data(
            """
            url    nex://h.test/a
            dial   h.test:1901
            >      /b\\n
            <      Hello
            =      {"event":"head","class":"success"}
            =      {"event":"body","text":"Hello"}
            =      {"event":"end","completeness":"complete"}
            """.utf8
        ).write(to: URL(fileURLWithPath: share + "/wrong.wire"))
        var other = smallweb
        other.environment["XDG_DATA_DIRS"] = smallweb.home.file("other")
        let result = try other.run(["plugin", "test", "nex"])
        #expect(result.status == 110)
        for words in [
            "wrong.wire, whole", "connection, seen:     h.test:1900", "sent, expected: /b",
            "event 3, seen:",
        ] { #expect(result.text.contains(words), "\(result.text)") }
    }

    @Test func saysWhereItHasLookedForFixtures() throws {
        let none = try plugin("test", "http")
        #expect(none.status == 110)
        #expect(none.errors.contains("comes without fixtures"), "\(none.errors)")
        var other = smallweb
        other.environment["XDG_DATA_DIRS"] = "/nowhere/a:/nowhere/b"
        let result = try other.run(["plugin", "test", "gopher"])
        #expect(result.status == 110)
        for place in ["/share/smallweb/fixtures nor", "/nowhere/a/smallweb/fixtures nor"] {
            #expect(result.errors.contains(place), "\(result.errors)")
        }
        #expect(result.errors.contains("make install PREFIX=DIR"))
    }

    @Test func writesARecordForEachFixture() throws {
        _ = try plugin("new", "hello")
        try shell("sed -i '/event\\\":\\\"body/s/Hello/Bye/' hello/fixtures/page.wire")
        let result = try plugin("test", "--json", "./hello")
        #expect(result.status == 110)
        let records = try Records(result.output)["plugin-test"]
        let names = ["bad-url.wire", "page.wire", "root.wire"]
        #expect(records.map { $0["fixture"]?.string } == names)
        #expect(records.map { $0["plugin"]?.string } == ["hello", "hello", "hello"])
        #expect(records.map { $0["ok"]?.bool } == [true, false, true])
        #expect(records[1]["play"]?.string == "whole" && records[2]["play"] == .null)
        let report = records[1]["report"]?.array.map { $0.string ?? "" } ?? []
        #expect(report.count == 2, "\(report)")
        #expect(report.first?.hasPrefix("page.wire:7: event 2, expected: ") == true, "\(report)")
        #expect(records[2]["report"]?.array == [])
    }

    // MARK: Archives

    private static let place = ".local/share/smallweb/plugins/hello"

    @Test(arguments: [
        "tar -cf hello.tar hello", "tar -C hello -cf hello.tar .", "tar -cf hello.tar ./hello",
        "tar --format=pax -cf hello.tar hello", "tar --format=v7 -cf hello.tar hello",
        "python3 -m tarfile -c hello.tar hello",
    ])
    func addsAnArchive(_ command: String) throws {
        _ = try plugin("new", "hello")
        try shell("chmod 4777 hello/hello; \(command); mv hello.tar 'the archive'; rm -r hello")
        let result = try plugin("add", "the archive")
        #expect(result.status == 0, "\(result.text)\(result.errors)")
        #expect(result.text.contains(" place         the archive\n"), "\(result.text)")
        try shell("test \"$(stat -c %a \(Self.place)/hello)\" = 755")
        try shell("test \"$(stat -c %a \(Self.place)/plugin.json)\" = 644")
        #expect(try plugin("test", "hello").status == 0)
        try shell("test -z \"$(ls -A \(Self.place)/.. | grep -v '^hello$')\"")
    }

    @Test(arguments: ["gzip", "bzip2", "xz", "zstd"])
    func addsACompressedArchive(_ program: String) throws {
        guard try smallweb.run([], shell: "command -v \(program)").status == 0 else { return }
        _ = try plugin("new", "hello")
        try shell("tar -cf - hello | \(program) >hello.tar.z; rm -r hello")
        #expect(try plugin("add", "hello.tar.z").status == 0)
        #expect(try plugin("test", "hello").status == 0)
    }

    @Test func saysThatTarIsMissing() throws {
        _ = try plugin("new", "hello")
        try shell("tar -cf hello.tar hello")
        var other = smallweb
        other.environment["PATH"] = "/nowhere"
        let result = try other.run(["plugin", "add", "hello.tar"])
        #expect(result.status == 110)
        #expect(
            result.errors.contains("hello.tar: tar is missing: install GNU tar"),
            "\(result.errors)")
    }

    @Test(arguments: [
        ("ln -s /etc/passwd hello/link; tar -cf hello.tar hello", "link -> /etc/passwd is neither"),
        ("tar --transform='s,^hello/hello,../x,' -Pcf hello.tar hello", "../x leads out of it"),
        ("mkfifo hello/fifo; tar -cf hello.tar hello", "hello/fifo is neither"),
        ("tar -cf hello.tar hello; tar -rf hello.tar hello/hello", "it has hello/hello twice"),
        ("tar -cf hello.tar hello/fixtures", "hello.tar: it has no plugin.json"),
        ("tar -cf - hello | head -c 700 >hello.tar", "hello.tar: it is cut off"),
        ("cp hello/hello hello.tar", "hello.tar: tar: This does not look"),
        ("(echo hello; head -c 5000 /dev/zero) >hello.tar", "hello.tar: tar: This does not look"),
        ("echo '{' >hello/plugin.json; tar -cf hello.tar hello", "the plugin ./hello.tar: plugin"),
        ("echo exit 1 >hello/hello; tar -cf hello.tar hello", "cannot run ./hello: exec format"),
        ("seq -f 'hello/%.0f' 2000 | xargs touch; tar -cf hello.tar hello", "more than 1000 files"),
        ("truncate -s 70M hello.tar", "hello.tar: file too large"),
        ("ln hello/hello hello/again; tar -cf hello.tar hello", "is neither a file nor"),
        ("truncate -s 70M hello/big; tar -czf hello.tar hello", "it has more than 64 MiB"),
        ("truncate -s 1T hello/big; tar -Scf hello.tar hello", "it has more than 64 MiB"),
        ("tar -czf - hello | head -c 400 >hello.tar", "hello.tar: gzip: stdin: unexpected end"),
    ])
    func addsNoOtherArchive(_ command: String, _ why: String) throws {
        _ = try plugin("new", "hello")
        try shell(command)
        let result = try plugin("add", "./hello.tar")
        #expect(result.status != 0)
        #expect(result.errors.contains(why), "\(result.text)\(result.errors)")
        #expect(smallweb.home.files(below: ".local/share/smallweb/plugins").isEmpty)
    }
}
