// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebCore

/// Replays the reply to the bytes sent so far, which select the recording.
final class ReplayConversation {
    private let replayer: Replayer
    /// Recordings of the URL, in the archives' order.
    private let candidates: [Int]
    private let met: RecordedEnd
    private let redaction: Redaction
    let keepsDatagrams: Bool
    private var sent: [UInt8] = []
    private var sentDatagrams = 0
    private var given = 0
    private var givenDatagrams = 0
    private var present: Played?
    private var hasLooked = false
    /// Number of the recorded request's bytes sent so far; `nil` until computed.
    private var sentOfRequest: Int?

    private final class Played {
        let number: Int
        let request: [UInt8]
        let turns: RecordedTurns
        let facts: RecordedFacts
        let failure: FetchError?
        let truncated: Truncation?
        let box: Replayer.ReaderBox?
        let file: Int
        let total: Int
        /// Bytes of the reply read but not delivered yet.
        var rest: ArraySlice<UInt8> = []

        init(
            _ request: [UInt8], _ turns: RecordedTurns, _ end: RecordedEnd,
            _ truncated: Truncation?,
            _ reply: (box: Replayer.ReaderBox, file: Int, total: Int)?
        ) {
            (number, facts, failure) = (end.number, end.facts, end.failure)
            self.request = request
            self.turns = turns
            self.truncated = truncated
            (box, file, total) = (reply?.box, reply?.file ?? 0, reply?.total ?? 0)
        }
    }

    /// Longest request to compare; the rest of a longer one is ignored.
    private static let requestBytesMax = 64 << 20

    /// - Parameter met: Metadata of the connection; usually from the same recording.
    init(
        _ replayer: Replayer, _ candidates: [Int], met: RecordedEnd, _ redaction: Redaction,
        keepsDatagrams: Bool
    ) {
        self.replayer = replayer
        self.met = met
        self.candidates = candidates.filter { number in
            !replayer.index.recordings[number].isFailureAlone
        }
        self.redaction = redaction
        self.keepsDatagrams = keepsDatagrams
    }

    deinit { letGo() }

    private func letGo() {
        if let box = present?.box { replayer.giveBack(box, of: present?.file ?? 0) }
        present = nil
    }

    func send(_ bytes: UnsafeRawBufferPointer) {
        sent += bytes
        sentDatagrams += 1
        (hasLooked, sentOfRequest) = (false, nil)
    }

    enum State {
        /// The next byte may be delivered.
        case ready
        /// The client must send more first.
        case waiting
        /// The reply is complete.
        case over
    }

    /// - Throws: `not-recorded` if no recording matches the sent bytes.
    func state() throws(FetchError) -> State {
        guard let played = try find() else { return .waiting }
        if keepsDatagrams {
            guard let needed = played.turns.datagram(givenDatagrams)?.sent else { return .over }
            return needed <= sentDatagrams ? .ready : .waiting
        }
        let limit = limit(played)
        if given < limit { return .ready }
        return given < played.total ? .waiting : .over
    }

    /// Number of bytes of the reply that may be delivered by now.
    private func limit(_ played: Played) -> Int {
        if replayer.isLoose { return played.total }
        let count = sentOfRequest ?? masked(played).count
        sentOfRequest = count
        return played.turns.available(afterSending: count, of: played.total)
    }

    /// Delivers the next bytes, if any.
    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(FetchError) -> Int {
        guard let played = present else { return 0 }
        var room = buffer.count
        if keepsDatagrams {
            room = min(room, played.turns.datagram(givenDatagrams)?.turn.bytes ?? 0)
            givenDatagrams += 1
        } else {
            room = min(room, limit(played) - given)
        }
        var count = 0
        while count < room {
            if played.rest.isEmpty { played.rest = try played.box?.reader.block() ?? [] }
            if played.rest.isEmpty { break }
            let piece = played.rest.prefix(room - count)
            UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).copyBytes(from: piece)
            played.rest = played.rest.dropFirst(piece.count)
            count += piece.count
        }
        given += count
        return count
    }

    /// The recorded end of the connection, behind its last byte.
    ///
    /// - Throws: The recorded error, if the client's fetch ended before the server's reply.
    func end(isSecure: Bool) throws(FetchError) -> ByteStream.Ending {
        guard let played = present else { return .endOfFile }
        switch played.truncated {
        case .length: throw played.failure ?? .recordedLimit
        case .time:
            throw played.failure
                ?? FetchError(.timeout, .body, "the recording ends where its time was over")
        case .disconnect, .unspecified: return played.facts.ending ?? .reset
        case nil: break
        }
        if let ending = played.facts.ending { return ending }
        if played.total == 0, let failure = played.failure { throw failure }
        return isSecure ? .closeNotify : .endOfFile
    }

    // MARK: Finding

    /// The sent bytes with secrets masked as in the recording.
    private func masked(_ played: Played) -> [UInt8] {
        let forms = [sent] + redaction.forms(of: sent)
        return forms.first { played.request.starts(with: $0) } ?? sent
    }

    private func fits(_ request: [UInt8]) -> Bool {
        ([sent] + redaction.forms(of: sent)).contains { request.starts(with: $0) }
    }

    /// Selects the recording for the sent bytes; `nil` while more of the request may come.
    private func find() throws(FetchError) -> Played? {
        if hasLooked { return present }
        if let present, replayer.isLoose || fits(present.request) {
            hasLooked = true
            return present
        }
        let beginning = present == nil ? [] : try givenBytes()
        letGo()
        sentOfRequest = nil
        guard let number = try number(beginning) else { return nil }
        hasLooked = true
        replayer.notePlayed(number)
        present = try open(number)
        return present
    }

    /// The delivered bytes, which the reply of a further recording must begin with.
    private func givenBytes() throws(FetchError) -> [UInt8] {
        guard let played = present,
            let place = replayer.index.recordings[played.number].response
        else { return [] }
        return try replayer.block(place, upTo: given) ?? []
    }

    private func number(_ beginning: [UInt8]) throws(FetchError) -> Int? {
        if replayer.isLoose { return replayer.next(candidates) }
        if beginning.isEmpty, let number = try exact() { return number }
        let forms = [sent] + redaction.forms(of: sent)
        let limit = (forms.map(\.count).max() ?? 0) + 1
        var (fitting, isPartial) = ([Int](), false)
        // Many recordings may share one request record: read it once.
        var (place, request) = (RecordPlace?.none, [UInt8]())
        for number in candidates {
            let recording = replayer.index.recordings[number]
            if place == nil || recording.request != place {
                request = try replayer.block(recording.request, upTo: limit) ?? []
                place = recording.request
            }
            guard forms.contains(where: request.starts(with:)) else { continue }
            guard beginning.isEmpty || recording.turns != nil else { continue }
            if !beginning.isEmpty {
                let reply = try replayer.block(recording.response, upTo: beginning.count)
                guard reply == beginning else { continue }
            }
            isPartial = isPartial || recording.turns == nil && !forms.contains(request)
            fitting.append(number)
        }
        if fitting.isEmpty {
            throw .notRecorded("this request for the URL")
        }
        // Without recorded turns an incomplete request gets no reply.
        return isPartial && !sent.isEmpty && beginning.isEmpty ? nil : replayer.next(fitting)
    }

    /// A recording of exactly the sent bytes.
    private func exact() throws(FetchError) -> Int? {
        guard !sent.isEmpty else { return nil }
        var algorithms: [Digest.Algorithm] = [.sha256]
        if replayer.index.hasOldDigests { algorithms.append(.sha1) }
        let own = Set(candidates)
        for algorithm in algorithms {
            let digest = try Digest(algorithm)
            for form in [sent] + redaction.forms(of: sent) {
                digest.update(form[...])
                let key = BlockDigest(algorithm: algorithm, bytes: digest.finish())
                let found = replayer.index.recordings(ofRequest: key)
                // Only this URL's: the same request line is sent to many hosts.
                let mine = found.filter(own.contains)
                if let number = replayer.next(mine) { return number }
            }
        }
        return nil
    }

    private func open(_ number: Int) throws(FetchError) -> Played {
        let recording = replayer.index.recordings[number]
        let request = try replayer.block(recording.request, upTo: Self.requestBytesMax)
        let turns = try RecordedTurns(recording, replayer)
        let end = number == met.number ? met : try RecordedEnd(number, replayer)
        let source = try replayer.index.source(of: recording)
        var reply: (box: Replayer.ReaderBox, file: Int, total: Int)?
        if let place = source.response {
            let box = try replayer.reader(of: place.file)
            box.reader.seek(to: place.offset)
            reply = (box, place.file, try box.reader.next()?.blockBytes ?? 0)
        }
        return Played(
            request ?? [], turns, end,
            recording.truncated ?? source.truncated, reply)
    }
}

extension FetchError {
    /// Error for a body that was truncated at an unknown limit.
    static let recordedLimit = FetchError(
        .tooLarge, .body, "the recording has only the beginning of the body")
}

/// A recording as a connection.
final class ReplayCarrier: Carrier {
    private let conversation: ReplayConversation
    private let isSecure: Bool

    init(_ conversation: ReplayConversation, isSecure: Bool = false) {
        (self.conversation, self.isSecure) = (conversation, isSecure)
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(FetchError) -> TransportRead {
        switch try conversation.state() {
        case .ready: return .bytes(try conversation.receive(into: buffer))
        case .waiting: return .wouldBlock(.readable)
        case .over:
            // Datagrams have no end.
            if conversation.keepsDatagrams { return .wouldBlock(.readable) }
            return .ended(try conversation.end(isSecure: isSecure))
        }
    }

    func send(_ bytes: UnsafeRawBufferPointer) throws(FetchError) -> TransportWrite {
        conversation.send(bytes)
        return .bytes(bytes.count)
    }

    func wait(for readiness: Readiness, by deadline: Instant) throws(FetchError) {
        guard readiness != .writable else { return }
        switch try conversation.state() {
        case .ready: return
        case .waiting: throw .notRecorded("a reply to what has been sent")
        case .over:
            if conversation.keepsDatagrams { throw .silence(.body) }
        }
    }

    /// A plugin program gets each piece only after it has read the one before.
    var keepsPieces: Bool { true }
}
