// SPDX-License-Identifier: MIT
import SmallWeb
import SmallWebTestSupport
import Testing

@testable import SmallWebCLI

/// Keys and lines at the prompt of `open`, and their meaning.
@Suite struct TypedInputTests {
    /// The typed lines, with the echo on the terminal; `nil` for the end of input.
    private func typed(
        _ bytes: [UInt8], openers: String? = ReaderCommand.openers
    ) -> (typed: [String?], shown: String, rest: String) {
        var input = TypedInput(openers: openers)
        var (all, shown) = ([String?](), "")
        for byte in bytes {
            switch input.take(byte) {
            case .more(let echo): shown += echo
            case .typed(let text, let echo):
                all.append(text)
                shown += echo
            case .end: all.append(nil)
            }
        }
        return (all, shown, input.line)
    }

    private func typed(_ text: String, openers: String? = ReaderCommand.openers) -> [String?] {
        typed(Array(text.utf8), openers: openers).typed
    }

    @Test func aKeyActsAtOnceAndEnterBehindItDoesNothing() {
        #expect(typed("u") == ["u"])
        #expect(typed("u\n") == ["u"] && typed("u\r\n\n \n") == ["u"])
        #expect(typed("umr?hbisq") == ["u", "m", "r", "?", "h", "b", "i", "s", "q"])
        #expect(typed("z") == ["z"] && typed("\u{E4}") == ["\u{E4}"], "unknown, but said at once")
    }

    @Test func linesEndWithEnter() {
        #expect(typed("1") == [] && typed("12\n") == ["12"])
        #expect(typed("g /next\nx 3\n/two words\n") == ["g /next", "x 3", "/two words"])
        #expect(typed("g \u{65E5}\u{672C}\n") == ["g \u{65E5}\u{672C}"])
        #expect(typed("u12\nq") == ["u", "12", "q"], "typed ahead")
        #expect(typed("a b\n", openers: nil) == ["a b"] && typed("\n", openers: nil) == [""])
        #expect(typed("  name \n", openers: nil) == ["name "])
        #expect(typed("12\nn", openers: ReaderCommand.digits) == ["12", "n"])
    }

    @Test func aLineCanBeEdited() {
        #expect(typed("19\u{7F}2\n") == ["12"] && typed("19\u{8}2\n") == ["12"])
        #expect(typed("g x\u{15}u") == ["u"], "an empty line is none")
        #expect(typed("g a b \u{17}c\n") == ["g a c"])
        #expect(typed("1\u{7F}\u{7F}\u{7F}q") == ["q"])
        let wide = typed(Array("g \u{65E5}\u{7F}".utf8))
        #expect(wide.shown == "g \u{65E5}\u{8} \u{8}\u{8} \u{8}" && wide.rest == "g ")
        #expect(typed(Array("/e\u{301}\u{7F}\n".utf8)).typed == ["/"], "with its accent")
    }

    @Test func theTerminalShowsWhatWasTyped() {
        #expect(typed(Array("u".utf8)).shown == "u\n")
        #expect(typed(Array("\n\n12\n".utf8)).shown == "12\n")
        let hostile = typed(Array("/a\u{9B}31m\u{202E}\u{1}\u{1B}[Ab\tc\n".utf8))
        #expect(hostile.shown == "/a31mb c\n" && hostile.typed == ["/a31mb c"])
    }

    @Test func arrowsAndLoneEscapesAreNoKeys() {
        #expect(typed("\u{1B}[A\u{1B}[1;5C\u{1B}OPu") == ["u"])
        #expect(typed("\u{1B}u") == ["u"] && typed("\u{1B}\u{1B}[Bq") == ["q"])
        #expect(typed("1\u{1B}[D2\n") == ["12"])
        #expect(typed("\u{1B}[\nq") == ["q"], "cut off")
    }

    @Test func controlDEndsAnEmptyLineAlone() {
        #expect(typed("\u{4}") == [nil] && typed("\0") == [nil])
        #expect(typed("12\u{4}\n") == ["12"])
        #expect(typed("\u{4}", openers: nil) == [nil])
    }

    @Test func whatIsNotUTF8IsLeftOut() {
        let bytes: [UInt8] = [0x2F, 0xC3, 0x61, 0xFF, 0x80, 0xC3, 0xC3, 0xA4, 0xF0, 0x9F, 0x0A]
        #expect(typed(bytes).typed == ["/a\u{E4}"])
    }

    /// No input drives the terminal, and each line is understood or refused.
    @Test func anyBytesAreHarmless() {
        var generator = SeededGenerator(seed: 27)
        let likely = Array("gx/?q1 \n\u{7F}\u{15}\u{17}\u{1B}[O\u{4}\u{202E}\u{65E5}e\u{301}".utf8)
        for _ in 0..<2_000 {
            let bytes = (0..<40).map { _ in
                Bool.random(using: &generator)
                    ? UInt8.random(in: 0...255, using: &generator)
                    : likely.randomElement(using: &generator) ?? 0
            }
            for openers in [ReaderCommand.openers, "", nil] {
                let result = typed(bytes, openers: openers)
                let isSafe = result.shown.unicodeScalars.allSatisfy {
                    !TerminalText.isDangerous($0) || "\n\u{7}\u{8}".unicodeScalars.contains($0)
                }
                #expect(isSafe, "\(bytes)")
                for case let text? in result.typed {
                    #expect(TerminalText.escapeLine(text) == text, "\(bytes)")
                    #expect(openers == nil || !text.isEmpty, "\(bytes)")
                    if case .go(let words) = ReaderCommand(parsing: text) {
                        #expect(!words.isEmpty && words.first != " ")
                    }
                }
            }
        }
    }

    @Test func aLineHasABound() {
        let long = [UInt8](repeating: 97, count: TypedInput.lineBytesMax + 10)
        let result = typed(Array("/".utf8) + long + [0x0A] + Array("u".utf8))
        #expect(result.typed == ["", "u"], "its beginning alone is not what was meant")
        #expect(result.shown.contains("\u{7}"))
    }

    @Test(
        arguments: [
            ("?", .keys), ("u", .address), ("s", .save), ("m", .bookmark), ("r", .reload),
            ("h", .history), ("b", .back), ("i", .identity), ("q", .quit), (" u ", .address),
            ("7", .follow(7)), ("0", .follow(0)), (" 12 ", .follow(12)),
            ("99999999999999999999", .follow(.max)),
            ("g /next", .go("/next")), ("g/next", .go("/next")), ("g  a b", .go("a b")),
            ("g gopher://example.org/", .go("gopher://example.org/")),
            ("gemini://example.org/", .go("gemini://example.org/")),
            ("x 3", .handOver(3)), ("x3", .handOver(3)), ("x 0", .handOver(0)),
            ("/two words ", .search("two words")), ("/ a", .search("a")), ("//", .search("/")),
            ("", .nothing), ("  ", .nothing),
            ("g", .invalid("g wants a URL")), ("/", .invalid("/ wants words to search for")),
            ("x", .invalid("x wants the number of a link")),
            ("x -1", .invalid("x wants the number of a link")),
            ("x --help", .invalid("x wants the number of a link")),
            ("z", .invalid("unknown key \"z\"")), ("uu", .invalid("unknown key \"uu\"")),
            ("1a", .invalid("unknown key \"1a\"")),
        ] as [(String, ReaderCommand)])
    func means(_ text: String, _ command: ReaderCommand) {
        #expect(ReaderCommand(parsing: text) == command)
    }

    @Test func everyKeyOfTheTableIsKnown() {
        for row in ReaderCommand.table {
            let example = String(row.key) + ["": "", " N": " 1"][row.rest, default: " x"]
            if case .invalid(let problem) = ReaderCommand(parsing: example) {
                Issue.record("\(example): \(problem)")
            }
            #expect(ReaderCommand.openers.contains(row.key) == !row.rest.isEmpty)
        }
    }

    // MARK: URLs for other programs

    @Test func onlyURLsAreHandedOver() throws {
        for url in ["mailto:ada@example.org", "https://example.org/a?b=c&d#e", "tel:+1234"] {
            #expect(try HandOver.word(for: url) == url)
        }
        #expect(try HandOver.word(for: "gemini://example.org/\u{E4}").utf8.allSatisfy { $0 < 0x80 })
        for url in [
            "--help", "-o", "/etc/passwd", "file:///etc/passwd", "FILE:///x", "", "a b:c",
            "https://ada:hush@example.org/", "x:\u{1B}[31m", "mailto:a\nb",
        ] {
            #expect(throws: FetchError.self, "\(url)") { try HandOver.word(for: url) }
        }
    }

    @Test(arguments: [
        ("less", true), ("less -R -i", true), ("/usr/bin/less -RFX", true), ("more", false),
        ("lessness", false), ("less | cat", false), ("less; true", false), ("less $(x)", false),
        ("less -P'a'", false), ("less\ntrue", false), ("X=1 less", false), ("cat less", false),
    ])
    func lessIsKnownByItsName(_ pager: String, _ isLess: Bool) {
        #expect(Pager.isLess(pager) == isLess)
    }
}
