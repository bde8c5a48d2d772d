// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

private let hasJQ = ["/usr/bin/jq", "/usr/local/bin/jq"].contains {
    FileManager.default.isExecutableFile(atPath: $0)
}

/// The recipes of docs/json.md, as they are written there, over records of a run. `ref` records are
/// samples: they have tests of their own.
@Suite(.enabled(if: hasJQ, "jq is not installed")) struct RecipeTests {
    private static let recipes: [String] = {
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../docs/json.md").path
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").filter { $0.hasPrefix("    … | ") }
            .map { String($0.dropFirst("    … | ".count)) }
    }()

    private let smallweb = Smallweb()
    private let capsule: Capsule
    private let records: [UInt8]

    init() throws {
        // It expires tomorrow.
        let certificate = TestCertificate.make(notAfter: Int(Date().timeIntervalSince1970) + 86_400)
        capsule = try Capsule(certificate)
        let place = capsule.place
        let lines = [
            "\(place)/about", "\(place)/status/51", "gopher://127.0.0.1:1/",
            #"{"url":"\#(place)/big/100","id":"img"}"#,
        ]
        let list = lines.joined(separator: "\n")
        records = try smallweb.run(["get", "-k", "-s", "--json", "-"], stdin: list).output
    }

    private func cook(_ number: Int, with records: [UInt8]? = nil) throws -> String {
        let recipe = try #require(Self.recipes.count == 9 ? Self.recipes[number - 1] : nil)
        try Data(records ?? self.records)
            .write(to: URL(fileURLWithPath: smallweb.home.file("records")))
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = ["-o", "pipefail", "-c", "cat records | " + recipe]
        process.currentDirectoryURL = URL(fileURLWithPath: smallweb.home.path)
        let directory = URL(fileURLWithPath: Smallweb.binary).deletingLastPathComponent().path
        process.environment = [
            "PATH": "\(directory):/usr/local/bin:/usr/bin:/bin", "HOME": smallweb.home.path,
        ]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return String(decoding: text, as: UTF8.self)
    }

    @Test func failures() throws {
        let lines = try cook(1).split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.contains("22\t\(capsule.place)/status/51\tThis is status 51"))
        #expect(lines.contains { $0.hasPrefix("7\tgopher://127.0.0.1:1/\tcannot connect") })
    }

    @Test func aTable() throws {
        let lines = try cook(2).split(separator: "\n")
        #expect(lines.count == 3 && lines[0].hasPrefix("20\ttext/gemini\t24\t0."))
    }

    @Test func followingLinks() throws {
        let links = try smallweb.run(["links", "--json", capsule.place + "/links/"])
        #expect(try Records(links.output)["link"].count == 8)
        let records = try Records(Array(cook(3, with: links.output).utf8))
        #expect(records.exits == [0, 0, 0])
        let urls = records.terminal.map { $0["url"]?.string?.dropFirst(capsule.place.count) }
        #expect(urls == ["/about", "/links/1k", "/1k?q#part"])
    }

    @Test func exactText() throws {
        #expect(try cook(4).hasPrefix("# About\r\nNothing much.\r\n"))
    }

    @Test func aBinaryBody() throws {
        _ = try cook(5)
        let bytes = try #require(smallweb.home.content("a.gif"))
        #expect(bytes.count == 100 && DemoSites.isBlock(bytes[...], at: 0))
    }

    @Test func theSlowestThree() throws {
        let times = try cook(6).split(separator: "\n").map { try JSON.parse($0)["s"]?.double ?? 0 }
        #expect(times.count == 3 && times == times.sorted(by: >))
    }

    @Test func expiringCertificates() throws {
        #expect(try cook(7).contains("\t\(capsule.place)/about\n"))
    }

    @Test func branches() throws {
        let ref =
            #"{"type":"ref","v":1,"n":2,"id":7,"i":2,"name":"refs/heads/main","#
            + #""oid":"9f00d1a3b5c7d9e1f39f00d1a3b5c7d9e1f30000","symref":null,"peeled":null}"#
            + "\n"
        #expect(try Records(Array(ref.utf8)).all.count == 1)
        #expect(try cook(8, with: Array(ref.utf8)) == "9f00d1a3b5c7 main\n")
    }

    @Test func answersByID() throws {
        let lines = try cook(9).split(separator: "\n").map { try JSON.parse($0) }
        #expect(lines.count == 4)
        #expect(lines.contains { $0["id"]?.string == "img" && $0["status"]?.int == 20 })
    }
}
