// SPDX-License-Identifier: MIT
internal import SmallWebCore

struct WarcOffset: Sendable, Hashable {
    let file: Int
    let offset: Int
}

/// Index entry of one exchange: offsets of its records and small header values. Texts of any length
/// stay in the file: a compressed megabyte is a kilobyte.
struct Recording: Sendable {
    let target: TwoHashKey
    var request, response, facts, turns, failure: WarcOffset?
    var requestDigest: WarcDigest?
    /// Time of the reply, or else of the request, in microseconds since 1970.
    var time = Int.min
    var address: String?
    var isHTTP2 = false
    var truncated: Truncation?
    /// True if the reply is a `revisit`, whose body is in an earlier reply.
    var isRevisit = false
    /// True for a reply of status 304, to a client that has the page.
    var isNotModified = false
    /// Index of the recording with that body; `nil` if the archives do not have it.
    var earlier: Int?
    /// True if the reply's block has a head of HTTP.
    var hasHeads = false

    init(target: TwoHashKey) { self.target = target }

    /// True if the end of the exchange is known: other programs write requests without replies.
    var isAnswered: Bool { response != nil || failure != nil }

    /// True for a reply that was read to its end.
    var isWholeReply: Bool { response != nil && failure == nil && truncated == nil }

    /// A record with the target in its header.
    var anyPlace: WarcOffset? { response ?? request ?? facts ?? failure }

    /// True if the exchange failed before any message was sent.
    var isFailureAlone: Bool { request == nil && response == nil }
}

extension URI {
    /// Parses the target of a record of any program.
    init?(recorded target: String) {
        guard
            let uri = (try? URI(parsing: target))
                ?? (try? URI(parsing: WarcHeader.escaped(target: target)))
        else { return nil }
        self = uri
    }
}

/// Index of archives by URL, by host and by the digest of requests.
struct ArchiveIndex: Sendable {
    let paths: [String]
    private(set) var recordings: [Recording] = []
    /// PEM records by `SCHEME HOST[:PORT]`.
    private var certificates: [TwoHashKey: [WarcOffset]] = [:]
    private var byURL: [TwoHashKey: [Int]] = [:]
    private var byRequest: [WarcDigest: [Int]] = [:]
    private var byID: [TwoHashKey: Int] = [:]
    private(set) var hasOldDigests = false
    /// Keys to find the earlier reply of each revisit, the best first.
    private var references: [(index: Int, keys: [TwoHashKey])] = []

    /// Limit in bytes, longer than any IPv6 address.
    private static let addressBytesMax = 64

    /// - Parameter onDamage: Receives a sentence for each archive that can be read only in part.
    /// - Throws: `read`; `protocol-error` with an offset for a file without any whole record.
    init(_ paths: [String], _ onDamage: (String) -> Void = { _ in }) throws(FetchError) {
        self.paths = paths
        try Self.forEachHeader(of: paths, onDamage) { note($0, $1) }
        try resolveRevisits(searches: true)
        noteRequests()
    }

    /// The exchanges of some lines of indexes alone, in their order.
    ///
    /// - Throws: `read`; `protocol-error` if a line is not about the archive.
    init(
        _ readers: ArchiveReaders, _ lines: [(file: Int, line: CaptureIndex.Line)]
    ) throws(FetchError) {
        paths = readers.paths
        var seen = Set<WarcOffset>()
        for (file, line) in lines {
            let reader = try readers.reader(of: file)
            defer { readers.giveBack(reader, of: file) }
            var isThere = seen.contains(WarcOffset(file: file, offset: line.offset))
            for start in [line.exchange.lowerBound] + line.chains {
                reader.seek(to: start)
                while let header = try reader.next() {
                    let place = WarcOffset(file: file, offset: reader.offset)
                    if place.offset != start, !line.exchange.contains(place.offset) { break }
                    let isReply = place.offset == line.offset
                    if isReply, header.target == line.url { isThere = true }
                    if seen.insert(place).inserted { note(header, place) }
                    if start != line.exchange.lowerBound { break }
                }
            }
            guard isThere else {
                throw FetchError(
                    .protocolError, .input, "the index of \(paths[file]) is not about it")
            }
        }
        try resolveRevisits(searches: false)
        noteRequests()
    }

    private mutating func noteRequests() {
        for (index, recording) in recordings.enumerated() {
            guard let digest = recording.requestDigest else { continue }
            byRequest[digest, default: []].append(index)
            if digest.algorithm != .sha256 { hasOldDigests = true }
        }
    }

    private static func forEachHeader(
        of paths: [String], _ onDamage: (String) -> Void = { _ in },
        _ body: (WarcHeader, WarcOffset) -> Void
    ) throws(FetchError) {
        for (file, path) in paths.enumerated() {
            let reader = try WarcReader(path)
            while let header = try reader.nextWhole() {
                body(header, WarcOffset(file: file, offset: reader.offset))
            }
            if let damage = reader.damage {
                onDamage("\(damage.message): only whole records are used")
            }
        }
    }

    private mutating func note(_ header: WarcHeader, _ place: WarcOffset) {
        guard let target = header.target else { return }
        let partner = known(header.all("warc-concurrent-to"))
        let related = partner ?? known(header.all("warc-refers-to"))
        switch header.type {
        case "request":
            let index = slot(target, related) { $0.request == nil && $0.response != nil }
            recordings[index].request = place
            recordings[index].requestDigest = header.digest("warc-block-digest")
            noteMessage(header, index)
        case "response", "revisit":
            // A repeated reply refers to an earlier one, too.
            let index = slot(target, partner) { $0.response == nil && $0.request != nil }
            recordings[index].response = place
            recordings[index].truncated = header["warc-truncated"].map {
                Truncation(rawValue: $0) ?? .unspecified
            }
            // The rest is in continuation records, which are not read.
            if header.isSegment { recordings[index].truncated = .unspecified }
            recordings[index].hasHeads = header.contentType == MessageHead.mediaType
            if header.type == "revisit" {
                recordings[index].isRevisit = true
                recordings[index].isNotModified = header.isNotModified
                if header.blockBytes == 0 { recordings[index].hasHeads = false }
                references.append((index, Self.references(header)))
            }
            noteMessage(header, index)
        case "metadata": noteMetadata(header, target, related, place)
        default: return
        }
    }

    /// The recording of the first record in `ids` that is known.
    private func known(_ ids: [String]) -> Int? {
        for id in ids {
            if let index = byID[TwoHashKey(id)] { return index }
        }
        return nil
    }

    /// The recording for a message: the one it names, or the last one if it names none.
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
        if let last = recordings.last, last.target == TwoHashKey(target), isFree(last) {
            return recordings.count - 1
        }
        return append(target)
    }

    private mutating func append(_ target: String) -> Int {
        let index = recordings.count
        recordings.append(Recording(target: TwoHashKey(target)))
        guard let uri = URI(recorded: target) else { return index }
        byURL[TwoHashKey(Self.text(uri)), default: []].append(index)
        return index
    }

    /// Keeps the identifier of a message, and facts of its connection.
    private mutating func noteMessage(_ header: WarcHeader, _ index: Int) {
        if header.type != "request" || recordings[index].time == .min {
            recordings[index].time = header.time ?? recordings[index].time
        }
        if let address = header["warc-ip-address"], address.utf8.count <= Self.addressBytesMax {
            recordings[index].address = address
        }
        if header.all("warc-protocol").contains("h2") { recordings[index].isHTTP2 = true }
        if let id = header.id { byID[TwoHashKey(id)] = index }
    }

    private mutating func noteMetadata(
        _ header: WarcHeader, _ target: String, _ related: Int?, _ place: WarcOffset
    ) {
        switch header.kind {
        case Certificates.kind:
            guard let name = Certificates.place(target) else { return }
            certificates[TwoHashKey(name), default: []].append(place)
        case "exchange":
            // The facts of a failure come before the failure.
            let index = related ?? append(target)
            recordings[index].facts = place
        case "turns":
            if let related { recordings[related].turns = place }
        case "application/warc-fields":
            if let related {
                recordings[related].failure = place
            } else if let last = recordings.last, last.target == TwoHashKey(target),
                last.isFailureAlone, last.failure == nil, last.facts != nil
            {
                recordings[recordings.count - 1].failure = place
            }
        default: return
        }
    }

    // MARK: Revisits

    /// Keys of the reply with the body. smallweb's own records name it by identifier; others by URL
    /// and date, or by digest alone.
    private static func references(_ header: WarcHeader) -> [TwoHashKey] {
        var keys = header["warc-refers-to"].map { [TwoHashKey($0)] } ?? []
        if let target = header.earlierTarget, let date = header["warc-refers-to-date"] {
            keys.append(page(target, date))
        }
        // The digest in a 304 is often meaningless, as it has no body.
        if !header.isNotModified, let digest = payload(header) { keys.append(digest) }
        return keys
    }

    private static func page(_ target: String, _ date: String) -> TwoHashKey {
        TwoHashKey("\(date) \(URI(recorded: target).map(text) ?? target)")
    }

    private static func payload(_ header: WarcHeader) -> TwoHashKey? {
        header.digest("warc-payload-digest").map {
            TwoHashKey("\($0.algorithm) \($0.bytes.hex)")
        }
    }

    /// Finds the replies that revisits repeat: by record identifiers if all are known, else with a
    /// second pass over the headers, if `searches`.
    private mutating func resolveRevisits(searches: Bool) throws(FetchError) {
        var found: [TwoHashKey: Int] = [:]
        var wanted: Set<TwoHashKey> = []
        for (index, keys) in references {
            if let id = keys.first, let earlier = byID[id], earlier != index {
                found[id] = earlier
            } else {
                wanted.formUnion(keys)
            }
        }
        if searches, !wanted.isEmpty {
            let byID = byID
            try Self.forEachHeader(of: paths) { header, _ in
                guard header.type == "response", let target = header.target,
                    let index = header.id.flatMap({ byID[TwoHashKey($0)] })
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
        // A 304 without a reference means the page before it.
        var pages: [TwoHashKey: Int] = [:]
        for (index, recording) in recordings.enumerated() where recording.response != nil {
            if !recording.isNotModified {
                pages[recording.target] = index
            } else if recording.earlier == nil {
                recordings[index].earlier = pages[recording.target]
            }
        }
    }

    /// Limit for chains of revisits.
    private static let revisitsMax = 16

    /// The recording with the body of another one's reply: itself, or the target of its `revisit`.
    ///
    /// - Throws: `not-recorded` if the archives do not have it.
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

    /// The recordings of a URL that have an end, in the order of time.
    ///
    /// - Parameter defaultPort: The port of URLs without one.
    func recordings(of uri: URI, defaultPort: UInt16) -> [Int] {
        Self.find(uri, defaultPort, in: byURL, by: Self.text)
            .filter { recordings[$0].isAnswered }
            .sorted { (recordings[$0].time, $0) < (recordings[$1].time, $1) }
    }

    func recordings(ofRequest digest: WarcDigest) -> [Int] { byRequest[digest] ?? [] }

    /// The certificate records of a server, in the archives' order.
    func certificates(of uri: URI, defaultPort: UInt16) -> [WarcOffset] {
        Self.find(uri, defaultPort, in: certificates, by: Certificates.place)
    }

    /// Looks up a URL with and without its default port; other ports are left as they are.
    private static func find<Value>(
        _ uri: URI, _ defaultPort: UInt16, in table: [TwoHashKey: [Value]],
        by key: (URI) -> String?
    ) -> [Value] {
        forms(of: uri, defaultPort: defaultPort).compactMap(key)
            .flatMap { table[TwoHashKey($0)] ?? [] }
    }

    static func forms(of uri: URI, defaultPort: UInt16) -> [URI] {
        guard uri.port == nil || uri.port == defaultPort else { return [uri] }
        var forms = [uri, uri]
        (forms[0].port, forms[1].port) = (defaultPort, nil)
        return forms
    }

    static func text(_ uri: URI) -> String {
        var uri = uri.withoutFragment
        if uri.path.isEmpty && uri.host != nil { uri.path = "/" }
        return uri.display
    }
}
