// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import Testing

@Suite struct TwoHashKeyTests {
    @Test func equalTextsHaveEqualKeys() {
        #expect(TwoHashKey("gemini://a/") == TwoHashKey("gemini://a/", []))
        let texts = (0..<1000).map { "gemini://a/\($0)" }
        let keys = Set(texts.map { TwoHashKey($0) } + texts.map { TwoHashKey($0, [1]) })
        #expect(keys.count == 2000)
    }

    /// The bytes count: a URL in another normal form is another one.
    @Test func aTextEndsWhereItsDigestBegins() {
        #expect(TwoHashKey("ab", [0x63]) != TwoHashKey("abc", []))
        #expect(TwoHashKey("é") != TwoHashKey("e\u{301}"))
    }

    /// Names of part files last from run to run.
    @Test func theStableHashIsFNV() {
        #expect("".stableHash == 0xCBF2_9CE4_8422_2325 && "a".stableHash == 0xAF63_DC4C_8601_EC8C)
        #expect("foobar".stableHash == 0x8594_4171_F739_67E8)
    }
}
