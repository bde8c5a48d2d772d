// SPDX-License-Identifier: MIT

package typealias ASCII = Inlined.ASCII

extension Inlined {
    /// Byte values with a meaning in protocols.
    public enum ASCII {
        @inlinable package static var nul: UInt8 { 0x00 }
        @inlinable package static var tab: UInt8 { 0x09 }
        @inlinable package static var lineFeed: UInt8 { 0x0A }
        @inlinable package static var carriageReturn: UInt8 { 0x0D }
        @inlinable package static var space: UInt8 { 0x20 }
        @inlinable package static var percent: UInt8 { UInt8(ascii: "%") }
        @inlinable package static var dot: UInt8 { UInt8(ascii: ".") }
        @inlinable package static var slash: UInt8 { UInt8(ascii: "/") }
        @inlinable package static var colon: UInt8 { UInt8(ascii: ":") }
        @inlinable package static var questionMark: UInt8 { UInt8(ascii: "?") }
        package static let crlf: [UInt8] = [carriageReturn, lineFeed]

        @inlinable package static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

        @inlinable package static func isBlank(_ byte: UInt8) -> Bool {
            byte == space || byte == tab
        }

        /// True for a space, a tab or a carriage return.
        @inlinable package static func isSpace(_ byte: UInt8) -> Bool {
            isBlank(byte) || byte == carriageReturn
        }

        /// Includes the line ends, vertical tabs and form feeds.
        @inlinable package static func isWhiteSpace(_ byte: UInt8) -> Bool {
            byte == space || 0x09...0x0D ~= byte
        }

        @inlinable package static func isLineEnd(_ byte: UInt8) -> Bool {
            byte == lineFeed || byte == carriageReturn
        }

        @inlinable package static func isLetter(_ byte: UInt8) -> Bool {
            (byte | 0x20) &- 0x61 < 26
        }

        /// Bytes that are not letters stay unchanged.
        @inlinable package static func lowercased(_ byte: UInt8) -> UInt8 {
            byte &- 0x41 < 26 ? byte | 0x20 : byte
        }

        /// Compares a name in any case with one in lower case.
        @inlinable package static func isName(
            _ name: some Collection<UInt8>, _ lower: String
        ) -> Bool {
            name.count == lower.utf8.count
                && name.elementsEqual(lower.utf8) { lowercased($0) == $1 }
        }

        /// True for a member of a class of characters of POSIX, such as `alpha`, in the C locale.
        ///
        /// - Returns: `nil` for a class that does not exist.
        package static func isMember(_ byte: UInt8, of name: ArraySlice<UInt8>) -> Bool? {
            let isGraphic = 0x21..<0x7F ~= byte
            let isAlphanumeric = isLetter(byte) || isDigit(byte)
            return switch String(decoding: name, as: UTF8.self) {
            case "alnum": isAlphanumeric
            case "alpha": isLetter(byte)
            case "blank": isBlank(byte)
            case "cntrl": byte < 0x20 || byte == 0x7F
            case "digit": isDigit(byte)
            case "graph": isGraphic
            case "lower": 0x61...0x7A ~= byte
            case "print": isGraphic || byte == space
            case "punct": isGraphic && !isAlphanumeric
            case "space": isWhiteSpace(byte)
            case "upper": 0x41...0x5A ~= byte
            case "xdigit": hexValue(byte) != nil
            default: nil
            }
        }

        /// Accepts digits of either case; `nil` for other bytes.
        @inlinable package static func hexValue(_ byte: UInt8) -> UInt8? {
            if isDigit(byte) { return byte &- 0x30 }
            let letter = (byte | 0x20) &- 0x61
            return letter < 6 ? letter + 10 : nil
        }

        @inlinable package static func hexDigit(_ value: UInt8) -> UInt8 {
            value < 10 ? 0x30 + value : 0x57 + value
        }

        /// Decodes hexadecimal digits of either case; `nil` for anything else.
        @inlinable package static func bytes(hex digits: some Collection<UInt8>) -> [UInt8]? {
            var (bytes, high) = ([UInt8](), UInt8?.none)
            bytes.reserveCapacity(digits.count / 2)
            for digit in digits {
                guard let value = hexValue(digit) else { return nil }
                if let first = high {
                    bytes.append(first << 4 | value)
                    high = nil
                } else {
                    high = value
                }
            }
            return high == nil ? bytes : nil
        }

        /// Parses a decimal number: digits only, no sign or space, at most `max`.
        @inlinable package static func decimal(_ digits: some Sequence<UInt8>, max: Int) -> Int? {
            var value = 0
            var count = 0
            for digit in digits {
                guard isDigit(digit) else { return nil }
                value = value * 10 + Int(digit &- 0x30)
                guard value <= max else { return nil }
                count += 1
            }
            return count > 0 ? value : nil
        }
    }
}

extension UnsafeBufferPointer<UInt8> {
    package func firstLineFeed(from start: Int) -> Int? { first(ASCII.lineFeed, from: start) }

    /// Offset of the first `byte` from `start` on, which is at least 0. Reads 16 bytes at a time,
    /// then 8, because this is the most frequent search.
    package func first(_ byte: UInt8, from start: Int) -> Int? {
        guard start < count, let bytes = UnsafeRawPointer(baseAddress) else { return nil }
        var offset = start
        let wanted = SIMD16(repeating: byte)
        while count &- offset >= 16,
            !any(bytes.loadUnaligned(fromByteOffset: offset, as: SIMD16<UInt8>.self) .== wanted)
        {
            offset &+= 16
        }
        let (lows, highs) = (0x0101_0101_0101_0101 as UInt64, 0x8080_8080_8080_8080 as UInt64)
        while count &- offset >= 8 {
            let word = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            let zeros = UInt64(littleEndian: word) ^ (lows &* UInt64(byte))
            // The high bit of the first zero byte; of those after it, some more.
            let found = (zeros &- lows) & ~zeros & highs
            if found != 0 { return offset &+ found.trailingZeroBitCount / 8 }
            offset &+= 8
        }
        return self[offset...].firstIndex(of: byte)
    }
}

extension ArraySlice<UInt8> {
    package var firstLineFeed: Int? {
        withUnsafeBufferPointer { $0.firstLineFeed(from: 0) }.map { startIndex + $0 }
    }

    /// Index of the first line feed followed by `byte`.
    package func firstLineFeed(before byte: UInt8) -> Int? {
        withUnsafeBufferPointer { bytes in
            var offset = 0
            while let found = bytes.firstLineFeed(from: offset) {
                offset = found + 1
                if offset < bytes.count, bytes[offset] == byte { return startIndex + found }
            }
            return nil
        }
    }

    /// Number of bytes at the end that may be the beginning of a UTF-8 character; 0 to 3.
    package var cutCharacterCount: Int {
        for (back, byte) in zip(1...3, reversed()) where byte & 0xC0 != 0x80 {
            let length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1
            return length > back ? back : 0
        }
        return 0
    }

    /// A copy without spaces and tabs at both ends.
    package var trimmed: ArraySlice<UInt8> {
        drop(while: ASCII.isBlank).dropLast(while: ASCII.isBlank)
    }

    package func dropLast(while isDropped: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        self[..<(lastIndex { !isDropped($0) }.map { $0 + 1 } ?? startIndex)]
    }

    /// The line without the carriage returns and line feeds at its end.
    package var withoutLineEnd: ArraySlice<UInt8> { dropLast(while: ASCII.isLineEnd) }

    /// The text without a UTF-8 byte order mark at its beginning.
    package var withoutByteOrderMark: ArraySlice<UInt8> {
        starts(with: [0xEF, 0xBB, 0xBF]) ? dropFirst(3) : self
    }
}

extension StringProtocol {
    /// A copy without spaces and tabs at both ends.
    package var trimmed: String {
        let isBlank = { (character: Character) in character == " " || character == "\t" }
        let start = drop(while: isBlank)
        guard let end = start.lastIndex(where: { !isBlank($0) }) else { return "" }
        return String(start[...end])
    }
}

extension String {
    /// True if `byte` occurs in the UTF-8.
    package func holds(_ byte: UInt8) -> Bool {
        utf8.withContiguousStorageIfAvailable { $0.first(byte, from: 0) != nil }
            ?? utf8.contains(byte)
    }
}

extension [UInt8] {
    /// Appends the text's UTF-8, ten times as fast as `+= text.utf8`.
    package mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { self += $0 }
    }
}
