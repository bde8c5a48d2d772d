// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import Testing

@Suite struct MediaTypeTests {
    @Test(arguments: [
        ("text/gemini", "text/gemini"), ("TEXT/Plain", "text/plain"),
        (" text/plain ; Charset = UTF-8 ", "text/plain; charset=UTF-8"),
        ("text/plain;charset=\"utf-8\"", "text/plain; charset=utf-8"),
        ("a/b; lang=\"en,fr\"; x=1", "a/b; lang=\"en,fr\"; x=1"),
        ("a/b; x=\"a;b=\\\"c\\\\\"", "a/b; x=\"a;b=\\\"c\\\\\""), ("a/b; x=1; X=2", "a/b; x=1"),
        ("a/b;;  ; junk; =1; a b=2; y=", "a/b; y=\"\""),
        ("a/b; x=\"unfinished", "a/b; x=\"\\\"unfinished\""),
        ("application/vnd.x+json", "application/vnd.x+json"), ("a/b;c/d=1", "a/b"),
    ])
    func reads(_ text: String, description: String) throws {
        let type = try #require(MediaType(parsing: text))
        #expect(type.description == description)
        #expect(MediaType(parsing: type.description) == type)
    }

    @Test(arguments: [
        "", " ", "text", "text/", "/plain", "text/plain/x", "te xt/plain", "text/pl\u{E4}in", ";",
        "text;/x", "text/pl\u{1B}ain", "\"a\"/b",
    ])
    func refuses(_ text: String) { #expect(MediaType(parsing: text) == nil) }

    @Test func knowsTheCharset() {
        #expect(MediaType(parsing: "text/plain; CHARSET=ISO-8859-1")?.charset == "iso-8859-1")
        for name in ["utf-8", "koi8-r"] {
            for quoted in [name, "'\(name)'", "\"\(name)\"", "\"'\(name)'\""] {
                let type = MediaType(parsing: "text/plain;charset=\(quoted)")
                #expect(type?.charset == name && type?.description == "text/plain; charset=\(name)")
            }
        }
        #expect(MediaType(parsing: "text/plain")?.charset == "utf-8")
        #expect(MediaType(parsing: "image/png")?.charset == nil)
        #expect(MediaType(parsing: "image/png; charset=x")?.charset == "x")
    }

    @Test(arguments: [
        ("text/x", true), ("application/json", true), ("image/svg+xml", true), ("a/b+json", true),
        ("application/gopher-menu", true), ("application/xml", true), ("image/png", false),
        ("application/octet-stream", false), ("textual/x", false),
    ])
    func knowsWhatIsText(_ text: String, isText: Bool) {
        #expect(MediaType(parsing: text)?.isText == isText)
    }
}
