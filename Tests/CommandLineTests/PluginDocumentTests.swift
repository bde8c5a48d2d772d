// SPDX-License-Identifier: MIT
import Foundation
import Testing

/// The quotations in docs/plugins.md and docs/wire.md.
struct PluginDocument {
    /// Indented lines, by kind.
    enum Part {
        case program(String)
        /// A plugin in one file.
        case script(String)
        /// Last lines of a program in sh, to replace its own.
        case ending(String)
        case manifest(String)
        /// Events from a program.
        case events([String])
        /// Answers to the program, on descriptor 6.
        case answers([String])
        /// Lines of a fixture that begin with `=`.
        case expectations([String])
        case fixture(String)
        /// Run by Tests/Shells/examples.py.
        case commands([String])
        /// Files of the folder that is its first line.
        case tree([String])
        case unknown(String)
    }

    let text: String

    init(_ name: String) throws {
        text = try String(contentsOfFile: "\(PluginKitTests.root)/docs/\(name)", encoding: .utf8)
    }

    var parts: [Part] {
        var blocks: [[String]] = [[]]
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("    ") {
                blocks[blocks.count - 1].append(String(line.dropFirst(4)))
            } else if line.isEmpty, blocks.last?.isEmpty == false {
                // Belongs to it if more of it follows.
                blocks[blocks.count - 1].append("")
            } else if !line.isEmpty {
                blocks.append([])
            }
        }
        return blocks.compactMap { lines in
            let last = lines.lastIndex { !$0.isEmpty }
            return last.map { Self.part(Array(lines[...$0])) }
        }
    }

    private static func part(_ lines: [String]) -> Part {
        let text = lines.joined(separator: "\n") + "\n"
        let values = lines.map { try? JSON.parse($0) }
        if lines[0].hasPrefix("#!") {
            return text.contains("# smallweb:") ? .script(text) : .program(text)
        }
        if lines[0].hasPrefix("n=$(") { return .ending(text) }
        if (try? JSON.parse(text))?["program"] != nil { return .manifest(text) }
        if values.allSatisfy({ $0?["type"] != nil }) { return .events(lines) }
        if values.allSatisfy({ $0?["ok"] != nil }) { return .answers(lines) }
        if values.allSatisfy({ $0?["event"] != nil }) { return .expectations(lines) }
        if lines.contains(where: { $0.hasPrefix("url ") }) { return .fixture(text) }
        if lines.contains(where: { $0.hasPrefix("smallweb ") }) { return .commands(lines) }
        if lines[0].hasSuffix("/") { return .tree(lines) }
        return .unknown(text)
    }
}

/// Each example of docs/plugins.md and docs/wire.md is run as it is printed there.
@Suite(.timeLimit(.minutes(30)))
struct PluginDocumentTests {
    private let smallweb = Smallweb()
    private static let nex = PluginKitTests.root + "/docs/examples/plugins/nex"

    private func write(_ text: String, to name: String) throws {
        try smallweb.home.write(text, to: name)
    }

    /// `plugin test` of a folder in the home, whatever the umask.
    private func test(_ folder: String) throws {
        let result = try smallweb.run(
            ["plugin", "test", "./" + folder],
            shell: "chmod -R go-w \(folder) && chmod a+x \(folder)/\(folder) && exec \"$@\"")
        #expect(result.status == 0, "\(result.text)\(result.errors)")
    }

    private func parts() throws -> [PluginDocument.Part] {
        try ["plugins.md", "wire.md"].flatMap { try PluginDocument($0).parts }
    }

    /// The program, the manifest and the fixture that are quoted make a plugin.
    @Test func thePluginOfTheTextsPasses() throws {
        var count = 0
        for part in try parts() {
            switch part {
            case .program(let text):
                try write(text, to: "nex/nex")
                #expect(text == (try String(contentsOfFile: Self.nex + "/nex", encoding: .utf8)))
            case .manifest(let text):
                try write(text, to: "nex/plugin.json")
                let file = try String(contentsOfFile: Self.nex + "/plugin.json", encoding: .utf8)
                #expect(try JSON.parse(text) == JSON.parse(file))
            case .fixture(let text): try write(text, to: "nex/fixtures/page.wire")
            default: continue
            }
            count += 1
        }
        #expect(count == 3, "a quoted program, manifest or fixture that this test does not run")
        try test("nex")
    }

    /// Plugins in one file are run, too; the one with fixtures is an example as well.
    @Test func thePluginsInOneFileWork() throws {
        var count = 0
        for case .script(let text) in try parts() {
            try write(text, to: "nex.sh")
            let (show, test) = (["plugin", "show", "nex.sh"], ["plugin", "test", "nex.sh"])
            let shell = "chmod 755 nex.sh && exec \"$@\""
            let hasFixtures = text.contains("# wire:")
            let result = try smallweb.run(hasFixtures ? test : show, shell: shell)
            #expect(result.status == 0, "\(result.text)\(result.errors)")
            count += 1
            guard hasFixtures else { continue }
            #expect(text == (try String(contentsOfFile: Self.nex + ".sh", encoding: .utf8)))
        }
        #expect(count == 2)
    }

    /// The other ending of the program that is quoted makes an error of an empty reply.
    @Test func theOtherEndingOfTheProgramPasses() throws {
        var program: [Substring] = []
        for part in try parts() {
            switch part {
            case .program(let text): program = text.split(separator: "\n").dropLast()
            case .ending(let text): program.append(Substring(text))
            case .manifest(let text): try write(text, to: "nex/plugin.json")
            case .fixture(let text): try write(text, to: "nex/fixtures/page.wire")
            default: continue
            }
        }
        #expect(program.count == 3)
        try write(program.joined(separator: "\n"), to: "nex/nex")
        let fixture = "url nex://example.test/\n> /\\r\\n\nerror empty-reply\n"
        try write(fixture, to: "nex/fixtures/empty.wire")
        try test("nex")
    }

    /// The events of docs/plugins.md give the expectations of docs/wire.md.
    @Test func theEventsOfTheTextsMeanWhatTheySay() throws {
        var (said, expected) = ([String](), [String]())
        for part in try parts() {
            switch part {
            // The others need a server: ProgramDoorTests.
            case .events(let lines):
                said += lines.filter { line in
                    !["open", "starttls"].contains { line.contains(#""type":"\#($0)""#) }
                }
            case .expectations(let lines): expected += lines
            default: break
            }
        }
        let failures = said.filter { $0.contains(#""type":"fail""#) }
        #expect(failures.count == 1 && said.count > 3 && expected.count > 3)
        for (name, lines, fixture) in [
            ("hello", said.filter { !failures.contains($0) }, expected.map { "=      \($0)" }),
            ("failing", failures, ["error  protocol-error"]),
        ] {
            let quoted = lines.map { "'\($0)'" }.joined(separator: " ")
            // Body bytes that are there when a program fails count.
            let body = name == "hello" ? "echo Hello >&4\n" : ""
            try write(
                "#!/bin/sh\nprintf '%s\\n' \(quoted) >&3\n\(body)", to: "\(name)/\(name)")
            try write(
                """
                {"v": 1, "name": "\(name)", "program": ["./\(name)"],
                 "schemes": [{"name": "nex", "port": 0, "transport": "none"}]}
                """, to: "\(name)/plugin.json")
            try write(
                (["url    nex://example.test/"] + fixture).joined(separator: "\n") + "\n",
                to: "\(name)/fixtures/page.wire")
            try test(name)
        }
    }

    @Test func allElseIsThereOrRunElsewhere() throws {
        for part in try parts() {
            switch part {
            case .unknown(let text): Issue.record("no test runs this:\n\(text)")
            case .answers(let lines):
                // ProgramDoorTests and ProgramFetchTests see such answers.
                let members: [Set] = [["address"], ["outcome", "message"], ["url", "head"]]
                for line in lines {
                    let answer = try JSONSerialization.jsonObject(with: Data(line.utf8))
                    let names = Set((answer as? [String: Any] ?? [:]).keys)
                    #expect(members.contains(names.subtracting(["connection", "ok"])), "\(line)")
                }
            case .tree(let lines):
                for line in lines.dropFirst() {
                    let path = line.split(separator: " ").first.map(String.init) ?? ""
                    let parent = Self.nex + "/" + path.prefix { $0 != "*" }
                    #expect(FileManager.default.fileExists(atPath: parent), "\(line)")
                }
            default: break
            }
        }
    }
}
