// SPDX-License-Identifier: MIT
import Foundation
import Testing

/// The language of comments (docs/CONTRIBUTING.md, Style).
@Suite struct CommentTests {
    /// Beginnings of a sentence that hides its noun.
    private static let beginning =
        #"^(- (Parameter )?\w+: |- Returns: |- Throws: )?"#
        + #"(What|Whether|That of|Those|Which|Where|Who|Whose|Why|How|When)\b"#
    /// Clauses in the place of a noun.
    private static let clause = #"\b(what|that of|those of|of which|to which)\b"#
    private static let percentMax = 3

    /// A module, or a folder of the tests.
    private static let rooms = Set(
        TidyTests.sources.filter { $0.path.hasSuffix(".swift") && !$0.path.hasPrefix("docs/") }
            .map { $0.path.split(separator: "/").prefix(2).joined(separator: "/") }
    ).sorted()

    @Test(arguments: rooms, [(beginning, "begin with"), (clause, "have")])
    func commentsNameThings(_ room: String, _ rule: (pattern: String, verb: String)) throws {
        let pattern = try NSRegularExpression(
            pattern: rule.pattern, options: rule.pattern == Self.clause ? .caseInsensitive : [])
        var (count, found) = (0, [String]())
        for source in TidyTests.sources
        where source.path.hasPrefix(room + "/") && source.path.hasSuffix(".swift") {
            for (number, line) in source.lines.enumerated() {
                let line = line.drop { $0 == " " }
                guard line.hasPrefix("//"), !line.contains("SPDX") else { continue }
                let text = String(line.drop { "/!".contains($0) }.drop { $0 == " " })
                count += 1
                let range = NSRange(text.startIndex..., in: text)
                guard pattern.firstMatch(in: text, range: range) != nil else { continue }
                found.append("\(source.path):\(number + 1): \(text)")
            }
        }
        #expect(
            found.count * 100 <= count * Self.percentMax,
            """
            \(found.count) of \(count) lines \(rule.verb) a word that hides the noun:
            \(found.joined(separator: "\n"))
            """)
    }
}
