// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The order in which both sides of an exchange have sent their bytes.
struct Turns {
    /// One direction's bytes until the other side sends, or a single datagram.
    struct Turn {
        let isSent: Bool
        var bytes = 0
        /// Time since the beginning of the exchange.
        let seconds: Double
        /// Totals at the end of this turn: bytes sent, bytes received, and number of received
        /// turns.
        var sent, received, replies: Int
    }

    /// Bytes are at most ``CaptureFacts/bytesMax`` in total, so that sums do not overflow.
    private(set) var turns: [Turn] = []
    private var isComplete = true

    /// Longest record of turns to read, in bytes: more than smallweb ever writes.
    static let bytesMax = 4 << 20
    /// Limit of turns to keep: the number of datagrams has no bound.
    private static let countMax = 100_000

    /// - Parameter json: `nil` if unknown: the whole reply is then available at once.
    init(_ json: [UInt8]? = nil) {
        guard let json, let value = try? JSONValue.parse(WarcHeader.json(of: json)),
            case .array(let list)? = value["turns"]
        else { return }
        for case .array(let entry) in list where entry.count == 3 {
            let total = turns.last.map { $0.sent + $0.received } ?? 0
            guard let word = entry[0].string, let bytes = entry[1].integer, bytes >= 0,
                bytes <= CaptureFacts.bytesMax - total
            else { continue }
            add(bytes, isSent: word == "sent")
        }
    }

    init(_ recording: Recording, _ replayer: Replayer) throws(FetchError) {
        self.init(try replayer.blocks([recording.turns], notOver: Self.bytesMax)[0])
    }

    /// - Parameter joins: True to add the bytes to the last turn, if that has their direction.
    mutating func add(_ bytes: Int, isSent: Bool, seconds: Double = 0, joins: Bool = false) {
        if !joins || turns.last?.isSent != isSent {
            guard turns.count < Self.countMax else {
                isComplete = false
                return
            }
            let (sent, received, replies) =
                turns.last.map { ($0.sent, $0.received, $0.replies) } ?? (0, 0, 0)
            turns.append(
                Turn(
                    isSent: isSent, seconds: seconds, sent: sent, received: received,
                    replies: replies + (isSent ? 0 : 1)))
        }
        let index = turns.count - 1
        turns[index].bytes += bytes
        if isSent { turns[index].sent += bytes } else { turns[index].received += bytes }
    }

    /// Replaces the turns by one for each direction: engines and masked data have no finer ones.
    mutating func join(sent: Int, received: Int) {
        let replied = turns.first { !$0.isSent }?.seconds ?? 0
        turns = []
        if sent > 0 { add(sent, isSent: true) }
        if received > 0 { add(received, isSent: false, seconds: replied) }
    }

    /// The turns as JSON.
    ///
    /// - Parameter masked: Maps an offset in the sent bytes to its offset after masking.
    func json(_ masked: (Int) -> Int = { $0 }) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(96)
        text.append("{\"turns\":[")
        for (index, turn) in turns.enumerated() {
            text.append(index == 0 ? "[\"" : ",[\"")
            text.append(turn.isSent ? "sent\"," : "received\",")
            text.append(
                digits: turn.isSent
                    ? masked(turn.sent) - masked(turn.sent - turn.bytes) : turn.bytes)
            let microseconds = Int(turn.seconds * 1e6)
            text.append(",")
            text.append(digits: microseconds / 1_000_000)
            text.append(".")
            text.append(digits: microseconds % 1_000_000, atLeast: 6)
            text.append("]")
        }
        text.append(isComplete ? "]}\n" : "],\"complete\":false}\n")
        return text
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
