// SPDX-License-Identifier: MIT
package import SmallWebCore
internal import SmallWebTesting
package import SmallWebTransport

/// Converts wire fixtures to an archive, and an archive to fixtures.
package struct WireConversion {
    private let registry: Registry

    /// Media type of records whose block is a fixture; the parameter `name` has its name.
    static let mediaType = "application/x-smallweb-wire"
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
        var exchange = FinishedExchange(target: RecordHeader.escaped(target: wire.url), date: .now)
        exchange.subtype = scheme?.messageSubtype ?? URI.scheme(of: wire.url) ?? "octet-stream"
        if !wire.request.isEmpty { exchange.request = .bytes(wire.request) }
        let hasReply = !wire.reply.isEmpty || (!wire.request.isEmpty && wire.close != .silence)
        if hasReply { exchange.response = .bytes(wire.reply) }
        exchange.ending =
            switch wire.close {
            case .closeNotify: .closeNotify
            case .fin: .endOfFile
            case .reset: .reset
            case .silence: nil
            }
        if wire.close == .silence {
            exchange.failure = .silence(.body)
            if hasReply { exchange.truncated = .time }
        }
        exchange.turns = Self.turns(wire.steps)
        exchange.traffic = Ending.Traffic(sent: wire.request.count, received: wire.reply.count)
        try archive.write(exchange)
        _ = try archive.write(
            type: "metadata", target: exchange.target,
            contentType: "\(Self.mediaType); name=\"\(name.filter { $0 != "\"" })\"", text)
    }

    private static func turns(_ steps: [WireCase.Step]) -> [UInt8] {
        var text: [String] = []
        for step in steps {
            switch step {
            case .request(let bytes): text.append("[\"sent\",\(bytes.count),0.000000]")
            case .reply(let bytes): text.append("[\"received\",\(bytes.count),0.000000]")
            }
        }
        return Array("{\"turns\":[\(text.joined(separator: ","))]}\n".utf8)
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
        let reader = try ArchiveReader(path)
        while let header = try reader.nextWhole() {
            guard header.type == "metadata", header.contentType == Self.mediaType else { continue }
            let type = header["content-type"].flatMap { MediaType(parsing: $0) }
            let name = Self.safe(type?.parameters["name"] ?? "recorded")
            var text: [UInt8]?
            if header.blockBytes <= textBytesMax {
                reader.seek(to: reader.offset)
                _ = try reader.next()
                text = try reader.block(upTo: textBytesMax)
            }
            try body(name, text, header.target ?? "")
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
        let facts = try replayer.blocks([recording.facts], notOver: RecordedEnd.bytesMax)[0]
        let fixture = WireText(
            target: target, request: blocks[0] ?? [], reply: blocks[1] ?? [],
            turns: try RecordedTurns(recording, replayer), facts: facts,
            truncated: recording.truncated ?? source.truncated)
        let text = fixture.lines.joined()
        guard let wire = try? WireCase(name: target, parsing: text) else { return nil }
        let played = try await FixtureTest(plugin: handler).played(wire, on: loop)
        var lines = text
        if let place = played.dialled.first {
            lines = text.replacing(text: WireText.dialMark, with: "dial   \(place)\n")
        }
        lines = lines.replacing(text: WireText.dialMark, with: "")
        for line in played.lines { lines += "=      \(line)\n" }
        if let error = played.error { lines += "error  \(error.outcome.rawValue)\n" }
        return Array(lines.utf8)
    }
}
