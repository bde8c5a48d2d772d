// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebCore

/// Recordings as a connection: the bytes sent so far select the one whose reply is delivered.
final class ReplayStream: Carrier {
    private let replayer: Replayer
    /// Recordings of the URL, in the order of time.
    private let candidates: [Int]
    private let met: (number: Int, facts: CaptureFacts)
    private let redaction: Redaction
    private let hop: Hop
    private let keepsDatagrams: Bool
    private let isSecure: Bool
    private var sent: [UInt8] = []
    private var sentDatagrams = 0
    private var given = 0
    private var givenDatagrams = 0
    private var present: Match?
    private var hasLooked = false
    /// Number of the recorded request's bytes sent so far; `nil` until computed.
    private var sentOfRequest: Int?

    /// The recording that fits the bytes sent so far.
    private struct Match {
        let number: Int
        let request: [UInt8]
        let turns: Turns
        let facts: CaptureFacts
        let truncated: Truncation?
        let reply: WarcRecord?
        /// Bytes of the reply read but not delivered yet.
        var rest: ArraySlice<UInt8> = []

        var total: Int { reply?.header?.blockBytes ?? 0 }
    }

    /// Longest request to compare; the rest of a longer one is ignored.
    private static let requestBytesMax = 64 << 20

    /// - Parameter met: The recording of the connection; usually that of the reply, too.
    init(
        _ replayer: Replayer, _ candidates: [Int], met: (number: Int, facts: CaptureFacts),
        _ redaction: Redaction, _ hop: Hop, keepsDatagrams: Bool, isSecure: Bool
    ) {
        self.replayer = replayer
        self.met = met
        self.candidates = candidates.filter { number in
            !replayer.index.recordings[number].isFailureAlone
        }
        (self.redaction, self.hop) = (redaction, hop)
        (self.keepsDatagrams, self.isSecure) = (keepsDatagrams, isSecure)
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(FetchError) -> TransportRead {
        switch try state() {
        case .ready: return .bytes(try read(into: buffer))
        case .waiting: return .wouldBlock(.readable)
        case .over:
            // Datagrams have no end.
            return keepsDatagrams ? .wouldBlock(.readable) : .ended(try end())
        }
    }

    func send(_ bytes: UnsafeRawBufferPointer) -> TransportWrite {
        sent += bytes
        sentDatagrams += 1
        (hasLooked, sentOfRequest) = (false, nil)
        return .bytes(bytes.count)
    }

    func wait(for readiness: Readiness, by deadline: Instant) throws(FetchError) {
        guard readiness != .writable else { return }
        switch try state() {
        case .ready: return
        case .waiting: throw .notRecorded("a reply to what has been sent")
        case .over: if keepsDatagrams { throw .silence(.body) }
        }
    }

    /// A plugin program gets each piece only after it has read the one before.
    var keepsPieces: Bool { true }

    private enum State {
        /// The next byte may be delivered.
        case ready
        /// The client must send more first.
        case waiting
        /// The reply is complete.
        case over
    }

    /// - Throws: `not-recorded` if no recording matches the sent bytes.
    private func state() throws(FetchError) -> State {
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
    private func limit(_ played: Match) -> Int {
        if replayer.isLoose { return played.total }
        let count =
            sentOfRequest ?? (forms.first(where: played.request.starts(with:)) ?? sent).count
        sentOfRequest = count
        return played.turns.available(afterSending: count, of: played.total)
    }

    /// Delivers the next bytes, if any.
    private func read(into buffer: UnsafeMutableRawBufferPointer) throws(FetchError) -> Int {
        guard var played = present else { return 0 }
        var room = buffer.count
        if keepsDatagrams {
            room = min(room, played.turns.datagram(givenDatagrams)?.turn.bytes ?? 0)
            givenDatagrams += 1
        } else {
            room = min(room, limit(played) - given)
        }
        var count = 0
        while count < room {
            if played.rest.isEmpty { played.rest = try played.reply?.reader.block() ?? [] }
            if played.rest.isEmpty { break }
            let piece = played.rest.prefix(room - count)
            UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).copyBytes(from: piece)
            played.rest = played.rest.dropFirst(piece.count)
            count += piece.count
        }
        present?.rest = played.rest
        given += count
        return count
    }

    /// The recorded end of the connection, behind its last byte.
    ///
    /// - Throws: The recorded error, if the client's fetch ended before the server's reply.
    private func end() throws(FetchError) -> ByteStream.Ending {
        guard let played = present else { return .endOfFile }
        if let error = played.truncated?.limitError { throw played.facts.failure ?? error }
        if let ending = played.facts.ending { return ending }
        if played.truncated != nil { return .reset }
        if played.total == 0, let failure = played.facts.failure { throw failure }
        return isSecure ? .closeNotify : .endOfFile
    }

    // MARK: Finding

    /// The forms that a recording may have of the sent bytes: secrets may be masked.
    private var forms: [[UInt8]] { [sent] + redaction.forms(of: sent) }

    /// Selects the recording for the sent bytes; `nil` while more of the request may come.
    private func find() throws(FetchError) -> Match? {
        if hasLooked { return present }
        if let present,
            replayer.isLoose || forms.contains(where: present.request.starts(with:))
        {
            hasLooked = true
            return present
        }
        let beginning = present == nil ? [] : try givenBytes()
        (present, sentOfRequest) = (nil, nil)
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
        let forms = forms
        let limit = (forms.map(\.count).max() ?? 0) + 1
        var (fitting, isPartial) = ([Int](), false)
        // Those that may not be played are passed over, though they fit.
        let candidates = candidates.filter { replayer.next([$0]) != nil }
        // Many recordings may share one request record: read it once.
        var (place, request) = (WarcOffset?.none, [UInt8]())
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
        for algorithm in algorithms {
            let digest = try Digest(algorithm)
            for form in forms {
                digest.update(form[...])
                let key = WarcDigest(algorithm: algorithm, bytes: digest.finish())
                let found = Set(replayer.index.recordings(ofRequest: key))
                // Only this URL's: the same request line is sent to many hosts.
                let mine = found.isEmpty ? [] : candidates.filter(found.contains)
                if let number = replayer.next(mine) { return number }
            }
        }
        return nil
    }

    private func open(_ number: Int) throws(FetchError) -> Match {
        let recording = replayer.index.recordings[number]
        let request = try replayer.block(recording.request, upTo: Self.requestBytesMax)
        let turns = try Turns(recording, replayer)
        hop.recorded = recording.time
        let facts = number == met.number ? met.facts : try CaptureFacts(number, replayer)
        let source = try replayer.index.source(of: recording)
        var reply: WarcRecord?
        if let place = source.response { reply = try WarcRecord(place, replayer) }
        return Match(
            number: number, request: request ?? [], turns: turns, facts: facts,
            truncated: recording.truncated ?? source.truncated, reply: reply)
    }
}

extension Truncation {
    /// The error of a body that was cut off by a limit of the recorded run; `nil` if its connection
    /// has ended too early.
    var limitError: FetchError? {
        switch self {
        case .length:
            FetchError(.tooLarge, .body, "the recording has only the beginning of the body")
        case .time: FetchError(.timeout, .body, "the recording ends where its time was over")
        case .disconnect, .unspecified: nil
        }
    }
}
