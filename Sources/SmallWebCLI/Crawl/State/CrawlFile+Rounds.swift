// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

// Rounds of a crawl: each asks for everything that is known by then.
extension CrawlFile {
    static let end = Array("{\"type\":\"end\",\"v\":1,".utf8)
    /// Longest validator that is kept.
    static let validatorBytesMax = 1024
    /// Longest line of a page that is read back: every byte of its URLs may be escaped.
    private static let endBytesMax = 65_536

    /// A page as a round has left it.
    struct Content {
        var outcome = Outcome.ok
        /// The URL that it redirects to.
        var target: String?
        var size: Int?
        /// Of a whole body.
        var sha256: String?
        /// Of a page whose links are all in the file.
        var validator: String?
        /// `nil` in the first round, and for a refusal of a page that is not missing.
        var change: WatchRun.Change?
        /// Unix seconds of the request.
        var time: Int?
        /// Unix seconds of the last request that was answered with a page, if that was another one.
        var seen: Int?

        /// Compares this reply with the rounds before.
        ///
        /// - Parameters:
        ///   - isUnchanged: True if the server, or the file of the page, says so.
        ///   - isMissing: True if there is nothing at the URL.
        mutating func compare(with last: Content?, isUnchanged: Bool, isMissing: Bool) {
            let wasThere = last?.outcome == .ok
            if outcome == .ok {
                let isSame = isUnchanged || last?.sha256 == sha256 && last?.target == target
                return change = !wasThere ? .new : isSame ? .unchanged : .changed
            }
            seen = wasThere ? last?.time : last?.seen
            if seen != nil, isMissing {
                change = wasThere || last?.change == nil ? .gone : .unchanged
            } else if seen == nil, last?.outcome == outcome {
                change = .unchanged
            }
        }
    }

    /// Begins a round: the next ``load(onPlace:)`` has everything wait that was ever found.
    func beginRound() throws(FetchError) {
        try append("round", round + 1)
        forget()
    }

    /// Notes that a run has come to its own end: the next round may begin.
    func endRun() throws(FetchError) {
        guard !isEnded else { return }
        try append("end", round)
        isEnded = true
    }

    private func append(_ type: String, _ round: Int) throws(FetchError) {
        try append(
            padded(
                JSONWriter.line { writer in
                    writer.begin(type)
                    writer.member("round", round)
                    writer.member("time", object: UTCDate.now) { $0.member("start", $1) }
                }))
    }

    /// Finds the lines that earlier rounds have left of each page, once the file is loaded.
    ///
    /// - Throws: `read`, `interrupted`.
    func findContents() throws(FetchError) {
        guard round > 1 else { return }
        var seeds: [String]?
        try lines.forEachLine { line, offset throws(FetchError) in
            if let (n, _, _) = Self.url(in: line, after: Self.found) {
                // From here on the links before do not count.
                if contents[n] != nil { begunAgain.insert(n) }
            } else if let n = Self.lastingEnd(in: line) {
                begunAgain.remove(n)
                if offset < roundOffset { contents[n] = offset }
            } else if line.starts(with: #"{"type":"crawl""#.utf8) {
                let given = (try? JSONValue.parse(line))?["seeds"]?.strings
                // Links to the scope of another URL were not followed.
                if seeds != nil, given != seeds { begunAgain.formUnion(contents.keys) }
                seeds = given
            }
        }
    }

    /// The number of a page that is done, by its line.
    private static func lastingEnd(in line: ArraySlice<UInt8>) -> Int? {
        for start in ends {
            guard let (n, _, rest) = url(in: line, after: start) else { continue }
            return rest.starts(with: outcomeMember) && outcome(in: rest)?.lasts ?? false ? n : nil
        }
        return nil
    }

    /// A page as the rounds before this one have left it; `nil` if they did not reach it.
    func content(_ n: Int) -> Content? {
        contents[n].flatMap(record(at:)).map { Content($0) }
    }

    /// - Returns: `nil` for a line that was changed meanwhile.
    func record(at offset: Int) -> JSONValue? {
        var lines = LineFile.Lines(
            lines.descriptor, from: offset, pieceBytes: 4096, lineBytesMax: Self.endBytesMax)
        return (try? lines.next()).flatMap { try? JSONValue.parse($0) }
    }
}

extension CrawlFile.Content {
    /// The content of a line.
    init(_ record: JSONValue) {
        outcome = record["outcome"]?.string.flatMap(Outcome.init(rawValue:)) ?? .internal
        (target, size) = (record["to"]?.string, record["size"]?.int)
        (sha256, validator) = (record["sha256"]?.string, record["validator"]?.string)
        change = record["change"]?.string.flatMap(WatchRun.Change.init)
        if case .number(let start)? = record["time"]?["start"] {
            time = Double(start).flatMap { Int(exactly: $0.rounded(.down)) }
        }
        seen = record["seen"]?.int
    }
}
