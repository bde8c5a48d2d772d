// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWebCore

/// Record identifier: a random UUID (RFC 9562, section 5.4), written `<urn:uuid:…>`.
struct RecordID: Sendable, Hashable {
    let high, low: UInt64

    /// - Parameter generator: Shared by many records: the system's would cost two calls for each.
    init(using generator: inout some RandomNumberGenerator) {
        high = generator.next() & ~0xF000 | 0x4000
        low = generator.next() & ~(0xC0 << 56) | 0x80 << 56
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

/// Fast generator with a random seed: identifiers are not secrets.
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

/// Wall-clock time in microseconds, for records.
struct RecordDate: Sendable, Hashable {
    let seconds, microseconds: Int

    static var now: RecordDate {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return RecordDate(seconds: time.tv_sec, microseconds: time.tv_nsec / 1000)
    }

    /// `2026-11-20T22:17:13.000042Z`.
    var text: String {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    func append(to bytes: inout [UInt8]) {
        UTCDate(seconds).append(to: &bytes)
        bytes.append(ASCII.dot)
        bytes.append(digits: microseconds, atLeast: 6)
        bytes.append(UInt8(ascii: "Z"))
    }

    /// The header field of a record.
    var line: [UInt8] {
        var line: [UInt8] = []
        line.append("WARC-Date: ")
        append(to: &line)
        line += ASCII.crlf
        return line
    }
}

/// The header of a record, appended to a buffer.
struct RecordText: ~Copyable {
    let id: RecordID
    private var bytes: [UInt8]

    /// - Parameters:
    ///   - common: Fields shared by several records.
    ///   - buffer: Moved in, and returned by ``end(blockBytes:)``.
    init(_ type: String, _ id: RecordID, _ common: [UInt8], in buffer: consuming [UInt8]) {
        self.id = id
        bytes = buffer
        bytes.append("WARC/1.1\r\nWARC-Type: ")
        bytes.append(type)
        bytes.append("\r\nWARC-Record-ID: ")
        id.append(to: &bytes)
        bytes += ASCII.crlf
        bytes += common
    }

    mutating func add(_ name: String, _ id: RecordID) {
        bytes.append(name)
        id.append(to: &bytes)
        bytes += ASCII.crlf
    }

    mutating func add(lines: [UInt8]) { bytes += lines }

    /// - Parameter name: With the colon and a blank.
    mutating func add(_ name: String, _ value: String) { bytes.add(name, value) }

    /// Adds the media type of a message's block.
    ///
    /// - Parameter subtype: Subtype of the protocol, below "application".
    mutating func add(contentType subtype: String, message: String) {
        bytes.append("Content-Type: application/")
        bytes.append(subtype)
        bytes.append("; msgtype=")
        bytes.append(message)
        bytes += ASCII.crlf
    }

    mutating func addDigest(_ name: String, _ sha256: [UInt8]) {
        bytes.append(name)
        bytes.append("sha256:")
        bytes.append(sha256.hex)
        bytes += ASCII.crlf
    }

    /// - Returns: The buffer with the complete header appended.
    consuming func end(blockBytes: Int) -> [UInt8] {
        bytes.append("Content-Length: ")
        bytes.append(digits: blockBytes)
        bytes.append("\r\n\r\n")
        return bytes
    }
}

extension [UInt8] {
    /// Adds a header field with its line end.
    ///
    /// - Parameter name: With the colon and a blank.
    mutating func add(_ name: String, _ value: String) {
        append(name)
        let start = count
        append(value)
        // Drop control characters: a line end in a value would begin another field.
        let hasControls = withUnsafeBufferPointer { bytes in
            bytes[start...].contains { $0 < ASCII.space }
        }
        if hasControls {
            let clean = self[start...].filter { $0 >= ASCII.space }
            replaceSubrange(start..., with: clean)
        }
        self += ASCII.crlf
    }
}
