// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Offsets of the lines of a ``KnownHosts`` that may be about a place, in some 50 bytes per line.
///
/// A filter: its results still have to be compared (``KnownHosts/isAbout(_:_:)``), but it misses no
/// line for which that is true.
struct PlaceIndex: Sendable {
    private struct Line {
        let start: Int
        /// The next older line of the same hash, by its position in ``lines``; -1 for none.
        let older: Int
    }

    private var newest: [Int: Int] = [:]
    private var lines: [Line] = []

    /// - Parameter lineCount: Lines to make room for.
    init(lineCount: Int = 0) {
        newest.reserveCapacity(lineCount)
        lines.reserveCapacity(lineCount)
    }

    /// Adds lines, all with line feeds.
    ///
    /// - Parameter start: Offset of the first line in the file.
    mutating func add(_ bytes: [UInt8], from start: Int) {
        bytes.withUnsafeBufferPointer { text in
            var next = 0
            while let end = text.firstLineFeed(from: next) {
                let line = UnsafeBufferPointer(rebasing: text[next..<end])
                Self.forEachPlace(in: KnownHosts.withoutIndent(line)) { hash in
                    lines.append(Line(start: start + next, older: newest[hash] ?? -1))
                    newest[hash] = lines.count - 1
                }
                next = end + 1
            }
        }
    }

    /// Offsets of the lines that may be about a place, in the order of the file.
    ///
    /// - Parameter place: In its canonical form.
    /// - Returns: `nil` for a place that the index cannot find: without a port, or with a blank.
    func lines(about place: [UInt8]) -> [Int]? {
        let port = place.reversed().prefix(while: ASCII.isDigit).count
        guard port > 0, place.dropLast(port).last == ASCII.colon,
            !place.contains(where: ASCII.isSpace)
        else { return nil }
        var own = 0
        Self.forEachPlace(in: place) { own = $0 }
        var found: [Int] = []
        var next = newest[own] ?? -1
        while next >= 0 {
            let line = lines[next]
            // One line may have two beginnings of the same hash.
            if found.last != line.start { found.append(line.start) }
            next = line.older
        }
        return found.reversed()
    }

    /// Passes on the hash of each prefix of `text` that could be a place, the longest last. It ends
    /// with the last digit behind a colon; dots before colons are left out, since a host may end
    /// with one.
    private static func forEachPlace(in text: some Sequence<UInt8>, _ body: (Int) -> Void) {
        var hasher = Hasher()
        // Hashed seven bytes at a time, behind a 1 that marks their number.
        var word: UInt64 = 1
        var dots = 0
        var isPort = false
        var digits = 0
        func add(_ byte: UInt8) {
            word = word << 8 | UInt64(byte)
            guard word >> 56 != 0 else { return }
            hasher.combine(word)
            word = 1
        }
        func endPort() {
            if isPort && digits > 0 { body(hash(hasher, word)) }
            isPort = false
        }
        for byte in text {
            if ASCII.isSpace(byte) { break }
            if !ASCII.isDigit(byte) { endPort() }
            switch byte {
            case ASCII.dot:
                dots += 1
                continue
            case ASCII.colon: (dots, isPort, digits) = (0, true, 0)
            default: digits += 1
            }
            for _ in 0..<dots { add(ASCII.dot) }
            dots = 0
            add(ASCII.lowercased(byte))
        }
        endPort()
    }

    /// Copies the hasher; the caller goes on with the original.
    private static func hash(_ hasher: Hasher, _ word: UInt64) -> Int {
        var hasher = hasher
        hasher.combine(word)
        return hasher.finalize()
    }
}
