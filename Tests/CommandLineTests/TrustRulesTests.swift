// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// Trust as the config file sets it for schemes and hosts, and where the store is.
@Suite(.timeLimit(.minutes(30)))
struct TrustRulesTests {
    private let certificate = TestCertificate.make(names: ["a.test", "b.test"])

    private func smallweb(_ config: String) throws -> Smallweb {
        var smallweb = Smallweb()
        smallweb.environment["SMALLWEB_CONFIG"] = smallweb.home.file("config")
        smallweb.environment["SMALLWEB_KNOWN_HOSTS"] = smallweb.home.file("hosts")
        try Data(config.utf8).write(to: URL(fileURLWithPath: smallweb.home.file("config")))
        return smallweb
    }

    private func get(
        _ smallweb: Smallweb, _ server: LoopbackServer, _ path: String, _ options: [String] = [],
        host: String = "a.test"
    ) throws -> JSON {
        let resolve = ["a.test", "b.test"].flatMap {
            ["--resolve", "\($0):\(server.port):127.0.0.1"]
        }
        let url = "gemini://\(host):\(server.port)\(path)"
        let result = try smallweb.run(["get", "--json"] + resolve + options + [url])
        return try #require(try Records(result.output).terminal.first)
    }

    @Test func aSchemesRuleAHostsRuleAndTheCommandLine() throws {
        let server = try LoopbackServer(tls: certificate, handler: DemoSites.gemini())
        for (config, options, policy, exit) in [
            ("", [], "tofu", 0),
            ("trust = locked", [], "locked", 60),
            ("[scheme gemini]\ntrust = locked", [], "locked", 60),
            ("[scheme gophers]\ntrust = locked", [], "tofu", 0),
            ("[host a.test]\ntrust = locked", [], "locked", 60),
            ("[host *.test]\ntrust = ca", [], "ca", 60),
            ("[host b.test]\ntrust = locked", [], "tofu", 0),
            ("[scheme gemini]\ntrust = locked\n[host a.test]\ntrust = tofu", [], "tofu", 0),
            ("[host a.test]\ntrust = locked", ["--trust", "tofu"], "tofu", 0),
            ("[host a.test]\ninsecure = true", [], "none", 0),
            ("[host a.test]\ntrust = locked", ["-k"], "none", 0),
        ] as [(String, [String], String, Int)] {
            let smallweb = try smallweb(config)
            let record = try get(smallweb, server, "/about", options)
            #expect(record["exit"]?.int == exit, "\(config) \(options)")
            #expect(record["trust"]?["policy"]?.string == policy, "\(config) \(options)")
        }
    }

    /// A server that sends every visitor of a.test to b.test.
    private func redirecting() throws -> LoopbackServer {
        try LoopbackServer(tls: certificate) { peer in
            let line = String(decoding: peer.readLine() ?? [], as: UTF8.self)
            if line.contains("//a.test") {
                peer.write("30 gemini://b.test:\(peer.localPort)/there\r\n")
            } else {
                peer.write("20 text/plain\r\nthere\n")
            }
        }
    }

    @Test func aRedirectIsJudgedByTheRulesOfWhereItLeads() throws {
        let server = try redirecting()
        let locked = try get(try smallweb("[host b.test]\ntrust = locked"), server, "/")
        #expect(locked["exit"]?.int == 60)
        #expect(locked["trust"]?["policy"]?.string == "locked")
        let skipping = try smallweb("[host a.test]\ninsecure = true")
        let record = try get(skipping, server, "/")
        #expect(record["exit"]?.int == 0)
        #expect(record["trust"]?["policy"]?.string == "tofu")
        #expect(record["trust"]?["verdict"]?.string == "first-use")
        let store = String(decoding: skipping.home.content("hosts") ?? [], as: UTF8.self)
        #expect(store.contains("b.test:") && !store.contains("a.test:"))
    }

    @Test func theStoreIsTheOneThatIsNamed() throws {
        let server = try LoopbackServer(tls: certificate, handler: DemoSites.gemini())
        let smallweb = try smallweb("")
        let option = ["--known-hosts", smallweb.home.file("project")]
        #expect(try get(smallweb, server, "/about", option)["exit"]?.int == 0)
        #expect(smallweb.home.content("hosts") == nil)
        // A rewritten store keeps its permissions.
        chmod(smallweb.home.file("project"), 0o644)
        let place = "b.test:\(server.port)"
        let pin = "sha256:" + certificate.spkiSHA256.hex
        #expect(try smallweb.run(["trust", "add", place, "--pin", pin] + option).status == 0)
        let attributes = try FileManager.default.attributesOfItem(
            atPath: smallweb.home.file("project"))
        #expect(attributes[.posixPermissions] as? Int == 0o644)
        let locked = option + ["--trust", "locked"]
        #expect(try get(smallweb, server, "/about", locked, host: "b.test")["exit"]?.int == 0)
        #expect(try smallweb.run(["trust", "list"] + option).text.contains(place))
    }

    @Test func aCommentIsNoPinAndAnInternationalNameIsItsALabels() throws {
        let smallweb = try smallweb("")
        let hash = "sha256:" + String(repeating: "ab", count: 32)
        try Data("#a.test:1965 k \(hash) n=1\n".utf8)
            .write(to: URL(fileURLWithPath: smallweb.home.file("hosts")))
        #expect(try smallweb.run(["trust", "list"]).text == "")
        for name in ["bücher.test", "gemini://bücher.test/x"] {
            #expect(try smallweb.run(["trust", "add", name, "--pin", hash]).status == 0)
        }
        #expect(
            try smallweb.run(["trust", "list"]).text.hasPrefix("xn--bcher-kva.test:1965\tk\t"))
        #expect(try smallweb.run(["trust", "show", "xn--bcher-kva.test"]).status == 0)
    }

    /// The key of an alternative that still counts must not be taken for an old one.
    @Test func oneAlternativeThatHasNotExpiredHoldsTheOthers() throws {
        let server = try LoopbackServer(tls: certificate, handler: DemoSites.gemini())
        let smallweb = try smallweb("")
        let now = UTCDate.now
        let lines = [("ab", 1000), ("cd", -1000)].map { pair, seconds in
            "a.test:\(server.port) k sha256:\(String(repeating: pair, count: 32)) "
                + "expires=\(now + seconds)\n"
        }
        for text in [lines.joined(), lines.reversed().joined()] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: smallweb.home.file("hosts")))
            #expect(try get(smallweb, server, "/about")["exit"]?.int == 90)
        }
        try Data(lines[1].utf8).write(to: URL(fileURLWithPath: smallweb.home.file("hosts")))
        #expect(try get(smallweb, server, "/about")["trust"]?["verdict"]?.string == "renewed")
    }
}
