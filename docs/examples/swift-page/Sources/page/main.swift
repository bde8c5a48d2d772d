// SPDX-License-Identifier: MIT
// HTML of gemtext, or of a gopher menu, from standard input, without a network: page URL [menu]
import SmallWebFormats

let words = CommandLine.arguments.dropFirst()
let base = try URI(parsing: words.first ?? "gemini://example.org/")
var source: [UInt8] = []
while let line = readLine(strippingNewline: false) { source += line.utf8 }

/// Nothing that a browser would run instead of fetching it, such as "javascript:".
let safe = { (reference: String) -> String? in
    let uri = try? base.resolving(reference)
    return ["gemini", "gopher", "http", "https"].contains(uri?.scheme) ? uri?.description : nil
}

var writer = MarkupWriter(.html)
var html: [UInt8] = []
if words.last == "menu" {
    var reader = MenuReader(base: base)
    for item in reader.add(source[...]).items {
        let text = Array(item.text.utf8)[...]
        html += item.url.map { writer.link(text, to: safe($0)) } ?? writer.preformatted(text)
    }
} else {
    var reader = GemtextReader()
    for block in reader.add(source[...]) + [reader.finish()].compactMap(\.self) {
        html += writer.block(block) { (safe(String(decoding: $0.target, as: UTF8.self)), "") }
    }
}
print(String(decoding: html + writer.finish(), as: UTF8.self), terminator: "")
