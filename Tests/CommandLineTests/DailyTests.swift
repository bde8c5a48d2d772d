// SPDX-License-Identifier: MIT
import Foundation
import SmallWebPlugins
import SmallWebRecords
import SmallWebTestSupport
import Testing

@testable import SmallWebCLI

/// Help, completion, history and bookmarks, from outside.
@Suite struct DailyTests {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path

    @Test func theOverviewFitsAScreen() throws {
        let lines = try Smallweb().run(["--help"]).text.split(
            separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 25)
        #expect(lines.allSatisfy { $0.count <= 80 })
        for command in Command.all {
            let isNamed = lines.contains { line in
                line.hasPrefix("  \(command.name)")
                    || [",", "."].contains { line.contains(" \(command.name)\($0)") }
            }
            #expect(isNamed, "\(command.name)")
        }
    }

    @Test(arguments: Command.all.map(\.name))
    func aCommandListsItsOptionsAndCompletesTheSame(_ name: String) throws {
        let command = try #require(Command.all.first { $0.name == name })
        let help = try Smallweb().run(["help", name]).text
        #expect(help.split(separator: "\n").allSatisfy { $0.count <= 80 })
        let completed = try Smallweb().run(["__complete", name, "-"]).text
        for option in Option.all {
            let takes = command.takes(option)
            let syntax = Help.syntax(option).drop { $0 == " " }
            #expect(help.contains("\(syntax)\n") || help.contains("\(syntax) ") == takes)
            #expect(completed.contains("--\(option.long)\t\(option.summary)\n") == takes)
        }
        #expect(!command.manual.isEmpty && !command.examples.isEmpty)
    }

    @Test(arguments: Command.all.map(\.name))
    func theHelpOfACommandFitsAScreen(_ name: String) throws {
        let command = try #require(Command.all.first { $0.name == name })
        let text = try Smallweb().run([name, "--help"]).text
        let lines = text.dropLast().split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 24 && lines.allSatisfy { $0.count <= 80 }, "\(text)")
        #expect(text.contains(command.examples[0].0))
        // Either all of its options are there, or where they are is.
        let isWhole = command.options.allSatisfy { text.contains("--\($0.long)") }
        #expect(isWhole || text.contains("All of them: smallweb help \(name)\n"))
    }

    /// An unset variable in a shell script leaves an empty argument.
    @Test(arguments: [
        ["-o", "", "gopher://h/"], ["-D", "", "gopher://h/"], ["-E", "", "x"], [""],
    ])
    func anEmptyWordIsNoName(arguments: [String]) throws {
        let result = try Smallweb().run(["get"] + arguments)
        #expect(result.status == 2)
        #expect(
            result.errors.contains(" names no file\n") || result.errors.contains(" empty word "))
    }

    @Test func standardInputIsNotCalledADash() throws {
        let result = try Smallweb().run(["put", "-q", "titan://127.0.0.1:1/a", "-"], stdin: "")
        #expect(result.status == 2)
        #expect(
            result.errors
                == "smallweb: standard input is empty, which would delete the page\n")
    }

    @Test func aPlaceIsNoURL() throws {
        let screen = try Screen(isTerminal: true)
        #expect(try Smallweb().run(["get", "localhost:1965/a"], on: screen) { _ in } == 1)
        #expect(
            screen.shown.contains("hint: gemini://localhost:1965/a"), "\(screen.shown)")
    }

    @Test func whoeverAsksIsToldWhatCannotBeRead() throws {
        let smallweb = Smallweb()
        for (command, path) in [
            ("history", ".local/state/smallweb/history"),
            ("bookmarks", ".config/smallweb/bookmarks"),
        ] {
            #expect(try smallweb.run([command]).status == 0)
            try FileManager.default.createDirectory(
                atPath: smallweb.home.file(path), withIntermediateDirectories: true)
            let result = try smallweb.run([command])
            #expect(result.status == 26)
            #expect(
                result.errors.hasSuffix("\(path): it is a directory, not a file\n"),
                "\(result.errors)")
        }
    }

    @Test func aBookmarkIsRemovedByWhatWasTyped() throws {
        let smallweb = Smallweb()
        _ = try smallweb.run(["bookmarks", "add", "GEMINI://Example.org"])
        #expect(try smallweb.run(["bookmarks", "remove", "GEMINI://Example.org"]).status == 0)
        #expect(try smallweb.run(["bookmarks"]).text == "")
    }

    @Test(arguments: ["history", "bookmarks", "completions"])
    func whatNeedsNoNetworkHasNoOptionsForIt(name: String) throws {
        let result = try Smallweb().run([name, "-q", "--progress", "bar"])
        #expect(result.status == 2)
        let action = Command.named(name)?.actions.first?.name ?? name
        #expect(result.errors == "smallweb: \(action) does not take --progress\n")
    }

    @Test(arguments: [["get", "--retry"], ["head", "--retry"], ["links", "--retry"]])
    func helpAnswersForOneOption(words: [String]) throws {
        let text = try Smallweb().run(["help"] + words).text
        let option = try #require(Option.named("retry"))
        #expect(text.contains("--retry N") && text.contains(option.example), "\(text)")
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 79 }, "\(text)")
        let action = try Smallweb().run(["help", "trust", "add", "--pin"]).text
        #expect(action.contains("--pin") && action.contains("public key"), "\(action)")
        #expect(try Smallweb().run(["help", "get", "-O"]).text.contains("--remote-name"))
        for word in ["max-time", "--max-time", "-m"] {
            #expect(try Smallweb().run(["help", word]).text.contains("--max-time TIME "))
        }
        let help = try Smallweb().run(["help", "--help"]).text
        #expect(help.hasPrefix("usage: smallweb help"), "\(help)")
        #expect(try Smallweb().run(["help", "60"]).text.contains("  60  untrusted"))
    }

    @Test func aMistypedNameHasANearestOne() throws {
        for (words, hint) in [
            (["get", "--outptu", "x"], "did you mean --output?"), (["gte"], "did you mean get?"),
            (["help", "exit-staus"], "did you mean exit-status?"),
            (["help", "exit"], "did you mean exit-status?"),
            (["get", "--out", "x"], "did you mean --output?"),
            (["schemes", "--fallback-crul"], "did you mean --fallback-curl?"),
            (["help", "get", "--retyr"], "did you mean --retry?"),
            (["help", "get", "retyr"], "did you mean --retry?"),
            (["help", "schemes", "--retry"], "'smallweb help schemes' lists its options"),
            (["config", "where"], "'smallweb config --show-origin' lists the settings"),
        ] {
            let screen = try Screen(isTerminal: true)
            #expect(try Smallweb().run(words, on: screen) { _ in } == 2)
            #expect(screen.shown.contains("hint: \(hint)"), "\(screen.shown)")
        }
    }

    @Test(
        arguments: [
            ([:], [], true, true), ([:], [], false, false), (["NO_COLOR": "1"], [], true, false),
            // As no-color.org has it, it must not be empty.
            (["NO_COLOR": ""], [], true, true), (["TERM": "dumb"], [], true, false),
            (["CLICOLOR": "0"], [], true, false), (["CLICOLOR_FORCE": "1"], [], false, true),
            (["CLICOLOR_FORCE": "0"], [], false, false),
            (["NO_COLOR": "1", "CLICOLOR_FORCE": "1"], [], true, false),
            (["NO_COLOR": "1"], ["--color", "always"], false, true),
            (["CLICOLOR_FORCE": "1"], ["--color", "never"], true, false),
        ] as [([String: String], [String], Bool, Bool)])
    func colourIsWhereItIsWanted(
        _ environment: [String: String], _ options: [String], _ isTerminal: Bool, _ isThere: Bool
    ) throws {
        var smallweb = Smallweb()
        smallweb.environment = environment
        let screen = try Screen(isTerminal: isTerminal)
        #expect(try smallweb.run(["get", "nope://x/"] + options, on: screen) { _ in } == 1)
        #expect(screen.shown.contains("\u{1B}[31msmallweb: ") == isThere, "\(screen.shown)")
    }

    @Test func referencesOfWhatIsNotAURLAreRefused() throws {
        let result = try Smallweb().run(["refs", "-q", "nosuch"])
        #expect(result.status == 3)
        #expect(result.errors == "smallweb: nosuch: no scheme in \"nosuch\"\n")
    }

    @Test func referencesAreColumnsOnATerminal() throws {
        let server = try LoopbackServer(handler: DemoSites.git)
        let url = "git://127.0.0.1:\(server.port)/demo.git"
        let piped = try Smallweb().run(["refs", url])
        #expect(piped.status == 0)
        let first = try #require(piped.text.split(separator: "\n").first)
        #expect(first.split(separator: "\t").count == 2)
        let screen = try Screen(isTerminal: true)
        var smallweb = Smallweb()
        smallweb.environment["NO_COLOR"] = "1"
        #expect(try smallweb.run(["refs", url], on: screen, output: true) { _ in } == 0)
        let lines = screen.shown.split(whereSeparator: \.isNewline)
        #expect(lines.first == "OBJECT        REFERENCE")
        #expect(lines.contains { $0.hasPrefix(first.prefix(12) + "  ") }, "\(screen.shown)")
        #expect(lines.allSatisfy { $0.count <= 80 && !$0.contains("\t") })
    }

    @Test func everyTopicFitsAScreen() throws {
        for topic in Texts.topics {
            let text = try Smallweb().run(["help", topic.name]).text
            #expect(text == topic.texts.page)
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.allSatisfy { $0.count <= 80 }, "\(topic.name)")
        }
        let json = try Smallweb().run(["help", "json"]).text
        let words = Set(json.split(whereSeparator: \.isWhitespace).map(String.init))
        #expect(words.isSuperset(of: RecordFields.all(.builtIn)))
    }

    /// The name of a man page, or the plural.
    @Test(arguments: [
        ("smallweb-wire", "wire"), ("smallweb-json", "json"), ("smallweb-get", "get"),
        ("smallweb-plugin", "plugin"), ("plugins", "plugin"),
    ])
    func helpKnowsWhatElseThingsAreCalled(_ name: String, _ other: String) throws {
        let text = try Smallweb().run(["help", name]).text
        let expected = try Smallweb().run(["help", other]).text
        #expect(!text.isEmpty && text == expected)
    }

    @Test func anOptionThatACommandHasNoUseForIsRefused() throws {
        let result = try Smallweb().run(["schemes", "-q", "--output", "x"])
        #expect(result.status == 2)
        #expect(result.errors == "smallweb: schemes does not take --output\n")
        #expect(try Smallweb().run(["schemes", "--fallback-curl", "-q"]).status != 2)
    }

    @Test func theScriptsAreThoseThatTheProgramPrints() throws {
        for (shell, file, _) in Completion.scripts {
            let committed = try String(
                contentsOfFile: "\(Self.root)/completions/\(file)", encoding: .utf8)
            #expect(try Smallweb().run(["completions", shell]).text == committed)
        }
    }

    @Test func theDesktopEntryNamesTheSchemesForReading() throws {
        let committed = try String(
            contentsOfFile: "\(Self.root)/docs/packaging/smallweb.desktop", encoding: .utf8)
        #expect(committed.contains("x-scheme-handler/gemini;"))
        // Nobody's browser is taken away.
        #expect(!committed.contains("http"))
    }

    @Test func whatIsCommittedIsWhatTheTablesSay() throws {
        let home = Smallweb.Home()
        let generator = URL(filePath: Smallweb.binary).deletingLastPathComponent()
            .appending(path: "smallweb-manual")
        let process = try Process.run(
            generator, arguments: [Self.root + "/docs", home.path])
        process.waitInTime()
        #expect(process.terminationStatus == 0)
        for directory in ["man", "completions"] {
            let committed = try FileManager.default.contentsOfDirectory(
                atPath: "\(Self.root)/\(directory)")
            #expect(committed.sorted() == home.files(below: directory).sorted())
        }
        let made = home.files(below: ".")
        #expect(made.count > 25)
        for file in made {
            let text = try String(contentsOfFile: "\(Self.root)/\(file)", encoding: .utf8)
            #expect(String(decoding: home.content(file) ?? [], as: UTF8.self) == text, "\(file)")
        }
    }

    @Test func branchesAndTagsThatWereListedAreOffered() throws {
        let server = try LoopbackServer(handler: DemoSites.git)
        let url = "git://127.0.0.1:\(server.port)/demo.git"
        let smallweb = Smallweb()
        let names = try smallweb.run(["refs", "--history", url]).text.split(separator: "\n")
            .compactMap {
                $0.split(separator: "/", maxSplits: 2).dropFirst(2).first.map(String.init)
            }
            .filter { !$0.hasSuffix("^{}") }
        #expect(names.count > 1)
        for place in ["", "//docs/guide.md"] {
            let word = url + place + "?ref="
            let offered = try smallweb.run(["__complete", "get", word]).text
            #expect(offered == names.map { word + $0 + "\n" }.joined() + ":\n")
            let one = try smallweb.run(["__complete", "get", word + names[0]]).text
            #expect(one.hasPrefix(word + names[0] + "\n"))
        }
        let file = try #require(smallweb.home.files(below: ".cache").first)
        let path = smallweb.home.file(".cache/" + file)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        // Neither --no-history nor a pattern fills the cache, and clearing the history empties it.
        let other = Smallweb()
        #expect(try other.run(["refs", "--no-history", url]).status == 0)
        #expect(try other.run(["refs", "--history", url, "v*"]).status == 0)
        #expect(other.home.files(below: ".cache").isEmpty)
        #expect(try smallweb.run(["history", "clear"]).status == 0)
        #expect(smallweb.home.files(below: ".cache").isEmpty)
    }

    private func smallweb(visited urls: [String], bookmarks: String = "") throws -> Smallweb {
        let smallweb = Smallweb()
        for (directory, name, text) in [
            (".local/state", "history", urls.map { "1795212233\t\($0)\n" }.joined()),
            (".config", "bookmarks", bookmarks),
        ] {
            let path = smallweb.home.file("\(directory)/smallweb")
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
        }
        let data = smallweb.home.file(".local/share/smallweb")
        try FileManager.default.createDirectory(
            atPath: data, withIntermediateDirectories: true)
        let pin = "above.test:1965 k sha256:\(String(repeating: "ab", count: 32))\n"
        try Data(pin.utf8).write(to: URL(fileURLWithPath: data + "/known_hosts"))
        return smallweb
    }

    @Test(arguments: [
        (["get", "gem"], "gemini://\tGemini (specification 0.24.1)\n:nospace\n"),
        (
            ["get", "gemini://"],
            "gemini://a.example/\ngemini://above.test/\ngemini://b.example/\n:nospace\n"
        ),
        (["get", "gemini://a.example/"], "gemini://a.example/x/\n:nospace\n"),
        (
            ["get", "gemini://a.example/x/"],
            "gemini://a.example/x/1\ngemini://a.example/x/2\n:\n"
        ),
        (["get", "b.ex"], "gemini://b.example/\n:nospace,replace\n"),
        // Every host with this prefix, but no host that has it after a dot.
        (["get", "a"], "gemini://a.example/\ngemini://above.test/\n:nospace,replace\n"),
        (["get", "abov"], "gemini://above.test/\n:nospace,replace\n"),
        (["get", "tit"], ":\n"), (["open", "titan:"], ":\n"), (["put", "gemi"], ":\n"),
        (
            ["put", "ti"],
            "titan://\tTitan uploads (transjovian.org/titan), for 'smallweb put'\n:nospace\n"
        ),
        (["put", "abo"], "titan://above.test/\n:nospace,replace\n"),
        (["put", "titan://ab"], "titan://above.test/\n:nospace\n"),
        (["refs", "gem"], ":\n"),
        (["refs", "https"], "https://\tHTTP over TLS through libcurl (RFC 9110)\n:nospace\n"),
        (["get", "--color="], "--color=auto\n--color=always\n--color=never\n:\n"),
        (["get", "--body=t"], "--body=text\n:\n"),
        (["get", "--fields", "url,st"], "url,stale\nurl,status\n:\n"),
        (["get", "--fields=url,ur"], "--fields=url,url_input\n:\n"),
        (["get", "--only", "timeout,con"], "timeout,connect\n:\n"),
        (["get", "--trust", "lo"], "locked\n:\n"),
        (["get", "-X", "P"], "PATCH\nPOST\nPUT\n:\n"),
        (["get", "--identity", ""], ":\n"),
        (["trust", "import", "--from", "gm"], "gmni\n:\n"),
        (["trust", "import", ""], ":files\n"),
        (["trust", "show", ""], "above.test\n:\n"),
        (["get", "-o", ""], ":files\n"),
        (["get", "-P", ""], ":dirs\n"),
        (["get", "-d", "@x"], ":files\n"),
        (["get", "--", "-x"], ":\n"),
        (["history", "c"], "clear\tforget them all\n:\n"),
        (["get", "--proto", "gemini,gophers"], "gemini,gophers\tGopher over TLS\n:\n"),
    ])
    func completes(_ words: [String], _ expected: String) throws {
        let smallweb = try smallweb(visited: [
            "gemini://a.example/x/1", "gemini://a.example/x/2", "gemini://b.example/",
        ])
        let result = try smallweb.run(["__complete"] + words)
        #expect(result.text == expected)
        #expect(result.status == 0 && result.errors.isEmpty)
    }

    @Test func bookmarksComeFirstAndThenTheLatestVisits() throws {
        let smallweb = try smallweb(
            visited: ["gemini://old.example/", "gemini://new.example/"],
            bookmarks: "gemini://kept.example/\tKept\n")
        let result = try smallweb.run(["__complete", "get", ""]).text
        #expect(
            result
                == "gemini://kept.example/\tKept\ngemini://new.example/\ngemini://old.example/\n"
                + ":keep-order\n")
    }

    @Test func aHistoryOfFiveThousandLinesIsQuick() throws {
        let smallweb = try smallweb(
            visited: (0..<5000).map { "gemini://host\($0 % 300).example/page/\($0)" })
        // One run that is quick suffices: others use the machine as well.
        var best = Duration.seconds(1)
        for _ in 0..<50 where best >= .milliseconds(500) {
            let start = ContinuousClock.now
            let result = try smallweb.run(["__complete", "get", "gemini://host7"])
            #expect(result.text.contains("gemini://host7.example/\n"))
            best = min(best, start.duration(to: .now))
        }
        #expect(best < .milliseconds(500), "of an unoptimised build")
    }

    @Test func aVisitIsRecordedWithoutQueryAndPassword() throws {
        let hole = try Hole()
        let smallweb = Smallweb()
        #expect(
            History.entry("https://u:secret@example.org/a?q=b#c", .builtIn)
                == "https://example.org/a")
        #expect(History.entry("finger://ada@example.org", .builtIn) == "finger://ada@example.org")
        #expect(
            try smallweb.run(["get", "--history", hole.place + "/7/search%09hush"]).status == 0)
        #expect(try smallweb.run(["get", hole.place + "/0/about.txt"]).status == 0)
        #expect(try smallweb.run(["history"]).text == hole.place + "/7/search\n")
        let path = smallweb.home.file(".local/state/smallweb/history")
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(try smallweb.run(["history", "clear"]).status == 0)
        #expect(try smallweb.run(["history"]).text.isEmpty)
    }

    @Test func manyAppendAtOnceAndTheFileStaysShort() async throws {
        let hole = try Hole()
        let smallweb = try smallweb(
            visited: (0..<4100).map { "gemini://host.example/with/a/long/path/to/the/page/\($0)" })
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<24 {
                group.addTask {
                    _ = try? smallweb.run([
                        "get", "--history", "\(hole.place)/0/about.txt#\(number)",
                    ])
                    _ = try? smallweb.run([
                        "get", "--history", "\(hole.place)/7/search%09\(number)",
                    ])
                }
            }
        }
        let history = try smallweb.run(["history"]).text.split(separator: "\n")
        #expect(history.contains { $0.hasSuffix("/0/about.txt") })
        #expect(history.count <= 2000)
        let bytes = try #require(smallweb.home.content(".local/state/smallweb/history"))
        let lines = bytes.split(separator: UInt8(ascii: "\n"))
        #expect(lines.count < 4002)
        #expect(lines.allSatisfy { $0.count(where: { $0 == UInt8(ascii: "\t") }) == 1 })
    }

    @Test func bookmarksAreAddedRenamedAndRemoved() throws {
        let smallweb = Smallweb()
        let url = "gemini://example.org/"
        #expect(try smallweb.run(["bookmarks", "add", url, "One"]).status == 0)
        #expect(try smallweb.run(["bookmarks", "add", url, "Two words"]).status == 0)
        #expect(try smallweb.run(["bookmarks"]).text == "\(url)\tTwo words\n")
        #expect(try smallweb.run(["bookmarks", "remove", url + "x"]).status == 2)
        #expect(try smallweb.run(["bookmarks", "remove", url]).status == 0)
        #expect(try smallweb.run(["bookmarks"]).text.isEmpty)
    }
}
