// SPDX-License-Identifier: MIT
internal import FingerPlugin
internal import GeminiPlugin
internal import GitPlugin
internal import GopherPlugin
internal import NexPlugin
internal import SmallWebCore
internal import SmallWebTesting
internal import SmallWebTestSupport
internal import SpartanPlugin
internal import Testing

/// Every fixture, delivered in every way.
@Suite struct WireTests {
    static let cases = WireCase.all(in: "PluginTests/Fixtures")
    /// Cases that connect to a server.
    static let dialled = cases.filter { $0.dial != "no" }

    /// By the folder of their fixtures.
    static let handlers: [Substring: any ProtocolHandler] = [
        "finger": FingerPlugin(), "gemini": GeminiPlugin(), "git": GitPlugin(),
        "gopher": GopherPlugin(), "nex": NexPlugin(), "spartan": SpartanPlugin(),
    ]

    static func handler(of wire: WireCase) -> any ProtocolHandler {
        guard let handler = handlers[wire.name.prefix { $0 != "/" }] else {
            preconditionFailure("no handler for \(wire.name)")
        }
        return handler
    }

    @Test(arguments: cases)
    func meansWhatTheFixtureSays(_ wire: WireCase) async {
        let whole = await play(wire, Self.handler(of: wire))
        #expect(whole.lines == wire.events)
        #expect(whole.error?.outcome == wire.error, "\(whole.error?.message ?? "no error")")
        #expect(
            String(decoding: whole.sent, as: UTF8.self)
                == String(decoding: wire.request, as: UTF8.self))
        switch wire.dial {
        case nil: #expect(whole.dialled.count == 1)
        case "no": #expect(whole.dialled.isEmpty)
        case .some(let place): #expect(whole.dialled == [place])
        }
    }

    @Test(arguments: dialled)
    func meansTheSameOneByteAtATime(_ wire: WireCase) async {
        let whole = await play(wire, Self.handler(of: wire))
        expectSame(await play(wire, Self.handler(of: wire), step: 1), whole, "one byte at a time")
    }

    @Test(arguments: dialled)
    func meansTheSameSplitAnywhere(_ wire: WireCase) async {
        let whole = await play(wire, Self.handler(of: wire))
        for offset in Self.offsets(in: wire.reply) {
            let split = await play(wire, Self.handler(of: wire), split: offset)
            expectSame(split, whole, "split at \(offset)")
        }
    }

    /// The body before an error may depend on the pieces it arrived in; nothing else may.
    private func expectSame(_ played: Played, _ whole: Played, _ how: String) {
        #expect(played.events == whole.events, "\(how)")
        #expect(played.error == whole.error, "\(how)")
        #expect(played.completeness == whole.completeness, "\(how)")
        #expect(played.sent == whole.sent, "\(how)")
        if whole.error == nil {
            #expect(played.body == whole.body, "\(how)")
        } else {
            #expect(whole.body.starts(with: played.body), "\(how)")
        }
    }

    /// Whatever byte the peer dies at, we never invent an event that the full reply lacks, and
    /// never take a part for the whole.
    @Test(arguments: dialled, [ScriptedTransport.Close.fin, .reset])
    func survivesACutAtEveryByte(_ wire: WireCase, _ close: ScriptedTransport.Close) async {
        let handler = Self.handler(of: wire)
        let whole = await play(wire, handler)
        for count in Self.offsets(in: wire.reply) {
            let cut = await play(
                wire, handler, step: count < 40 ? 1 : .max, cut: count, close: close)
            let part = Array(wire.reply.prefix(count))
            let how = "cut after \(count) bytes"
            if handler is GitPlugin {
                expectGitCut(wire, cut, whole, how)
                continue
            }
            #expect(cut.sent == wire.request, "\(how)")
            if handler is GopherPlugin {
                expectGopherCut(wire, cut, whole, part, close, how)
            } else {
                expectPlainCut(wire, cut, whole, part, how)
            }
        }
    }

    /// Gemini, finger and Spartan: events are a beginning of the whole's.
    private func expectPlainCut(
        _ wire: WireCase, _ cut: Played, _ whole: Played, _ part: [UInt8], _ how: String
    ) {
        #expect(whole.events.starts(with: cut.events), "\(how)")
        #expect(whole.body.starts(with: cut.body), "\(how)")
        let isRefusal = part.firstIndex(of: 0x0A) != nil && part.first != UInt8(ascii: "2")
        #expect(cut.error != nil || cut.completeness != .complete || isRefusal, "\(how)")
    }

    /// Git: every reply says where it ends, and the next request waits for it.
    private func expectGitCut(_ wire: WireCase, _ cut: Played, _ whole: Played, _ how: String) {
        #expect(wire.request.starts(with: cut.sent), "\(how)")
        #expect(whole.events.starts(with: cut.events), "\(how)")
        #expect(whole.body.starts(with: cut.body), "\(how)")
        #expect(cut.error != nil && cut.completeness == nil, "\(how)")
    }

    /// Gopher cannot tell a cut after a line from an end, so a part that is a whole reply by
    /// itself, terminated or nothing but error lines, reads as one. Anything else is a beginning.
    private func expectGopherCut(
        _ wire: WireCase, _ cut: Played, _ whole: Played, _ part: [UInt8],
        _ close: ScriptedTransport.Close, _ how: String
    ) {
        guard cut.error == nil else {
            #expect(whole.events.starts(with: cut.events), "\(how)")
            return
        }
        let plain = plainGopherText(part)
        let isBytes = ["binary", "media-type", "raw"].contains { wire.name.contains($0) }
        #expect(cut.body == plain.body || isBytes && cut.body == part, "\(how)")
        if cut.completeness == .complete { #expect(plain.isTerminated, "\(how)") }
        if close == .reset && cut.completeness != .complete {
            #expect(cut.completeness == .truncated, "\(how)")
        }
        if cut.heads != whole.heads {
            let refusals = (cut.heads + whole.heads).filter { $0.contains("permanent-failure") }
            #expect(!refusals.isEmpty, "\(how)")
        }
        // No link is made of a cut line, and no whole line is lost or changed, unless the end would
        // have halved its dots.
        #expect(
            Set(cut.items.filter { $0.contains("\"url\"") }).isSubset(of: whole.items), "\(how)")
        if !part.contains(ASCII.dot) || !wire.name.contains("dot-") {
            let ended = cut.items.dropLast(part.last == ASCII.lineFeed ? 0 : 1)
            #expect(whole.items.starts(with: ended), "\(how)")
        }
    }

    /// All offsets of a short reply; of a long one those near its ends, and some between.
    static func offsets(in reply: [UInt8]) -> [Int] {
        guard reply.count > 200 else { return Array(reply.indices) }
        return Array(0..<80) + Array(stride(from: 80, to: reply.count - 80, by: 509))
            + Array((reply.count - 80)..<reply.count)
    }
}
