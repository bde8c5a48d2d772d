// SPDX-License-Identifier: MIT
package import SmallWeb
internal import SmallWebCore

/// Archives with their indexes: a page is looked up without reading the rest.
final class IndexedArchives: Sendable {
    private let indexes: [CaptureIndex]
    private let readers: ArchiveReaders
    private let isLatestFirst: Bool
    /// Replayers of URLs with several recordings, which are played in order.
    private let known = Locked<[String: Replayer]>([:])

    /// - Parameter isLatestFirst: True to play the latest recording each time.
    init(_ indexes: [CaptureIndex], isLatestFirst: Bool = false) {
        (self.indexes, self.isLatestFirst) = (indexes, isLatestFirst)
        readers = ArchiveReaders(indexes.map(\.archive))
    }

    /// The recordings of a request's URL, and the Unix time of the latest one.
    ///
    /// - Returns: `nil` if there are none, or if an index does not fit its archive.
    func replayer(of request: Request) -> (replayer: Replayer, date: Int)? {
        let port = request.scheme.defaultPort
        let forms = ArchiveIndex.forms(of: request.uri, defaultPort: port).map(ArchiveIndex.text)
        let name = forms.last ?? ""
        if let replayer = known.withLock({ $0[name] }) { return (replayer, 0) }
        var found: [(file: Int, line: CaptureIndex.Line)] = []
        let keys = Set(forms.map(SurtKey.key))
        for (file, index) in indexes.enumerated().reversed() {
            let lines = keys.flatMap(index.lines).filter { line in
                URI(recorded: line.url).map { forms.contains(ArchiveIndex.text($0)) } ?? false
            }.sorted { ($0.date, $0.offset) < ($1.date, $1.offset) }
            found = lines.map { (file, $0) } + found
            if isLatestFirst, !found.isEmpty { break }
        }
        guard let last = found.last else { return nil }
        if isLatestFirst { found = found.suffix(Self.latestMax) }
        guard let index = try? ArchiveIndex(readers, found.map { ($0.file, $0.line) }),
            !index.recordings.isEmpty
        else { return nil }
        let replayer = Replayer(index, readers, isLatestFirst: isLatestFirst)
        if !isLatestFirst, found.count > 1 { known.withLock { $0[name] = replayer } }
        return (replayer, last.line.date)
    }

    /// Recordings of a URL among which the latest whole one is looked for.
    private static let latestMax = 8
}

extension Network {
    /// The replies of archives that were recorded before, to answer with instead of servers.
    ///
    /// - Parameters:
    ///   - secondsMax: Oldest reply that answers without asking the server.
    ///   - isAlone: True to ask no server.
    package func recalling(
        _ indexes: [CaptureIndex], secondsMax: Double, isAlone: Bool
    ) -> Network {
        let archives = IndexedArchives(indexes, isLatestFirst: true)
        var network = isAlone ? .empty : self
        network.recall = Recall(secondsMax: secondsMax, isAlone: isAlone) { request in
            archives.replayer(of: request).map { ($0.date, .replaying($0.replayer)) }
        }
        return network
    }

    /// A network in which nothing is recorded.
    private static let empty = Network { request, _ throws(FetchError) in
        throw FetchError(
            .notRecorded, .connect, "the cache has no page of this URL",
            remedy: .keepPages)
    }

    static func replaying(_ replayer: Replayer) -> Network {
        Network { request, hop in ReplayDialer(replayer: replayer, request: request, hop: hop) }
    }
}
