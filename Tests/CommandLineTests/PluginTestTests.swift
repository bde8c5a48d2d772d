// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

/// `plugin test` of what is built in, and as records.
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
        _ = try plugin("new", "hello/")
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
}
