// SPDX-License-Identifier: MIT
import Foundation
internal import SmallWebFormats
internal import Testing

/// The examples of CommonMark's specification: each a page, and the HTML that it means.
@Suite struct MarkdownExamplesTests {
    struct Example: Decodable, Sendable {
        let example: Int
        let markdown, html: String
    }

    private static let path = ProcessInfo.processInfo.environment["SMALLWEB_COMMONMARK_EXAMPLES"]

    /// Levels and texts of headings, targets and texts of links, in their order.
    private func names(_ blocks: [TextBlock]) -> [String] {
        blocks.flatMap { block in
            let text = { (text: [UInt8]) in String(decoding: text, as: UTF8.self) }
            let links = block.runs.compactMap { run in
                run.link.map { "\($0.kind) \(text($0.target)) \(text(run.text))" }
            }
            guard case .heading(let level) = block.kind else { return links }
            return ["\(level) \(text(block.text))"] + links
        }
    }

    @Test(.enabled(if: path != nil, "SMALLWEB_COMMONMARK_EXAMPLES does not name the file"))
    func hasTheLinksAndHeadingsOfTheHTML() throws {
        let file = try Data(contentsOf: URL(fileURLWithPath: Self.path ?? ""))
        let examples = try JSONDecoder().decode([Example].self, from: file)
        #expect(examples.count > 600)
        var count = 0
        for example in examples {
            var (markdown, html) = (MarkdownReader(), HTMLReader())
            let found = markdown.add(Array(example.markdown.utf8)[...]) + markdown.finish()
            let expected = html.add(Array(example.html.utf8)[...]) + html.finish()
            #expect(names(found) == names(expected), "example \(example.example)")
            count += names(expected).count
        }
        #expect(count > 200)
    }

    /// Lines are the page's; definitions may be behind their use.
    /// A paragraph of links takes fifty times as much as its text, so that it comes in pieces.
    @Test func aLongParagraphComesInPieces() {
        let page = Array(String(repeating: "[a](b) ", count: 40_000).utf8)
        for cut in [page.count, 8_192] {
            var reader = MarkdownReader()
            var pieces = stride(from: 0, to: page.count, by: cut).map {
                reader.add(page[$0...].prefix(cut))
            }
            while let next = reader.next() { pieces.append(next) }
            #expect(pieces.allSatisfy { $0.reduce(0) { $0 + $1.runs.count } < 10_000 })
            #expect(pieces.joined().reduce(0) { $0 + $1.links.count { _ in true } } == 40_000)
            let text = pieces.joined().flatMap(\.text)
            #expect(text.elementsEqual(String(repeating: "a ", count: 40_000).utf8.dropLast()))
        }
    }

    @Test func makesBlocks() {
        let page = """
            # A *b*

            [c]
            and [d](e).

            > 2. [![f](g)](h)
            >    i

            [c]: /c
            | j | k |
            |---|---|
            | l | [m](n) |

            ```
             o
            ```
            - p

              q
            """
        var reader = MarkdownReader()
        #expect(reader.add(Array(page.utf8)[...]).isEmpty)
        let blocks = reader.finish()
        #expect(reader.finish().isEmpty)
        #expect(
            blocks.map { String(decoding: $0.text, as: UTF8.self) }
                == ["A b", "c and d.", "[f] i", "j\tk", "l\tm", "", " o", "", "p", "q"])
        #expect(blocks.map(\.line) == [1, 3, 6, 10, 12, 15, 15, 15, 17, 19])
        #expect(
            blocks.map(\.kind)
                == [
                    .heading(1), .paragraph, .item(depth: 1, number: 2), .row(isHeader: true),
                    .row(isHeader: false), .fence, .preformatted, .fence,
                    .item(depth: 1, number: nil), .item(depth: 1, number: nil),
                ])
        let links = blocks.flatMap { $0.runs.compactMap(\.link) }
        #expect(
            links.map { String(decoding: $0.target, as: UTF8.self) } == ["/c", "e", "h", "g", "n"])
        #expect(links.map(\.line) == [3, 4, 6, 6, 12])
    }
}
