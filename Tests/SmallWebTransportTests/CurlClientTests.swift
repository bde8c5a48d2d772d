// SPDX-License-Identifier: MIT
import SmallWebCore
import Testing

@testable import SmallWebTransport

/// What libcurl lends us and gets back.
@Suite(.timeLimit(.minutes(5)))
struct CurlClientTests {
    @Test func aTransferThatWasNeverBegunGivesItsHandleBack() async throws {
        let (error, handlesInUse) = try await onLoop { loop in
            let client = try CurlClient(
                loop: loop, settings: HTTPSettings(), resolver: Resolver(),
                route: .direct, deadline: .after(seconds: 30)
            ) { _ throws(FetchError) in
                throw .cancelled
            } onEnd: { _ in
            }
            let scheme = Scheme("http", plugin: "test", port: 80, transport: .own, summary: "Test")
            let request = try HTTPRequest(
                Request(uri: try URI(parsing: "http://127.0.0.1:1/"), scheme: scheme),
                options: HTTPOptions())
            let error = await failure { () async throws(FetchError) in
                _ = try await client.exchange(request) { _ in
                } onBody: { _ in
                }
            }
            return (error, try loop.curl().handlesInUse)
        }
        #expect(error == .cancelled)
        #expect(handlesInUse == 0)
    }
}
