// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// A line of a document that pipes records into jq.
struct Recipe: CustomTestStringConvertible, Sendable {
    let file: String
    /// The line of text before it, without its colon or comment mark.
    let title: String
    /// As written; `…` stands for any command that writes records.
    let line: String

    var testDescription: String { "\(file): \(title)" }
    /// The command that writes the records, and the command that reads them.
    var writer: String { String(line[..<split.lowerBound]) }
    var reader: String { String(line[split.upperBound...]) }
    private var split: Range<String.Index> {
        line.range(of: " | ") ?? line.startIndex..<line.startIndex
    }
    /// The types of records that it selects.
    var types: Set<String> {
        let parts = line.components(separatedBy: #".type==""#).dropFirst()
        return Set(parts.map { String($0.prefix { $0 != "\"" }) })
    }

    /// Recipes of README.md and docs/, which indent literal lines.
    static let all: [Recipe] = {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../..").standardizedFileURL.path
        let names = FileManager.default.enumerator(atPath: root + "/docs")?.allObjects
        let documents = (names as? [String] ?? []).filter { $0.hasSuffix(".md") }.sorted()
        return (["README.md"] + documents.map { "docs/" + $0 }).flatMap { file -> [Recipe] in
            let text = (try? String(contentsOfFile: "\(root)/\(file)", encoding: .utf8)) ?? ""
            var title = ""
            return text.split(separator: "\n").compactMap { line in
                guard line.hasPrefix("    "), !line.hasPrefix("    #") else {
                    title = line.trimmingCharacters(in: CharacterSet(charactersIn: " #:"))
                    return nil
                }
                guard line.contains("| jq ") else { return nil }
                return Recipe(file: file, title: title, line: String(line.dropFirst(4)))
            }
        }
    }()
}

/// The recipes of README.md and docs/, as they are written there, over records of a run. `ref`
/// records are samples: they have tests of their own.
@Suite(.enabled(if: Programs.has("jq"), "jq is not installed")) struct RecipeTests {
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

    /// Output of bash for a line, with the built binary as `smallweb`.
    private func shell(_ line: String) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = ["-o", "pipefail", "-c", line]
        process.currentDirectoryURL = URL(fileURLWithPath: smallweb.home.path)
        let directory = URL(fileURLWithPath: Smallweb.binary).deletingLastPathComponent().path
        process.environment = [
            "PATH": "\(directory):/usr/local/bin:/usr/bin:/bin", "HOME": smallweb.home.path,
        ]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = output.fileHandleForReading.readDataToEndOfFile()
        process.waitInTime()
        #expect(process.terminationStatus == 0)
        return String(decoding: text, as: UTF8.self)
    }

    private func recipe(_ title: String) throws -> Recipe {
        try #require(Recipe.all.first { $0.title.hasPrefix(title) }, "\(title)")
    }

    private func cook(_ recipe: Recipe, with records: [UInt8]) throws -> String {
        try Data(records).write(to: URL(fileURLWithPath: smallweb.home.file("records")))
        return try shell("cat records | " + recipe.reader)
    }

    private func cook(_ title: String, with records: [UInt8]? = nil) throws -> String {
        try cook(recipe(title), with: records ?? self.records)
    }

    @Test func eachHasATest() {
        #expect(Recipe.all.count { $0.file == "README.md" } == 5)
        #expect(Recipe.all.count { $0.file == "docs/json.md" } == 11)
        #expect(Recipe.all.count == 16)
    }

    /// One that does not would print a line of nulls or a wrong one for records of other types.
    @Test(arguments: Recipe.all)
    func readsRecordsOfItsTypesAlone(_ recipe: Recipe) throws {
        #expect(!recipe.types.isEmpty)
        let place = capsule.place
        let commands = [
            ["schemes", "--json"], ["--version", "--json"], ["trust", "list", "--json"],
            ["get", "--json", "--events", "--stream", place + "/redirect/1", place + "/1k"],
            ["links", "--json", place + "/links/"], ["trust", "check", "--json", place],
            ["explain", "--json", place + "/"],
        ]
        let lines = try commands.flatMap { command in
            try smallweb.run(command).text.split(separator: "\n")
        }
        let others = try lines.filter { line in
            let type = try #require(try JSON.parse(line)["type"]?.string)
            return !recipe.types.union(["response", "error"]).contains(type)
        }
        #expect(others.count > 10)
        let noise = Array((others.joined(separator: "\n") + "\n").utf8)
        #expect(try cook(recipe, with: noise) == cook(recipe, with: []))
    }

    @Test func aListAsOneRecordPerURL() throws {
        let recipe = try recipe("A list, as one JSON record per URL")
        let paths = ["/about", "/status/51", "/1k"]
        let list = paths.map { capsule.place + $0 + "\n" }.joined()
        try Data(list.utf8).write(to: URL(fileURLWithPath: smallweb.home.file("urls.txt")))
        let lines = try shell("(\(recipe.writer)) 2>errors; true").split(separator: "\n")
        #expect(lines.count == 4 && lines[3].hasPrefix(#"{"type":"summary""#))
        let text = try cook(recipe, with: Array((lines.joined(separator: "\n") + "\n").utf8))
        let refusal = "the server refused: 51 This is status 51"
        #expect(
            text.split(separator: "\n").sorted() == [
                "0\t1024\t\(capsule.place)/1k\t", "0\t24\t\(capsule.place)/about\t",
                "22\t0\t\(capsule.place)/status/51\t\(refusal)",
            ])
    }

    @Test func theStatus() throws {
        let recipe = try #require(Recipe.all.first { $0.line.hasSuffix(".status'") })
        let line = recipe.line.replacing("gemini://geminiprotocol.net", with: capsule.place)
        #expect(line != recipe.line)
        #expect(try shell(line) == "20\n")
    }

    @Test func failures() throws {
        let lines = try cook("Failures").split(separator: "\n")
        #expect(lines.count == 2)
        let refusal = "the server refused: 51 This is status 51"
        #expect(lines.contains("22\t\(capsule.place)/status/51\t\(refusal)"))
        #expect(lines.contains { $0.hasPrefix("7\tgopher://127.0.0.1:1/\tcannot connect") })
    }

    @Test func aTable() throws {
        let lines = try cook("A table").split(separator: "\n")
        #expect(lines.count == 3 && lines[0].hasPrefix("20\ttext/gemini\t24\t0."))
    }

    @Test func followingLinks() throws {
        let links = try smallweb.run(["links", "--json", capsule.place + "/links/"])
        #expect(try Records(links.output)["link"].count == 8)
        let records = try Records(Array(cook("Follow links one level", with: links.output).utf8))
        #expect(records.exits == [0, 0, 0])
        let urls = records.terminal.map { $0["url"]?.string?.dropFirst(capsule.place.count) }
        #expect(urls == ["/about", "/links/1k", "/1k?q#part"])
    }

    @Test func exactText() throws {
        #expect(try cook("The text as it is").hasPrefix("# About\r\nNothing much.\r\n"))
    }

    @Test func aBinaryBody() throws {
        _ = try cook("A binary body")
        let bytes = try #require(smallweb.home.content("a.gif"))
        #expect(bytes.count == 100 && DemoSites.isBlock(bytes[...], at: 0))
    }

    @Test func theSlowestThree() throws {
        let times = try cook("The slowest three").split(separator: "\n")
            .map { try JSON.parse($0)["s"]?.double ?? 0 }
        #expect(times.count == 3 && times == times.sorted(by: >))
    }

    @Test func expiringCertificates() throws {
        #expect(try cook("Certificates that expire").contains("\t\(capsule.place)/about\n"))
    }

    @Test func expiringKeysOfTheStore() throws {
        _ = try smallweb.run(["get", capsule.place + "/about"])
        let place = capsule.place.replacing("gemini://", with: "")
        #expect(try shell(recipe("The same of servers").line) == place + "\n")
    }

    @Test func branches() throws {
        let ref =
            #"{"type":"ref","v":1,"n":2,"id":7,"i":2,"name":"refs/heads/main","#
            + #""oid":"9f00d1a3b5c7d9e1f39f00d1a3b5c7d9e1f30000","symref":null,"peeled":null}"#
            + "\n"
        #expect(try Records(Array(ref.utf8)).all.count == 1)
        #expect(try cook("Branches", with: Array(ref.utf8)) == "9f00d1a3b5c7 main\n")
    }

    @Test func answersByID() throws {
        let lines = try cook("Answers by the id").split(separator: "\n")
            .map { try JSON.parse($0) }
        #expect(lines.count == 4)
        #expect(lines.contains { $0["id"]?.string == "img" && $0["status"]?.int == 20 })
    }
}
