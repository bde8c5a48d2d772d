// SPDX-License-Identifier: MIT
import SmallWebCore
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
