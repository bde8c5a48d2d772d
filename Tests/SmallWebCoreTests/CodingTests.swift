// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import Testing

/// Values in a program's own files.
struct CodingTests {
    private struct All: Codable, Hashable {
        var uri: URI
        var type: MediaType
        var outcome: Outcome
        var item: Item
        var facts: Facts
    }

    @Test func valuesComeBackAsTheyWere() throws {
        var item = Item(kind: .link, text: "a \u{1B}", url: "gopher://example.org/1/", type: "1")
        (item.target, item.time) = ([0xFF], 5)
        let facts: Facts = [
            "text": .text("t"), "number": .number(-7), "flag": .flag(true), "none": .none,
            "list": .list([.number(1), .text("x"), .list([])]),
            "object": .object(["a": .flag(false), "b": .none, "=c": .bytes([]), "": .text("")]),
            "bytes": .bytes([0xFF, 0]), "base64": .text("aGk="), "=": .list([.bytes([1])]),
            "likeBytes": .object(["base64": .text("aGk=")]), "numbers": .list([.number(255)]),
        ]
        item.facts = facts
        let all = All(
            uri: try URI(parsing: "gemini://example.org/a%20b?c#d"),
            type: MediaType("text/plain", ["charset": "utf-8"]), outcome: .temporaryFailure,
            item: item, facts: facts)
        let data = try JSONEncoder().encode(all)
        let back = try JSONDecoder().decode(All.self, from: data)
        #expect(back == all && back.hashValue == all.hashValue)
        #expect(back.facts != ["text": .text("t")] && back.facts["bytes"] == .bytes([0xFF, 0]))
        let text = String(decoding: data, as: UTF8.self)
        #expect(text.contains(#""outcome":"temporary-failure""#))
    }

    @Test(arguments: [#""no uri""#, "5", #""http://\u0000/""#, "null", "[]"])
    func whatIsNoURIIsRefused(_ text: String) {
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([URI].self, from: Data("[\(text)]".utf8))
        }
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([MediaType].self, from: Data("[\(text)]".utf8))
        }
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(Facts.self, from: Data("[\(text)]".utf8))
        }
    }

    @Test func whatWasNotFetchedCanBeShown() throws {
        let page = try Page(
            "gemini://example.org/", Array("=> a.png A\n".utf8), MediaType("text/gemini"))
        #expect(page.outcome == .ok && page.links.map(\.url) == ["gemini://example.org/a.png"])
        let result = FetchResult(index: 4, request: RunRequest(page.url), result: .success(page))
        #expect(try result.id == 4 && result.get().text == "=> a.png A\n")
        #expect(try Link("gopher://example.org/", label: "A").label == "A")
        #expect(throws: FetchError.self) { try Page("no uri", [], MediaType("text/plain")) }
    }
}
