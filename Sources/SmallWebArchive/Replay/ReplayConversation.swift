// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebCore

/// What a recording says to what is sent: which recording that is, the request tells.
final class ReplayConversation {
    private let replayer: Replayer
    /// Of the URL, in their order.
    private let candidates: [Int]
    private let met: RecordedEnd
    private let redaction: Redaction
    let keepsDatagrams: Bool
    private let began = Instant.now
    private var sent: [UInt8] = []
    private var sentDatagrams = 0
    private var given = 0
    private var givenDatagrams = 0
    /// The recording that is played, once it is known.
    private var present: Played?
    private var hasLooked = false
    /// How much of the recording's request has been sent; `nil` until it is asked for.
    private var sentOfRequest: Int?

    /// A recording, as far as it has been read.
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
        /// Of the reply: read, and not given yet.
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

    /// What is left of larger requests is not compared.
    private static let requestBytesMax = 64 << 20

    /// - Parameter met: What the connection was like, which mostly is that of the recording.
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

    /// What can be said of the next byte.
    enum State {
        /// It is there, and may be given from `moment` on.
        case ready(Instant)
        /// More must be sent before.
        case waiting
        /// There is none.
        case over
    }

    /// - Throws: `not-recorded` when nothing fits what has been sent.
    func state() throws(FetchError) -> State {
        guard let played = try find() else { return .waiting }
        if keepsDatagrams {
            guard let (needed, turn) = played.turns.datagram(givenDatagrams) else { return .over }
            return needed <= sentDatagrams ? .ready(moment(turn.seconds)) : .waiting
        }
        let limit = limit(played)
        if given < limit { return .ready(moment(played.turns.moment(ofReceived: given))) }
        return given < played.total ? .waiting : .over
    }

    /// How much of the reply may be given by now.
    private func limit(_ played: Played) -> Int {
        if replayer.options.isLoose { return played.total }
        let count = sentOfRequest ?? masked(played).count
        sentOfRequest = count
        return played.turns.available(afterSending: count, of: played.total)
    }

    private func moment(_ seconds: Double) -> Instant {
        replayer.options.keepsPauses ? began.advanced(seconds: seconds) : began
    }

    /// Gives the next bytes, which are there.
    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(FetchError) -> Int {
        guard let played = present else { return 0 }
        var room = buffer.count
        if keepsDatagrams {
            room = min(room, played.turns.datagram(givenDatagrams)?.turn.bytes ?? 0)
            givenDatagrams += 1
        } else {
            room = min(room, limit(played) - given, replayer.options.pieceBytes ?? .max)
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

    /// How the recording ends, behind its last byte.
    ///
    /// - Throws: What ended the fetch instead of the server.
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

    /// What has been sent as the recording has it.
    private func masked(_ played: Played) -> [UInt8] {
        let forms = [sent] + redaction.forms(of: sent)
        return forms.first { played.request.starts(with: $0) } ?? sent
    }

    private func fits(_ request: [UInt8]) -> Bool {
        ([sent] + redaction.forms(of: sent)).contains { request.starts(with: $0) }
    }

    /// The recording of what has been sent; `nil` while more of it may come.
    private func find() throws(FetchError) -> Played? {
        if hasLooked { return present }
        if let present, replayer.options.isLoose || fits(present.request) {
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

    /// What has been given of a recording that another one may go on from.
    private func givenBytes() throws(FetchError) -> [UInt8] {
        guard let played = present,
            let place = replayer.index.recordings[played.number].response
        else { return [] }
        return try replayer.block(place, upTo: given) ?? []
    }

    private func number(_ beginning: [UInt8]) throws(FetchError) -> Int? {
        if replayer.options.isLoose { return replayer.next(candidates) }
        if beginning.isEmpty, let number = try exact() { return number }
        let forms = [sent] + redaction.forms(of: sent)
        let limit = (forms.map(\.count).max() ?? 0) + 1
        var (fitting, isPartial) = ([Int](), false)
        // Many recordings may have one request: it is read once.
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
        // Without turns a part of a request is not answered.
        return isPartial && !sent.isEmpty && beginning.isEmpty ? nil : replayer.next(fitting)
    }

    /// One whose request is what has been sent, whatever its URL.
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
                // Those of the URL alone, if there are any: the same line is sent to many hosts.
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
    /// A body that was cut off at a limit which is not known.
    static let recordedLimit = FetchError(
        .tooLarge, .body, "the recording has only the beginning of the body")
}

/// What a recording says, as a connection.
final class ReplayCarrier: Carrier {
    private let conversation: ReplayConversation
    private let loop: EventLoop
    private let isSecure: Bool

    init(_ conversation: ReplayConversation, on loop: EventLoop, isSecure: Bool = false) {
        (self.conversation, self.loop, self.isSecure) = (conversation, loop, isSecure)
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(FetchError) -> TransportRead {
        switch try conversation.state() {
        case .ready(let moment):
            guard moment <= .now else { return .wouldBlock(.readable) }
            return .bytes(try conversation.receive(into: buffer))
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

    func wait(for readiness: Readiness, by deadline: Instant) async throws(FetchError) {
        guard readiness != .writable else { return }
        switch try conversation.state() {
        case .ready(let moment):
            guard moment > .now else { return }
            await loop.sleep(until: min(moment, deadline))
            if Task.isCancelled { throw .cancelled }
            if moment > deadline { throw .silence(.body) }
        case .waiting: throw .notRecorded("a reply to what has been sent")
        case .over:
            if conversation.keepsDatagrams { throw .silence(.body) }
        }
    }

    var readableAt: Instant {
        guard case .ready(let moment)? = try? conversation.state() else { return .never }
        return moment
    }

    /// A program is given the next piece when it has read the one before.
    var keepsPieces: Bool { true }
}
