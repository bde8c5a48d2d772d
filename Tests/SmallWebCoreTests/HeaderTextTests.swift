// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import Testing

@Suite struct HeaderTextTests {
    private static func lines(_ text: String) -> [String] {
        HeaderText.lines(Array(text.utf8)[...]).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func splitsIntoLines() {
        #expect(Self.lines("a: b\r\nc: d\n\r\n") == ["a: b\r\n", "c: d\n", "\r\n"])
        #expect(Self.lines("a: b\n\nlast") == ["a: b\n", "\n", "last"])
        #expect(Self.lines("").isEmpty)
    }

    @Test(
        arguments: [
            ("", nil), ("a: b\r\n", nil), ("a: b\r\n\r", nil), ("a: b\r\n\r\n", 8),
            ("a: b\n\nc", 6),
            ("\n", 1), ("\r\n", 2), ("a\r\n\r\r\n", nil),
        ] as [(String, Int?)])
    func findsTheEnd(_ text: String, _ end: Int?) {
        #expect(HeaderText.end(of: Array(text.utf8)[...]) == end)
        #expect(HeaderText.end(of: Array("12\(text)".utf8)[2...]) == end.map { $0 + 2 })
    }

    @Test func endsTheSearchAtABadLine() {
        var seen: [String] = []
        let end = HeaderText.end(of: Array("a: 1\r\nbad\nc: 3\n\n".utf8)[...]) { line in
            seen.append(String(decoding: line, as: UTF8.self))
            return line.contains(ASCII.colon)
        }
        #expect(end == nil && seen == ["a: 1\r", "bad"])
    }

    @Test(arguments: [
        ("Content-Length: 5", true), ("CONTENT-LENGTH:", true), ("content-length", true),
        ("content-length : 5", false), ("content-lengths: 5", false), ("", false),
    ])
    func comparesNamesInAnyCase(_ line: String, _ isField: Bool) {
        #expect(HeaderText.isField(Array(line.utf8)[...], "content-length") == isField)
    }

    @Test(arguments: [
        ("a\r\n", "a"), ("a\n", "a"), ("a", "a"), ("\r\n", ""), ("", ""), ("a\rb\r\r\n", "a\rb"),
    ])
    func dropsLineEnds(_ line: String, _ text: String) {
        #expect(Array(line.utf8)[...].withoutLineEnd.elementsEqual(text.utf8))
    }

    @Test func parsesAReply() {
        let text = "HTTP/1.1 200 OK\r\nVia: a\r\nX:\tb \r\nno field\r\nvia:c\r\n\r\n"
        let reply = HTTPReply(Array(text.utf8)[...])
        #expect(reply.status == 200 && reply.version == "1.1")
        #expect(reply.fields.bytes.elementsEqual(text.utf8))
        #expect(reply.fields.values(of: "via") == ["a", "c"] && reply["x"] == "b ")
        #expect(reply.fields.values(of: "y").isEmpty && reply.fields.all.count == 3)
        let coded = HTTPReply(
            Array("HTTP/2 200\nContent-Encoding: GZIP, identity\ncontent-encoding: br".utf8)[...])
        #expect(coded.codings("content-encoding") == ["gzip", "br"])
    }
}
