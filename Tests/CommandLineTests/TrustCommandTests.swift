// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

@testable import SmallWebCLI

@Suite(.timeLimit(.minutes(30)))
struct TrustCommandTests {
    private let smallweb: Smallweb

    init() {
        var smallweb = Smallweb()
        smallweb.environment["SMALLWEB_KNOWN_HOSTS"] = smallweb.home.file("hosts")
        self.smallweb = smallweb
    }

    private let hash = "sha256:" + String(repeating: "ab", count: 32)
    private var store: String {
        String(decoding: smallweb.home.content("hosts") ?? [], as: UTF8.self)
    }

    private func write(_ text: String, _ name: String = "hosts") throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: smallweb.home.file(name)))
    }

    @Test func addsShowsReplacesAndRemoves() throws {
        #expect(try smallweb.run(["trust", "add", "a.test", "--pin", hash]).status == 0)
        #expect(try smallweb.run(["trust", "list"]).text.hasPrefix("a.test:1965\tk\t\(hash)\t"))
        #expect(try smallweb.run(["trust", "show", "gemini://a.test/x"]).text.contains(hash))
        let other = "sha256:" + String(repeating: "cd", count: 32)
        #expect(try smallweb.run(["trust", "replace", "a.test", "--pin", other]).status == 0)
        #expect(!store.contains(hash) && store.contains(other))
        #expect(try smallweb.run(["trust", "remove", "a.test"]).status == 0)
        #expect(try smallweb.run(["trust", "list"]).text == "")
        #expect(try smallweb.run(["trust", "remove", "a.test"]).status == 60)
    }

    @Test(arguments: [["--pin"], [], ["--force"]])
    func nothingIsReplacedOfAHostThatIsNotKnown(_ options: [String]) throws {
        let options = options == ["--pin"] ? ["--pin", hash] : options
        let result = try smallweb.run(["trust", "replace", "a.test"] + options)
        let command = "trust add a.test:1965" + (options.count == 2 ? " --pin \(hash)" : "")
        #expect(result.status == 60)
        #expect(
            result.errors == "smallweb: no key of a.test:1965 is known\n"
                + "hint: to pin the first one: smallweb \(command)\n")
        #expect(smallweb.home.content("hosts") == nil)
        // A line that cannot be read is known all the same, and may go.
        try write("a.test:1965 k sha256:damaged\n")
        #expect(try smallweb.run(["trust", "replace", "a.test", "--pin", hash]).status == 0)
        #expect(store.contains(hash) && !store.contains("damaged"))
        try write("a.test:1965 k sha256:damaged\n")
        #expect(try smallweb.run(["trust", "remove", "a.test"]).status == 0)
        #expect(!store.contains("damaged"))
    }

    @Test(arguments: ["add", "replace"])
    func keysOfSchemesWithAuthoritiesAreNotStored(_ action: String) throws {
        let result = try smallweb.run(["trust", action, "-q", "https://a.test/", "--pin", hash])
        #expect(result.status == 2)
        #expect(
            result.errors
                == "smallweb: keys of https are checked by certificate authorities, not by this "
                + "store\n")
        #expect(smallweb.home.content("hosts") == nil)
    }

    @Test func anExportWithoutAKeyIsAFailure() throws {
        #expect(try smallweb.run(["trust", "export", "--to", "gmni"]).status == 0, "nothing to do")
        #expect(try smallweb.run(["trust", "add", "a.test", "--pin", hash]).status == 0)
        let result = try smallweb.run(["trust", "export", "-q", "--to", "gmni"])
        #expect(result.status == 23 && result.text == "")
        #expect(
            result.errors
                == "smallweb: a.test:1965: gmni wants another hash than the store has\n"
                + "smallweb: no key can be written for gmni\n")
        #expect(
            try smallweb.run(["trust", "export", "--to", "lagrange"]).text.hasPrefix("a.test;"))
    }

    @Test(arguments: ["gmni", "chawan"])
    func aClientWithoutPortsIsGivenNoOther(_ client: String) throws {
        #expect(try smallweb.run(["trust", "add", "a.test:1966", "--pin", hash]).status == 0)
        let result = try smallweb.run(["trust", "export", "-q", "--to", client])
        #expect(result.status == 23 && result.text == "")
        #expect(result.errors.hasPrefix("smallweb: a.test:1966: \(client) has no ports, and "))
    }

    @Test func aTimeToExpiryHasAUnit() throws {
        let result = try smallweb.run(["trust", "expiring", "--within", "30"])
        #expect(result.status == 2)
        #expect(result.errors == "smallweb: --within wants a unit, as in 30d for days\n")
    }

    @Test(arguments: ["a.test:0", "[::1]:0"])
    func aPortIsANumberFromOne(_ place: String) throws {
        for options in [[], ["--pin", hash]] {
            let result = try smallweb.run(["trust", "add", place] + options)
            #expect(result.status == 2, "\(result.errors)")
        }
        #expect(smallweb.home.content("hosts") == nil)
    }

    @Test func aStoreOfOursIsImported() throws {
        #expect(try smallweb.run(["trust", "add", "a.test", "--pin", hash]).status == 0)
        let exported = try smallweb.run(["trust", "export", "--to", "smallweb"]).text
        #expect(exported == store)
        try write(exported, "other")
        #expect(try smallweb.run(["trust", "remove", "a.test"]).status == 0)
        let result = try smallweb.run(["trust", "import", smallweb.home.file("other")])
        #expect(result.status == 0)
        #expect(result.errors.hasPrefix("from smallweb: imported 1, kept 0 "), "\(result.errors)")
        #expect(store.contains(hash) && store.contains("via=import:smallweb"))
    }

    /// The store is not asked for https, so its commands would not help.
    @Test func theCommandInTheHintAcceptsTheKeyOfAWebServer() throws {
        let web = try LoopbackServer(tls: .make(), handler: DemoSites.web)
        let checked = try smallweb.run(["trust", "check", "https://127.0.0.1:\(web.port)/about"])
        #expect(checked.status == 60)
        let hint = try #require(checked.errors.split(separator: "hint: 'smallweb ").last)
        let words = hint.prefix { $0 != "'" }.split(separator: " ").map(String.init)
        #expect(try smallweb.run(words).status == 0, "\(words)")
    }

    @Test func theCommandInTheHintAcceptsTheChange() throws {
        let certificate = TestCertificate.make()
        let old = try Capsule(certificate)
        let place = "127.0.0.1:\(old.server.port)"
        #expect(try smallweb.run(["trust", "add", place]).text.contains("first-use"))
        #expect(try smallweb.run(["trust", "check", place]).text.contains("match"))
        #expect(try smallweb.run(["trust", "replace", place, "--pin", hash]).status == 0)
        let refused = try smallweb.run(["get", old.place + "/about"])
        #expect(refused.status == 90)
        let lines = refused.errors.split(separator: "\n")
        #expect(lines.count == 5 && lines[0].hasSuffix("/about: the key of \(place) changed"))
        #expect(lines[0].count <= 100)
        #expect(lines[1].hasPrefix("  known since ") && !lines[1].contains(","))
        #expect(lines[2] == "  was " + FetchError.grouped(hash.dropFirst(7)))
        #expect(lines[3] == "  now " + FetchError.grouped(certificate.spkiSHA256.hex[...]))
        #expect(lines[1...3].allSatisfy { $0.count <= 80 })
        // A script cannot be asked: the whole command is in its log.
        let key = "sha256:" + certificate.spkiSHA256.hex
        #expect(lines[4].hasSuffix(": smallweb trust replace \(place) --pin \(key)"))
        let screen = try Screen(isTerminal: true, columns: 80)
        #expect(try smallweb.run(["get", old.place + "/about"], on: screen) { _ in } == 90)
        let hint = try #require(screen.shown.split(whereSeparator: \.isNewline).last)
        let command = try #require(hint.split(separator: "genuine: smallweb ").last)
        let words = command.split(separator: " ").map(String.init)
        #expect(words == ["trust", "replace", place] && hint.count <= 80, "\(hint)")
        #expect(try answer("y\n", to: words).0 == 0)
        #expect(try smallweb.run(["get", old.place + "/about"]).status == 0)
    }

    /// Neither the word nor its scheme is the fault: the hint leads to the key.
    @Test func withoutATerminalTheHintLeadsToTheKey() throws {
        let capsule = try Capsule()
        let place = capsule.place.replacing("gemini://", with: "")
        for word in [place, capsule.place + "/"] {
            let smallweb = Smallweb()
            #expect(try smallweb.run(["trust", "add", place]).status == 0)
            let result = try smallweb.run(["trust", "replace", word])
            let pin = "hint: 'smallweb trust replace --pin sha256:HEX \(place)' names the new key"
            #expect(result.status == 2 && result.errors.contains(pin), "\(result.errors)")
            let key = "sha256:" + String(repeating: "a", count: 64)
            #expect(try smallweb.run(["trust", "replace", "--pin", key, place]).status == 0)
            #expect(try smallweb.run(["trust", "replace", "--force", place]).status == 0)
        }
    }

    /// Runs on a terminal, where the question is answered.
    private func answer(_ answer: String, to words: [String]) throws -> (Int32, String) {
        let screen = try Screen(isTerminal: true, columns: 120)
        let status = try smallweb.run(words, on: screen, input: true) { screen, _ in
            screen.waitFor("[y/N] ")
            try screen.reader.write(contentsOf: Data(answer.utf8))
        }
        return (status, screen.shown)
    }

    @Test func thePresentKeyReplacesTheOthersAfterAYes() throws {
        let certificate = TestCertificate.make()
        let capsule = try Capsule(certificate)
        let place = "127.0.0.1:\(capsule.server.port)"
        let key = "sha256:" + certificate.spkiSHA256.hex
        try write("\(place) k \(hash)\n\(place) k sha256:\(String(repeating: "cd", count: 32))\n")
        let before = store
        let unasked = try smallweb.run(["trust", "replace", place])
        #expect(unasked.status == 2 && unasked.errors.contains("--force"), "\(unasked.errors)")
        #expect(unasked.errors.contains("--pin"))
        #expect(capsule.server.connections.isEmpty, "nothing was fetched")
        let (refused, shown) = try answer("n\n", to: ["trust", "replace", place])
        #expect(refused == 90 && shown.contains("stay as they are"), "\(shown)")
        #expect(shown.contains("  was cdcdcdcd cdcdcdcd ") && shown.contains("  now "), "\(shown)")
        #expect(store == before)
        let (accepted, _) = try answer("y\n", to: ["trust", "replace", place])
        #expect(accepted == 0 && store.contains(key) && !store.contains("cdcdcd"))
        try write(before)
        #expect(try smallweb.run(["trust", "replace", "--force", place]).status == 0)
        #expect(store.contains(key) && !store.contains(hash) && !store.contains("cdcdcd"))
        // A key that is known needs no question.
        let again = try smallweb.run(["trust", "replace", "--force", place])
        #expect(again.status == 0 && again.text == "\(place)\tmatch\t\(key)\n")
    }

    @Test func anImportSaysWhoseStoreItIs() throws {
        let sha512 = String(repeating: "AB", count: 64)
        try write("a.test:1965 \(sha512)\nb.test:1965 \(sha512)\n", "pins")
        let pins = smallweb.home.file("pins")
        let found = try smallweb.run(["trust", "import", pins])
        #expect(found.status == 0)
        #expect(
            found.errors
                == "from gplaces: imported 2, kept 0 that were known, could not read 0 lines\n")
        try write("a.test:1965 \(sha512)\nand what is this\n", "pins")
        let mixed = try smallweb.run(["trust", "import", pins])
        #expect(mixed.status == 2 && mixed.errors.contains("wants --from, one of gmni, "))
        #expect(try smallweb.run(["trust", "import", "--from", "gplaces", pins]).status == 0)
    }

    @Test func lockedAndPinned() throws {
        let certificate = TestCertificate.make()
        let capsule = try Capsule(certificate)
        let url = capsule.place + "/about"
        #expect(try smallweb.run(["get", "--trust", "locked", url]).status == 60)
        let pin = "sha256:" + certificate.spkiSHA256.hex
        #expect(try smallweb.run(["get", "--pin", pin, url]).status == 0)
        #expect(try smallweb.run(["get", "--pin", hash, url]).status == 90)
        #expect(smallweb.home.content("hosts") == nil, "nothing was stored")
        #expect(try smallweb.run(["get", "--trust", "ask", url]).status == 60)
        #expect(try smallweb.run(["get", url]).status == 0)
        #expect(try smallweb.run(["get", "--trust", "locked", url]).status == 0)
    }

    /// The check is our own for gemini, and libcurl's for https.
    @Test(arguments: [false, true])
    func aWrongPinIsShownWithTheKeyThatIsThere(_ isWeb: Bool) throws {
        let certificate = TestCertificate.make()
        let capsule = isWeb ? nil : try Capsule(certificate)
        let web = isWeb ? try LoopbackServer(tls: certificate, handler: DemoSites.web) : nil
        let place = "127.0.0.1:\(try #require(capsule?.server.port ?? web?.port))"
        let url = "\(isWeb ? "https" : "gemini")://\(place)/about"
        let key = certificate.spkiSHA256.hex
        let result = try smallweb.run(["get", "--pin", hash, url])
        #expect(result.status == 90 && result.text == "")
        #expect(
            result.errors == """
                smallweb: \(url): the key of \(place) is not the one that must be there
                  want \(FetchError.grouped(hash.dropFirst(7)))
                  now \(FetchError.grouped(key[...]))
                hint: if the key that is there now is right, name that one with --pin

                """)
        let error = try smallweb.records(["--pin", hash, url]).records.terminal[0]["error"]
        #expect(error?["expected"]?.string == hash)
        #expect(error?["actual"]?.string == "spki-sha256:" + key)
        #expect(try smallweb.run(["get", "--pin", "sha256:" + key, url]).status == 0)
    }

    @Test func authoritiesAreThoseOfTheEnvironment() throws {
        let certificate = TestCertificate.make()
        let capsule = try Capsule(certificate)
        try write(certificate.certificatePEM, "ca.pem")
        let url = capsule.place + "/about"
        #expect(try smallweb.run(["get", "--trust", "ca", url]).status == 60)
        var trusting = smallweb
        trusting.environment["SSL_CERT_FILE"] = smallweb.home.file("ca.pem")
        #expect(try trusting.run(["get", "--trust", "ca", url]).status == 0)
        #expect(smallweb.home.content("hosts") == nil)
        #expect(try trusting.run(["get", "--trust", "both", url]).status == 0)
        #expect(store.contains("via=first-use"))
        let elsewhere = "gemini://localhost.test:\(capsule.server.port)/about"
        let resolve = "localhost.test:\(capsule.server.port):127.0.0.1"
        let wrong = try trusting.run(["get", "--trust", "ca", "--resolve", resolve, elsewhere])
        #expect(wrong.status == 60)
        #expect(wrong.errors.contains("another name"))
    }

    @Test func libcurlSaysWhatItCannot() throws {
        let result = try smallweb.run(["get", "--trust", "locked", "https://127.0.0.1:1/"])
        #expect(result.status == 2)
        #expect(result.errors.contains("libcurl cannot"))
    }

    @Test func importsWithoutOverwriting() throws {
        let line = "a.test:1965 \(String(repeating: "AB", count: 64))\n"
        try write(line + "b.test:70 \(String(repeating: "AB", count: 64))\n", "gplaces")
        #expect(try smallweb.run(["trust", "add", "a.test", "--pin", hash]).status == 0)
        let path = smallweb.home.file("gplaces")
        let first = try smallweb.run(["trust", "import", "--from", "gplaces", path])
        #expect(first.errors.hasPrefix("imported 1, kept 1"))
        #expect(store.contains(hash))
        #expect(
            try smallweb.run(["trust", "import", "--replace", "--from", "gplaces", path]).status
                == 0)
        #expect(!store.contains(hash))
        #expect(try smallweb.run(["trust", "export", "--to", "gplaces"]).text.contains(line))
        #expect(
            try smallweb.run(["trust", "export", "--to", "lagrange"]).errors.contains("a.test"))
        try write("SQLite format 3\0", "tofu.db")
        let database = smallweb.home.file("tofu.db")
        #expect(try smallweb.run(["trust", "import", "--from", "av-98", database]).status == 2)
    }

    @Test func whatExpiresIsAMonitorsStatus() throws {
        let now = Int(Date().timeIntervalSince1970)
        let line = { (host: String, days: Int) in
            "\(host):1965 k \(hash) expires=\(now + days * 86_400)\n"
        }
        try write(line("far", 30))
        #expect(try smallweb.run(["trust", "expiring"]).status == 0)
        #expect(try smallweb.run(["trust", "expiring", "--within", "5w"]).status == 1)
        try write(line("far", 30) + line("near", 13))
        let near = try smallweb.run(["trust", "expiring", "--within", "14d"])
        #expect(near.status == 1)
        #expect(near.text.hasPrefix("near:1965\t"))
        try write(line("gone", -1))
        #expect(try smallweb.run(["trust", "expiring"]).status == 2)
    }

    @Test func whatExpiresOfSomeHosts() throws {
        let now = Int(Date().timeIntervalSince1970)
        let line = { (host: String, days: Int) in
            "\(host):1965 k \(hash) expires=\(now + days * 86_400)\n"
        }
        try write(line("gone", -1) + line("near", 3) + line("far", 400))
        let near = try smallweb.run(["trust", "expiring", "near", "far:1965"])
        #expect(near.status == 1 && near.text.hasPrefix("near:1965\t"), "\(near.text)")
        #expect(near.text.split(separator: "\n").count == 1, "\(near.text)")
        #expect(try smallweb.run(["trust", "expiring", "far"]).status == 0)
        #expect(try smallweb.run(["trust", "expiring", "--within", "1y", "far"]).status == 0)
        #expect(try smallweb.run(["trust", "expiring", "--within", "2y", "far"]).status == 1)
        #expect(try smallweb.run(["trust", "expiring", "gemini://gone/"]).status == 2)
        // A host that is mistyped must not count as one whose certificate is good.
        let unknown = try smallweb.run(["trust", "expiring", "far", "other"])
        #expect(unknown.status == 60 && unknown.text == "", "\(unknown.errors)")
        #expect(unknown.errors.contains("no key of other:1965 is known"), "\(unknown.errors)")
    }

    @Test func twoHundredProcessesLoseNoLine() async throws {
        let (smallweb, hash) = (smallweb, hash)
        try await withThrowingTaskGroup(of: Int32.self) { group in
            for number in 0..<200 {
                group.addTask {
                    try smallweb.run(["trust", "add", "h\(number).test", "--pin", hash]).status
                }
            }
            for try await status in group { #expect(status == 0) }
        }
        let places = Set(store.split(separator: "\n").map { $0.prefix { $0 != ":" } })
        for number in 0..<200 { #expect(places.contains("h\(number).test")) }
        #expect(smallweb.home.names == ["hosts"], "no temporary file is left")
    }

    @Test func aKilledWriterLeavesTheOldStoreOrTheNew() throws {
        let filler = (0..<2000).map { "h\($0).test:1965 k \(hash) n=1\n" }.joined()
        for round in 0..<20 {
            try write(filler)
            let killed = try smallweb.run(["trust", "add", "new.test", "--pin", hash]) { process in
                usleep(UInt32(round) * 1500)
                kill(process, SIGKILL)
            }
            _ = killed
            let lines = store.split(separator: "\n")
            #expect(lines.count == 2000 || lines.count == 2001)
            #expect(store.hasSuffix("\n") && store.hasPrefix(filler.prefix(100)))
        }
        #expect(try smallweb.run(["trust", "add", "last.test", "--pin", hash]).status == 0)
        #expect(store.contains("last.test:1965"))
    }
}
