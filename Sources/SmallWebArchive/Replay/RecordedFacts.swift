// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebTransport

/// What the metadata of an exchange says.
struct RecordedFacts {
    private(set) var port: UInt16?
    private(set) var ending: ByteStream.Ending?
    private(set) var traffic = Ending.Traffic()
    /// A reply's head as it came, where the block has another.
    private(set) var head: [UInt8]?
    private(set) var certificate: [UInt8]?
    private(set) var proxy: String?
    private var tls: JSONValue?

    init() {}

    /// - Parameter json: Of anyone; what makes no sense counts as missing.
    init(_ json: [UInt8]?) {
        guard let json, let facts = try? JSONValue.parse(json[...]) else { return }
        port = facts["remote"]?["port"]?.integer.flatMap { UInt16(exactly: $0) }
        ending = facts["ending"]?.string.flatMap { ByteStream.Ending(word: $0) }
        traffic.sent = Self.count(facts["bytes"]?["sent"])
        traffic.received = Self.count(facts["bytes"]?["received"])
        head =
            facts["head"]?.string.map { Array($0.utf8) }
            ?? facts["head_base64"]?.string.flatMap(Base64.decode)
        tls = facts["tls"]
        certificate = Self.digest(tls?["cert"])
    }

    /// Those of all exchanges of a fetch are added up.
    private static func count(_ value: JSONValue?) -> Int {
        value?.integer.flatMap { (0...bytesMax).contains($0) ? $0 : nil } ?? 0
    }

    /// More than any exchange has; 32,767 of them can be added.
    static let bytesMax = 1 << 48

    private static func digest(_ value: JSONValue?) -> [UInt8]? {
        guard let text = value?.string, text.hasPrefix("sha256:") else { return nil }
        return ASCII.bytes(hex: text.utf8.dropFirst(7))
    }

    func handshake(_ chain: [[UInt8]]) -> RecordedHandshake {
        var handshake = RecordedHandshake(chain: chain)
        handshake.version = tls?["version"]?.string ?? ""
        handshake.cipher = tls?["cipher"]?.string ?? ""
        handshake.serverName = tls?["sni"]?.string
        handshake.applicationProtocol = tls?["alpn"]?.string
        handshake.isResumed = tls?["resumed"]?.bool ?? false
        handshake.chainLength = tls?["chain"]?.integer
        handshake.shownIdentity = Self.digest(tls?["client_cert"])
        return handshake
    }
}

/// What was recorded of a connection and of how it ended.
struct RecordedEnd {
    /// Of the recording.
    let number: Int
    let facts: RecordedFacts
    let failure: FetchError?

    /// Longest record of facts or of a failure that is read.
    static let bytesMax = 1 << 20

    init(_ number: Int, _ replayer: Replayer) throws(FetchError) {
        self.number = number
        let recording = replayer.index.recordings[number]
        let blocks = try replayer.blocks(
            [recording.facts, recording.failure], notOver: Self.bytesMax)
        facts = RecordedFacts(blocks[0])
        failure = blocks[1].flatMap { FetchError(warcFields: $0) }
    }
}

extension FetchError {
    /// One that was recorded, as `application/warc-fields`; `nil` for what is not.
    init?(warcFields text: [UInt8]) {
        var fields: [String: String] = [:]
        for line in text.split(whereSeparator: { $0 == 10 || $0 == 13 }) {
            guard let colon = line.firstIndex(of: ASCII.colon) else { continue }
            let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
            let value = line[(colon + 1)...].drop(while: ASCII.isBlank)
            fields[name] = String(decoding: value, as: UTF8.self)
        }
        guard let outcome = fields["outcome"].flatMap(Outcome.init(rawValue:)), outcome != .ok,
            outcome != .interrupted
        else { return nil }
        self.init(
            outcome, fields["phase"].flatMap(Phase.init(rawValue:)) ?? .connect,
            fields["message"] ?? outcome.summary, errnoName: fields["errno"],
            hint: fields["hint"], expected: fields["expected"], actual: fields["actual"])
        if let limit = fields["limit"].flatMap({ Remedy.Limit(word: $0) }) {
            remedy = .raise(limit)
        }
    }
}

/// How a conversation alternated.
struct RecordedTurns {
    struct Turn {
        let isSent: Bool
        let bytes: Int
        let seconds: Double
        /// At its end: how many bytes were sent and received, and in how many turns these were.
        let sent, received, replies: Int
    }

    /// At most ``RecordedFacts/bytesMax`` bytes in all, so that they can be added.
    private(set) var turns: [Turn] = []

    /// Longest record of turns that is read: more than ours ever have.
    static let bytesMax = 4 << 20

    /// - Parameter json: `nil` where nothing is known: what was received comes at once.
    init(_ json: [UInt8]?) {
        guard let json, let value = try? JSONValue.parse(json[...]),
            case .array(let list)? = value["turns"]
        else { return }
        var (sent, received, replies) = (0, 0, 0)
        for case .array(let entry) in list where entry.count == 3 {
            guard let word = entry[0].string, let bytes = entry[1].integer, bytes >= 0,
                bytes <= RecordedFacts.bytesMax - sent - received,
                case .number(let text) = entry[2], let seconds = Double(text), seconds >= 0,
                seconds < 1e9
            else { continue }
            let isSent = word == "sent"
            sent += isSent ? bytes : 0
            received += isSent ? 0 : bytes
            replies += isSent ? 0 : 1
            turns.append(
                Turn(
                    isSent: isSent, bytes: bytes, seconds: seconds, sent: sent,
                    received: received, replies: replies))
        }
    }

    init(_ recording: Recording, _ replayer: Replayer) throws(FetchError) {
        self.init(try replayer.blocks([recording.turns], notOver: Self.bytesMax)[0])
    }

    /// How many bytes have been received before more than so many had to be sent.
    ///
    /// - Parameter total: All that were received: with no turn that says otherwise.
    func available(afterSending sent: Int, of total: Int) -> Int {
        min(total, first { $0.sent > sent }.map { turns[$0].received } ?? total)
    }

    /// When the byte at `offset` of what was received came, in seconds since the start.
    func moment(ofReceived offset: Int) -> Double {
        (first { $0.received > offset }.map { turns[$0] } ?? turns.last)?.seconds ?? 0
    }

    /// The datagram of a number that was received, and how many were sent before.
    func datagram(_ number: Int) -> (sent: Int, turn: Turn)? {
        first { $0.replies > number }.map { ($0 - number, turns[$0]) }
    }

    /// The first turn that fits, where all behind one that fits do, too.
    private func first(where fits: (Turn) -> Bool) -> Int? {
        var (low, high) = (0, turns.count)
        while low < high {
            let middle = (low + high) / 2
            if fits(turns[middle]) { high = middle } else { low = middle + 1 }
        }
        return low < turns.count ? low : nil
    }
}

extension JSONValue {
    fileprivate var integer: Int? {
        if case .number(let text) = self { Int(text) } else { nil }
    }
}
