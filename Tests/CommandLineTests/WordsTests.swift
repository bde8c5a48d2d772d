// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import Testing

@testable import SmallWebCLI

/// The options of curl, wget and git: each is taken, or answered by name.
@Suite struct WordsTests {
    private static let url = "gopher://127.0.0.1:1/"

    /// A word of the lists in Tests/Words, typed in a command.
    struct Word: Sendable, CustomStringConvertible {
        let command: String
        /// `name`, or `-x` for a letter.
        let name: String
        var typed: String { name.hasPrefix("-") ? name : "--\(name)" }
        var description: String { "\(command) \(typed)" }
    }

    private static func lines(_ file: String) throws -> [String] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Words")
        let text = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
        return text.split(separator: "\n").map(String.init)
    }

    private static func words(_ list: String, in command: String) throws -> [Word] {
        guard list == "git" else {
            return try lines("\(list).txt").map { Word(command: command, name: $0) }
        }
        let ours = [
            "ls-remote": ["refs"], "log": ["log"], "show": ["log", "diff"], "diff": ["diff"],
            "archive": ["get"], "describe": ["describe"],
        ]
        return try lines("git.txt").compactMap { line in
            let parts = line.split(separator: " ").map(String.init)
            let isOfCommand = command == "head" || ours[parts[0]]?.contains(command) ?? false
            return isOfCommand ? Word(command: command, name: parts[1]) : nil
        }
    }

    /// Parses and judges words as a run does before it does anything.
    private static func judge(_ words: [String]) throws(FetchError) {
        let settings = try ArgumentParser.parse(words)
        let invocation = settings.invocation
        var operands = invocation.operands
        guard let command = operands.first.flatMap(Command.named) else { return }
        operands.removeFirst()
        if invocation.wantsHelp || invocation.wantsVersion { return }
        let (action, rest) = try command.resolved(operands)
        try action.refuseUseless(invocation)
        try action.checkCount(of: rest)
        try settings.checkRules(rest)
    }

    @Test(arguments: [
        ("curl", "get"), ("curl", "crawl"), ("wget", "get"), ("wget", "crawl"), ("git", "refs"),
        ("git", "log"), ("git", "diff"), ("git", "describe"), ("git", "get"), ("git", "head"),
    ])
    func eachWordIsTakenOrAnswered(_ list: String, _ command: String) throws {
        let words = try Self.words(list, in: command)
        #expect(words.count > (list == "git" ? 10 : 150))
        var tried: Set<String> = []
        for word in words {
            var forms = [[word.typed, Self.url]]
            if !word.name.hasPrefix("-") {
                let bare = word.name.hasPrefix("no-") ? String(word.name.dropFirst(3)) : word.name
                forms += [["\(word.typed)=x", Self.url], ["--no-\(bare)", Self.url]]
            }
            for form in forms {
                do throws(FetchError) {
                    try Self.judge([command] + form)
                } catch {
                    #expect(error.outcome == .usage, "\(word): \(error.message)")
                    let hint = error.hint ?? ""
                    let isGeneric = hint.contains("lists the options") || hint.contains("lists its")
                    #expect(!isGeneric, "\(form): \(error.message): \(hint)")
                    #expect(!hint.contains("did you mean"), "\(form): \(error.message): \(hint)")
                    let isOfValue = [" wants ", " takes no value"].contains { text in
                        error.message.contains(text)
                    }
                    let isKnown = Option.typed(word.typed, among: Option.all) != nil
                    #expect(
                        !hint.isEmpty || isOfValue || isKnown, "\(form): \(error.message)")
                    if tried.insert(hint).inserted { try Self.tryOut(hint, in: command) }
                }
            }
        }
    }

    /// An option that a hint names is one of the command that it names, and a command line in it
    /// is taken once its placeholders have values.
    private static func tryOut(_ hint: String, in command: String) throws {
        let line = /'smallweb ([^']+)'/
        for match in hint.matches(of: line) {
            let words = filled(String(match.1))
            #expect(throws: Never.self, "\(hint)") { try judge(words) }
        }
        // These are about an option that the command does not take.
        if hint.contains(" is for 'smallweb ") || hint.hasSuffix("leave it out") { return }
        let rest = hint.replacing(/'[^']*'/, with: "")
        let taken = try #require(Command.named(command)).options
        for word in rest.split(separator: " ").map(String.init)
        where word.hasPrefix("-") && word.count > 1 {
            let name = word.prefix { $0.isLetter || $0.isNumber || "-#".contains($0) }
            let bare = name.hasPrefix("--no-") ? "--" + name.dropFirst(5) : String(name)
            let isTaken = [String(name), bare].contains { Option.typed($0, among: taken) != nil }
            #expect(isTaken, "\(command): \(word) in \(hint)")
        }
    }

    static func filled(_ line: String) -> [String] {
        let values = [
            "N": "3", "TIME": "5s", "SIZE": "5k", "OFFSET": "5", "RE": "a", "DATE": "2026-11-20",
            "LIST": "gemini", "URL": url, "METHOD": "PUT", "LINE": "A: b", "SCOPE": "host",
            "HOST[:PORT]": "h.test", "FORM": "md",
        ]
        return line.prefix { $0 != "|" }.split(separator: " ").map { word in
            values[String(word)] ?? String(word)
        }
    }

    /// Options that are ours by name or as an alias are taken with a value.
    @Test func wordsThatAreTakenParse() throws {
        let values = [
            "5", "gopher://h.test/", "f", "text/html", "2026-11-20", "h.test:1:127.0.0.1", "A: b",
            "x: y", "sha256:" + String(repeating: "0", count: 64), "PUT", "1/2", "0:5",
        ]
        for list in ["curl", "wget"] {
            for command in ["get", "crawl"] {
                let taken = try #require(Command.named(command)).options
                for word in try Self.words(list, in: command) {
                    guard let option = Option.typed(word.typed, among: taken) else { continue }
                    var words = values.map { [word.typed, $0] }
                    if case .oneOf(let choices) = option.values {
                        words = choices().map { [word.typed, $0] }
                    }
                    if option.valueName == nil { words = [[word.typed]] }
                    let isTaken = words.contains { form in
                        (try? ArgumentParser.parse([command] + form + [Self.url])) != nil
                    }
                    #expect(isTaken, "\(word)")
                }
            }
        }
    }

    /// Options that one hint names can be typed together.
    @Test(arguments: ["command", "option", "get", "crawl", "other"])
    func noHintNamesRivals(_ kind: String) {
        for (names, text) in Advice.words(kind) {
            // Parts for several programs are alternatives.
            for part in text.split(separator: "; ") {
                let named = part.split { !$0.isLetter && $0 != "-" }.filter { $0.hasPrefix("--") }
                let ids = Set(named.compactMap { Option.ID(rawValue: String($0.dropFirst(2))) })
                for rule in Rule.all where rule.kind == .rivals && rule.condition == nil {
                    let own = ids.intersection(rule.options)
                    let count = rule.others.isEmpty ? own.count - 1 : own.isEmpty ? 0 : 1
                    let others = rule.others.isEmpty ? count : ids.intersection(rule.others).count
                    #expect(count < 1 || others < 1, "\(names): \(text)")
                }
            }
        }
    }

    @Test func bodiesThatAreNotCompressedAreRaw() throws {
        for (word, isRaw) in [
            ("--compressed", false), ("--no-compressed", true), ("--raw", true),
            ("--no-raw", false),
        ] {
            let settings = try ArgumentParser.parse(["get", word, Self.url])
            #expect(settings.fetch.wantsRawBody == isRaw, "\(word)")
        }
    }

    /// Letters that mean another thing here than in wget.
    @Test(arguments: [
        ("crawl -l 2", "--depth N"), ("crawl -np", "--scope prefix"), ("crawl -w 1", "--per-host"),
        ("get -w 1", "--per-host-delay"), ("get -l 2", "--depth N"), ("get -np", "--scope prefix"),
        ("crawl -mk", "--mirror DIR"), ("crawl -m", "--mirror DIR"), ("get -m", "--mirror DIR"),
        ("crawl -rkp", "without an option"), ("get -rl2", "crawl --mirror DIR"),
        ("get -d", "-v shows"), ("get -r 0-99", "Range: bytes=0-99"),
        ("get -U a", "get -A NAME"), ("crawl -d", "-v shows"), ("crawl -H", "--scope any"),
        ("crawl -E", "the name that its URL gives"), ("get -O a.html", "-o FILE"),
        ("get -i urls", "@FILE"), ("crawl -i urls", "--input-file FILE"),
        ("crawl -P dir", "--mirror DIR"), ("crawl -N", "--update asks again"),
        ("crawl -c", "goes on"), ("crawl -nc", "asks for each page once"), ("get -nd", "--tree"),
        ("crawl -A gmi,txt", "--include RE"), ("crawl -A .gmi", "--include RE"),
        ("crawl -e robots=off", "obeys robots files"), ("crawl -X /cgi-bin", "--exclude RE"),
        ("crawl -D h.test", "--scope any"), ("crawl -k -l 1", "--depth N"),
        ("get -N", "--if-changed"), ("crawl -x", "--mirror DIR"), ("get -n", "--netrc"),
    ])
    func wgetsLettersAreNoticed(_ line: String, _ answer: String) throws {
        let words = line.split(separator: " ").map(String.init) + [Self.url]
        let error = try #require(throws: FetchError.self) { try Self.judge(words) }
        #expect(error.outcome == .usage)
        #expect(error.hint?.contains(answer) ?? false, "\(error.message): \(error.hint ?? "")")
    }

    /// The same letters where they mean the same, or have a value that is ours.
    @Test(arguments: [
        "get -P dir -O", "get -c -O", "get -k", "crawl -k", "get -w %{status}", "get -A browser",
        "get -A Mozilla/5.0,x", "get -e gopher://a=b/", "get -i", "get -O", "get -d a",
        "crawl --wait 1", "get --no-check-certificate", "log -n 5", "log -n5", "log -5",
        "get -w 1\\n", "get --data-binary @f", "get --remote-name-all", "get --no-progress-meter",
        "get --compressed", "get --no-compressed",
    ])
    func oursAreTaken(_ line: String) throws {
        #expect(throws: Never.self) {
            try Self.judge(line.split(separator: " ").map(String.init) + [Self.url])
        }
    }
}
