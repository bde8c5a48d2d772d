// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebTransport

struct RecordedFacts {
    private(set) var port: UInt16?
    private(set) var ending: ByteStream.Ending?
    private(set) var traffic = Ending.Traffic()
    /// Original head of a reply, if the block has another one.
    private(set) var head: [UInt8]?
    private(set) var certificate: [UInt8]?
    private(set) var proxy: String?
    private var tls: JSONValue?

    init() {}

    /// - Parameter json: Untrusted input; malformed values are ignored.
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

    /// Bounded, since the counts of all exchanges of a fetch are added.
    private static func count(_ value: JSONValue?) -> Int {
        value?.integer.flatMap { (0...bytesMax).contains($0) ? $0 : nil } ?? 0
    }

    /// Limit of a byte count; 32,767 of them can be added without overflow.
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

/// Recorded metadata of a connection and of how it ended.
struct RecordedEnd {
    let number: Int
    let facts: RecordedFacts
    let failure: FetchError?

    /// Longest metadata or failure record to read, in bytes.
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
    /// Parses an error recorded as `application/warc-fields`; `nil` if it is malformed.
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

struct RecordedTurns {
    struct Turn {
        let isSent: Bool
        let bytes: Int
        /// Totals at the end of this turn: bytes sent, bytes received, and number of received
        /// turns.
        let sent, received, replies: Int
    }

    /// At most ``RecordedFacts/bytesMax`` bytes in total, so that sums do not overflow.
    private(set) var turns: [Turn] = []

    /// Longest record of turns to read, in bytes: more than smallweb ever writes.
    static let bytesMax = 4 << 20

    /// - Parameter json: `nil` if unknown: the whole reply is then available at once.
    init(_ json: [UInt8]?) {
        guard let json, let value = try? JSONValue.parse(json[...]),
            case .array(let list)? = value["turns"]
        else { return }
        var (sent, received, replies) = (0, 0, 0)
        for case .array(let entry) in list where entry.count == 3 {
            guard let word = entry[0].string, let bytes = entry[1].integer, bytes >= 0,
                bytes <= RecordedFacts.bytesMax - sent - received
            else { continue }
            let isSent = word == "sent"
            sent += isSent ? bytes : 0
            received += isSent ? 0 : bytes
            replies += isSent ? 0 : 1
            turns.append(
                Turn(
                    isSent: isSent, bytes: bytes, sent: sent, received: received,
                    replies: replies))
        }
    }

    init(_ recording: Recording, _ replayer: Replayer) throws(FetchError) {
        self.init(try replayer.blocks([recording.turns], notOver: Self.bytesMax)[0])
    }

    /// Number of bytes the server had sent before it needed more than `sent` bytes from the client.
    ///
    /// - Parameter total: Length of the reply, and the result if no turn limits it.
    func available(afterSending sent: Int, of total: Int) -> Int {
        min(total, first { $0.sent > sent }.map { turns[$0].received } ?? total)
    }

    /// A received datagram by its number, and the number of datagrams sent before it.
    func datagram(_ number: Int) -> (sent: Int, turn: Turn)? {
        first { $0.replies > number }.map { ($0 - number, turns[$0]) }
    }

    /// Binary search for the first turn that fits; all turns behind it must fit, too.
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
