// SPDX-License-Identifier: MIT
internal import SmallWeb

/// The file of a page in a mirror, by its URL alone: another one for every other page, and never
/// where a page has its directory. Pure.
///
/// An `@` marks a difference that a file system does not have; one in the URL becomes `%@`. Escapes
/// in the URL have upper-case digits, and those that are added here have lower-case ones.
enum MirrorName {
    /// Leaves room for `.part`, a number and a process id within the usual 255.
    static let bytesMax = 200

    /// The names of the directories and of the file: `scheme/place/path`.
    ///
    /// - Parameter index: The name of a file for a path that ends in a slash; not empty.
    /// - Throws: `not-built-in` for a long name without libcrypto.
    static func components(of key: CrawlKey, index: String) throws(FetchError) -> [String] {
        // Selectors rarely lack their first slash.
        let isOdd =
            key.itemType != nil && !key.path.isEmpty
            && (key.path == "/" || !key.path.hasPrefix("/"))
        let isRooted = !isOdd && key.uri.host != nil && !key.path.isEmpty
        let path = isRooted ? key.path.dropFirst() : key.path[...]
        var segments = path.split(separator: "/", omittingEmptySubsequences: false)
        var last = file(segments.popLast() ?? "", query: key.uri.query, index)
        // The unfinished file of another page has this name.
        if last.hasSuffix(".part") { last = last.dropLast(5) + "%2epart" }
        let top = [key.uri.scheme, place(of: key.uri)] + (isOdd ? ["@@"] : [])
        var names: [String] = []
        for name in top + segments.map(directory) + [last] { names.append(try cut(name)) }
        return names
    }

    /// User, host and port; the password is left out.
    private static func place(of uri: URI) -> String {
        let user = uri.userinfo.map { decode($0.prefix { $0 != ":" }) + "@" } ?? ""
        return user + (uri.hostAndPort.map { escape(Array($0.utf8)) } ?? "@")
    }

    /// A name without a dot, or marked.
    private static func directory(_ segment: Substring) -> String {
        let name = decode(segment)
        return name.isEmpty || name.utf8.contains(ASCII.dot) ? name + "@" : name
    }

    /// A name with a dot, or marked.
    private static func file(_ segment: Substring, query: String?, _ index: String) -> String {
        var name = segment.isEmpty ? index : decode(segment)
        if name == index && !segment.isEmpty { name = "@" + name }
        if let query { return name + "@" + (query.isEmpty ? "@" : decode(query[...])) }
        return name.utf8.contains(ASCII.dot) ? name : name + "@"
    }

    /// Decodes blanks and bytes outside of ASCII, which a URL holds as escapes alone. Other escapes
    /// stay, since `%2C` and `,` are different.
    private static func decode(_ text: Substring) -> String {
        escape(
            PercentEncoding.normalised(
                text.utf8, decoding: { $0 == ASCII.space || $0 >= 0x80 }))
    }

    /// Escapes the characters that ``FileName`` removes, bytes that are not UTF-8, and each `@`.
    private static func escape(_ bytes: [UInt8]) -> String {
        var (name, rest) = ([UInt8](), bytes[...])
        while let first = rest.first {
            let count = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
            let text = String(validating: rest.prefix(count), as: UTF8.self)
            // At the beginning, other characters are removed.
            let whole = text.map { name.isEmpty ? $0 : "x" + $0 }
            if first == UInt8(ascii: "@") {
                name.append("%@")
            } else if let whole, FileName.sanitise(whole).utf8.elementsEqual(whole.utf8) {
                name += rest.prefix(count)
            } else {
                for byte in text == nil ? rest.prefix(1) : rest.prefix(count) {
                    name.append(ASCII.percent)
                    name.append(hex: UInt64(byte), digits: 2)
                }
            }
            rest = rest.dropFirst(text == nil ? 1 : count)
        }
        return String(decoding: name, as: UTF8.self)
    }

    /// The beginning of a long name with its hash. No other name has two marks before its end.
    private static func cut(_ name: String) throws(FetchError) -> String {
        guard name.utf8.count > bytesMax else { return name }
        var bytes = Array(name.utf8.prefix(bytesMax - 34))
        bytes.removeLast(bytes[...].cutCharacterCount)
        if let percent = bytes.suffix(2).lastIndex(of: ASCII.percent) {
            bytes.removeSubrange(percent...)
        }
        // A server can make names with equal hashes of the quick kind.
        let digest = try Digest(.sha256)
        digest.update(Array(name.utf8)[...])
        return String(decoding: bytes, as: UTF8.self) + "@@" + digest.finish().hex.prefix(32)
    }
}
