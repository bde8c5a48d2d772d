// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb
internal import SmallWebPlugins

/// What has been fetched, for completion: `SECONDS<TAB>URL` per line, the latest last. Never a
/// query, which holds what was typed, and never a password.
enum History {
    /// How many URLs are remembered.
    static let entriesMax = 2000
    /// A file of this size may hold more lines than are worth keeping. Below it nobody counts.
    private static let roughSizeMax = 160 << 10

    /// Records the URLs among `operands`. What cannot be recorded is not worth a message.
    static func record(_ operands: [String], _ settings: Settings) {
        guard isOn(settings), let path = UserFiles.history else { return }
        let lines = operands.compactMap(entry).map { "\(time(nil))\t\($0)\n" }
        guard !lines.isEmpty, let file = try? UserFiles.openLocked(path) else { return }
        defer { close(file) }
        try? writeAll(Array(lines.joined().utf8)[...], to: file)
        var status = stat()
        if fstat(file, &status) == 0, Int(status.st_size) > roughSizeMax { shorten(file, path) }
    }

    /// A script's fetches are not what a person wants to be offered, so by default only a run with
    /// a terminal is recorded.
    static func isOn(_ settings: Settings) -> Bool {
        if Environment.variable("SMALLWEB_NO_HISTORY") != nil && settings.recordsHistory != true {
            return false
        }
        return settings.recordsHistory
            ?? (Environment.isTerminal(1) || Environment.isTerminal(2))
    }

    /// The part of a URL that may be remembered, or `nil` when it is none.
    static func entry(_ text: String) -> String? {
        guard var uri = try? URI(parsing: text), uri.host != nil,
            let scheme = Registry.builtIn[uri.scheme]?.scheme
        else { return nil }
        uri.query = nil
        uri.fragment = nil
        // A user's name is part of a finger address; elsewhere it may be a token.
        let isName = scheme.trust == .none && scheme.transport == .tcp
        if !isName || uri.userinfo?.contains(":") ?? false { uri.userinfo = nil }
        // The words of a gopher search follow a tab.
        if let tab = uri.path.utf8.indices.first(where: { uri.path[$0...].hasPrefix("%09") }) {
            uri.path = String(uri.path[..<tab])
        }
        let entry = uri.description
        return entry.utf8.count <= 1024 ? entry : nil
    }

    /// The latest first, each once.
    static func latest(_ count: Int = entriesMax) -> [String] {
        guard let path = UserFiles.history, let bytes = UserFiles.read(path) else { return [] }
        return latest(in: bytes, count).map { String(decoding: bytes[$0.url], as: UTF8.self) }
    }

    static func clear() throws(SystemError) {
        RefCache.clear()
        guard let path = UserFiles.history else { return }
        // A lock is of no use here: whoever appends after this appends to a new file.
        if unlink(path) != 0 && errno != ENOENT { throw SystemError(number: errno) }
    }

    private static func latest(
        in bytes: [UInt8], _ count: Int
    ) -> [(line: Range<Int>, url: Range<Int>)] {
        var seen: Set<ArraySlice<UInt8>> = []
        var found: [(line: Range<Int>, url: Range<Int>)] = []
        var end = bytes.count
        while end > 0 && found.count < count {
            let start = (bytes[..<(end - 1)].lastIndex(of: ASCII.lineFeed) ?? -1) + 1
            let line = start..<(bytes[end - 1] == ASCII.lineFeed ? end - 1 : end)
            end = start
            guard let tab = bytes[line].firstIndex(of: ASCII.tab) else { continue }
            let url = bytes[(tab + 1)..<line.upperBound]
            if seen.insert(url).inserted { found.append((line, url.indices)) }
        }
        return found
    }

    /// Leaves each URL's last line, up to the most that are remembered. The caller has the lock.
    private static func shorten(_ file: Int32, _ path: String) {
        guard let bytes = UserFiles.read(file, limit: 16 << 20),
            bytes.count(where: { $0 == ASCII.lineFeed }) > 2 * entriesMax
        else { return }
        let kept = latest(in: bytes, entriesMax).reversed()
        try? UserFiles.replace(path, by: kept.flatMap { bytes[$0.line] + [ASCII.lineFeed] })
    }
}

extension Command {
    static let history = Command(
        name: "history", synopsis: "history [list|clear]",
        summary: "what was fetched, for completion",
        manual: "Lists the URLs that were fetched, the latest first, or forgets them all. Only "
            + "successful runs with a terminal on standard output or standard error are recorded, "
            + "without query strings and passwords, the last 2000 of them. --no-history, the "
            + "same in the config file and SMALLWEB_NO_HISTORY turn it off.",
        examples: [
            ("smallweb history | head -n 20", "The last twenty visits"),
            ("smallweb history clear", "Forget them all"),
        ],
        operands: [.choice(["list", "clear"])], takes: { $0.isForAll }
    ) { _, operands throws(FetchError) in
        switch operands {
        case [], ["list"]:
            // Completion does without what it cannot read; whoever asks is told.
            if let path = UserFiles.history, UserFiles.exists(path) {
                _ = try UserFiles.content(of: path, "the history")
            }
            try StandardStream.output.writeForeign(History.latest().map { $0 + "\n" }.joined())
        case ["clear"]:
            do throws(SystemError) { try History.clear() } catch {
                throw FetchError(.write, .output, "cannot clear the history: \(error.sentence)")
            }
        default:
            throw usageError("history takes list or clear, not \"\(operands[0])\"")
        }
        return 0
    }
}
