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
        ("max-time = soon", "1: --max-time wants a time such as 10, 500ms or 2m, not \"soon\""),
        ("quiet = perhaps", "1: quiet is true or false"),
        (
            "output = x",
            "1: output cannot be set in a config file: it is for the command line"
        ),
        ("max-time 30", "1: write a setting as NAME = VALUE: max-time = 30"),
        ("\nproto = gemni", "2: no plugin handles the scheme \"gemni\""),
        ("[host *]\nproto-redir = gemni", "2: no plugin handles the scheme \"gemni\""),
        ("proto = +ftp", "1: no plugin handles the scheme \"ftp\""),
        ("[host *]\ndata = @-", "2: standard input can be read only once, not for each URL"),
    ])
    func aMistakeIsAnErrorWithItsLine(_ text: String, _ message: String) throws {
        let smallweb = try smallweb(text)
        let result = try smallweb.run(["get", "-q", "gopher://127.0.0.1:1/"])
        #expect(result.status == 2)
        #expect(result.errors == "smallweb: \(smallweb.home.file("config")):\(message)\n")
        #expect(try smallweb.run(["help"]).status == 0)
    }

    @Test func configNamesItsFileWhileThereIsNone() throws {
        let result = try Smallweb().run(["config"])
        #expect(result.status == 0 && result.text.isEmpty)
        #expect(result.errors.hasPrefix("smallweb: no settings yet: "), "\(result.errors)")
        #expect(result.errors.contains("/smallweb/config is for lines"), "\(result.errors)")
    }

    @Test func aFileWithMistakesIsNotAnEmptyOne() throws {
        let smallweb = try smallweb("timeout = 20\n[hst a.example]\n")
        let errors = try smallweb.run(["config"]).errors
        #expect(errors.contains(":1: unknown option \"timeout\""), "\(errors)")
        #expect(!errors.contains("no settings yet"), "\(errors)")
    }

    @Test func configSaysWhereAValueComesFrom() throws {
        let smallweb = try smallweb("[host a.example]\nraw\n")
        #expect(try smallweb.run(["config"]).text == "[host a.example] raw = true\n")
        let result = try smallweb.run(["config", "--show-origin", "raw"])
        let origin = smallweb.home.file("config") + ":2"
        #expect(result.text == "\(origin)\t[host a.example] raw = true\n")
        #expect(try smallweb.run(["config", "quite"]).status == 2)
    }

    // MARK: Hosts and ports

    @Test func aSectionMayBeForOnePort() throws {
        let (hole, other) = (try Hole(), try Hole())
        let port = hole.server.port
        for (sections, isMine) in [
            ("[host 127.0.0.1:\(port)]\nmax-filesize = 3", true),
            ("[host *:\(port)]\nmax-filesize = 3", true),
            ("[host [01]*.1:\(port)]\nmax-filesize = 3", true),
            ("[host 127.0.0.2:\(port)]\nmax-filesize = 3", false),
            // If two sections match, the later one wins, even over a more specific one.
            ("[host *:\(port)]\nmax-filesize = 3\n[host *]\nmax-filesize = 1k", false),
            ("[host *]\nmax-filesize = 1k\n[host *:\(port)]\nmax-filesize = 3", true),
        ] {
            let smallweb = try smallweb(sections)
            let mine = try smallweb.run(["get", hole.place + "/0/about.txt"])
            #expect(mine.status == (isMine ? 63 : 0), "\(sections): \(mine.errors)")
            let theirs = try smallweb.run(["get", other.place + "/0/about.txt"])
            #expect(theirs.status == 0, "\(sections): \(theirs.errors)")
        }
    }

    /// A proxy that is meant for a place is used for it, also where the URL does not say the port.
    @Test func aPortMayBeTheSchemesOwn() throws {
        for (section, url, isCovered) in [
            ("a.test:70", "gopher://a.test/", true), ("a.test:70", "gopher://a.test:71/", false),
            ("a.test:70", "gemini://a.test/", false), ("*.test:1965", "gemini://a.test/", true),
            ("A.test:443", "https://a.test/", true), ("[::1]:70", "gopher://[::1]/", true),
            ("[::1]", "gopher://[0:0::1]:7/", true), ("[::1]:70", "gopher://[::2]/", false),
            ("[::1]:70", "gopher://[::1]:71/", false), ("a.test", "gopher://a.test:7/", true),
        ] {
            let smallweb = try smallweb("[host \(section)]\nproxy = socks5h://127.0.0.1:9\n")
            let result = try smallweb.run(["explain", "--json", url])
            let hasProxy = result.text.contains("socks5h://127.0.0.1:9")
            #expect(hasProxy == isCovered, "\(section) \(url): \(result.text)\(result.errors)")
            let list = try smallweb.run(["config"])
            #expect(
                list.text == "[host \(section.lowercased())] proxy = socks5h://127.0.0.1:9\n")
        }
    }

    @Test(arguments: [
        ("a.test:x", "a port is a number from 1 to 65535, not \"x\""),
        ("a.test:", "a port is a number from 1 to 65535, not \"\""),
        ("a.test:0", "a port is a number from 1 to 65535, not \"0\""),
        ("[::1]:65536", "a port is a number from 1 to 65535, not \"65536\""),
        ("[::1]70", "behind the address of [host [::1]70] only :PORT may stand"),
        ("[::x]", "::x is not an IPv6 address"), ("::1", "an IPv6 address stands in brackets"),
        (":70", "[host :70] has no host"),
    ])
    func aBadHostIsAnErrorWithItsLine(_ host: String, _ message: String) throws {
        let text = "raw = true\n\n[host \(host)]\nmax-time = 1\n[host b.test]\nmax-redirs = 2\n"
        let smallweb = try smallweb(text)
        let start = "smallweb: \(smallweb.home.file("config")):3: \(message)\n"
        let result = try smallweb.run(["get", "gopher://127.0.0.1:1/"])
        #expect(result.status == 2 && result.errors.hasPrefix(start), "\(result.errors)")
        // `config`, which lists the settings, reports the error and goes on.
        let list = try smallweb.run(["config"])
        #expect(list.errors.hasPrefix(start), "\(list.errors)")
        #expect(list.text == "raw = true\n[host b.test] max-redirs = 2\n" && list.status == 0)
    }
}
