// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Line offsets in the trust store's file. The first few visits scan all lines, which needs little
/// memory; a run with many visits gets an index of places. Most of its visits find the file
/// unchanged; if it has grown, only the new lines are read.
struct TrustSnapshot: Sendable {
    /// The result of a visit under the store's lock.
    struct Decision {
        let facts: Connection.Trust
        /// New content for the file; `nil` if nothing is left to write.
        var replacement: KnownHosts?
        /// True when it is time to wait for the disk.
        var needsSync = false
    }

    private var source: StoreFile.OpenFile?
    /// Stamp of the file at the last look; `nil` when there was none.
    private var stamp: FileStamp?
    /// End of the complete lines, in bytes.
    private var count = 0
    private var tail: [UInt8] = []
    /// Index of all lines that begin at ``indexStart`` or later.
    private var index = PlaceIndex()
    private var indexStart = 0
    /// Offsets of the lines before ``indexStart``, by the places asked for so far.
    private var earlier: [String: [Int]] = [:]
    private var searches = 0
    /// True if that was the whole file: no process was adding a line, or was killed when it did.
    private var isAll = false
    /// True if the last line has its line feed, so that additions can be recognized.
    private var isExact = false
    /// Time of the next full read, even if the file seems only to have grown: a program that writes
    /// into the file itself, as some editors do, may change a line and add one.
    private var rereadAt = Instant.never
    private var syncedAt: Instant?

    /// Bytes that must be unchanged before the new part of a file counts as added.
    private static let tailCount = 4096
    /// An index takes as long as some five scans.
    private static let searchesMax = 2
    /// Seconds between two full reads, and between two waits for the disk.
    private static let pauseSeconds = 1.0
    /// Largest share of the time for full reads.
    private static let rereadShare = 0.02

    /// - Throws: `read`.
    private mutating func refresh(from file: StoreFile) throws(FetchError) {
        if isAll, let stamp, stamp == FileStamp(file.path) { return }
        var known: StoreFile.Known?
        if isExact, let source, Instant.now < rereadAt {
            known = .init(file: source, count: count, tail: tail)
        }
        // If reading fails, the file must be read again.
        (isAll, isExact) = (false, false)
        guard let view = try file.view(beyond: known) else { return forget() }
        var isWhole = true
        if view.hasGrown {
            isWhole = try addToIndex(count..<view.count, of: view.file, file)
        } else {
            forget()
            indexStart = view.count
            rereadAt = .after(seconds: Self.pauseSeconds)
        }
        (source, stamp, count, tail) = (view.file, view.stamp, view.count, view.tail)
        isAll = isWhole && count == view.stamp.size
        isExact = isWhole && tail.last == ASCII.lineFeed
    }

    private mutating func forget() {
        let (searches, syncedAt) = (searches, syncedAt)
        self = TrustSnapshot()
        (self.searches, self.syncedAt) = (searches, syncedAt)
    }

    private mutating func addToIndex(
        _ range: Range<Int>, of source: StoreFile.OpenFile, _ file: StoreFile
    ) throws(FetchError) -> Bool {
        try file.forEachPart(of: source, range) { part, start in
            index.add(KnownHosts(parsing: part).bytes, from: start)
        }
    }

    /// The lines about `host:port` in the file as it is now.
    ///
    /// - Throws: `read`.
    mutating func lines(
        of place: String, in file: StoreFile
    ) throws(FetchError) -> [KnownHosts.Line] {
        try refresh(from: file)
        let place = KnownHosts.canonical(place)
        if let starts = starts(of: place), let lines = try read(starts, of: place, in: file) {
            return lines
        }
        return try search(for: place, in: file)
    }

    /// Offsets of the lines that may be about a place; `nil` when only a scan can tell.
    private func starts(of place: String) -> [Int]? {
        guard let known = indexStart > 0 ? earlier[place] : [],
            let later = index.lines(about: Array(place.utf8))
        else { return nil }
        return known + later
    }

    /// - Returns: `nil` if one of them is not about the place, since the file has changed, or if
    ///   one cannot be read, since its number is needed.
    private func read(
        _ starts: [Int], of place: String, in file: StoreFile
    ) throws(FetchError) -> [KnownHosts.Line]? {
        guard let source else { return [] }
        var lines: [KnownHosts.Line] = []
        for start in starts {
            guard start < count else { return nil }
            let bytes = try file.lines(of: source, in: start..<count, room: 1024)
            var number = 0
            let found = KnownHosts(parsing: bytes).lines(of: place, from: start, number: &number)
            guard let line = found.first, line.start == start, line.pin != nil else { return nil }
            lines.append(KnownHosts.Line(start: start, number: 0, pin: line.pin))
        }
        return lines
    }

    private mutating func search(
        for place: String, in file: StoreFile
    ) throws(FetchError) -> [KnownHosts.Line] {
        guard let source else { return [] }
        let state = (isAll, isExact)
        // If reading fails, or the file is truncated meanwhile, all of it is read again.
        (isAll, isExact) = (false, false)
        searches += 1
        var lines: [KnownHosts.Line] = []
        var number = 0
        var isWhole = try file.forEachPart(of: source, 0..<count) { part, start in
            lines += KnownHosts(parsing: part).lines(of: place, from: start, number: &number)
        }
        if searches > Self.searchesMax && indexStart > 0 {
            let began = Instant.now
            (index, indexStart, earlier) = (PlaceIndex(lineCount: number), 0, [:])
            isWhole = try addToIndex(0..<count, of: source, file) && isWhole
            let seconds = Instant.now.seconds(since: began)
            rereadAt = .after(seconds: max(Self.pauseSeconds, seconds / Self.rereadShare))
        }
        if isWhole { (isAll, isExact) = state }
        if indexStart > 0 { earlier[place] = lines.map(\.start).filter { $0 < indexStart } }
        return lines
    }

    /// Judges a visit by the file as it is under the lock. A new pin is appended at once, and the
    /// day of a visit overwrites the last one.
    ///
    /// - Throws: Errors of the visit; `read`, `write`.
    mutating func decide(
        _ visit: TrustVisit, _ file: StoreFile, _ lock: borrowing StoreFile.Lock
    ) throws(FetchError) -> Decision {
        let place = visit.endpoint.description
        let (facts, change) = try visit.judge(lines(of: place, in: file))
        guard let change else { return Decision(facts: facts) }
        if isExact, try write(change, to: file, lock) {
            let isDue = syncedAt.map { Instant.now.seconds(since: $0) >= Self.pauseSeconds } ?? true
            if isDue { syncedAt = .now }
            return Decision(facts: facts, needsSync: isDue)
        }
        // The whole file is written: by its content, not by the index.
        forget()
        var hosts = KnownHosts(parsing: Array(StoreFile.whole(try file.read())))
        let (verdict, last) = try visit.judge(hosts.lines(of: place))
        guard let last else { return Decision(facts: verdict) }
        hosts.apply(last)
        return Decision(facts: verdict, replacement: hosts)
    }

    /// Writes a change into the file itself; false if that is impossible.
    private mutating func write(
        _ change: KnownHosts.Change, to file: StoreFile, _ lock: borrowing StoreFile.Lock
    ) throws(FetchError) -> Bool {
        switch change {
        case .add(let pin):
            let line = pin.line + [ASCII.lineFeed]
            guard let after = try file.append(line, at: count, lock) else { return false }
            index.add(line, from: count)
            count += line.count
            (stamp, tail) = (after, Array((tail + line).suffix(Self.tailCount)))
        case .replace(let old, let new):
            // Once a day for each pin that is met.
            let (before, line) = (old.line, new.line)
            guard new.saysTheSame(as: old), line.count == before.count, let source,
                let starts = starts(of: old.place), starts.count == 1,
                try file.lines(of: source, in: starts[0]..<count, room: 1024)
                    .starts(with: before + [ASCII.lineFeed]),
                let after = try file.overwrite(at: starts[0], with: line, lock)
            else { return false }
            stamp = after
        }
        isAll = stamp?.size == count
        return true
    }
}
