// SPDX-License-Identifier: MIT
internal import SmallWebCore
@testable internal import SmallWebFormats

/// Tokens as bytes, the parts of a text joined.
private struct TokenText: HTMLTokenSink {
    var isForeign: Bool
    var bytes: [UInt8] = []
    /// Bytes of texts, names and values.
    var count = 0
    private var last = HTMLToken.none

    private enum HTMLToken { case none, text, aside, tag }

    init(isForeign: Bool) { self.isForeign = isForeign }

    private mutating func add(_ token: HTMLToken, _ text: some Collection<UInt8>) {
        if token != last || token == .tag { bytes.append(0xFF) }
        last = token
        bytes += text
        count += text.count
    }

    mutating func text(_ text: UnsafeBufferPointer<UInt8>, line: Int) {
        if !text.isEmpty { add(.text, text) }
    }

    mutating func aside(_ text: UnsafeBufferPointer<UInt8>, isDoctype: Bool, isLast: Bool) {
        add(.aside, text)
        if isLast { last = .none }
    }

    mutating func start(_ tag: borrowing HTMLTag) -> HTMLTokenizerMode {
        add(.tag, tag.name)
        for index in 0..<tag.attributesCount {
            let (name, value) = tag.attribute(index)
            check(tag.attributesCount <= HTMLTag.attributesMax, "too many attributes")
            add(.tag, name)
            add(.tag, value)
        }
        bytes += [UInt8(truncatingIfNeeded: tag.line), tag.isSelfClosing ? 1 : 0]
        return HTMLElement(tag.name).mode
    }

    mutating func end(_ tag: borrowing HTMLTag) {
        add(.tag, tag.name)
        bytes.append(UInt8(truncatingIfNeeded: tag.line))
    }
}

/// A page of HTML: its tokens do not depend on the pieces, and are never more than three times it.
@Sendable func htmlTokens(_ input: [UInt8]) {
    let isForeign = (input.first ?? 0) & 1 == 1
    let read = { (pieces: [ArraySlice<UInt8>]) -> TokenText in
        var tokenizer = HTMLTokenizer(TokenText(isForeign: isForeign))
        for piece in pieces { tokenizer.add(piece) }
        tokenizer.finish()
        return tokenizer.sink
    }
    let whole = read([input[...]])
    check(whole.bytes == read(Pieces(of: input).pieces).bytes, "the tokens depend on the pieces")
    check(whole.count <= 3 * input.count, "\(whole.count) bytes of \(input.count)")
}

/// A page of HTML: its blocks do not depend on the pieces, are bounded, and have nothing that the
/// page has not.
@Sendable func html(_ input: [UInt8]) {
    let read = { (pieces: [ArraySlice<UInt8>]) -> [TextBlock] in
        var reader = HTMLReader()
        return pieces.flatMap { reader.add($0) } + reader.finish()
    }
    let blocks = read([input[...]])
    check(blocks == read(Pieces(of: input).pieces), "the blocks depend on the pieces")
    let lines = input.count { $0 == ASCII.lineFeed || $0 == ASCII.carriageReturn } + 1
    var fences = 0
    for block in blocks {
        check(1...lines ~= block.line, "line \(block.line)")
        if block.kind == .fence { fences += 1 }
        check((block.kind == .preformatted) == (fences % 2 == 1) || block.kind == .fence, "fences")
        if block.kind == .preformatted { check(!block.text.contains(ASCII.lineFeed), "two lines") }
        if case .heading(let level) = block.kind { check(1...6 ~= level, "level \(level)") }
        check(block.cells.joined().elementsEqual(block.runs), "cells lose runs")
        for link in block.runs.compactMap(\.link) {
            check(!link.element.isEmpty && 1...lines ~= link.line, "a link of no element")
            check(!link.target.contains { [9, 10, 13].contains($0) }, "a line end in a target")
            check(!link.target.starts(with: "javascript:".utf8), "a script")
        }
    }
    check(fences % 2 == 0, "an open fence")
    let count = blocks.reduce(0) { $0 + $1.text.count }
    check(count <= 6 * input.count + 64, "\(count) bytes of \(input.count)")
    check(!HTMLCharset.name(of: input[...]).isEmpty, "no charset")
}
