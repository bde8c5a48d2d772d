// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebTestSupport
internal import Testing

@Suite struct LineFramerTests {
    /// The lines of `pieces`, a `|` after each that was terminated; `!` for one too long.
    private func lines(_ pieces: [String], limit: Int = 100) -> [String] {
        var framer = LineFramer(lineBytesMax: limit)
        var lines: [String] = []
        func take(_ line: LineFramer.Line) {
            lines.append(
                String(decoding: line.bytes, as: UTF8.self) + (line.isTerminated ? "|" : ""))
        }
        for piece in pieces {
            do throws(FetchError) {
                try framer.add(Array(piece.utf8)[...], take)
            } catch {
                return lines + ["!"]
            }
        }
        if let last = framer.finish() { take(last) }
        return lines
    }

    @Test func endsLinesWithLFOrCRLF() {
        #expect(lines(["a\r\nb\n\r\n\nc"]) == ["a|", "b|", "|", "|", "c"])
        #expect(lines([]) == [])
        #expect(lines(["\n"]) == ["|"])
    }

    @Test func keepsACarriageReturnThatEndsNoLine() {
        #expect(lines(["a\rb\r\r\n"]) == ["a\rb\r|"])
        #expect(lines(["a\r"]) == ["a\r"])
    }

    @Test func joinsWhatArrivesInPieces() {
        let text = "one\r\ntwo\n\r\nthree\rx\r\nend"
        let whole = lines([text])
        #expect(lines(text.unicodeScalars.map { String($0) }) == whole)
        let bytes = Array(text.utf8)
        for split in bytes.indices {
            let parts = [bytes[..<split], bytes[split...]].map {
                String(decoding: $0, as: UTF8.self)
            }
            #expect(lines(parts) == whole, "split at \(split)")
        }
    }

    @Test func acceptsALineOfExactlyTheLimit() {
        for end in ["\n", "\r\n", ""] {
            #expect(lines(["12345\(end)"], limit: 5).first?.hasPrefix("12345") == true)
            #expect(lines(["1234", "5", end], limit: 5).first?.hasPrefix("12345") == true)
            #expect(lines(["12345\r", "\n"], limit: 5) == ["12345|"])
        }
    }

    @Test func refusesALineOfOneByteMore() {
        #expect(lines(["123456\n"], limit: 5) == ["!"])
        #expect(lines(["123456"], limit: 5) == ["!"])
        #expect(lines(["12345\r", "x"], limit: 5) == ["!"])
        #expect(lines(["ok\n12345", "6"], limit: 5) == ["ok|", "!"])
        #expect(lines(["ok\n123456\nno\n"], limit: 5) == ["ok|", "!"])
    }

    @Test func givesTheSameFromRandomPieces() throws {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<2_000 {
            let bytes = random.bytes(upTo: 30, alphabet: "\r\n\r\nab").map { $0 & 0x7F }
            let text = { (bytes: ArraySlice<UInt8>) in String(decoding: bytes, as: UTF8.self) }
            #expect(lines(random.pieces(of: bytes).map(text)) == lines([text(bytes[...])]))
        }
    }

    // MARK: Splitting

    /// A `+` before a piece that continues a line, a `|` after each that ends one.
    private func split(_ pieces: [ArraySlice<UInt8>], limit: Int = 5) -> [String] {
        var framer = LineFramer(lineBytesMax: limit)
        let lines = pieces.flatMap { framer.split($0) } + framer.split([], isLast: true)
        #expect(!framer.isWithinLine && lines.allSatisfy { $0.bytes.count <= limit })
        return lines.map { line in
            let text = String(decoding: line.bytes, as: UTF8.self)
            let marks = (line.isBeginning ? "" : "+", line.isTerminated ? "|" : "")
            return "\(line.number)\(marks.0) \(text)\(marks.1)"
        }
    }

    private func split(_ text: String, limit: Int = 5) -> [String] {
        split([Array(text.utf8)[...]], limit: limit)
    }

    @Test func splitsALongLine() {
        #expect(split("12345\nabc") == ["1 12345|", "2 abc|"])
        #expect(split("1234567\r\nabc\r") == ["1 12345", "1+ 67|", "2 abc|"])
        #expect(split("12345\r\n\n") == ["1 12345", "2 |"])
        #expect(split("\u{FEFF}ab\n\u{FEFF}ab\n") == ["1 ab|", "2 \u{FEFF}ab|"])
        #expect(split("éééé\n") == ["1 éé", "1+ éé|"])
    }

    @Test func splitsTheSameFromEveryPiece() {
        var random = SeededGenerator(seed: 11)
        for _ in 0..<500 {
            let bytes = random.bytes(upTo: 40, alphabet: "\r\n\nabc\u{FEFF}é😀")
            let whole = split([bytes[...]])
            #expect(split(random.pieces(of: bytes)) == whole)
            #expect(split(bytes.indices.map { bytes[$0...$0] }) == whole)
            for cut in bytes.indices {
                #expect(split([bytes[..<cut], bytes[cut...]]) == whole, "cut at \(cut)")
                // A truncated text has the same lines, but for its last.
                let some = split([bytes[..<cut]])
                #expect(some.dropLast().elementsEqual(whole.prefix(max(0, some.count - 1))))
            }
        }
    }

    @Test func aLineWithoutAnEndIsNotHeld() {
        var framer = LineFramer(lineBytesMax: 1000)
        let endless = [UInt8](repeating: 0x80, count: 100_000)
        #expect(framer.split(endless[...]).reduce(0) { $0 + $1.bytes.count } >= 98_000)
    }

    @Test func framesALine() throws {
        #expect(try LineFramer.frame("a\tb".utf8) == Array("a\tb\r\n".utf8))
        #expect(try LineFramer.frame("".utf8) == [13, 10])
        #expect(try LineFramer.frame("a".utf8, end: [10]) == Array("a\n".utf8))
        #expect(try LineFramer.frame([0xFF, 0x01]) == [0xFF, 0x01, 13, 10])
    }

    @Test(arguments: ["a\rb", "a\nb", "a\0b", "\r\n", "\n", "a\r"])
    func refusesToFrameWhatWouldEndTheLineEarly(_ line: String) {
        do throws(FetchError) {
            _ = try LineFramer.frame(line.utf8)
            Issue.record("framed")
        } catch {
            #expect(error.outcome == .badURL)
        }
    }
}
