// SPDX-License-Identifier: MIT
internal import SmallWeb

/// Line editor for typed bytes: a key that takes effect at once, or a line that can be edited until
/// Enter. No I/O: returns the text to echo.
struct TypedInput {
    enum Step: Equatable {
        case more(echo: String)
        case typed(String, echo: String)
        /// Ctrl-D.
        case end
    }

    /// Characters that begin a line; others take effect at once. `nil` if all begin a line.
    private let openers: String?
    /// The incomplete line, safe to show.
    private(set) var line = ""
    private var isTooLong = false
    /// First bytes of an incomplete character.
    private var character: [UInt8] = []
    private var escape = Escape.none

    /// State in an escape sequence of a key such as an arrow, which is ignored.
    private enum Escape {
        case none, begun
        /// `ESC O` and a character.
        case single
        /// `ESC [`, parameters and a letter.
        case sequence
    }

    static let lineBytesMax = 65_536

    /// - Parameter openers: Characters that begin a line; all others take effect at once. Enter
    ///   alone is ignored, as is an Enter behind a key. `nil` for lines only, which may be empty.
    init(openers: String?) { self.openers = openers }

    mutating func take(_ byte: UInt8) -> Step {
        if isPartOfEscape(byte) { return .more(echo: "") }
        if byte < 0x80 { character = [] }
        switch byte {
        // The terminal turns a Ctrl-D typed in line mode into NUL.
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
            // A lone Escape, followed by another key.
            escape = .none
            return false
        }
        return true
    }

    /// Takes a byte of a character that is not ASCII.
    private mutating func takePart(_ byte: UInt8) -> Step {
        character.append(byte)
        guard let text = String(validating: character, as: UTF8.self),
            let scalar = text.unicodeScalars.first
        else {
            // Drop invalid bytes.
            character = Array(character.suffix(character[...].cutCharacterCount))
            return .more(echo: "")
        }
        character = []
        return take(scalar)
    }

    private mutating func take(_ scalar: Unicode.Scalar) -> Step {
        // A system escape would stand for a byte that is not UTF-8 in a file name.
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

    /// Removes the end of the line, and returns the text that erases it on the screen.
    private mutating func erase(_ end: Substring) -> String {
        let columns = DisplayWidth.of(end)
        line.removeLast(end.count)
        return String(repeating: "\u{8} \u{8}", count: columns)
    }

    private mutating func endLine() -> Step {
        if line.isEmpty && openers != nil { return .more(echo: "") }
        defer { (line, isTooLong) = ("", false) }
        // Discard a line that was too long.
        return .typed(isTooLong ? "" : line, echo: "\n")
    }
}
