// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// Recording and replay, by the binary.
@Suite(.timeLimit(.minutes(30))) struct WarcTests {
    private let smallweb = Smallweb()

    private func content(_ name: String) -> String {
        String(decoding: smallweb.home.content(name) ?? [], as: UTF8.self)
    }

    /// Servers of each kind, gone when the test goes on.
    final class Sites {
        let urls: [String]
        private let servers: [LoopbackServer]

        init() throws {
            let certificate = TestCertificate.make()
            let gemini = try LoopbackServer(tls: certificate, handler: DemoSites.gemini())
            let gopher = try LoopbackServer(handler: DemoSites.gopher)
            let gophers = try LoopbackServer(tls: certificate, handler: DemoSites.gopher)
            let finger = try LoopbackServer(handler: DemoSites.finger)
            let nex = try LoopbackServer(handler: DemoSites.nex)
            let spartan = try LoopbackServer(handler: DemoSites.spartan)
            let git = try LoopbackServer(handler: DemoSites.git)
            let http = try LoopbackServer(handler: DemoSites.web)
            servers = [gemini, gopher, gophers, finger, nex, spartan, git, http]
            urls = [
                "gemini://127.0.0.1:\(gemini.port)/redirect/2",
                "gemini://127.0.0.1:\(gemini.port)/status/51",
                "gopher://127.0.0.1:\(gopher.port)/0/dots.txt",
                "gopher://127.0.0.1:\(gopher.port)/9/big/3000000",
                "gophers://127.0.0.1:\(gophers.port)/", "finger://127.0.0.1:\(finger.port)/ada",
                "nex://127.0.0.1:\(nex.port)/", "spartan://127.0.0.1:\(spartan.port)/",
                "spartan://127.0.0.1:\(spartan.port)/status/5",
                "git://127.0.0.1:\(git.port)/demo.git",
                "git://127.0.0.1:\(git.port)/demo.git//docs/guide.md?ref=v1",
                "http://127.0.0.1:\(http.port)/about", "http://127.0.0.1:\(http.port)/status/503",
                "gopher://127.0.0.1:1/0/refused",
            ]
        }

        func stop() { for server in servers { server.stop() } }
    }

    /// Records without their times.
    private func comparable(_ text: String) throws -> [String] {
        try text.split(separator: "\n").map { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
            var record = try #require(object as? [String: Any])
            for name in ["time", "date"] { record[name] = nil }
            if var trust = record["trust"] as? [String: Any] {
                trust["first_seen"] = nil
                record["trust"] = trust
            }
            let data = try JSONSerialization.data(
                withJSONObject: record, options: [.sortedKeys])
            return String(decoding: data, as: UTF8.self)
        }
    }

    @Test func aReplayIsTheSameWithoutServers() throws {
        let (name, sites) = ("a.warc.gz", try Sites())
        let list = ["-s", "--json"] + sites.urls
        let live = try smallweb.run(list + ["--warc", name])
        sites.stop()
        try FileManager.default.removeItem(atPath: smallweb.home.file(".local"))
        for options in [[], ["-Z"]] {
            let replayed = try smallweb.run(list + options + ["--ordered", "--replay", name])
            #expect(replayed.status == live.status)
            let records = try comparable(replayed.text)
            if options.isEmpty { #expect(try records == comparable(live.text)) }
            #expect(records.count == list.count - 2 + 1)
        }
        #expect(smallweb.home.files(below: ".local").isEmpty)
        #expect(try smallweb.run(["warc", "check", name]).status == 0)
        let missing = try smallweb.run(["--replay", name, sites.urls[0] + "/other"])
        #expect(missing.status == 103 && missing.errors.contains("no recording has this URL"))
        let listed = try smallweb.run(["warc", "list", name]).text
        #expect(listed.contains("\tresponse\t") && listed.contains("\t51\t"))
    }

    @Test func secretsAreMasked() throws {
        let capsule = try Capsule()
        let http = try LoopbackServer(handler: DemoSites.web)
        try Data("pass word".utf8).write(to: URL(fileURLWithPath: smallweb.home.file("secret")))
        let place = "http://ada:hidden1@127.0.0.1:\(http.port)/about"
        let run = { (options: [String]) throws in
            _ = try smallweb.run(
                options + ["-d", "@secret", capsule.place + "/input"])
            return try smallweb.run(
                options + ["-H", "Authorization: Bearer hidden2", "-H", "Cookie: a=hidden3", place])
        }
        #expect(try run(["--warc", "a.warc"]).status == 0)
        let archive = content("a.warc")
        for secret in ["pass word", "pass%20word", "hidden1", "hidden2", "hidden3"] {
            #expect(!archive.contains(secret), "\(secret)")
        }
        #expect(archive.contains("/input?***") && archive.contains("Authorization: ***"))
        #expect(try run(["--warc", "b.warc", "--warc-secrets"]).status == 0)
        #expect(content("b.warc").contains("hidden2"))
        http.stop()
        for name in ["a.warc", "b.warc"] {
            #expect(try run(["--replay", name]).status == 0, "\(name)")
            #expect(try smallweb.run(["warc", "check", name]).status == 0)
        }
    }

    @Test func anUploadIsRecordedWithoutItsToken() throws {
        let server = try LoopbackServer(tls: .make()) { peer in
            _ = peer.readLine()
            _ = peer.read(2_000_000)
            peer.write("20 text/gemini\r\nstored\n")
        }
        let bytes = [UInt8](repeating: 7, count: 2_000_000)
        for (name, text) in [("page", bytes), ("token", Array("hidden".utf8))] {
            try Data(text).write(to: URL(fileURLWithPath: smallweb.home.file(name)))
        }
        let url = "titan://127.0.0.1:\(server.port)/a"
        let put = ["put", "--token-file", "token", url]
        #expect(try smallweb.run(put + ["page", "--warc", "a.warc"]).text == "stored\n")
        server.stop()
        #expect(content("a.warc").contains(";size=2000000;mime="))
        #expect(content("a.warc").contains(";token=***\r\n"))
        #expect(!content("a.warc").contains("hidden"))
        #expect(try smallweb.run(["warc", "check", "a.warc"]).status == 0)
        #expect(try smallweb.run(put + ["page", "--replay", "a.warc"]).text == "stored\n")
        #expect(try smallweb.run(put + ["token", "--replay", "a.warc"]).status == 103)
    }

    @Test func aFileThatCannotBeWrittenSendsNothing() throws {
        let hole = try Hole()
        for name in ["none/a.warc", ".", "/dev/full"] {
            let result = try smallweb.run(["--warc", name, hole.place + "/0/about.txt"])
            #expect(result.status == 23 && result.output.isEmpty, "\(name)")
        }
        for options in [
            ["--cache", "--replay", "b"], ["--replay-loose"], ["--warc-secrets"],
            ["--warc", "a", "-o", "a"], ["--warc", "a", "--ledger", "a"],
        ] {
            #expect(try smallweb.run(options + [hole.place]).status == 2, "\(options)")
        }
        #expect(try smallweb.run(["--warc", "a", "--replay", "b", hole.place]).status == 26)
        #expect(smallweb.home.names.allSatisfy { $0 != "a" })
        #expect(try smallweb.run(["--replay", "none", hole.place]).status == 26)
        try Data("hello\n".utf8).write(to: URL(fileURLWithPath: smallweb.home.file("text")))
        #expect(try smallweb.run(["--replay", "text", hole.place]).status == 8)
        #expect(try smallweb.run(["warc", "list", "text"]).status == 8)
        #expect(try smallweb.run(["warc", "list", "none"]).status == 26)
    }

    /// The disk is full within a record: whole records stay, and the run ends, whatever its status.
    @Test(arguments: ["a.warc", "a.warc.gz"], [900_000, 3_000_000])
    func aFullDiskEndsTheRun(_ name: String, _ size: Int) throws {
        let hole = try Hole()
        let urls = ["/0/about.txt", "/9/big/\(size)", "/0/dots.txt"].map { hole.place + $0 }
        let result = try smallweb.run(
            ["-s", "--json", "--body", "none", "--exit-status", "run", "--warc", name] + urls,
            shell: "trap '' XFSZ; ulimit -f 1000; exec \"$@\"")
        #expect(result.status == 23)
        let records = result.text.split(separator: "\n")
        #expect(!records.contains { $0.contains("dots.txt") && $0.contains("\"ok\":true") })
        #expect(try smallweb.run(["warc", "check", name]).status == 0)
        let replayed = try smallweb.run(["--replay", name, urls[0]])
        #expect(replayed.status == 0 && replayed.text.hasPrefix("This hole"))
        #expect(try smallweb.run(["--replay", name, urls[1]]).status == 103)
    }

    @Test func pairsOfManyLoopsStayTogether() throws {
        let (capsule, hole) = (try Capsule(), try Hole())
        let urls = (1...60).flatMap { number in
            ["\(capsule.place)/1k?\(number)", "\(hole.place)/0/dots.txt?\(number)"]
        }
        let run = ["-s", "--json", "-j", "64", "--per-host", "30", "--loops", "3"]
        _ = try smallweb.run(run + ["--warc", "a.warc.gz"] + urls)
        #expect(try smallweb.run(["warc", "check", "a.warc.gz"]).status == 0)
        let lines = try smallweb.run(["warc", "list", "a.warc.gz"]).text.split(separator: "\n")
        let records = lines.map { $0.split(separator: "\t") }
        for (record, next) in zip(records, records.dropFirst()) where record[1] == "request" {
            #expect(next[1] == "response" && next[6] == record[6])
        }
        #expect(records.count { $0[1] == "response" } == urls.count)
    }

    @Test func aConfigFileCannotRecord() throws {
        let path = smallweb.home.file("conf")
        try Data("[scheme gopher]\nwarc = a.warc\n".utf8).write(to: URL(fileURLWithPath: path))
        let result = try smallweb.run(["-K", "conf", "gopher://127.0.0.1:1/"])
        #expect(result.status == 2 && result.errors.contains("conf:2"))
    }

    /// An archive that would be read or written by another option, under the same name or another.
    @Test func anArchiveIsNotASecondFileOfTheRun() throws {
        let hole = try Hole()
        let url = hole.place + "/0/about.txt"
        _ = try smallweb.run(["--warc", "a.warc", url])
        let before = smallweb.home.content("a.warc")
        let linked = "ln -sf a.warc soft; ln -f a.warc hard; exec \"$@\""
        for words in [
            ["--warc", "a.warc", "-o", "a.warc", url],
            ["--warc", "soft", "-o", "a.warc", url], ["--replay", "a.warc", "-o", "hard", url],
            ["watch", "--warc", "a.warc", "--state", "hard", url],
            ["feed", "--replay", "soft", "--state", "a.warc", url],
        ] {
            let result = try smallweb.run(words, shell: linked)
            #expect(result.status == 2 && result.output.isEmpty, "\(words): \(result.errors)")
            #expect(smallweb.home.content("a.warc") == before, "\(words)")
        }
    }

    /// One warning, however much is damaged. A run that appends reports the part it cuts off.
    @Test func aTornArchiveIsReplayedWithAWarning() throws {
        let hole = try Hole()
        let urls = ["/0/about.txt", "/0/dots.txt"].map { hole.place + $0 }
        _ = try smallweb.run(["--warc", "a.warc"] + urls)
        let whole = smallweb.home.content("a.warc") ?? []
        let records = String(decoding: whole, as: UTF8.self).components(separatedBy: "WARC/1.1")
        let damaged = records.joined(separator: "\0\0WARC/1.1").dropFirst(2).dropLast(9)
        try Data(damaged.utf8).write(to: URL(fileURLWithPath: smallweb.home.file("a.warc")))
        hole.server.stop()
        let replayed = try smallweb.run(["--replay", "a.warc", urls[0]])
        #expect(replayed.status == 0 && replayed.text.hasPrefix("This hole"))
        let warnings = replayed.errors.split(separator: "\n")
        #expect(warnings.count == 1 && replayed.errors.contains("only whole records are used"))
        let made = try smallweb.run(["warc", "wire", "a.warc", "Fixtures"])
        #expect(made.status == 0 && made.errors == replayed.errors, "\(made.errors)")
        #expect(try smallweb.run(["warc", "check", "a.warc"]).status == 8)
    }
}
