// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import Testing

/// What the command line's tests do not say of the reader.
@Suite struct JSONValueTests {
    private func parse(_ text: String) throws(FetchError) -> JSONValue {
        try JSONValue.parse(Array(text.utf8)[...])
    }

    @Test func keepsNumbersAsTheyAreWritten() throws {
        guard case .array(let values) = try parse("[0,-1.50e+400,123456789012345678901234567890]")
        else {
            Issue.record("no array")
            return
        }
        let numbers = values.map { value in
            if case .number(let text) = value { text } else { "" }
        }
        #expect(numbers == ["0", "-1.50e+400", "123456789012345678901234567890"])
    }

    @Test func joinsSurrogatesAndRefusesLoneOnes() throws {
        #expect(try parse(#""\ud83d\ude42""#).string == "\u{1F642}")
        for text in [#""\ud83d""#, #""\ude42""#, #""\ud83dx""#, #""\ud83d\u0041""#] {
            #expect(throws: FetchError.self) { try parse(text) }
        }
    }

    @Test(arguments: [
        "", "{", "[1,]", "{\"a\":1,\"a\":2}", "01", "1.", "+1", "nul", "\"\u{1}\"", "1 2", "[1 2]",
        "{a:1}", "'a'", "\"\\x\"",
    ])
    func refuses(_ text: String) {
        #expect(throws: FetchError.self) { try parse(text) }
    }

    @Test func refusesWhatIsTooDeep() {
        let text = String(repeating: "[", count: 100_000)
        #expect(throws: FetchError.self) { try parse(text) }
    }

    @Test func echoesHarmlessly() throws {
        guard case .object(let members) = try parse("{ \"id\" : \"a\u{85}\u{202E}\\\"b \" }") else {
            Issue.record("no object")
            return
        }
        #expect(String(decoding: members[0].text, as: UTF8.self) == #""a\u0085\u202e\"b ""#)
    }
}
