// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebFormats
internal import SmallWebTestSupport
internal import Testing

/// Input of a hostile or careless server.
@Suite struct RobotsLimitTests {
    /// The last line of a file that is known to be cut forbids all that begins with what is there.
    @Test(arguments: [
        ("/a b/%C3%A4/c", "/a%20b/%C3%A4/c/d"), ("/a$", "/a"), ("/b*d$", "/b/c/d"),
        ("/%e4%2fx", "/%E4%2Fxy"), ("/\u{E4}", "/%C3%A4b"), ("/a$b", "/a$b"), ("/100%", "/100%25"),
    ])
    func everyTruncationForbidsAsMuch(_ rule: String, _ path: String) {
        let before = Array("\u{FEFF}User-agent: *\r\nAllow: /z\r\nDisallow: /first\r".utf8)
        for crawling in [original, standard, typed] {
            for end in ["", "\r", "\n"] {
                let file = before + Array("\nDisallow:\t\(rule)\(end)".utf8)
                for count in before.count...file.count {
                    let cut = Robots(
                        file[..<count], crawling, product: "x", roles: roles, isCut: true)
                    let hasBegun = count > before.count + 11
                    #expect(cut.allows(path) != hasBegun, "\(count) bytes: \(cut.lines)")
                    #expect(!cut.allows("/first"))
                }
            }
        }
    }

    /// Nor does such a line let anybody in.
    @Test(arguments: ["Allow: /a", "User-agent: smallweb", "Disallow:", "Allow: /ab$"])
    func noTruncationLetsIn(_ line: String) {
        let agent = line == "Disallow:" ? "smallweb\n" : "*\nDisallow: /\n"
        let before = Array("User-agent: *\nDisallow: /\nUser-agent: \(agent)".utf8)
        for crawling in line == "Disallow:" ? [original] : [original, standard] {
            for count in 0...line.utf8.count {
                let file = before + line.utf8.prefix(count)
                let cut = Robots(
                    file[...], crawling, product: "smallweb", roles: roles, isCut: true)
                #expect(!cut.allows("/a"), "\(count) bytes: \(cut.lines)")
            }
        }
    }

    /// Random files: bounded, printable, and the same when made again from their lines.
    @Test func linesMakeTheSameRules() {
        var generator = SeededGenerator(seed: 1994)
        let words = [
            "User-agent: *", "User-agent: smallweb", "user-agent:indexer,x", "Disallow: ", "Allow:",
            "Disallow:/\n", "Disallow: /a", "Crawl-delay: 1.", "\n", "\r", "\r\n", "%2", "%e4",
            "\u{E4}", "*", "$",
        ].map { Array($0.utf8) }
        var (seen, forbidden) = (0, 0)
        for round in 0..<3000 {
            var file: [UInt8] = []
            for _ in 0..<Int.random(in: 0...40, using: &generator) {
                file += words.randomElement(using: &generator) ?? []
                file += generator.bytes(upTo: 6, alphabet: "/a*$%2?\n:#")
            }
            let crawling = [original, standard, typed][round % 3]
            let rules = Robots(file[...], crawling, product: "smallweb", roles: roles)
            let again = Robots(lines: rules.lines, crawling)
            #expect(again.lines == rules.lines)
            #expect(rules.lines.allSatisfy { $0.utf8.allSatisfy { 0x20..<0x7F ~= $0 } })
            for _ in 0..<8 {
                let path = PercentEncoding.encode(
                    generator.bytes(upTo: 6, alphabet: "/a*$%2?\n:#"), also: "/*$?:")
                let (rule, steps) = rules.decision(on: "/" + path)
                let (same, _) = again.decision(on: "/" + path)
                #expect(rule?.text == same?.text && rule?.isAllow == same?.isAllow)
                #expect(steps < Robots.stepsMax)
                seen += 1
                forbidden += rule.map { $0.isAllow ? 0 : 1 } ?? 0
            }
        }
        // Otherwise, the files have no rules.
        #expect(forbidden > seen / 20 && forbidden < seen)
    }

    /// The reference is the definition: every way to spread the bytes over the `*`.
    @Test func matchesAsTheDefinitionDoes() {
        var generator = SeededGenerator(seed: 9309)
        func isMatch(_ pattern: ArraySlice<UInt8>, _ text: ArraySlice<UInt8>) -> Bool {
            guard let first = pattern.first else { return true }
            if pattern.count == 1, first == 0x24 { return text.isEmpty }
            if first == 0x2A {
                return isMatch(pattern.dropFirst(), text)
                    || !text.isEmpty && isMatch(pattern, text.dropFirst())
            }
            return text.first == first && isMatch(pattern.dropFirst(), text.dropFirst())
        }
        var matches = 0
        for _ in 0..<20_000 {
            let letters = { (alphabet: String, most: Int) -> [UInt8] in
                (0..<Int.random(in: 0...most, using: &generator)).map { _ in
                    alphabet.utf8.randomElement(using: &generator) ?? 0
                }
            }
            let pattern =
                [0x2F] + letters("aab**", 7) + (Bool.random(using: &generator) ? [0x24] : [])
            let text = [0x2F] + letters("aab", 9)
            let expected = isMatch(pattern[...], text[...])
            let rules = robots(
                "User-agent: *\nDisallow: \(String(decoding: pattern, as: UTF8.self))")
            #expect(rules.allows(String(decoding: text, as: UTF8.self)) == !expected)
            matches += expected ? 1 : 0
        }
        #expect(2000..<18_000 ~= matches)
    }

    /// Patterns that take exponential time by backtracking, and quadratic time without.
    @Test func hostilePatternsTakeFewSteps() {
        let stars = String(repeating: "*a", count: 1000)
        let text = "/ab" + String(repeating: "a", count: 2000)
        for crawling in [original, standard, typed] {
            let forms = crawling.hasItemType ? 8 : 2
            let (rule, steps) = robots("User-agent: *\nDisallow: /\(stars)b", crawling).decision(
                on: text)
            #expect(rule == nil)
            #expect(steps <= forms * 40_000, "\(steps) steps")
            let long = String(repeating: "a", count: 1000)
            let quadratic = robots("User-agent: *\nDisallow: /*\(long)b", crawling).decision(
                on: text)
            #expect(quadratic.rule == nil)
            #expect(1...forms * 4000 ~= quadratic.steps, "\(quadratic.steps) steps")
        }
    }

    /// Most patterns are told from a path without a look at them.
    @Test func manyWildcardsTakeNoSteps() {
        let filler = String(repeating: "a", count: 30)
        let lines = (0..<9500).map { "Disallow: /*\(filler)b\($0)\n" }.joined()
        for crawling in [original, standard, typed] {
            let rules = robots("User-agent: *\n" + lines, crawling)
            let text = "/1" + String(repeating: "a", count: 200)
            #expect(rules.decision(on: text).rule == nil && rules.decision(on: text).steps == 0)
            #expect(rules.decision(on: text + "b9499").rule != nil)
        }
    }

    /// A path that takes too many steps is forbidden, and few are made after that.
    @Test func stopsAtTheLimitOfSteps() {
        let file = "User-agent: *\nAllow: /\n" + String(repeating: "Disallow: /b*ba\n", count: 9000)
        let text = "/ba" + String(repeating: "a", count: 2000) + "b"
        let (decisive, steps) = robots(file).decision(on: text)
        #expect(decisive?.isAllow == false && decisive?.number == 3)
        #expect(Robots.stepsMax...Robots.stepsMax + 2100 ~= steps)
        // Of a file that forbids nothing, all is allowed.
        #expect(robots(file.replacing(text: "Disallow", with: "Allow")).allows(text))
    }

    /// All rules of a file within the limit hold, also when it is made again from its lines: by one
    /// agent, or by several of ours together.
    @Test(arguments: [["*"], ["archiver", "*"], ["archiver", "indexer", "researcher", "*"]])
    func anyNumberOfRulesHolds(_ agents: [String]) {
        var file = ""
        for agent in agents {
            file += "User-agent: \(agent)\n"
            file += (0..<20_000 / agents.count).map { "Disallow: /\(agent)\($0)\n" }.joined()
            file += "Disallow: /last-of-\(agent)\n"
        }
        #expect(file.utf8.count < Robots.fileBytesMax)
        for crawling in [original, standard, typed] {
            let rules = robots(file, crawling, product: agents[0])
            let own = crawling.dialect == .standard ? [agents[0]] : agents
            for again in [rules, Robots(lines: rules.lines, crawling)] {
                #expect(again.rules.count == own.count * (20_000 / agents.count + 1))
                for agent in own { #expect(!again.allows("/last-of-\(agent)")) }
                #expect(again.allows("/lasting"))
            }
        }
    }

    @Test func boundsFilesAndShowsPatternsInPart() {
        let filler = "User-agent: *\n#" + String(repeating: "x", count: Robots.fileBytesMax)
        #expect(robots(filler + "\nDisallow: /").lines.isEmpty)
        let room = Robots.fileBytesMax - 28
        let cut = "User-agent: *\n#" + String(repeating: "x", count: room) + "\nDisallow: /a\n"
        #expect(robots(cut).lines == ["Disallow: /a*"], "the last line lacks its end")

        let long = String(repeating: "\u{E4}", count: 2000)
        let encoded = String(repeating: "%C3%A4", count: 2000)
        for crawling in [original, standard, typed] {
            let rules = robots("User-agent: *\nDisallow: /a\(long)$", crawling)
            #expect(!rules.allows("/a" + encoded) && rules.allows("/a" + encoded + "x"))
            #expect(rules.rules[0].description.count < 220, "\(rules.rules[0])")
            #expect(Robots(lines: rules.lines, crawling).lines == rules.lines)
        }
        let open = robots("User-agent: *\nDisallow: /\nAllow: /\(long)")
        #expect(open.allows("/" + encoded) && !open.allows("/" + encoded.dropLast()))
        #expect(
            robots("User-agent: *\nDisallow: /" + String(repeating: "$", count: 4000)).allows("/$"))
    }
}
