// SPDX-License-Identifier: MIT
import Foundation
import SmallWebCore
import SmallWebTestSupport
import SmallWebTransport
import Testing

@testable import SmallWeb

/// A program that shows the client certificates that the user has bound to places.
@Suite(.timeLimit(.minutes(30)))
struct OwnIdentitiesTests {
    private let bench: Bench
    private let store: IdentityStore

    init() throws {
        bench = try Bench()
        store = IdentityStore(bench.directory + "/store", .builtIn)
    }

    @Test(
        arguments: [
            (nil, 253_402_300_799), (.seconds(1), 1001), (.milliseconds(90_900), 1090),
            (.seconds(Int64.max), 253_402_300_799),
        ] as [(Duration?, Int)], [ClientIdentity.KeyType.ecdsa, .ed25519])
    func aCertificateEndsWhenItIsTold(
        _ validity: (time: Duration?, end: Int), _ type: ClientIdentity.KeyType
    ) throws {
        let pem = try ClientIdentity.make(
            name: "someone", type: type, now: 1000, validFor: validity.time)
        let facts = try ClientIdentity.certificateFacts(pem)
        #expect(facts.notBefore == 1000 && facts.notAfter == validity.end)
        for time in [Duration.zero, .seconds(-1), .milliseconds(900)] {
            let error = #expect(throws: FetchError.self) {
                try ClientIdentity.make(name: "someone", type: type, now: 1000, validFor: time)
            }
            #expect(error?.outcome == .usage)
        }
    }

    @Test func aURLGetsTheIdentityThatIsBoundToIt() async throws {
        let server = try LoopbackServer(
            tls: .make(), identity: .requested, handler: DemoSites.gemini())
        defer { try? FileManager.default.removeItem(atPath: store.directory) }
        let pem = Array(try ClientIdentity.make(name: "someone", now: UTCDate.now))
        try store.add("someone", pem)
        let scope = try Identities.Scope(server.url("/about"), in: .builtIn)
        try store.change { $0.add("someone", scope) }
        let identities = store.identities { _ in nil }
        let web = try bench.web { $0.identities = identities }
        let expected = try ClientIdentity.certificateFacts(pem).sha256
        for (path, shown) in [("/about", expected), ("/", nil), ("/about", expected)] {
            let page = try await web.fetch(server.url(path))
            #expect(page.ending.connection?.tls?.shownIdentity == shown, "\(path)")
        }
        // As it is then, not as it was when the client was made.
        try store.remove("someone")
        let page = try await web.fetch(server.url("/about"))
        #expect(page.ending.connection?.tls?.shownIdentity == nil)
    }

    @Test func aKeyWhosePasswordIsNotKnownIsUnusable() async throws {
        let server = try LoopbackServer(
            tls: .make(), identity: .requested, handler: DemoSites.gemini())
        defer { try? FileManager.default.removeItem(atPath: store.directory) }
        let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n"
        let pem = Array(try ClientIdentity.make(name: "someone", now: UTCDate.now))
        let text = String(decoding: pem, as: UTF8.self)
        let blocks = text.components(separatedBy: "-----BEGIN ").filter { $0.hasPrefix("CERT") }
        try store.add("someone", Array("-----BEGIN \(blocks.joined())\(encrypted)".utf8))
        let scope = try Identities.Scope(server.url("/"), in: .builtIn)
        try store.change { $0.add("someone", scope) }
        let asked = Recorder<String>()
        let identities = store.identities { name in
            asked.add(name)
            return nil
        }
        let web = try bench.web { $0.identities = identities }
        let error = try await #require(throws: FetchError.self) {
            _ = try await web.fetch(server.url("/"))
        }
        #expect(error.outcome == .identityUnusable)
        #expect(asked.values == ["someone"])
        #expect(server.requestLines.joined().isEmpty)
    }

    @Test func aRequestOfARunHasItsOwnTrustIdentityAndRedirects() async throws {
        let server = try LoopbackServer(
            tls: .make(), identity: .requested, handler: DemoSites.gemini())
        let identity = try ClientIdentity.made(name: "someone")
        var requests = (0..<4).map { _ in RunRequest(server.url("/redirect/1")) }
        requests[1].identity = identity
        requests[2].redirects = RedirectPolicy()
        requests[2].redirects?.follows = false
        requests[3].trust = TrustStore(path: "", policy: .pin([UInt8](repeating: 0, count: 32)))
        var results: [FetchResult] = []
        for try await result in try bench.web().run(requests) { results.append(result) }
        let endings = results.map { try? $0.get().ending }
        #expect(endings.map { $0?.outcome } == [.ok, .ok, .redirectRefused, nil])
        let shown = endings.map { $0?.connection?.tls?.shownIdentity }
        #expect(shown == [nil, identity.facts.sha256, nil, nil])
        guard case .failure(let error) = results[3].result else { return }
        #expect(error.outcome == .untrusted || error.outcome == .trustChanged)
    }
}

extension ClientIdentity {
    fileprivate static func made(name: String) throws -> ClientIdentity {
        let pem = Array(try make(name: name, now: UTCDate.now))
        return try ClientIdentity(certificate: pem, key: pem, password: nil, now: UTCDate.now)
    }
}
