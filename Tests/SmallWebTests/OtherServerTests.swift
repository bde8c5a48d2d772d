// SPDX-License-Identifier: MIT
import SmallWebCore
import SmallWebTestSupport
import SmallWebTransport
import Testing

@testable import SmallWeb

/// Asks its server, and then another one that the URL's query names, as a reply would.
private struct Chained: ProtocolHandler {
    let schemes = [
        Scheme("chained", plugin: "test", port: 1965, transport: .tls, summary: "two servers") {
            $0.identityScheme = "chained"
        }
    ]

    func fetch(
        _ request: Request, dialer: any Dialer, emit: Emit
    ) async throws(FetchError) -> Completeness {
        let own = try request.endpoint
        let port = UInt16(request.uri.query ?? "") ?? 0
        for endpoint in [own, Endpoint(host: own.host, port: port, security: .tls)] {
            let stream = try await dialer.dial(endpoint)
            try await stream.writeAll(Array("gemini://127.0.0.1/about\r\n".utf8))
            while try await !stream.readSome().isEmpty {}
            stream.close()
        }
        try await emit(.head(Head(.success)))
        return .complete
    }
}

/// A plugin that connects to a server that the URL does not name.
@Suite(.timeLimit(.minutes(30)))
struct OtherServerTests {
    /// From the internet a reply leads to no private address.
    @Test(arguments: [
        ("198.51.100.7", true, true), ("127.0.0.1", true, false), ("10.1.2.3", false, true),
        ("2001:db8::1", false, true), ("::1", true, false),
    ])
    func itIsAtNoPrivateAddress(
        _ address: String, _ mayLeadToPrivate: Bool, _ isRefused: Bool
    ) async throws {
        let fetcher = try Bench().fetcher()
        let request = try fetcher.request("git+https://h.test/r")
        let hop = Hop(fetcher, request.scheme, request.limits, by: .never) { _ in }
        hop.reach.isPrivateSoFar = mayLeadToPrivate
        let places = ["127.0.0.1", "169.254.169.254", "::1", "192.168.0.1", "fd00::1"].map {
            Endpoint(host: $0, port: 80, security: .none)
        }
        // The server of the URL itself is asked for first.
        for place in places { #expect(try !hop.resolver(for: place).refusesPrivate) }
        let own = Connection(
            endpoint: try request.endpoint, address: address, port: 443, tls: nil, trust: nil)
        try await hop.say(.connected(own))
        for place in places {
            if isRefused {
                let error = #expect(throws: FetchError.self) { try hop.resolver(for: place) }
                #expect(error?.outcome == .connect)
            } else {
                #expect(try !hop.resolver(for: place).refusesPrivate)
            }
        }
        // Nor is it at the port of another service without TLS.
        let plain = Hop(
            fetcher, try fetcher.request("http://h.test/").scheme, .standard, by: .never
        ) {
            _ in
        }
        try await plain.say(.connected(own))
        for port in [25, 6379] as [UInt16] {
            let place = Endpoint(host: "s.test", port: port, security: .none)
            #expect(throws: FetchError.self) { try plain.resolver(for: place) }
        }
        // The address of a name is only known, and checked, once it is resolved.
        let other = Endpoint(host: "s.test", port: 443, security: .tls)
        #expect(try hop.resolver(for: other).refusesPrivate == isRefused)
    }

    /// With `--public-only` no first server excuses it.
    @Test func onlyAPublicOneIsAsked() async throws {
        let fetcher = try Bench().fetcher { $0.resolver.isPublicOnly = true }
        let request = try fetcher.request("git+https://h.test/r")
        for address in ["127.0.0.1", "9.9.9.9"] {
            let hop = Hop(fetcher, request.scheme, request.limits, by: .never) { _ in }
            try await hop.say(
                .connected(
                    Connection(
                        endpoint: try request.endpoint, address: address, port: 443, tls: nil,
                        trust: nil)))
            for host in ["127.0.0.1", "10.0.0.1", "localhost", "203.0.113.7"] {
                let place = Endpoint(host: host, port: 443, security: .tls)
                let error = await #expect(throws: FetchError.self) {
                    _ = try await hop.resolver(for: place).isPrivate(
                        place, on: fetcher.loop, by: .never)
                }
                #expect(error?.outcome == .refusedAddress)
            }
        }
    }

    /// With `--no-private` the first server decides, whatever comes after it.
    @Test(arguments: [("198.51.100.7", true), ("10.1.2.3", false), ("::1", false)])
    func redirectsFromTheInternetLeadToNoPrivateAddress(
        _ address: String, _ isRefused: Bool
    ) async throws {
        let bench = try Bench()
        let fetcher = bench.fetcher { $0.redirects.refusesPrivate = true }
        let first = try fetcher.request("gemini://h.test/")
        func connection(_ address: String) throws -> Connection {
            Connection(
                endpoint: try first.endpoint, address: address, port: 1965, tls: nil, trust: nil)
        }
        var (reach, any) = (Reach(), Reach())
        #expect(!reach.applied(to: fetcher).options.resolver.refusesPrivate)
        for server in [address, "198.51.100.8", "127.0.0.1"] {
            reach.begin(first.uri, try connection(server), fetcher.options)
            any.begin(first.uri, try connection(server), bench.fetcher().options)
        }
        #expect(reach.applied(to: fetcher).options.resolver.refusesPrivate == isRefused)
        #expect(!any.applied(to: fetcher).options.resolver.refusesPrivate)
        for host in ["127.0.0.1", "[::1]", "192.168.0.1", "localhost"] {
            let next = try fetcher.request("gemini://\(host)/")
            let isLiteral = host != "localhost"
            #expect(await reach.refuses(next, isDirect: true, fetcher, by: .never) == isRefused)
            // A proxy looks names up.
            let behind = await reach.refuses(next, isDirect: false, fetcher, by: .never)
            #expect(behind == (isRefused && isLiteral))
            #expect(!(await any.refuses(next, isDirect: true, fetcher, by: .never)))
        }
    }

    /// The one judge of requests that go to another place as they are.
    @Test func nothingForItsPlaceAloneGoesToAnother() throws {
        let bench = try Bench()
        let fetcher = bench.fetcher()
        let request = try fetcher.request("https://h.test/")
        var plain = request
        plain.options["header"] = .list(["Accept: text/gemini"])
        #expect(fetcher.isForAll(request) && fetcher.isForAll(plain))
        let changes: [(inout Request) -> Void] = [
            { $0.input = [1] }, { $0.upload = Request.Upload([1]) },
            { $0.options["token"] = .secret([1]) }, { $0.uri.userinfo = "me" },
            { $0.options["header"] = .list(["X-Key: 1"]) },
            { $0.options["header"] = .list(["Cookie: 1"]) },
        ]
        for change in changes {
            var request = request
            change(&request)
            #expect(!fetcher.isForAll(request))
        }
        let pem = Array(try ClientIdentity.make(name: "someone", now: UTCDate.now))
        let identity = try ClientIdentity(certificate: pem, key: pem, now: UTCDate.now)
        #expect(!fetcher.changed { $0.identities.chosen = identity }.isForAll(request))
    }

    /// A page that a program opens: an option that is new has to be in one of the two lists.
    @Test func aProgramGetsNoneOfTheUsersChoices() throws {
        let bench = try Bench()
        var options = Fetcher.Options(trustStore: TrustStore(path: bench.storePath))
        options.identities.bound = { _ in nil }
        options.answer = { _ in "" }
        options.http.unixSocket = "/s"
        options.http.connectTo = ["h::i:"]
        options.rulesAfterRedirect = { [options] _ throws(FetchError) in
            (options.trustStore, options.http, options.proxies)
        }
        options.leaveOutWhatIsForTheUser()
        let there = try #require(try options.rulesAfterRedirect?(URI(parsing: "gemini://h/")))
        for http in [options.http, there.1] { #expect(!http.isSpecial) }
        #expect(options.identities.bound == nil && options.identities.chosen == nil)
        #expect(options.answer == nil)
        let left: Set = ["identities", "answer", "http", "rulesAfterRedirect"]
        let goOn: Set = [
            "resolver", "trustStore", "redirects", "proxies", "allowedSchemes", "mayFollow",
            "network", "robots", "opens",
        ]
        #expect(Set(Mirror(reflecting: options).children.compactMap(\.label)) == left.union(goOn))
    }

    @Test func itIsNotShownTheIdentityOfTheFirst() async throws {
        let bench = try Bench()
        let servers = try (0..<2).map { _ in
            try LoopbackServer(
                tls: .make(), identity: .requested, handler: DemoSites.gemini())
        }
        let pem = Array(try ClientIdentity.make(name: "someone", now: UTCDate.now))
        let identity = try ClientIdentity(certificate: pem, key: pem, now: UTCDate.now)
        var registry = Registry()
        try registry.register(Chained())
        var options = Fetcher.Options(trustStore: TrustStore(path: bench.storePath))
        options.identities.bound = { _ in identity }
        let fetcher = Fetcher(registry: registry, options: options, loop: bench.loop)
        let events = Recorder<Event>()
        let url = "chained://127.0.0.1:\(servers[0].port)/?\(servers[1].port)"
        let ending = try await fetcher.run(fetcher.request(url)) { events.add($0) }
        let shown = events.values.compactMap { event -> [UInt8]?? in
            if case .connected(let connection) = event {
                .some(connection.tls?.shownIdentity)
            } else {
                nil
            }
        }
        #expect(shown == [identity.facts.sha256, nil])
        #expect(try servers[0].waitForConnections(1).map { $0.identity != nil } == [true])
        #expect(try servers[1].waitForConnections(1).map { $0.identity != nil } == [false])
        // A record is about the server that was asked.
        #expect(ending.connection?.endpoint.port == servers[0].port)
    }
}
