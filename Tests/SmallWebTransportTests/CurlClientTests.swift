// SPDX-License-Identifier: MIT
import SmallWebCore
import SmallWebTestSupport
import Testing

@testable import SmallWebTransport

/// Handles borrowed from libcurl, and their return.
@Suite(.timeLimit(.minutes(30)))
struct CurlClientTests {
    private func client(
        on loop: EventLoop, _ emit: @escaping (Event) async throws(FetchError) -> Void = { _ in }
    ) throws -> CurlClient {
        try CurlClient(
            loop: loop, settings: HTTPSettings(), resolver: Resolver(), route: .direct,
            deadline: .after(seconds: 120), emit: emit
        ) { _, _ in
        }
    }

    private func request(_ url: String) throws -> HTTPRequest {
        let scheme = Scheme("http", plugin: "test", port: 80, transport: .own, summary: "Test")
        return try HTTPRequest(
            Request(uri: try URI(parsing: url), scheme: scheme), options: HTTPOptions())
    }

    @Test func aTransferThatWasNeverBegunGivesItsHandleBack() async throws {
        let (error, handlesInUse) = try await onLoop { loop in
            let client = try client(on: loop) { _ throws(FetchError) in throw .cancelled }
            let request = try request("http://127.0.0.1:1/")
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

    /// Inflating a whole piece from the network at once would block the loop for most of a second.
    @Test func aBodyThatUnpacksLeavesTurnsToOthers() async throws {
        let web = try LoopbackServer { DemoSites.web($0) }
        let (bytes, turns) = try await onLoop { loop in
            let client = DecodingClient(
                try client(on: loop), loop: loop, deadline: .after(seconds: 120))
            let request = try request("http://127.0.0.1:\(web.port)/gzip-zeros")
            let other = Task(executorPreference: loop) {
                var turns = 0
                while !Task.isCancelled {
                    await loop.sleep(until: .now)
                    turns += 1
                }
                return turns
            }
            var bytes = 0
            _ = try await client.exchange(request) { _ in
            } onBody: { piece in
                bytes += piece.count
            }
            other.cancel()
            return (bytes, await other.value)
        }
        #expect(bytes == 80 << 20)
        #expect(turns >= 1000)
    }
}
