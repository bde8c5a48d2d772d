// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Record identifier: a random UUID (RFC 9562, section 5.4), written `<urn:uuid:…>`.
struct WarcID: Sendable, Hashable {
    let high, low: UInt64

    /// Makes the next one. Identifiers are not secrets, and the system's generator would cost two
    /// calls for each.
    ///
    /// - Parameter state: State of a generator (SplitMix64); any number at first.
    init(after state: inout UInt64) {
        func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var value = state
            value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
            return value ^ value >> 31
        }
        high = next() & ~0xF000 | 0x4000
        low = next() & ~(0xC0 << 56) | 0x80 << 56
    }

    /// Parses a record's identifier; `nil` for one of another kind.
    init?(_ text: String) {
        let digits = text.utf8.filter { ASCII.hexValue($0) != nil }
        guard text.hasPrefix("<urn:uuid:"), text.utf8.count == 47,
            let bytes = ASCII.bytes(hex: digits.suffix(32)), bytes.count == 16
        else { return nil }
        high = bytes[..<8].reduce(0) { $0 << 8 | UInt64($1) }
        low = bytes[8...].reduce(0) { $0 << 8 | UInt64($1) }
    }

    var text: String {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    func append(to bytes: inout [UInt8]) {
        bytes.append("<urn:uuid:")
        bytes.append(hex: high >> 32, digits: 8)
        for part in [high >> 16, high, low >> 48] {
            bytes.append(UInt8(ascii: "-"))
            bytes.append(hex: part, digits: 4)
        }
        bytes.append(UInt8(ascii: "-"))
        bytes.append(hex: low, digits: 12)
        bytes.append(UInt8(ascii: ">"))
    }
}
