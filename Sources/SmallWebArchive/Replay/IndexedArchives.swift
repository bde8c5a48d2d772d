// SPDX-License-Identifier: MIT
package import SmallWeb
internal import SmallWebCore

/// Archives with their indexes: a page is looked up without reading the rest.
final class IndexedArchives: Sendable {
    /// The present archives.
    private let indexes: @Sendable () -> [CaptureIndex]
    private let readers = Locked<ArchiveReaders?>(nil)
    /// Replayers of URLs with several recordings, which are played in order.
    private let known = Locked<[String: Replayer]>([:])

    /// Recordings of a URL among which the latest is looked for at a time.
    private static let latestMax = 8

    init(_ indexes: @escaping @Sendable () -> [CaptureIndex]) { self.indexes = indexes }

    /// The recordings of a URL.
    ///
    /// - Parameter bounds: The times of those to play, of which the latest is found; `nil` for all.
    /// - Returns: `nil` if there are none, or if an index does not fit its archive.
    func replayer(
        of uri: URI, _ defaultPort: UInt16, isLatestFirst: Bool = false,
        within bounds: Range<Int>? = nil
    ) -> Replayer? {
        let forms = ArchiveIndex.forms(of: uri, defaultPort: defaultPort).map(ArchiveIndex.text)
        let name = forms.last ?? ""
        if bounds == nil, let replayer = known.withLock({ $0[name] }) { return replayer }
        let indexes = indexes()
        let paths = indexes.map(\.archive)
        let readers = readers.withLock { readers in
            let present = readers.flatMap { $0.paths == paths ? $0 : nil } ?? ArchiveReaders(paths)
            readers = present
            return present
        }
        var found: [(file: Int, line: CaptureIndex.Line)] = []
        let keys = Set(forms.map(SurtKey.key))
        for (file, index) in indexes.enumerated() {
            found += keys.flatMap(index.lines).filter { line in
                URI(recorded: line.url).map { forms.contains(ArchiveIndex.text($0)) } ?? false
            }.map { (file, $0) }
        }
        found.sort { ($0.line.time, $0.line.offset) < ($1.line.time, $1.line.offset) }
        var start: Int?
        if let bounds {
            // Nothing before a change counts.
            let change = found.last { $0.line.isChange }?.line.time ?? .min
            found.removeAll { $0.line.time <= change || !bounds.contains($0.line.time) }
            if found.count > Self.latestMax {
                found.removeFirst(found.count - Self.latestMax)
                start = found[0].line.time
            }
        }
        // Of a cache an archive may have been removed by now.
        let isFit = { one in bounds == nil || (try? ArchiveIndex(readers, [one])) != nil }
        guard !found.isEmpty,
            let index = (try? ArchiveIndex(readers, found))
                ?? (try? ArchiveIndex(readers, found.filter(isFit)))
        else { return nil }
        let replayer = Replayer(
            index, readers, isLatestFirst: isLatestFirst, within: bounds, from: start)
        if bounds == nil, found.count > 1 { known.withLock { $0[name] = replayer } }
        return replayer
    }
}

extension Network {
    /// The replies of archives that were recorded before, to answer with instead of servers.
    ///
    /// - Parameters:
    ///   - indexes: The present archives.
    ///   - secondsMax: Oldest reply that answers without asking the server.
    ///   - isAlone: True to ask no server.
    ///   - forget: Called with a URL whose recordings are out of date from now on.
    package func recalling(
        _ indexes: @escaping @Sendable () -> [CaptureIndex], secondsMax: Double, isAlone: Bool,
        forget: @escaping @Sendable (URI) -> Void = { _ in }
    ) -> Network {
        let archives = IndexedArchives(indexes)
        var network = isAlone ? .empty : self
        network.recall = Recall(secondsMax: secondsMax, isAlone: isAlone, forget: forget) { times in
            .replaying { uri, defaultPort throws(FetchError) in
                guard let found = archives.replayer(of: uri, defaultPort, within: times) else {
                    throw FetchError(
                        .notRecorded, .connect, "the cache has no page of this URL",
                        remedy: .keepPages)
                }
                return found
            }
        }
        return network
    }

    /// A network in which nothing is recorded.
    private static let empty = Network { _, hop throws(FetchError) in
        guard !hop.hasIdentity else {
            var error = FetchError.notRecorded("a page of an identity: those are never kept")
            error.hint = "fetch it while there is a network, or without the identity"
            throw error
        }
        throw .notRecorded("an answer that is for one user, or to a change")
    }
}
