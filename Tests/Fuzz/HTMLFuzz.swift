// SPDX-License-Identifier: MIT
@testable internal import SmallWeb
@testable internal import SmallWebCLI
internal import SmallWebCore
@testable internal import SmallWebFormats
internal import SmallWebPlugins

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

/// Elements with their attributes, and where links lead.
private struct ElementNames: HTMLTokenSink {
    var isForeign: Bool { false }
    var names: Set<String> = []
    var targets: [String] = []

    mutating func text(_ text: UnsafeBufferPointer<UInt8>, line: Int) {}

    mutating func aside(_ text: UnsafeBufferPointer<UInt8>, isDoctype: Bool, isLast: Bool) {
        // That between a list and code is blank.
        let text = String(decoding: text, as: UTF8.self)
        if text.contains(where: { $0 != " " }) { names.insert("<!" + text) }
    }

    mutating func start(_ tag: borrowing HTMLTag) -> HTMLTokenizerMode {
        let attributes = (0..<tag.attributesCount).map { tag.attribute($0) }
        let words = [tag.name] + attributes.map(\.name)
        names.insert(words.map { String(decoding: $0, as: UTF8.self) }.joined(separator: " "))
        if let target = tag.value("href") {
            targets.append(String(decoding: target, as: UTF8.self))
        }
        return HTMLElement(tag.name).mode
    }

    mutating func end(_ tag: borrowing HTMLTag) {}
}

/// A page as `--render html` and `markdown` write it: read again, it has no elements and attributes
/// but ours, and its links are those of the page.
@Sendable func rendered(_ input: [UInt8]) {
    guard let base = try? URI(parsing: "https://h.test/d/e?f") else { fatalError("base") }
    let head = Head(.success, mediaType: MediaType(parsing: "text/html; charset=utf-8"))
    let page = PageReader(head, base: base, registry: .builtIn)
    page.require(.text)
    let lines = page.read(.body(input[...])) + page.finish(isWhole: true)
    let links = lines.map { page.links($0) }
    let urls = Set(links.joined().compactMap { $0.isEmbedded ? nil : $0.uri?.description })
    let common: Set = [
        "p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre",
        "table", "tr", "th", "td", "a href",
    ]
    for format in [MarkupWriter.Format.html, .markdown] {
        var markup = PageMarkup(writer: MarkupWriter(format), registry: .builtIn)
        var written = zip(lines, links).flatMap { markup.bytes(of: $0, $1) }
        written += markup.writer.finish()
        var html = [written]
        if format == .markdown {
            var markdown = MarkdownHTML()
            html = [markdown.add(written[...])]
            while let next = markdown.next() { html.append(next) }
        }
        var tokenizer = HTMLTokenizer(ElementNames())
        for piece in html { tokenizer.add(piece[...]) }
        tokenizer.finish()
        // Markdown's own.
        let others: Set = format == .html ? ["li value"] : ["code", "ol start"]
        let left = tokenizer.sink.names.subtracting(common).subtracting(others)
        check(left.isEmpty, "\(left) in \(String(decoding: written, as: UTF8.self))")
        for target in tokenizer.sink.targets {
            check(urls.contains(target), "\(target) is not a link of the page")
            let scheme = target.prefix { $0 != ":" }.lowercased()
            check(!["javascript", "data", "blob", "vbscript"].contains(scheme), target)
        }
    }
}
