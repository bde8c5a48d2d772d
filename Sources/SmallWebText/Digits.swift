// SPDX-License-Identifier: MIT

extension [UInt8] {
    /// Appends a decimal number.
    ///
    /// - Parameter least: Minimum number of digits, padded with zeros; at most 20.
    package mutating func append(digits number: Int, atLeast least: Int = 1) {
        if number < 0 { append(UInt8(ascii: "-")) }
        withDigits(number.magnitude, atLeast: least) { self += $0 }
    }

    /// Appends the last `count` hexadecimal digits of a number, in lower case.
    package mutating func append(hex number: UInt64, digits count: Int) {
        for digit in (0..<count).reversed() {
            append(ASCII.hexDigit(UInt8(truncatingIfNeeded: number >> UInt64(4 * digit)) & 15))
        }
    }

    package var hex: String {
        String(unsafeUninitializedCapacity: count * 2) { buffer in
            for (index, byte) in enumerated() {
                buffer[2 * index] = ASCII.hexDigit(byte >> 4)
                buffer[2 * index + 1] = ASCII.hexDigit(byte & 15)
            }
            return count * 2
        }
    }
}

extension ByteBuilder {
    mutating func append(digits number: UInt, atLeast least: Int = 1) {
        if number < 10 && least == 1 { return append(UInt8(ascii: "0") + UInt8(number)) }
        withDigits(number, atLeast: least) { append($0) }
    }
}

/// Gives `body` a decimal number in a memory of 20 bytes on the stack.
@inline(__always)
private func withDigits(
    _ number: UInt, atLeast least: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Void
) {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
        var (start, rest) = (20, number)
        repeat {
            start -= 1
            digits[start] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        } while rest > 0 || 20 - start < least
        body(UnsafeBufferPointer(rebasing: digits[start...]))
    }
}

extension String {
    /// The digits of a number with zeros before them, up to `count`.
    package func padded(to count: Int) -> String {
        String(repeating: "0", count: Swift.max(0, count - utf8.count)) + self
    }
}

extension Duration {
    package var inSeconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}

extension Double {
    /// Without a fraction if it is whole.
    package var shortest: String {
        // By its text: a program that imports formats alone links no mathematics of C.
        description.hasSuffix(".0") ? String(description.dropLast(2)) : description
    }
}
