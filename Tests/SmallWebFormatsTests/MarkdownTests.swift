// SPDX-License-Identifier: MIT
internal import SmallWebFormats
internal import Testing

/// The expectations are the HTML of cmark but for titles, `<p>` in items, emphasis, and line feeds
/// between blocks, which HTML readers do not see.
@Suite struct MarkdownTests {
    /// The HTML of a page that arrives in these pieces.
    static func html(
        _ pieces: [ArraySlice<UInt8>], heldBytesMax: Int = MarkdownHTML.heldBytesMax
    ) -> String {
        var markdown = MarkdownHTML(heldBytesMax: heldBytesMax)
        var html = pieces.flatMap { markdown.add($0) }
        while let next = markdown.next() { html += next }
        return String(decoding: html, as: UTF8.self)
    }

    static func html(_ page: String) -> String { html([Array(page.utf8)[...]]) }

    static let all =
        headings + lists + quotes + code + references + links + addresses + codeSpans + escapes
        + html + tables

    @Test(arguments: headings)
    func readsHeadings(_ page: String, _ html: String) {
        #expect(Self.html(page) == html)
    }

    @Test(arguments: lists)
    func readsLists(_ page: String, _ html: String) {
        #expect(Self.html(page) == html)
    }

    @Test(arguments: quotes)
    func readsQuotes(_ page: String, _ html: String) {
        #expect(Self.html(page) == html)
    }

    @Test(arguments: code)
    func readsCode(_ page: String, _ html: String) {
        #expect(Self.html(page) == html)
    }

    @Test(arguments: references)
    func readsReferences(_ page: String, _ html: String) {
        #expect(Self.html(page) == html)
    }

    @Test(arguments: links)
    func readsLinks(_ page: String, _ html: String) {
        #expect(Self.html(page) == html)
    }

    @Test(arguments: addresses)
    func readsAddresses(_ page: String, _ html: String) {
        #expect(Self.html(page) == html)
    }

    @Test(arguments: codeSpans)
    func readsCodeSpans(_ page: String, _ html: String) {
        #expect(Self.html(page) == html)
    }

    @Test(arguments: escapes)
    func readsEscapes(_ page: String, _ html: String) {
        #expect(Self.html(page) == html)
    }

    @Test(arguments: html)
    func leavesHTML(_ page: String, _ html: String) {
        #expect(Self.html(page) == html)
    }

    @Test(arguments: tables)
    func readsTables(_ page: String, _ html: String) {
        #expect(Self.html(page) == html)
    }

    static let headings: [(String, String)] = [
        (
            "# One #\n## Two \\##\n####### Seven\n#none\n#\tTab ## #",
            "<h1>One</h1>\n<h2>Two ##</h2>\n<p>####### Seven\n#none</p>\n<h1>Tab ##</h1>"
        ),
        ("a\nb\n===\nc\n--\n***", "<h1>a\nb</h1>\n\n<h2>c</h2>\n\n<hr>"),
        ("[r]: /u\n===", "<p>\n===</p>"),
        (
            "[a\nb]: /u\n==\n|-|\n[a b]",
            "\n\n<table><tr><th>==</th></tr>\n\n<tr><td><a href=\"/u\">a b</a></td></tr></table>"
        ),
        ("> a\n---\n", "<blockquote><p>a</p></blockquote>\n<hr>"),
        ("# *a* **b_c_** __d__ e_f_g *", "<h1>a b_c_ d e_f_g *</h1>"),
        ("   ### a   ###   \n    # code", "<h3>a</h3>\n<pre><code># code</code></pre>"),
    ]
    static let lists: [(String, String)] = [
        (
            "- a\n   - b\n- c\n* d",
            "<ul><li><p>a</p>\n<ul><li><p>b</p></li></ul></li>\n<li><p>c</p></li></ul>\n<ul>"
                + "<li><p>d</p></li></ul>"
        ),
        (
            "3) a\n4) b\n1. c",
            "<ol start=\"3\"><li><p>a</p></li>\n<li><p>b</p></li></ol>\n<ol><li><p>c</p></li>"
                + "</ol>"
        ),
        ("a\n2. b\n1. c", "<p>a\n2. b</p>\n<ol><li><p>c</p></li></ol>"),
        ("-\n  a\n-\n\n  b", "<ul><li>\n<p>a</p></li>\n<li></li></ul>\n\n<p>b</p>"),
        (
            "1. a\n\n       code\n   b\n\nc",
            "<ol><li><p>a</p>\n\n<pre><code>code</code></pre>\n<p>b</p></li></ol>\n\n<p>c</p>"
        ),
        (
            "- a\n  > b\n  ```\n  c\n  ```\n  # d",
            "<ul><li><p>a</p>\n<blockquote><p>b</p></blockquote>\n\n<pre><code>c</code></pre>\n"
                + "\n<h1>d</h1></li></ul>"
        ),
        ("- - 1. a", "<ul><li><ul><li><ol><li><p>a</p></li></ol></li></ul></li></ul>"),
        ("10) a\n\n   b\n    c", "<ol start=\"10\"><li><p>a</p></li></ol>\n\n<p>b\nc</p>"),
        ("* * *\n- * *", "<hr>\n<ul><li><ul><li><ul><li></li></ul></li></ul></li></ul>"),
        ("1234567890. a\n-1. b\n0. c", "<p>1234567890. a\n-1. b\n0. c</p>"),
    ]
    static let quotes: [(String, String)] = [
        (
            "> a\nb\n> c\n\n> d",
            "<blockquote><p>a\nb\nc</p></blockquote>\n\n<blockquote><p>d</p></blockquote>"
        ),
        (
            "> - a\nb\n> - c\n>\n> e",
            "<blockquote><ul><li><p>a\nb</p></li>\n<li><p>c</p></li></ul>\n\n<p>e</p>"
                + "</blockquote>"
        ),
        ("> ```\n> a\nb", "<blockquote>\n<pre><code>a</code></pre></blockquote>\n<p>b</p>"),
        (">     a\n> \n>\tb", "<blockquote><pre><code>a</code></pre>\n\n<p>b</p></blockquote>"),
        (
            ">>> a\n> b\n>>c",
            "<blockquote><blockquote><blockquote><p>a\nb\nc</p></blockquote></blockquote>"
                + "</blockquote>"
        ),
    ]
    static let code: [(String, String)] = [
        ("    a\n\n      b\n \n\nc", "<pre><code>a\n\n  b</code></pre>\n\n\n<p>c</p>"),
        ("``` x\n<b>\n\n``\n````\nc", "\n<pre><code>&lt;b>\n\n``</code></pre>\n\n<p>c</p>"),
        ("~~~ a`b\nc\n ~~~~  ", "\n<pre><code>c</code></pre>"),
        ("  ```\n  a\n b\n   c\n  ```", "\n<pre><code>a\nb\n c</code></pre>"),
        ("\ta\tb\n  \tc", "<pre><code>a\tb\nc</code></pre>"),
        ("a\n    b\n```\nc", "<p>a\nb</p>\n\n<pre><code>c</code></pre>"),
        ("``` a`b\n", "<p>``` a`b</p>"),
    ]
    static let references: [(String, String)] = [
        (
            "[a][B  b] [b\nB] [c][] [a\\]]\n\n[b B]: <u v> 'x\ny'\n[a\\]]: z",
            "<p><a href=\"u%20v\">a</a> <a href=\"u%20v\">b\nB</a> [c][] <a href=\"z\">a]</a></p>"
        ),
        (
            "[a]: /1\n[a]: /2\n[b]: /3 \"t\" x\n\n[A] [b]",
            "\n\n<p>[b]: /3 &quot;t&quot; x</p>\n\n<p><a href=\"/1\">A</a> [b]</p>"
        ),
        ("[\u{1E9E}]\n\n[SS]: /u", "<p><a href=\"/u\">\u{1E9E}</a></p>"),
        (
            "> [q]: /q\n\n- [l]: /l\n\n[q][l] [q] [l]",
            "<blockquote></blockquote>\n\n<ul><li></li></ul>\n\n<p><a href=\"/l\">q</a> <a "
                + "href=\"/q\">q</a> <a href=\"/l\">l</a></p>"
        ),
        ("a\n[b]: /u\n\n[b]", "<p>a\n[b]: /u</p>\n\n<p>[b]</p>"),
        ("[a]:\n/u\n'title\nline'\nb [a]", "\n\n\n\n<p>b <a href=\"/u\">a</a></p>"),
        ("[a]: <>\n[a] [b]: c", "\n<p><a href=\"\">a</a> [b]: c</p>"),
        ("[]: /u\n[ ]\n\n[ ]: /v", "<p>[]: /u\n[ ]</p>\n\n<p>[ ]: /v</p>"),
    ]
    static let links: [(String, String)] = [
        (
            "[a](/u) [b](<u v> \"t\") [c]( u\n'x' ) [d]() [e](<>)",
            "<p><a href=\"/u\">a</a> <a href=\"u%20v\">b</a> <a href=\"u\">c</a> <a href=\"\">"
                + "d</a> <a href=\"\">e</a></p>"
        ),
        (
            "[a](u(v(w))) [b](u(v [c](u\\)v)",
            "<p><a href=\"u(v(w))\">a</a> [b](u(v <a href=\"u)v\">c</a></p>"
        ),
        (
            "[a](u\"v\") [b](u 'v' w) [c](u'v)",
            "<p><a href=\"u%22v%22\">a</a> [b](u 'v' w) <a href=\"u'v\">c</a></p>"
        ),
        (
            "[a [b](u) c](v) ![d [e](u) f](v)",
            "<p>[a <a href=\"u\">b</a> c](v) <img alt=\"d e f\" src=\"v\"></p>"
        ),
        (
            "[*a*](u) *[b*](u) [`c]`](u) [<d](u)>e](v)",
            "<p><a href=\"u\">a</a> *<a href=\"u\">b*</a> <a href=\"u\"><code>c]</code></a> <a "
                + "href=\"u\">&lt;d</a>>e](v)</p>"
        ),
        (
            "[a](&auml;/&#x20;\u{E4}?b=c&amp;d%20) [b](\\*a\\b)",
            "<p><a href=\"%C3%A4/%20%C3%A4?b=c&amp;d%20\">a</a> <a href=\"*a%5Cb\">b</a></p>"
        ),
        ("[![a *b* `c` <i>](d)](e)", "<p><a href=\"e\"><img alt=\"a b c \" src=\"d\"></a></p>"),
        ("[a]\n(u) [b] (u)", "<p>[a]\n(u) [b] (u)</p>"),
        ("[a][b][c]\n\n[b]: /1\n[c]: /2", "<p><a href=\"/1\">a</a><a href=\"/2\">c</a></p>"),
        ("![a]\n\n[a]: /u \"t\"", "<p><img alt=\"a\" src=\"/u\"></p>"),
        ("!\\[a](u) \\![b](u) [c\\](u)", "<p>![a](u) !<a href=\"u\">b</a> [c](u)</p>"),
        ("[_a_ **b [c_](d)** e](f)", "<p>[_a_ **b <a href=\"d\">c_</a>** e](f)</p>"),
    ]
    static let addresses: [(String, String)] = [
        (
            "<http://a.b/c?d=\\[&e> <a+b.c:> <h:x> <http://a b>",
            "<p><a href=\"http://a.b/c?d=%5C%5B&amp;e\">http://a.b/c?d=\\[&amp;e</a> <a "
                + "href=\"a+b.c:\">a+b.c:</a> &lt;h:x> &lt;http://a b></p>"
        ),
        (
            "<me@a-b.example> <me@-a.b> <@a.b> <a@b..c>",
            "<p><a href=\"mailto:me@a-b.example\">me@a-b.example</a> &lt;me@-a.b> &lt;@a.b> "
                + "&lt;a@b..c></p>"
        ),
        (
            "<A:B> <a1234567890123456789012345678901:> <a12345678901234567890123456789012:>",
            "<p>&lt;A:B> <a href=\"a1234567890123456789012345678901:\">"
                + "a1234567890123456789012345678901:</a> "
                + "&lt;a12345678901234567890123456789012:></p>"
        ),
    ]
    static let codeSpans: [(String, String)] = [
        (
            "`a` ``b ` c`` ` d ` ` ` `e\nf` ```g``",
            "<p><code>a</code> <code>b ` c</code> <code>d</code> <code> </code> <code>e\n"
                + "f</code> ```g``</p>"
        ),
        (
            "`a\\`b` <c `d>` [e`](f)`",
            "<p><code>a\\</code>b<code>&lt;c</code>d><code> [e</code>](f)`</p>"
        ),
        ("``` `` ```", "<p><code>``</code></p>"),
    ]
    static let escapes: [(String, String)] = [
        (
            "\\*a\\* \\a \\\\ \\<b> &amp; &nosuch; &copy &#0; &#X41; &#12345678; &notit;",
            "<p>*a* \\a \\ &lt;b> &amp; &amp;nosuch; &amp;copy &#0; &#X41; &amp;#12345678; "
                + "&amp;notit;</p>"
        ),
        ("a  \nb\\\nc \nd\\", "<p>a  <br>\nb<br>\nc \nd\\</p>"),
        ("a\0b\r\nc\rd", "<p>a\u{FFFD}b\nc\nd</p>"),
    ]
    static let html: [(String, String)] = [
        ("<div\nclass=\"a\">*b*\n\n*c*\n</div>", "<div\nclass=\"a\">*b*\n\n<p>*c*</p>\n</div>"),
        ("<i>\n*a*\n\n<i>b\n*c*", "<i>\n*a*\n\n<p><i>b\n*c*</p>"),
        ("a\n<i>\n<div>\nb", "<p>a\n<i></p>\n<div>\nb"),
        ("<!-- a\n\nb --> *c*\n*d*", "<!-- a\n\nb --> *c*\n<p>*d*</p>"),
        (
            "<?a\n\n?>\n<!A\n>\n<![CDATA[\n\n]]>\n*b*",
            "<?a\n\n?>\n<!A\n>\n<![CDATA[\n\n]]>\n<p>*b*</p>"
        ),
        ("> <!-- a\n\nb", "<blockquote><!-- a--></blockquote>\n\n<p>b</p>"),
        (
            "- <script>\na\n\nb",
            "<ul><li><script></textarea></style></script></pre></li></ul>\n<p>a</p>\n\n<p>b</p>"
        ),
        ("<pre>\n\n*a*</PRE>\nb", "<pre>\n\n*a*</PRE>\n<p>b</p>"),
        (
            "a <b c=d e='f' g = \"h\n\" i/> </b > <b c=\"d\"e> </b c> <1> <b c=>",
            "<p>a <b c=d e='f' g = \"h\n\" i/> </b > &lt;b c=&quot;d&quot;e> &lt;/b c> &lt;1> "
                + "&lt;b c=></p>"
        ),
        (
            "a <!-- b -- c --> <!--> <!---> <?d?> <!E> <![CDATA[ ]]> <!-- f",
            "<p>a <!-- b -- c --> <!--> <!---> <?d?> <!E> <![CDATA[ ]]> &lt;!-- f</p>"
        ),
        (
            "a <script>b</script> <title>c <b>d</b>",
            "<p>a <script>b</script> &lt;title>c <b>d</b></p>"
        ),
    ]
    static let tables: [(String, String)] = [
        (
            "| a | b |\n|:--|-:|\n| c \\| d | `e|f` |\n| g\n| h | i | j |\n\nk",
            "<table><tr><th>a</th><th>b</th></tr>\n\n<tr><td>c | d</td><td>`e</td></tr>\n<tr>"
                + "<td>g</td></tr>\n<tr><td>h</td><td>i</td></tr></table>\n\n<p>k</p>"
        ),
        (
            "a | b\n- | -\n> c",
            "<p>a | b</p>\n<ul><li><p>| -</p></li></ul>\n<blockquote><p>c</p></blockquote>"
        ),
        (
            "x\na|b\n-|-\nc|[d](e)",
            "<p>x</p>\n<table><tr><th>a</th><th>b</th></tr>\n\n<tr><td>c</td><td><a href=\"e\">"
                + "d</a></td></tr></table>"
        ),
        ("a | b\n-|", "<p>a | b\n-|</p>"),
        (
            "|a|\n|-|\n    b\nc",
            "<table><tr><th>a</th></tr></table>\n\n<pre><code>b</code></pre>\n<p>c</p>"
        ),
    ]
}
