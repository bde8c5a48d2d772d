// SPDX-License-Identifier: MIT
import Glibc
import SmallWebCore
import SmallWebTestSupport
import SmallWebTransport
import Testing

@testable import SmallWeb

/// TLS sessions that one fetcher's connections hand on.
@Suite(.timeLimit(.minutes(30)))
struct ResumptionTests {
    private let bench: Bench
    private let certificate = TestCertificate.make()

    init() throws { bench = try Bench() }

    private func server(
        versions: ClosedRange<Int32> = TLSVersion.two...TLSVersion.three
    ) throws -> LoopbackServer {
        try LoopbackServer(tls: certificate, versions: versions, handler: DemoSites.gemini())
    }

    /// One fetch after another, with one fetcher.
    private func visit(_ urls: [String], _ fetcher: Fetcher) async throws -> [Connection] {
        var connections: [Connection] = []
        for url in urls {
            let ending = try await fetcher.run(fetcher.request(url)) { _ in }
            #expect(ending.outcome == .ok)
            connections.append(try #require(ending.connection))
        }
        return connections
    }

    @Test(arguments: [TLSVersion.two, TLSVersion.three])
    func theSecondConnectionResumesAndIsJudgedAlike(_ version: Int32) async throws {
        let server = try server(versions: version...version)
        let url = server.url("/about")
        let connections = try await visit([url, url, url], bench.fetcher())
        #expect(connections.map { $0.tls?.isResumed } == [false, true, true])
        #expect(connections.map { $0.trust?.verdict } == [.firstUse, .match, .match])
        let facts = connections.map { $0.tls?.certificate }
        #expect(facts == Array(repeating: facts[0], count: 3))
        #expect(facts[0]?.sha256 == certificate.sha256)
    }

    @Test func anotherFetcherKnowsNoSession() async throws {
        let server = try server()
        for _ in 0..<2 {
            let connections = try await visit([server.url("/about")], bench.fetcher())
            #expect(connections.map { $0.tls?.isResumed } == [false])
        }
    }

    @Test func anotherServerWithTheSameKeyGetsNoSessionOfTheFirst() async throws {
        let (first, second) = (try server(), try server())
        let connections = try await visit(
            [first.url("/about"), second.url("/about"), second.url("/about")], bench.fetcher())
        #expect(connections.map { $0.tls?.isResumed } == [false, false, true])
    }

    @Test func anotherNameOfTheServerBeginsAnew() async throws {
        let server = try server()
        let fetcher = bench.fetcher {
            $0.resolver.overrides = ["localhost:\(server.port)": ["127.0.0.1"]]
        }
        let connections = try await visit(
            [server.url("/about"), server.url("/about", host: "localhost")], fetcher)
        #expect(connections.map { $0.tls?.isResumed } == [false, false])
        #expect(connections.map { $0.tls?.serverName } == [nil, "localhost"])
    }

    /// A resumed connection sends no certificate; the original one is checked against the current
    /// store.
    @Test func aPinThatHasChangedMeanwhileStopsAResumedConnection() async throws {
        let server = try server()
        let fetcher = bench.fetcher()
        _ = try await visit([server.url("/about")], fetcher)
        let count = try server.waitForConnections(1).count
        let loop = bench.loop
        try await fetcher.options.trustStore.change(loop: loop) { hosts throws(FetchError) in
            hosts.remove("127.0.0.1:\(server.port)")
            hosts.add(
                KnownHosts.Pin(
                    place: "127.0.0.1:\(server.port)", key: String(repeating: "ab", count: 32),
                    expires: UTCDate.now + 1000, first: 1, last: UTCDate.now, via: "test"))
        }
        let error = await #expect(throws: FetchError.self) {
            _ = try await visit([server.url("/about")], fetcher)
        }
        #expect(error?.outcome == .trustChanged)
        #expect(try server.waitForConnections(count + 1).last?.received == [])
    }

    // MARK: Identities

    private func identity() throws -> ClientIdentity {
        let pem = Array(try ClientIdentity.make(name: "someone", now: UTCDate.now))
        return try ClientIdentity(certificate: pem, key: pem, now: UTCDate.now)
    }

    @Test(arguments: [TLSVersion.two, TLSVersion.three])
    func aSessionIsResumedForItsIdentityAlone(_ version: Int32) async throws {
        let server = try LoopbackServer(
            tls: certificate, versions: version...version, identity: .requested,
            handler: DemoSites.gemini())
        let (alice, bob) = (try identity(), try identity())
        // An identity bound to a path is shown for requests below it.
        let fetcher = bench.fetcher {
            $0.identities.bound = { uri throws(FetchError) in
                switch uri.fragment {
                case "alice": alice
                case "bob": bob
                default: nil
                }
            }
        }
        let visitors = ["alice", "", "bob", "alice", "bob", "", "alice"]
        let connections = try await visit(
            visitors.map { server.url("/about") + ($0.isEmpty ? "" : "#\($0)") }, fetcher)
        #expect(
            connections.map { $0.tls?.isResumed } == [false, false, false, true, true, true, true])
        let shown = [alice.facts.sha256, nil, bob.facts.sha256]
        #expect(
            connections.map { $0.tls?.shownIdentity }
                == [shown[0], nil, shown[2], shown[0], shown[2], nil, shown[0]])
        #expect(
            try server.waitForConnections(visitors.count).map(\.identity)
                == [shown[0], nil, shown[2], shown[0], shown[2], nil, shown[0]])
    }

    /// Another key in the middle of a connection would be one that nobody has judged.
    @Test func aSecondHandshakeOnAConnectionIsRefused() async throws {
        let versions = TLSVersion.two...TLSVersion.two
        let server = try LoopbackServer(tls: certificate, versions: versions) { peer in
            _ = peer.readLine()
            peer.renegotiate()
            peer.write("20 text/plain\r\nafter all")
        }
        let played = await bench.play(server.url("/")) { $0.limits.totalSeconds = 60 }
        let outcome = played.error?.outcome
        #expect(outcome != nil && outcome != .timeout, "refused at once: \(played)")
    }

    /// It costs one more connection, once.
    @Test func aServerThatBreaksOffAtItsOwnSessionIsAskedAgainWithoutOne() async throws {
        let server = try LoopbackServer(
            tls: certificate, identity: .carelessly, handler: DemoSites.gemini())
        let url = server.url("/about")
        let connections = try await visit([url, url, url], bench.fetcher())
        #expect(connections.map { $0.tls?.isResumed } == [false, false, false])
        let failures = try server.waitForConnections(4).map(\.handshakeFailure)
        #expect(failures.count == 4)
        #expect(failures.map { $0 == nil } == [true, false, true, true])
    }
}
