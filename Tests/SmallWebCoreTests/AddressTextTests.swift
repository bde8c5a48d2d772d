// SPDX-License-Identifier: MIT
import Glibc
internal import SmallWebCore
internal import SmallWebTestSupport
internal import Testing

/// The C library is right.
@Suite struct AddressTextTests {
    private func bytes(_ text: String) -> [UInt8]? {
        var (v4, v6) = (in_addr(), in6_addr())
        if inet_pton(AF_INET, text, &v4) == 1 { return withUnsafeBytes(of: v4) { Array($0) } }
        if inet_pton(AF_INET6, text, &v6) == 1 { return withUnsafeBytes(of: v6) { Array($0) } }
        return nil
    }

    private func shortest(_ bytes: [UInt8]) -> String? {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard bytes.count == 16, inet_ntop(AF_INET6, bytes, &text, socklen_t(text.count)) != nil
        else { return nil }
        return String(buffer: text)
    }

    private func compare(_ text: String) -> Bool {
        let bytes = bytes(text)
        return addressBytes(text) == bytes && shortestIPv6(text) == bytes.flatMap(shortest)
    }

    @Test(arguments: [
        "", ":", "::", ":::", "::1", "1::", "::1::", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::",
        "::2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8:", ":1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8:9", "12345::",
        "00001::", "::FFFF:1.2.3.4", "::1.2.3.4", "::1.2.3", "::1.2.3.4.5", "1.2.3.4::",
        "::1.2.3.4:5",
        "1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:7:1.2.3.4", "1.2.3.4", "01.2.3.4", "1.2.3.04",
        "0.0.0.0",
        "256.1.1.1", "1.2.3", "1.2.3.4.", ".1.2.3.4", "1..2.3", "1.2.3.4 ", "fe80::1%eth0", "g::",
        "::ffff:0:0", "0:0:0:0:0:ffff::", "1::2::3", "0:0:1:0:0:0:1:0", "1:0:0:2:0:0:3:4", "a",
        "::00.1.2.3", "::ffff:01.2.3.4", "2001:db8::0:1", "0::0", "0:0:0:0:0:0:0:0", "::1:0", "é::",
    ])
    func isReadAsByTheSystem(_ text: String) { #expect(compare(text)) }

    @Test func isReadAsByTheSystemWhateverItIs() {
        var random = SeededGenerator(seed: 11)
        let pieces = ["0", "1", "ff", "abcd", "FFFF", ":", ":", "::", ".", "255", "1.2.3.4", "0000"]
        for _ in 0..<20_000 {
            let text = (0..<Int.random(in: 1...16, using: &random)).map { _ in
                pieces.randomElement(using: &random)!
            }
            #expect(compare(text.joined()), "\(text.joined())")
        }
        for _ in 0..<5000 {
            let groups = (0..<8).map { _ in
                [0, 0, 0, 1, 0xFFFF, 0xAB].randomElement(using: &random)!
            }
            let text = groups.map { String($0, radix: 16) }.joined(separator: ":")
            #expect(compare(text), "\(text)")
        }
    }
}
