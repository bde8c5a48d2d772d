// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWebFormats
internal import Testing

/// Pages that take a parser without limits minutes, or all memory.
@Suite struct MarkdownLimitTests {
    private func html(_ page: String) -> String { MarkdownTests.html(page) }

    private func count(_ part: String, in text: String) -> Int {
        text.split(separator: part, omittingEmptySubsequences: false).count - 1
    }

    @Test(arguments: MarkdownTests.all)
    func doesNotDependOnThePieces(_ page: String, _ html: String) {
        let bytes = Array(page.utf8)
        #expect(MarkdownTests.html(bytes.map { [$0] }) == html)
        for cut in 1..<bytes.count {
            #expect(MarkdownTests.html([bytes[..<cut], bytes[cut...]]) == html)
        }
    }

    /// Every truncated page has its blocks at the lines where they are.
    @Test(arguments: MarkdownTests.all)
    func readsATruncatedPage(_ page: String, _: String) {
        let bytes = Array(page.utf8)
        for end in bytes.indices {
            let html = MarkdownTests.html([bytes[..<end]])
            let lines = bytes[..<end].count { $0 == 10 || $0 == 13 }
            #expect(count("\n", in: html) <= lines + 1)
            #expect(count("<p>", in: html) == count("</p>", in: html))
        }
    }

    @Test func knowsDefinitionsBehindTheirUseInAPageThatIsHeld() {
        let page = Array("[a] [b]\n\n[b]: /b\n\n[b]\n\n[a]: /a\n".utf8)
        let read = { (max: Int) in MarkdownTests.html(page.map { [$0] }, heldBytesMax: max) }
        let (a, b) = ("<a href=\"/a\">a</a>", "<a href=\"/b\">b</a>")
        #expect(read(100) == "<p>\(a) \(b)</p>\n\n\n\n<p>\(b)</p>")
        // Only the first definition is held.
        #expect(read(20) == "<p>[a] \(b)</p>\n\n\n\n<p>\(b)</p>")
        #expect(read(1) == "<p>[a] [b]</p>\n\n\n\n<p>\(b)</p>")
    }

    // MARK: Time

    /// Each of these is nested, repeated or unclosed, and shown as far as it is text.
    @Test(arguments: [
        ">", "> ", "- ", "* ", "1. ", "- > 1. ", "[", "![", "[a](b", "[a](<b", "[a](b \"",
        "[a](b '[a](b (", "[a][b", "![](", "*", "_", "**a _b ", "`a``", "<", "<a ", "<a x=\"",
        "<a x='<a y=\" ", "</", "<!--", "a<?", "a<!A", "a<![CDATA[", "a <script> ", "<script>\n",
        "<a:",
        "<a@", "<a.", "&", "&a", "\\", "\0", "\r", "~", "`", "#", " ", "\t", "!", "[a]: b\n",
        "[a]:\n",
        "[a]: b \"\n", "[a]: [a]\n\n[a]\n", "```\n", "> ```\n", "- a\n\n", "|-\n", "a|b\n", "|",
        "|-|\n",
        "<div>\n", "a  \n", "\n", "- - - - - a\n", "    a\n\n", "[a](((",
    ])
    func takesLinearTimeFor(_ part: String) {
        func page(_ count: Int) -> String {
            String(repeating: part, count: count / part.utf8.count)
        }
        let (short, long) = (processorTime(page(2_000)), processorTime(page(16_000)))
        // 64 times as much is quadratic.
        #expect(long < max(short, .milliseconds(1)) * 24, "\(short), \(long)")
    }

    /// The smaller of two, because others may use the processor's caches.
    private func processorTime(_ page: String) -> Duration {
        let times = (0..<2).map { _ in
            let start = Self.threadTime
            #expect(!html(page + "\n\n# End").isEmpty)
            return Self.threadTime - start
        }
        return times.min() ?? .zero
    }

    private static var threadTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    @Test func findsNoCodeInBackticksOfRisingNumbers() {
        let page = (1...300).map { "a" + String(repeating: "`", count: $0) }.joined()
        #expect(html(page) == "<p>\(page)</p>")
    }

    @Test func readsLinksWithinManyBrackets() {
        let brackets = String(repeating: "![", count: 8_000)
        #expect(
            count("<a href=\"b\">", in: html(brackets + String(repeating: "[a](b)", count: 4_000)))
                == 4_000)
        let nested =
            String(repeating: "[", count: 8_000) + "a" + String(repeating: "]", count: 8_000)
        #expect(html(nested) == "<p>\(nested)</p>")
    }

    @Test func dropsTheEmphasisOfAHeadingOfAnyLength() {
        let text =
            String(repeating: "*a* __b__ ", count: 2_000)
            + String(repeating: "*a **b ", count: 2_000)
        let read = html("# \(text)c")
        #expect(count("a b ", in: read) == 2_000)
        #expect(count("*a **b", in: read) == 2_000)
    }

    // MARK: Memory

    @Test func nestsAsDeepAsTheLimit() {
        let page = html(String(repeating: ">", count: 10_000) + "a")
        #expect(count("<blockquote>", in: page) == 128)
        #expect(page.hasSuffix(">a</p>" + String(repeating: "</blockquote>", count: 128)))
        // A list and its item are two.
        #expect(count("<li>", in: html(String(repeating: "- ", count: 10_000) + "a")) == 64)
    }

    @Test func readsALinkWithALongText() {
        let text = String(repeating: "a", count: 1_100_000)
        #expect(html("[\(text)](b)") == "<p><a href=\"b\">\(text)</a></p>")
    }

    @Test func splitsALongParagraph() {
        let line = String(repeating: "a", count: 99_999) + "\n"
        let page = html(String(repeating: line, count: 22))
        #expect(count("<p>", in: page) == 2)
        #expect(page.utf8.count == 2_200_000 + 2 * 7 - 1)
    }

    @Test func doesNotWriteALongTargetForEachOfItsLinks() {
        let target = String(repeating: "b", count: 50_000)
        let page = html("[a]: \(target)\n\n" + String(repeating: "[a]", count: 5_000))
        #expect(count("<a href", in: page) == 2)
        #expect(page.utf8.count < 200_000)
    }

    @Test func takesTheFirstOfManyDefinitions() {
        let page = String(repeating: "[a]: c\n", count: 5_000)
        #expect(html("[a]: b\n\(page)\n[a]").hasSuffix("<p><a href=\"b\">a</a></p>"))
    }

    @Test func showsWhatFollowsHTMLThatIsNotClosed() {
        #expect(
            html("> <script>\n> a\n\n# b").hasSuffix("</script></pre></blockquote>\n\n<h1>b</h1>"))
        #expect(html("a <script> b\n\n# c") == "<p>a &lt;script> b</p>\n\n<h1>c</h1>")
        #expect(html("> <!-- a\n\n# b") == "<blockquote><!-- a--></blockquote>\n\n<h1>b</h1>")
    }
}
