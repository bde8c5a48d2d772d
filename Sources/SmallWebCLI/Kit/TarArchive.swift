// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The files and directories of a tar archive, as POSIX (ustar, with pax headers for long names)
/// and GNU write it.
///
/// Anything else in it is an error: links, devices, sparse files, a name twice, and names that lead
/// elsewhere. Owners, times and all modes but "its owner may run it" are not looked at.
struct TarArchive: Sendable {
    struct Entry: Sendable, Hashable {
        /// Relative, without empty components, `.` and `..`.
        let path: String
        /// `nil` for a directory.
        let bytes: ArraySlice<UInt8>?
        let isProgram: Bool
    }

    /// Each directory, also one that is not written out, comes before what is in it.
    private(set) var entries: [Entry] = []

    private let entriesMax: Int
    /// Whether each of these is a directory.
    private var paths: [String: Bool] = [:]

    private static let blockBytes = 512
    /// Of a name with all of its directories.
    private static let pathBytesMax = 1024
    private static let depthMax = 32

    /// - Parameter entriesMax: Files and directories, also those that are not written out.
    /// - Throws: `plugin`, saying what is wrong.
    init(_ bytes: [UInt8], entriesMax: Int) throws(FetchError) {
        self.entriesMax = entriesMax
        var rest = bytes[...]
        var longName: ArraySlice<UInt8>?
        var headers = 0
        while let header = try Header(rest.prefix(Self.blockBytes)) {
            headers += 1
            // A long name needs one of its own, and a directory may be there any number of times.
            guard headers <= 4 * entriesMax else { throw Self.tooMany(entriesMax) }
            rest = rest.dropFirst(Self.blockBytes)
            let content = rest.prefix(header.size)
            guard content.count == header.size else { throw Self.cutOff }
            rest = rest.dropFirst(
                (header.size + Self.blockBytes - 1) / Self.blockBytes * Self.blockBytes)
            switch header.kind {
            case UInt8(ascii: "L"): longName = content.prefix { $0 != 0 }
            case UInt8(ascii: "x"): longName = try Self.path(inPax: content) ?? longName
            case UInt8(ascii: "g"):
                guard try Self.path(inPax: content) == nil else {
                    throw Self.broken("one name is given for all files")
                }
            default:
                try add(header, named: longName ?? header.name[...], content)
                longName = nil
            }
        }
    }

    private static let cutOff = broken("it is cut off")

    private static func tooMany(_ count: Int) -> FetchError {
        broken("it has more than \(count) files")
    }

    private static func broken(_ why: String) -> FetchError {
        FetchError(.plugin, .plugin, why)
    }

    // MARK: Entries

    private mutating func add(
        _ header: Header, named bytes: ArraySlice<UInt8>, _ content: ArraySlice<UInt8>
    ) throws(FetchError) {
        guard let name = String(validating: bytes, as: UTF8.self), !name.isEmpty,
            name.utf8.count <= Self.pathBytesMax,
            !name.unicodeScalars.contains(where: TerminalText.isDangerous)
        else { throw Self.broken("a name is empty, too long or no text") }
        let parts = name.split(separator: "/").filter { $0 != "." }
        guard parts.count <= Self.depthMax else { throw Self.broken("\(name) is too deep") }
        guard !name.hasPrefix("/"), !parts.contains("..") else {
            throw Self.broken("\(name) leads out of it")
        }
        // Before there were directories in archives, a slash at the end made one.
        let isDirectory =
            header.kind == UInt8(ascii: "5") || header.kind == 0 && name.hasSuffix("/")
        guard isDirectory || [0, UInt8(ascii: "0")].contains(header.kind) else {
            throw Self.broken("\(name) is neither a file nor a directory")
        }
        guard isDirectory ? header.size == 0 : !parts.isEmpty && !name.hasSuffix("/") else {
            throw Self.broken("\(name) is a directory with bytes")
        }
        for count in parts.indices.dropFirst() {
            try enter(Entry(parts[..<count], bytes: nil))
        }
        guard !parts.isEmpty else { return }
        try enter(
            Entry(
                parts[...], bytes: isDirectory ? nil : content,
                isProgram: !isDirectory && header.mode & 0o100 != 0))
    }

    private mutating func enter(_ entry: Entry) throws(FetchError) {
        let isDirectory = entry.bytes == nil
        if let known = paths[entry.path] {
            guard known && isDirectory else { throw Self.broken("\(entry.path) is there twice") }
            return
        }
        guard paths.count < entriesMax else {
            throw Self.tooMany(entriesMax)
        }
        paths[entry.path] = isDirectory
        entries.append(entry)
    }

    // MARK: Headers

    private struct Header {
        let kind: UInt8
        let mode: Int
        let size: Int
        var name: [UInt8]

        /// - Returns: `nil` for the block of zeros that ends an archive.
        init?(_ block: ArraySlice<UInt8>) throws(FetchError) {
            let block = Array(block)
            guard block.count == blockBytes else { throw cutOff }
            guard block.contains(where: { $0 != 0 }) else { return nil }
            // The sum is made with spaces in its own place.
            let sum = block.reduce(0) { $0 + Int($1) }
            let field = 148..<156
            let own = block[field].reduce(0) { $0 + Int($1) }
            guard try Self.number(block[field]) == sum - own + field.count * 32 else {
                throw broken("it is not a tar archive, or it is damaged")
            }
            kind = block[156]
            mode = try Self.number(block[100..<108])
            size = try Self.number(block[124..<136])
            name = Self.text(block[0..<100])
            // GNU has other things in the place of the prefix.
            let prefix = Self.text(block[345..<500])
            if block[257..<263].elementsEqual("ustar\0".utf8), !prefix.isEmpty {
                name = prefix + [ASCII.slash] + name
            }
        }

        private static func text(_ field: ArraySlice<UInt8>) -> [UInt8] {
            Array(field.prefix { $0 != 0 })
        }

        /// Octal digits, perhaps between spaces; as bytes, which begin with a set bit, GNU writes
        /// what is too large.
        private static func number(_ field: ArraySlice<UInt8>) throws(FetchError) -> Int {
            let text = field.prefix { $0 != 0 }.filter { $0 != ASCII.space }
            if text.isEmpty { return 0 }
            // At most twelve digits, which fit.
            guard let number = Int(String(decoding: text, as: UTF8.self), radix: 8),
                text.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "7") ~= $0 })
            else { throw broken("a number in it is damaged or too large") }
            return number
        }
    }

    /// The name in a pax header: lines `LENGTH KEY=VALUE`, with the length of all of the line.
    private static func path(
        inPax content: ArraySlice<UInt8>
    ) throws(FetchError) -> ArraySlice<UInt8>? {
        var (rest, path) = (content, ArraySlice<UInt8>?.none)
        while !rest.isEmpty {
            let digits = rest.prefix(8).prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
            guard let count = Int(String(decoding: digits, as: UTF8.self)),
                count > digits.count + 1, count <= rest.count
            else { throw broken("a pax header is damaged") }
            let line = rest.prefix(count)
            rest = rest.dropFirst(count)
            let member = line.dropFirst(digits.count + 1).dropLast()
            let key = member.prefix { $0 != UInt8(ascii: "=") }
            guard line.last == ASCII.lineFeed, key.count < member.count else {
                throw broken("a pax header is damaged")
            }
            if key.elementsEqual("path".utf8) { path = member.dropFirst(key.count + 1) }
            // Both say that the bytes are others than the header has it.
            if key.elementsEqual("size".utf8) || key.starts(with: "GNU.sparse.".utf8) {
                throw broken("a file is too large, or sparse")
            }
        }
        return path
    }
}

extension TarArchive.Entry {
    fileprivate init(
        _ parts: ArraySlice<Substring>, bytes: ArraySlice<UInt8>?, isProgram: Bool = false
    ) {
        self.init(path: parts.joined(separator: "/"), bytes: bytes, isProgram: isProgram)
    }
}
