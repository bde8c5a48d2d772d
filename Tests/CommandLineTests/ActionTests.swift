// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

@testable import SmallWebCLI

/// Commands that consist of actions: one table for the parser, help and completion.
@Suite(.timeLimit(.minutes(30)))
struct ActionTests {
    private static let commands = Command.all.filter { !$0.actions.isEmpty }
    private static let actions = commands.flatMap(\.actions)

    @Test func whatIsMissingOrUnknownIsNamed() throws {
        let smallweb = Smallweb()
        for (words, message, hint) in [
            ("identity new", "identity new wants a NAME", "usage: smallweb identity new NAME"),
            ("identity use x", "identity use wants a URL", "usage: smallweb identity use NAME URL"),
            ("identity remove", "identity remove wants a NAME", "identity remove NAME"),
            ("identity shwo x", "unknown action \"identity shwo\"", "did you mean show?"),
            ("identity show a b", "identity show does not take \"b\"", "identity show NAME"),
            ("trust add", "trust add wants a HOST[:PORT]", "add HOST[:PORT] [--pin sha256:HEX]"),
            ("trust ls", "unknown action \"trust ls\"", "did you mean 'smallweb trust list'?"),
            ("trust list --within 3d", "trust list does not take --within", "--within is for "),
            ("trust export a b", "trust export does not take \"b\"", "export --to CLIENT [DIR]"),
            ("bookmarks ad x", "unknown action \"bookmarks ad\"", "did you mean add?"),
            ("bookmarks add", "bookmarks add wants a URL", "bookmarks add URL [TITLE"),
            ("history claer", "unknown action \"history claer\"", "did you mean clear?"),
            ("history clear x", "history clear does not take \"x\"", "usage: smallweb history"),
            ("completions zhs", "completions wants bash, zsh or fish", "did you mean zsh?"),
            ("schemes x", "schemes does not take \"x\"", "usage: smallweb schemes"),
        ] {
            let screen = try Screen(isTerminal: true, columns: 200)
            let arguments = words.split(separator: " ").map(String.init)
            #expect(try smallweb.run(arguments, on: screen) { _ in } == 2)
            #expect(screen.shown.contains("smallweb: \(message)"), "\(words): \(screen.shown)")
            #expect(screen.shown.contains(hint), "\(words): \(screen.shown)")
        }
    }

    @Test(arguments: commands.map(\.name))
    func theHelpOfACommandNamesItsActions(_ name: String) throws {
        let command = try #require(Command.named(name))
        for text in [
            try Smallweb().run([name, "--help"]).text, try Smallweb().run(["help", name]).text,
        ] {
            for action in command.actions {
                #expect(text.contains("\n  \(action.word) "), "\(text)")
                #expect(text.contains(action.summary))
            }
        }
    }

    @Test(arguments: actions.map(\.name))
    func theHelpOfAnActionHasItsUsageAndItsOptions(_ name: String) throws {
        let action = try #require(Self.actions.first { $0.name == name })
        let words = name.split(separator: " ").map(String.init)
        let text = try Smallweb().run(words + ["--help"]).text
        #expect(text.hasPrefix("usage: smallweb \(name)"))
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 25 && lines.allSatisfy { $0.count <= 80 }, "\(text)")
        for option in action.options where !option.takers.contains(.configured) {
            #expect(text.contains("--\(option.long)"), "\(option.long): \(text)")
        }
        let whole = try Smallweb().run(["help"] + words).text
        #expect(action.options.allSatisfy { whole.contains("--\($0.long)") })
        let offered = try Smallweb().run(["__complete"] + words + ["-"]).text
        for option in Option.all {
            let name = "--\(option.long)"
            #expect(offered.contains(name + "\t") == action.takes(option), "\(name)")
        }
        let named = try Smallweb().run(["__complete"] + words).text
        #expect(named.hasPrefix("\(action.word)\t\(action.summary)\n"), "\(named)")
        for (line, _) in action.examples { #expect(line.contains("smallweb \(name)")) }
    }

    @Test func aKeyIsDeletedAfterAYesAlone() throws {
        var smallweb = Smallweb()
        smallweb.environment["SMALLWEB_IDENTITIES"] = smallweb.home.file("ids")
        let place = "gemini://a.test:1965/app"
        #expect(try smallweb.run(["identity", "new", "alice", place]).status == 0)
        let unasked = try smallweb.run(["identity", "remove", "alice"])
        #expect(unasked.status == 2 && unasked.errors.contains("--force"), "\(unasked.errors)")
        let file = smallweb.home.file("ids/alice.pem")
        for (answer, status) in [("\n", 2), ("no\n", 2), ("y\n", 0)] as [(String, Int32)] {
            #expect(FileManager.default.fileExists(atPath: file))
            let screen = try Screen(isTerminal: true, columns: 300)
            let remove = ["identity", "remove", "alice"]
            let result = try smallweb.run(remove, on: screen, input: true) { screen, _ in
                screen.waitFor("delete \(file), bound to \(place)? [y/N] ")
                try screen.reader.write(contentsOf: Data(answer.utf8))
            }
            #expect(result == status, "\(screen.shown)")
        }
        #expect(!FileManager.default.fileExists(atPath: file))
        #expect(try smallweb.run(["identity", "new", "bob"]).status == 0)
        #expect(try smallweb.run(["identity", "remove", "--force", "bob"]).status == 0)
    }

    /// Lists that are empty say how to begin, on standard error, where notes and text are wanted.
    @Test(arguments: [
        ("identity list", "no identities yet: 'smallweb identity new NAME' makes one"),
        ("bookmarks", "no bookmarks yet: 'smallweb bookmarks add URL' adds one"),
    ])
    func anEmptyListSaysHowToBegin(_ list: String, _ note: String) throws {
        var smallweb = Smallweb()
        smallweb.environment["SMALLWEB_IDENTITIES"] = smallweb.home.file("ids")
        let words = list.split(separator: " ").map(String.init)
        let empty = try smallweb.run(words)
        #expect(empty.status == 0 && empty.text == "")
        #expect(empty.errors == "smallweb: \(note)\n")
        for option in ["-q", "-s"] { #expect(try smallweb.run(words + [option]).errors == "") }
        let action = words.count == 1 ? words + ["list"] : words
        let records = try smallweb.run(action + ["--json"])
        #expect(records.status == 0 && records.text == "" && records.errors == "")
        _ = try smallweb.run(["identity", "new", "alice"])
        _ = try smallweb.run(["bookmarks", "add", "gemini://a.test/"])
        #expect(try smallweb.run(words).errors == "")
    }

    @Test func whatIsNotBoundCannotBeUnbound() throws {
        var smallweb = Smallweb()
        smallweb.environment["SMALLWEB_IDENTITIES"] = smallweb.home.file("ids")
        #expect(try smallweb.run(["identity", "new", "alice", "gemini://a.test/"]).status == 0)
        let elsewhere = try smallweb.run(["identity", "unuse", "-q", "alice", "gemini://b.test/"])
        #expect(elsewhere.status == 2)
        #expect(elsewhere.errors == "smallweb: alice is not bound to gemini://b.test:1965/\n")
        #expect(try smallweb.run(["identity", "unuse", "alice"]).status == 0)
        let again = try smallweb.run(["identity", "unuse", "-q", "alice"])
        #expect(again.status == 2 && again.errors == "smallweb: alice is not bound to any URL\n")
        #expect(try smallweb.run(["identity", "unuse", "bob"]).status == 58)
    }
}
