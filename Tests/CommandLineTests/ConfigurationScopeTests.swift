// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

@testable import SmallWebCLI

/// Options that a section of the config file may have: exactly the ones with an effect there.
@Suite(.timeLimit(.minutes(30)))
struct ConfigurationScopeTests {
    /// One server of each kind.
    private final class Servers: Sendable {
        let ports: [String: UInt16]
        private let all: [LoopbackServer]

        init() throws {
            let titan: @Sendable (Peer) -> Void = { peer in
                let line = peer.readLine() ?? []
                peer.write(Array("20 text/plain\r\n".utf8) + line)
            }
            let servers = try [
                "GOPHER": LoopbackServer(handler: DemoSites.gopher),
                "GEMINI": LoopbackServer(tls: .make(), handler: DemoSites.gemini()),
                "TITAN": LoopbackServer(tls: .make(), handler: titan),
                "HTTP": LoopbackServer(handler: DemoSites.web),
                "GIT": LoopbackServer(handler: DemoSites.git),
                "SILENT": LoopbackServer { $0.hang() },
                "EMPTY": LoopbackServer { _ = $0.readLine() },
            ]
            ports = servers.mapValues(\.port)
            all = Array(servers.values)
        }

        /// With the port of each server instead of its name.
        func filled(_ text: String) -> String {
            ports.reduce(text) { $0.replacingOccurrences(of: $1.key, with: "\($1.value)") }
        }
    }

    /// For each option a value, and a command line that it changes.
    private static let effects: [(option: String, value: String, words: String)] = [
        ("remote-name", "true", "get gopher://127.0.0.1:GOPHER/0/about.txt"),
        ("output-dir", "d", "get -O --create-dirs gopher://127.0.0.1:GOPHER/0/about.txt"),
        ("tree", "true", "get gopher://127.0.0.1:GOPHER/0/about.txt"),
        ("create-dirs", "true", "get -O -P d gopher://127.0.0.1:GOPHER/0/about.txt"),
        ("fail", "false", "get gopher://127.0.0.1:GOPHER/0/missing"),
        ("fail-with-body", "true", "get gopher://127.0.0.1:GOPHER/0/missing"),
        ("allow-empty", "true", "get gopher://127.0.0.1:EMPTY/0/about.txt"),
        ("show-headers", "true", "get gemini://127.0.0.1:GEMINI/about"),
        ("continue-at", "3", "get http://127.0.0.1:HTTP/about"),
        ("raw", "true", "get gopher://127.0.0.1:GOPHER/0/dots.txt"),
        ("head", "true", "get --json --fields body gopher://127.0.0.1:GOPHER/0/about.txt"),
        ("render", "plain", "get gemini://127.0.0.1:GEMINI/"),
        ("hyperlink", "never", "get --render ansi gemini://127.0.0.1:GEMINI/"),
        ("all", "true", "links gopher://127.0.0.1:GOPHER/"),
        ("fields", "size", "get --json gopher://127.0.0.1:GOPHER/0/about.txt"),
        ("body", "base64", "get --json --fields body gopher://127.0.0.1:GOPHER/0/about.txt"),
        ("inline-max", "1", "get --json --fields body gopher://127.0.0.1:GOPHER/0/about.txt"),
        ("stream", "true", "get --json --fields body gopher://127.0.0.1:GOPHER/0/about.txt"),
        ("with-links", "true", "get --json --fields links gopher://127.0.0.1:GOPHER/"),
        ("events", "true", "get --json --fields body http://127.0.0.1:HTTP/moved"),
        ("no-clobber", "true", "get -o file gopher://127.0.0.1:GOPHER/0/about.txt"),
        ("skip-existing", "true", "get -v -o file gopher://127.0.0.1:GOPHER/0/about.txt"),
        ("continue", "true", "get -o file http://127.0.0.1:HTTP/about"),
        ("data", "words", "get gopher://127.0.0.1:GOPHER/7/search"),
        ("location", "false", "get http://127.0.0.1:HTTP/moved"),
        ("max-redirs", "0", "get http://127.0.0.1:HTTP/moved"),
        ("proto", "gemini", "get gopher://127.0.0.1:GOPHER/0/about.txt"),
        (
            "proto-redir", "http",
            "get gopher://127.0.0.1:GOPHER/hURL:http://127.0.0.1:HTTP/about"
        ),
        ("exit-code", "true", "refs git://127.0.0.1:GIT/demo.git nosuch"),
        ("header", "X-A: b", "get http://127.0.0.1:HTTP/echo"),
        ("user-agent", "me", "get http://127.0.0.1:HTTP/echo"),
        ("referer", "http://a.example/", "get http://127.0.0.1:HTTP/echo"),
        ("request", "PUT", "get http://127.0.0.1:HTTP/echo"),
        ("mime", "text/x-a", "put titan://127.0.0.1:TITAN/a file"),
        ("token-file", "file", "put titan://127.0.0.1:TITAN/a file"),
        ("ask-token", "true", "put titan://127.0.0.1:TITAN/a file"),
        ("delete", "true", "put titan://127.0.0.1:TITAN/a /dev/null"),
        ("max-filesize", "3", "get gopher://127.0.0.1:GOPHER/0/about.txt"),
        ("insecure", "true", "get gemini://127.0.0.1:GEMINI/about"),
        ("ipv4", "true", "get -v --resolve h:GOPHER:[::1],127.0.0.1 gopher://h:GOPHER/0/about.txt"),
        ("ipv6", "true", "get gopher://127.0.0.1:GOPHER/0/about.txt"),
        ("resolve", "h.invalid:GOPHER:127.0.0.1", "get gopher://h.invalid:GOPHER/0/about.txt"),
        ("trust", "locked", "get gemini://127.0.0.1:GEMINI/about"),
        (
            "pin", "sha256:" + String(repeating: "0", count: 64),
            "get gemini://127.0.0.1:GEMINI/about"
        ),
        ("known-hosts", "hosts", "get gemini://127.0.0.1:GEMINI/about"),
        ("identity", "ada", "get gemini://127.0.0.1:GEMINI/about"),
        ("cert", "file", "get gemini://127.0.0.1:GEMINI/about"),
        ("proxy", "http://127.0.0.1:1", "get http://127.0.0.1:HTTP/about"),
        ("noproxy", "127.0.0.1", "get -x http://127.0.0.1:1 http://127.0.0.1:HTTP/about"),
        ("proxy-auth", "file", "get gopher://127.0.0.1:GOPHER/0/about.txt"),
        ("proxy-command", "exit 3", "get gopher://127.0.0.1:GOPHER/0/about.txt"),
        ("isolate", "true", "get gopher://127.0.0.1:GOPHER/0/about.txt"),
        ("connect-to", "127.0.0.1:1:127.0.0.1:HTTP", "get http://127.0.0.1:1/about"),
        ("unix-socket", "/nonexistent", "get http://127.0.0.1:HTTP/about"),
        ("fallback-curl", "true", "get dict://127.0.0.1:1/d:word"),
    ]

    /// Without them these would not end.
    private static let limits: [(option: String, value: String, words: String)] = [
        ("max-time", "0.05", "get gopher://127.0.0.1:SILENT/"),
        ("read-timeout", "0.05", "get gopher://127.0.0.1:SILENT/"),
        ("connect-timeout", "0.05", "get gemini://127.0.0.1:SILENT/"),
    ]

    private static let exceptions: [String: String] = [
        "netrc": "its effect needs ~/.netrc: HTTPAnswerTests",
        "no-private": "its effect needs a public address: HTTPAnswerTests",
        "overwrite": "its effect needs a file that has the URL's name",
        "remote-header-name": "its effect needs a reply that names a file: RemoteHeaderNameTests",
        "limit-rate": "its effect is time",
        "compressed": "it is the default, and off it is raw",
        "if-changed": "its effect needs a file of an earlier fetch: UnchangedTests",
        "remote-time": "its effect is the time of a file: UnchangedTests",
        "time-cond": "its effect needs a server that knows conditions: UnchangedTests",
        "plugin": "its effect needs a folder: ProgramTests",
        "key": "of use with cert alone, and read where cert is",
        "key-password-file": "of use with cert alone, and read where cert is",
    ]

    private struct Observed: Equatable {
        let status: Int32
        let output: String
        let errors: String
        let files: [String]
    }

    private func run(_ words: String, config: String) throws -> Observed {
        let smallweb = Smallweb()
        for (name, text) in [("config", config), ("file", "hello")] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: smallweb.home.file(name)))
        }
        let result = try smallweb.run(
            words.split(separator: " ").map(String.init) + ["-K", "config"])
        let files = smallweb.home.files(below: ".").filter { $0 != "config" }.sorted()
        // A message about a whole run does not begin with a URL.
        let url = words.split(separator: " ").last { $0.contains("://") } ?? ""
        let errors = result.errors.replacingOccurrences(of: "\(url): ", with: "")
            .replacing(/after [0-9]+ ms/, with: "after some time")
        return Observed(
            status: result.status, output: result.text, errors: errors, files: files)
    }

    @Test func whatASectionMayHaveHasAnEffectThere() throws {
        let servers = try Servers()
        for (option, value, words) in Self.effects + Self.limits {
            let line = servers.filled("\(option) = \(value)\n")
            let words = servers.filled(words)
            let inSection = try run(words, config: "[host *]\n" + line)
            let atTop = try run(words, config: line)
            #expect(inSection == atTop, "\(option)")
            guard !Self.limits.contains(where: { $0.option == option }) else {
                #expect(inSection.status == Outcome.timeout.exitStatus, "\(option)")
                continue
            }
            let without = try run(words, config: "[host elsewhere.example]\n" + line)
            #expect(inSection != without, "\(option) changes nothing")
        }
        let tried = Set((Self.effects + Self.limits).map(\.option)).union(Self.exceptions.keys)
        #expect(Set(Option.all.filter { $0.scope == .url }.map(\.long)) == tried)
    }

    /// Options of a single command make no sense as a default.
    @Test(arguments: [
        "heads", "tags", "symref", "dates", "tar", "prefix", "strip", "lfs",
        "max-count", "since", "format", "long", "match", "abbrev", "exact-match", "patch", "null",
    ])
    func whatBelongsToOneCommandIsForTheCommandLine(_ name: String) throws {
        let home = Smallweb.Home()
        var settings = Settings()
        settings.invocation.configFile = home.file("config")
        for section in ["", "[host *]\n"] {
            try Data("\(section)\(name) = 1\n".utf8).write(
                to: URL(fileURLWithPath: home.file("config")))
            let error = #expect(throws: FetchError.self) { try Configuration.load(settings) }
            #expect(error?.message.contains("it is for the command line") == true)
        }
    }

    @Test func whatHoldsForAWholeRunIsRefusedInASection() throws {
        let home = Smallweb.Home()
        var settings = Settings()
        settings.invocation.configFile = home.file("config")
        for option in Option.all where option.scope == .run {
            for section in ["[host *]", "[scheme gemini]"] {
                try Data("\(section)\n\(option.long) = 1\n".utf8).write(
                    to: URL(fileURLWithPath: home.file("config")))
                do {
                    _ = try Configuration.load(settings)
                    Issue.record("\(option.long) is accepted")
                } catch {
                    #expect(
                        error.message == home.file("config") + ":2: \(option.long) holds for a "
                            + "whole run: write it before the first section")
                }
            }
        }
        for name in ["retry", "jobs", "rate", "ledger", "json", "history", "verbose", "input"] {
            #expect(Option.all.contains { $0.long == name && $0.scope == .run }, "\(name)")
        }
    }

    /// An option of a section must not bring bodies to standard output out of order.
    @Test func bodiesStayInOrderWhenASectionPutsThemBackOnStandardOutput() throws {
        let slow = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.writeSlowly(Array("slow\r\n".utf8), pauseMilliseconds: 20)
        }
        let servers = try Servers()
        let observed = try run(
            servers.filled(
                "get -Z gopher://127.0.0.1:\(slow.port)/0/a gopher://127.0.0.1:GOPHER/0/about.txt"),
            config: "remote-name = true\n[host 127.0.0.1]\nremote-name = false\n")
        #expect(observed.status == 0 && observed.output.hasPrefix("slow\r\n"), "\(observed)")
    }

    /// A config file does not change the purpose of a command.
    @Test func aCommandIgnoresWhatItHasNoUseFor() throws {
        let servers = try Servers()
        let url = servers.filled("gopher://127.0.0.1:GOPHER/0/about.txt")
        for config in ["remote-name = true\n", "[host *]\nhead = false\nbody = none\n"] {
            let observed = try run("head \(url)", config: config)
            #expect(observed.status == 0 && observed.output.hasPrefix(url), "\(observed)")
            #expect(observed.files == ["file"])
        }
    }
}
