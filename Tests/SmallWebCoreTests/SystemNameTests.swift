// SPDX-License-Identifier: MIT
import SmallWebCore
import Testing

struct SystemNameTests {
    @Test(arguments: [
        [], Array("plain".utf8), Array("caf\u{E9} \u{1F600}".utf8), [0xE9],
        [0x63, 0xE9, 0x2F, 0xFF],
        // Truncated, overlong, surrogates, and the code points that the escapes use themselves.
        [0xC3], [0xE2, 0x82], [0xF4, 0x8F], [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0x80, 0xBF],
        Array("\u{10FEE9}x\u{10FE7F}\u{10FF00}".utf8), [0xF4, 0x8F, 0xBA, 0x80, 0xF4, 0x8F, 0xBA],
    ])
    func everyNameComesBackAsItWas(_ bytes: [UInt8]) {
        let name = String(systemBytes: bytes)
        #expect(name.systemBytes == bytes)
        #expect(name.systemName.map { UInt8(bitPattern: $0) } == bytes + [0])
        let isPlain = !name.unicodeScalars.contains(where: \.isSystemEscape)
        #expect(name.hasSystemEscapes == !isPlain)
        #expect(!isPlain || String(validating: bytes, as: UTF8.self) == name)
    }

    @Test func randomBytesComeBackToo() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            let bytes = (0..<Int.random(in: 0..<12)).map { _ in
                UInt8.random(in: 0x7E...0xFF, using: &generator)
            }
            #expect(String(systemBytes: bytes).systemBytes == bytes)
        }
    }

    @Test func whatIsNotUTF8CanBeShown() {
        let name = String(systemBytes: Array("caf".utf8) + [0xE9])
        #expect(name.withoutSystemEscapes == "caf\u{FFFD}")
        #expect(TerminalText.escapeLine(name) == "caf\\xE9")
        #expect(throws: FetchError.self) { try URI(parsing: "gemini://example.org/" + name) }
    }
}
