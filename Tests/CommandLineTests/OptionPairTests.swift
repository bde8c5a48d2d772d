// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

@testable import SmallWebCLI

/// Any two options of a command stand together, or one decides by a row of the rules, or they are
/// refused with both names.
@Suite struct OptionPairTests {
    private static let commands = Command.all.flatMap { $0.actions.isEmpty ? [$0] : $0.actions }

    /// A word for each value, by its placeholder.
    private static func value(_ option: Option) -> String? {
        guard let placeholder = option.valueName else { return nil }
        switch option.values {
        case .oneOf(let words), .someOf(let words): return words().last
        case .schemes: return "gopher"
        default: break
        }
        return switch placeholder {
        case "TIME": "90s"
        case "SIZE", "N", "OFFSET": "3"
        case "I/N": "0/2"
        case "sha256:HEX": "sha256:" + String(repeating: "0", count: 64)
        case "HOST:PORT:ADDRESS": "h.test:1:127.0.0.1"
        case "START:COUNT": "0:5"
        case _ where option.id == .header: "a: b"
        case "DATE": "2026-11-20"
        case "LIST" where option.id == .types: "text/plain"
        case "TYPE": "text/plain"
        case "URL": "socks5h://127.0.0.1:1"
        default: "x"
        }
    }

    /// The settings of a command line, as text by the path of the member.
    private static func members(_ options: [Option]) throws -> [String: String] {
        var settings = Settings()
        for option in options {
            try settings.apply(
                Setting(option: option, value: value(option), origin: .commandLine))
        }
        settings.invocation = Invocation()
        var members: [String: String] = [:]
        func walk(_ value: Any, _ path: String, _ depth: Int) {
            let children = Mirror(reflecting: value).children
            guard depth < 5, !children.isEmpty, children.allSatisfy({ $0.label != nil }) else {
                return members[path] = "\(value)"
            }
            for child in children { walk(child.value, path + "." + child.label!, depth + 1) }
        }
        walk(settings, "", 0)
        return members
    }

    private static func settings(_ first: Option, _ second: Option) throws -> Settings {
        var settings = Settings()
        for option in [first, second] {
            try settings.apply(
                Setting(option: option, value: value(option), origin: .commandLine))
        }
        return settings
    }

    private static func hasRow(_ first: Option, _ second: Option) -> Bool {
        Rule.all.contains { rule in
            [(first.id, second.id), (second.id, first.id)].contains { one, other in
                guard let one, let other, one != other else { return false }
                return rule.overriding(one).contains(other)
            }
        }
    }

    /// Options that set the same member: the later one would win without a word.
    @Test func whoeverSetsTheSameHasARow() throws {
        let plain = try Self.members([])
        var changes: [String: Set<String>] = [:]
        for option in Option.all {
            // Some of plugins want values that their protocols alone know.
            let found = Result { try Self.members([option]) }
            guard let own = option.key == nil ? try found.get() : try? found.get() else { continue }
            #expect(own.count >= plain.count / 2)
            changes[option.long] = Set(own.keys.filter { own[$0] != plain[$0] })
        }
        var pairs = 0
        for command in Self.commands {
            let options = command.options.filter { changes[$0.long] != nil }
            for (index, first) in options.enumerated() {
                for second in options.dropFirst(index + 1) {
                    pairs += 1
                    // Plugins' options share a dictionary, each with a key of its own.
                    if first.key != nil && second.key != nil && first.key != second.key { continue }
                    let common = changes[first.long, default: []]
                        .intersection(changes[second.long, default: []])
                    guard !common.isEmpty, !Self.hasRow(first, second) else { continue }
                    let (one, other) = (
                        try Self.members([first, second]), try Self.members([second, first])
                    )
                    let lost = common.filter { one[$0] != other[$0] }
                    #expect(
                        lost.isEmpty,
                        "\(command.name) --\(first.long) --\(second.long): \(lost.sorted())")
                }
            }
        }
        #expect(pairs > 10_000)
    }

    @Test func eachIDIsInTheTable() {
        for id in Option.ID.allCases { #expect(Option.of(id)?.id == id, "\(id)") }
        let unknown = Option.all.filter { $0.id == nil && $0.key == nil }
        #expect(unknown.isEmpty, "\(unknown.map(\.long))")
    }

    private static let ruled = Set(Rule.all.flatMap { $0.options + $0.others })

    /// The order of two options decides nothing about them.
    @Test func aRefusalNamesBothInAnyOrder() throws {
        for command in Self.commands {
            let options = command.options.filter { $0.id.map(Self.ruled.contains) ?? false }
            for (index, first) in options.enumerated() {
                for second in options.dropFirst(index + 1) {
                    let said = try Self.refusals(first, second)
                    #expect(said.0 == said.1, "\(command.name): \(said)")
                }
            }
        }
    }

    /// A row that no command can meet would hold nothing.
    @Test func eachRowIsMetBySomeCommand() {
        for rule in Rule.all {
            let isMet = Self.commands.contains { command in
                let has = { (id: Option.ID) in Option.of(id).map(command.takes) ?? false }
                let (taken, others) = (rule.options.filter(has), rule.others.filter(has))
                return switch rule.kind {
                case .with: !taken.isEmpty
                case _ where rule.others.isEmpty: taken.count > 1
                default: !taken.isEmpty && !others.isEmpty
                }
            }
            #expect(isMet, "\(rule.options) \(rule.others)")
        }
    }

    /// Each refusal of two options names both, and every command that has both refuses them.
    @Test func whatARowRefusesEachCommandRefuses() throws {
        var refused = 0
        for command in Self.commands {
            let options = command.options.filter { $0.id.map(Self.ruled.contains) ?? false }
            for (index, first) in options.enumerated() {
                for second in options.dropFirst(index + 1) {
                    let both = try Self.settings(first, second)
                    let rows = Rule.all.filter { rule in
                        guard let one = first.id, let other = second.id, rule.kind != .with
                        else { return false }
                        let isAmong = rule.options.contains(one) && rule.options.contains(other)
                        return rule.others.isEmpty && isAmong
                            || rule.options.contains(one) && rule.others.contains(other)
                            || rule.options.contains(other) && rule.others.contains(one)
                    }
                    for refusal in rows.compactMap({ $0.refusal(both, ["gopher://h.test/"]) }) {
                        refused += 1
                        let text = refusal.message
                        #expect(
                            [first, second].allSatisfy { text.contains("--\($0.long)") },
                            "\(command.name): \(text)")
                        #expect(throws: FetchError.self, "\(command.name): \(text)") {
                            try both.checkRules(["gopher://h.test/"])
                        }
                    }
                }
            }
        }
        #expect(refused > 300)
    }

    /// Over a scheme that sends data, what asks cannot go with it.
    @Test(arguments: [
        (["head", "-d", "a"], ["--data", "--head"]),
        (["get", "-I", "-d", "a"], ["--data", "--head"]),
        (["get", "-z", "2026-11-20", "-d", "a"], ["--time-cond", "--data"]),
        (["open", "--etag-compare", "a", "-X", "PUT"], ["--etag-compare", "--request"]),
    ])
    func aQuestionCarriesNoData(_ words: [String], _ names: [String]) throws {
        let result = try Smallweb().run(words + ["http://127.0.0.1:1/"])
        #expect(result.status == 2)
        for name in names { #expect(result.errors.contains(name), "\(result.errors)") }
    }

    /// Commands besides `get`, each of which has the rows.
    @Test(arguments: [
        ["crawl", "--proxy", "http://127.0.0.1:1", "--proxy-command", "true"],
        ["feed", "--proxy", "http://127.0.0.1:1", "--proxy-command", "true"],
        ["watch", "--state", "a", "--name", "b"], ["open", "--identity", "a", "--cert", "b"],
        ["crawl", "--cache", "--warc", "a.warc"], ["links", "--ipv4", "--ipv6"],
        ["head", "--skip-existing", "--overwrite"],
        ["explain", "--continue", "--continue-at", "3"],
        ["get", "--json", "--show-headers"], ["get", "--json", "--stream", "--render", "html"],
        ["get", "--head", "--render", "html"], ["get", "--show-headers", "--body", "none"],
        ["get", "--json", "--stream", "--inline-max", "3"],
        ["get", "--json", "--remote-name", "--body", "base64"],
        ["get", "--json", "--output", "a", "--body", "text"],
        ["get", "--continue", "--time-cond", "2026-11-20"],
        ["open", "--unix-socket", "a", "--ipv6"],
        ["get", "--hyperlink", "always", "--render", "html"],
        ["get", "--head", "--fail-with-body"], ["get", "--body", "none", "--fail-with-body"],
    ])
    func theBinaryNamesBoth(_ words: [String]) throws {
        let smallweb = Smallweb()
        let result = try smallweb.run(words + ["gopher://127.0.0.1:1/"])
        #expect(result.status == 2)
        let refused = words.filter { $0.hasPrefix("--") }.suffix(2)
        for name in refused { #expect(result.errors.contains(name), "\(result.errors)") }
        #expect(smallweb.home.names.isEmpty)
    }

    /// A file to send is not a URL without an --output.
    @Test func theFileOfAnUploadIsNotAnotherURL() throws {
        let words = ["put", "--json", "-o", "a", "--body", "base64", "spartan://127.0.0.1:1/", "b"]
        let result = try Smallweb().run(words)
        #expect(result.status == 2)
        #expect(result.errors.contains("--output and --body exclude each other"))
    }

    @Test(arguments: ["with-links", "events", "inline-max", "summary"])
    func recordsAreAskedForInEveryCommand(_ name: String) throws {
        let words = ["crawl", "--\(name)"] + (name == "inline-max" ? ["1k"] : [])
        let result = try Smallweb().run(words + ["gopher://127.0.0.1:1/"])
        #expect(result.status == 2)
        #expect(
            result.errors == "smallweb: --\(name) is about JSON records\nhint: add --json\n")
    }

    /// Whichever of the two stands in the file.
    @Test(arguments: [
        ("json", ["-i"], "--no-json"),
        ("json", ["--hyperlink", "always"], "--no-json"), ("json", ["-o", "-"], "--no-json"),
        ("offline", ["--max-age", "3"], "--no-offline"), ("key = a", [], "--no-config"),
        ("write-out = a", ["--json"], "--no-config"),
        ("dump-header = -", ["--json"], "--no-config"),
    ])
    func anOptionOfTheConfigFileIsNamedAsSuch(
        _ line: String, _ words: [String], _ undoing: String
    ) throws {
        var smallweb = Smallweb()
        let path = smallweb.home.file("config")
        smallweb.environment["SMALLWEB_CONFIG"] = path
        try Data("\(line)\n".utf8).write(to: URL(fileURLWithPath: path))
        let command = ["get", "gopher://127.0.0.1:1/"] + words
        let result = try smallweb.run(command)
        #expect(result.status == 2)
        let name = line.prefix { $0 != " " }
        let hint = "hint: \(path):1 has \(name): \(undoing) is for one run\n"
        #expect(result.errors.hasSuffix(hint), "\(result.errors)")
        // The way out leads further.
        #expect(try smallweb.run(command + [undoing]).errors.contains(hint) == false)
    }

    @Test func aSwitchThatIsTurnedOffHasTheLastWord() throws {
        for (words, jobs) in [
            (["-j", "4", "-Z"], 4), (["-Z", "-j", "4"], 4), (["-Z"], 8),
            (["-j", "4", "--no-parallel"], 1), (["--no-parallel", "-j", "4"], 4),
        ] {
            let settings = try ArgumentParser.parse(["get"] + words + ["gopher://h.test/"])
            #expect(settings.run.policy.jobs == jobs, "\(words)")
        }
    }

    /// With a file there is room for both.
    @Test func whatIsShownGoesToTheFileBesideRecords() throws {
        let (smallweb, hole) = (Smallweb(), try Hole())
        let url = hole.place + "/"
        for command in ["links", "head"] {
            let plain = try smallweb.run([command, "-o", "plain", url])
            let both = try smallweb.run([command, "--json", "-o", "both", url])
            #expect(plain.status == 0 && both.status == 0, "\(both.errors)")
            #expect(try Records(both.output).terminal.count == 1)
            let (first, second) = (smallweb.home.content("plain"), smallweb.home.content("both"))
            #expect(first?.isEmpty == false && second?.isEmpty == false)
            if command == "links" { #expect(first == second) }
        }
        let capsule = try LoopbackServer { peer in
            guard WebRequest(from: peer) != nil else { return }
            peer.write("HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 0\r\n\r\n")
        }
        let words = ["head", "--etag-save", "tag", "http://127.0.0.1:\(capsule.port)/"]
        #expect(try smallweb.run(words).status == 0)
        #expect(smallweb.home.content("tag") == Array("\"a\"\n".utf8))
    }

    private static func refusals(_ first: Option, _ second: Option) throws -> ([String], [String]) {
        func said(_ settings: Settings) -> [String] {
            Rule.all.compactMap { $0.refusal(settings, ["gopher://h.test/"])?.message }
        }
        return (said(try settings(first, second)), said(try settings(second, first)))
    }
}
