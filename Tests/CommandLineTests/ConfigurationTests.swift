// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

@testable import SmallWebCLI

/// The config file, from outside.
@Suite struct ConfigurationTests {
    private func smallweb(_ text: String) throws -> Smallweb {
        var smallweb = Smallweb()
        smallweb.environment["SMALLWEB_CONFIG"] = smallweb.home.file("config")
        try Data(text.utf8).write(to: URL(fileURLWithPath: smallweb.home.file("config")))
        return smallweb
    }

    @Test func theCommandLineWinsOverHostOverSchemeOverTop() throws {
        let hole = try Hole()
        let url = hole.place + "/0/about.txt"
        let tooLarge: Int32 = 63
        for (text, arguments, status) in [
            ("max-filesize = 3", [], tooLarge),
            ("max-filesize = 3", ["--max-filesize", "1k"], 0),
            ("max-filesize = 3", ["--no-config"], 0),
            ("max-filesize = 3\n[scheme gopher]\nmax-filesize = 1k", [], 0),
            ("[scheme gemini]\nmax-filesize = 3", [], 0),
            ("[host 127.*]\nmax-filesize = 3\n[scheme gopher]\nmax-filesize = 1k", [], tooLarge),
            ("[host *.example.org]\nmax-filesize = 3", [], 0),
            ("# nothing\n\nproto = \"gemini\"", [], 1),
        ] {
            let result = try smallweb(text).run(["get", url] + arguments)
            #expect(result.status == status, "\(text) \(arguments): \(result.errors)")
        }
    }

    @Test func aSwitchOnTheCommandLineHoldsBackWhatItContradicts() throws {
        let hole = try Hole()
        let missing = hole.place + "/0/missing"
        // Without anything on the command line the file counts.
        let smallweb = try smallweb("fail = false\n")
        #expect(try smallweb.run(["get", missing]).status == 0)
        let result = try smallweb.run(["get", "--fail-with-body", missing])
        #expect(result.status == 22 && !result.output.isEmpty)
        #expect(try smallweb.run(["get", "--no-fail-with-body", missing]).status == 22)
        let capsule = try Capsule()
        let insecure = try self.smallweb("[host 127.0.0.1]\ninsecure = true\n")
        #expect(try insecure.run(["get", "--trust", "locked", capsule.place + "/"]).status == 60)
        for name in Configuration.rivals.joined() {
            #expect(Option.all.contains { $0.long == name }, "\(name)")
        }
    }

    @Test func theStoresAreThoseOfTheConfigFile() throws {
        let capsule = try Capsule()
        var smallweb = Smallweb()
        smallweb.environment["SMALLWEB_CONFIG"] = smallweb.home.file("config")
        let text = "known-hosts = \(smallweb.home.file("hosts"))\nkey-type = ed25519\n"
        try Data(text.utf8).write(to: URL(fileURLWithPath: smallweb.home.file("config")))
        #expect(try smallweb.run(["get", capsule.place + "/about"]).status == 0)
        #expect(try smallweb.run(["trust", "list"]).text.contains("\tk\tsha256:"))
        #expect(try smallweb.run(["trust", "list", "--no-config"]).text == "")
        #expect(try smallweb.run(["identity", "new", "alice"]).status == 0)
        #expect(try smallweb.run(["identity", "show", "alice"]).text.contains(" ed25519\n"))
    }

    /// The scheme of a section, too, may be one that libcurl alone handles.
    @Test func whatFallbackCurlAddsIsKnown() throws {
        let hole = try Hole()
        let url = hole.place + "/0/about.txt"
        let smallweb = try smallweb("[scheme dict]\nmax-time = 1\n[host *]\nproto = +dict\n")
        let result = try smallweb.run(["get", url])
        #expect(result.status == 2)
        #expect(result.errors.contains("config:4: no plugin handles the scheme \"dict\"\n"))
        #expect(try smallweb.run(["get", "--fallback-curl", url]).status == 0)
    }

    @Test func aConfigFileThatCannotBeReadIsNotPassedOver() throws {
        let hole = try Hole()
        let smallweb = Smallweb()
        let path = smallweb.home.file(".config/smallweb/config")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let url = hole.place + "/0/about.txt"
        let result = try smallweb.run(["get", url])
        #expect(result.status == 26)
        #expect(result.errors == "smallweb: cannot read the config file \(path): is a directory\n")
        #expect(try smallweb.run(["get", "--no-config", url]).status == 0)
        #expect(try smallweb.run(["get", "-K", "/dev/null", url]).status == 0)
    }

    @Test func aHostsTrustIsItsOwn() throws {
        let capsule = try Capsule()
        let smallweb = try smallweb("[host 127.0.0.1]\ninsecure = true\n")
        #expect(try smallweb.run(["get", capsule.place + "/about"]).status == 0)
        #expect(!smallweb.home.names.contains(".local"))
    }

    @Test(arguments: [
        ("max-tim = 3", "1: unknown option \"max-tim\""),
        ("\n[scheme gemni]", "2: unknown scheme \"gemni\""),
        ("max-time = soon", "1: --max-time wants seconds, not \"soon\""),
        ("quiet = perhaps", "1: quiet is true or false"),
        ("output = x", "1: unknown option \"output\""),
        ("\nproto = gemni", "2: no plugin handles the scheme \"gemni\""),
        ("[host *]\nproto-redir = gemni", "2: no plugin handles the scheme \"gemni\""),
        ("proto = +ftp", "1: no plugin handles the scheme \"ftp\""),
        ("[host *]\ndata = @-", "2: standard input can be read only once, not for each URL"),
    ])
    func aMistakeIsAnErrorWithItsLine(_ text: String, _ message: String) throws {
        let smallweb = try smallweb(text)
        let result = try smallweb.run(["get", "gopher://127.0.0.1:1/"])
        #expect(result.status == 2)
        #expect(result.errors == "smallweb: \(smallweb.home.file("config")):\(message)\n")
        #expect(try smallweb.run(["help"]).status == 0)
    }

    @Test func configSaysWhereAValueComesFrom() throws {
        let smallweb = try smallweb("[host a.example]\nraw\n")
        #expect(try smallweb.run(["config"]).text == "[host a.example] raw = true\n")
        let result = try smallweb.run(["config", "--show-origin", "raw"])
        let origin = smallweb.home.file("config") + ":2"
        #expect(result.text == "\(origin)\t[host a.example] raw = true\n")
        #expect(try smallweb.run(["config", "quite"]).status == 2)
    }
}
