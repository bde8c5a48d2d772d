// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// Output of `smallweb trust` and `smallweb identity`: records, columns, other clients' stores.
@Suite(.timeLimit(.minutes(30)))
struct StoreRecordTests {
    private let smallweb: Smallweb
    private let hash = "sha256:" + String(repeating: "ab", count: 32)

    init() {
        var smallweb = Smallweb()
        smallweb.environment["SMALLWEB_KNOWN_HOSTS"] = smallweb.home.file("hosts")
        smallweb.environment["SMALLWEB_IDENTITIES"] = smallweb.home.file("ids")
        self.smallweb = smallweb
    }

    private func write(_ text: String, _ name: String) throws {
        let url = URL(fileURLWithPath: smallweb.home.file(name))
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
    }

    private func records(_ arguments: [String], status: Int32 = 0) throws -> Records {
        let result = try smallweb.run(arguments + ["--json"])
        #expect(result.status == status, "\(arguments): \(result.errors)")
        return try Records(result.output)
    }

    // MARK: trust

    @Test func eachEntryIsARecord() throws {
        try write(
            """
            a.test:1965 k \(hash) expires=1797805033 first=1795212233 last=- n=3 via=first-use
            [::1]:70 c sha512:\(String(repeating: "cd", count: 64)) via=import:gmni

            """, "hosts")
        let list = try records(["trust", "list"])["trust-entry"]
        #expect(list.count == 2)
        #expect(list[0]["place"]?.string == "a.test:1965")
        #expect(list[0]["kind"]?.string == "key")
        #expect(list[0]["hash"]?.string == hash)
        #expect(list[0]["expires"]?.string == "2026-12-20T22:17:13Z")
        #expect(list[0]["last_seen"] == .null)
        #expect(list[0]["days"]?.int == 3)
        #expect(list[1]["kind"]?.string == "certificate")
        #expect(list[1]["via"]?.string == "import:gmni")
        #expect(try records(["trust", "show", "a.test"]).all == [list[0]])
        let added = try records(["trust", "add", "b.test", "--pin", hash])["trust-entry"]
        #expect(added.map { $0["place"]?.string } == ["b.test:1965"])
        let replaced = try records(["trust", "replace", "b.test", "--pin", hash])["trust-entry"]
        #expect(replaced.map { $0["via"]?.string } == ["replaced"])
        #expect(try records(["trust", "remove", "b.test"]).all == replaced)
        #expect(try records(["trust", "remove", "b.test"], status: 60).all.isEmpty)
    }

    @Test func whatExpiresIsARecordAndAStatus() throws {
        let now = UTCDate.now
        let line = { (host: String, days: Int) in
            "\(host):1965 k \(hash) expires=\(now + days * 86_400)\n"
        }
        try write(line("soon", 3) + line("late", 90) + "none:1965 k \(hash) expires=-\n", "hosts")
        let soon = try records(["trust", "expiring"], status: 1)
        #expect(soon.all.map { $0["place"]?.string } == ["soon:1965"])
        #expect(try records(["trust", "expiring", "--within", "1d"]).all.isEmpty)
        try write(line("soon", 3) + line("gone", -1), "hosts")
        #expect(try records(["trust", "expiring"], status: 2).all.count == 2)
        #expect(try records(["trust", "expiring", "--within", "2h"], status: 2).all.count == 1)
    }

    @Test func aCheckIsARecordWhateverItFinds() throws {
        let capsule = try Capsule()
        let place = "127.0.0.1:\(capsule.server.port)"
        let unknown = try records(["trust", "check", place], status: 60)
        let record = try #require(unknown["trust-check"].first)
        #expect(record["ok"]?.bool == false && record["exit"]?.int == 60)
        #expect(record["trust"]?["verdict"]?.string == "refused")
        #expect(record["trust"]?["policy"]?.string == "locked")
        #expect(record["hint"]?.string?.contains("trust add \(place) --pin sha256:") == true)
        #expect(smallweb.home.content("hosts") == nil)
        let added = try records(["trust", "add", place])["trust-check"].first
        #expect(added?["trust"]?["verdict"]?.string == "first-use")
        let known = try records(["trust", "check", place])["trust-check"].first
        #expect(known?["ok"]?.bool == true && known?["outcome"]?.string == "ok")
        #expect(known?["trust"]?["verdict"]?.string == "match")
        _ = try records(["trust", "replace", place, "--pin", hash])
        let changed = try records(["trust", "check", place], status: 90)["trust-check"].first
        #expect(changed?["trust"]?["verdict"]?.string == "changed")
        #expect(changed?["trust"]?["previous"]?.string == "spki-" + hash)
        capsule.server.stop()
        let silent = try records(["trust", "check", place], status: 7)["trust-check"].first
        #expect(silent?["outcome"]?.string == "connect")
        #expect(silent?["tls"] == .null && silent?["trust"] == .null)
        #expect(capsule.server.connections.allSatisfy { $0.received.isEmpty })
    }

    @Test func columnsAreForPeopleAndFitTheirTerminal() throws {
        try write("a-rather-long-name.test:1965 k \(hash) first=1795212233\n", "hosts")
        var wide = smallweb
        wide.environment["SMALLWEB_FORCE_TTY"] = "200"
        let lines = try wide.run(["trust", "list"]).text.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines[0].hasPrefix("PLACE                         KIND  EXPIRES  FIRST SEEN"))
        #expect(lines[1].hasSuffix(hash))
        var narrow = smallweb
        narrow.environment["SMALLWEB_FORCE_TTY"] = "50"
        for line in try narrow.run(["trust", "list"]).text.split(separator: "\n") {
            #expect(line.count <= 50)
        }
        #expect(
            try smallweb.run(["trust", "list"]).text
                == "a-rather-long-name.test:1965\tk\t\(hash)\t-\t2026-11-20\t-\n")
        try write("", "hosts")
        #expect(try wide.run(["trust", "list"]).text == "")
    }

    @Test func aStoreThatIsADirectoryIsReadAndWritten() throws {
        let now = UTCDate.now
        try write("a.test:1965 k \(hash) expires=\(now)\nb.test:70 k \(hash)\n", "hosts")
        let directory = smallweb.home.file("agunua")
        let export = ["trust", "export", "--to", "agunua", directory]
        #expect(try smallweb.run(export).status == 0)
        let base64 = "q6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s=\n"
        let first = String(decoding: smallweb.home.content("agunua/a.test") ?? [], as: UTF8.self)
        #expect(first == base64 + UTCDate.second(now) + "\n")
        #expect(smallweb.home.content("agunua/b.test:70") == Array(base64.utf8))
        #expect(try smallweb.run(export).status == 23, "never over what is there")
        #expect(
            try smallweb.run(["trust", "export", "--to", "gmni", directory]).status == 2)
        try write("", "hosts")
        // Names of files that would block or lead elsewhere are not opened.
        mkfifo(smallweb.home.file("agunua/pipe.test"), 0o600)
        let imported = try records(["trust", "import", "--from", "agunua", directory])
        #expect(
            Set(imported.all.compactMap { $0["place"]?.string })
                == ["a.test:1965", "b.test:70"])
        let dated = imported.all.first { $0["place"]?.string == "a.test:1965" }
        #expect(dated?["expires"]?.string == UTCDate.second(now))
    }

    @Test func alternativesOfAnImportStayAlternatives() throws {
        let other = "sha256:" + String(repeating: "cd", count: 32)
        let line = { (digest: String) in
            "a.test;1965 0 \(digest.dropFirst(7))\n"
        }
        try write(line(hash) + line(other) + line(hash), "lagrange")
        let path = smallweb.home.file("lagrange")
        for options in [[], ["--replace"], ["--replace"]] {
            _ = try smallweb.run(["trust", "import", "--from", "lagrange", path] + options)
            let pins = try records(["trust", "list"]).all
            #expect(pins.map { $0["hash"]?.string } == [hash, other])
            #expect(pins.allSatisfy { $0["expires"] == .null }, "0 is nobody's date")
        }
    }

    /// A hundred thousand lines in a moment: no step may look at all of them for each.
    @Test func aLargeStoreIsImportedAtOnce() throws {
        let lines = (0..<20_000).map { "h\($0).test;1965 1797805033 \(hash.dropFirst(7))\n" }
        try write(lines.joined(), "lagrange")
        let result = try smallweb.run(
            ["trust", "import", "--from", "lagrange", smallweb.home.file("lagrange")])
        #expect(result.errors.hasPrefix("imported 20000, kept 0"))
        let again = try smallweb.run(
            ["trust", "import", "--from", "lagrange", smallweb.home.file("lagrange")])
        #expect(again.errors.hasPrefix("imported 0, kept 20000"))
    }

    // MARK: identity

    @Test func eachIdentityIsARecord() throws {
        let made = try records(["identity", "new", "alice", "gemini://a.test/x"])["identity"]
        #expect(made.first?["used_for"]?.array == [.string("gemini://a.test:1965/x")])
        #expect(made.first?["cert"]?["key"]?.string == "ecdsa-p256")
        #expect(made.first?["cert"]?["subject"]?.string == "CN=alice")
        #expect(made.first?["encrypted"]?.bool == false)
        let other = try records(["identity", "new", "--key-type", "ed25519", "bob"])["identity"]
        #expect(other.first?["cert"]?["key"]?.string == "ed25519")
        #expect(try smallweb.run(["identity", "new", "--key-type", "rsa", "c"]).status == 2)
        let leaf = TestCertificate.make()
        try write(leaf.certificatePEM + leaf.encryptedKeyPEM(password: "x"), "locked.pem")
        try write("x\n", "pw")
        let locked = try records([
            "identity", "import", "carol", smallweb.home.file("locked.pem"),
            "--key-password-file", smallweb.home.file("pw"),
        ])["identity"]
        #expect(locked.first?["encrypted"]?.bool == true)
        // Neither a list nor a look needs the password.
        #expect(try records(["identity", "list"])["identity"].count == 3)
        #expect(try records(["identity", "show", "carol"]).all == locked)
        try write("no PEM", "ids/broken.pem")
        #expect(try records(["identity", "list"])["identity"].map { $0["cert"] }.contains(.null))
    }

    @Test func bindingsKeepOtherLinesAndLoseNone() async throws {
        for name in ["alice", "bob"] {
            #expect(try records(["identity", "new", name]).all.count == 1)
        }
        try write("# by hand\nalice gemini://a.test/\nfuture kind of line\n", "ids/bindings")
        let smallweb = smallweb
        try await withThrowingTaskGroup(of: Int32.self) { group in
            for number in 0..<40 {
                group.addTask {
                    try smallweb.run(["identity", "use", "bob", "gemini://h\(number).test/"]).status
                }
            }
            for try await status in group { #expect(status == 0) }
        }
        let text = String(decoding: smallweb.home.content("ids/bindings") ?? [], as: UTF8.self)
        #expect(text.hasPrefix("# by hand\nalice gemini://a.test/\nfuture kind of line\n"))
        for number in 0..<40 { #expect(text.contains("bob gemini://h\(number).test:1965/\n")) }
        let names = try FileManager.default.contentsOfDirectory(atPath: smallweb.home.file("ids"))
        #expect(names.sorted() == ["alice.pem", "bindings", "bob.pem"], "nothing else is left")
        #expect(try smallweb.run(["identity", "remove", "--force", "bob"]).status == 0)
        let left = String(decoding: smallweb.home.content("ids/bindings") ?? [], as: UTF8.self)
        #expect(left == "# by hand\nalice gemini://a.test/\nfuture kind of line\n")
    }

    @Test func aKilledWriterLeavesOldOrNewBindings() throws {
        _ = try records(["identity", "new", "alice"])
        let filler = (0..<2000).map { "alice gemini://h\($0).test:1965/\n" }.joined()
        for round in 0..<15 {
            try write(filler, "ids/bindings")
            _ = try smallweb.run(["identity", "use", "alice", "gemini://new.test/"]) { process in
                usleep(UInt32(round) * 2000)
                kill(process, SIGKILL)
            }
            let text = String(decoding: smallweb.home.content("ids/bindings") ?? [], as: UTF8.self)
            #expect(text == filler || text == filler + "alice gemini://new.test:1965/\n")
        }
    }

    @Test func identitiesOfOtherClients() throws {
        let pairs = (0..<6).map { _ in TestCertificate.make(names: [], ips: []) }
        func put(_ pair: TestCertificate, _ certificate: String, _ key: String? = nil) throws {
            try write(pair.certificatePEM + (key == nil ? pair.keyPEM : ""), certificate)
            if let key { try write(pair.keyPEM, key) }
        }
        try put(pairs[0], "telescope/certs/tel")
        try write(
            "gemini://a.test/x tel\n# no\ngemini://b.test:7/ tel\n", "telescope/certs.conf")
        try put(pairs[1], "lagrange/0a1b.crt", "lagrange/0a1b.key")
        try put(pairs[2], "offpunk/o.test/off.cert", "offpunk/o.test/off.key")
        try put(pairs[3], "astro/s.test.crt", "astro/s.test.key")
        try put(pairs[4], "am.crt", "am.key")
        try write(
            """
            [auth.certs]
            "m.test" = "\(smallweb.home.file("am.crt"))"
            [auth.keys]
            "m.test" = '\(smallweb.home.file("am.key"))'
            [other]
            "x.test" = "y"
            """, "amfora.toml")
        try put(pairs[5], "av/nick.crt", "av/nick.key")
        try write("v.test|1966|/root|nick|Nick\nbroken line\n", "av.dump")
        let file = { (name: String) in smallweb.home.file(name) }
        for (client, operands, name, pair, scopes) in [
            (
                "telescope", [file("telescope")], "tel", pairs[0],
                ["gemini://a.test:1965/x", "gemini://b.test:7/"]
            ),
            ("lagrange", [file("lagrange")], "0a1b", pairs[1], []),
            ("offpunk", [file("offpunk")], "off", pairs[2], ["gemini://o.test:1965/"]),
            ("astro", [file("astro")], "s.test", pairs[3], ["gemini://s.test:1965/"]),
            ("amfora", [file("amfora.toml")], "m.test", pairs[4], ["gemini://m.test:1965/"]),
            (
                "av-98", [file("av.dump"), file("av")], "nick", pairs[5],
                ["gemini://v.test:1966/root"]
            ),
        ] as [(String, [String], String, TestCertificate, [String])] {
            let found = try records(["identity", "import", "--from", client] + operands)
            let record = try #require(found["identity"].first, "\(client)")
            #expect(record["name"]?.string == name)
            #expect(record["cert"]?["sha256"]?.string == pair.sha256.hex)
            #expect(record["used_for"]?.array == scopes.map(JSON.string))
            // Once more is another name, not another key under the same.
            let again = try records(["identity", "import", "--from", client] + operands)
            #expect(again["identity"].first?["name"]?.string == name + "-2")
        }
        #expect(try smallweb.run(["identity", "import", "--from", "gmni", "x"]).status == 2)
        #expect(
            try smallweb.run(["identity", "import", "--from", "astro", "/nowhere"]).status == 26)
    }

    @Test func aHostileNameOfAnotherClientStaysInTheDirectory() throws {
        let pair = TestCertificate.make(names: [], ips: [])
        try write(pair.certificatePEM, "l/..evil \u{1B}[31m.crt")
        try write(pair.keyPEM, "l/..evil \u{1B}[31m.key")
        try write(pair.certificatePEM, "l/x..; rm.crt")
        try write(pair.keyPEM, "l/x..; rm.key")
        let result = try smallweb.run(
            ["identity", "import", "--from", "lagrange", smallweb.home.file("l")])
        #expect(result.status == 0, "\(result.errors)")
        let listed = try smallweb.run(["identity", "list"]).text
        #expect(listed.split(separator: "\n").map { $0.prefix { $0 != "\t" } } == ["x..--rm"])
        #expect(smallweb.home.names == ["ids", "l"])
    }

    @Test func aCertificateWithoutALineEndAndAKeyOfItsOwn() throws {
        let pair = TestCertificate.make(names: [], ips: [])
        try write(String(pair.certificatePEM.dropLast()), "c.crt")
        try write(pair.keyPEM, "c.key")
        let files = [smallweb.home.file("c.crt"), smallweb.home.file("c.key")]
        #expect(try smallweb.run(["identity", "import", "c"] + files).status == 0)
        for missing in [[files[0] + "x", files[1]], [files[0], files[1] + "x"]] {
            let result = try smallweb.run(["identity", "import", "d"] + missing)
            #expect(result.status == 26 && result.errors.contains("x: no such file"))
        }
        let capsule = try Capsule()
        let url = capsule.place + "/about"
        #expect(try smallweb.run(["get", "-k", "--identity", "c", url]).status == 0)
    }
}
