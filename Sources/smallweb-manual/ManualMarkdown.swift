// SPDX-License-Identifier: MIT
internal import Foundation

/// Converts a document of docs/ to a manual page, so that its text exists only once. Supports the
/// Markdown that those documents use.
struct ManualMarkdown {
    private(set) var mdoc = ""
    private var lines: ArraySlice<Substring>
    /// True if the next paragraph must be separated from the preceding text.
    private var needsGap = false

    init(_ text: String) {
        lines = text.split(separator: "\n", omittingEmptySubsequences: false)[...]
        while let line = lines.first {
            if line.hasPrefix("# ") || line.isEmpty {
                lines.removeFirst()
            } else if line.hasPrefix("##") {
                lines.removeFirst()
                mdoc += ".Ss \(Manual.escaped(String(line.drop { $0 == "#" || $0 == " " })))\n"
                needsGap = false
            } else if line.hasPrefix("```") {
                lines.removeFirst()
                literal(taking { !$0.hasPrefix("```") }.map(String.init))
                lines = lines.dropFirst()
            } else if line.hasPrefix("    ") {
                literal(taking { $0.hasPrefix("    ") }.map { String($0.dropFirst(4)) })
            } else if line.hasPrefix("|") {
                table(taking { $0.hasPrefix("|") })
            } else if line.hasPrefix("- ") {
                list()
            } else {
                gap()
                mdoc += Self.filled(taking { Self.isText($0) }.joined(separator: " ")) + "\n"
            }
        }
    }

    private static func isText(_ line: Substring) -> Bool {
        !line.isEmpty && !["#", "|", "- ", "```", "    "].contains(where: line.hasPrefix)
    }

    private mutating func taking(while isPart: (Substring) -> Bool) -> [Substring] {
        let part = lines.prefix(while: isPart)
        lines = lines.dropFirst(part.count)
        return Array(part)
    }

    private mutating func gap() {
        if needsGap { mdoc += ".Pp\n" }
        needsGap = true
    }

    private mutating func literal(_ text: [String]) {
        mdoc += ".Bd -literal -offset indent\n"
        for line in text {
            // A leading dot would begin a macro.
            let escaped = Manual.escaped(line)
            mdoc += (escaped.hasPrefix(".") ? "\\&" : "") + Self.broken(escaped) + "\n"
        }
        mdoc += ".Ed\n"
        needsGap = true
    }

    /// `line` broken into lines of at most 78 columns.
    private static func broken(_ line: String) -> String {
        var pieces = [""]
        for word in line.split(separator: " ", omittingEmptySubsequences: false) {
            if pieces[pieces.count - 1].count + word.count > 76 { pieces.append("") }
            pieces[pieces.count - 1] += word + " "
        }
        let text = pieces.joined(separator: "\\\n")
        return String(text.dropLast())
    }

    /// Writes a table as a list of terms and meanings. The first row names the columns.
    private mutating func table(_ rows: [Substring]) {
        mdoc += ".Bl -tag -width Ds\n"
        for row in rows.dropFirst(2) {
            let cells = row.split(separator: "|").map { $0.drop { $0 == " " } }
            mdoc += ".It \(Self.inline(String(cells[0])).joined(separator: " "))\n"
            let text = cells.dropFirst().joined(separator: " ")
            if !text.allSatisfy({ $0 == " " }) { mdoc += Self.filled(text) + "\n" }
        }
        mdoc += ".El\n"
        needsGap = true
    }

    private mutating func list() {
        mdoc += ".Bl -bullet\n"
        while let line = lines.first, line.hasPrefix("- ") {
            lines.removeFirst()
            let rest = taking { $0.hasPrefix("  ") }
            mdoc +=
                ".It\n" + Self.filled(([line.dropFirst(2)] + rest).joined(separator: " ")) + "\n"
        }
        mdoc += ".El\n"
        needsGap = true
    }

    private static func filled(_ text: String) -> String { Manual.wrapped(inline(text)) }

    /// Words without their marks: code and strong text in bold, links as their text.
    private static func inline(_ text: String) -> [String] {
        var plain = ""
        var (isCode, isStrong) = (false, false)
        var rest = Substring(text)
        while let character = rest.popFirst() {
            switch character {
            case "`":
                isCode.toggle()
                plain += isCode ? "\\fB" : "\\fP"
            case "*" where !isCode && rest.first == "*":
                rest.removeFirst()
                isStrong.toggle()
                plain += isStrong ? "\\fB" : "\\fP"
            case "[" where !isCode && String(rest).range(of: "](") != nil:
                // Only the text of a link: the target is a file of the sources.
                plain += Manual.escaped(String(rest.prefix { $0 != "]" }))
                rest = rest.drop { $0 != ")" }.dropFirst()
            default: plain += Manual.escaped(String(character))
            }
        }
        return plain.split(separator: " ").map(String.init)
    }
}
