// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import Testing

/// Cases of the parser that the command line's tests do not cover.
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

    /// Its members, as they stand.
    private func skim(_ text: some Collection<UInt8>) -> [[String]]? {
        var members: [[String]] = []
        let isObject = Array(text).withUnsafeBufferPointer { text in
            JSONSkimmer.skim(text) {
                members.append([$0, $1].map { String(decoding: $0, as: UTF8.self) })
            }
        }
        return isObject ? members : nil
    }

    @Test func skimsWhatTheReaderParses() throws {
        let text = #" {"a" : "\u00e9\"}{" , "é":[1, {"x":[ ]},-0.5e+3] ,"b":null,"c":{ },"d":true}"#
        #expect(
            skim(text.utf8) == [
                ["a", #""\u00e9\"}{""#], ["é", #"[1, {"x":[ ]},-0.5e+3]"#], ["b", "null"],
                ["c", "{ }"], ["d", "true"],
            ])
        for count in 0..<text.utf8.count { #expect(skim(text.utf8.prefix(count)) == nil) }
        // Each byte is replaced by another one: text that can be skimmed can also be parsed.
        for index in text.utf8.indices {
            for byte in [0, 0x22, 0x2C, 0x30, 0x5C, 0x7B, 0x7D, 0xFF] as [UInt8] {
                var bytes = Array(text.utf8)
                bytes[text.utf8.distance(from: text.startIndex, to: index)] = byte
                if skim(bytes) != nil {
                    #expect(throws: Never.self) { try JSONValue.parse(bytes[...]) }
                }
            }
        }
    }

    @Test(arguments: [
        "", "[]", "1", #"{"a":1,}"#, #"{"a":01}"#, #"{"a":1}x"#, #"{"a"}"#, #"{a:1}"#,
        #"{"a":nul}"#,
        // Escapes that only the parser can decode.
        #"{"\u0061":1}"#, #"{"a":"\ud83d\ude42"}"#,
    ])
    func skimsNothingElse(_ text: String) {
        #expect(skim(text.utf8) == nil)
        let tooDeep = #"{"a":"# + String(repeating: "[", count: 100_000)
        #expect(skim(tooDeep.utf8) == nil)
    }
}
