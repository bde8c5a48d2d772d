// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

@testable import SmallWebCLI

/// Settings take effect, or they are refused; in a config file they are ignored with a note, and
/// `explain` gives the origin of each.
@Suite(.timeLimit(.minutes(30)))
struct SettingsTests {
    private let smallweb = Smallweb()
    private var config: String { smallweb.home.file("config") }

    private func write(_ text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: config))
    }

    @Test(arguments: ["jobs", "per-host", "loops"])
    func noneAtATimeIsAMistake(_ name: String) throws {
        let url = "gopher://127.0.0.1:1/"
        let result = try smallweb.run(["get", "--\(name)", "0", url])
        #expect(result.status == 2)
        #expect(result.errors == "smallweb: --\(name) wants 1 or more, not \"0\"\n")
        try write("\(name) = 0\n")
        let file = try smallweb.run(["get", "-K", config, url])
        #expect(file.status == 2 && file.errors.hasPrefix("smallweb: \(config):1: --\(name) "))
        if name == "jobs" { #expect(try smallweb.run(["get", "-j", "0", url]).status == 2) }
    }

    @Test func moreThanTheMostIsAMistake() throws {
        let result = try smallweb.run(["get", "--jobs", "1000001", "gopher://127.0.0.1:1/"])
        #expect(result.status == 2)
        let expected = "--jobs wants a whole number up to 1000000, not \"1000001\""
        #expect(result.errors == "smallweb: \(expected)\n")
    }

    @Test(arguments: [
        ["--proxy", "socks5h://127.0.0.1:1", "--unix-socket", "socket"],
        ["--identity", "alice", "--cert", "alice.pem"],
    ])
    func twoWaysAtOnceAreAMistake(_ options: [String]) throws {
        let result = try smallweb.run(["get"] + options + ["gemini://127.0.0.1:1/"])
        #expect(result.status == 2)
        let expected = "\(options[0]) and \(options[2]) exclude each other"
        #expect(result.errors == "smallweb: \(expected)\n")
    }

    // MARK: Settings that a scheme does not support

    /// A setting for all schemes in a config file is no error for a scheme without it.
    @Test func aConfigFileMaySayWhatOtherSchemesHave() throws {
        let hole = try Hole()
        #expect(try smallweb.run(["identity", "new", "alice"]).status == 0)
        #expect(try smallweb.run(["identity", "new", "bob"]).status == 0)
        try write("identity = alice\n")
        let url = hole.place + "/0/about.txt"
        let result = try smallweb.run(["get", "-K", config, "-v", url])
        #expect(result.status == 0, "\(result.errors)")
        let note = "identity is ignored for gopher, which has no identities"
        #expect(result.errors.contains("\(config):1: \(note)"), "\(result.errors)")
        #expect(try smallweb.run(["get", "--identity", "alice", url]).status == 2)
        let list = "{\"url\":\"\(url)\",\"identity\":\"bob\"}\n"
        #expect(try smallweb.run(["get", "-K", config, "-"], stdin: list).status == 2)
    }

    @Test func aHostMeansTheSameHoweverItIsWritten() throws {
        try write(
            "[host b\u{FC}cher.example]\ntrust = locked\n[host Example.ORG]\ntrust = ca\n"
                + "[host example.net.]\ntrust = ca\n")
        for (url, policy) in [
            ("gemini://b\u{FC}cher.example/", "locked"),
            ("gemini://xn--bcher-kva.example/", "locked"), ("gemini://example.org./", "ca"),
            ("gemini://example.net/", "ca"), ("gemini://example.net./", "ca"),
        ] {
            let result = try smallweb.run(["explain", "--json", "-K", config, url])
            #expect(result.text.contains("\"policy\":\"\(policy)\""), "\(result.text)")
        }
        try write("[host xn--bcher-kva.example]\ntrust = locked\n")
        let result = try smallweb.run(
            ["explain", "--json", "-K", config, "gemini://b\u{FC}cher.example/"])
        #expect(result.text.contains("\"policy\":\"locked\""), "\(result.text)")
    }

    @Test func aPolicyThatWantsAKeyIsRefusedWithoutTLS() throws {
        let (hole, web) = (try Hole(), try LoopbackServer(handler: DemoSites.web))
        let urls = [hole.place + "/0/about.txt", "http://127.0.0.1:\(web.port)/about"]
        for url in urls {
            let scheme = url.prefix { $0 != ":" }
            for policy in ["ca", "both", "locked"] {
                let result = try smallweb.run(["get", "-q", "--trust", policy, url])
                #expect(result.status == 2)
                #expect(
                    result.errors == "smallweb: \(url): --trust cannot be used with \(scheme), "
                        + "which has no TLS\n")
                #expect(try smallweb.run(["explain", "--trust", policy, url]).status == 2)
            }
        }
        #expect(hole.server.connections.isEmpty && web.connections.isEmpty)
        for policy in ["tofu", "ask"] {
            #expect(try smallweb.run(["get", "--trust", policy, urls[0]]).status == 0)
        }
    }

    @Test(arguments: [["-c"], ["--continue"], ["-C", "-"], ["-C", "3"]])
    func whatCannotResumeIsNotContinued(_ words: [String]) throws {
        let hole = try Hole()
        let url = hole.place + "/0/about.txt"
        let result = try smallweb.run(["get", "-q", "-O"] + words + [url])
        let name = words[0] == "-C" ? "continue-at" : "continue"
        #expect(result.status == 2)
        #expect(
            result.errors == "smallweb: \(url): --\(name) cannot be used with gopher, "
                + "which cannot resume\n")
        #expect(hole.server.connections.isEmpty && smallweb.home.names.isEmpty)
    }

    @Test func inAListItIsARecordAndTheRunGoesOn() throws {
        let (hole, capsule) = (try Hole(), try Capsule())
        let about = hole.place + "/0/about.txt"
        let lines = [
            "{\"url\":\"\(about)\",\"trust\":\"locked\"}", about,
            "{\"url\":\"\(about)\",\"trust\":\"tofu\"}",
        ]
        let list = lines.joined(separator: "\n") + "\n"
        let result = try smallweb.run(["get", "--json", "-"], stdin: list)
        #expect(try Records(result.output).exits == [2, 0, 0])
        let error = try Records(result.output)["error"][0]
        #expect(error["outcome"]?.string == "usage" && error["error"]?["line"]?.int == 1)
        // For a whole run.
        let urls = "\(about)\n\(capsule.place)/about\n"
        let strict = try smallweb.run(["get", "--json", "--trust", "locked", "-"], stdin: urls)
        #expect(try Records(strict.output).exits == [2, 60])
        #expect(try Records(strict.output).summary?["requests"]?.int == 2)
    }

    @Test func fromTheConfigFileItIsIgnoredWithANote() throws {
        let (hole, capsule) = (try Hole(), try Capsule())
        let pin = "sha256:" + String(repeating: "0", count: 64)
        try write("trust = locked\ncontinue = true\n[scheme gopher]\npin = \(pin)\n")
        let url = hole.place + "/0/about.txt"
        let result = try smallweb.run(["get", "-K", config, "-v", "-O", url])
        #expect(result.status == 0 && smallweb.home.content("about.txt") != nil)
        let notes = result.errors.split(separator: "\n").map(String.init)
            .filter { $0.contains(": note: ") }
        for note in [
            "1: trust is ignored for gopher, which has no TLS",
            "2: continue is ignored for gopher, which cannot resume",
            "4: pin is ignored for gopher, which has no TLS",
        ] {
            #expect(notes.contains("smallweb: \(url): note: \(config):\(note)"), "\(notes)")
        }
        #expect(notes.count == 3)
        let record = try Records(smallweb.run(["get", "--json", "-K", config, url]).output)
        let codes = record.terminal[0]["warnings"]?.array.map { $0["code"]?.string }
        #expect(codes == ["setting-ignored", "setting-ignored", "setting-ignored"])
        // It holds where it can.
        let locked = capsule.place + "/about"
        #expect(try smallweb.run(["get", "-K", config, "-O", locked]).status == 60)
    }

    // MARK: Where settings are made

    @Test func explainSaysWhereEachSettingIsMade() throws {
        try write(
            """
            max-redirs = 2
            trust = locked
            [host 127.0.0.1:70]
            proxy = socks5h://127.0.0.1:9
            [host 127.0.0.1:71]
            max-filesize = 1k
            [scheme gopher]
            max-redirs = 3

            """)
        let words = ["explain", "-K", config, "--max-time", "3", "gopher://127.0.0.1/1"]
        let text = try smallweb.run(words).text
        #expect(text.contains("  proxy         socks5h://127.0.0.1:9, by \(config):4\n"), "\(text)")
        #expect(
            text.contains(
                """
                  setting       max-redirs, from \(config):8
                  setting       proxy, from \(config):4

                """), "\(text)")
        let record = try Records(smallweb.run(words + ["--json"]).output)["explanation"][0]
        #expect(
            record["origin"]
                == .object(["max-redirs": .string("\(config):8"), "proxy": .string("\(config):4")]))
        #expect(record["proxy_reason"]?.string == "--proxy")
        // An option on the command line overrides the file.
        let none = try smallweb.run(
            ["explain", "--json", "-K", config, "--max-redirs", "1", "gopher://127.0.0.2/1"])
        #expect(try Records(none.output)["explanation"][0]["origin"] == .object([:]))
    }
}
