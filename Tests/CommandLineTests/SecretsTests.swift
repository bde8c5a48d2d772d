// SPDX-License-Identifier: MIT
import Foundation
import Glibc
import SmallWebTestSupport
import Testing

/// Secrets stay out of files that others read, and our own output does not drive a terminal.
@Suite struct SecretsTests {
    private let smallweb = Smallweb()

    private func write(_ text: String, _ name: String) throws {
        let url = URL(fileURLWithPath: smallweb.home.file(name))
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
    }

    private func ledger() -> String {
        String(decoding: smallweb.home.content("ledger") ?? [], as: UTF8.self)
    }

    @Test func aPasswordIsInNoRecord() throws {
        let server = try LoopbackServer(handler: DemoSites.web)
        let place = "http://Joe:secret@127.0.0.1:\(server.port)"
        for arguments in [
            ["get", "--json", "--ledger", "ledger", "--max-redirs", "0", place + "/redirect/2"],
            ["get", "--json", "--events", "--ledger", "ledger", place + "/redirect/2"],
            ["get", "--json", "--ledger", "ledger", "http://joe:secret@127.0.0.1:0/"],
            ["get", "--json", "http://joe:sec/ret@127.0.0.1/"],
            ["get", "--json", "nosuch://joe:secret@127.0.0.1/"],
            ["explain", "--json", place + "/"],
        ] {
            let result = try smallweb.run(arguments)
            #expect(try !Records(result.output).all.isEmpty)
            for text in [result.text, result.errors, ledger()] {
                #expect(!text.contains("secret") && !text.contains("sec/ret"), "\(text)")
            }
            #expect(result.text.contains("oe:***@127.0.0.1"), "\(result.text)")
        }
    }

    @Test func aLedgerKnowsAURLWithoutItsPassword() throws {
        let server = try LoopbackServer(handler: DemoSites.web)
        let url = { (password: String) in "http://joe:\(password)@127.0.0.1:\(server.port)/" }
        let run = { (password: String) throws in
            try smallweb.run(["--ledger", "ledger", url(password)])
        }
        #expect(try !run("secret").text.isEmpty)
        let attributes = try FileManager.default.attributesOfItem(
            atPath: smallweb.home.file("ledger"))
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(try run("secret").text.isEmpty)
        #expect(try run("changed").text.isEmpty)
        // As a ledger had it before.
        try write(
            #"{"type":"response","url":"\#(url("old"))","outcome":"ok"}"# + "\n", "ledger")
        #expect(try run("old").text.isEmpty)
    }

    @Test func ourOwnFilesDoNotDriveATerminal() throws {
        let danger = "\u{1B}]0;x\u{07}\u{202E}"
        let hash = String(repeating: "ab", count: 32)
        try write("user-agent = a\(danger)\n", "config")
        try write("1\tgopher://example.org/\(danger)\n", ".local/state/smallweb/history")
        try write(
            "a.test:1965 k sha256:\(hash) via=x\(danger)\n", ".local/share/smallweb/known_hosts")
        for arguments in [
            ["config", "-K", "config"], ["history"], ["trust", "list"],
            ["trust", "show", "a.test"],
        ] {
            let screen = try Screen(isTerminal: true, columns: 200)
            #expect(try smallweb.run(arguments, on: screen, output: true) { _, _ in } == 0)
            for character in ["\u{1B}", "\u{07}", "\u{202E}"] {
                #expect(!screen.shown.contains(character), "\(arguments) \(screen.shown)")
            }
            #expect(!screen.shown.isEmpty)
        }
        #expect(try smallweb.run(["config", "-K", "config"]).text == "user-agent = a\(danger)\n")
    }

    @Test func anAbsurdWidthIsATerminalsWidest() throws {
        let capsule = try Capsule(page: Array("20 text/gemini\r\n=> /a b\nc\n".utf8))
        var smallweb = smallweb
        for width in ["\(Int.max)", "\(Int.min)", "0", "1"] {
            smallweb.environment["SMALLWEB_FORCE_TTY"] = width
            for command in ["links", "get", "head"] {
                #expect(try smallweb.run([command, "-k", capsule.place]).status == 0, "\(width)")
            }
        }
    }

    @Test func headAsksNothing() throws {
        let hole = try Hole()
        let capsule = try Capsule(page: Array("10 Your name?\r\n".utf8))
        for (url, connections) in [(hole.place + "/7/search", 0), (capsule.place + "/", 1)] {
            let screen = try Screen(isTerminal: true)
            let arguments = ["head", "-k", url]
            let status = try smallweb.run(arguments, on: screen, input: true, output: true) {
                screen, _ in
                // An earlier version would have taken this for an answer.
                let answer = Array("words\n".utf8)
                _ = Glibc.write(screen.reader.fileDescriptor, answer, answer.count)
            }
            #expect(status == 101)
            #expect(screen.shown.contains("class        input"))
            let server = connections == 0 ? hole.server : capsule.server
            server.stop()
            #expect(server.connections.count == connections)
        }
    }

    @Test func aConfigFileMayBeginWithAByteOrderMark() throws {
        try write("\u{FEFF}max-time = 3\n", "config")
        #expect(try smallweb.run(["config", "-K", "config"]).text == "max-time = 3\n")
    }

    @Test func theFirstLineOfAPageMayHaveAByteOrderMark() throws {
        let capsule = try Capsule(page: Array("20 text/gemini\r\n\u{FEFF}=> /a b\n".utf8))
        #expect(try smallweb.run(["links", "-k", capsule.place]).text == "\(capsule.place)/a\tb\n")
        let records = try Records(smallweb.run(["links", "-k", "--json", capsule.place]).output)
        #expect(records["link"].first?["url"]?.string == capsule.place + "/a")
        // The body stays as it came.
        let body = try smallweb.run(["get", "-k", capsule.place]).output
        #expect(body == Array("\u{FEFF}=> /a b\n".utf8))
    }
}
