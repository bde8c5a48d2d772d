// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWebCore

/// `<urn:uuid:…>` of a record: a random UUID (RFC 9562, section 5.4).
struct RecordID: Sendable, Hashable {
    let high, low: UInt64

    /// - Parameter generator: Where thousands are made, the system would be asked twice for each.
    init(using generator: inout some RandomNumberGenerator) {
        high = generator.next() & ~0xF000 | 0x4000
        low = generator.next() & ~(0xC0 << 56) | 0x80 << 56
    }

    /// What a record has; `nil` for an identifier of another kind.
    init?(_ text: String) {
        let digits = text.utf8.filter { ASCII.hexValue($0) != nil }
        guard text.hasPrefix("<urn:uuid:"), text.utf8.count == 47,
            let bytes = ASCII.bytes(hex: digits.suffix(32)), bytes.count == 16
        else { return nil }
        high = bytes[..<8].reduce(0) { $0 << 8 | UInt64($1) }
        low = bytes[8...].reduce(0) { $0 << 8 | UInt64($1) }
    }

    var text: String {
        String(unsafeUninitializedCapacity: 47) { buffer in
            var count = 0
            for byte in "<urn:uuid:".utf8 {
                buffer[count] = byte
                count += 1
            }
            for (word, isLow) in [(high, false), (low, true)] {
                for digit in 0..<16 {
                    if isLow ? digit == 0 || digit == 4 : digit == 8 || digit == 12 {
                        buffer[count] = UInt8(ascii: "-")
                        count += 1
                    }
                    let value = UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * digit)) & 0xF
                    buffer[count] = ASCII.hexDigit(value) | 0x20
                    count += 1
                }
            }
            buffer[count] = UInt8(ascii: ">")
            return count + 1
        }
    }
}

/// Fast, and seeded by the system: identifiers are not secrets.
struct FastGenerator: RandomNumberGenerator {
    private var state: UInt64

    init() { state = .random(in: .min ... .max) }

    // SplitMix64.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}

/// A moment of the clock on the wall, as records have it: with microseconds.
struct RecordDate: Sendable, Hashable {
    let seconds, microseconds: Int

    static var now: RecordDate {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return RecordDate(seconds: time.tv_sec, microseconds: time.tv_nsec / 1000)
    }

    /// `2026-11-20T22:17:13.000042Z`.
    var text: String {
        let digits = String(microseconds)
        return UTCDate.second(seconds).dropLast() + "."
            + String(repeating: "0", count: 6 - digits.utf8.count) + digits + "Z"
    }
}

/// The header of a record that is being written.
struct RecordText {
    private(set) var bytes: [UInt8] = []

    init(_ type: String, _ id: RecordID, _ date: RecordDate) {
        bytes.reserveCapacity(768)
        bytes.append("WARC/1.1\r\nWARC-Type: ")
        bytes.append(type)
        bytes.append("\r\nWARC-Record-ID: ")
        bytes.append(id.text)
        bytes.append("\r\nWARC-Date: ")
        bytes.append(date.text)
        bytes += ASCII.crlf
    }

    /// - Parameter name: With the colon and a blank.
    mutating func add(_ name: String, _ value: String) {
        bytes.append(name)
        // A line end in a value would begin another field.
        if value.utf8.contains(where: { $0 < ASCII.space }) {
            bytes += value.utf8.filter { $0 >= ASCII.space }
        } else {
            bytes.append(value)
        }
        bytes += ASCII.crlf
    }

    mutating func addDigest(_ name: String, _ sha256: [UInt8]) {
        bytes.append(name)
        bytes.append("sha256:")
        bytes.append(sha256.hex)
        bytes += ASCII.crlf
    }

    /// The header is whole.
    mutating func end(blockBytes: Int) {
        bytes.append("Content-Length: ")
        bytes.append(String(blockBytes))
        bytes.append("\r\n\r\n")
    }
}
