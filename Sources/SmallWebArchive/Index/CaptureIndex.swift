// SPDX-License-Identifier: MIT
internal import Glibc
package import SmallWebCore

/// The index of an archive, `ARCHIVE.cdxj`: a sorted line of key, time and JSON for each reply, as
/// pywb and cdxj-indexer write it. The first line says which bytes of the archive it is about.
package final class CaptureIndex: Sendable {
    /// A reply, or a note that the page was changed, and where its exchange is in the archive.
    struct Line {
        let isChange: Bool
        let url: String
        /// Microseconds since 1970.
        let time: Int
        let offset: Int
        let exchange: Range<Int>
        /// Offsets of the certificates known for its server.
        let chains: [Int]
    }

    let archive: String
    /// Bytes of the archive that it is about.
    package let archiveBytes: Int
    private let file: Descriptor
    /// Offset of the first line about a reply.
    private let start: Int
    private let size: Int
    /// Lines of what the archive has got since, by key, and the end of that.
    private let newer = Locked((lines: [String: [Line]](), end: 0, reading: IndexLines?.none))

    static let mark = "!smallweb "
    /// Before the keys of changes, and of replies to other methods than GET, which are not pages.
    static let aside = "!"
    private static let pieceBytes = 8192
    /// Longest line to read back, and most lines of one key.
    private static let (lineBytesMax, linesMax) = (1 << 20, 4096)
    /// Bytes at the end of the archive that the index knows by their digest.
    private static let endBytes = 4096

    static func path(of archive: String) -> String { archive + ".cdxj" }

    package static func exists(of archive: String) -> Bool {
        access(path(of: archive), F_OK) == 0
    }

    /// - Returns: `nil` without an index, or with one that is not of this archive.
    package convenience init?(of archive: String) {
        let flags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW
        guard let file = try? Descriptor(opening: Self.path(of: archive), flags) else { return nil }
        self.init(of: archive, in: file)
    }

    private convenience init?(of archive: String, in file: consuming Descriptor) {
        guard
            let head = try? FileBytes.read(file.borrowed, at: 0, count: 256),
            let end = head[...].firstLineFeed, head.starts(with: Self.mark.utf8),
            let about = try? JSONValue.parse(head[Self.mark.utf8.count..<end]),
            let bytes = about["size"]?.integer, let digest = about["end"]?.string, bytes >= 0,
            let size = regularFileBytes(file.borrowed)
        else { return nil }
        self.init(archive, archiveBytes: bytes, file, start: end + 1, size: size)
        guard (try? Self.digest(ofEndOf: archive, at: bytes)) == digest else { return nil }
    }

    /// The index of an archive; one that is made now and not kept, if there is none.
    ///
    /// - Throws: `read`, and `protocol-error` for a file that is not an archive.
    package static func reading(_ archive: String) throws(FetchError) -> CaptureIndex {
        if let index = CaptureIndex(of: archive), index.isWhole { return index }
        let file = try writing(archive) { () throws(SystemError) in try TemporaryFile.open() }
        let owner = Descriptor(owning: file)
        _ = try make(archive, in: file, from: nil)
        guard let index = CaptureIndex(of: archive, in: owner) else {
            throw FetchError(.read, .input, "the archive \(archive) is changed by another program")
        }
        return index
    }

    private init(
        _ archive: String, archiveBytes: Int, _ file: consuming Descriptor, start: Int, size: Int
    ) {
        (self.archive, self.archiveBytes) = (archive, archiveBytes)
        self.file = file
        (self.start, self.size) = (start, size)
    }

    /// True if it is about all of the archive.
    package var isWhole: Bool {
        var status = stat()
        return stat(archive, &status) == 0 && Int(status.st_size) == archiveBytes
    }

    private static func digest(
        ofEndOf archive: String, at end: Int
    ) throws(FetchError) -> String? {
        guard let file = try? Descriptor(opening: archive, O_RDONLY | O_NONBLOCK) else {
            return nil
        }
        let count = min(endBytes, end)
        let bytes = (try? FileBytes.read(file.borrowed, at: end - count, count: count)) ?? []
        guard bytes.count == count else { return nil }
        let digest = try Digest(.sha256)
        digest.update(bytes[...])
        return "sha256:" + digest.finish().hex
    }

    // MARK: Looking up

    /// The lines of URLs with a key, of their latest replies and changes.
    func lines(of key: String) -> [Line] {
        var lines: [Line] = []
        for prefix in [key, Self.aside + key] {
            forEachLine(from: prefix + " ") { text in
                Self.line(text).map { lines.append($0) }
                if lines.count > 2 * Self.linesMax { lines.removeFirst(Self.linesMax) }
                return true
            }
        }
        return lines + newer.withLock { $0.lines[key] ?? [] }
    }

    /// Reads what the archive has got since it was opened.
    func follow() {
        var status = stat()
        guard stat(archive, &status) == 0 else { return }
        newer.withLock { newer in
            let start = max(newer.end, archiveBytes)
            guard status.st_size > start, let reader = try? WarcReader(archive) else { return }
            var lines =
                newer.reading
                ?? IndexLines(of: archive, isCompressed: reader.isCompressed, behind: self)
            // A record that is being written is read later.
            newer.end = (try? lines.read(reader, from: start)) ?? start
            for line in lines.takeLines().compactMap(Self.line) {
                newer.lines[SurtKey.key(of: line.url), default: []].append(line)
            }
            newer.reading = lines
        }
    }

    /// Passes the lines of pages, or those of everything else.
    func forEachLine(
        aside: Bool, _ body: (Line) throws(FetchError) -> Void
    ) throws(FetchError) {
        var failure: FetchError?
        forEachLine(from: aside ? Self.aside : "") { text in
            guard text.starts(with: Self.aside.utf8) == aside, let line = Self.line(text) else {
                return true
            }
            do throws(FetchError) {
                try body(line)
            } catch {
                failure = error
            }
            return failure == nil
        }
        if let failure { throw failure }
    }

    /// The certificates known for the server of a URL.
    func chains(of place: String, likeKey key: String) -> [Int] {
        let end = key.firstIndex(of: ")") ?? key.endIndex
        var (chains, count) = ([Int](), 0)
        forEachLine(from: key[..<end] + ")") { text in
            count += 1
            guard let line = Self.line(text) else { return count < Self.linesMax }
            if Certificates.place(line.url) == place { chains = line.chains }
            return chains.isEmpty && count < Self.linesMax
        }
        return chains
    }

    /// Passes the lines that begin with `prefix` to `body`, until it returns false.
    private func forEachLine(from prefix: some StringProtocol, _ body: (ArraySlice<UInt8>) -> Bool)
    {
        let prefix = Array(prefix.utf8)
        var (low, high) = (start, size)
        // The first line that is not before the prefix begins at `low` or behind it.
        while high - low > Self.pieceBytes {
            let middle = (low + high) / 2
            guard let line = line(behind: middle), line.start < high else {
                high = middle
                continue
            }
            if line.text.lexicographicallyPrecedes(prefix) {
                low = line.start
            } else {
                high = middle
            }
        }
        var lines = lines(from: low)
        while let line = try? lines.next() {
            if line.starts(with: prefix) {
                guard body(line) else { return }
            } else if !line.lexicographicallyPrecedes(prefix) {
                return
            }
        }
    }

    private func lines(from offset: Int) -> LineFile.Lines {
        LineFile.Lines(
            file.borrowed, from: offset, pieceBytes: Self.pieceBytes,
            lineBytesMax: Self.lineBytesMax)
    }

    /// The beginning of the first line that begins behind an offset.
    private func line(behind offset: Int) -> (start: Int, text: ArraySlice<UInt8>)? {
        var lines = lines(from: offset)
        guard (try? lines.next()) != nil, lines.offset < size,
            let text = try? FileBytes.read(
                file.borrowed, at: lines.offset, count: Self.pieceBytes)
        else { return nil }
        return (lines.offset, text[...])
    }

    /// - Returns: `nil` for a line of another program, without the place of the exchange.
    private static func line(_ text: ArraySlice<UInt8>) -> Line? {
        let parts = text.split(separator: ASCII.space, maxSplits: 2)
        guard parts.count == 3, let json = try? JSONValue.parse(parts[2]),
            let url = json["url"]?.string,
            let time = microseconds(parts[1] + (json["fraction"]?.string ?? "").utf8),
            let offset = json["offset"]?.string.flatMap({ Int($0) })
        else { return nil }
        let exchange = numbers(json["exchange"], separator: "-")
        guard exchange.count == 2, exchange[0] >= 0, exchange[0] <= offset, offset < exchange[1]
        else { return nil }
        let isAside = text.starts(with: aside.utf8)
        return Line(
            isChange: isAside && json["mime"]?.string == IndexLines.change, url: url, time: time,
            offset: offset, exchange: exchange[0]..<exchange[1],
            chains: numbers(json["chains"], separator: ",").filter { $0 >= 0 })
    }

    /// - Parameter text: `YYYYMMDDhhmmss` with decimals of the second, or its beginning.
    static func microseconds(_ text: some Collection<UInt8>) -> Int? {
        let digits = Array(text) + Array("00000101000000000000".utf8).dropFirst(text.count)
        guard let second = ASCII.decimal(digits.prefix(14), max: 1 << 50),
            let fraction = ASCII.decimal(digits[14..<20], max: 999_999)
        else { return nil }
        let (day, time) = second.quotientAndRemainder(dividingBy: 1_000_000)
        return CivilDay(year: day / 10_000, month: day / 100 % 100, day: day % 100)?
            .time(hour: time / 10_000, minute: time / 100 % 100, second: time % 100)
            .map { $0 * 1_000_000 + fraction }
    }

    private static func numbers(_ value: JSONValue?, separator: Character) -> [Int] {
        (value?.string ?? "").split(separator: separator).compactMap { Int($0) }
    }

    // MARK: Writing

    /// Makes the index of an archive, or adds what the archive has more.
    ///
    /// - Returns: The number of lines added.
    /// - Throws: `read`, and `protocol-error` for a file that is not an archive or is damaged;
    ///   `write` if the index cannot be written.
    @discardableResult
    package static func update(_ archive: String) throws(FetchError) -> Int {
        let old = CaptureIndex(of: archive)
        if let old, old.isWhole { return 0 }
        return try replace(of: archive) { file throws(FetchError) in
            try make(archive, in: file, from: old)
        }
    }

    /// Adds the lines of a run to the index behind which they begin.
    static func add(_ lines: IndexLines, upTo end: Int, of archive: String) throws(FetchError) {
        guard !lines.isEmpty || lines.old?.archiveBytes != end else { return }
        _ = try replace(of: archive) { file throws(FetchError) in
            try write(lines, to: file, upTo: end, of: archive, behind: lines.old)
        }
    }

    private static func replace(
        of archive: String, _ body: (_ file: Int32) throws(FetchError) -> Int
    ) throws(FetchError) -> Int {
        let (path, part) = (path(of: archive), "\(path(of: archive)).\(getpid()).part")
        unlink(part)
        let file = try writing(archive) { () throws(SystemError) in
            try systemCall {
                open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            }
        }
        let owner = Descriptor(owning: file)
        defer { unlink(part) }
        let count = try body(owner.borrowed)
        try writing(archive) { () throws(SystemError) in
            _ = try systemCall { rename(part, path) }
        }
        return count
    }

    private static func writing<Value>(
        _ archive: String, _ body: () throws(SystemError) -> Value
    ) throws(FetchError) -> Value {
        do throws(SystemError) {
            return try body()
        } catch {
            throw FetchError(.write, .output, "cannot write the index of \(archive)", error)
        }
    }

    private static func make(
        _ archive: String, in file: Int32, from old: CaptureIndex?
    ) throws(FetchError) -> Int {
        let reader = try WarcReader(archive)
        var lines = IndexLines(of: archive, isCompressed: reader.isCompressed, behind: old)
        let end = try lines.read(reader, from: old?.archiveBytes ?? 0)
        return try write(lines, to: file, upTo: end, of: archive, behind: old)
    }

    private static func write(
        _ lines: IndexLines, to file: Int32, upTo end: Int, of archive: String,
        behind old: CaptureIndex?
    ) throws(FetchError) -> Int {
        var lines = lines
        guard let digest = try digest(ofEndOf: archive, at: end) else {
            throw FetchError(.read, .input, "the archive \(archive) is changed by another program")
        }
        let about = "\(mark){\"v\": 1, \"size\": \(end), \"end\": \"\(digest)\"}\n"
        let there = old.map { ($0.file.borrowed, $0.start) }
        try writing(archive) { () throws(SystemError) in
            try lines.write(to: file, about, merging: there)
        }
        return lines.count
    }

    package static func remove(of archive: String) { unlink(path(of: archive)) }
}
