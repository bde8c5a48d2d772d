// SPDX-License-Identifier: MIT
import SmallWeb
import Testing

/// Text in charsets other than UTF-8.
@Suite struct CharsetConverterTests {
    /// A letter that an accent may follow waits inside of iconv.
    @Test(arguments: ["windows-1258", "windows-1255", "big5-hkscs"])
    func theLastLetterIsThere(_ charset: String) throws {
        let text = Array("a".utf8)
        let converter = try #require(CharsetConverter(from: charset))
        #expect(converter.convert(text[...]) + converter.finish() == text)
        #expect(try #require(CharsetConverter(from: charset)).convertAll(text) == text)
    }

    @Test func aCharacterThatIsCutOffIsReplaced() throws {
        let converter = try #require(CharsetConverter(from: "shift_jis"))
        #expect(converter.convert([0x61, 0x82]) == Array("a".utf8))
        #expect(converter.finish() == Array("\u{FFFD}".utf8))
        #expect(converter.finish() == [])
    }

    @Test func whatWaitedIsPutOutOnce() throws {
        let converter = try #require(CharsetConverter(from: "windows-1258"))
        #expect(converter.convert([0x61]) + converter.convert([0xCC]) == Array("\u{E0}".utf8))
        #expect(converter.finish() == [])
    }
}
