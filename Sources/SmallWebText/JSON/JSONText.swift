// SPDX-License-Identifier: MIT

/// The contents of JSON strings.
enum JSONText {
    /// Appends `text`, escaped.
    ///
    /// - Returns: False if the text is not UTF-8 or has a refused NUL; a part of it may have been
    ///   appended.
    static func escape(
        _ text: UnsafeBufferPointer<UInt8>, into bytes: inout ByteBuilder, allowsNUL: Bool = true
    ) -> Bool {
        var index = 0
        /// Start of the bytes to copy unchanged.
        var start = 0
        while true {
            index = plainEnd(of: text, from: index)
            guard index < text.count else { break }
            var (scalar, length) = (Unicode.Scalar(text[index]), 1)
            if !scalar.isASCII {
                guard let found = Self.scalar(in: text, at: index) else { return false }
                (scalar, length) = found
                if !TerminalText.isDangerous(scalar) {
                    index += length
                    continue
                }
            }
            guard scalar != "\0" || allowsNUL else { return false }
            if index > start { bytes.append(UnsafeBufferPointer(rebasing: text[start..<index])) }
            append(scalar, to: &bytes)
            index += length
            start = index
        }
        bytes.append(UnsafeBufferPointer(rebasing: text[start...]))
        return true
    }

    /// Offset of the next byte that may need an escape or may not be UTF-8. Compares sixteen bytes
    /// at a time, near the end eight.
    private static func plainEnd(of text: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        // Other scripts have runs of such bytes.
        guard start < text.count, isPlain(text[start]) else { return start }
        let bytes = UnsafeRawPointer(text.baseAddress!)
        var index = start
        while text.count &- index >= 16 {
            let words = bytes.loadUnaligned(fromByteOffset: index, as: SIMD2<UInt64>.self)
            let count = plainBytes(
                SIMD2(UInt64(littleEndian: words[0]), UInt64(littleEndian: words[1])))
            index &+= count
            if count < 16 { return index }
        }
        if text.count &- index >= 8 {
            let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let count = plainBytes(SIMD2(UInt64(littleEndian: word), 0))
            index &+= count
            if count < 8 { return index }
        }
        while index < text.count, isPlain(text[index]) { index &+= 1 }
        return index
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"")
            && byte != UInt8(ascii: "\\")
    }

    /// Number of the sixteen bytes before the first that is not plain.
    @inline(__always)
    private static func plainBytes(_ words: SIMD2<UInt64>) -> Int {
        let ones = SIMD2<UInt64>(repeating: 0x0101_0101_0101_0101)
        // A borrow out of a byte below the limit sets its high bit; the lowest such byte is exact.
        let below = { (limit: UInt64, words: SIMD2<UInt64>) in
            (words &- ones &* SIMD2(repeating: limit)) & ~words
        }
        let equal = { (byte: UInt64) in below(1, words ^ ones &* SIMD2(repeating: byte)) }
        let found =
            (words | below(0x20, words) | equal(0x22) | equal(0x5C) | equal(0x7F))
            & SIMD2(repeating: 0x8080_8080_8080_8080)
        if found[0] | found[1] == 0 { return 16 }
        return found[0] != 0
            ? found[0].trailingZeroBitCount / 8 : 8 + found[1].trailingZeroBitCount / 8
    }

    private static func append(_ scalar: Unicode.Scalar, to bytes: inout ByteBuilder) {
        bytes.append(UInt8(ascii: "\\"))
        switch scalar {
        case "\"", "\\": bytes.append(UInt8(ascii: scalar))
        case "\n": bytes.append(UInt8(ascii: "n"))
        case "\r": bytes.append(UInt8(ascii: "r"))
        case "\t": bytes.append(UInt8(ascii: "t"))
        default:
            // All characters to escape are below U+10000.
            bytes.append(UInt8(ascii: "u"))
            for shift: UInt32 in stride(from: 12, through: 0, by: -4) {
                bytes.append(ASCII.hexDigit(UInt8(scalar.value >> shift & 15)))
            }
        }
    }

    /// The non-ASCII character at `index`, and its length; `nil` if it is not UTF-8 (RFC 3629).
    private static func scalar(
        in text: UnsafeBufferPointer<UInt8>, at index: Int
    ) -> (Unicode.Scalar, Int)? {
        let first = text[index]
        let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2
        guard first >= 0xC2, first <= 0xF4, index + length <= text.count else { return nil }
        var value = UInt32(first) & (0x7F >> UInt32(length))
        for offset in 1..<length {
            let byte = text[index + offset]
            guard byte & 0xC0 == 0x80 else { return nil }
            value = value << 6 | UInt32(byte & 0x3F)
        }
        // Overlong forms; surrogates and numbers beyond Unicode are not scalars.
        guard value >= [0x80, 0x800, 0x10000][length - 2], let scalar = Unicode.Scalar(value)
        else { return nil }
        return (scalar, length)
    }
}

/// Append-only bytes, without an array's uniqueness checks at each append: a record is made of some
/// two hundred pieces.
struct ByteBuilder: ~Copyable {
    private(set) var count = 0
    /// Owned; the first ``count`` bytes are initialised.
    private var memory: UnsafeMutableBufferPointer<UInt8>

    init() {
        // Enough for a small page.
        memory = .allocate(capacity: 4096)
    }

    deinit { memory.deallocate() }

    var array: [UInt8] { Array(UnsafeBufferPointer(rebasing: memory[..<count])) }

    mutating func append(_ byte: UInt8) {
        if count == memory.count { grow(by: 1) }
        memory[count] = byte
        count += 1
    }

    mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let start = bytes.baseAddress else { return }
        if bytes.count > memory.count - count { grow(by: bytes.count) }
        // Not nil, because the allocation is never empty.
        (memory.baseAddress! + count).update(from: start, count: bytes.count)
        count += bytes.count
    }

    mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { append($0) }
    }

    /// Appends a name in quotes with its colon, and a comma before it unless it is the first.
    mutating func append(member name: StaticString, isFirst: Bool) {
        let length = name.utf8CodeUnitCount
        if length + 4 > memory.count - count { grow(by: length + 4) }
        if !isFirst { put(UInt8(ascii: ",")) }
        put(UInt8(ascii: "\""))
        name.withUTF8Buffer { append($0) }
        put(UInt8(ascii: "\""))
        put(ASCII.colon)
    }

    /// Appends a byte for which there is room.
    @inline(__always) private mutating func put(_ byte: UInt8) {
        memory[count] = byte
        count += 1
    }

    mutating func truncate(to count: Int) {
        precondition(count <= self.count)
        self.count = count
    }

    private mutating func grow(by more: Int) {
        let larger = UnsafeMutableBufferPointer<UInt8>.allocate(
            capacity: max(2 * memory.count, count + more))
        larger.baseAddress!.update(from: memory.baseAddress!, count: count)
        memory.deallocate()
        memory = larger
    }
}
