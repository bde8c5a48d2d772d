// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Compares the expectations of a fixture with the events of a play.
struct Comparison {
    let wire: WireCase
    let keepsDatagrams: Bool
    private(set) var lines: [String] = []

    /// Limits in a report, in bytes: of a whole text, and around the first difference in a longer
    /// one.
    private static let (shownMax, before, behind) = (200, 40, 80)

    mutating func note(_ line: String) { lines.append(line) }

    private mutating func differ(
        _ what: String, at line: Int?, _ expected: String, _ seen: String
    ) {
        differ(what, at: line, Array(expected.utf8), Array(seen.utf8)) {
            String(decoding: $0, as: UTF8.self)
        }
    }

    /// - Parameters:
    ///   - line: Line of the fixture.
    ///   - text: Converts bytes for the report.
    private mutating func differ(
        _ what: String, at line: Int?, _ expected: [UInt8], _ seen: [UInt8],
        as text: (ArraySlice<UInt8>) -> String = Comparison.escaped
    ) {
        var what = (line.map { "\(wire.name):\($0): " } ?? "") + what
        let same = zip(expected, seen).prefix { $0 == $1 }.count
        let isLong = max(expected.count, seen.count) > Self.shownMax
        if isLong { what += ", from byte \(same + 1)" }
        for (word, bytes) in [("expected: ", expected), ("seen:     ", seen)] {
            let part = isLong ? Self.part(of: bytes, around: same) : bytes[...]
            lines.append(
                "\(what), \(word)" + (part.startIndex > 0 ? "…" : "") + text(part)
                    + (part.endIndex < bytes.count ? "…" : "")
                    + (isLong ? " (\(bytes.count) bytes)" : ""))
        }
    }

    /// Cuts no character.
    private static func part(of bytes: [UInt8], around offset: Int) -> ArraySlice<UInt8> {
        var (start, end) = (max(0, offset - before), min(bytes.count, offset + behind))
        while start > 0 && bytes[start] & 0xC0 == 0x80 { start -= 1 }
        while end < bytes.count && bytes[end] & 0xC0 == 0x80 { end += 1 }
        return bytes[start..<end]
    }

    // MARK: The whole reply

    /// The meaning must not depend on how the reply came. Before an error fewer events may have
    /// been seen, since the program sends both at once.
    mutating func checkWhole(_ played: Played) {
        if played.error?.outcome != wire.error {
            differ(
                "error", at: wire.line(of: "error"), wire.error?.rawValue ?? "none",
                played.error.map { "\($0.outcome.rawValue) (\($0.message))" } ?? "none")
        }
        checkPlace(played)
        if played.sent != wire.request { differSent(played) }
        let (expected, seen) = (wire.events, played.lines)
        if wire.error == nil && played.error == nil {
            for index in 0..<max(expected.count, seen.count) {
                let pair = (expected.dropFirst(index).first, seen.dropFirst(index).first)
                if Self.agree(pair.0, pair.1) { continue }
                let line = wire.line(ofEvent: index)
                let bodies = (pair.0.flatMap(Self.body), pair.1.flatMap(Self.body))
                if let expected = bodies.0, let seen = bodies.1,
                    max(expected.count, seen.count) > Self.shownMax
                {
                    differ("event \(index + 1), body", at: line, expected, seen)
                } else {
                    differ("event \(index + 1)", at: line, pair.0 ?? "none", pair.1 ?? "none")
                }
            }
        } else if wire.error != nil {
            checkBeginning(played)
        }
    }

    private mutating func checkPlace(_ played: Played) {
        guard let dial = wire.dial else { return }
        let expected = dial == "no" ? [] : [dial]
        if played.dialled != expected {
            differ("connection", at: wire.line(of: "dial"), dial, played.dialled.first ?? "no")
        }
    }

    private mutating func differSent(_ played: Played) {
        let same = zip(wire.request, played.sent).prefix { $0 == $1 }.count
        differ("sent", at: wire.line(ofRequestByte: same), wire.request, played.sent)
    }

    // MARK: A part of it

    /// A part gives a beginning of the body and is never taken for the whole.
    ///
    /// - Parameter count: Bytes or datagrams of the reply that were sent.
    mutating func checkCut(_ played: Played, after count: Int) {
        if !wire.request.starts(with: played.sent) { differSent(played) }
        if wire.hasWholeParts { return }
        checkBody(played)
        guard played.completeness == .complete, !isWholeAllTheSame(played) else { return }
        differ("end", at: nil, "not complete, since the reply is cut", "complete")
        guard !keepsDatagrams else { return }
        note(
            "the last \(wire.reply.count - count) bytes of the reply never came: "
                + "leave out of a fixture what its program does not read")
    }

    /// True if nothing was lost: the missing part is a copy of a datagram, or follows a refusal.
    private func isWholeAllTheSame(_ played: Played) -> Bool {
        let isRefusal = wire.events.first.map { !$0.contains(text: "\"success\"") } ?? false
        return (keepsDatagrams || isRefusal)
            && played.lines.count == wire.events.count
            && zip(wire.events, played.lines).allSatisfy(Self.agree)
    }

    /// Events before an error are a beginning of those expected.
    private mutating func checkBeginning(_ played: Played) {
        checkBody(played)
        let expected = wire.events.filter { Self.body(of: $0) == nil }
        for (index, seen) in played.events.enumerated() {
            let wanted = index < expected.count ? expected[index] : nil
            if Self.agree(wanted, seen) { continue }
            differ("event \(index + 1)", at: line(of: wanted), wanted ?? "none", seen)
        }
    }

    private func line(of event: String?) -> Int? {
        wire.events.firstIndex { $0 == event }.flatMap(wire.line(ofEvent:))
    }

    private mutating func checkBody(_ played: Played) {
        let body = wire.events.compactMap(Self.body).first ?? []
        if !body.starts(with: played.body) {
            let line = line(of: wire.events.first { Self.body(of: $0) != nil })
            differ("beginning of the body", at: line, body, played.body)
        }
    }

    // MARK: Texts

    /// The bytes of an event that is a body.
    private static func body(of line: String) -> [UInt8]? {
        guard let value = try? JSONValue.parse(Array(line.utf8)[...]),
            value["event"]?.string == "body"
        else { return nil }
        if let text = value["text"]?.string { return Array(text.utf8) }
        return ASCII.bytes(hex: (value["hex"]?.string ?? "").utf8) ?? []
    }

    /// Members that a fixture may leave out, by event.
    private static let optional = [
        "head": ["size", "name", "facts"], "item": ["facts"], "ref": ["facts"],
    ]

    /// True if an event is the expected one, however both are written.
    private static func agree(_ expected: String?, _ seen: String?) -> Bool {
        guard let expected, let seen,
            let wanted = try? JSONValue.parse(Array(expected.utf8)[...]),
            case .object(let members)? = try? JSONValue.parse(Array(seen.utf8)[...])
        else { return expected == seen }
        let unsaid = optional[wanted["event"]?.string ?? ""]?.filter { wanted[$0] == nil } ?? []
        let compared = members.filter { !unsaid.contains($0.name) }
        return canonical(wanted) == canonical(.object(compared))
    }

    /// Equal for equal values.
    private static func canonical(_ value: JSONValue) -> String {
        switch value {
        case .null: "null"
        case .bool(let flag): "\(flag)"
        case .number(let text): text
        case .string(let text): text.debugDescription
        case .array(let values): "[\(values.map(canonical).joined(separator: ","))]"
        case .object(let members):
            "{"
                + members.map { "\($0.name.debugDescription):\(canonical($0.value))" }.sorted()
                .joined(separator: ",") + "}"
        }
    }

    /// Bytes with the escapes of a fixture.
    static func escaped(_ bytes: ArraySlice<UInt8>) -> String {
        guard !bytes.isEmpty else { return "nothing" }
        guard let valid = String(validating: bytes, as: UTF8.self) else {
            return bytes.map { "\\x" + [$0].hex.uppercased() }.joined()
        }
        let escapes: [Unicode.Scalar: String] = [
            "\r": "\\r", "\n": "\\n", "\t": "\\t", "\\": "\\\\",
        ]
        return valid.unicodeScalars.map { escapes[$0] ?? String($0) }.joined()
    }
}
