// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Finds the lines of the trust store about a place. A few visits search the file, so that they
/// need little memory; a run that makes more holds its text and the offsets of each place's lines.
struct TrustLookup: Sendable {
    /// Result of a visit under the store's lock.
    struct Decision {
        let facts: Connection.Trust
        /// New content of the file; `nil` when all is written.
        var replacement: KnownHosts?
        /// True if it is time to wait for the disk.
        var needsSync = false
    }

    private struct Held {
        var stamp: FileStamp
        var hosts: KnownHosts
        /// Offsets of the lines by ``KnownHosts/key(of:)``.
        var starts: [[UInt8]: [Int]] = [:]

        mutating func note(_ line: ArraySlice<UInt8>, at start: Int) {
            if let key = KnownHosts.key(of: line) { starts[key, default: []].append(start) }
        }
    }

    private var held: Held?
    /// Number of times that the file was searched.
    private var searches = 0
    /// Earliest time of the next reading.
    private var holdsAt = Instant(nanoseconds: 0)
    private var syncedAt: Instant?

    /// Holding the file takes as long as some ten searches.
    private static let searchesMax = 8
    /// Least time between two readings of a file that others change, and between two waits for the
    /// disk.
    private static let pauseSeconds = 1.0
    /// Share of all time that these readings may take.
    private static let readingShare = 0.02

    /// The lines about `host:port` in the file as it is now.
    ///
    /// - Throws: `read`.
    mutating func lines(
        of place: String, in file: StoreFile
    ) throws(FetchError) -> [KnownHosts.Line] {
        try find(place, in: file).lines
    }

    /// - Returns: The lines, and the offset at which one may be added to the file; `nil` if none
    ///   may be.
    private mutating func find(
        _ place: String, in file: StoreFile
    ) throws(FetchError) -> (lines: [KnownHosts.Line], end: Int?) {
        let place = KnownHosts.canonical(place)
        if held == nil || held?.stamp != FileStamp(file.path) { try hold(file) }
        if let held, let key = KnownHosts.key(of: Array(place.utf8)[...]) {
            let lines = (held.starts[key] ?? []).flatMap { start -> [KnownHosts.Line] in
                let line = held.hosts.bytes[start...].prefix { $0 != ASCII.lineFeed }
                var number = -1
                return KnownHosts(parsing: Array(line) + [ASCII.lineFeed])
                    .lines(of: place, from: start, number: &number)
            }
            // A search counts the lines before a damaged one.
            if lines.allSatisfy({ $0.pin != nil }) { return (lines, held.hosts.bytes.count) }
        }
        var (lines, number) = ([KnownHosts.Line](), 0)
        let extent = try file.forEachPart { part, start in
            lines += KnownHosts(parsing: part).lines(of: place, from: start, number: &number)
        }
        return (lines, extent.flatMap { $0.canGrow ? $0.count : nil })
    }

    /// Holds the file as it is now, if that is worth its time.
    private mutating func hold(_ file: StoreFile) throws(FetchError) {
        held = nil
        searches += 1
        guard searches > Self.searchesMax, Instant.now >= holdsAt else { return }
        let began = Instant.now
        var bytes: [UInt8] = []
        let extent = try file.forEachPart { part, _ in bytes += part }
        if let extent, extent.isSettled {
            let hosts = KnownHosts(parsing: bytes)
            var new = Held(stamp: extent.stamp, hosts: hosts)
            hosts.forEachLine { line in new.note(line, at: line.startIndex) }
            held = new
        }
        let seconds = Instant.now.seconds(since: began)
        holdsAt = .after(seconds: max(Self.pauseSeconds, seconds / Self.readingShare))
    }

    /// Judges a visit by the file as it is under the lock. A new pin is added to it at once, and
    /// the day of a visit written over that of the last one.
    ///
    /// - Throws: Errors of the visit; `read`, `write`.
    mutating func decide(
        _ visit: TrustVisit, _ file: StoreFile, _ lock: borrowing StoreFile.Lock
    ) throws(FetchError) -> Decision {
        let place = visit.endpoint.description
        let (lines, end) = try find(place, in: file)
        let (facts, change) = try visit.judge(lines)
        guard let change else { return Decision(facts: facts) }
        if let end, try write(change, lines, end, to: file, lock) {
            let isDue = syncedAt.map { Instant.now.seconds(since: $0) >= Self.pauseSeconds } ?? true
            if isDue { syncedAt = .now }
            return Decision(facts: facts, needsSync: isDue)
        }
        // The whole file is written, from its own content: the copy in memory may be older.
        var hosts = KnownHosts(parsing: Array(StoreFile.whole(try file.read())))
        let (verdict, last) = try visit.judge(hosts.lines(of: place))
        guard let last else { return Decision(facts: verdict) }
        hosts.apply(last)
        return Decision(facts: verdict, replacement: hosts)
    }

    /// Writes a change into the file where that is possible.
    ///
    /// - Parameters:
    ///   - lines: All lines about the place.
    ///   - end: The offset at which a line may be added.
    private mutating func write(
        _ change: KnownHosts.Change, _ lines: [KnownHosts.Line], _ end: Int, to file: StoreFile,
        _ lock: borrowing StoreFile.Lock
    ) throws(FetchError) -> Bool {
        switch change {
        case .add(let pin):
            let line = pin.line + [ASCII.lineFeed]
            guard let stamp = try file.append(line, at: end, lock) else { return false }
            held?.note(line[...], at: end)
            held?.hosts.add(pin)
            held?.stamp = stamp
        case .replace(let old, let new):
            // This happens once a day for each pin that is met.
            guard new.saysTheSame(as: old), lines.count == 1, lines[0].text == old.line[...],
                new.line.count == old.line.count,
                let stamp = try file.overwrite(at: lines[0].start, with: new.line, lock)
            else { return false }
            held?.hosts.overwrite(at: lines[0].start, with: new.line)
            held?.stamp = stamp
        }
        return true
    }
}
