// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebFormats
internal import SmallWebPlugins
internal import Testing

/// Pages of HTML with wrong links and charsets.
@Suite struct HTMLPageTests {
    private func read(
        _ page: [UInt8], _ type: String = "text/html", isPieces: Bool = false
    ) throws -> (text: String, links: [String]) {
        let reader = PageReader(
            Head(.success, mediaType: MediaType(parsing: type)),
            base: try URI(parsing: "https://u:p@h.test/d/e"), registry: .builtIn)
        reader.require(.text)
        let pieces = isPieces ? page.indices.map { page[$0...$0] } : [page[...]]
        let lines = pieces.flatMap { reader.read(.body($0)) } + reader.finish(isWhole: true)
        let text = lines.map { line in
            if case .block(let block) = line.content { block.text } else { [] as [UInt8] }
        }
        return (
            String(decoding: Array(text.joined(separator: [10])), as: UTF8.self),
            lines.flatMap { reader.links($0) }.map(\.url)
        )
    }

    @Test(arguments: [
        ("", "b", "https://h.test/d/b"), ("", "#b", "https://h.test/d/e#b"),
        ("javascript:a", "b", "https://h.test/d/b"), ("data:a", "b", "https://h.test/d/b"),
        ("/a/'><base href='/c/", "b", "https://h.test/a/b"),
        ("https://v:w@i.test/", "b", "https://i.test/b"), ("//[", "b", "https://h.test/d/b"),
        ("mailto:a", "b", "https://h.test/d/b"),
        ("", "\\\\host\\share", "https://h.test/d/%5C%5Chost%5Cshare"), ("", "http:///x", ""),
        ("", "//[", ""), ("", "http://a\u{FF0F}b/", ""), ("", "http://-a/", ""),
        ("", "http://a:b/", ""), ("", "a%zz", ""), ("", "a\u{1}b", "https://h.test/d/a%01b"),
        ("", "a b\u{E4}<", "https://h.test/d/a%20b%C3%A4%3C"), ("", "//i.test", "https://i.test"),
    ])
    func resolvesLinks(_ base: String, _ target: String, _ url: String) throws {
        let page = "<base href='\(base)'><a href='\(target)'>a</a>"
        #expect(try read(Array(page.utf8)).links == [url])
    }

    @Test(
        arguments: [
            ("text/html", "<meta charset=utf-8>", [0xE4], "\u{FFFD}", "utf-8"),
            (
                "text/html; charset=utf-8", "<meta charset=iso-8859-1>", [0xC3, 0xA4], "\u{E4}",
                "utf-8"
            ),
            (
                "text/html; charset=iso-8859-1", "<meta charset=utf-8>", [0x80], "\u{20AC}",
                "windows-1252"
            ),
            ("text/html; charset=nonsense", "", [0xC3, 0xA4], "\u{E4}", "utf-8"),
            ("text/html", "<meta charset=nonsense>", [0xC3, 0xA4], "\u{E4}", "utf-8"),
            ("text/html", "<meta charset=koi8-r>", [0xC1], "\u{430}", "koi8-r"),
            (
                "text/html", "<meta http-equiv=content-type content='text/html; charset=KOI8-R'>",
                [0xC1], "\u{430}", "koi8-r"
            ),
            ("text/html", "", [0xE4, 0x61], "\u{E4}a", "windows-1252"),
            // It changes in the middle.
            (
                "text/html", "\u{E4}", Array(repeating: 0x61, count: 2000) + [0xE4], "\u{FFFD}",
                "utf-8"
            ),
            (
                "text/html", String(repeating: " ", count: 1024) + "<meta charset=koi8-r>",
                [0xC3, 0xA4], "\u{E4}", "utf-8"
            ),
        ] as [(String, String, [UInt8], String, String)])
    func findsTheCharset(
        _ type: String, _ before: String, _ bytes: [UInt8], _ end: String, _ charset: String
    ) throws {
        let page = Array(before.utf8) + bytes
        let text = try read(page, type).text
        #expect(text.hasSuffix(end), "\(text.suffix(20))")
        #expect(try read(page, type, isPieces: true).text == text)
        let whole = try Page("https://h.test/", page, #require(MediaType(parsing: type)))
        #expect(whole.text.hasSuffix(end) && whole.charset == charset)
    }

    /// A page of Markdown that is held to its end is not read as a whole there.
    @Test func givesTheEndInParts() throws {
        let reader = PageReader(
            Head(.success, mediaType: MediaType(parsing: "text/markdown")),
            base: try URI(parsing: "https://h.test/"), registry: .builtIn)
        reader.require(.text)
        let page = Array(String(repeating: "a\n\n", count: 100_000).utf8)
        var counts = [reader.read(.body(page[...])).count + reader.end(isWhole: true).count]
        while let lines = reader.next() { counts.append(lines.count) }
        #expect(counts.reduce(0, +) == 100_000)
        #expect(counts.max() ?? 0 < 10_000, "\(counts)")
    }

    /// With a mark in either order of bytes; without one only by the media type.
    @Test func readsUTF16() throws {
        let units = Array("<p>\u{E4}\u{20AC}<a href=b>c</a>".utf16)
        let big = units.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        let little = units.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        for (page, type) in [
            ([0xFE, 0xFF] + big, "text/html"), ([0xFF, 0xFE] + little, "text/html; charset=utf-8"),
            (big, "text/html; charset=utf-16be"), (little, "text/html; charset=utf-16le"),
        ] {
            for isPieces in [false, true] {
                let (text, links) = try read(page, type, isPieces: isPieces)
                #expect(text.hasSuffix("\u{E4}\u{20AC}c"), "\(type): \(text)")
                #expect(links == ["https://h.test/d/b"])
            }
        }
        #expect(try read(big).links.isEmpty)
    }
}
