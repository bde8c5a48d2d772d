// SPDX-License-Identifier: MIT
import Foundation
import SmallWebCore
import SmallWebTestSupport
import SmallWebTransport
import Testing

@testable import SmallWeb

/// A program that shows the client certificates that the user has bound to places.
@Suite(.timeLimit(.minutes(5)))
struct OwnIdentitiesTests {
    private let bench: Bench
    private let store: IdentityStore

    init() throws {
        bench = try Bench()
        store = IdentityStore(bench.directory + "/store", .builtIn)
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
}
