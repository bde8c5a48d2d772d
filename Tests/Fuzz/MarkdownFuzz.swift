// SPDX-License-Identifier: MIT
@testable internal import SmallWebCore
@testable internal import SmallWebFormats

@Sendable func markdown(_ input: [UInt8]) {
    let whole = markdown([input[...]])
    let pieces = Pieces(of: input).pieces
    check(whole == markdown(pieces), "the HTML depends on the pieces")
    // A `>` alone is the longest there is, twice, but for targets that come of references.
    check(whole.count <= 26 * input.count + 600_000, "\(whole.count) bytes of \(input.count)")
    let lineEnds = input.count { ASCII.isLineEnd($0) }
    check(whole.count { $0 == ASCII.lineFeed } <= lineEnds + 1, "a block behind its line")
    let hasDefinitions = input.contains(UInt8(ascii: "["))
    let unheld = markdown(pieces, heldBytesMax: input.count / 2)
    check(hasDefinitions || whole == unheld, "the HTML depends on what is held")
    // What others escape is text.
    var writer = MarkupWriter(.markdown)
    let text = markdown([(writer.paragraph(input[...]) + writer.finish())[...]])
    let elements = text.count { $0 == UInt8(ascii: "<") }
    let breaks = input.count { $0 == ASCII.lineFeed }
    check(elements <= 2 + breaks, "\(String(decoding: text, as: UTF8.self))")
}

private func markdown(_ pieces: [ArraySlice<UInt8>], heldBytesMax: Int = 1 << 24) -> [UInt8] {
    var markdown = MarkdownHTML(heldBytesMax: heldBytesMax)
    var html = pieces.flatMap { markdown.add($0) }
    while let next = markdown.next() { html += next }
    return html
}
