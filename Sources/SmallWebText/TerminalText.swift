// SPDX-License-Identifier: MIT

/// Makes text from a server safe to show on a terminal.
///
/// C0 and C1 controls, DEL, bidirectional overrides and invalid UTF-8 become visible escapes
/// (`\x1B`, `\u{202E}`), so that no reply can move the cursor, set a title or reorder a line.
public enum TerminalText {
    /// Escapes a message: the result is one line.
    public static func escapeLine(_ text: String) -> String {
        if text.utf8.allSatisfy({ 0x20..<0x7F ~= $0 }) { return text }
        guard text.hasSystemEscapes || text.unicodeScalars.contains(where: isDangerous) else {
            return text
        }
        var safe = ""
        for scalar in text.unicodeScalars {
            if scalar.isSystemEscape {
                safe += "\\x" + [UInt8(truncatingIfNeeded: scalar.value)].hex.uppercased()
            } else {
                append(scalar, to: &safe)
            }
        }
        return safe
    }

    /// Escapes a whole text: line feeds and tabs stay.
    public static func escape(_ bytes: [UInt8]) -> [UInt8] {
        var filter = Filter()
        return filter.filter(bytes[...], isLast: true)
    }

    /// Escapes a text that arrives in pieces: line feeds and tabs stay, CRLF becomes LF, and a
    /// character split between two pieces is joined again.
    public struct Filter: Sendable {
        private var carry: [UInt8] = []
        /// True if the last piece ended a line, and at the beginning.
        public private(set) var endsWithLineFeed = true

        /// A filter without input.
        public init() {}

        /// Escapes the next piece; a possibly incomplete character waits for the rest.
        public mutating func filter(_ bytes: ArraySlice<UInt8>, isLast: Bool = false) -> [UInt8] {
            var input = carry + bytes
            carry = []
            if !isLast {
                // The line feed behind a carriage return may still come.
                let isReturn = input.last == ASCII.carriageReturn
                let cut = isReturn ? 1 : input[...].cutCharacterCount
                carry = Array(input[(input.count - cut)...])
                input.removeLast(cut)
            }
            var safe = ""
            safe.reserveCapacity(input.count)
            var previous: Unicode.Scalar = "\0"
            for scalar in String(decoding: input, as: UTF8.self).unicodeScalars {
                if previous == "\r" && scalar != "\n" { TerminalText.append(previous, to: &safe) }
                if scalar == "\n" || scalar == "\t" {
                    safe.unicodeScalars.append(scalar)
                } else if scalar != "\r" {
                    TerminalText.append(scalar, to: &safe)
                }
                previous = scalar
            }
            if previous == "\r" { TerminalText.append(previous, to: &safe) }
            if !safe.isEmpty { endsWithLineFeed = safe.utf8.last == ASCII.lineFeed }
            return Array(safe.utf8)
        }
    }

    private static func append(_ scalar: Unicode.Scalar, to text: inout String) {
        if !isDangerous(scalar) {
            text.unicodeScalars.append(scalar)
        } else if scalar.value < 0x80 {
            text += "\\x" + [UInt8(scalar.value)].hex.uppercased()
        } else {
            text += "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
        }
    }

    /// True if a terminal might act on it, or reorder a line because of it.
    public static func isDangerous(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0: true
        // Bidirectional marks, embeddings, overrides and isolates; line and paragraph separators.
        case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}

extension TerminalText {
    /// Removes the control sequences of ECMA-48 from a line: colours, titles, cursor movements. An
    /// unterminated one loses only its introducer, so that it hides no text. Pure.
    public static func withoutSequences(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let hasC1 = { zip(line, line.dropFirst()).contains { $0 == 0xC2 && $1 < 0xA0 } }
        guard line.contains(0x1B) || hasC1() else { return line }
        var (text, rest, endsStrings) = ([UInt8](), line, true)
        while let byte = rest.popFirst() {
            let next = rest.first ?? 0
            // A C1 control is equivalent to ESC and a letter.
            let isC1 = byte == 0xC2 && "P[]X^_".utf8.contains(next &- 0x40)
            guard byte == 0x1B || isC1 else {
                text.append(byte)
                continue
            }
            let body = rest.dropFirst()
            switch Unicode.Scalar(isC1 ? next - 0x40 : next) {
            case "[": rest = behindFinal(body.drop { 0x20..<0x40 ~= $0 }) ?? body
            case "]", "P", "X", "^", "_":
                let end = endsStrings ? behindString(body) : nil
                // Without a terminator, search no more: the line may have as many introducers as
                // bytes.
                endsStrings = end != nil
                rest = end ?? body
            default: rest = behindFinal(rest.drop { 0x20..<0x30 ~= $0 }) ?? rest
            }
        }
        return text[...]
    }

    private static func behindFinal(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        text.first.map { 0x30..<0x7F ~= $0 } ?? false ? text.dropFirst() : nil
    }

    /// The rest after the BEL or ST that ends a string.
    private static func behindString(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        for index in text.indices {
            if text[index] == 0x07 { return text[(index + 1)...] }
            let two = text[index...].prefix(2)
            if two == [0x1B, 0x5C] || two == [0xC2, 0x9C] { return text[(index + 2)...] }
        }
        return nil
    }
}
