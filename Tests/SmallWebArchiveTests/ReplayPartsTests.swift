// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebCore
import Testing

@testable import SmallWebArchive

/// The parts of a replay, without files.
@Suite struct ReplayPartsTests {
    private func body(_ text: String, step: Int) throws -> (String, isWhole: Bool) {
        var (chunks, body, rest) = (ChunkedBody(), [UInt8](), Array(text.utf8)[...])
        while !rest.isEmpty {
            var piece = rest.prefix(step)
            rest = rest.dropFirst(step)
            while let more = try chunks.next(&piece) { body += more }
        }
        return (String(decoding: body, as: UTF8.self), chunks.isWhole)
    }

    @Test func undoesChunksAtEverySplit() throws {
        let text = "4;x=y\r\nWiki\r\n5\r\npedia\r\n0\r\nTrailer: x\r\n\r\n"
        for step in 1...text.utf8.count {
            let (body, isWhole) = try body(text, step: step)
            #expect(body == "Wikipedia" && isWhole)
        }
        #expect(try body("4\r\nWi", step: 3).isWhole == false)
        #expect(try body("plain text\r\n", step: 1).0 == "plain text\r\n")
        #expect(throws: Malformed.self) { try body("4\r\nWikix\r\n", step: 9) }
        #expect(throws: Malformed.self) { try body("1\r\nW\r\nnothing\r\n", step: 50) }
    }

    private func redaction(_ input: String, isSecret: Bool = true) throws -> Redaction {
        let scheme = Scheme("t", plugin: "t", port: 1, transport: .tcp, summary: "")
        var request = Request(uri: try URI(parsing: "t://h/"), scheme: scheme)
        request.input = Array(input.utf8)
        request.isInputSecret = isSecret
        return Redaction(request, Registry(), keepsSecrets: false)
    }

    @Test func masksInputInBothForms() throws {
        let redaction = try redaction("pass word")
        for (sent, masked) in [
            ("a?pass%20word\r\n", "a?***\r\n"), ("pass word", "***"), ("1 2", "***"),
            ("pass wordpass word!", "***!"), ("AUTH AG1lAHBhc3Mgd29yZA==", "AUTH AG1lA***"),
        ] {
            let bytes = redaction.masked(Array(sent.utf8))
            #expect(String(decoding: bytes.bytes, as: UTF8.self) == masked)
        }
        #expect(redaction.masked(text: "t://h/?pass%20word") == "t://h/?***")
        let open = try self.redaction("pass word", isSecret: false)
        #expect(open.masked(Array("pass word".utf8)).bytes == Array("pass word".utf8))
    }

    /// A password that a protocol does not send is not looked for in vain.
    @Test func masksPasswordsOfURLs() throws {
        let scheme = Scheme("t", plugin: "t", port: 1, transport: .tcp, summary: "")
        let request = Request(uri: try URI(parsing: "t://me:p%40ss@h/"), scheme: scheme)
        let redaction = Redaction(request, Registry(), keepsSecrets: false)
        for (sent, masked) in [("/\r\n", "/\r\n"), ("PASS p@ss\r\n", "PASS ***\r\n")] {
            let bytes = redaction.masked(Array(sent.utf8))
            #expect(String(decoding: bytes.bytes, as: UTF8.self) == masked)
        }
        #expect(redaction.masked(reply: Array("p@ss, p%40ss".utf8)) == Array("***, ***".utf8))
        let kept = Redaction(request, Registry(), keepsSecrets: true)
        #expect(!kept.hasValues && kept.masked(Array("p@ss".utf8)).bytes == Array("p@ss".utf8))
    }

    /// A recording is found whatever part of the secret has been sent.
    @Test func aPartOfASecretFitsTheRecording() throws {
        let redaction = try redaction("pass word")
        let sent = Array("USER me\r\nPASS pass word\r\nQUIT\r\n".utf8)
        let recorded = redaction.masked(sent).bytes
        for count in 1...sent.count {
            let forms = redaction.forms(of: Array(sent[..<count]))
            #expect(forms.contains { recorded.starts(with: $0) }, "\(count)")
        }
    }

    @Test func masksWhatIsInAFile() throws {
        let redaction = try redaction("pass word")
        let directory = NSTemporaryDirectory()
        let filler = [UInt8](repeating: 0x2E, count: BlockSpool.memoryMax)
        for (text, shown) in [
            ("pass word", "***"), ("a pass%20word b", "a *** b"), ("pass wor", nil),
        ] {
            let spool = BlockSpool(in: directory)
            try filler.span.bytes.withUnsafeBytes { try spool.append($0) }
            try Array(text.utf8).span.bytes.withUnsafeBytes { try spool.append($0) }
            let masked = try redaction.masked(spool).spool
            var bytes: [UInt8] = []
            try masked?.bytes.read { bytes += $0 }
            #expect(bytes == filler + Array((shown ?? text).utf8), "\(text)")
            #expect((masked === spool) == (shown == nil), "\(text)")
        }
    }

    /// As when a server repeats a large input.
    @Test func whatIsLeftOfAFileMayBeShort() throws {
        let secret = String(repeating: "pass word", count: BlockSpool.memoryMax / 9 + 1)
        let spool = BlockSpool(in: NSTemporaryDirectory())
        try Array((secret + "!").utf8).span.bytes.withUnsafeBytes { try spool.append($0) }
        let masked = try redaction(secret).masked(spool)
        #expect(spool.whole == nil && masked.spool == nil && masked.bytes == Array("***!".utf8))
    }

    @Test func knowsWhereOffsetsComeToLie() {
        let masked = MaskedBytes(Array("ab<secret>cd".utf8), [3..<9])
        #expect(String(decoding: masked.bytes, as: UTF8.self) == "ab<***>cd")
        #expect([0, 3, 9, 12].map(masked.offset) == [0, 3, 6, 9])
    }

    @Test func turnsSayWhatMayBeRead() {
        let json = #"{"turns":[["sent",3,0],["received",5,0.5],["sent",2,1],["received",1,2]]}"#
        let turns = Turns(Array(json.utf8))
        #expect(
            [0, 2, 3, 4, 5].map { turns.available(afterSending: $0, of: 6) } == [0, 0, 5, 5, 6])
        let foreign = Turns(Array(#"{"turns":[["sent",-1,0],[1],"x"]}"#.utf8))
        #expect(foreign.turns.isEmpty && foreign.available(afterSending: 0, of: 9) == 9)
    }

    /// Each of these sums passes `Int.max`.
    @Test func hugeCountsCanBeAdded() {
        let entry = "[\"received\",\(1 << 48),0]"
        let list = [String](repeating: entry, count: 33_000).joined(separator: ",")
        let turns = Turns(Array("{\"turns\":[\(list)]}".utf8))
        #expect(turns.available(afterSending: 0, of: 9) == 9)
        for number in ["9223372036854775807", "-1", "-9223372036854775807"] {
            let json = "{\"bytes\":{\"sent\":\(number),\"received\":\(number)}}"
            let traffic = CaptureFacts(Array(json.utf8)).traffic
            #expect(traffic.sent == 0 && traffic.received == 0, "\(number)")
        }
        let facts = CaptureFacts(Array(#"{"bytes":{"sent":3,"received":4}}"#.utf8))
        #expect(facts.traffic.sent == 3 && facts.traffic.received == 4)
    }

    @Test func recordIdentifiersAreUUIDs() throws {
        var seed = UInt64.random(in: .min ... .max)
        for _ in 0..<100 {
            let id = WarcID(after: &seed)
            #expect(
                id.text.wholeMatch(
                    of:
                        /<urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-\w{12}>/
                ) != nil)
            #expect(WarcID(id.text) == id)
        }
        #expect(WarcID("<urn:uuid:1>") == nil)
        let time = timespec(tv_sec: 0, tv_nsec: 42_999)
        #expect(ArchiveFile.date(time) == "1970-01-01T00:00:00.000042Z")
    }

    @Test func aRequestLosesWhatIsSaidToAProxy() {
        let sent =
            "GET http://h:80/a?b HTTP/1.1\r\nHost: h\r\nProxy-Authorization: Basic x\r\n\r\n"
        #expect(
            String(decoding: MessageHead.ofRequest(Array(sent.utf8)), as: UTF8.self)
                == "GET /a?b HTTP/1.1\r\nHost: h\r\n\r\n")
        let two = "GET /a HTTP/2\r\nHost: h\r\n\r\n"
        #expect(
            String(decoding: MessageHead.ofRequest(Array(two.utf8)), as: UTF8.self)
                == "GET /a HTTP/1.1\r\nHost: h\r\n\r\n")
    }
}
