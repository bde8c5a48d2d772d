// SPDX-License-Identifier: MIT

/// The inside of JSON strings.
enum JSONText {
    /// Appends `text`, escaped.
    ///
    /// - Returns: False when it has been appended up to what is not UTF-8, or a refused NUL.
    static func escape(
        _ text: UnsafeBufferPointer<UInt8>, into bytes: inout ByteBuilder, allowsNUL: Bool = true
    ) -> Bool {
        var index = 0
        /// Where the bytes begin that can be copied as they are.
        var start = 0
        while index < text.count {
            if index + 8 <= text.count {
                let count = plainBytes(ofEight: text, at: index)
                index += count
                if count == 8 { continue }
            }
            let byte = text[index]
            if byte >= 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"")
                && byte != UInt8(ascii: "\\")
            {
                index += 1
                continue
            }
            guard let (scalar, length) = scalar(in: text, at: index),
                byte != ASCII.nul || allowsNUL
            else { return false }
            if byte >= 0x80 && !TerminalText.isDangerous(scalar) {
                index += length
                continue
            }
            bytes.append(UnsafeBufferPointer(rebasing: text[start..<index]))
            append(scalar, to: &bytes)
            index += length
            start = index
        }
        bytes.append(UnsafeBufferPointer(rebasing: text[start...]))
        return true
    }

    /// How many of the next eight bytes can be copied as they are, found out at once: ASCII up to
    /// the first control, quotation mark, backslash or DEL.
    private static func plainBytes(
        ofEight text: UnsafeBufferPointer<UInt8>, at index: Int
    ) -> Int {
        let bytes = UnsafeRawPointer(text.baseAddress! + index)
        let word = UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
        let (ones, highBits): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
        // A borrow out of a byte below the limit sets its high bit; the lowest such byte is exact.
        func hasByte(below limit: UInt64, _ word: UInt64) -> UInt64 {
            (word &- ones &* limit) & ~word & highBits
        }
        let found =
            word & highBits | hasByte(below: 0x20, word)
            | hasByte(below: 1, word ^ (ones &* 0x22)) | hasByte(below: 1, word ^ (ones &* 0x5C))
            | hasByte(below: 1, word ^ (ones &* 0x7F))
        return found.trailingZeroBitCount / 8
    }

    /// One character that must not be there as it is.
    private static func append(_ scalar: Unicode.Scalar, to bytes: inout ByteBuilder) {
        bytes.append(UInt8(ascii: "\\"))
        switch scalar {
        case "\"", "\\": bytes.append(UInt8(ascii: scalar))
        case "\n": bytes.append(UInt8(ascii: "n"))
        case "\r": bytes.append(UInt8(ascii: "r"))
        case "\t": bytes.append(UInt8(ascii: "t"))
        default:
            // All of them are below U+10000.
            bytes.append(UInt8(ascii: "u"))
            for shift: UInt32 in stride(from: 12, through: 0, by: -4) {
                bytes.append(ASCII.hexDigit(UInt8(scalar.value >> shift & 15)))
            }
        }
    }

    /// The character at `index` and its length, unless that is not UTF-8 (RFC 3629).
    private static func scalar(
        in text: UnsafeBufferPointer<UInt8>, at index: Int
    ) -> (Unicode.Scalar, Int)? {
        let first = text[index]
        if first < 0x80 { return (Unicode.Scalar(first), 1) }
        let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2
        guard first >= 0xC2, first <= 0xF4, index + length <= text.count else { return nil }
        var value = UInt32(first) & (0x7F >> UInt32(length))
        for offset in 1..<length {
            let byte = text[index + offset]
            guard byte & 0xC0 == 0x80 else { return nil }
            value = value << 6 | UInt32(byte & 0x3F)
        }
        // Overlong forms; surrogates and what is beyond Unicode are no scalars.
        guard value >= [0x80, 0x800, 0x10000][length - 2], let scalar = Unicode.Scalar(value)
        else { return nil }
        return (scalar, length)
    }
}
