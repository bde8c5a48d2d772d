// SPDX-License-Identifier: MIT
internal import SmallWebText

/// Writes a tar archive like git-archive(1): in the ustar format (POSIX.1-1988), with pax headers
/// (POSIX.1-2001) for values that exceed its fields. The owner is root; modes are for the umask
/// 0002. Pure: returns the bytes to write.
package struct TarWriter {
    package enum Kind: Hashable {
        /// Its path ends with a slash.
        case directory
        /// - Parameter byteCount: Number of bytes that follow, before ``padding(_:)``.
        case file(byteCount: Int, isExecutable: Bool)
        case symbolicLink(target: [UInt8])
    }

    private let modified: Int
    private let comment: String?
    /// Bytes returned so far, and bytes of the files between them.
    private var writtenBytes = 0

    private static let recordBytes = 512
    private static let blockBytes = 10_240
    /// The largest number of eleven octal digits.
    private static let numberMax = 0o777_7777_7777

    /// - Parameters:
    ///   - modified: The time of all entries, in Unix seconds.
    ///   - comment: A comment on the whole archive.
    package init(modified: Int, comment: String?) {
        (self.modified, self.comment) = (modified, comment)
    }

    /// The bytes before the first entry.
    package mutating func begin() -> [UInt8] {
        var lines: [UInt8] = []
        if let comment { lines += Self.line("comment", Array(comment.utf8)) }
        if modified > Self.numberMax { lines += Self.line("mtime", Array(String(modified).utf8)) }
        guard !lines.isEmpty else { return [] }
        let name = Array("pax_global_header".utf8)
        return count(
            header(Fields(name: name, type: "g", mode: 0o666, byteCount: lines.count))
                + Self.padded(lines))
    }

    /// The header of an entry.
    ///
    /// - Parameter shortName: Replaces a path or target that is too long, with an ending, for
    ///   readers without support for pax headers.
    package mutating func entry(_ path: [UInt8], _ kind: Kind, shortName: String) -> [UInt8] {
        var lines: [UInt8] = []
        var fields = Fields(name: path, type: "0", mode: 0, byteCount: 0)
        if path.count > 100 {
            let prefix = Self.prefixLength(of: path)
            if prefix > 0 && path.count - prefix - 1 <= 100 {
                fields.prefix = Array(path[..<prefix])
                fields.name = Array(path[(prefix + 1)...])
            } else {
                fields.name = Array("\(shortName).data".utf8)
                lines += Self.line("path", path)
            }
        }
        switch kind {
        case .directory: (fields.type, fields.mode) = ("5", 0o775)
        case .file(let byteCount, let isExecutable):
            fields.mode = isExecutable ? 0o775 : 0o664
            fields.byteCount = byteCount
            if byteCount > Self.numberMax {
                fields.byteCount = 0
                lines += Self.line("size", Array(String(byteCount).utf8))
            }
        case .symbolicLink(let target):
            (fields.type, fields.mode, fields.target) = ("2", 0o777, target)
            if target.count > 100 {
                fields.target = Array("see \(shortName).paxheader".utf8)
                lines += Self.line("linkpath", target)
            }
        }
        guard !lines.isEmpty else { return count(header(fields)) }
        let extended = Fields(
            name: Array("\(shortName).paxheader".utf8), type: "x", mode: 0o666,
            byteCount: lines.count)
        return count(header(extended) + Self.padded(lines) + header(fields))
    }

    /// The bytes after a file of `byteCount` bytes, up to the end of its record.
    package mutating func padding(_ byteCount: Int) -> [UInt8] {
        writtenBytes += byteCount
        let rest = byteCount % Self.recordBytes
        return count([UInt8](repeating: 0, count: rest == 0 ? 0 : Self.recordBytes - rest))
    }

    /// The bytes after the last entry: at least two empty records, up to the end of a block.
    package mutating func finish() -> [UInt8] {
        var tail = Self.blockBytes - writtenBytes % Self.blockBytes
        if tail < 2 * Self.recordBytes { tail += Self.blockBytes }
        return count([UInt8](repeating: 0, count: tail))
    }

    private mutating func count(_ bytes: [UInt8]) -> [UInt8] {
        writtenBytes += bytes.count
        return bytes
    }

    // MARK: Headers

    private struct Fields {
        var name: [UInt8]
        var prefix: [UInt8] = []
        var target: [UInt8] = []
        var type: Unicode.Scalar
        var mode: Int
        var byteCount: Int
    }

    private func header(_ fields: Fields) -> [UInt8] {
        var header = [UInt8](repeating: 0, count: Self.recordBytes)
        func put(_ bytes: some Collection<UInt8>, at offset: Int, _ length: Int) {
            for (index, byte) in bytes.prefix(length).enumerated() { header[offset + index] = byte }
        }
        func put(octal number: Int, at offset: Int, digits: Int) {
            put(String(number, radix: 8).padded(to: digits).utf8, at: offset, digits)
        }
        put(fields.name, at: 0, 100)
        put(octal: fields.mode, at: 100, digits: 7)
        put(octal: 0, at: 108, digits: 7)
        put(octal: 0, at: 116, digits: 7)
        put(octal: fields.byteCount, at: 124, digits: 11)
        put(octal: min(max(modified, 0), Self.numberMax), at: 136, digits: 11)
        header[156] = UInt8(ascii: fields.type)
        put(fields.target, at: 157, 100)
        put("ustar\0".utf8, at: 257, 6)
        put("00".utf8, at: 263, 2)
        put("root".utf8, at: 265, 32)
        put("root".utf8, at: 297, 32)
        put(octal: 0, at: 329, digits: 7)
        put(octal: 0, at: 337, digits: 7)
        put(fields.prefix, at: 345, 155)
        // The checksum's own field counts as blanks.
        let sum = header.reduce(8 * 0x20) { $0 + Int($1) }
        put(octal: sum, at: 148, digits: 7)
        return header
    }

    /// Length of the part of a long path for the prefix field, up to a slash; 0 without a suitable
    /// slash.
    private static func prefixLength(of path: [UInt8]) -> Int {
        var length = path.count
        if length > 1 && path[length - 1] == ASCII.slash { length -= 1 }
        length = min(length, 155)
        repeat { length -= 1 } while length > 0 && path[length] != ASCII.slash
        return length
    }

    /// A line of a pax header, which begins with its own length in bytes.
    private static func line(_ key: String, _ value: [UInt8]) -> [UInt8] {
        let rest = 1 + key.utf8.count + 1 + value.count + 1
        var length = rest + 1
        while length != rest + String(length).utf8.count {
            length = rest + String(length).utf8.count
        }
        return Array("\(length) \(key)=".utf8) + value + [ASCII.lineFeed]
    }

    private static func padded(_ bytes: [UInt8]) -> [UInt8] {
        let rest = bytes.count % recordBytes
        return bytes + [UInt8](repeating: 0, count: rest == 0 ? 0 : recordBytes - rest)
    }
}
