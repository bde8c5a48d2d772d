// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import Testing

/// Reference resolution (RFC 3986 §5).
@Suite struct ReferenceTests {
    /// RFC 3986 §5.4, both the normal and the abnormal examples, without the non-strict `http:g`.
    @Test(arguments: [
        ("g:h", "g:h"), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"),
        ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"), ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"),
        ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q#s"), ("g#s", "http://a/b/c/g#s"),
        ("g?y#s", "http://a/b/c/g?y#s"), (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"),
        ("g;x?y#s", "http://a/b/c/g;x?y#s"), ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"),
        ("./", "http://a/b/c/"), ("..", "http://a/b/"), ("../", "http://a/b/"),
        ("../g", "http://a/b/g"),
        ("../..", "http://a/"), ("../../", "http://a/"), ("../../g", "http://a/g"),
        ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"), ("/./g", "http://a/g"),
        ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"),
        ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"), ("./../g", "http://a/b/g"),
        ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"),
        ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/./x", "http://a/b/c/g?y/./x"), ("g?y/../x", "http://a/b/c/g?y/../x"),
        ("g#s/./x", "http://a/b/c/g#s/./x"), ("g#s/../x", "http://a/b/c/g#s/../x"),
        ("http:g", "http:g"),
    ])
    func resolvesTheExamplesOfTheRFC(_ reference: String, target: String) throws {
        let base = try URI(parsing: "http://a/b/c/d;p?q")
        #expect(try base.resolving(reference).description == target)
    }

    /// ggemini's vectors; the base's fragment is never inherited.
    @Test(arguments: [
        ("path", "gemini://h.test/path/path"), ("//g.test", "gemini://g.test"),
        ("//g.test/path", "gemini://g.test/path"), ("/path", "gemini://h.test/path"),
        ("/", "gemini://h.test/"), ("../", "gemini://h.test/"), ("..", "gemini://h.test/"),
        ("?", "gemini://h.test/path/?"), ("", "gemini://h.test/path/?query"),
        ("//g.test:7/../x", "gemini://g.test:7/x"), ("gopher://g.test/0/../x", "gopher://g.test/x"),
    ])
    func resolvesGeminiRedirects(_ reference: String, target: String) throws {
        let base = try URI(parsing: "gemini://h.test/path/?query#fragment")
        #expect(try base.resolving(reference).description == target)
    }

    @Test(arguments: [
        "//", "//:", "///x", "a b", "\\\\x", "//h:x/", "%", "/%0", "/\r\n", "//u@@h/",
    ])
    func refuses(_ reference: String) throws {
        let base = try URI(parsing: "gemini://h.test/")
        #expect(throws: FetchError.self) { try base.resolving(reference) }
    }

    /// The authority of a URL stays, even if it is not a host, or empty.
    @Test(arguments: [
        ("vb://QmX/a/b", "/top", "vb://QmX/top"), ("vb://QmX/a/b", "c", "vb://QmX/a/c"),
        ("vb://QmX/a/b", "../../../c", "vb://QmX/c"), ("vb://QmX/a/b", "?q", "vb://QmX/a/b?q"),
        ("vb://QmX/a/b", "#f", "vb://QmX/a/b#f"), ("vb://QmX/a/b", "", "vb://QmX/a/b"),
        ("vb://QmX/a/b", "//QmY/c", "vb://QmY/c"), ("vb://QmX/a/b", "//QmY", "vb://QmY"),
        ("vb://QmX/a/b", "http://H/c", "http://h/c"), ("vb://QmX/a/b", ".", "vb://QmX/a/"),
        ("vb://QmX/a/b", "/.//c", "vb://QmX//c"),
        ("vb://QmX", "other", "vb://QmX/other"), ("vb://QmX", "/top", "vb://QmX/top"),
        ("vb://QmX?q", "other", "vb://QmX/other"), ("vb://QmX", "..", "vb://QmX/"),
        ("vb://QmX", "?q", "vb://QmX?q"),
        ("vb:///a/b", "/top", "vb:///top"), ("vb:///a/b", "c", "vb:///a/c"),
        ("vb:///a/b", "../../c", "vb:///c"), ("vb://", "c", "vb:///c"),
        ("vb:a/b", "c", "vb:a/c"), ("vb:a/b", "/c", "vb:/c"), ("vb:/a/b", "c", "vb:/a/c"),
        ("vb:/a", "/.//c", "vb:/.//c"), ("vb:/a", "..//c", "vb:/.//c"), ("vb:", "c", "vb:c"),
    ])
    func keepsAPlaceThatIsNoHost(_ base: String, _ reference: String, _ target: String) throws {
        #expect(try URI(verbatim: base).resolving(reference).description == target)
    }

    @Test func neverNormalisesOpaquePaths() throws {
        let base = try URI(parsing: "gopher://h.test/1/a/b")
        let target = try base.resolving("gopher://g.test/0/a/../b/./c") { $0 == "gopher" }
        #expect(target.description == "gopher://g.test/0/a/../b/./c")
        #expect(try base.resolving("../c") { _ in true }.path == "/1/a/../c")
        #expect(try base.resolving("gemini://g.test/a/../b") { $0 == "gopher" }.path == "/b")
    }

    @Test func anEmptyBasePathCountsAsASlash() throws {
        #expect(try URI(parsing: "gemini://h").resolving("a").description == "gemini://h/a")
        #expect(try URI(parsing: "gemini://h?q").resolving("").description == "gemini://h?q")
    }

    @Test(arguments: [
        ("", ""), ("/", "/"), ("/a", "/a"), ("/.", "/"), ("/..", "/"), ("/./", "/"),
        ("/a/.", "/a/"),
        ("/a/..", "/"), ("/a//../b", "/a/b"), ("//a", "//a"), ("/a/b/../../../c", "/c"),
        ("/%2e%2E/a", "/%2e%2E/a"), ("/.a/..b/c.", "/.a/..b/c."), ("/a/...", "/a/..."),
    ])
    func removesDotSegments(_ path: String, plain: String) throws {
        #expect(try URI(parsing: "gemini://h\(path)").removingDotSegments().path == plain)
    }

    @Test func removingDotSegmentsTwiceChangesNothingMore() throws {
        let uri = try URI(parsing: "gemini://h/a/.././b//../..//c/.").removingDotSegments()
        #expect(uri.removingDotSegments() == uri)
        #expect(try URI(parsing: uri.description) == uri)
    }
}
