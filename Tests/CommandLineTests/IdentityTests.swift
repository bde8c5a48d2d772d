// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

@Suite(.timeLimit(.minutes(30)))
struct IdentityTests {
    private let smallweb: Smallweb

    init() {
        var smallweb = Smallweb()
        smallweb.environment["SMALLWEB_IDENTITIES"] = smallweb.home.file("ids")
        self.smallweb = smallweb
    }

    @Test func anIdentityIsMadePrivateBoundShownAndRemoved() throws {
        let made = try smallweb.run(["identity", "new", "alice", "gemini://a.test/app/"])
        #expect(made.status == 0, "\(made.errors)")
        let attributes = try FileManager.default.attributesOfItem(
            atPath: smallweb.home.file("ids/alice.pem"))
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(
            try smallweb.run(["identity", "list"]).text
                == "alice\t9999-12-31\tgemini://a.test:1965/app\n")
        let shown = try smallweb.run(["identity", "show", "alice"]).text
        #expect(shown.contains("CN=alice") && shown.contains("9999-12-31"))
        #expect(try smallweb.run(["identity", "new", "alice"]).status == 23, "never overwritten")
        #expect(try smallweb.run(["identity", "new", "../x"]).status == 2)
        #expect(try smallweb.run(["identity", "unuse", "alice"]).status == 0)
        #expect(try smallweb.run(["identity", "list"]).text == "alice\t9999-12-31\n")
        let pem = try smallweb.run(["identity", "export", "alice"]).text
        try Data(pem.utf8).write(to: URL(fileURLWithPath: smallweb.home.file("copy.pem")))
        let copy = smallweb.home.file("copy.pem")
        #expect(try smallweb.run(["identity", "import", "bob", copy]).status == 0)
        #expect(try smallweb.run(["identity", "export", "bob"]).text == pem)
        #expect(try smallweb.run(["identity", "remove", "--force", "alice"]).status == 0)
        #expect(try smallweb.run(["identity", "list"]).text == "bob\t9999-12-31\n")
    }

    @Test func theListSaysHowLongCertificatesAreValid() throws {
        let (old, new) = (
            TestCertificate.make(notBefore: 1000, notAfter: 2000),
            TestCertificate.make(notBefore: 1000, notAfter: 1_797_805_033)
        )
        let files = [
            ("old", old.certificatePEM + old.keyPEM), ("new", new.certificatePEM + new.keyPEM),
            ("broken", "no PEM"),
        ]
        let directory = smallweb.home.file("ids")
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        for (name, pem) in files {
            try Data(pem.utf8).write(to: URL(fileURLWithPath: "\(directory)/\(name).pem"))
        }
        let dates = ["broken": "-", "new": "2026-12-20", "old": "1970-01-01"]
        let listed = try smallweb.run(["identity", "list"]).text.split(separator: "\n").sorted()
        #expect(listed == dates.keys.sorted().map { "\($0)\t\(dates[$0] ?? "")"[...] })
        #expect(
            try smallweb.run(["identity", "use", "new", "gemini://a.test/"]).status == 0)
        let screen = try Screen(isTerminal: true)
        #expect(try smallweb.run(["identity", "list"], on: screen, output: true) { _ in } == 0)
        #expect(screen.shown.contains("NAME    EXPIRES     USED FOR\r\n"), "\(screen.shown)")
        #expect(screen.shown.contains("new     2026-12-20  gemini://a.test:1965/\r\n"))
    }

    @Test func aServersWishNamesTheCommands() throws {
        let capsule = try Capsule()
        let url = capsule.place + "/status/60"
        let result = try smallweb.run(["get", url])
        #expect(result.status == 98)
        #expect(result.errors.contains("hint: smallweb identity new NAME \(url) makes one"))
        // One that is bound already is not to be made once more.
        #expect(try smallweb.run(["identity", "new", "alice", url]).status == 0)
        let shown = try smallweb.run(["get", url])
        #expect(shown.status == 98)
        #expect(shown.errors.contains("hint: 'smallweb identity list'"), "\(shown.errors)")
    }

    /// The hint of every command names an identity that is there; typed, it shows it.
    @Test(arguments: ["get", "head", "links", "feed", "watch"])
    func aServersWishNamesAnIdentityThatIsThere(_ command: String) throws {
        let capsule = try Capsule()
        let url = capsule.place + "/status/60"
        let makes = "smallweb identity new NAME \(url) makes one and binds it"
        for (names, isMany) in [(["bob"], false), (["bob", "alice"], true)] {
            let smallweb = Smallweb()
            for name in names { #expect(try smallweb.run(["identity", "new", name]).status == 0) }
            let result = try smallweb.run([command, url])
            #expect(result.status == 98)
            let said = result.errors
            let use = "smallweb identity use \(names.min() ?? "") \(url)"
            #expect(said.contains(use + " shows") && said.contains(makes), "\(said)")
            #expect(said.contains("identity list") == isMany, "\(said)")
            let words = use.split(separator: " ").dropFirst().map(String.init)
            #expect(try smallweb.run(words).status == 0)
            let shown = try smallweb.run(["get", url])
            #expect(!shown.errors.contains("identity new"), "\(shown.errors)")
        }
    }

    @Test func aKeyThatOthersCanReadIsSaidToBe() throws {
        let capsule = try Capsule()
        #expect(try smallweb.run(["identity", "new", "alice"]).status == 0)
        let file = smallweb.home.file("ids/alice.pem")
        let fetch = ["get", "-k", "-E", file, capsule.place + "/about"]
        for (mode, isSaid) in [(0o600, false), (0o640, true), (0o604, true), (0o711, false)] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
            let result = try smallweb.run(fetch)
            #expect(result.status == 0)
            #expect(result.errors.contains("others can read the key") == isSaid, "\(mode)")
            #expect(try smallweb.run(fetch + ["-q"]).errors == "")
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
        let named = try smallweb.run(
            ["get", "-k", "--identity", "alice", capsule.place + "/about"])
        #expect(named.errors.contains("chmod 600 \(file)"))
    }

    @Test func anIdentityThatCannotBeUsedStopsTheFetch() throws {
        let capsule = try Capsule()
        let server = TestCertificate.make()
        let old = TestCertificate.make(notBefore: 1000, notAfter: 2000)
        let mixed = server.certificatePEM + old.keyPEM
        let cases = ["no PEM", mixed, old.certificatePEM + old.keyPEM, server.certificatePEM]
        for (number, text) in cases.enumerated() {
            let file = smallweb.home.file("\(number).pem")
            try Data(text.utf8).write(to: URL(fileURLWithPath: file))
            let result = try smallweb.run(["get", "-E", file, capsule.place + "/about"])
            #expect(result.status == 58, "\(number): \(result.errors)")
        }
        #expect(try smallweb.run(["get", "--identity", "x", capsule.place + "/"]).status == 58)
        capsule.server.stop()
        #expect(capsule.server.connections.allSatisfy { $0.received.isEmpty })
    }

    @Test func openSSLsServerGetsTheIdentityOfItsScopeAlone() throws {
        let server = try DemandingServer(smallweb.home)
        defer { server.stop() }
        let refused = try smallweb.run(["get", server.url("/app/x")])
        #expect(refused.status == 98, "\(refused.errors)")
        let scope = server.url("/app")
        #expect(try smallweb.run(["identity", "new", "alice", scope]).status == 0)
        // s_server waits for more than Gemini sends: silence, but after it took the certificate. A
        // busy machine may be silent before that.
        for words in [["/app/x"], ["/apple", "--identity", "alice"]] {
            for seconds in ["0.5", "5", "50"] {
                let limit = ["--read-timeout", seconds]
                let record = try smallweb.records(
                    [server.url(words[0])] + Array(words.dropFirst()) + limit)
                let hash = record.records.terminal[0]["tls"]?["client_cert"]?.string
                if hash == nil && seconds != "50" { continue }
                #expect(record.result.status == 28, "\(record.result)")
                #expect(hash?.hasPrefix("sha256:") == true && hash?.utf8.count == 71)
                break
            }
        }
        #expect(try smallweb.run(["get", server.url("/apple")]).status == 98)
    }
}

/// `openssl s_server` that insists on a client certificate.
private final class DemandingServer {
    private let process = Process()
    private let port: Int
    private let input = Pipe()

    init(_ home: Smallweb.Home) throws {
        let certificate = TestCertificate.make()
        let file = home.file("server.pem")
        let pem = certificate.certificatePEM + certificate.keyPEM
        try Data(pem.utf8).write(to: URL(fileURLWithPath: file))
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = [
            "s_server", "-accept", "127.0.0.1:0", "-cert", file, "-key", file, "-Verify", "1",
            "-www",
        ]
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        process.standardInput = input
        try process.run()
        var text = ""
        while !text.contains("\n") || !text.contains("ACCEPT 127.0.0.1:") || !text.hasSuffix("\n") {
            let data = output.fileHandleForReading.availableData
            if data.isEmpty { break }
            text += String(decoding: data, as: UTF8.self)
        }
        let digits = text.range(of: "ACCEPT 127.0.0.1:").map { text[$0.upperBound...] } ?? ""
        port = try #require(Int(digits.prefix { $0.isNumber }))
    }

    func url(_ path: String) -> String { "gemini://127.0.0.1:\(port)\(path)" }

    func stop() {
        // It holds SIGTERM back while it serves.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}
