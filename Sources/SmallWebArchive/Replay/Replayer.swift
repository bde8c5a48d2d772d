// SPDX-License-Identifier: MIT
package import SmallWeb
internal import SmallWebCore
package import SmallWebText
internal import SmallWebTransport

extension Network {
    /// A network that replays archives, without look-ups and connections. Requests without a
    /// recording fail with `not-recorded`.
    ///
    /// - Parameters:
    ///   - isLoose: True to select recordings by URL alone.
    ///   - isLatestFirst: True to play the latest recording each time, not one after the other.
    ///   - onDamage: Receives a sentence for each archive that can be read only in part.
    /// - Throws: `read` for a file that cannot be read, `protocol-error` for one that is not an
    ///   archive.
    package static func replaying(
        _ paths: [String], isLoose: Bool = false, isLatestFirst: Bool = false,
        onDamage: (String) -> Void = { _ in }
    ) throws(FetchError) -> Network {
        let indexes = isLoose ? [] : paths.compactMap(CaptureIndex.init).filter(\.isWhole)
        guard indexes.count == paths.count else {
            let replayer = Replayer(
                try ArchiveIndex(paths, onDamage), isLoose: isLoose, isLatestFirst: isLatestFirst)
            return .replaying { _, _ in replayer }
        }
        let archives = IndexedArchives { indexes }
        let whole = Locked<Replayer?>(nil)
        return .replaying { uri, defaultPort throws(FetchError) in
            if let replayer = archives.replayer(of: uri, defaultPort, isLatestFirst: isLatestFirst)
            {
                return replayer
            }
            // The index has no failures.
            return try whole.withLock { whole throws(FetchError) in
                if let made = whole { return made }
                let made = Replayer(try ArchiveIndex(paths), isLatestFirst: isLatestFirst)
                whole = made
                return made
            }
        }
    }

    /// - Parameter find: The recordings of a URL.
    static func replaying(
        _ find: @escaping @Sendable (URI, _ defaultPort: UInt16) throws(FetchError) -> Replayer
    ) -> Network {
        Network { request, hop in
            ReplayDialer(request: request, hop: hop) { uri, defaultPort throws(FetchError) in
                let replayer = try find(uri, defaultPort)
                hop.recorded = hop.recorded ?? replayer.start
                return replayer
            }
        }
    }
}

/// The files of archives, and what is known of them while they are replayed.
final class ArchiveReaders: Sendable {
    let paths: [String]
    private let state: Locked<State>

    private struct State {
        /// Idle readers, by file.
        var readers: [[WarcReader]]
        /// Keys that a live run would have pinned by now, with the time.
        var pins: [String: (key: [UInt8], since: Int)] = [:]
        var judged: [TwoHashKey: RecordedHandshake.Judged] = [:]
    }

    /// Limit of the chains whose facts are cached.
    private static let judgedMax = 256

    init(_ paths: [String]) {
        self.paths = paths
        state = Locked(State(readers: [[WarcReader]](repeating: [], count: paths.count)))
    }

    /// Takes a reader of a file, to be returned with ``giveBack(_:of:)``.
    func reader(of file: Int) throws(FetchError) -> WarcReader {
        if let reader = state.withLock({ $0.readers[file].popLast() }) { return reader }
        return try WarcReader(paths[file])
    }

    func giveBack(_ reader: WarcReader, of file: Int) {
        state.withLock { $0.readers[file].append(reader) }
    }

    /// The facts of a chain, read once for each host: that takes longer than all else of a page.
    func judged(
        _ handshake: RecordedHandshake, host: String, asksAuthorities: Bool
    ) throws(FetchError) -> RecordedHandshake.Judged {
        let key = TwoHashKey("\(asksAuthorities) \(host)", Array(handshake.chain.joined()))
        if let known = state.withLock({ $0.judged[key] }) { return known }
        let judged = try handshake.judged(host: host, asksAuthorities: asksAuthorities)
        state.withLock { state in
            if state.judged.count >= Self.judgedMax { state.judged = [:] }
            state.judged[key] = judged
        }
        return judged
    }

    /// Pins the key accepted at a first visit in memory: the trust store stays unchanged, but later
    /// visits are compared with it.
    ///
    /// - Returns: The key pinned before and its time; `nil` at the first visit.
    func pin(_ key: [UInt8], of place: String, now: Int) -> (key: [UInt8], since: Int)? {
        state.withLock { state in
            if let known = state.pins[place] { return known }
            state.pins[place] = (key, now)
            return nil
        }
    }
}

/// Selects and reads recordings; several of one request are played one after the other.
final class Replayer: Sendable {
    let index: ArchiveIndex
    let isLoose: Bool
    let readers: ArchiveReaders
    /// The times of whole replies that may be played, in microseconds; `nil` for any recording.
    let bounds: Range<Int>?
    /// The time before which there may be further recordings, in microseconds; `nil` if these are
    /// all.
    let start: Int?
    private let state: Locked<State>

    private struct State {
        var isPlayed: [Bool]
        var chains: [WarcOffset: [[UInt8]]] = [:]
    }

    /// - Parameters:
    ///   - readers: `nil` for readers of its own.
    ///   - isLatestFirst: True to play the latest recording each time.
    init(
        _ index: ArchiveIndex, _ readers: ArchiveReaders? = nil, isLoose: Bool = false,
        isLatestFirst: Bool = false, within bounds: Range<Int>? = nil, from start: Int? = nil
    ) {
        (self.index, self.isLoose, self.bounds, self.start) = (index, isLoose, bounds, start)
        self.readers = readers ?? ArchiveReaders(index.paths)
        let isPlayed = isLatestFirst || bounds != nil
        state = Locked(
            State(isPlayed: [Bool](repeating: isPlayed, count: index.recordings.count)))
    }

    // MARK: Reading

    /// The blocks of records in the order of `places`; `nil` for blocks longer than `limit`.
    func blocks(
        _ places: [WarcOffset?], notOver limit: Int
    ) throws(FetchError) -> [[UInt8]?] {
        try blocks(places) { header in header.blockBytes <= limit ? limit : nil }
    }

    /// The beginning of a record's block; `nil` if `place` is `nil`.
    func block(_ place: WarcOffset?, upTo limit: Int) throws(FetchError) -> [UInt8]? {
        try blocks([place]) { _ in limit }[0]
    }

    private func blocks(
        _ places: [WarcOffset?], limit: (WarcHeader) -> Int?
    ) throws(FetchError) -> [[UInt8]?] {
        guard let file = places.lazy.compactMap({ $0?.file }).first else {
            return places.map { _ in nil }
        }
        let reader = try readers.reader(of: file)
        defer { readers.giveBack(reader, of: file) }
        var blocks = [[UInt8]?](repeating: nil, count: places.count)
        var isFirst = true
        let wanted = places.enumerated().compactMap { place in
            place.element.map { (place.offset, $0) }
        }.sorted { $0.1.offset < $1.1.offset }
        for (position, place) in wanted where place.file == file {
            // Adjacent records are read without seeking.
            var header: WarcHeader?
            if !isFirst { header = try? reader.next() }
            if header == nil || reader.offset != place.offset {
                reader.seek(to: place.offset)
                header = try reader.next()
            }
            isFirst = false
            guard let limit = header.flatMap(limit) else { continue }
            blocks[position] = try reader.block(upTo: limit)
        }
        return blocks
    }

    func target(of recording: Recording) throws(FetchError) -> String {
        guard let place = recording.anyPlace else { return "" }
        return try WarcRecord(place, self).header?.target ?? ""
    }

    /// The certificate chain that was recorded for a server, leaf first.
    ///
    /// - Parameter sha256: Digest of the wanted leaf; `nil` if unknown.
    func chain(
        of uri: URI, defaultPort: UInt16, sha256: [UInt8]?
    ) throws(FetchError) -> [[UInt8]]? {
        let places = index.certificates(of: uri, defaultPort: defaultPort).prefix(Self.chainsMax)
        var first: [[UInt8]]?
        for place in places {
            let chain = try chain(at: place)
            guard let own = chain.first else { continue }
            first = first ?? chain
            guard let sha256 else { break }
            let digest = try Digest(.sha256)
            digest.update(own[...])
            if digest.finish() == sha256 { return chain }
        }
        return sha256 == nil || places.count == 1 ? first : nil
    }

    /// Limit of the chains searched for a server, and of those cached.
    private static let chainsMax = 256

    private func chain(at place: WarcOffset) throws(FetchError) -> [[UInt8]] {
        if let chain = state.withLock({ $0.chains[place] }) { return chain }
        let pem = try blocks([place], notOver: 256 << 10)[0] ?? []
        let chain = Certificates.decode(pem)
        state.withLock { if $0.chains.count < Self.chainsMax { $0.chains[place] = chain } }
        return chain
    }

    // MARK: Choosing

    /// The first candidate not played yet, else the last one again.
    func next(_ candidates: [Int]) -> Int? { inTurn(candidates).first }

    /// The candidates not played yet in their order, then the others from the last to the first.
    func inTurn(_ candidates: [Int]) -> [Int] {
        let candidates = candidates.filter { number in
            let recording = index.recordings[number]
            return bounds.map { recording.isWholeReply && $0.contains(recording.time) } ?? true
        }
        return state.withLock { state in
            candidates.filter { !state.isPlayed[$0] }
                + candidates.filter { state.isPlayed[$0] }.reversed()
        }
    }

    func notePlayed(_ index: Int) { state.withLock { $0.isPlayed[index] = true } }
}

/// A record that is being read, by a reader of its own.
final class WarcRecord {
    let header: WarcHeader?
    let reader: WarcReader
    private let file: Int
    private let replayer: Replayer

    init(_ place: WarcOffset, _ replayer: Replayer) throws(FetchError) {
        (file, self.replayer) = (place.file, replayer)
        reader = try replayer.readers.reader(of: file)
        reader.seek(to: place.offset)
        header = try reader.next()
    }

    deinit { replayer.readers.giveBack(reader, of: file) }
}

extension FetchError {
    static func notRecorded(_ what: String) -> FetchError {
        FetchError(.notRecorded, .connect, "no recording has \(what)")
    }
}
