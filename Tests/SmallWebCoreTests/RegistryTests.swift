// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import Testing

@Suite struct RegistryTests {
    private struct Handler: ProtocolHandler {
        let schemes: [Scheme]

        init(_ names: [String], port: UInt16) {
            schemes = names.map {
                Scheme($0, plugin: "test", port: port, transport: .tcp, summary: "A test")
            }
        }

        func fetch(
            _ request: Request, dialer: any Dialer, emit: Emit
        ) async throws(FetchError) -> Completeness { .complete }
    }

    @Test func findsAHandlerBySchemeAlone() throws {
        var registry = Registry()
        try registry.register(Handler(["b", "a"], port: 1))
        try registry.register(Handler(["c"], port: 2))
        #expect(registry.schemes.map(\.name) == ["a", "b", "c"])
        #expect(registry["a"]?.scheme.defaultPort == 1)
        #expect(registry["c"]?.scheme.defaultPort == 2)
        #expect(registry["d"] == nil)
        #expect(registry["A"] == nil)
    }

    @Test func refusesASecondHandlerAndAddsNothingOfIt() throws {
        var registry = Registry()
        try registry.register(Handler(["a"], port: 1))
        do throws(FetchError) {
            try registry.register(Handler(["b", "a", "c"], port: 2))
            Issue.record("registered")
        } catch {
            #expect(error.outcome == .usage)
        }
        #expect(registry.schemes.map(\.name) == ["a"])
        #expect(registry["a"]?.scheme.defaultPort == 1)
    }

    @Test func replacesWhenAsked() throws {
        var registry = Registry()
        try registry.register(Handler(["a"], port: 1))
        try registry.register(Handler(["a", "b"], port: 2), replacing: true)
        #expect(registry["a"]?.scheme.defaultPort == 2)
        #expect(registry["b"]?.scheme.defaultPort == 2)
    }

    @Test func isAValue() throws {
        var registry = Registry()
        let copy = registry
        try registry.register(Handler(["a"], port: 1))
        #expect(copy.schemes.isEmpty)
    }
}
