// SPDX-License-Identifier: MIT
import SmallWebCore
import SmallWebTestSupport
import SmallWebTransport
import Testing

@testable import SmallWeb

@Suite(.timeLimit(.minutes(30)))
struct InternationalHostNameTests {
    @Test(arguments: [
        ("bücher.example", "xn--bcher-kva.example"), ("BÜCHER.example", "xn--bcher-kva.example"),
        ("straße.example", "xn--strae-oqa.example"), ("例え.test", "xn--r8jz45g.test"),
        ("bu\u{308}cher.example", "xn--bcher-kva.example"), ("plain.example", "plain.example"),
    ])
    func namesBecomeALabels(_ name: String, _ expected: String) throws {
        let uri = try URI(parsing: "gemini://\(name)/").withASCIIHost()
        #expect(uri.host == expected)
    }

    @Test(arguments: [
        "♥.example", "-ü.example", String(repeating: "ü", count: 64) + ".example",
        "a\u{200D}ü.example", "\u{308}.example",
    ])
    func namesThatAreNotAllowedAreBadURLs(_ name: String) {
        let error = #expect(throws: FetchError.self) {
            try URI(parsing: "gemini://\(name)/").withASCIIHost()
        }
        #expect(error?.outcome == .badURL)
    }

    @Test func theALabelIsWhatServersSee() async throws {
        let name = "xn--bcher-kva.example"
        let server = try LoopbackServer(
            tls: .make(names: [name], ips: []), handler: DemoSites.gemini())
        let bench = try Bench()
        let played = await bench.play(
            server.url("/about", host: "bücher.example"),
            options: { options in
                options.resolver = Resolver(overrides: ["\(name):\(server.port)": ["127.0.0.1"]])
            })
        #expect(played.outcome == .ok)
        #expect(played.connections.first?.tls?.certificate.matchesHost == true)
        server.stop()
        #expect(server.connections.map(\.serverName) == [name])
        #expect(server.requestLines == [server.url("/about", host: name)])
    }
}
