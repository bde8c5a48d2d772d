// SPDX-License-Identifier: MIT
import SmallWebCore
import SmallWebTestSupport
import Testing

@testable import SmallWebTransport

@Suite(.timeLimit(.minutes(30)))
struct ResolverTests {
    private func address(_ literal: String) throws -> SocketAddress {
        try #require(SocketAddress(literal: literal, port: 1))
    }

    private func hosts(
        _ resolver: Resolver, _ host: String, port: UInt16 = 1965
    ) async throws -> [String] {
        try await onLoop { loop in
            let endpoint = Endpoint(host: host, port: port, security: .none)
            return try await resolver.addresses(
                of: endpoint, on: loop, by: .after(seconds: 10)
            ).map(\.host)
        }
    }

    @Test func familiesTakeTurnsBeginningWithTheFirst() throws {
        let mixed = try ["::1", "::2", "::3", "127.0.0.1", "127.0.0.2"].map(address)
        #expect(
            Resolver.interleaved(mixed).map(\.host)
                == ["::1", "127.0.0.1", "::2", "127.0.0.2", "::3"])
        let v4First = try ["127.0.0.1", "::1", "::2"].map(address)
        #expect(Resolver.interleaved(v4First).map(\.host) == ["127.0.0.1", "::1", "::2"])
        #expect(Resolver.interleaved([]) == [])
    }

    @Test func aLiteralIsItsOwnAddress() async throws {
        #expect(try await hosts(Resolver(), "127.0.0.1") == ["127.0.0.1"])
        #expect(try await hosts(Resolver(), "::1") == ["::1"])
    }

    @Test func anOverrideIsForOneHostAndPort() async throws {
        let resolver = Resolver(overrides: ["example.test:1965": ["127.0.0.3", "::1"]])
        #expect(try await hosts(resolver, "example.test") == ["127.0.0.3", "::1"])
        #expect(try await hosts(resolver, "127.0.0.9", port: 70) == ["127.0.0.9"])
        let both = ["example.test": ["127.0.0.4"], "example.test:1965": ["127.0.0.3"]]
        for (port, address) in [(1965, "127.0.0.3"), (70, "127.0.0.4")] as [(UInt16, String)] {
            let found = try await hosts(Resolver(overrides: both), "example.test", port: port)
            #expect(found == [address])
        }
    }

    @Test func theFamilyAskedForIsTheOnlyOneUsed() async throws {
        let both = ["example.test:1965": ["127.0.0.3", "::1"]]
        #expect(
            try await hosts(Resolver(overrides: both, family: .v6), "example.test") == ["::1"])
        let error = await #expect(throws: FetchError.self) {
            try await hosts(Resolver(family: .v6), "127.0.0.1")
        }
        #expect(error?.outcome == .resolve)
    }

    @Test(arguments: ["localhost", "LocalHost.", "a.b.localhost"])
    func localhostIsThisMachine(_ name: String) async throws {
        #expect(try await hosts(Resolver(), name) == ["127.0.0.1", "::1"])
        #expect(try await hosts(Resolver(family: .v6), name) == ["::1"])
        let overrides = ["\(name):1965": ["127.0.0.3"]]
        #expect(try await hosts(Resolver(overrides: overrides), name) == ["127.0.0.3"])
    }

    /// An answer that is another one the next time is judged each time.
    @Test func eachAnswerIsJudged() async throws {
        let answers = Monitor([
            "9.9.9.9 10.0.0.1", "127.0.0.1", "10.0.0.1 2620:fe::9", "::1 fd00::1",
        ])
        var resolver = Resolver()
        resolver.isPublicOnly = true
        var found: [[String]] = []
        for _ in 0..<4 {
            let answer = answers.update { $0.removeFirst() }
            resolver.names = HostNames(keepSeconds: 0) { _, _ in
                let literals = answer.split(separator: " ").map(String.init)
                return .init(
                    result: .success(literals.compactMap { SocketAddress(literal: $0, port: 0) }))
            }
            do {
                found.append(try await hosts(resolver, "name.test"))
            } catch {
                let error = error as? FetchError
                #expect(error?.outcome == .refusedAddress && error?.isRetryable == false)
                #expect(error?.message.contains("name.test is at ") == true)
                found.append([])
            }
        }
        #expect(found == [["9.9.9.9"], [], ["2620:fe::9"], []])
        resolver.isPublicOnly = false
        #expect(try await hosts(resolver, "name.test") == ["::1", "fd00::1"])
    }

    @Test func anAddressIsPublicOrNot() throws {
        for literal in [
            "1.1.1.1", "9.9.9.9", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1",
            "192.0.1.1", "192.0.3.1", "198.17.0.1", "198.20.0.1", "203.0.112.1", "223.255.255.1",
            "2620:fe::fe", "2001:200::1", "2001:db7::1", "2001:db9::1", "3fff:1000::1",
            "::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "2002:101:101::1",
        ] {
            #expect(try address(literal).isPublic && !address(literal).isPrivate, "\(literal)")
        }
        for literal in [
            "0.0.0.0", "10.0.0.1", "100.64.0.1", "127.255.255.255", "169.254.0.1", "172.16.0.1",
            "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1", "198.19.0.1",
            "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1",
            "255.255.255.255", "::", "::1", "::10.0.0.1", "::9.9.9.9", "::ffff:192.0.2.1",
            "64:ff9b::10.0.0.1", "64:ff9b::203.0.113.1", "64:ff9b:1::1", "100::1", "2001::1",
            "2001:2::1", "2001:10::1", "2001:1ff::1", "2001:db8::1", "2002:a00:1::1",
            "2002:c000:201::1", "3fff::1", "3fff:fff::1", "4000::1", "5f00::1", "fc00::1",
            "fd00::1", "fe80::1", "fec0::1", "ff02::1", "ff0e::1",
        ] {
            #expect(try !address(literal).isPublic, "\(literal)")
        }
        // Literals in the spellings of a look-up, which nobody here makes.
        var resolver = Resolver()
        resolver.isPublicOnly = true
        for host in [
            "127.1", "0x7f000001", "017700000001", "0", "10.1", "127.0.0.1.", "localhost",
            "x.localhost.", "fe80::1%1", "::ffff:127.0.0.1",
        ] {
            let error = #expect(throws: FetchError.self) { try resolver.check(unresolved: host) }
            #expect(error?.outcome == .refusedAddress, "\(host)")
            try Resolver().check(unresolved: host)
        }
        for host in ["9.9.9.9", "2620:fe::fe", "name.test", "127.0.0.1.test", "0x7f.test"] {
            try resolver.check(unresolved: host)
        }
    }

    @Test func aNameThatCannotExistIsAResolveFailure() async throws {
        // Longer than a label may be: refused without asking any server.
        let name = String(repeating: "a", count: 64) + ".invalid"
        let error = await #expect(throws: FetchError.self) { try await hosts(Resolver(), name) }
        #expect(error?.outcome == .resolve)
        #expect(error?.phase == .resolve)
    }

    @Test func aCancelledTaskDoesNotWaitForTheResolver() async throws {
        try await onLoop { loop in
            let task = Task(executorPreference: loop) {
                withUnsafeCurrentTask { $0?.cancel() }
                return await failure { () async throws(FetchError) in
                    _ = try await Resolver().addresses(
                        of: Endpoint(host: "name.invalid", port: 1, security: .none), on: loop,
                        by: .after(seconds: 10))
                }
            }
            #expect(await task.value?.outcome == .interrupted)
        }
    }
}
