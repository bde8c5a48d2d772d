// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import SmallWebTesting
import Testing

/// Handlers of others whose events are in a wrong order.
@Suite(.timeLimit(.minutes(30)))
struct HandlerOrderTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    private enum Kind: CaseIterable {
        case head, body, item, facts, note, diagnostics
        case connecting, connected, sent, redirect, end

        static let ofHandlers: Set<Kind> = [.head, .body, .item, .facts, .note, .diagnostics]

        func event(_ uri: URI) -> Event {
            let place = Endpoint(host: "h.test", port: 1, security: .none)
            switch self {
            case .head: return .head(Head(.success, mediaType: MediaType("text/plain")))
            case .body: return .body([1])
            case .item: return .item(Item(kind: .link, text: "a"))
            case .facts: return .facts(Facts())
            case .note: return .note(Note("own", "a note"))
            case .diagnostics: return .diagnostics([1])
            case .connecting: return .connecting(place, address: "192.0.2.1:1")
            case .connected:
                return .connected(
                    Connection(endpoint: place, address: nil, port: 1, tls: nil, trust: nil))
            case .sent: return .sent([1])
            case .redirect:
                return .redirect(.init(status: nil, from: uri, to: uri, isPermanent: false))
            case .end:
                return .end(
                    Ending(
                        outcome: .ok, completeness: .complete, uri: uri, head: nil, bodyBytes: 0))
            }
        }
    }

    /// The rules, in another form than the library has them.
    private static func isAllowed(_ kinds: [Kind]) -> Bool {
        let first = kinds.first { $0 != .note && $0 != .diagnostics }
        return Kind.ofHandlers.isSuperset(of: kinds) && kinds.count { $0 == .head } == 1
            && first == .head
    }

    /// All of two events, and of three that are not the client's alone.
    private static let orders: [[Kind]] = {
        let own = Kind.ofHandlers.union([.end])
        let pairs = Kind.allCases.flatMap { one in Kind.allCases.map { [one, $0] } }
        let triples = own.flatMap { a in own.flatMap { b in own.map { [a, b, $0] } } }
        return [[]] + Kind.allCases.map { [$0] } + pairs + triples
    }()

    /// - Parameter passesOver: True for a handler that goes on after an error of `emit`.
    private func handler(_ kinds: [Kind], passesOver: Bool) -> Wanderer {
        Wanderer { request, _, emit async throws(FetchError) in
            for kind in kinds {
                do throws(FetchError) {
                    try await emit(kind.event(request.uri))
                } catch {
                    if !passesOver { throw error }
                }
            }
            return .complete
        }
    }

    @Test(arguments: [false, true])
    func aHandlerKeepsToTheRulesOrFails(_ passesOver: Bool) async throws {
        for kinds in Self.orders {
            let web = try bench.web(
                plugins: Registry.builtIn.adding(handler(kinds, passesOver: passesOver)))
            do {
                let page = try await web.fetch("wander://h.test/")
                #expect(page.outcome == .ok && Self.isAllowed(kinds), "\(kinds)")
            } catch {
                #expect(!Self.isAllowed(kinds), "\(kinds): \(error)")
                #expect(error.outcome == .plugin, "\(kinds): \(error)")
                #expect(error.message.hasPrefix("the handler "), "\(kinds): \(error)")
            }
        }
    }

    @Test func theMessageSaysWhatTheHandlerDid() async throws {
        for (kinds, message) in [
            ([], "the handler returned without a head"),
            ([.head, .head], "the handler emitted a second head: head success"),
            ([.body, .head], "the handler emitted an event before its head: body 1 bytes"),
            (
                [.head, .end],
                "the handler emitted an event that is the client's alone: end ok"
            ),
        ] as [([Kind], String)] {
            let handler = handler(kinds, passesOver: true)
            let web = try bench.web(plugins: Registry.builtIn.adding(handler))
            let error = await #expect(throws: FetchError.self) {
                try await web.fetch("wander://h.test/")
            }
            #expect(error?.message.hasPrefix(message) ?? false, "\(String(describing: error))")
        }
    }

    /// A fixture finds the same faults.
    @Test func fixturesJudgeAsFetchesDo() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let text = "url wander://h.test/\n= {\"event\":\"end\",\"completeness\":\"complete\"}\n"
        try Data(text.utf8).write(to: folder.appending(path: "a.wire"))
        for kinds in Self.orders where kinds.count < 3 && !Self.isAllowed(kinds) {
            for passesOver in [false, true] {
                let handler = handler(kinds, passesOver: passesOver)
                let failures = try await Fixtures(folder.path).failures(of: handler)
                #expect(failures.joined().contains("the handler "), "\(kinds): \(failures)")
            }
        }
    }
}
