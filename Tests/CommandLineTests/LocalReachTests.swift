// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

@testable import SmallWebCLI

/// Nobody reaches a file of this machine by accident: every way in, with and without `--local`.
@Suite(.timeLimit(.minutes(30)))
struct LocalReachTests {
    private static let refusal = "files of this machine are read only where a person names them"
    private static let commands = Command.all.filter { $0.operands.first == .url }.map(\.name)
    /// Those that take `--local`.
    private static let readers = ["feed", "get", "head", "links", "open", "watch"]

    private let smallweb = Smallweb()
    private var url: String { "file://" + smallweb.home.file("secret.gmi") }

    init() throws { try write("# S3CRET\n=> /s3cret 2026-01-02 S3CRET\n", to: "secret.gmi") }

    private func write(_ text: String, to name: String) throws {
        try smallweb.home.write(text, to: name)
    }

    /// - Returns: The result of a run that must show nothing of the file.
    @discardableResult
    private func refused(
        _ words: [String], stdin: String? = nil, _ location: SourceLocation = #_sourceLocation
    ) throws -> Smallweb.Result {
        let result = try smallweb.run(words, stdin: stdin)
        let shown = "\(words): \(result.status) \(result.text) \(result.errors)"
        #expect(result.status != 0, "\(shown)", sourceLocation: location)
        #expect(
            !(result.text + result.errors).contains("S3CRET"), "\(shown)", sourceLocation: location)
        #expect(!result.text.contains("s3cret"), "\(shown)", sourceLocation: location)
        return result
    }

    // MARK: Commands

    @Test func theOptionIsForTheseCommandsAlone() throws {
        let local = try #require(Option.of(.local))
        #expect(local.scope == .commandLine)
        #expect(Command.all.filter { $0.takes(local) }.map(\.name).sorted() == Self.readers)
        #expect(Option.ofMembers["local"] == nil)
    }

    @Test(arguments: commands)
    func noCommandReadsAFileUnasked(_ command: String) throws {
        let path = smallweb.home.file("secret.gmi")
        for word in [url, url.uppercased(), "file:" + path, "FILE://localhost" + path] {
            let result = try refused([command, word])
            if Self.readers.contains(command), word == url {
                #expect(result.errors.contains(Self.refusal) && result.errors.contains("--local"))
            }
        }
        if command != "open" {
            for word in [path, "./secret.gmi", "secret.gmi"] { try refused([command, word]) }
        }
        if !Self.readers.contains(command) {
            #expect(try refused([command, "--local", url]).status == 2)
        }
    }

    @Test(arguments: readers)
    func whoIsAskedReadsIt(_ command: String) throws {
        for word in [url, "secret.gmi", "./secret.gmi", smallweb.home.file("secret.gmi")] {
            let result = try smallweb.run([command, "--local", word])
            let isRead = (result.text + result.errors).lowercased().contains(
                ["get", "open", "links", "feed"].contains(command) ? "s3cret" : "secret.gmi")
            #expect(isRead && result.status == (command == "watch" && word != url ? 1 : 0))
        }
    }

    @Test func aPathIsEnoughForOpen() throws {
        let home = smallweb.home
        try FileManager.default.createDirectory(
            atPath: home.file("sub"), withIntermediateDirectories: true)
        try write("# S3CRET\n", to: "sub/index.gmi")
        try write("S3CRET", to: "README")
        for word in [
            "secret.gmi", "./secret.gmi", home.file("secret.gmi"), "~/secret.gmi", "./sub", "sub/.",
            "./sub/../sub/", "./README",
        ] where word != "sub/." {
            let result = try smallweb.run(["open", word])
            #expect(
                result.status == 0 && result.text.contains("S3CRET"), "\(word) \(result.errors)")
        }
        // Nothing else is taken for a path.
        for word in ["README", "sub", "missing.gmi", "@secret.gmi", "-"] {
            try refused(["open", word])
        }
        // A file leads to others, whose links are relative to them.
        try write("=> sub/ in\n=> file://\(home.path)/README there\n", to: "first.gmi")
        for link in ["1", "2"] {
            #expect(try smallweb.run(["open", "first.gmi", link]).text.contains("S3CRET"))
        }
    }

    // MARK: Texts of others

    private var lists: [(words: [String], stdin: String?)] {
        [
            (["-"], url), (["-"], #"{"url":"\#(url)"}"#), (["-"], #"{"url":"\#(url)","id":1}"#),
            (["@list"], nil), (["--input-file", "list"], nil), (["--input-file", "-"], url),
            (["@json"], nil), (["@paths"], nil), (["@list.opml"], nil),
        ]
    }

    @Test(arguments: readers.filter { $0 != "open" }, [[], ["--local"], ["--json", "--local"]])
    func noListLeadsToAFile(_ command: String, _ options: [String]) throws {
        try write(url + "\n", to: "list")
        try write(#"{"url":"\#(url)"}"# + "\n", to: "json")
        try write(smallweb.home.file("secret.gmi") + "\nsecret.gmi\n", to: "paths")
        try write(
            #"<opml><body><outline type="rss" xmlUrl="\#(url)"/></body></opml>"#, to: "list.opml")
        for (words, stdin) in lists where !(options.contains("--json") && command == "feed") {
            try refused([command] + options + words, stdin: stdin.map { $0 + "\n" })
        }
    }

    @Test func noSettingAndNoStoreLeadsToAFile() throws {
        for text in ["local = true\n", "[scheme file]\nproxy = none\n"] {
            try write(text, to: "config")
            _ = try refused(["get", "-K", smallweb.home.file("config"), url])
        }
        #expect(
            try refused(["get", "-K", smallweb.home.file("config"), url]).errors.contains("file"))
        try write("local = true\n", to: "config")
        let result = try refused(["get", "-K", smallweb.home.file("config"), url])
        #expect(result.status == 2 && result.errors.contains("cannot be set in a config file"))
        try FileManager.default.createDirectory(
            atPath: smallweb.home.file(".config/smallweb"), withIntermediateDirectories: true)
        try write("\(url)\tmine\n", to: ".config/smallweb/bookmarks")
        try refused(["open", "mine"])
        try refused(["open", "--local", "mine"])
        // A page that it has seen is no way in.
        _ = try smallweb.run(["get", "--history", "--local", url])
        #expect(!(try smallweb.run(["history"]).text.contains("secret")))
        for words in [["--proto", "file"], ["--proto-redir", "file"], ["--fallback-curl"]] {
            try refused(["get"] + words + [url])
        }
    }

    // MARK: Servers

    /// A server that redirects to the file, and one whose page links to it.
    private func reply(_ scheme: String, links: Bool) throws -> LoopbackServer {
        let (url, path) = (url, smallweb.home.file("secret.gmi"))
        return try LoopbackServer(tls: scheme == "gemini" ? .make() : nil) { peer in
            let line = String(decoding: peer.readLine() ?? [], as: UTF8.self)
            let page = "=> \(url) one\n=> file:\(path) two\n"
            switch scheme {
            case "gemini" where line.contains("robots.txt"): peer.write("51 none\r\n")
            case "gemini": peer.write(links ? "20 text/gemini\r\n\(page)" : "31 \(url)\r\n")
            case "spartan" where line.contains("robots.txt"): peer.write("4 none\r\n")
            case "spartan": peer.write(links ? "2 text/gemini\r\n\(page)" : "3 \(url)\r\n")
            case "nex": peer.write(line.contains("robots.txt") ? "none\n" : page)
            case "gopher":
                peer.write(
                    line.contains("robots") ? ".\r\n" : "hone\tURL:\(url)\t127.0.0.1\t1\r\n.\r\n")
            default:
                let isRobots = line.contains("robots.txt")
                peer.write(
                    links && !isRobots
                        ? "HTTP/1.1 200 OK\r\nContent-Type: text/gemini\r\n"
                            + "Connection: close\r\n\r\n\(page)"
                        : "HTTP/1.1 302 Found\r\nLocation: \(url)\r\nContent-Length: 0\r\n"
                            + "Connection: close\r\n\r\n")
            }
        }
    }

    private static let redirecting = ["gemini", "spartan", "http"]

    @Test(arguments: redirecting, readers)
    func noRedirectLeadsToAFile(_ scheme: String, _ command: String) throws {
        let server = try reply(scheme, links: false)
        let place = "\(scheme)://127.0.0.1:\(server.port)/"
        for options in [[], ["--local"]] {
            let result = try refused([command, "-k"] + options + [place])
            #expect(result.status == 102, "\(result.errors)")
            #expect(!result.errors.contains("--proto-redir"), "\(result.errors)")
        }
        try refused([command, "-k", "--local", "--proto-redir", "file", place])
    }

    @Test(arguments: redirecting + ["nex", "gopher"])
    func noLinkLeadsToAFile(_ scheme: String) throws {
        let server = try reply(scheme, links: true)
        let place = "\(scheme)://127.0.0.1:\(server.port)/"
        for link in ["1", "2"] {
            for options in [[], ["--local"]] {
                try refused(["open", "-k"] + options + [place, link])
            }
        }
        for words in [[], ["--check"], ["--scope", "any"], ["--mirror", "copy"]] {
            let state = "state\(words.count)\(words.first ?? "")"
            let result = try smallweb.run(
                ["crawl", "-k", "--per-host-delay", "0", "--state", state] + words + [place])
            let known = String(decoding: smallweb.home.content(state) ?? [], as: UTF8.self)
            #expect(!(result.text + result.errors + known).lowercased().contains("s3cret"))
            #expect(!known.contains(#""type":"found","v":1,"n":1,"url":"file"#), "\(known)")
        }
        #expect(smallweb.home.files(below: "copy").allSatisfy { !$0.contains("secret") })
        let feed = try smallweb.run(["feed", "-k", "--new", "--local", place])
        #expect(!feed.text.contains("S3CRET") && !feed.errors.contains("S3CRET"))
    }

    /// A program redirects, links, or asks smallweb for the file.
    @Test func noProgramLeadsToAFile() throws {
        let script = """
            #!/bin/sh
            case $SMALLWEB_PATH in
            to) echo '{"type":"head","class":"redirect","redirect":"\(url)"}' >&3;;
            open) echo '{"type":"open","connection":1,"url":"\(url)"}' >&3; cat <&6 >&4;;
            *) echo '{"type":"head","class":"success","mime":"text/gemini"}' >&3
                echo '=> \(url) one' >&4;; esac
            """
        let folder = try smallweb.plugin(
            script, scheme: Smallweb.noServer,
            more: #""connections": 2, "answers": true, "opens": ["http://*:*/*"],"#)
        for words in [["get", "trial:to"], ["get", "trial:open"], ["open", "trial:a", "1"]] {
            try refused([words[0], "--plugin", folder, "--local"] + words.dropFirst())
        }
    }

    // MARK: The library

    @Test func theLibraryHasNoFiles() async throws {
        for schemes in [nil, ["file"] as Set<String>] {
            var options = Client.Options()
            options.trust = TrustStore(path: smallweb.home.file("trust"))
            options.schemes = schemes
            let client = try Client(options: options)
            let error = await #expect(throws: FetchError.self) { try await client.fetch(url) }
            #expect(error?.outcome == .unsupportedScheme)
            let records = RunOptions()
            for try await result in client.run([url], options: records) {
                #expect(throws: FetchError.self) { try result.result.get() }
            }
        }
    }
}
