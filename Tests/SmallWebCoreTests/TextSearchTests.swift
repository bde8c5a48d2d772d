// SPDX-License-Identifier: MIT
import Foundation
import Glibc
internal import SmallWebCore
internal import SmallWebTestSupport
internal import Testing

@Suite struct ExtendedExpressionTests {
    /// The result of the system's regexec(3); `nil` if it refuses the pattern.
    private func systemMatches(_ pattern: String, _ text: String) -> Bool? {
        var expression = regex_t()
        guard regcomp(&expression, pattern, REG_EXTENDED | REG_NOSUB) == 0 else { return nil }
        defer { regfree(&expression) }
        return regexec(&expression, text, 0, nil, 0) == 0
    }

    private static let patterns = [
        "a", "^a", "a$", "^$", "^a*$", "a+b", "ab?c", "a{2}", "a{2,}", "a{,2}b", "a{1,3}b", "a{0}b",
        "(a|b)*c", "(ab|a)(bc|c)", "[abc]+x", "[^abc]", "[a-c]d", "[]a]b", "[^]a]b", "[a-]b",
        "[[:digit:]]+", "[[:space:]]", "[[.-.]]a", "[[=a=]]b", "a|b|c", "(|a)b", "()a", "a||b",
        "\\.", "\\*a", "\\w+", "\\W", "\\s", "\\S", "\\bab\\b", "\\Ba", "\\<ab", "ab\\>", "\\`a",
        "b\\'", ".", ".*b", "(a*)*b", "(a*)+", "((a?){3}){2}b", "(^a|b$)", "a^b", "a$b", "x*",
        "(a)(b)(c)", "[a\\]b]", "a**", "a+?b", "(^)*a", "a)b", "[0-9]{3}-[0-9]{4}",
    ]

    @Test(arguments: patterns)
    func agreesWithTheSystem(_ pattern: String) throws {
        let expression = try ExtendedExpression(pattern)
        var texts = ["", "a", "b", "ab", "abc", "aab", "xaab", "a b", "ab ab", "123-4567", "]a"]
        var generator = SeededGenerator(seed: 11)
        for _ in 0..<300 {
            let count = Int.random(in: 0...8, using: &generator)
            texts.append(
                String(
                    (0..<count).map { _ in "aabbcxd-] .9\\*^$_".randomElement(using: &generator)! })
            )
        }
        for text in texts {
            let expected = try #require(systemMatches(pattern, text), "\(pattern)")
            #expect(try expression.matches(in: Array(text.utf8)[...]) == expected, "\"\(text)\"")
        }
    }

    @Test(arguments: [
        "*a", "a|*b", "(", "a(b", "[", "[a", "[[:foo:]]", "[b-a]", "a{", "a{x}", "a{2,1}", "a{256}",
        "a{1,256}", "a{,}", "\\", "(a)\\1", "[[.space.]]", "((a{250}){250}){250}",
        String(repeating: "a", count: 1025), String(repeating: "(", count: 200),
    ])
    func refuses(_ pattern: String) {
        #expect(throws: ExtendedExpression.Problem.self) { try ExtendedExpression(pattern) }
    }

    /// Each takes minutes elsewhere, in a matcher that goes back or one that makes all states.
    @Test(arguments: [
        "(a+)+$", "(a|b)*a(a|b){200}c", "(a*)*c", "(a|aa)+$", "(.*)*x", "^a+*+++++++c",
        "(((((((((a+)+)+)+)+)+)+)+)+)+c", "(){255}{255}{255}{255}c",
    ])
    func isDoneInTime(_ pattern: String) throws {
        let expression = try ExtendedExpression(pattern)
        var generator = SeededGenerator(seed: 3)
        let text = (0..<20_000).map { _ in UInt8.random(in: 0x61...0x62, using: &generator) }
        #expect(try !expression.matches(in: (text + [0x21])[...]))
    }
}

@Suite struct TextSearchTests {
    /// Every offset in a block and a word, with the byte once, twice and never in it.
    @Test func aByteIsFoundWhereItIs() {
        for count in 0...70 {
            for place in 0...count {
                var bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 | 1) }
                for wanted in [0 as UInt8, 0x80, 0xFE] {
                    if place < count { bytes[place] = wanted }
                    for second in [place, count - 1] where place < count && second > place {
                        bytes[second] = wanted
                    }
                    bytes.withUnsafeBufferPointer { buffer in
                        for start in 0...(count + 1) {
                            let rest = start < count ? buffer[start...].firstIndex(of: wanted) : nil
                            #expect(buffer.first(wanted, from: start) == rest)
                        }
                    }
                }
            }
        }
    }

    /// Texts of two letters repeat themselves most; long ones are searched in another way.
    @Test func theFirstOccurrenceIsFound() {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<3000 {
            let all = (0..<Int.random(in: 0...120, using: &random)).map { _ in
                UInt8.random(in: 97...98, using: &random)
            }
            let count = Int.random(in: 0...40, using: &random)
            let wanted =
                Bool.random(using: &random) && all.count >= count
                ? Array(all.suffix(count)) : (0..<count).map { UInt8($0 % 3 == 0 ? 98 : 97) }
            let expected = (0...max(0, all.count - count)).first {
                all[$0...].starts(with: wanted)
            }
            let end = all.withUnsafeBufferPointer { all in
                wanted.withUnsafeBufferPointer { all[...].end(of: $0[...]) }
            }
            #expect(end == expected.map { $0 + count }, "\(wanted) in \(all)")
        }
    }
}
