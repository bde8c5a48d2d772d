// SPDX-License-Identifier: MIT
internal import Glibc
@testable internal import SmallWebCore
internal import SmallWebTestSupport
internal import SmallWebTesting
internal import Testing

@Suite struct ByteStreamTests {
    typealias Script = ScriptedTransport.Script

    private func started(
        _ script: Script, onSent: (([UInt8]) async throws(FetchError) -> Void)? = nil
    ) async throws -> (ByteStream, ScriptedTransport) {
        let transport = ScriptedTransport(script)
        let stream = ByteStream(transport, idleSeconds: nil, deadline: .never, onSent: onSent)
        #expect(stream.state == .started)
        return (stream, transport)
    }

    private func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    }

    private func outcome(_ body: () async throws(FetchError) -> Void) async -> Outcome? {
        do throws(FetchError) {
            try await body()
            return nil
        } catch {
            return error.outcome
        }
    }

    /// It has an answer while the stream waits for room to send.
    @Test(arguments: [0, 1000])
    func anAnswerEndsTheWaitForAPeerThatTakesNoMore(_ taken: Int) async throws {
        var script = Script(Array("4 no\r\n".utf8))
        script.pauses = true
        script.sentMax = taken
        let (stream, transport) = try await started(script)
        #expect(try await !stream.writeUnlessAnswered(bytes(5_000)))
        #expect(try await stream.readLine(upTo: 80).elementsEqual("4 no\r\n".utf8))
        #expect(transport.waits == 1)
    }

    @Test(arguments: [1, 1024, Int.max], [false, true])
    func writesAllHoweverLittleIsTaken(_ step: Int, pauses: Bool) async throws {
        var script = Script()
        script.sendStep = step
        script.pauses = pauses
        let (stream, transport) = try await started(script)
        let data = bytes(5_000)
        try await stream.writeAll(data)
        try await stream.writeAll([])
        #expect(transport.sent == data)
        #expect(stream.bytesSent == data.count)
        if pauses { #expect(transport.waits == (5_000 + min(step, 5_000) - 1) / min(step, 5_000)) }
    }

    @Test func tellsWhatWasSentOnceItIsOut() async throws {
        var told: [[UInt8]] = []
        var script = Script()
        script.sendStep = 3
        let (stream, _) = try await started(script) { told.append($0) }
        try await stream.writeAll([1, 2, 3, 4, 5])
        #expect(told == [[1, 2, 3, 4, 5]])
    }

    @Test(arguments: [1, 7, Int.max], [false, true])
    func readsExactlyFromATrickle(_ step: Int, pauses: Bool) async throws {
        var script = Script(bytes(1_000), step: step)
        script.pauses = pauses
        let (stream, _) = try await started(script)
        #expect(try await stream.readExactly(0) == [])
        #expect(try await Array(stream.readExactly(333)) == Array(bytes(1_000)[..<333]))
        #expect(try await Array(stream.readExactly(667)) == Array(bytes(1_000)[333...]))
        #expect(try await stream.readSome() == [])
        #expect(stream.bytesReceived == 1_000)
    }

    @Test func growsForALongExactRead() async throws {
        let (stream, _) = try await started(Script(bytes(200_010), step: 1_000))
        #expect(try await stream.readExactly(10).count == 10)
        let long = try await stream.readExactly(200_000)
        #expect(Array(long) == Array(bytes(200_010)[10...]))
        #expect(try await stream.readSome() == [])
    }

    @Test func reportsAnEndInsideAFrame() async throws {
        let (stream, _) = try await started(Script(bytes(9)))
        #expect(
            await outcome { () async throws(FetchError) in _ = try await stream.readExactly(10) }
                == .truncated)
        #expect(stream.ending == .endOfFile)
    }

    @Test func readsLinesAndThenTheRest() async throws {
        for step in [1, 2, .max] {
            let (stream, _) = try await started(Script(Array("a\r\n\nbc".utf8), step: step))
            #expect(try await Array(stream.readLine(upTo: 10)) == Array("a\r\n".utf8))
            #expect(try await Array(stream.readLine(upTo: 10)) == [10])
            #expect(try await Array(stream.readLine(upTo: 10)) == Array("bc".utf8))
            #expect(try await stream.readLine(upTo: 10).isEmpty)
        }
    }

    @Test func refusesALineOneByteOverItsLimit() async throws {
        for step in [1, 3, .max] {
            let (fits, _) = try await started(Script(Array("1234\n".utf8), step: step))
            #expect(try await fits.readLine(upTo: 5).count == 5)
            let (long, _) = try await started(Script(Array("12345\n".utf8), step: step))
            let result = await outcome { () async throws(FetchError) in
                _ = try await long.readLine(upTo: 5)
            }
            #expect(result == .protocolError)
        }
    }

    @Test func readsNoMoreThanWanted() async throws {
        let (stream, _) = try await started(Script(bytes(10)))
        #expect(try await stream.readSome(upTo: 4).count == 4)
        #expect(try await stream.readSome(upTo: 100).count == 6)
        #expect(try await stream.readSome(upTo: 1) == [])
    }

    @Test(arguments: [
        (ScriptedTransport.Close.closeNotify, ByteStream.Ending.closeNotify), (.fin, .endOfFile),
        (.reset, .reset),
    ])
    func deliversWhatCameBeforeTheStop(_ close: ScriptedTransport.Close, ending: ByteStream.Ending)
        async throws
    {
        let (stream, _) = try await started(Script([1, 2, 3], close: close))
        #expect(stream.ending == nil)
        #expect(try await stream.readSome(upTo: 2) == [1, 2])
        #expect(stream.state == .started)
        #expect(try await stream.readSome() == [3])
        #expect(try await stream.readSome() == [])
        #expect(stream.ending == ending)
        #expect(stream.state == .stopped(nil))
        #expect(try await stream.readSome() == [])
        #expect(
            await outcome { () async throws(FetchError) in try await stream.writeAll([1]) } == .send
        )
    }

    @Test func givesEverythingToTheEnd() async throws {
        let (stream, _) = try await started(Script(bytes(100_000), close: .closeNotify, step: 999))
        var received: [UInt8] = []
        let ending = try await stream.readToEnd { received += $0 }
        #expect(received == bytes(100_000))
        #expect(ending == .closeNotify)
    }

    @Test func keepsSlicesValidAfterLaterReads() async throws {
        let (stream, _) = try await started(Script(bytes(200_000), step: 50_000))
        var slices: [ArraySlice<UInt8>] = []
        _ = try await stream.readToEnd { slices.append($0) }
        #expect(slices.flatMap { $0 } == bytes(200_000))
    }

    @Test func remembersAFailure() async throws {
        var script = Script([1])
        script.receiveError = FetchError(.receive, .body, "broken")
        let (stream, transport) = try await started(script)
        #expect(try await stream.readSome() == [1])
        for _ in 0..<2 {
            #expect(
                await outcome { () async throws(FetchError) in _ = try await stream.readSome() }
                    == .receive)
        }
        #expect(stream.state == .stopped(script.receiveError))
        #expect(transport.isClosed)
        #expect(transport.receives == 2)
        #expect(
            await outcome { () async throws(FetchError) in try await stream.writeAll([1]) }
                == .receive)
    }

    @Test func failsToSend() async throws {
        var script = Script()
        script.sendError = FetchError(.send, .send, "broken")
        let (stream, transport) = try await started(script) { _ in Issue.record("it is out") }
        // The answer may be there.
        try await stream.writeAll([1])
        #expect(
            await outcome { () async throws(FetchError) in _ = try await stream.readSome() }
                == .send
        )
        #expect(transport.isClosed)
    }

    /// Whoever notices it first: there was no data either way.
    @Test(arguments: [ECONNRESET, EPIPE], [ScriptedTransport.Close.fin, .closeNotify, .reset])
    func aResetBeforeAnyDataIsAFailureToConnect(
        _ number: Int32, _ close: ScriptedTransport.Close
    ) async throws {
        var script = Script([], close: close)
        script.sendError = FetchError(
            .send, .send, "sending failed", SystemError(number: number))
        let (stream, _) = try await started(script)
        try await stream.writeAll([1])
        #expect(try await stream.readSome().isEmpty)
        #expect(stream.ending == .reset && stream.endedTooSoon.outcome == .connect)
    }

    /// A failed send does not change the ending that follows the peer's answer.
    @Test(arguments: [ScriptedTransport.Close.fin, .closeNotify, .reset])
    func readsTheAnswerToWhatCannotBeSent(_ close: ScriptedTransport.Close) async throws {
        var script = Script(Array("4 no\r\n".utf8), close: close)
        script.sendError = FetchError(.send, .send, "broken")
        let (stream, _) = try await started(script)
        try await stream.writeAll([1])
        try await stream.writeAll([2])
        #expect(try await stream.readLine(upTo: 80).elementsEqual("4 no\r\n".utf8))
        #expect(try await stream.readSome().isEmpty)
        #expect(stream.ending != nil && stream.bytesSent == 0)
    }

    /// All that such a peer has said is there already.
    @Test func waitsForNoAnswerToWhatCannotBeSent() async throws {
        var script = Script([], close: .silence)
        script.sendError = FetchError(.send, .send, "broken")
        let (stream, transport) = try await started(script)
        try await stream.writeAll([1])
        #expect(
            await outcome { () async throws(FetchError) in _ = try await stream.readSome() }
                == .send)
        #expect(transport.waits == 0)
    }

    /// An error that says more than that the connection is broken is the reason.
    @Test(arguments: [Outcome.needsIdentity, .receive])
    func anErrorMaySayWhyNothingIsTaken(_ found: Outcome) async throws {
        var script = Script()
        script.sendError = FetchError(.send, .send, "broken")
        script.receiveError = FetchError(found, .body, "told")
        let (stream, _) = try await started(script)
        try await stream.writeAll([1])
        let wanted = found == .receive ? Outcome.send : found
        #expect(
            await outcome { () async throws(FetchError) in _ = try await stream.readSome() }
                == wanted)
    }

    @Test func closesAtOnceAndOnlyOnce() async throws {
        let (stream, transport) = try await started(Script([1, 2]))
        #expect(try await stream.readSome(upTo: 1) == [1])
        stream.close()
        stream.close()
        #expect(transport.isClosed)
        #expect(stream.state == .stopped(nil))
        #expect(
            await outcome { () async throws(FetchError) in _ = try await stream.readSome() }
                == .send)
    }

    @Test func closesWhenItIsForgotten() async throws {
        let transport = ScriptedTransport(Script())
        do { _ = ByteStream(transport, idleSeconds: nil, deadline: .never) }
        #expect(transport.isClosed)
    }

    @Test(arguments: [
        ("", ScriptedTransport.Close.fin, Outcome.emptyReply), ("", .closeNotify, .emptyReply),
        ("", .reset, .connect), ("x", .fin, .protocolError), ("x", .reset, .receive),
    ])
    func namesAnEndThatCameTooSoon(
        _ reply: String, _ close: ScriptedTransport.Close, outcome: Outcome
    ) async throws {
        let (stream, _) = try await started(Script(Array(reply.utf8), close: close))
        _ = try await stream.readLine(upTo: 10)
        #expect(stream.endedTooSoon.outcome == outcome)
    }
}
