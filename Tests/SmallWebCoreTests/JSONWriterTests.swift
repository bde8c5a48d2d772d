// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import Testing

/// Strings are scanned sixteen bytes at a time, so a character to escape may be at any offset.
@Suite struct JSONWriterTests {
    /// Behind as many bytes as come before, and again behind that.
    private func texts(with special: String) -> [String] {
        (0..<34).flatMap { before in
            [0, 1, 7, 8, 15, 16, 17].map { after in
                let plain = { String(repeating: "a", count: $0) }
                return plain(before) + special + plain(after) + special
            }
        }
    }

    private static let ascii = (UInt8(0)..<0x80).map { String(UnicodeScalar($0)) }

    @Test(arguments: ascii + ["é", "€", "😀", "\u{9B}", "\u{202E}", "\u{61C}"])
    func aStringReadsTheSameWhereverItsCharactersAre(_ special: String) throws {
        for text in texts(with: special) {
            let line = JSONWriter.string(text)
            #expect(try JSONValue.parse(line[...]).string == text)
            let isHarmless = line.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
            #expect(isHarmless)
            #expect(!String(decoding: line, as: UTF8.self).contains("\u{202E}"))
        }
    }

    @Test func whatIsNotUTF8IsFoundWhereverItIs() {
        for text in texts(with: "a") {
            for bad: [UInt8] in [[0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80]] {
                var isText = true
                let bytes = Array(text.utf8) + bad + Array("a".utf8)
                let line = JSONWriter.line { writer in
                    writer.member("t") { writer in
                        isText = writer.value(utf8: bytes[...])
                        if !isText { writer.value(false) }
                    }
                }
                #expect(!isText)
                #expect(line == Array("{\"t\":false}\n".utf8))
            }
        }
    }
}
