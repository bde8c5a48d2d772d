// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import Testing

@Suite struct DigitsTests {
    @Test(arguments: [
        (0, 1, "0"), (7, 1, "7"), (7, 2, "07"), (1234, 2, "1234"), (-5, 1, "-5"), (-5, 3, "-005"),
        (.max, 1, "9223372036854775807"), (.min, 1, "-9223372036854775808"),
        (1, 20, "00000000000000000001"),
    ])
    func writesADecimalNumber(_ number: Int, _ least: Int, _ text: String) {
        var bytes = Array("x".utf8)
        bytes.append(digits: number, atLeast: least)
        #expect(String(decoding: bytes, as: UTF8.self) == "x" + text)
    }

    @Test func writesHexadecimalDigits() {
        var bytes: [UInt8] = []
        bytes.append(hex: 0xFEDC_BA98_7654_3210, digits: 16)
        bytes.append(hex: 0x1_000A, digits: 4)
        #expect(String(decoding: bytes, as: UTF8.self) == "fedcba9876543210000a")
        #expect(([0, 0x0F, 0xA5] as [UInt8]).hex == "000fa5")
        #expect(([] as [UInt8]).hex.isEmpty)
    }

    @Test func padsWithZeros() {
        #expect("7".padded(to: 3) == "007" && "1234".padded(to: 3) == "1234")
    }
}
