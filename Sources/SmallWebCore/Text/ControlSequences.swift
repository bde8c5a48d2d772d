// SPDX-License-Identifier: MIT

extension TerminalText {
    /// Removes the control sequences of ECMA-48 from a line: colours, titles, cursor movements. An
    /// unterminated one loses only its introducer, so that it hides no text. Pure.
    public static func withoutSequences(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard line.contains(where: { $0 == 0x1B || $0 == 0xC2 }) else { return line }
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
