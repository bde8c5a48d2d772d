// SPDX-License-Identifier: MIT
internal import Testing

@testable internal import SmallWebFormats

@Suite struct HTMLReaderTests {
    private func blocks(_ pieces: [ArraySlice<UInt8>]) -> [TextBlock] {
        var reader = HTMLReader()
        return pieces.flatMap { reader.add($0) } + reader.finish()
    }

    private func blocks(_ text: String) -> [TextBlock] { blocks([Array(text.utf8)[...]]) }

    /// Each block as its kind and text; cells begin with `|`, links have their target behind `>`.
    private func shown(_ text: String) -> [String] {
        blocks(text).map { block in
            let text = block.runs.map { run in
                let target = run.link.map { ">" + String(decoding: $0.target, as: UTF8.self) }
                return (run.startsCell ? "|" : "") + String(decoding: run.text, as: UTF8.self)
                    + (target ?? "")
            }
            let kind: String =
                switch block.kind {
                case .heading(let level): "h\(level)"
                case .paragraph: "p"
                case .item(let depth, let number): "li\(depth)" + (number.map { ".\($0)" } ?? "")
                case .quote(let depth): "q\(depth)"
                case .preformatted: "pre"
                case .row(let isHeader): isHeader ? "th" : "tr"
                default: "\(block.kind)"
                }
            return kind + (block.isFirst ? " " : "+ ") + text.joined(separator: "_")
        }
    }

    private func links(_ text: String) -> [String] {
        blocks(text).flatMap(\.runs).compactMap(\.link).map {
            $0.element + ($0.isEmbedded ? "* " : " ") + String(decoding: $0.target, as: UTF8.self)
        }
    }

    @Test(arguments: [
        ("<h1>a</h1><p>b<p>c<div>d</div>e", ["h1 a", "p b", "p c", "p d", "p e"]),
        ("<title>a\n b</title><p>c", ["h1 a b", "p c"]),
        ("<title>a</title><p>c<h1>d", ["p c", "h1 d"]), ("a<br>b<br><br>c<br>", ["p a\nb\n\nc"]),
        ("<h2>a<p>b</h2>c", ["h2 a", "h2 b", "p c"]), ("<div><h2>a</div>b", ["h2 a", "p b"]),
        ("a<hr>b", ["p a", "rule ", "p b"]),
        ("x<sup>2</sup> <q>y</q>", ["p x^2 \u{201C}y\u{201D}"]),
        ("<ruby>a<rp>(</rp><rt>b</rt><rp>)</rp></ruby>c", ["p a(b)c"]),
        ("<ruby>a<rp>(<rt>b<rp>)</ruby>c", ["p a(b)c"]), ("<p>a<noscript>b</noscript>", ["p ab"]),
        ("a<!-- b --><script>c</script><style>d</style>e", ["p ae"]),
        ("&nbsp;&lt;&#xe4;", ["p \u{A0}<\u{E4}"]),
    ])
    func readsText(_ text: String, _ expected: [String]) { #expect(shown(text) == expected) }

    @Test(arguments: [
        ("<ul><li>a<li>b</ul>c", ["li1 a", "li1 b", "p c"]),
        ("<ol start=3><li>a<li value=9>b<li>c</ol>", ["li1.3 a", "li1.9 b", "li1.10 c"]),
        ("<ul><li><p>a<p>b<ul><li>c</ul>d</ul>", ["li1 a", "li1+ b", "li2 c", "li1+ d"]),
        ("<dl><dt>a<dd>b<dt>c<dd>d</dl>e", ["p a", "li1 b", "p c", "li1 d", "p e"]),
        (
            "<blockquote>a<blockquote>b</blockquote><ul><li>c</ul></blockquote>d",
            ["q1 a", "q2 b", "li1 c", "p d"]
        ),
        ("<div><ul><li>a</div>b", ["li1 a", "p b"]),
        ("<ul><div><li>a</ul></div>b", ["li1 a", "p b"]),
        (
            "<pre>\n\n a\tb\n</pre><pre>c</pre>",
            ["fence ", "pre ", "pre  a\tb", "fence ", "fence ", "pre c", "fence "]
        ),
        ("<textarea>\n a <b>\n</textarea>c", ["fence ", "pre  a <b>", "fence ", "p c"]),
        ("<plaintext>a</plaintext>", ["fence ", "pre a</plaintext>", "fence "]),
    ])
    func readsListsQuotesAndPreformatted(_ text: String, _ expected: [String]) {
        #expect(shown(text) == expected)
    }

    @Test(arguments: [
        ("<table><tr><th>a<th>b<tr><td>c<td></table>d", ["th |a_|b", "tr |c_|", "p d"]),
        ("<table><tr><td><p>a<p>b<td>c</table>", ["tr |a\nb_|c"]),
        ("<table><tr><td>a<ul><li>b</ul>c<td>d</table>", ["tr |a", "li1 b", "p c", "tr |d"]),
        ("<table><tr><td>a<table><tr><td>b</table><td>c</table>", ["tr |a", "tr |b", "tr |c"]),
        ("<table><tr><td><td></table>a", ["p a"]), ("<td>a<td>b", ["p a b"]),
        ("<table><caption>a</caption><tr><td><a href=x>b</a><td>c</table>", ["p a", "tr |b>x_|c"]),
    ])
    func readsTables(_ text: String, _ expected: [String]) { #expect(shown(text) == expected) }

    @Test(arguments: [
        ("<div hidden>a<div>b</div>c</div>d", ["p d"]), ("<p hidden>a<p>b", ["p b"]),
        ("<ul><li hidden>a<li>b</ul>", ["li1 b"]), ("<section><div hidden>a</section>b", ["p b"]),
        ("<ul hidden><li>a</li><li>b</li></ul>c", ["p c"]),
        ("<template>a<p>b</template>c", ["p c"]),
        ("<select><option>a<option>b</select>c", ["p c"]), ("<select><input>c", ["p c"]),
        ("<svg><title>a</title><style>b<p>c", ["p c"]), ("<svg/>a", ["p a"]),
        ("<div><svg></div>a", ["p a"]),
        ("<svg><foreignObject><p>a</p></foreignObject></svg>b", ["p b"]),
        ("<svg><![CDATA[</svg>]]></svg>a", ["p a"]), ("<math><mi>x</mi></math>a", ["p a"]),
    ])
    func hides(_ text: String, _ expected: [String]) { #expect(shown(text) == expected) }

    @Test(arguments: [
        ("<p>a <a href=1> b </a> c", ["p a _b>1_ c"]),
        ("<a href=1><h2>a</h2>b</a>c", ["h2 a>1", "p bc"]),
        ("<a href=1><img src=2 alt=b> c</a>", ["p [b] c>1_>2"]),
        ("<a href=1><img src=2 alt=''></a>b", ["p >1_>2_b"]),
        ("<img src=2 alt='a  b'>c", ["p [a b]>2_c"]), ("<a href=1>a<a href=2>b", ["p a>1_b>2"]),
        ("<a href=javascript:x>a</a><a href=DATA:x>b</a>", ["p ab"]),
        ("<a href=' \t\u{C}x\n/y '>a</a>", ["p a>x/y"]), ("<a href>a</a>", ["p a>"]),
        ("<a href=1></a>", ["p >1"]), ("<area href=1 alt=a>", ["p [a]>1"]),
    ])
    func showsLinks(_ text: String, _ expected: [String]) { #expect(shown(text) == expected) }

    @Test(arguments: [
        ("a\rb\r\n\rc", ["p a b c"]), ("a<", ["p a<"]), ("a</", ["p a</"]),
        ("a&#xD800;&#x110000;&#0;&#x80;b", ["p a\u{FFFD}\u{FFFD}\u{FFFD}\u{20AC}b"]),
        ("<a href='?a&copy=1&lt;b&amp'>a</a>", ["p a>?a&copy=1<b&"]), ("a<a href=x", ["p a"]),
        ("a<a href='x>b</a>", ["p a"]), ("a<!-- b", ["p a"]), ("a<!", ["p a"]),
        ("a<script>b", ["p a"]), ("a<script>/* <!-- <script> */</script>b", ["p a"]),
        ("a<style>b</styl", ["p a"]), ("a<?b>c", ["p ac"]), ("<p a=1 a=2 =3 \"4>b", ["p b"]),
        ("<meta http-equiv=refresh content=0>a", ["p a"]),
        ("<meta http-equiv=refresh content='0;url='>a", ["p a"]),
        ("<meta http-equiv=refresh content='0;url=#'>a", ["p >#_a"]),
        ("<iframe src>a</iframe><frame src=b><noframes><a href=c>", ["p [iframe]>_[frame]>b"]),
        ("<a href='\u{1}\u{2}x\u{7F}\u{1F}'>a</a>", ["p a>x\u{7F}"]),
        ("<a href=' java\nscript:a'>b</a><a href=vbscript&#58;c>d</a>", ["p b_d>vbscript:c"]),
    ])
    func readsBadInput(_ text: String, _ expected: [String]) { #expect(shown(text) == expected) }

    @Test func boundsAttributes() {
        let many = String(repeating: " href=b", count: 100_000)
        #expect(links("<a href=a\(many)>x</a>") == ["a a"])
        let distinct = (0..<100_000).map { " a\($0)=b" }.joined()
        #expect(shown("<a href=a\(distinct) b=c>x</a>") == ["p x>a"])
        // A target longer than any URL is none.
        let long = String(repeating: "a", count: 1_000_000)
        #expect(shown("<a href=\(long) rel=b>x</a>y") == ["p xy"])
        let commas = String(repeating: ",", count: 1000)
        #expect(links("<img srcset='\(commas) a 2x,,b'>") == ["img* a", "img* b"])
    }

    @Test func findsEveryLinkInItsOrder() {
        let page = """
            <link rel="stylesheet" href=a><link rel="next x" href=b><link rel=canonical href=c>
            <meta http-equiv=Refresh content="3; URL='d'"><script src=e></script>
            <a href=f><img src=g srcset="h 1x, i,j k(,) 2w ,, l"></a><iframe src=m></iframe>
            <video src=n poster=o><source src=p><track src=q></video><object data=r></object>
            <embed src=s><input type=IMAGE src=t><input src=u><div hidden><a href=v>x</a></div>
            <template><a href=w>x</a></template><link rel="shortcut icon" href=x><audio src=y>
            <meta http-equiv=refresh content=5><meta http-equiv=refresh content="0,z">
            """
        #expect(
            links(page) == [
                "link* a", "link b", "meta d", "script* e", "a f", "img* g", "img* h", "img* i,j",
                "img* l", "iframe m", "video* n", "video* o", "source* p", "track* q",
                "object* r", "embed* s", "input* t", "a v", "link* x", "audio* y", "meta z",
            ])
    }

    /// A `meta` of the head is about all of its links, one of the text about those behind it.
    @Test(arguments: [
        ("", [true, false, false, false]),
        ("<meta name=robots content=none>", [true, true, true, true]),
        ("x<meta name=robots content=nofollow>", [true, false, true, true]),
    ])
    func knowsWhichLinksAreNotToBeFollowed(_ meta: String, _ wanted: [Bool]) {
        let head = "<link rel='next NOFOLLOW' href=a><link rel=prev href=b>"
        let page = Array((head + meta + "<a href=c>c</a><img src=d>").utf8)
        for pieces in [[page[...]], page.indices.map { page[$0...$0] }] {
            let links = blocks(pieces).flatMap(\.runs).compactMap(\.link)
            #expect(links.map(\.isNofollow) == wanted)
        }
    }

    @Test func readsWhatThePageSaysOfItself() {
        var reader = HTMLReader(robotNames: ["robots", "archiver"])
        let page = """
            <base target=x><base href=" /a/ "><base href=/b/><title> a &amp;
            b</title><title>c</title>
            <a href=1>x</a><meta name=Archiver content="noindex, NOFOLLOW"><a href=2>y</a>
            <a href=3 rel="x nofollow">z</a>
            """
        let links = (reader.add(Array(page.utf8)[...]) + reader.finish()).flatMap(\.runs)
            .compactMap(\.link)
        #expect(reader.base == Array("/a/".utf8) && reader.title == Array("a & b".utf8))
        #expect(reader.isNofollow && links.map(\.isNofollow) == [false, true, true])
        #expect(links.map(\.line) == [3, 3, 4])
        var other = HTMLReader()
        _ = other.add(
            Array("<base href='javascript:x'><base href=/b><meta name=archiver content=none>".utf8)[
                ...])
        #expect(other.base == nil && !other.isNofollow)
    }

    @Test func doesNotDependOnThePieces() {
        let page = Array(
            """
            \u{FEFF}<!doctype html><title>t\u{E4}</title><ul><li>a <b>b</b>\r\n<li>
            <a href="x&amp;y">c <img src=d alt='e f'></a></ul><pre>\r\nf\r\n g</pre>
            <table><tr><td>h<br>i<td></table>
            <script><!-- <script>j</script> --></script><p hidden>k<p>l&notin;&not m<svg><a/></svg>
            """.utf8)
        let whole = blocks([page[...]])
        #expect(blocks(page.indices.map { page[$0...$0] }) == whole)
        for cut in page.indices { #expect(blocks([page[..<cut], page[cut...]]) == whole) }
    }

    /// Forty thousand of each: blocks of a bounded size, however deep they are nested.
    @Test(arguments: [
        "<div>", "<ul><li>", "<table><tr><td>", "<blockquote>", "<p hidden>", "<a href=x>", "<b>",
        "</div></ul></p>", "<svg>", "<select><option>", "<ruby><rt>", "<h1>", "<pre>\n", "<td>",
        "<template>", "<img alt=a src=b srcset='c,d'>", "<br>", "a ", "a", "<li>", "<q>", "&lt;",
    ])
    func isBounded(_ piece: String) {
        let chunk = Array(String(repeating: piece, count: 10_000).utf8)
        var reader = HTMLReader()
        var largest = 0
        for _ in 0..<4 {
            for block in reader.add(chunk[...]) {
                largest = max(largest, block.text.count, block.runs.count * 64)
            }
        }
        _ = reader.add(Array("\(piece)z".utf8)[...])
        for block in reader.finish() { largest = max(largest, block.text.count) }
        #expect(largest <= 2 * HTMLBlocks.partBytesMax)
    }

    @Test func givesALongBlockInParts() {
        let text = String(repeating: "\u{E4}", count: 100_000)
        let parts = blocks("<ul><li>\(text)</ul>b")
        #expect(parts.map(\.isFirst) == [true, false, false, false, true])
        #expect(parts.map(\.isLast) == [false, false, false, true, true])
        #expect(parts.dropLast().flatMap(\.text) == Array(text.utf8))
        #expect(parts.allSatisfy { String(validating: $0.text, as: UTF8.self) != nil })
    }

    @Test(arguments: [
        ("<meta charset=' Latin1 '>", "windows-1252"), ("<meta charset=utf-16>", "utf-8"),
        ("<META http-equiv=Content-Type content='text/html; charset=KOI8-R'>", "koi8-r"),
        ("<!-- <meta charset=a> --><meta name=x charset=\"b\">", "b"), ("a", "utf-8"),
        ("\u{E4}", "utf-8"),
        ("<script>'<meta charset=a>'</script>", "utf-8"), ("\u{FEFF}<meta charset=a>", "utf-8"),
        (String(repeating: " ", count: 1024) + "<meta charset=a>", "utf-8"),
        ("<meta http-equiv=content-type content='charset charset = \"c\"'>", "c"),
    ])
    func tellsTheCharset(_ page: String, _ name: String) {
        let bytes = Array(page.utf8)
        #expect(HTMLCharset.name(of: bytes[...]) == name)
    }

    @Test func tellsTheCharsetOfOtherBytes() {
        #expect(HTMLCharset.name(of: [0x61, 0xE4, 0x61]) == "windows-1252")
        #expect(HTMLCharset.name(of: [0x61, 0xE2, 0x82]) == "windows-1252")
        let cut = [UInt8](repeating: 0x61, count: HTMLCharset.bytesMax - 2) + [0xE2, 0x82]
        #expect(HTMLCharset.name(of: cut[...]) == "utf-8")
        #expect(HTMLCharset.name(of: [0xFE, 0xFF, 0, 0x61]) == "utf-16be")
        #expect(HTMLCharset.name(of: [0xFF, 0xFE, 0x61, 0], declared: "utf-8") == "utf-16le")
        #expect(HTMLCharset.name(of: [0x61], declared: "ISO-8859-1") == "windows-1252")
    }
}
