// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

@testable import SmallWebCLI

/// Certificates of every kind, each under every policy, through the binary: exit status, messages,
/// stored pins, and that nothing reaches a server that is not trusted.
@Suite(.timeLimit(.minutes(30)))
struct CertificateLabTests {
    private static let day = 86_400
    private static let root = TestCertificate.make(
        names: [], ips: [], commonName: "lab root", isAuthority: true)
    private static let middle = TestCertificate.make(
        names: [], ips: [], key: .rsa2048, commonName: "lab middle", issuer: root,
        isAuthority: true)

    /// One kind of certificate, and its fault.
    private struct Specimen {
        let name: String
        let certificate: TestCertificate
        var host = "capsule.test"
        /// The codes of the notes under `tofu`.
        var notes: [String] = []
        /// True if an authority vouches for it, for this name and today.
        var isVouchedFor = true

        var key: String { "sha256:" + certificate.spkiSHA256.hex }
    }

    private static func signed(
        names: [String] = ["capsule.test"], ips: [String] = [], from: Int? = nil, to: Int? = nil,
        key: TestCertificate.Key = .ecdsaP256, by issuer: TestCertificate = root
    ) -> TestCertificate {
        .make(names: names, ips: ips, notBefore: from, notAfter: to, key: key, issuer: issuer)
    }

    private static func specimens() -> [Specimen] {
        let now = UTCDate.now
        var all = [
            Specimen(name: "signed by the root", certificate: signed()),
            Specimen(name: "RSA", certificate: signed(key: .rsa2048)),
            Specimen(name: "Ed25519", certificate: signed(key: .ed25519)),
            Specimen(
                name: "a chain with its intermediate",
                certificate: signed(by: middle).with(chain: [middle])),
            Specimen(
                name: "a chain without it", certificate: signed(by: middle), isVouchedFor: false),
            Specimen(
                name: "a chain in disorder",
                certificate: signed(by: middle).with(chain: [root, middle])),
            Specimen(
                name: "self-signed", certificate: .make(names: ["capsule.test"], ips: []),
                isVouchedFor: false),
            Specimen(
                name: "expired", certificate: signed(from: now - 9 * day, to: now - day),
                notes: ["cert-expired"], isVouchedFor: false),
            Specimen(
                name: "not valid yet", certificate: signed(from: now + day, to: now + 9 * day),
                notes: ["cert-not-yet-valid"], isVouchedFor: false),
            Specimen(
                name: "another name", certificate: signed(names: ["other.test"]),
                notes: ["cert-name-mismatch"], isVouchedFor: false),
            Specimen(
                name: "a wildcard", certificate: signed(names: ["*.capsule.test"]),
                host: "a.capsule.test"),
            Specimen(
                name: "a wildcard for all of a top-level domain",
                certificate: signed(names: ["*.test"]), notes: ["cert-name-mismatch"],
                isVouchedFor: false),
            Specimen(
                name: "a wildcard for one label alone",
                certificate: signed(names: ["*.capsule.test"]), host: "a.b.capsule.test",
                notes: ["cert-name-mismatch"], isVouchedFor: false),
            Specimen(
                name: "an address", certificate: signed(names: [], ips: ["127.0.0.1"]),
                host: "127.0.0.1"),
            Specimen(
                name: "an address as a name", certificate: signed(names: ["127.0.0.1"]),
                host: "127.0.0.1", notes: ["cert-name-mismatch"], isVouchedFor: false),
            Specimen(
                name: "another address", certificate: signed(names: [], ips: ["127.0.0.2"]),
                host: "127.0.0.1", notes: ["cert-name-mismatch"], isVouchedFor: false),
            Specimen(
                name: "a NUL in the name", certificate: signed(names: ["capsule.test\0.evil.test"]),
                notes: ["cert-name-mismatch"], isVouchedFor: false),
            Specimen(
                name: "RSA with 1024 bits", certificate: signed(key: .rsa1024),
                notes: ["cert-weak-key"]),
            Specimen(
                name: "self-signed with SHA-1",
                certificate: .make(names: ["capsule.test"], ips: [], digest: .sha1),
                notes: ["cert-weak-signature"], isVouchedFor: false),
            Specimen(
                name: "self-signed with MD5, RSA with 1024 bits",
                certificate: .make(
                    names: ["capsule.test"], ips: [], key: .rsa1024, digest: .md5),
                notes: ["cert-weak-key", "cert-weak-signature"], isVouchedFor: false),
            Specimen(name: "a rooted name", certificate: signed(), host: "capsule.test."),
        ]
        // Signed by somebody who is no authority, as an attacker with a certificate would.
        let leaf = signed()
        all.append(
            Specimen(
                name: "signed by a certificate that is no authority's",
                certificate: signed(by: leaf).with(chain: [leaf]), isVouchedFor: false))
        return all
    }

    /// A binary with a store of its own, which knows the lab's root.
    private func smallweb() throws -> Smallweb {
        var smallweb = Smallweb()
        smallweb.environment["SMALLWEB_KNOWN_HOSTS"] = smallweb.home.file("hosts")
        smallweb.environment["SSL_CERT_FILE"] = smallweb.home.file("root.pem")
        smallweb.environment["SSL_CERT_DIR"] = "/nonexistent"
        try Data(Self.root.certificatePEM.utf8)
            .write(to: URL(fileURLWithPath: smallweb.home.file("root.pem")))
        return smallweb
    }

    /// A fetch, its record, and whether the server got anything.
    private func visit(
        _ specimen: Specimen, _ options: [String], smallweb: Smallweb,
        _ scheme: String = "gemini", _ path: String = "/about"
    ) throws -> (record: JSON, request: Bool) {
        let isGemini = scheme == "gemini"
        let server = try LoopbackServer(
            tls: specimen.certificate,
            handler: isGemini ? DemoSites.gemini() : DemoSites.web(noting: Recorder()))
        let url = "\(scheme)://\(specimen.host):\(server.port)\(path)"
        let resolve =
            specimen.host == "127.0.0.1"
            ? [] : ["--resolve", "\(specimen.host):\(server.port):127.0.0.1"]
        let result = try smallweb.run(["get", "--json"] + options + resolve + [url])
        server.stop()
        let record = try #require(try Records(result.output).terminal.first)
        #expect(record["exit"]?.int == Int(result.status))
        return (record, server.connections.contains { !$0.received.isEmpty })
    }

    private struct Expected {
        let options: [String]
        let policy: String
        let exit: Int
        let verdict: String
        let isStored: Bool
    }

    /// The result for a new place, for policies that look at nothing but the certificate.
    private func expected(_ specimen: Specimen) -> [Expected] {
        let isVouchedFor = specimen.isVouchedFor
        let other = "sha256:" + String(repeating: "ab", count: 32)
        return [
            Expected(
                options: [], policy: "tofu", exit: 0, verdict: "first-use", isStored: true),
            Expected(
                options: ["--trust", "ca"], policy: "ca", exit: isVouchedFor ? 0 : 60,
                verdict: isVouchedFor ? "ca" : "refused", isStored: false),
            Expected(
                options: ["--trust", "both"], policy: "both", exit: isVouchedFor ? 0 : 60,
                verdict: isVouchedFor ? "first-use" : "refused", isStored: isVouchedFor),
            Expected(
                options: ["--trust", "locked"], policy: "locked", exit: 60, verdict: "refused",
                isStored: false),
            Expected(
                options: ["--trust", "ask"], policy: "ask", exit: 60, verdict: "refused",
                isStored: false),
            Expected(
                options: ["-k"], policy: "none", exit: 0, verdict: "skipped", isStored: false),
            Expected(
                options: ["--pin", specimen.key], policy: "pin", exit: 0, verdict: "pinned",
                isStored: false),
            Expected(
                options: ["--pin", other], policy: "pin", exit: 90, verdict: "changed",
                isStored: false),
        ]
    }

    @Test func eachKindUnderEachPolicy() throws {
        for specimen in Self.specimens() {
            for expected in expected(specimen) {
                let smallweb = try smallweb()
                let name = "\(specimen.name), \(expected.options.joined(separator: " "))"
                let (record, hasRequest) = try visit(
                    specimen, expected.options, smallweb: smallweb)
                #expect(record["exit"]?.int == expected.exit, "\(name)")
                #expect(record["trust"]?["verdict"]?.string == expected.verdict, "\(name)")
                #expect(record["trust"]?["policy"]?.string == expected.policy, "\(name)")
                #expect((smallweb.home.content("hosts") != nil) == expected.isStored, "\(name)")
                #expect(hasRequest == (expected.exit == 0), "\(name)")
                // The certificate is shown whatever became of it: somebody has to decide.
                let certificate = record["tls"]?["cert"]
                #expect(
                    certificate?["sha256"]?.string == specimen.certificate.sha256.hex, "\(name)")
                #expect(
                    certificate?["spki_sha256"]?.string == specimen.certificate.spkiSHA256.hex,
                    "\(name)")
                #expect(
                    record["tls"]?["chain_length"]?.int == 1 + specimen.certificate.chain.count)
                if expected.policy == "tofu" {
                    let notes = record["warnings"]?.array.compactMap { $0["code"]?.string }
                    #expect(notes == specimen.notes, "\(name)")
                }
                if expected.verdict == "refused" {
                    #expect(record["tls"]?["verify"]?.string == "failed", "\(name)")
                }
            }
        }
    }

    /// libcurl tells nothing of a certificate that it refuses: its record has it all the same.
    @Test(arguments: [("https", "/about"), ("git+https", "/demo.git")])
    func aCertificateThatLibcurlRefusesIsShown(_ scheme: String, _ path: String) throws {
        let other = "sha256:" + String(repeating: "ab", count: 32)
        for specimen in Self.specimens() {
            // libcurl wants longer keys than our own judgement.
            let isVouchedFor = specimen.isVouchedFor && !specimen.name.hasPrefix("RSA with 1024")
            let cases: [([String], String, Int, String)] = [
                ([], "ca", isVouchedFor ? 0 : 60, isVouchedFor ? "ca" : "refused"),
                (["-k"], "none", 0, "skipped"), (["--pin", specimen.key], "pin", 0, "pinned"),
                (["--pin", other], "pin", 90, "changed"),
            ]
            for (options, policy, exit, verdict) in cases {
                let (record, hasRequest) = try visit(
                    specimen, options, smallweb: smallweb(), scheme, path)
                let name = "\(specimen.name), \(options)"
                #expect(record["exit"]?.int == exit, "\(name)")
                #expect(record["trust"]?["verdict"]?.string == verdict, "\(name)")
                #expect(record["trust"]?["policy"]?.string == policy, "\(name)")
                #expect(hasRequest == (exit == 0), "\(name)")
                let tls = record["tls"]
                #expect(
                    tls?["cert"]?["sha256"]?.string == specimen.certificate.sha256.hex, "\(name)")
                #expect(tls?["chain_length"]?.int == 1 + specimen.certificate.chain.count)
                #expect(Schema.shared.problems(record) == [])
            }
        }
    }

    /// OpenSSL takes no more than 100 KB of certificates.
    @Test func aHugeCertificateIsRefusedByEveryPolicy() throws {
        let huge = TestCertificate.make(names: ["capsule.test"], padding: 120_000)
        let one = TestCertificate.make(names: ["capsule.test"], padding: 60_000)
        let long = Self.signed().with(chain: [one, one, one])
        for certificate in [huge, long] {
            for options in [[], ["--trust", "ca"], ["-k"]] {
                let specimen = Specimen(name: "huge", certificate: certificate)
                let (record, hasRequest) = try visit(specimen, options, smallweb: smallweb())
                #expect(record["exit"]?.int == 35, "\(options)")
                #expect(!hasRequest)
            }
        }
        let large = TestCertificate.make(names: ["capsule.test"], padding: 60_000)
        let (record, _) = try visit(
            Specimen(name: "large", certificate: large), [], smallweb: smallweb())
        #expect(record["exit"]?.int == 0)
    }

    // MARK: A place that is known

    /// A certificate that replaces a known one, and the result.
    private struct Change {
        let name: String
        let isSameKey: Bool
        /// True if the known certificate has expired.
        let isDue: Bool
        /// Exit status and verdict by policy.
        let expected: [(policy: String, exit: Int, verdict: String)]
    }

    @Test func aPersonIsToldOnceOfAWeakCertificate() throws {
        let servers = try (0..<2).map { _ in
            try LoopbackServer(
                tls: .make(key: .rsa1024, digest: .sha1), handler: DemoSites.gemini())
        }
        let urls = servers.flatMap { server in
            ["about", ""].map { "gemini://127.0.0.1:\(server.port)/\($0)" }
        }
        let smallweb = try smallweb()
        let screen = try Screen(isTerminal: true)
        #expect(try smallweb.run(["get"] + urls, on: screen) { _ in } == 0)
        let key = "note: the key is weak: RSA with 1024 bits"
        let signature = "note: the certificate's signature is weak: SHA-1"
        for text in [key, signature] {
            #expect(screen.shown.components(separatedBy: text).count == 3, "\(screen.shown)")
        }
        let other = try Screen(isTerminal: true)
        let place = "127.0.0.1:\(servers[0].port)"
        #expect(try smallweb.run(["trust", "add", place], on: other) { _ in } == 0)
        #expect(other.shown.contains("\(place): \(key)"))
    }

    private static let changes = [
        Change(
            name: "renewed in time with the same key", isSameKey: true, isDue: false,
            expected: [
                ("tofu", 0, "match"), ("both", 0, "match"), ("locked", 0, "match"),
                ("ask", 0, "match"), ("ca", 0, "ca"),
            ]),
        Change(
            name: "renewed late with the same key", isSameKey: true, isDue: true,
            expected: [
                ("tofu", 0, "match"), ("both", 0, "match"), ("locked", 0, "match"),
                ("ask", 0, "match"), ("ca", 0, "ca"),
            ]),
        Change(
            name: "another key after the end", isSameKey: false, isDue: true,
            expected: [
                ("tofu", 0, "renewed"), ("both", 0, "renewed"), ("locked", 90, "changed"),
                ("ask", 90, "changed"), ("ca", 0, "ca"),
            ]),
        Change(
            name: "another key before the end", isSameKey: false, isDue: false,
            expected: [
                ("tofu", 90, "changed"), ("both", 90, "changed"), ("locked", 90, "changed"),
                ("ask", 90, "changed"), ("ca", 0, "ca"),
            ]),
    ]

    @Test func whatChangesIsRenewedOrRefused() throws {
        let now = UTCDate.now
        for change in Self.changes {
            let old = TestCertificate.make(
                names: ["capsule.test"], notBefore: now - 400 * Self.day,
                notAfter: change.isDue ? now - Self.day : now + Self.day)
            let new = TestCertificate.make(
                names: ["capsule.test"], keyOf: change.isSameKey ? old : nil, issuer: Self.root)
            for (policy, exit, verdict) in change.expected {
                let smallweb = try smallweb()
                let server = try LoopbackServer(tls: new, handler: DemoSites.gemini())
                let place = "capsule.test:\(server.port)"
                let pin = """
                    \(place) k sha256:\(old.spkiSHA256.hex) \
                    expires=\(change.isDue ? now - Self.day : now + Self.day) \
                    first=\(now - 300 * Self.day) last=\(now - 2 * Self.day) n=7 via=first-use \
                    seen=c:sha256:\(old.sha256.hex) remark=kept

                    """
                try Data(pin.utf8).write(to: URL(fileURLWithPath: smallweb.home.file("hosts")))
                let arguments = [
                    "get", "--trust", policy, "--json", "--resolve", "\(place):127.0.0.1",
                    "gemini://\(place)/about",
                ]
                let result = try smallweb.run(arguments)
                let name = "\(change.name), \(policy)"
                let record = try #require(try Records(result.output).terminal.first)
                #expect(record["exit"]?.int == exit, "\(name)")
                #expect(record["trust"]?["verdict"]?.string == verdict, "\(name)")
                if policy != "ca" {
                    #expect(
                        record["trust"]?["first_seen"]?.string
                            == UTCDate.second(now - 300 * Self.day), "\(name)")
                }
                let codes = record["warnings"]?.array.compactMap { $0["code"]?.string }
                #expect(codes == (verdict == "renewed" ? ["key-renewed"] : []), "\(name)")
                let store = String(decoding: smallweb.home.content("hosts") ?? [], as: UTF8.self)
                #expect(store.contains("remark=kept"), "\(name): unknown fields stay")
                let isWritten = exit == 0 && ["tofu", "both", "ask"].contains(policy)
                #expect((store == pin) == !isWritten, "\(name)")
                #expect(store.contains(new.spkiSHA256.hex) == (isWritten || change.isSameKey))
                guard exit == 90 else { continue }
                for text in [
                    "was " + FetchError.grouped(old.spkiSHA256.hex[...]),
                    "now " + FetchError.grouped(new.spkiSHA256.hex[...]),
                    UTCDate.day(now - 300 * Self.day), UTCDate.day(now - 2 * Self.day),
                ] { #expect(result.errors.contains(text), "\(name): \(text)") }
                server.stop()
                #expect(server.connections.allSatisfy { $0.received.isEmpty }, "\(name)")
                try accept(record, store: smallweb, old: arguments, name)
            }
        }
    }

    /// Follows the hint, and fetches again.
    private func accept(
        _ record: JSON, store smallweb: Smallweb, old arguments: [String], _ name: String
    ) throws {
        let hint = try #require(record["error"]?["hint"]?.string)
        let command = try #require(hint.range(of: "smallweb ").map { hint[$0.upperBound...] })
        let words = command.split(separator: " ").map(String.init)
        #expect(try smallweb.run(words).status == 0, "\(name): \(hint)")
        let pins = KnownHosts(parsing: Array(smallweb.home.content("hosts") ?? [])).pins
        let key = record["tls"]?["cert"]?["spki_sha256"]?.string
        #expect(pins.map(\.key) == [key ?? ""], "\(name)")
    }
}
