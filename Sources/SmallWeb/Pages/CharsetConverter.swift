// SPDX-License-Identifier: MIT
internal import Glibc

/// Converts text from a declared charset to UTF-8, for a terminal. Owns an iconv descriptor.
package final class CharsetConverter {
    private let descriptor: iconv_t
    private var carry: [CChar] = []
    /// True if a byte was invalid.
    private var hasReplaced = false

    static let namesOfUTF8: Set<String> = ["utf-8", "utf8", "us-ascii"]

    /// `nil` when the charset is UTF-8 already or unknown to the system.
    package init?(from charset: String) {
        if Self.namesOfUTF8.contains(charset) { return nil }
        guard let descriptor = iconv_open("UTF-8//TRANSLIT", charset),
            Int(bitPattern: descriptor) != -1
        else { return nil }
        self.descriptor = descriptor
    }

    deinit { iconv_close(descriptor) }

    /// Converts complete characters and keeps the rest; invalid bytes become U+FFFD.
    package func convert(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var input = carry + bytes.map { CChar(bitPattern: $0) }
        var output: [UInt8] = []
        var used = 0
        input.withUnsafeMutableBufferPointer { buffer in
            var next = buffer.baseAddress
            var left = buffer.count
            while left > 0 {
                var piece = [CChar](repeating: 0, count: 4096)
                var number: Int32 = 0
                let written = piece.withUnsafeMutableBufferPointer { room in
                    var to = room.baseAddress
                    var free = room.count
                    errno = 0
                    _ = iconv(descriptor, &next, &left, &to, &free)
                    number = errno
                    return room.count - free
                }
                output += piece.prefix(written).map { UInt8(bitPattern: $0) }
                if number == EINVAL { break }
                if number == EILSEQ {
                    hasReplaced = true
                    output += Array("\u{FFFD}".utf8)
                    next = next.map { $0 + 1 }
                    left -= 1
                }
            }
            used = buffer.count - left
        }
        carry = Array(input[used...])
        return output
    }

    /// The rest of the text: a character that waited for an accent to follow it, as in
    /// windows-1258. One that is cut off becomes U+FFFD.
    package func finish() -> [UInt8] {
        var piece = [CChar](repeating: 0, count: 64)
        let written = piece.withUnsafeMutableBufferPointer { room in
            var to = room.baseAddress
            var free = room.count
            _ = iconv(descriptor, nil, nil, &to, &free)
            return room.count - free
        }
        let isCutOff = !carry.isEmpty
        carry = []
        return piece.prefix(written).map { UInt8(bitPattern: $0) }
            + (isCutOff ? Array("\u{FFFD}".utf8) : [])
    }

    /// Converts a whole text; `nil` when it is not in the charset.
    package func convertAll(_ bytes: [UInt8]) -> [UInt8]? {
        let text = convert(bytes[...])
        guard carry.isEmpty && !hasReplaced else { return nil }
        return text + finish()
    }
}
