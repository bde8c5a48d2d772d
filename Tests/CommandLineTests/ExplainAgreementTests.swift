// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

@testable import SmallWebCLI

/// `explain` agrees with `get` for the same options, wherever they are given.
@Suite(.timeLimit(.minutes(30)))
struct ExplainAgreementTests {
    /// An option with a value; `nil` for a switch that is turned on.
    private typealias Choice = (name: String, value: String?)

    private static let choices: [Choice] = [
        ("remote-name", nil), ("remote-name", nil), ("remote-name", nil), ("remote-name", nil),
        ("remote-name", "false"), ("tree", nil), ("tree", nil), ("body", "file"),
        ("output-dir", "d"), ("output-dir", "e/f"), ("create-dirs", nil), ("create-dirs", nil),
        ("raw", nil), ("fail-with-body", nil), ("connect-timeout", "9"), ("ipv4", nil),
        ("render", "plain"), ("show-headers", nil), ("max-filesize", "5"), ("max-filesize", "9k"),
        ("data", "small web"), ("header", "X-A: b"), ("header", "no colon"), ("user-agent", "me"),
        ("request", "PUT"), ("max-redirs", "0"), ("location", "false"), ("proto", "gopher,http"),
        ("proto", "-gemini"), ("proto", "nosuch"), ("proto", "+ftp"), ("proto-redir", "gemini"),
        ("proto-redir", "ftp"), ("continue-at", "-"), ("continue-at", "3"), ("body", "none"),
        ("body", "file"), ("fail", "false"), ("head", nil), ("insecure", nil), ("trust", "locked"),
        ("trust", "tofu"), ("identity", "ada"), ("cert", "nosuch"), ("fallback-curl", nil),
        ("proxy", "http://127.0.0.1:1"), ("inline-max", "3"), ("max-time", "soon"),
    ]
    /// Options of a whole run.
    private static let runChoices: [Choice] = [
        ("json", nil), ("json", nil), ("json", nil), ("silent", nil), ("dump-header", "head"),
        ("dump-header", "-"), ("summary", nil),
    ]

    private struct Case {
        var words: [String] = []
        var config = ""
        var hasFile = false

        init(_ generator: inout SeededGenerator) {
            var sections = ["", "[scheme gopher]\n", "[scheme http]\n", "[host 127.0.0.*]\n"]
            sections.append("[host *.example.org]\n")
            func add(_ choice: Choice, _ place: Int) {
                guard place < sections.count else {
                    let name = choice.value == "false" ? "no-\(choice.name)" : choice.name
                    words.append("--" + name)
                    if let value = choice.value, value != "false" { words.append(value) }
                    return
                }
                sections[place] += choice.name + (choice.value.map { " = \($0)" } ?? "") + "\n"
            }
            for _ in 0..<Int.random(in: 0...4, using: &generator) {
                let choice = choices.randomElement(using: &generator) ?? choices[0]
                // The command line is as likely as all of the file's places.
                add(choice, Int.random(in: 0..<(2 * sections.count), using: &generator))
            }
            if Bool.random(using: &generator) {
                let choice = runChoices.randomElement(using: &generator) ?? runChoices[0]
                // Rarely where it is refused.
                let place = Int.random(in: 0..<8, using: &generator)
                add(choice, place == 3 ? 3 : place < 3 ? 0 : sections.count)
            }
            for _ in 0..<max(0, Int.random(in: -4...2, using: &generator)) {
                words += ["-o", Bool.random(using: &generator) ? "out" : "-"]
            }
            config = sections.joined()
            hasFile = Bool.random(using: &generator)
        }
    }

    private struct Server {
        let server: LoopbackServer
        let url: String
    }

    private func server(_ generator: inout SeededGenerator) throws -> Server {
        switch Int.random(in: 0..<4, using: &generator) {
        case 0:
            let server = try LoopbackServer(tls: .make(), handler: DemoSites.gemini())
            return Server(server: server, url: "gemini://127.0.0.1:\(server.port)/1k")
        case 1:
            let server = try LoopbackServer(handler: DemoSites.web)
            return Server(server: server, url: "http://127.0.0.1:\(server.port)/1k")
        case 2:
            let server = try LoopbackServer(handler: DemoSites.gopher)
            return Server(server: server, url: "gopher://127.0.0.1:\(server.port)/7/search")
        default:
            let server = try LoopbackServer(handler: DemoSites.gopher)
            return Server(server: server, url: "gopher://127.0.0.1:\(server.port)/0/1k")
        }
    }

    /// The facts of an explanation, from its record or its text.
    private struct Explained {
        var output = ""
        /// With the escapes of the text.
        var request: [String] = []

        init(_ result: Smallweb.Result) throws {
            if result.text.hasPrefix("{") {
                let record = try #require(try Records(result.output)["explanation"].first)
                output = record["output"]?.string ?? ""
                request = Explanation.escaped(Array((record["raw"]?.string ?? "").utf8))
                return
            }
            for line in result.text.split(separator: "\n") {
                if line.hasPrefix("    ") { request.append(String(line.dropFirst(4))) }
                guard line.hasPrefix("  body goes to") else { continue }
                output = String(line.dropFirst("  body goes to".count).drop { $0 == " " })
            }
        }
    }

    /// Files with their sizes, without the stores.
    private func files(of smallweb: Smallweb) -> [String: Int] {
        let names = smallweb.home.files(below: ".").filter {
            !$0.hasPrefix(".") && $0 != "config" && $0 != "head" && !$0.hasSuffix(".part")
        }
        return Dictionary(
            uniqueKeysWithValues: names.map { ($0, smallweb.home.content($0)?.count ?? 0) })
    }

    private func refusals(_ result: Smallweb.Result) throws -> [String] {
        guard result.text.hasPrefix("{") else { return [] }
        return try Records(result.output)["error"].map {
            "\($0["outcome"]?.string ?? ""): \($0["error"]?["message"]?.string ?? "")"
        }
    }

    @Test(arguments: 0..<4)
    func explainSaysWhatGetDoes(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var counts = (explained: 0, refused: 0, saved: 0)
        for number in 0..<26 {
            let one = Case(&generator)
            let server = try server(&generator)
            let smallweb = Smallweb()
            for (name, text) in [("config", one.config), ("1k", "as it was")]
            where name == "config" || one.hasFile {
                try Data(text.utf8).write(to: URL(fileURLWithPath: smallweb.home.file(name)))
            }
            let words = one.words + ["-K", "config", server.url]
            let before = files(of: smallweb)
            let explanation = try smallweb.run(["explain"] + words)
            #expect(files(of: smallweb) == before && server.server.clientSockets == 0)
            let result = try smallweb.run(["get"] + words)
            server.server.stop()
            let connections = server.server.connections
            let label = Comment(
                rawValue: "case \(number): \(words.joined(separator: " "))\n\(one.config)\n"
                    + "\(explanation.text)\(explanation.errors)\n\(result.text)\(result.errors)")

            let changed = files(of: smallweb).filter { before[$0.key] != $0.value }.keys.sorted()
            guard explanation.status == 0 else {
                counts.refused += 1
                #expect(result.status == explanation.status, label)
                #expect(result.errors == explanation.errors, label)
                #expect(try refusals(result) == refusals(explanation), label)
                #expect(connections.isEmpty && changed.isEmpty, label)
                continue
            }
            counts.explained += 1
            let explained = try Explained(explanation)
            let isProxied = words.contains("--proxy") || one.config.contains("proxy =")
            let sent = connections.first.map { Explanation.escaped($0.received) } ?? []
            // Neither a key that is not trusted nor a proxy that is not there gets the request.
            if result.status != Outcome.untrusted.exitStatus && !(isProxied && result.status != 0) {
                #expect(sent == explained.request, label)
            }
            guard result.status == 0 else {
                #expect(changed.isEmpty, label)
                continue
            }
            let isNumbered = explained.output.hasSuffix(", with a number: it exists")
            let place = explained.output.prefix { !isNumbered || $0 != "," }
            switch explained.output {
            case "standard output": #expect(changed.isEmpty && !result.output.isEmpty, label)
            case "the record":
                #expect(changed.isEmpty && result.text.contains("\"body\":{"), label)
            case "nowhere": #expect(changed.isEmpty, label)
            default:
                counts.saved += 1
                #expect(changed == [place + (isNumbered ? ".1" : "")], label)
            }
        }
        #expect(counts.explained > 3 && counts.refused > 3 && counts.saved > 0, "\(counts)")
    }
}
