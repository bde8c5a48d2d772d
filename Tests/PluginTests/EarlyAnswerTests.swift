// SPDX-License-Identifier: MIT
internal import FingerPlugin
@testable internal import GeminiPlugin
@testable internal import GitPlugin
internal import GopherPlugin
internal import NexPlugin
internal import SmallWebCore
internal import SmallWebTestSupport
internal import SmallWebTesting
internal import SpartanPlugin
internal import Testing

/// Servers that answer and then take no request.
@Suite struct EarlyAnswerTests {
    /// Every plugin that sends over a stream, with a reply that needs no request.
    static let plugins: [(any ProtocolHandler, wire: String, reply: String)] = [
        (GeminiPlugin(), "url gemini://h.test/", "44 60\r\n"),
        (TitanHandler(), "url titan://h.test/a\nupload x", "59 no\r\n"),
        (GopherPlugin(), "url gopher://h.test/0/a", "text\r\n.\r\n"),
        (GopherPlugin(), "url gopher://h.test/1/a", "3no\t\terror.host\t1\r\n.\r\n"),
        (FingerPlugin(), "url finger://h.test/a", "text\r\n"),
        (SpartanPlugin(), "url spartan://h.test/", "5 busy\r\n"),
        (SpartanPlugin(), "url spartan://h.test/a\nupload x", "4 no\r\n"),
        (NexPlugin(), "url nex://h.test/a", "text\n"),
        (GitPlugin(), "url git://h.test/r", "000cERR busy"),
    ]

    static func play(
        _ number: Int, reply: String, sendError: FetchError?
    ) async throws -> Played {
        let (handler, text, _) = plugins[number]
        let wire = try WireCase(name: "early", parsing: text)
        var script = ScriptedTransport.Script(Array(reply.utf8), close: .closeNotify)
        script.sendError = sendError
        return await SmallWebTestSupport.play(wire, handler, script)
    }

    static let broken = FetchError(.send, .send, "sending failed", errnoName: "EPIPE")

    @Test(arguments: plugins.indices)
    func whatIsThereIsTheReply(_ number: Int) async throws {
        let reply = Self.plugins[number].reply
        let whole = try await Self.play(number, reply: reply, sendError: nil)
        let early = try await Self.play(number, reply: reply, sendError: Self.broken)
        #expect(early.sent.isEmpty && !whole.sent.isEmpty)
        #expect(early.error?.message == whole.error?.message)
        #expect(early.events == whole.events && early.body == whole.body)
        #expect(early.completeness == whole.completeness)
    }

    /// Without a reply the connection was reset before any data, or that is the failure.
    @Test(arguments: plugins.indices)
    func withoutAReplyThatIsTheFailure(_ number: Int) async throws {
        let reset = try await Self.play(number, reply: "", sendError: Self.broken)
        #expect(reset.error?.outcome == .connect)
        let other = FetchError(.send, .send, "sending failed", errnoName: "EHOSTUNREACH")
        #expect(try await Self.play(number, reply: "", sendError: other).error == other)
    }
}
