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
        var bytes: [UInt8] = []
        append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    func append(to bytes: inout [UInt8]) {
        bytes.append("<urn:uuid:")
        for digit in 0..<32 {
            if digit == 8 || digit == 12 || digit == 16 || digit == 20 {
                bytes.append(UInt8(ascii: "-"))
            }
            let word = digit < 16 ? high : low
            let value = UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * (digit & 15))) & 0xF
            bytes.append(ASCII.hexDigit(value) | 0x20)
        }
        bytes.append(UInt8(ascii: ">"))
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
        self.init(type, id, common: Self.common(date, target: nil))
    }

    /// - Parameter common: Fields that several records have, by ``common(_:target:)``.
    init(_ type: String, _ id: RecordID, common: [UInt8]) {
        bytes.reserveCapacity(1024)
        bytes.append("WARC/1.1\r\nWARC-Type: ")
        bytes.append(type)
        bytes.append("\r\nWARC-Record-ID: ")
        id.append(to: &bytes)
        bytes += ASCII.crlf
        bytes += common
    }

    /// The lines of date and target.
    static func common(_ date: RecordDate, target: String?) -> [UInt8] {
        var text = RecordText()
        text.add("WARC-Date: ", date.text)
        if let target { text.add("WARC-Target-URI: ", target) }
        return text.bytes
    }

    private init() {}

    mutating func add(_ name: String, _ id: RecordID) {
        bytes.append(name)
        id.append(to: &bytes)
        bytes += ASCII.crlf
    }

    mutating func add(lines: [UInt8]) { bytes += lines }

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
        for byte in sha256 {
            bytes.append(ASCII.hexDigit(byte >> 4) | 0x20)
            bytes.append(ASCII.hexDigit(byte & 0xF) | 0x20)
        }
        bytes += ASCII.crlf
    }

    /// The header is whole.
    mutating func end(blockBytes: Int) {
        bytes.append("Content-Length: ")
        bytes.append(String(blockBytes))
        bytes.append("\r\n\r\n")
    }
}
