// SPDX-License-Identifier: MIT
internal import SmallWeb

/// Builds one line of JSON. Keys come out in the order in which they are written, and nothing in
/// the line can drive a terminal: what ``TerminalText`` calls dangerous is escaped.
struct JSONWriter {
    private(set) var bytes: [UInt8] = []
    private var needsComma = false
    private var depth = 0
    /// Of the outermost object, the members that are wanted; `nil` for all.
    private let wanted: Set<String>?

    private init(wanted: Set<String>?) {
        self.wanted = wanted
        // A page of a few lines needs no more.
        bytes.reserveCapacity(2048)
    }

    /// One object, with the end of its line.
    ///
    /// - Parameter wanted: Of its members; `nil` for all.
    static func line(wanted: Set<String>? = nil, _ body: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter(wanted: wanted)
        writer.object(body)
        writer.bytes.append(ASCII.lineFeed)
        return writer.bytes
    }

    // MARK: Structure

    mutating func object(_ body: (inout JSONWriter) -> Void) {
        nest(UInt8(ascii: "{"), UInt8(ascii: "}"), body)
    }

    mutating func array<Element>(
        _ elements: some Sequence<Element>, _ body: (inout JSONWriter, Element) -> Void
    ) {
        nest(UInt8(ascii: "["), UInt8(ascii: "]")) { writer in
            for element in elements { body(&writer, element) }
        }
    }

    /// A member of the present object; `body` writes its value.
    mutating func member(_ name: String, _ body: (inout JSONWriter) -> Void) {
        guard depth > 1 || wanted?.contains(name) ?? true else { return }
        separate()
        // Names are ours: nothing to escape.
        bytes.append(UInt8(ascii: "\""))
        bytes.append(name)
        bytes.append(UInt8(ascii: "\""))
        bytes.append(ASCII.colon)
        needsComma = false
        body(&self)
        needsComma = true
    }

    /// The same for a name from outside, which is escaped.
    mutating func member(foreign name: String, _ body: (inout JSONWriter) -> Void) {
        value(name)
        bytes.append(ASCII.colon)
        needsComma = false
        body(&self)
        needsComma = true
    }

    mutating func member(_ name: String, _ value: String?) { member(name) { $0.value(value) } }
    mutating func member(_ name: String, _ value: Int?) { member(name) { $0.value(value) } }
    mutating func member(_ name: String, _ value: Bool?) { member(name) { $0.value(value) } }
    mutating func member(_ name: String, seconds: Double?) {
        member(name) { $0.value(seconds: seconds) }
    }

    mutating func member(_ name: String, seconds duration: Duration?) {
        member(name, seconds: duration?.inSeconds)
    }

    /// An object about `value`; null when there is none.
    mutating func member<Value>(
        _ name: String, object value: Value?, _ body: (inout JSONWriter, Value) -> Void
    ) {
        member(name) { writer in
            guard let value else { return writer.null() }
            writer.object { body(&$0, value) }
        }
    }

    /// An array; null when there is none.
    mutating func member<Element>(
        _ name: String, array elements: (some Sequence<Element>)?,
        _ body: (inout JSONWriter, Element) -> Void
    ) {
        member(name) { writer in
            guard let elements else { return writer.null() }
            writer.array(elements, body)
        }
    }

    // MARK: Values

    mutating func value(_ text: String?) {
        guard var text else { return null() }
        separate()
        _ = text.withUTF8 { quoted($0) }
    }

    /// Beyond 2^53 a string, since readers keep numbers as doubles.
    mutating func value(_ number: Int?) {
        guard let number else { return null() }
        if number.magnitude >= 1 << 53 { return value(String(number)) }
        separate()
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        append(digits: number.magnitude)
    }

    mutating func value(_ flag: Bool?) { raw(flag.map { $0 ? "true" : "false" } ?? "null") }

    /// With six decimals.
    mutating func value(seconds: Double?) {
        guard let seconds else { return null() }
        let micros = UInt(max(0, (seconds * 1e6).rounded()))
        separate()
        append(digits: micros / 1_000_000)
        bytes.append(ASCII.dot)
        append(digits: micros % 1_000_000, atLeast: 6)
    }

    mutating func value(base64 bytes: some Sequence<UInt8>) { value(Base64.encode(Array(bytes))) }

    mutating func null() { raw("null") }

    /// JSON text that is valid and harmless already.
    mutating func raw(_ text: some Sequence<UInt8>) {
        separate()
        bytes += text
    }

    mutating func raw(_ text: String) {
        separate()
        bytes.append(text)
    }

    /// The text of `bytes`, if they are UTF-8.
    ///
    /// - Returns: Whether they are; otherwise nothing is written.
    mutating func value(utf8 text: ArraySlice<UInt8>, allowsNUL: Bool = true) -> Bool {
        let (count, hadComma) = (bytes.count, needsComma)
        separate()
        if text.withUnsafeBufferPointer({ quoted($0, allowsNUL: allowsNUL) }) { return true }
        bytes.removeSubrange(count...)
        needsComma = hadComma
        return false
    }

    /// `name` with the text of `bytes`; what is not UTF-8 is also there as it came.
    mutating func member(_ name: String, bytes: [UInt8]) {
        var isText = true
        member(name) { writer in
            isText = writer.value(utf8: bytes[...])
            if !isText { writer.value(String(decoding: bytes, as: UTF8.self)) }
        }
        if !isText { member(name + "_base64") { $0.value(base64: bytes) } }
    }

    /// `text` if it is UTF-8, otherwise `base64`.
    mutating func member(text: ArraySlice<UInt8>, allowsNUL: Bool) {
        let (count, hadComma) = (bytes.count, needsComma)
        var isText = false
        member("text") { isText = $0.value(utf8: text, allowsNUL: allowsNUL) }
        if isText { return }
        bytes.removeSubrange(count...)
        needsComma = hadComma
        member("base64") { $0.value(base64: text) }
    }

    // MARK: Text

    private mutating func nest(
        _ open: UInt8, _ close: UInt8, _ body: (inout JSONWriter) -> Void
    ) {
        separate()
        bytes.append(open)
        needsComma = false
        depth += 1
        body(&self)
        depth -= 1
        bytes.append(close)
        needsComma = true
    }

    /// - Parameter count: With zeros in front up to so many.
    private mutating func append(digits number: UInt, atLeast count: Int = 1) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var (start, rest) = (20, number)
            repeat {
                start -= 1
                digits[start] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            } while rest > 0 || 20 - start < count
            bytes += UnsafeBufferPointer(rebasing: digits[start...])
        }
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = depth > 0
    }

    /// Writes a string, unless it cannot be one: then what has been written is of no use.
    @discardableResult
    private mutating func quoted(
        _ text: UnsafeBufferPointer<UInt8>, allowsNUL: Bool = true
    ) -> Bool {
        bytes.append(UInt8(ascii: "\""))
        let isValid = JSONText.escape(text, into: &bytes, allowsNUL: allowsNUL)
        bytes.append(UInt8(ascii: "\""))
        return isValid
    }
}

/// The inside of JSON strings.
enum JSONText {
    /// Appends `text`, escaped.
    ///
    /// - Returns: False when it is not UTF-8, or has a NUL that is not allowed; it has then been
    ///   appended up to there.
    static func escape(
        _ text: UnsafeBufferPointer<UInt8>, into bytes: inout [UInt8], allowsNUL: Bool = true
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
            bytes += UnsafeBufferPointer(rebasing: text[start..<index])
            append(scalar, to: &bytes)
            index += length
            start = index
        }
        bytes += UnsafeBufferPointer(rebasing: text[start...])
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
    private static func append(_ scalar: Unicode.Scalar, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\\"))
        switch scalar {
        case "\"", "\\": bytes.append(UInt8(ascii: scalar))
        case "\n": bytes.append(UInt8(ascii: "n"))
        case "\r": bytes.append(UInt8(ascii: "r"))
        case "\t": bytes.append(UInt8(ascii: "t"))
        default:
            // All of them are below U+10000.
            let digits = Array("0123456789abcdef".utf8)
            bytes.append(UInt8(ascii: "u"))
            for shift in [12, 8, 4, 0] { bytes.append(digits[Int(scalar.value >> shift) & 15]) }
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
