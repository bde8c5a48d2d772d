// SPDX-License-Identifier: MIT
internal import SmallWebText

/// Writes blocks as HTML, with a line feed for each of the source, so that numbers of lines stay.
struct MarkdownWriter: Sendable {
    private(set) var html: [UInt8] = []
    /// Of the text that comes next, from 1.
    private var line = 1

    /// The HTML that was written since the last call.
    mutating func take() -> [UInt8] {
        defer { html.removeAll(keepingCapacity: true) }
        return html
    }

    /// Begins a block that is at a line of the source.
    mutating func begin(_ tag: String, line: Int) {
        while self.line < line {
            html.append(ASCII.lineFeed)
            self.line += 1
        }
        html.append(tag)
    }

    mutating func end(_ tag: String) { html.append(tag) }

    mutating func text(_ text: ArraySlice<UInt8>) {
        escape(text)
        line += text.count { $0 == ASCII.lineFeed }
    }

    mutating func markup(_ markup: ArraySlice<UInt8>) {
        html += markup
        line += markup.count { $0 == ASCII.lineFeed }
    }

    mutating func row(
        _ row: ArraySlice<UInt8>, columns: Int, cell: String, line: Int,
        _ references: inout MarkdownReferences
    ) {
        begin("<tr>", line: line)
        for text in MarkdownTable.cells(of: row).prefix(columns) {
            inlines(text, in: cell, line: line, &references)
        }
        end("</tr>")
    }

    mutating func inlines(
        _ text: ArraySlice<UInt8>, in element: String, line: Int,
        _ references: inout MarkdownReferences
    ) {
        begin("<\(element)>", line: line)
        let start = html.count
        defer { self.line += html[start...].count { $0 == ASCII.lineFeed } }
        var inlines = MarkdownInlines(text, isHeading: element.first == "h")
        inlines.read(&references)
        // Open images: their alternative text has neither links nor HTML.
        var images: [Int] = []
        for piece in inlines.pieces {
            switch piece.kind {
            case .text, .marks: escape(text[piece.range])
            case .reference: html += text[piece.range]
            case .image:
                if images.isEmpty { html.append("<img alt=\"") }
                images.append(Int(piece.start))
            case .imageEnd:
                let image = images.removeLast()
                guard images.isEmpty else { continue }
                html.append("\" src=\"")
                escape(inlines.targets[image][...])
                html.append("\">")
            case .code where !images.isEmpty: escape(text[piece.range])
            case _ where !images.isEmpty: break
            case .html: html += text[piece.range]
            case .code:
                html.append("<code>")
                escape(text[piece.range])
                html.append("</code>")
            case .lineBreak: html.append("<br>")
            case .link:
                html.append("<a href=\"")
                escape(inlines.targets[Int(piece.start)][...])
                html.append("\">")
            case .linkEnd: html.append("</a>")
            }
        }
        html.append("</\(element)>")
    }

    /// Appends text that is not markup, in an attribute or not.
    private mutating func escape(_ text: ArraySlice<UInt8>) {
        var rest = text
        while let index = rest.firstIndex(where: {
            $0 == 0x22 || $0 == 0x26 || $0 == 0x3C || $0 == 0
        }) {
            html += rest[..<index]
            switch rest[index] {
            case UInt8(ascii: "&"): html.append("&amp;")
            case UInt8(ascii: "<"): html.append("&lt;")
            case UInt8(ascii: "\""): html.append("&quot;")
            default: html.append("\u{FFFD}")
            }
            rest = rest[(index + 1)...]
        }
        html += rest
    }
}
