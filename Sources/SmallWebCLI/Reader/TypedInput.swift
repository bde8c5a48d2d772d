// SPDX-License-Identifier: MIT
internal import SmallWeb

/// What a person types at a question, byte by byte: a key that acts at once, or a line that Enter
/// ends and that can be edited before. Pure: bytes in; what was typed, and what the terminal shows
/// of it, out.
struct TypedInput {
    enum Step: Equatable {
        /// More is needed.
        case more(echo: String)
        case typed(String, echo: String)
        /// Ctrl-D.
        case end
    }

    /// Characters that begin a line, which others do not; `nil` for all of them.
    private let openers: String?
    /// What there is of a line. Nothing in it would drive a terminal.
    private(set) var line = ""
    private var isTooLong = false
    /// Of a character: the bytes before its last.
    private var character: [UInt8] = []
    private var escape = Escape.none

    /// What a key such as an arrow sends, which has no meaning here.
    private enum Escape {
        case none, begun
        /// `ESC O` and a character.
        case single
        /// `ESC [`, parameters and a letter.
        case sequence
    }

    static let lineBytesMax = 65_536

    /// - Parameter openers: Characters that begin a line; all others act at once. Enter alone does
    ///   nothing, and so does an Enter behind a key. `nil` for a line alone, which may be empty.
    init(openers: String?) { self.openers = openers }

    mutating func take(_ byte: UInt8) -> Step {
        if isPartOfEscape(byte) { return .more(echo: "") }
        if byte < 0x80 { character = [] }
        switch byte {
        // The terminal makes a NUL of a Ctrl-D that came before it gave keys one by one.
        case 0x00, 0x04: return line.isEmpty ? .end : .more(echo: "")
        case ASCII.lineFeed, ASCII.carriageReturn: return endLine()
        case 0x08, 0x7F: return .more(echo: erase(line.suffix(1)))
        case 0x15: return .more(echo: erase(line[...]))
        case 0x17:
            let spaces = line.reversed().prefix { $0 == " " }.count
            let word = line.reversed().dropFirst(spaces).prefix { $0 != " " }.count
            return .more(echo: erase(line.suffix(spaces + word)))
        case 0x1B:
            escape = .begun
            return .more(echo: "")
        case ASCII.tab: return take(Unicode.Scalar(ASCII.space))
        case ..<0x80: return take(Unicode.Scalar(byte))
        default: return takePart(byte)
        }
    }

    private mutating func isPartOfEscape(_ byte: UInt8) -> Bool {
        switch (escape, byte) {
        case (.none, _): return false
        case (.begun, UInt8(ascii: "[")): escape = .sequence
        case (.begun, UInt8(ascii: "O")): escape = .single
        case (.sequence, 0x20...0x3F): break
        case (.sequence, 0x40...0x7E), (.single, 0x20...0x7E): escape = .none
        default:
            // A lone Escape, and then something else.
            escape = .none
            return false
        }
        return true
    }

    /// Of a character that is not ASCII.
    private mutating func takePart(_ byte: UInt8) -> Step {
        character.append(byte)
        guard let text = String(validating: character, as: UTF8.self),
            let scalar = text.unicodeScalars.first
        else {
            // What cannot become a character is left out.
            character = Array(character.suffix(character[...].cutCharacterCount))
            return .more(echo: "")
        }
        character = []
        return take(scalar)
    }

    private mutating func take(_ scalar: Unicode.Scalar) -> Step {
        // Nor what would stand for a byte that is not UTF-8 in the name of a file.
        if TerminalText.isDangerous(scalar) || scalar.isSystemEscape { return .more(echo: "") }
        if line.isEmpty {
            if scalar == " " { return .more(echo: "") }
            if let openers, !openers.unicodeScalars.contains(scalar) {
                return .typed(String(scalar), echo: "\(scalar)\n")
            }
        }
        guard line.utf8.count + 4 <= Self.lineBytesMax else {
            isTooLong = true
            return .more(echo: "\u{7}")
        }
        line.unicodeScalars.append(scalar)
        return .more(echo: String(scalar))
    }

    /// What is at the end of the line, and what takes it from the screen.
    private mutating func erase(_ end: Substring) -> String {
        let columns = DisplayWidth.of(end)
        line.removeLast(end.count)
        return String(repeating: "\u{8} \u{8}", count: columns)
    }

    private mutating func endLine() -> Step {
        if line.isEmpty && openers != nil { return .more(echo: "") }
        defer { (line, isTooLong) = ("", false) }
        // Its beginning is not what was meant.
        return .typed(isTooLong ? "" : line, echo: "\n")
    }
}
