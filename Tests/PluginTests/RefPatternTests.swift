// SPDX-License-Identifier: MIT
@testable internal import GitPlugin
internal import Glibc
internal import SmallWebTestSupport
internal import Testing

/// The patterns of git-ls-remote(1), which match as fnmatch(3) does, against the last parts of a
/// name.
@Suite struct RefPatternTests {
    static func matches(_ pattern: String, _ name: String) -> Bool {
        RefPattern(pattern).matches(Array(name.utf8))
    }

    @Test(arguments: [
        ("main", "refs/heads/main", true), ("heads/main", "refs/heads/main", true),
        ("refs/heads/main", "refs/heads/main", true), ("eads/main", "refs/heads/main", false),
        ("main", "main", true), ("main", "refs/heads/not-main", false), ("*", "HEAD", true),
        ("v*", "refs/tags/v1.0", true), ("v*", "refs/heads/a/v", true),
        ("h*n", "refs/heads/main", true),
        ("?ain", "refs/heads/main", true), ("refs?heads?main", "refs/heads/main", true),
        ("[l-n]ain", "refs/heads/main", true), ("[!l-n]ain", "refs/heads/main", false),
        ("[^x]ain", "refs/heads/main", true), ("[]m]ain", "refs/heads/main", true),
        ("[m-]ain", "refs/heads/-ain", true), ("[!]a]b", "x/ab", false), ("[!]a]b", "x/cb", true),
        ("\\main", "refs/heads/main", true), ("\\*", "a/*", true), ("\\*", "a/b", false),
        ("", "main", false), ("", "main/", true), ("*/", "main", false), ("[", "a/[", false),
        ("[a", "x/a", false), ("v[[:digit:]]", "refs/tags/v1", true),
        ("v[[:digit:]]", "refs/tags/vx", false), ("v[![:alpha:]-]", "refs/tags/v1", true),
        ("[\\]]", "a/]", true), ("[a\\-c]", "x/b", false), ("[a\\-c]", "x/-", true),
    ])
    func matchesAsGitDoes(_ pattern: String, _ name: String, _ isMatch: Bool) {
        #expect(Self.matches(pattern, name) == isMatch)
    }

    /// Random patterns over the characters that mean something. An unclosed bracket is left out:
    /// there the C library and Git differ.
    @Test func matchesAsTheCLibraryDoes() {
        var random = SeededGenerator(seed: 23)
        let parts = [
            "a", "b", "c", "-", "/", "/", "*", "*", "**", "?", "[ab]", "[!a]", "[^b-c]", "[]a]",
            "[!]b]", "[a-c]", "[c-a]", "[a-]", "[-a]", "[*]", "[?/]", "[[]", "\\a", "\\*", "\\[",
            "[[:alpha:]]", "[![:alpha:]/]", "[[:digit:]-]", "[\\]a]", "[\\a-b]", ".", "é",
        ]
        let letters = ["a", "b", "c", "-", "/", "/", "]", "*", "[", "1", ".", "é"]
        var matches = 0
        for _ in 0..<40_000 {
            let pattern = (0..<Int.random(in: 0...6, using: &random))
                .map { _ in parts.randomElement(using: &random) ?? "" }.joined()
            let name = (0..<Int.random(in: 1...9, using: &random))
                .map { _ in letters.randomElement(using: &random) ?? "" }.joined()
            let isMatch = fnmatch("*/" + pattern, "/" + name, 0) == 0
            if isMatch { matches += 1 }
            #expect(Self.matches(pattern, name) == isMatch, "\(pattern) and \(name)")
        }
        #expect(matches > 2_000)
    }

    /// A minute at the least, if it took exponential time.
    @Test(arguments: ["*a", "a*", "*?", "*[a-b]", "*a*", "**a"])
    func neverTakesExponentialTime(_ part: String) {
        let pattern = RefPattern(String(repeating: part, count: 40) + "c")
        let name = Array(String(repeating: "a", count: 500).utf8)
        #expect(!pattern.matches(name))
        #expect(pattern.matches(name + Array("c".utf8)))
    }
}
