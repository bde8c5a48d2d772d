// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Where a record is.
struct RecordPlace: Sendable, Hashable {
    let file: Int
    let offset: Int
}

/// What archives have of one exchange: where its records are, and what their headers say. Texts of
/// any length stay in the file: a compressed megabyte is a kilobyte.
struct Recording: Sendable {
    let target: RecordKey
    var request, response, facts, turns, failure: RecordPlace?
    /// Of the request's block.
    var requestDigest: BlockDigest?
    var address: String?
    var isHTTP2 = false
    var truncated: Truncation?
    /// Whether the reply is a `revisit`, whose body is that of an earlier one.
    var isRevisit = false
    /// True for one of status 304, to a client that has the page.
    var isNotModified = false
    /// The recording with that body; `nil` where the archives do not have it.
    var earlier: Int?
    /// Whether the reply's block has a head of HTTP.
    var hasHeads = false

    init(target: RecordKey) { self.target = target }

    /// Whether it says how the exchange ended: others write requests without it.
    var isAnswered: Bool { response != nil || failure != nil }

    /// A record that has its target.
    var anyPlace: RecordPlace? { response ?? request ?? facts ?? failure }

    /// Whether there was no conversation.
    var isFailureAlone: Bool { request == nil && response == nil }
}

/// A record's identifier, or another text, in sixteen bytes.
struct RecordKey: Sendable, Hashable {
    private let first, second: Int

    init(_ text: String) {
        var (first, second) = (Hasher(), Hasher())
        first.combine(0)
        second.combine(1)
        first.combine(text)
        second.combine(text)
        (self.first, self.second) = (first.finalize(), second.finalize())
    }
}

extension URI {
    /// The target of a record of anyone.
    init?(recorded target: String) {
        guard
            let uri = (try? URI(parsing: target))
                ?? (try? URI(parsing: RecordHeader.escaped(target: target)))
        else { return nil }
        self = uri
    }
}

/// What archives have, by URL, by place and by the bytes of requests.
struct ArchiveIndex: Sendable {
    let paths: [String]
    private(set) var recordings: [Recording] = []
    /// PEM records by `SCHEME HOST[:PORT]`.
    private var certificates: [RecordKey: [RecordPlace]] = [:]
    private var byURL: [RecordKey: [Int]] = [:]
    private var byRequest: [BlockDigest: [Int]] = [:]
    private var byPlace: [RecordKey: [Int]] = [:]
    private var byID: [RecordKey: Int] = [:]
    private(set) var hasOldDigests = false
    /// By what each revisit names its earlier reply, the best first.
    private var references: [(index: Int, keys: [RecordKey])] = []

    /// Longer than any address of IPv6.
    private static let addressBytesMax = 64

    /// - Parameter onDamage: Gets a sentence for each archive of which only a part is used.
    /// - Throws: `read`; `protocol-error` with an offset for a file without any whole record.
    init(_ paths: [String], _ onDamage: (String) -> Void = { _ in }) throws(FetchError) {
        self.paths = paths
        try Self.forEachHeader(of: paths, onDamage) { note($0, $1) }
        try resolveRevisits()
        for (index, recording) in recordings.enumerated() {
            guard let digest = recording.requestDigest else { continue }
            byRequest[digest, default: []].append(index)
            if digest.algorithm != .sha256 { hasOldDigests = true }
        }
    }

    private static func forEachHeader(
        of paths: [String], _ onDamage: (String) -> Void = { _ in },
        _ body: (RecordHeader, RecordPlace) -> Void
    ) throws(FetchError) {
        for (file, path) in paths.enumerated() {
            let reader = try ArchiveReader(path)
            while let header = try reader.nextWhole() {
                body(header, RecordPlace(file: file, offset: reader.offset))
            }
            if let damage = reader.damage {
                onDamage("\(damage.message): only whole records are used")
            }
        }
    }

    private mutating func note(_ header: RecordHeader, _ place: RecordPlace) {
        guard let target = header.target else { return }
        let partner = known(header.all("warc-concurrent-to"))
        let related = partner ?? known(header.all("warc-refers-to"))
        switch header.type {
        case "request":
            let index = slot(target, related) { $0.request == nil && $0.response != nil }
            recordings[index].request = place
            recordings[index].requestDigest = header["warc-block-digest"].flatMap(BlockDigest.init)
            noteConnection(header, index)
            remember(header, index)
        case "response", "revisit":
            // A reply that is written again refers to an earlier one, too.
            let index = slot(target, partner) { $0.response == nil && $0.request != nil }
            recordings[index].response = place
            recordings[index].truncated = header["warc-truncated"].map {
                Truncation(rawValue: $0) ?? .unspecified
            }
            // The rest is in records of their own, which are not read.
            if header.isSegment { recordings[index].truncated = .unspecified }
            recordings[index].hasHeads = header.contentType == MessageHead.mediaType
            if header.type == "revisit" {
                recordings[index].isRevisit = true
                recordings[index].isNotModified = header.isNotModified
                if header.blockBytes == 0 { recordings[index].hasHeads = false }
                references.append((index, Self.references(header)))
            }
            noteConnection(header, index)
            remember(header, index)
        case "metadata": noteMetadata(header, target, related, place)
        default: return
        }
    }

    /// The recording of the first of these records that there is.
    private func known(_ ids: [String]) -> Int? {
        for id in ids {
            if let index = byID[RecordKey(id)] { return index }
        }
        return nil
    }

    /// The recording that a message belongs to: the one that it names, or the last one where
    /// nothing is named.
    private mutating func slot(
        _ target: String, _ related: Int?, where isFree: (Recording) -> Bool
    ) -> Int {
        if let related {
            if isFree(recordings[related]) { return related }
            // A second reply to one request.
            let index = append(target)
            recordings[index].request = recordings[related].request
            recordings[index].requestDigest = recordings[related].requestDigest
            return index
        }
        if let last = recordings.last, last.target == RecordKey(target), isFree(last) {
            return recordings.count - 1
        }
        return append(target)
    }

    private mutating func append(_ target: String) -> Int {
        let index = recordings.count
        recordings.append(Recording(target: RecordKey(target)))
        guard let uri = URI(recorded: target) else { return index }
        byURL[RecordKey(Self.text(uri)), default: []].append(index)
        if let place = Certificates.place(uri) {
            byPlace[RecordKey(place), default: []].append(index)
        }
        return index
    }

    private mutating func noteConnection(_ header: RecordHeader, _ index: Int) {
        if let address = header["warc-ip-address"], address.utf8.count <= Self.addressBytesMax {
            recordings[index].address = address
        }
        if header.all("warc-protocol").contains("h2") { recordings[index].isHTTP2 = true }
    }

    private mutating func remember(_ header: RecordHeader, _ index: Int) {
        if let id = header.id { byID[RecordKey(id)] = index }
    }

    private mutating func noteMetadata(
        _ header: RecordHeader, _ target: String, _ related: Int?, _ place: RecordPlace
    ) {
        switch header.contentType {
        case Certificates.mediaType:
            guard let name = Certificates.place(target) else { return }
            certificates[RecordKey(name), default: []].append(place)
        case "application/x-smallweb-exchange":
            // That of a failure comes before it.
            let index = related ?? append(target)
            recordings[index].facts = place
        case "application/x-smallweb-turns":
            if let related { recordings[related].turns = place }
        case "application/warc-fields":
            if let related {
                recordings[related].failure = place
            } else if let last = recordings.last, last.target == RecordKey(target),
                last.isFailureAlone, last.failure == nil, last.facts != nil
            {
                recordings[recordings.count - 1].failure = place
            }
        default: return
        }
    }

    // MARK: Revisits

    /// Ours name the record that has the body. Those of others name its URL and date, or have its
    /// digest alone.
    private static func references(_ header: RecordHeader) -> [RecordKey] {
        var keys = header["warc-refers-to"].map { [RecordKey($0)] } ?? []
        if let target = header.earlierTarget, let date = header["warc-refers-to-date"] {
            keys.append(page(target, date))
        }
        // The digest in a 304 is of no body, as in many replies.
        if !header.isNotModified, let digest = payload(header) { keys.append(digest) }
        return keys
    }

    private static func page(_ target: String, _ date: String) -> RecordKey {
        RecordKey("\(date) \(URI(recorded: target).map(text) ?? target)")
    }

    private static func payload(_ header: RecordHeader) -> RecordKey? {
        header["warc-payload-digest"].flatMap(BlockDigest.init).map {
            RecordKey("\($0.algorithm) \($0.bytes.hex)")
        }
    }

    /// Finds the replies that revisits repeat: by the identifiers of records if all of these are
    /// there, else by a second pass over the headers.
    private mutating func resolveRevisits() throws(FetchError) {
        var found: [RecordKey: Int] = [:]
        var wanted: Set<RecordKey> = []
        for (index, keys) in references {
            if let id = keys.first, let earlier = byID[id], earlier != index {
                found[id] = earlier
            } else {
                wanted.formUnion(keys)
            }
        }
        if !wanted.isEmpty {
            let byID = byID
            try Self.forEachHeader(of: paths) { header, _ in
                guard header.type == "response", let target = header.target,
                    let index = header.id.flatMap({ byID[RecordKey($0)] })
                else { return }
                let page = header["warc-date"].map { Self.page(target, $0) }
                for case let key? in [page, Self.payload(header)] where wanted.contains(key) {
                    found[key] = found[key] ?? index
                }
            }
        }
        for (index, keys) in references {
            recordings[index].earlier = keys.lazy.compactMap { found[$0] }.first
        }
        references = []
        // A 304 that names nothing is about the page before it.
        var pages: [RecordKey: Int] = [:]
        for (index, recording) in recordings.enumerated() where recording.response != nil {
            if !recording.isNotModified {
                pages[recording.target] = index
            } else if recording.earlier == nil {
                recordings[index].earlier = pages[recording.target]
            }
        }
    }

    /// Most revisits of revisits that are followed.
    private static let revisitsMax = 16

    /// The recording that has the body of another one's reply: itself, or that of a `revisit`.
    ///
    /// - Throws: `not-recorded` where the archives do not have it.
    func source(of recording: Recording) throws(FetchError) -> Recording {
        var source = recording
        for _ in 0..<Self.revisitsMax where source.isRevisit {
            guard let earlier = source.earlier else { break }
            source = recordings[earlier]
        }
        guard !source.isRevisit, source.response != nil || !recording.isRevisit else {
            throw .notRecorded("the reply that a revisit record refers to")
        }
        return source
    }

    // MARK: Looking up

    /// The recordings of a URL that have an end, in their order.
    ///
    /// - Parameter defaultPort: What no port means.
    func recordings(of uri: URI, defaultPort: UInt16) -> [Int] {
        Self.texts(uri, defaultPort).flatMap { byURL[RecordKey($0)] ?? [] }
            .filter { recordings[$0].isAnswered }.sorted()
    }

    /// Whether there is any for a scheme, host and port.
    func place(of uri: URI, defaultPort: UInt16) -> [Int] {
        Self.places(of: uri, defaultPort).flatMap { byPlace[RecordKey($0)] ?? [] }
    }

    /// Those whose request has this digest.
    func recordings(ofRequest digest: BlockDigest) -> [Int] { byRequest[digest] ?? [] }

    /// Where the certificates of a server are, in their order.
    func certificates(of uri: URI, defaultPort: UInt16) -> [RecordPlace] {
        Self.places(of: uri, defaultPort).flatMap { certificates[RecordKey($0)] ?? [] }
    }

    private static func places(of uri: URI, _ defaultPort: UInt16) -> [String] {
        forms(uri, defaultPort).compactMap(Certificates.place)
    }

    private static func texts(_ uri: URI, _ defaultPort: UInt16) -> [String] {
        forms(uri, defaultPort).map(text)
    }

    /// With and without the port that is meant anyway.
    private static func forms(_ uri: URI, _ defaultPort: UInt16) -> [URI] {
        guard uri.port == nil || uri.port == defaultPort else { return [uri] }
        var (with, without) = (uri, uri)
        (with.port, without.port) = (defaultPort, nil)
        return [with, without]
    }

    private static func text(_ uri: URI) -> String {
        var uri = uri.withoutFragment
        if uri.path.isEmpty && uri.host != nil { uri.path = "/" }
        return uri.display
    }
}
