// SPDX-License-Identifier: MIT

/// Percent-encoding (RFC 3986 §2.1).
public enum PercentEncoding {
    /// Replaces each `%XX` by its byte. A `%` without two digits stays: ``URI`` refuses those, and
    /// in plain text it has no other reading.
    public static func decode(_ text: some StringProtocol) -> [UInt8] {
        let source = Array(text.utf8)
        guard source.contains(ASCII.percent) else { return source }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(source.count)
        var index = 0
        while index < source.count {
            if source[index] == ASCII.percent, index + 2 < source.count,
                let high = ASCII.hexValue(source[index + 1]),
                let low = ASCII.hexValue(source[index + 2])
            {
                bytes.append(high << 4 | low)
                index += 3
            } else {
                bytes.append(source[index])
                index += 1
            }
        }
        return bytes
    }

    /// Encodes all bytes except RFC 3986 `unreserved` and those in `also`.
    public static func encode(_ bytes: some Sequence<UInt8>, also: String = "") -> String {
        let kept = Array(also.utf8)
        var encoded: [UInt8] = []
        for byte in bytes {
            if isUnreserved(byte) || kept.contains(byte) {
                encoded.append(byte)
            } else {
                appendEscape(of: byte, to: &encoded)
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Appends `%XX` with upper-case digits, the normal form of §6.2.2.1.
    package static func appendEscape(of byte: UInt8, to bytes: inout [UInt8]) {
        let digits = StaticString("0123456789ABCDEF").utf8Start
        bytes.append(ASCII.percent)
        bytes.append(digits[Int(byte >> 4)])
        bytes.append(digits[Int(byte & 15)])
    }

    /// `ALPHA / DIGIT / "-" / "." / "_" / "~"` (§2.3).
    static func isUnreserved(_ byte: UInt8) -> Bool {
        if ASCII.isLetter(byte) || ASCII.isDigit(byte) { return true }
        return switch byte {
        case UInt8(ascii: "-"), ASCII.dot, UInt8(ascii: "_"), UInt8(ascii: "~"): true
        default: false
        }
    }
}

extension PercentEncoding {
    /// A text with the escapes of unreserved bytes decoded and those of others in upper case (RFC
    /// 3986 §6.2.2); a `%` without two digits becomes `%25`. Applied again, it changes nothing.
    ///
    /// - Parameters:
    ///   - escaping: True for plain bytes that are escaped, in addition to those that no URI holds.
    ///   - decoding: True for reserved bytes whose escapes are decoded as well.
    package static func normalised(
        _ text: some Sequence<UInt8>, decoding: (UInt8) -> Bool = { _ in false },
        escaping: (UInt8) -> Bool = { _ in false }
    ) -> [UInt8] {
        let source = Array(text)
        var (bytes, index) = ([UInt8](), 0)
        bytes.reserveCapacity(source.count)
        while index < source.count {
            var byte = source[index]
            var isEscaped = byte <= 0x20 || byte >= 0x7F || "\"%<>[]\\^`{|}#".utf8.contains(byte)
            isEscaped = isEscaped || escaping(byte)
            if byte == ASCII.percent, index + 2 < source.count,
                let high = ASCII.hexValue(source[index + 1]),
                let low = ASCII.hexValue(source[index + 2])
            {
                byte = high << 4 | low
                isEscaped = !isUnreserved(byte) && !decoding(byte)
                index += 2
            }
            if isEscaped { appendEscape(of: byte, to: &bytes) } else { bytes.append(byte) }
            index += 1
        }
        return bytes
    }
}
