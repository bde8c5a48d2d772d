// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// What the trust store's file held when it was read last, with an index of places. Most visits of
/// a run find the file unchanged; of one that has grown the new lines alone are read.
struct TrustSnapshot: Sendable {
    /// What a visit comes to under the store's lock.
    struct Decision {
        let facts: Connection.Trust
        /// What the file has to become; `nil` when that is done.
        var replacement: KnownHosts?
        /// Whether it is time to wait for the disk.
        var needsSync = false
    }

    private var hosts = KnownHosts(parsing: [])
    private var index = PlaceIndex()
    private var source: StoreFile.OpenFile?
    /// Of the file when it was read; `nil` when there was none.
    private var stamp: FileStamp?
    /// Whether that was all of the file: no process was adding a line, or was killed when it did.
    private var isAll = false
    /// Whether the bytes of ``hosts`` are the file's, so that it is known what an addition is.
    private var isExact = false
    /// When to read all of it again even if it seems to have grown only: a program that writes into
    /// the file itself, as some editors do, may change a line and add one.
    private var rereadAt = Instant.never
    private var syncedAt: Instant?

    /// Before what is new of a file counts as added, this much has to be as it was.
    private static let tailCount = 4096
    /// Between two readings of all, and between two waits for the disk.
    private static let pauseSeconds = 1.0
    /// Of the time, at most this part goes into reading all.
    private static let rereadShare = 0.02

    /// - Throws: `read`.
    mutating func refresh(from file: StoreFile) throws(FetchError) {
        if isAll, let stamp, stamp == FileStamp(file.path) { return }
        let began = Instant.now
        var known: StoreFile.Known?
        if isExact, let source, began < rereadAt {
            known = .init(
                file: source, count: hosts.bytes.count,
                tail: Array(hosts.bytes.suffix(Self.tailCount)))
        }
        guard let content = try file.read(beyond: known) else {
            self = TrustSnapshot()
            return
        }
        let bytes = StoreFile.whole(content.bytes)
        if content.isAddition {
            let start = hosts.bytes.count
            hosts.append(parsing: Array(bytes))
            index.add(hosts.bytes, from: start)
            isExact = hosts.bytes.count == start + bytes.count
        } else {
            hosts = KnownHosts(parsing: Array(bytes))
            index = PlaceIndex()
            index.add(hosts.bytes, from: 0)
            isExact = hosts.bytes.count == bytes.count
            let seconds = Instant.now.seconds(since: began)
            rereadAt = .after(seconds: max(Self.pauseSeconds, seconds / Self.rereadShare))
        }
        source = content.file
        stamp = content.stamp
        isAll = bytes.count == content.bytes.count
    }

    func lines(of endpoint: Endpoint) -> [(number: Int, pin: KnownHosts.Pin?)] {
        hosts.lines(of: endpoint.description, by: index)
    }

    /// Judges a visit by the file as it is under the lock. A new pin is added to it at once, and
    /// the day of a visit written over that of the last one.
    ///
    /// - Throws: What the visit throws; `read`, `write`.
    mutating func decide(
        _ visit: TrustVisit, _ file: StoreFile, _ lock: borrowing StoreFile.Lock
    ) throws(FetchError) -> Decision {
        try refresh(from: file)
        let (facts, change) = try visit.judge(lines(of: visit.endpoint))
        guard let change else { return Decision(facts: facts) }
        if isExact, try write(change, to: file, lock) {
            let isDue = syncedAt.map { Instant.now.seconds(since: $0) >= Self.pauseSeconds } ?? true
            if isDue { syncedAt = .now }
            return Decision(facts: facts, needsSync: isDue)
        }
        // All of it is written: by what it holds, not by what was remembered.
        self = TrustSnapshot()
        try refresh(from: file)
        let (verdict, last) = try visit.judge(lines(of: visit.endpoint))
        guard let last else { return Decision(facts: verdict) }
        var changed = hosts
        changed.apply(last)
        return Decision(facts: verdict, replacement: changed)
    }

    /// Writes a change into the file where that is possible.
    private mutating func write(
        _ change: KnownHosts.Change, to file: StoreFile, _ lock: borrowing StoreFile.Lock
    ) throws(FetchError) -> Bool {
        switch change {
        case .add(let pin):
            let start = hosts.bytes.count
            let line = pin.line + [ASCII.lineFeed]
            guard let after = try file.append(line, at: start, lock) else { return false }
            hosts.add(pin)
            index.add(hosts.bytes, from: start)
            stamp = after
        case .replace(let old, let new):
            // Once a day for each pin that is met.
            guard let range = hosts.room(for: new, over: old, by: index),
                let after = try file.overwrite(at: range.lowerBound, with: new.line, lock)
            else { return false }
            hosts.overwrite(range, with: new)
            stamp = after
        }
        isAll = stamp?.size == hosts.bytes.count
        return true
    }
}
