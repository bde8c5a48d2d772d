// SPDX-License-Identifier: MIT
internal import Foundation
internal import SmallWebTestSupport
internal import Testing

@testable internal import SmallWebFormats

@Suite struct HTMLTokenizerTests {
    private static let fixtures = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Fixtures/html-tokens.json")
    /// The folder of html5lib-tests' tokenizer cases, where there is one.
    private static let allCases = ProcessInfo.processInfo.environment["SMALLWEB_HTML5LIB_TESTS"]

    private func tokens(_ pieces: [[UInt8]], readsRawTexts: Bool = true) -> [HTMLToken] {
        var recorder = HTMLTokenRecorder()
        recorder.readsRawTexts = readsRawTexts
        var tokenizer = HTMLTokenizer(recorder)
        for piece in pieces { tokenizer.add(piece[...]) }
        tokenizer.finish()
        return tokenizer.sink.tokens
    }

    private func tokens(_ text: String) -> [HTMLToken] { tokens([Array(text.utf8)]) }

    /// A hundred cases of html5lib-tests, cut once at each byte, and into bytes.
    @Test func readsTheHardestCasesHoweverTheyAreCut() throws {
        let cases = try HTMLCase.read(Data(contentsOf: Self.fixtures))
        #expect(cases.count >= 100)
        for test in cases {
            let input = test.input
            let whole = test.tokens([input[...]])
            #expect(whole == test.expected, "\(test.description)")
            #expect(test.tokens(input.indices.map { input[$0...$0] }) == whole)
            for cut in input.indices {
                #expect(
                    test.tokens([input[..<cut], input[cut...]]) == whole,
                    "\(test.description), cut at \(cut)")
            }
        }
    }

    @Test(.enabled(if: allCases != nil, "SMALLWEB_HTML5LIB_TESTS names no folder"))
    func readsAllCases() throws {
        let folder = URL(fileURLWithPath: Self.allCases ?? "")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        var count = 0
        for name in names where name.hasSuffix(".test") {
            let data = try Data(contentsOf: folder.appendingPathComponent(name))
            for test in try HTMLCase.read(data) {
                count += 1
                let input = test.input
                #expect(test.tokens([input[...]]) == test.expected, "\(name): \(test.description)")
                #expect(
                    test.tokens(input.indices.map { input[$0...$0] }) == test.expected,
                    "\(name): \(test.description), byte by byte")
            }
        }
        #expect(count >= 6810)
    }

    @Test func readsCarriageReturnsAsLineFeeds() {
        let expected = [HTMLToken.text(Array("a\n\nb\n<".utf8))]
        #expect(tokens("a\r\r\nb\r\n<") == expected)
        #expect(tokens(Array("a\r\r\nb\r\n<".utf8).map { [$0] }) == expected)
        #expect(tokens("<a b='\r\n'>") == [.start([97], [[98]: [10]], isSelfClosing: false)])
        #expect(tokens("&#13;\n") == [.text([13, 10])])
    }

    @Test func countsLines() {
        var tokenizer = HTMLTokenizer(HTMLTokenRecorder())
        let page = Array("a\n<b\n c='\n'>d\r\n&amp;\n</b><!--\n-->\r<i>".utf8)
        for byte in page { tokenizer.add([byte]) }
        #expect(tokenizer.sink.lines == [1, 2, 4, 6, 0, 7, 8])
    }

    @Test(arguments: [
        ("&#x110000;", "\u{FFFD}"), ("&#xD800;", "\u{FFFD}"), ("&#0;", "\u{FFFD}"),
        ("&#" + String(repeating: "0", count: 1000) + "65;", "A"),
        ("&#" + String(repeating: "9", count: 1000) + ";", "\u{FFFD}"),
        ("&" + String(repeating: "a", count: 1000), "&" + String(repeating: "a", count: 1000)),
        ("&NotEqualTilde;", "\u{2242}\u{338}"), ("&NewLine;", "\n"), ("&Tab;", "\t"),
        ("&CounterClockwiseContourIntegral;", "\u{2233}"), ("&#x9F;", "\u{178}"),
        ("&ampx;&am", "&x;&am"), ("&#x;&#;&#y", "&#x;&#;&#y"), ("&#X41", "A"), ("&", "&"),
    ])
    func replacesAReference(_ text: String, _ expected: String) {
        #expect(tokens(text) == [.text(Array(expected.utf8))])
    }

    @Test func boundsATag() {
        let many = (0..<100_000).map { "a\($0)=x" }.joined(separator: " ")
        guard case .start(_, let kept, _)? = tokens("<p \(many)>").first else {
            Issue.record("not a tag")
            return
        }
        #expect(kept.count == HTMLTag.attributesMax && kept[Array("a63".utf8)] != nil)
        let same = String(repeating: "a=x ", count: 100_000)
        #expect(tokens("<p \(same)>") == [.start([112], [[97]: [120]], isSelfClosing: false)])
        // An attribute that is too long would lead elsewhere: it is left out, others are not.
        let long = String(repeating: "x", count: 1 << 20)
        #expect(
            tokens("<p a='\(long)' b=c>") == [.start([112], [[98]: [99]], isSelfClosing: false)])
        #expect(
            tokens("<p a='b' \(long)=1 \(long)=2 c=d>")
                == [.start([112], [[97]: [98], [99]: [100]], isSelfClosing: false)])
        guard case .start(let name, let none, _)? = tokens("<\(long) a=b>c").first else {
            Issue.record("not a tag")
            return
        }
        #expect(name.count <= HTMLTag.bytesMax && none.count <= 1)
    }

    @Test(arguments: ["<", "</", "<p", "<p a", "<p a=", "<p a='b", "<!--", "<script>", "<![CDATA["])
    func endsWhateverIsOpen(_ text: String) {
        let page = text + String(repeating: "a<b ", count: 1000)
        #expect(tokens(page).count <= 3000)
        _ = tokens(text)
    }

    /// Eight bytes at once end where one after the other do.
    @Test func textsEndWhereTheirBytesDo() {
        let alphabet =
            Array("  \n\t\u{C}\r\0\u{1}\u{1F}!az\u{7F}é\u{A0}<&;=%'".utf8) + [0x80, 0xFF]
        var state: UInt32 = 7
        var others: [[UInt8]] = []
        for count in 0..<600 {
            let text = (0..<count % 40).map { _ in
                state = state &* 1_664_525 &+ 1_013_904_223
                return alphabet[Int(state >> 16) % alphabet.count]
            }
            text.withUnsafeBufferPointer { bytes in
                for start in 0...text.count {
                    var end = start
                    while end < text.count,
                        !HTMLStops.isSpace(text[end])
                            || text[end] == 0x20 && end + 1 < text.count && text[end + 1] > 0x20
                    {
                        end += 1
                    }
                    let stop = text[start...].firstIndex { "<&".utf8.contains($0) } ?? text.count
                    if HTMLStops.endOfWords(in: bytes, from: start) != end
                        || HTMLStops.endOfText(in: bytes, from: start) != stop
                    {
                        others.append(text)
                    }
                }
            }
        }
        #expect(others.isEmpty, "\(others.first ?? [])")
    }
}
