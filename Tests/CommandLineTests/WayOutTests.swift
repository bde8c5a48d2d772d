// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebPlugins
import SmallWebTestSupport
import Testing

@testable import SmallWebCLI

/// A newcomer's mistakes: the hint of each, typed in turn, gets further.
@Suite(.timeLimit(.minutes(30)))
struct WayOutTests {
    /// A command line, a part of its hint, and the line that somebody types who has read it.
    struct Mistake {
        let line: String
        let hint: String
        let next: String
        /// The exit status of ``next``; 8 where the demo's repository, whose packs have no
        /// trees, was asked.
        let status: Int32

        init(_ line: String, _ hint: String, _ next: String, _ status: Int32 = 0) {
            (self.line, self.hint, self.next, self.status) = (line, hint, next, status)
        }
    }

    /// Servers of a test: words that begin with these names get their places.
    private final class Lab {
        let smallweb: Smallweb
        private let capsule: Capsule
        private let servers: [(name: String, server: LoopbackServer, scheme: String)]
        private let foreign: LoopbackServer

        init() throws {
            smallweb = try Smallweb().trusting()
            capsule = try Capsule()
            foreign = try LoopbackServer { peer in
                _ = peer.readLine()
                peer.write("3\tnone\r\n.\r\n")
            }
            servers = [
                ("HOLE", try LoopbackServer(handler: DemoSites.gopher), "gopher"),
                ("WEB", try LoopbackServer(handler: DemoSites.web), "http"),
                ("GIT", try LoopbackServer(handler: DemoSites.git), "git"),
                ("FOREIGN", foreign, "http"),
                (
                    "TITAN",
                    try LoopbackServer(tls: .make()) { peer in
                        guard let line = peer.readLine() else { return }
                        let isWhole = String(decoding: line, as: UTF8.self).contains(";token=abc")
                        peer.write(isWhole ? "20 text/plain\r\nfine" : "61 no\r\n")
                    }, "titan"
                ),
            ]
            try smallweb.home.write("hello\n", to: "page")
            try smallweb.home.write("# Page\n", to: "page.gmi")
            try smallweb.home.write("abc\n", to: "token")
            try smallweb.home.write("", to: "empty.warc")
        }

        func run(_ line: String) throws -> Smallweb.Result {
            try smallweb.run(
                line.split(separator: " ").map { word in
                    var word = word.replacingOccurrences(of: "CAPSULE", with: capsule.place)
                    for (name, server, scheme) in servers {
                        let place = "127.0.0.1:\(server.port)"
                        word = word.replacingOccurrences(of: name + "-PLACE", with: place)
                        word = word.replacingOccurrences(of: name, with: "\(scheme)://\(place)")
                    }
                    let port = "127.0.0.1:\(capsule.server.port)"
                    return word.replacingOccurrences(of: "PLACE", with: port)
                })
        }
    }

    private static func check(_ mistake: Mistake, _ lab: Lab) throws -> Smallweb.Result {
        let first = try lab.run(mistake.line)
        let hint = PastedURLTests.hint(first.errors) ?? ""
        #expect(first.status != 0, "\(mistake.line)")
        #expect(hint.contains(mistake.hint), "\(mistake.line): \(first.errors)")
        let second = try lab.run(mistake.next)
        #expect(second.status == mistake.status, "\(mistake.next): \(second.errors)")
        #expect(second.status != first.status || second.errors != first.errors, "\(mistake.next)")
        return first
    }

    // MARK: Outcomes

    private static let mistakes: [Outcome: Mistake] = [
        .unsupportedScheme: .init(
            "get gemni://PLACE/about", "did you mean gemini://?", "get gemini://PLACE/about"),
        .usage: .init("get --links CAPSULE/", "smallweb links URL", "links CAPSULE/"),
        .badURL: .init("get (CAPSULE/about", "/about", "get CAPSULE/about"),
        .resolve: .init("get -6 HOLE/0/about.txt", "leave out -4 or -6", "get HOLE/0/about.txt"),
        .connect: .init(
            "get gopher://127.0.0.1:1/0/about.txt", "check the port", "get HOLE/0/about.txt"),
        .protocolError: .init(
            "get FOREIGN/", "does not speak TLS, or another protocol",
            "get gopher://FOREIGN-PLACE/1/",
            22),
        .permanentFailure: .init("get CAPSULE/about.", "/about", "get CAPSULE/about"),
        .write: .init(
            "get -o . CAPSULE/about", "-O --output-dir", "get -O --output-dir . CAPSULE/about"),
        .timeout: .init(
            "get --read-timeout 0.2 CAPSULE/silent", "--read-timeout",
            "get --read-timeout 0.3 --max-time 2 CAPSULE/about"),
        .tls: .init(
            "get gophers://HOLE-PLACE/0/about.txt", "speaks TLS", "get HOLE/0/about.txt"),
        .tooManyRedirects: .init(
            "get CAPSULE/redirect/6", "--max-redirs", "get --max-redirs 9 CAPSULE/redirect/6"),
        .identityUnusable: .init(
            "get -E /dev/null CAPSULE/about", "smallweb identity new", "identity new alice"),
        .untrusted: .init(
            "get https://PLACE/", "skip the check with -k", "get -k https://PLACE/", 8),
        .tooLarge: .init(
            "get --max-filesize 40 CAPSULE/1k", "--max-filesize", "get --max-filesize 4k CAPSULE/1k"
        ),
        .trustChanged: .init(
            "get --pin sha256:\(String(repeating: "a", count: 64)) CAPSULE/about", "with --pin",
            "get CAPSULE/about"),
        .needsIdentity: .init(
            "get CAPSULE/status/60", "smallweb identity new NAME gemini://",
            "identity new bob CAPSULE/status/60"),
        .needsInput: .init("get CAPSULE/input", "-d TEXT", "get -d text CAPSULE/input"),
        .redirectRefused: .init(
            "get CAPSULE/cross-scheme", "--proto-redir",
            "get --proto-redir gopher CAPSULE/cross-scheme", 7),
        .refusedAddress: .init(
            "get --public-only CAPSULE/about", "leave out --public-only", "get CAPSULE/about"),
    ]

    /// The outcomes whose messages have no hint, or none to type.
    private static let reasons: [Outcome: String] = [
        .ok: "nothing failed", .interrupted: "the user did it", .internal: "a bug by definition",
        .notBuiltIn: "the message names the package to install",
        .proxyResolve: "a name that fails needs a name server",
        .truncated: "the server ended it: only another fetch may help",
        .read: "the message names the file that is not there",
        .emptyReply: "the server ended it: only another fetch may help",
        .send: "a request fits the socket's buffer", .receive: "the network failed",
        .temporaryFailure: "the server says what is to be done, or --retry waits for it",
        .proxy: "the message names the proxy, which the user chose",
        .robots: "the message says whose rule it is",
        .notRecorded: "the message says what the archive does not have",
        .plugin: "for the plugin's author, whom the message tells the rule",
    ]

    /// The same for cases of the table of exit statuses whose outcomes have hints elsewhere.
    private static let reasonsOfCases: [Outcome: String] = [
        .protocolError: "the server's mistake, which the message shows",
        .permanentFailure: "the server's answer is all that is known of the page",
        .write: "standard output is what the caller chose",
    ]

    @Test func everyOutcomeHasAWayOutOrAReason() {
        for outcome in Outcome.allCases {
            #expect(
                (Self.mistakes[outcome] == nil) != (Self.reasons[outcome] == nil),
                "\(outcome.rawValue) needs a mistake, or a reason why it has none")
        }
    }

    @Test(
        arguments: mistakes.keys.sorted { $0.exitStatus < $1.exitStatus })
    func anOutcomesHintGetsFurther(_ outcome: Outcome) throws {
        let mistake = try #require(Self.mistakes[outcome])
        let first = try Self.check(mistake, try Lab())
        #expect(first.status == outcome.exitStatus, "\(first.errors)")
    }

    /// Each failure of the table of exit statuses has a hint, or its outcome a reason for none.
    @Test(arguments: ExitStatusTests.cases.keys.sorted { $0.exitStatus < $1.exitStatus })
    func everyFailureHasAHintOrAReason(_ outcome: Outcome) throws {
        let bringAbout = try #require(ExitStatusTests.cases[outcome])
        let hint = PastedURLTests.hint(try bringAbout().errors)
        let reason = Self.reasons[outcome] ?? Self.reasonsOfCases[outcome]
        #expect((hint == nil) == (reason != nil) || Self.reasons[outcome] != nil, "\(outcome)")
    }

    // MARK: Commands

    private static let ofCommands: [String: Mistake] = [
        "get": .init("get gemini:PLACE/about", "gemini://", "get CAPSULE/about"),
        "head": .init("head --links CAPSULE/", "smallweb links URL", "links CAPSULE/"),
        "links": .init(
            "links page.gmi", "smallweb links --local page.gmi", "links --local page.gmi"),
        "open": .init("open CAPSULE/about,", "/about", "open CAPSULE/about"),
        "put": .init(
            "put TITAN/x;token=abc page", "--token-file FILE", "put --token-file token TITAN/x page"
        ),
        "edit": .init("edit --json TITAN/x", "'smallweb get'", "get --json CAPSULE/about"),
        "refs": .init("refs CAPSULE/", "https:// URL of a repository", "refs GIT/demo.git"),
        "log": .init("log GIT/demo.git?ref=main", "a word behind the URL", "log GIT/demo.git main"),
        "describe": .init(
            "describe GIT/demo.git none", "'smallweb refs' lists", "refs GIT/demo.git"),
        "diff": .init("diff GIT/demo.git v1", "v1.. what has", "diff GIT/demo.git v1.."),
        "feed": .init(
            "feed --json CAPSULE/", "--format jsonfeed", "feed --format jsonfeed CAPSULE/"),
        "watch": .init("watch", "name one, such as gemini://", "watch CAPSULE/about"),
        "crawl": .init(
            "crawl GIT/demo.git", "smallweb get --tar git://", "get --tar GIT/demo.git"),
        "explain": .init("explain", "smallweb explain gemini://", "explain CAPSULE/"),
        "shard": .init("shard page", "smallweb shard 4 FILE", "shard 4 page"),
        "ledger": .init("ledger", "smallweb ledger merge FILE", "ledger merge empty.warc"),
        "warc": .init("warc page", "smallweb warc --help", "warc --help"),
        "cache": .init("cache cat CAPSULE/about", "with --cache", "get --cache CAPSULE/about"),
        "trust": .init(
            "trust replace PLACE", "smallweb trust add 127.0.0.1", "trust add PLACE"),
        "identity": .init("identity show x", "smallweb identity list", "identity list"),
        "schemes": .init("schemes x", "usage: smallweb schemes", "schemes"),
        "plugin": .init("plugin test x", "smallweb plugin list", "plugin list"),
        "history": .init("history show", "smallweb history list", "history list"),
        "bookmarks": .init(
            "bookmarks add (CAPSULE/", "gemini://", "bookmarks add CAPSULE/"),
        "config": .init("config nosuch", "smallweb config --show-origin", "config --show-origin"),
        "completions": .init(
            "completions", "usage: smallweb completions bash|zsh|fish", "completions bash"),
        "help": .init("help nosuch", "exit-status", "help exit-status"),
    ]

    @Test func everyCommandHasAMistake() {
        #expect(Set(Self.ofCommands.keys) == Set(Command.all.map(\.name)))
    }

    @Test(arguments: ofCommands.keys.sorted())
    func aCommandsHintGetsFurther(_ name: String) throws {
        _ = try Self.check(try #require(Self.ofCommands[name]), try Lab())
    }

    // MARK: Ways out

    @Test(arguments: [
        Mistake(
            "diff CAPSULE/a CAPSULE/b", "smallweb watch --diff URL", "watch --diff CAPSULE/about"),
        Mistake("log CAPSULE/about", "smallweb watch URL", "watch CAPSULE/about"),
        Mistake("describe CAPSULE/about", "smallweb head URL", "head CAPSULE/about"),
        Mistake("diff GIT/demo.git", "write A..", "diff GIT/demo.git v1.."),
        Mistake(
            "diff GIT/demo.git?ref=v1 v1..", "a word behind the URL", "diff GIT/demo.git v1.."),
        Mistake("get WEB/demo.git/README", "git+http://127.", "get git+WEB/demo.git//README", 22),
        Mistake("get WEB/demo.git", "git+http://127.", "get git+WEB/demo.git"),
        Mistake("get -r GIT/demo.git", "smallweb get --tar", "get --tar GIT/demo.git"),
        Mistake(
            "crawl GIT/demo.git//docs", "smallweb get --tar", "get --tar GIT/demo.git//docs"),
        Mistake(
            "get --connect-to a:1:PLACE gemini://a:1/about", "--resolve HOST:PORT:ADDRESS",
            "get --resolve a.test:1:127.0.0.1 gemini://a.test:1/about", 7),
        Mistake("get --header A:b CAPSULE/", "smallweb help get --header", "help get --header"),
        Mistake(
            "put TITAN/x;mime=text/plain page", "--mime TYPE", "put --mime text/plain TITAN/x page",
            98),
        Mistake("open --links CAPSULE/", "smallweb links URL", "links CAPSULE/"),
        Mistake("crawl finger://PLACE/ada", "smallweb get finger://", "get finger://PLACE/ada", 52),
    ])
    func aWayOutGetsFurther(_ mistake: Mistake) throws {
        _ = try Self.check(mistake, try Lab())
    }

    /// A server of another protocol is named over HTTP as over others.
    @Test func anotherProtocolIsNamedOverHTTP() throws {
        let replies: [[UInt8]] = [
            Array("3\tnone\r\n.\r\n".utf8), [21, 3, 1, 0, 2, 2, 40],
            Array("20 text/gemini\r\n".utf8), [],
        ]
        for reply in replies {
            for resets in [false, true] {
                let server = try LoopbackServer { peer in
                    _ = peer.readLine()
                    peer.write(reply)
                    if resets { peer.reset() }
                }
                let result = try Smallweb().run(["get", "http://127.0.0.1:\(server.port)/"])
                #expect([8, 52, 56].contains(result.status), "\(result.errors)")
                let hint = "check that this port does not speak TLS, or another protocol"
                #expect(PastedURLTests.hint(result.errors) == hint, "\(result.errors)")
                #expect(!result.errors.contains("0.9"), "\(result.errors)")
            }
        }
    }

    /// Each way out of the resource names an option that the command refuses, or a verb.
    @Test func theWaysOutAreOfUse() throws {
        let verbs = Registry.builtIn.handlers.flatMap(\.verbs).map(\.name)
        for name in Advice.waysOut.flatMap({ $0.names.split(separator: " ") }).map(String.init) {
            guard let dashes = name.range(of: "--") else {
                #expect(verbs.contains(name), "\(name)")
                continue
            }
            let option = try #require(Option.all.first { $0.long == name[dashes.upperBound...] })
            guard dashes.lowerBound != name.startIndex else { continue }
            let command = try #require(Command.named(String(name[..<dashes.lowerBound])))
            #expect(!command.takes(option), "\(name)")
        }
        #expect(Set(verbs).isSubset(of: Set(Advice.waysOut.map(\.names))))
    }
}
