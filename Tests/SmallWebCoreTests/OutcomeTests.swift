// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import Testing

/// The words and numbers that programs depend on.
@Suite struct OutcomeTests {
    static let table: [(String, Int32)] = [
        ("ok", 0), ("unsupported-scheme", 1), ("usage", 2), ("bad-url", 3), ("not-built-in", 4),
        ("proxy-resolve", 5), ("resolve", 6), ("connect", 7), ("protocol-error", 8),
        ("truncated", 18),
        ("permanent-failure", 22), ("write", 23), ("read", 26), ("timeout", 28), ("tls", 35),
        ("too-many-redirects", 47), ("empty-reply", 52), ("send", 55), ("receive", 56),
        ("identity-unusable", 58), ("untrusted", 60), ("too-large", 63), ("temporary-failure", 75),
        ("trust-changed", 90), ("proxy", 97), ("needs-identity", 98), ("needs-input", 101),
        ("redirect-refused", 102), ("not-recorded", 103), ("robots", 104),
        ("refused-address", 105), ("plugin", 110), ("internal", 125), ("interrupted", 130),
    ]

    @Test(arguments: table)
    func hasItsNumber(_ word: String, status: Int32) throws {
        #expect(try #require(Outcome(rawValue: word)).exitStatus == status)
    }

    @Test func hasNoOutcomeBesides() {
        #expect(Outcome.allCases.map(\.rawValue) == Self.table.map(\.0))
        #expect(Set(Outcome.allCases.map(\.exitStatus)).count == Outcome.allCases.count)
    }

    @Test(arguments: Outcome.allCases)
    func hasASummaryOfOneLine(_ outcome: Outcome) {
        #expect(outcome.summary.first?.isUppercase == true)
        #expect(!outcome.summary.hasSuffix(".") && !outcome.summary.contains("\n"))
    }

    @Test func hasNumbersThatAShellCanTell() {
        for outcome in Outcome.allCases where outcome != .interrupted {
            #expect(0...125 ~= outcome.exitStatus && outcome.exitStatus != 124)
        }
    }
}
