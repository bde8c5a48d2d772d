// SPDX-License-Identifier: MIT
import SmallWeb
import SmallWebRecords
import Testing

@testable import SmallWebCLI

/// Options that a scheme does not have.
@Suite struct MisfitTests {
    private static let pin = "sha256:" + String(repeating: "0", count: 64)
    private static let values = [
        ("continue", "true"), ("continue-at", "3"), ("identity", "alice"), ("cert", "me.pem"),
        ("data", "x"), ("trust", "locked"), ("pin", pin),
    ]

    private static func request() throws -> Request {
        let scheme = try #require(Registry.builtIn["finger"]?.scheme)
        return Request(uri: try URI(parsing: "finger://h.test/"), scheme: scheme)
    }

    private static func settings(
        _ values: [(String, String)], _ origin: (String) -> Setting.Origin
    ) throws -> Settings {
        var settings = Settings()
        for (name, value) in values {
            let option = try #require(Option.named(name[...]))
            try settings.apply(Setting(option: option, value: value, origin: origin(name)))
        }
        return settings
    }

    @Test(arguments: values)
    func ofAConfigFileItIsLeftOutWithANote(_ name: String, _ value: String) throws {
        let request = try Self.request()
        var left = try Self.settings([(name, value)]) { .file("\($0):1") }
        let notes = left.leaveOut(left.misfits(for: request, .builtIn), for: request)
        #expect(notes.map(\.code) == ["setting-ignored"], "\(notes)")
        #expect(notes[0].message.hasPrefix("\(name):1: \(name) is ignored for finger, which "))
        #expect(left.fetch.resume == .fromStart && left.fetch.input == nil)
        #expect(left.connection.identityName == nil && left.connection.certificateFile == nil)
        #expect(left.origins.isEmpty)
    }

    @Test(arguments: values.filter { $0.0 != "data" })
    func givenItIsRefused(_ name: String, _ value: String) throws {
        var given = try Self.settings([(name, value)]) { _ in .commandLine }
        let misfits = given.misfits(for: try Self.request(), .builtIn)
        #expect(misfits.map(\.option.long) == [name])
        #expect(misfits.first?.refusal.outcome == .usage)
        #expect(given.leaveOut(misfits, for: try Self.request()).isEmpty)
    }

    @Test(arguments: [["mime", "header"], ["header", "mime"]])
    func theFirstThatWasGivenIsNamed(_ names: [String]) throws {
        var settings = try Self.settings(names.map { ($0, $0 == "mime" ? "text/plain" : "a: b") }) {
            _ in .commandLine
        }
        try settings.fetch.readLists()
        let misfits = settings.misfits(for: try Self.request(), .builtIn)
        #expect(misfits.map(\.option.long) == names)
    }

    @Test func eachMemberOfALineHasItsOption() throws {
        let line = RequestLine(
            Array(
                #"""
                {"url":"x","body":"none","headers":{"a":"b"},"identity":"i","max_filesize":1,\#
                "max_redirs":1,"max_time":1,"method":"GET","mime":"text/plain","pin":"p",\#
                "proxy":"","public_only":true,"slice":"0:5","token_file":"t","trust":"tofu"}
                """#.utf8)[...])
        #expect(line.problem == nil && line.settings.count == 14)
        #expect(Set(line.settings.map(\.member)) == Set(Option.ofMembers.keys))
    }
}
