// SPDX-License-Identifier: MIT

/// Base64 (RFC 4648 §4), with padding and without line breaks.
package enum Base64 {
    package static func encode(_ bytes: [UInt8]) -> String {
        let alphabet = Array(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        let capacity = (bytes.count + 2) / 3 * 4
        return String(unsafeUninitializedCapacity: capacity) { text in
            var end = 0
            for start in stride(from: 0, to: bytes.count, by: 3) {
                let count = min(3, bytes.count - start)
                var bits = Int(bytes[start]) << 16
                if count > 1 { bits |= Int(bytes[start + 1]) << 8 }
                if count > 2 { bits |= Int(bytes[start + 2]) }
                for position in 0..<4 {
                    text[end] =
                        position <= count
                        ? alphabet[bits >> (18 - 6 * position) & 63] : UInt8(ascii: "=")
                    end += 1
                }
            }
            return end
        }
    }

    /// `nil` for any text that ``encode(_:)`` would not have written.
    package static func decode(_ text: String) -> [UInt8]? {
        var (bytes, bits, count, padding) = ([UInt8](), 0, 0, 0)
        for byte in text.utf8 {
            count += 1
            if byte == UInt8(ascii: "=") {
                padding += 1
                bits <<= 6
            } else {
                guard padding == 0, let value = value(byte) else { return nil }
                bits = bits << 6 | value
            }
            if count % 4 == 0 {
                guard padding <= 2 else { return nil }
                for place in 0..<(3 - padding) {
                    bytes.append(UInt8(bits >> (16 - 8 * place) & 0xFF))
                }
                // The bits cut off by the padding must be 0.
                guard bits & ((1 << (8 * padding)) - 1) == 0 else { return nil }
                bits = 0
            }
        }
        return count % 4 == 0 ? bytes : nil
    }

    private static func value(_ byte: UInt8) -> Int? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): Int(byte) - 65
        case UInt8(ascii: "a")...UInt8(ascii: "z"): Int(byte) - 71
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(byte) + 4
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
