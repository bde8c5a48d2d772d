// SPDX-License-Identifier: MIT
import DaytimePlugin
import SmallWeb
import SmallWebTesting
import Testing

/// The handler and a program that uses it, without a network.
@Suite struct DaytimeTests {
    let folder = String(#filePath.prefix(upTo: #filePath.lastIndex(of: "/")!)) + "/Fixtures"

    /// Each reply as a whole, byte by byte, in two pieces, and cut off.
    @Test func theHandlerDoesWhatItsFixturesSay() async throws {
        #expect(try await Fixtures(folder).failures(of: DaytimePlugin()) == [])
    }

    @Test func aPageIsWhatTheServerSays() async throws {
        let client = try Client(
            plugins: .builtIn.adding(DaytimePlugin()), network: .fixtures(folder))
        let page = try await client.fetch("daytime://time.example.org/")
        #expect(page.text.hasPrefix("Monday, November 23, 2026"))
    }

    @Test func aStreamIsReadToItsEnd() async throws {
        let stream = ByteStream(replaying: "12:00".utf8)
        var text: [UInt8] = []
        #expect(try await stream.readToEnd { text += $0 } == .endOfFile)
        #expect(text == Array("12:00".utf8))
    }
}
