// SPDX-License-Identifier: MIT
package import SmallWebCore
internal import SmallWebTesting
package import SmallWebTransport

/// Converts wire fixtures to an archive, and an archive to fixtures.
package struct WireConversion {
    private let registry: Registry

    /// Kind of records that hold a fixture, as `name` and `text`.
    static let kind = "wire"
    /// Longest fixture in bytes, and longest request or reply to convert.
    var textBytesMax = 4 << 20
    /// Limit of the bytes of repeated replies in total: their records are short.
    var repeatedBytesMax = 64 << 20

    package init(_ registry: Registry) { self.registry = registry }

    // MARK: From fixtures

    /// Adds a fixture to an archive: its exchange, and its text for restoring it.
    ///
    /// - Throws: `read` for a file that is not a fixture, `write`.
    package func add(
        name: String, _ text: [UInt8], to archive: ArchiveWriter
    ) throws(FetchError) {
        let wire: WireCase
        do throws(WireCase.Malformed) {
            wire = try WireCase(name: name, text)
        } catch {
            throw FetchError(.read, .input, error.why)
        }
        let scheme = registry[URI.scheme(of: wire.url) ?? ""]?.scheme
        var capture = Capture(target: WarcHeader.escaped(target: wire.url))
        capture.subtype = scheme?.messageSubtype ?? URI.scheme(of: wire.url) ?? "octet-stream"
        if !wire.request.isEmpty { capture.request = Block(wire.request) }
        let hasReply = !wire.reply.isEmpty || (!wire.request.isEmpty && wire.close != .silence)
        if hasReply { capture.response = Block(wire.reply) }
        capture.ending = ByteStream.Ending(word: wire.close.rawValue)
        if wire.close == .silence {
            capture.failure = .silence(.body)
            if hasReply { capture.truncated = .time }
        }
        var turns = Turns()
        for step in wire.steps {
            switch step {
            case .request(let bytes): turns.add(bytes.count, isSent: true)
            case .reply(let bytes): turns.add(bytes.count, isSent: false)
            }
        }
        capture.turns = turns.json()
        capture.traffic = Ending.Traffic(sent: wire.request.count, received: wire.reply.count)
        try archive.write(capture)
        let json = JSONWriter.line { writer in
            writer.member("name", name)
            writer.member("text", String(decoding: text, as: UTF8.self))
        }
        try archive.write(Self.kind, json, of: capture.target)
    }

    // MARK: To fixtures

    /// The fixtures of an archive: those added to it, and one for each other conversation, with the
    /// plugin's present result as the expectation.
    ///
    /// - Parameters:
    ///   - onSkipped: Receives the target of a recording that cannot be a fixture.
    ///   - onDamage: Receives a sentence if the archive can be read only in part.
    ///   - body: Receives the name without file extension, and the text.
    package func forEachFixture(
        of path: String, on loop: EventLoop, onSkipped: (String) -> Void,
        onDamage: (String) -> Void = { _ in },
        _ body: (_ name: String, _ text: [UInt8]) throws(FetchError) -> Void
    ) async throws(FetchError) {
        let replayer = Replayer(try ArchiveIndex([path], onDamage))
        var (names, kept, repeated) = (Set<String>(), Set<TwoHashKey>(), 0)
        var numbers: [String: Int] = [:]
        try forEachKeptText(of: path) { name, text, target throws(FetchError) in
            kept.insert(TwoHashKey(target))
            guard let text else { return onSkipped(target) }
            names.insert(name)
            try body(name, text)
        }
        for recording in replayer.index.recordings
        where !kept.contains(recording.target) && !recording.isFailureAlone {
            let target = try replayer.target(of: recording)
            guard repeated <= repeatedBytesMax,
                let text = try await text(of: recording, target, replayer, on: loop)
            else {
                onSkipped(target)
                continue
            }
            if recording.isRevisit { repeated += text.count }
            let stem = Self.name(target)
            var name = stem
            while !names.insert(name).inserted {
                numbers[stem, default: 1] += 1
                name = "\(stem)-\(numbers[stem, default: 1])"
            }
            try body(name, text)
        }
    }

    private func forEachKeptText(
        of path: String,
        _ body: (_ name: String, _ text: [UInt8]?, _ target: String) throws(FetchError) -> Void
    ) throws(FetchError) {
        let reader = try WarcReader(path)
        // Escapes are up to six bytes for one.
        let limit = { (header: WarcHeader) in
            header.kind == Self.kind && header.blockBytes <= 6 * textBytesMax ? .max : 0
        }
        while let header = try reader.nextWhole(keeping: limit) {
            guard header.type == "metadata", header.kind == Self.kind else { continue }
            var (name, text) = (String?.none, reader.beginning.isEmpty ? nil : reader.beginning)
            if header.contentType == "application/warc-fields" {
                let json = text.flatMap { try? JSONValue.parse(WarcHeader.json(of: $0)) }
                (name, text) = (json?["name"]?.string, json?["text"]?.string.map { Array($0.utf8) })
            } else {
                // Up to version 0.2 the block was the text.
                let type = header["content-type"].flatMap { MediaType(parsing: $0) }
                name = type?.parameters["name"]
            }
            if text?.count ?? 0 > textBytesMax { text = nil }
            try body(Self.safe(name ?? "recorded"), text, header.target ?? "")
        }
    }

    /// For example `gemini-example.org-docs-faq.gmi`.
    private static func name(_ target: String) -> String {
        let words = String(target.prefix(200))
            .split { !($0.isASCII && ($0.isLetter || $0.isNumber || $0 == ".")) }
        let name = safe(words.joined(separator: "-"))
        return String(name.prefix(80))
    }

    /// A file name without a directory.
    private static func safe(_ name: String) -> String {
        let name = String(name.prefix(200).filter { $0 != "/" && $0 != "\0" }.drop { $0 == "." })
        return name.isEmpty ? "recorded" : name
    }

    /// - Returns: `nil` for exchanges of the HTTP engine, and for schemes without a plugin.
    private func text(
        of recording: Recording, _ target: String, _ replayer: Replayer, on loop: EventLoop
    ) async throws(FetchError) -> [UInt8]? {
        guard !recording.hasHeads,
            let handler = registry[URI.scheme(of: target) ?? ""]?.handler,
            let source = try? replayer.index.source(of: recording)
        else { return nil }
        let messages = [recording.request, source.response]
        let blocks = try messages.map { place throws(FetchError) in
            try replayer.blocks([place], notOver: textBytesMax)[0]
        }
        guard zip(messages, blocks).allSatisfy({ $0 == nil || $1 != nil }) else { return nil }
        let facts = CaptureFacts(
            try replayer.blocks([recording.facts], notOver: CaptureFacts.textBytesMax)[0])
        let head =
            ["# Recorded: what is expected is what came of it.\n", "url    \(target)\n"]
            + Self.options(facts.asked, handler) + Self.upload(facts.asked, blocks[0] ?? [])
        var conversation = Self.steps(
            try Turns(recording, replayer), blocks[0] ?? [], blocks[1] ?? [])
        let truncated = recording.truncated ?? source.truncated
        let close =
            truncated == .time || truncated == .length ? "silence" : facts.ending.map(\.word)
        if let close { conversation.append("close  \(close)\n") }
        let text = (head + conversation).joined()
        guard let wire = try? WireCase(name: target, parsing: text) else { return nil }
        let played = try await FixtureTest(plugin: handler).played(wire, on: loop)
        if blocks[0] == nil {
            conversation = Self.lines(">", played.sent[...]) + conversation
        }
        var lines = head + played.dialled.prefix(1).map { "dial   \($0)\n" } + conversation
        for line in played.lines { lines.append("=      \(line)\n") }
        if let error = played.error { lines.append("error  \(error.outcome.rawValue)\n") }
        // The end mark of a text may be text itself where nothing follows.
        for line in ["", "cut    any\n"] {
            let text = Array((lines + [line]).joined().utf8)
            if await FixtureTest(plugin: handler).passes(target, text, on: loop) { return text }
        }
        return nil
    }

    /// The line for the body of an upload, which ends its request.
    private static func upload(_ request: JSONValue?, _ sent: [UInt8]) -> [String] {
        guard let count = request?["upload"]?["bytes"]?.integer, 0...sent.count ~= count else {
            return []
        }
        return ["upload \(escaped(Array(sent.suffix(count))))\n"]
    }

    /// The lines for a request's options other than the URL.
    private static func options(
        _ request: JSONValue?, _ handler: any ProtocolHandler
    ) -> [String] {
        guard let request else { return [] }
        var lines: [String] = []
        let input =
            request["input"]?.string.map { Array($0.utf8) }
            ?? request["input_base64"]?.string.flatMap(Base64.decode)
        if let input { lines.append("input  \(Self.escaped(input))\n") }
        if request["raw"]?.bool == true { lines.append("raw\n") }
        if request["head"]?.bool == true { lines.append("head\n") }
        if request["items"]?.bool == false { lines.append("items  no\n") }
        // The type of an upload may come from its file's name.
        if let type = request["upload"]?["mime"]?.string, request["options"]?["mime"] == nil,
            handler.options.contains(where: { $0.key == "mime" })
        {
            lines.append("option mime \(type)\n")
        }
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

    private static func steps(
        _ turns: Turns, _ request: [UInt8], _ reply: [UInt8]
    ) -> [String] {
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
