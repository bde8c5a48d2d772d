// SPDX-License-Identifier: MIT
internal import Glibc

/// Conversion between text encodings, by the system's iconv.
package enum Iconv {
    /// Converts a whole text.
    ///
    /// - Parameter to: A name that iconv knows, or `UTF-16LE-BOM` and `UTF-16BE-BOM`, which begin
    ///   with a byte order mark.
    /// - Returns: `nil` for an unknown encoding, or text that cannot be represented in it.
    package static func convert(_ content: [UInt8], from: String, to: String) -> [UInt8]? {
        var (name, mark) = (to, [UInt8]())
        switch to.lowercased() {
        case "utf-16le-bom": (name, mark) = ("UTF-16LE", [0xFF, 0xFE])
        case "utf-16be-bom": (name, mark) = ("UTF-16BE", [0xFE, 0xFF])
        default: break
        }
        // A name with // passes options to iconv.
        guard !name.utf8.contains(ASCII.slash), !from.utf8.contains(ASCII.slash),
            let descriptor = iconv_open(name, from), descriptor != iconv_t(bitPattern: -1)
        else { return nil }
        defer { iconv_close(descriptor) }
        var input = content
        var converted = mark
        var piece = [UInt8](repeating: 0, count: 65_536)
        var used = 0
        var isFlushed = false
        while !isFlushed {
            let count = input.count
            var failure: Int32 = 0
            let made = input.withUnsafeMutableBytes { source in
                piece.withUnsafeMutableBytes { target -> Int in
                    var from = source.baseAddress?.assumingMemoryBound(to: CChar.self)
                        .advanced(by: used)
                    var left = count - used
                    var to = target.baseAddress?.assumingMemoryBound(to: CChar.self)
                    var free = target.count
                    let result: Int
                    if left > 0 {
                        result = iconv(descriptor, &from, &left, &to, &free)
                    } else {
                        result = iconv(descriptor, nil, nil, &to, &free)
                        isFlushed = result != -1
                    }
                    failure = result == -1 ? errno : 0
                    used = count - left
                    return target.count - free
                }
            }
            converted += piece[..<made]
            guard failure == 0 || failure == E2BIG else { return nil }
        }
        return converted
    }
}
