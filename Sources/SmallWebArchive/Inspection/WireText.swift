// SPDX-License-Identifier: MIT
internal import SmallWebCore

struct WireText {
    let target: String
    let request: [UInt8]
    let reply: [UInt8]
    let turns: RecordedTurns
    let facts: [UInt8]?
    let truncated: Truncation?

    /// Placeholder of the line with the endpoint, which is known only later.
    static let dialMark = "# dial\n"

    /// The lines, each with its line end.
    var lines: [String] {
        let known = RecordedFacts(facts)
        var lines = ["# Recorded: what is expected is what came of it.\n", "url    \(target)\n"]
        lines += asked
        lines.append(Self.dialMark)
        lines += steps
        let close: String? =
            if truncated == .time || truncated == .length {
                "silence"
            } else {
                known.ending.map(\.word)
            }
        if let close { lines.append("close  \(close)\n") }
        return lines
    }

    /// The request's options other than the URL.
    private var asked: [String] {
        guard let facts, let value = try? JSONValue.parse(facts[...]),
            let request = value["request"]
        else { return [] }
        var lines: [String] = []
        let input =
            request["input"]?.string.map { Array($0.utf8) }
            ?? request["input_base64"]?.string.flatMap(Base64.decode)
        if let input { lines.append("input  \(Self.escaped(input))\n") }
        if request["raw"]?.bool == true { lines.append("raw\n") }
        if request["head"]?.bool == true { lines.append("head\n") }
        if request["items"]?.bool == false { lines.append("items  no\n") }
        guard case .object(let members)? = request["options"] else { return lines }
        for member in members {
            switch member.value {
            case .bool(true): lines.append("option \(member.name)\n")
            case .string(let text) where !text.contains("\n"):
                lines.append("option \(member.name) \(text)\n")
            default: continue
            }
        }
        return lines
    }

    private var steps: [String] {
        var (lines, sent, received) = ([String](), request[...], reply[...])
        for turn in turns.turns {
            if turn.isSent {
                lines += Self.lines(">", sent.prefix(turn.bytes))
                sent = sent.dropFirst(turn.bytes)
            } else {
                lines += Self.lines("<", received.prefix(turn.bytes))
                received = received.dropFirst(turn.bytes)
            }
        }
        return lines + Self.lines(">", sent) + Self.lines("<", received)
    }

    private static func lines(_ mark: String, _ bytes: ArraySlice<UInt8>) -> [String] {
        var (lines, rest) = ([String](), bytes)
        while !rest.isEmpty {
            let some = rest.prefix(2000)
            let line = some.firstLineFeed.map { some[...$0] } ?? some
            rest = rest[line.endIndex...]
            lines.append("\(mark)      \(escaped(Array(line)))\n")
        }
        return lines
    }

    /// Escapes bytes as in C, without loss.
    static func escaped(_ bytes: [UInt8]) -> String {
        let isText = String(validating: bytes, as: UTF8.self) != nil
        var text: [UInt8] = []
        for (index, byte) in bytes.enumerated() {
            switch byte {
            case ASCII.carriageReturn: text.append("\\r")
            case ASCII.lineFeed: text.append("\\n")
            case ASCII.tab: text.append("\\t")
            case UInt8(ascii: "\\"): text.append("\\\\")
            case ASCII.space where index == 0: text.append("\\x20")
            case ASCII.space...0x7E: text.append(byte)
            case 0x80... where isText: text.append(byte)
            default: text.append("\\x" + [byte].hex)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
