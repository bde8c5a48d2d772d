// SPDX-License-Identifier: MIT
@testable internal import SmallWebCore
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

    @Test(arguments: [
        ("text/gemini", "text/gemini", true), ("text/gemini; charset=utf-8", "text/gemini", true),
        ("text/gemini", "text/plain", false), ("text/gemini", "text/*", true),
        ("text/gemini", "image/*", false), ("text/gemini", "*/*", true),
        ("image/png", "*/*", true), ("texts/x", "text/*", false),
        ("text/gemini", "text/gemini; charset=utf-8", true),
        ("text/gemini; CHARSET=UTF-8", " text/gemini;charset=utf-8", true),
        ("text/gemini; charset=koi8-r", "text/gemini; charset=utf-8", false),
        ("image/png", "*/*; charset=utf-8", false), ("text/x; lang=EN", "text/*; lang=en", true),
        ("text/x; lang=de", "text/*; lang=en", false), ("text/x", "text/x; lang=en", false),
        ("text/gemini", "text/", false), ("text/gemini", "*", false),
    ])
    func matchesPatterns(_ type: String, _ pattern: String, _ isMatch: Bool) throws {
        #expect(try #require(MediaType(parsing: type)).matches(pattern) == isMatch)
    }

    /// A reply without a type, such as a listing.
    @Test func everyTypeIsAlsoNone() {
        for (types, isOne) in [([], true), (["*/*"], true), (["text/*"], false)] {
            #expect(Head(.success).isOne(of: types) == isOne)
        }
    }

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
