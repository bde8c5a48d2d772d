// SPDX-License-Identifier: MIT
package import SmallWebCore

/// A digest as archives write it: `ALGORITHM:TEXT`, hexadecimal or Base32 (RFC 4648, section 6).
package struct BlockDigest: Sendable, Hashable {
    package let algorithm: Digest.Algorithm
    package let bytes: [UInt8]

    package init(algorithm: Digest.Algorithm, bytes: [UInt8]) {
        (self.algorithm, self.bytes) = (algorithm, bytes)
    }

    /// - Returns: `nil` for an unknown algorithm or form: such a digest proves nothing.
    package init?(_ text: String) {
        guard let colon = text.utf8.firstIndex(of: ASCII.colon) else { return nil }
        let algorithm: Digest.Algorithm
        switch text[..<colon].lowercased() {
        case "sha1", "sha-1": algorithm = .sha1
        case "sha256", "sha-256": algorithm = .sha256
        default: return nil
        }
        let value = text[colon...].dropFirst().utf8
        let bytes =
            value.count == 2 * algorithm.byteCount
            ? ASCII.bytes(hex: value) : Self.bytes(base32: value)
        guard let bytes, bytes.count == algorithm.byteCount else { return nil }
        (self.algorithm, self.bytes) = (algorithm, bytes)
    }

    /// Accepts text with or without padding, in either case.
    private static func bytes(base32 text: some Collection<UInt8>) -> [UInt8]? {
        var (bytes, value, bits) = ([UInt8](), UInt32(0), 0)
        for byte in text where byte != UInt8(ascii: "=") {
            let lower = ASCII.lowercased(byte)
            let digit: UInt8
            switch lower {
            case UInt8(ascii: "a")...UInt8(ascii: "z"): digit = lower - UInt8(ascii: "a")
            case UInt8(ascii: "2")...UInt8(ascii: "7"): digit = lower - UInt8(ascii: "2") + 26
            default: return nil
            }
            value = value << 5 | UInt32(digit)
            bits += 5
            guard bits >= 8 else { continue }
            bits -= 8
            bytes.append(UInt8(truncatingIfNeeded: value >> UInt32(bits)))
        }
        return bytes
    }
}
