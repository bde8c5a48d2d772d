// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

@testable import SmallWebCLI

/// Members of a request line, and their traces in the answer.
@Suite struct RequestLineTests {
    private let smallweb = Smallweb()

    private func answers(_ lines: String, _ words: [String] = []) throws -> [JSON] {
        try smallweb.records(["-s"] + words + ["-"], stdin: lines).records.terminal
    }

    @Test func aRequestChoosesTrustPinRedirectsAndBody() throws {
        let capsule = try Capsule()
        let pin = String(repeating: "0", count: 64)
        let url = capsule.place
        let records = try answers(
            """
            {"url":"\(url)/","trust":"locked"}
            {"url":"\(url)/","pin":"sha256:\(pin)"}
            {"url":"\(url)/redirect/1","max_redirs":0}
            {"url":"\(url)/","body":"base64"}
            {"url":"\(url)/","body":"none"}
            """)
        let outcomes = records.map { $0["outcome"]?.string }
        let wanted = ["untrusted", "trust-changed", "too-many-redirects", "ok", "ok"]
        #expect(outcomes == wanted, "\(outcomes)")
        #expect(records[3]["body"]?["base64"] != nil && records[3]["body"]?["text"] == nil)
        #expect(records[4]["body"]?["omitted"]?.string == "none-requested")
    }

    @Test func aRequestCanBeAnUpload() throws {
        let server = try LoopbackServer(tls: .make()) { peer in
            let line = peer.readLine() ?? []
            let body = peer.read(5)
            peer.write(Array("20 text/plain\r\n".utf8) + line + body)
        }
        let url = "titan://127.0.0.1:\(server.port)/a.txt"
        let record = try answers("{\"url\":\"\(url)\",\"put\":{\"base64\":\"aGVsbG8=\"}}\n")[0]
        #expect(record["body"]?["text"]?.string?.contains("hello") == true, "\(record)")
        let refused = try answers(
            """
            {"url":"\(url)","put":""}
            {"url":"gopher://127.0.0.1:1/","put":"x"}
            """)
        #expect(refused.map { $0["outcome"]?.string } == ["usage", "usage"])
    }

    @Test(arguments: [
        "{\"url\":\"gopher://h/\",\"trust\":\"blind\"}", "{\"url\":\"gopher://h/\",\"pin\":\"x\"}",
        "{\"url\":\"gopher://h/\",\"max_redirs\":-1}", "{\"url\":\"gopher://h/\",\"body\":\"all\"}",
        "{\"url\":\"gopher://h/\",\"put\":1}",
    ])
    func aBadValueIsRefused(_ line: String) throws {
        #expect(try answers(line + "\n").map { $0["outcome"]?.string } == ["usage"])
    }

    @Test func aLineThatIsNoJSONIsAnsweredWithItsBeginning() throws {
        let line = "{\"url\": nonsense " + String(repeating: "x", count: 100)
        let error = try answers("\n" + line + "\n")[0]["error"]
        let message = try #require(error?["message"]?.string)
        #expect(error?["line"]?.int == 2 && message.contains("line 2"))
        #expect(message.hasSuffix("in " + line.prefix(40) + "…"), "\(message)")
    }

    /// Lines of links, history and bookmarks have a title behind a tab.
    @Test func aURLEndsAtTheTab() throws {
        let hole = try Hole()
        let url = hole.place + "/0/about.txt"
        let result = try smallweb.run(["get", "-"], stdin: url + "\tA title\n")
        let alone = try smallweb.run([url])
        #expect(result.status == 0 && result.output == alone.output)
    }

    @Test func linksAndExplanationsSayWhereTheyBelong() throws {
        let capsule = try Capsule()
        let all = try smallweb.run(["links", "--json", "-k", capsule.place + "/"])
        let links = try Records(all.output)["link"]
        #expect(!links.isEmpty && links.allSatisfy { $0["page"]?.string == capsule.place + "/" })
        let explained = try smallweb.run([
            "explain", "--json", "gopher://a/", "gopher://127.0.0.1/",
        ])
        #expect(try Records(explained.output).all.map { $0["n"]?.int } == [0, 1])
    }

    @Test func aConfigFileMayNameTheHome() throws {
        let home = smallweb.home.path
        try Data("output-dir = ~/saved\nheader = @~/fields\n".utf8).write(
            to: URL(fileURLWithPath: smallweb.home.file("config")))
        let text = try smallweb.run(["config", "-K", "config", "--json"]).output
        let values = try Records(text).all.map { $0["value"]?.string }
        #expect(values == [home + "/saved", "@" + home + "/fields"], "\(values)")
    }

    @Test func aSchemeOfItsOwnFormIsKnownAndNotWithoutHost() throws {
        let result = try smallweb.run(["get", "file:///etc/passwd"])
        #expect(result.errors.contains("files of this machine") && result.status == 1)
    }

    @Test func bookmarksComeGoAndAreRecords() throws {
        let page = """
            # Links
            => gemini://example.org/a   One page\r
            =>gopher://example.org/
            => /relative no
            gemini://example.org/b\tAnother
            text
            """
        let read = try smallweb.run(["bookmarks", "import", "-"], stdin: page)
        #expect(read.status == 0 && read.errors == "imported 3\n", "\(read.errors)")
        let exported = try smallweb.run(["bookmarks", "export"]).text
        #expect(exported.contains("=> gemini://example.org/a One page\n"))
        let records = try Records(smallweb.run(["bookmarks", "--json"]).output)["bookmark"]
        #expect(records.map { $0["title"]?.string } == ["One page", "", "Another"])
        let hole = try Hole()
        #expect(try smallweb.run(["get", "--history", hole.place + "/0/about.txt"]).status == 0)
        let visits = try Records(smallweb.run(["history", "--json"]).output)["visit"]
        #expect(visits.map { $0["url"]?.string } == [hole.place + "/0/about.txt"])
    }

    @Test(arguments: ["gemini:foo", "http:/host/", "gopher:foo", "finger:alice", "gemini:"])
    func aURLWithoutAHostIsNoURL(_ url: String) throws {
        let result = try smallweb.run(["get", url])
        #expect(result.status == Outcome.badURL.exitStatus, "\(result.errors)")
    }

    @Test func whatCannotBeKeptIsRefused() throws {
        let pin = "sha256:" + String(repeating: "0", count: 64)
        for (words, message) in [
            (["--resolve", "h:70:256.1.1.1", "gopher://h/"], "not an IP address"),
            (["--pin", pin, "gopher://127.0.0.1:1/"], "--pin cannot be used with gopher, which"),
            (["--pin", pin, "http://127.0.0.1:1/"], "--pin cannot be used with http, which"),
            (["--key", "k", "gemini://127.0.0.1:1/"], "--key needs --cert"),
            (["-qO-", "gopher://127.0.0.1:1/"], "unknown option -qO-"),
            (["@"], "names no file"),
        ] {
            let result = try smallweb.run(["get"] + words)
            #expect(result.status == 2 && result.errors.contains(message), "\(result.errors)")
        }
        let line = "{\"url\":\"gopher://127.0.0.1:1/\",\"pin\":\"\(pin)\",\"id\":1}\n"
        #expect(try answers(line)[0]["outcome"]?.string == "usage")
        let bad = try answers("{\"url\":\"gopher://h/\",\"id\":[1]}\n")[0]
        #expect(bad["url"]?.string == "gopher://h/")
    }
}
