// SPDX-License-Identifier: MIT
@testable internal import FingerPlugin
@testable internal import GeminiPlugin
@testable internal import GopherPlugin
internal import SmallWebCore
internal import SmallWebFormats
internal import SmallWebTesting
internal import SmallWebTestSupport
internal import Testing

/// Whatever a server sends: an answer or an error, never a crash, and the same from any pieces.
@Suite struct RandomBytesTests {
    @Test func geminiHeaderIsRefusedOrKeepsItsPromises() {
        var random = SeededGenerator(seed: 1)
        var accepted = 0
        for _ in 0..<5_000 {
            var line = random.bytes(upTo: 12, alphabet: "0123456 \r\n\tabc/;=\"")
            if Bool.random(using: &random) { line = Array("2\(line.count % 10) ".utf8) + line }
            if Bool.random(using: &random) { line += ASCII.crlf }
            guard let header = try? GeminiHeader(parsing: line[...]) else { continue }
            accepted += 1
            #expect(10...69 ~= header.status)
            #expect(!header.meta.unicodeScalars.contains { $0.value < 0x20 || $0 == "\u{7F}" })
            #expect(header.head(line[...]).header == line)
        }
        #expect(accepted > 100)
    }

    @Test func gopherMenuLineIsAlwaysAnItem() throws {
        var random = SeededGenerator(seed: 2)
        let base = try URI(parsing: "gopher://h.test/1")
        var links = 0
        for _ in 0..<5_000 {
            var line = random.bytes(upTo: 20, alphabet: "0137ih8T+\t\t\t\t70:./@[]%\r")
            if Bool.random(using: &random) { line += "\ta.test\t70".utf8 }
            let item = GopherMenu.item(line[...], base: base, previousType: .menu).item
            guard let url = item.url, item.kind != .external else { continue }
            links += 1
            let uri = try #require(try? URI(parsing: url), "\(url)")
            #expect(uri.host != nil)
        }
        #expect(links > 100)
    }

    @Test func gopherTextFromAnyPiecesIsThatOfTheWhole() async throws {
        var random = SeededGenerator(seed: 3)
        for _ in 0..<5_000 {
            var reply = random.bytes(upTo: 24, alphabet: "....\r\n\n\n\na")
            if Bool.random(using: &random) { reply += ".\r\n".utf8 }
            var text = GopherText(heldBytesMax: 4)
            var body: [UInt8] = []
            for piece in random.pieces(of: reply) { try await text.add(piece) { body += $0 } }
            let isTerminated = text.isTerminated
            try await text.finish { body += $0 }
            let plain = plainGopherText(reply)
            #expect(body == plain.body, "\(reply)")
            #expect(isTerminated == plain.isTerminated, "\(reply)")
        }
    }

    @Test func gopherOpeningDecidesTheSameFromAnyPieces() {
        var random = SeededGenerator(seed: 4)
        for round in 0..<5_000 {
            let type = GopherItemType(byte: Array("01379".utf8)[round % 5])
            let reply = random.bytes(upTo: 40, alphabet: "333ii\t\t\t\t07\r\n\n.")
            var whole = GopherOpening(type: type)
            if !reply.isEmpty { whole.add(reply[...]) }
            if whole.verdict == nil { whole.add([]) }
            var pieced = GopherOpening(type: type)
            for piece in random.pieces(of: reply) where pieced.verdict == nil { pieced.add(piece) }
            if pieced.verdict == nil { pieced.add([]) }
            #expect(pieced.verdict == whole.verdict, "\(reply)")
        }
    }

    @Test func gopherOpeningIsBounded() {
        var opening = GopherOpening(type: .menu)
        var count = 0
        while opening.verdict == nil && count < 10_000 {
            opening.add(Array("3no\r\n".utf8)[...])
            count += 5
        }
        #expect(opening.verdict == .content)
        #expect(count <= GopherOpening.bytesMax + 5)
    }

    @Test(arguments: [
        "gemini://h.test/", "gopher://h.test/0/a", "gopher://h.test/1", "finger://h.test/",
    ])
    func aHandlerEndsWithARandomReply(_ url: String) async throws {
        var random = SeededGenerator(seed: 5)
        let name = String(url.prefix { $0 != ":" }) + "/random"
        var wire = try WireCase(name: name, parsing: "url \(url)\n")
        for _ in 0..<1_000 {
            wire.reply = random.bytes(upTo: 60, alphabet: "20 text/plain\r\n.3i0\t\t\t70")
            if url.hasPrefix("gemini"), Bool.random(using: &random) {
                wire.reply = Array("20 text/plain\r\n".utf8) + wire.reply
            }
            let played = await play(
                wire, WireTests.handler(of: wire), split: Int.random(in: 0...60, using: &random))
            #expect((played.error == nil) != (played.completeness == nil))
            #expect(played.body.count <= wire.reply.count)
        }
    }

    @Test func aRequestNeverHoldsASecondLine() async throws {
        var random = SeededGenerator(seed: 6)
        let alphabet = "%0%0%0%1dDaA9?#/@:7."
        for round in 0..<5_000 {
            let scheme = ["gemini", "gopher", "finger"][round % 3]
            let tail = random.bytes(upTo: 24, alphabet: alphabet).filter { 0x21..<0x7F ~= $0 }
            let url = "\(scheme)://h.test/\(String(decoding: tail, as: UTF8.self))"
            var wire = try WireCase(name: "\(scheme)/random", parsing: "url x\n")
            wire.url = url
            if round % 5 == 0 { wire.input = random.bytes(upTo: 8, alphabet: "\r\n\t\0 a") }
            let sent = await play(wire, WireTests.handler(of: wire)).sent
            guard !sent.isEmpty else { continue }
            #expect(sent.suffix(2) == ASCII.crlf[...], "\(url)")
            let line = sent.dropLast(2)
            #expect(!line.contains { $0 == 0x0D || $0 == 0x0A || $0 == 0 }, "\(url)")
        }
    }
}
