// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb
internal import SmallWebRecords

/// Fetched URLs for completion: `SECONDS<TAB>URL` per line, the latest last. Never contains
/// queries, which have user input, or passwords.
enum History {
    static let entriesMax = 2000
    /// Size in bytes from which on lines are counted.
    private static let roughSizeMax = 160 << 10

    /// Records the URLs among `operands`. Failures are ignored.
    static func record(_ operands: [String], _ settings: Settings) {
        guard isOn(settings.messages), let file = UserFiles.history,
            let registry = try? settings.registry()
        else { return }
        let lines = operands.compactMap { entry($0, registry) }.map { "\(time(nil))\t\($0)\n" }
        guard !lines.isEmpty, let size = try? file.append(lines: Array(lines.joined().utf8)),
            size > roughSizeMax
        else { return }
        try? file.change { bytes throws(FetchError) in shorten(&bytes) }
    }

    /// True if visits are recorded. By default only with a terminal, as the fetches of scripts
    /// matter little for completion.
    static func isOn(_ settings: MessageSettings) -> Bool {
        if Environment.variable("SMALLWEB_NO_HISTORY") != nil && settings.recordsHistory != true {
            return false
        }
        return settings.recordsHistory
            ?? (Environment.isTerminal(1) || Environment.isTerminal(2))
    }

    /// The part of a URL to record; `nil` if it is not a URL.
    static func entry(_ text: String, _ registry: Registry) -> String? {
        guard var uri = try? URI(parsing: text), uri.host != nil,
            let scheme = registry[uri.scheme]?.scheme
        else { return nil }
        uri.query = nil
        uri.fragment = nil
        // In other schemes the user part may be a token.
        if !scheme.isUserPartOfAddress || uri.userinfo?.contains(":") ?? false {
            uri.userinfo = nil
        }
        // Words behind a tab are user input, too.
        if let tab = uri.path.utf8.indices.first(where: { uri.path[$0...].hasPrefix("%09") }) {
            uri.path = String(uri.path[..<tab])
        }
        let entry = uri.description
        return entry.utf8.count <= 1024 ? entry : nil
    }

    /// The visited URLs, latest first, without duplicates.
    ///
    /// - Throws: `read`.
    static func latest(_ count: Int = entriesMax) throws(FetchError) -> [String] {
        guard let bytes = try UserFiles.history?.read() else { return [] }
        return latest(in: bytes, count).map { String(decoding: bytes[$0.url], as: UTF8.self) }
    }

    static func clear() throws(FetchError) {
        RefCache.clear()
        try UserFiles.history?.change { bytes throws(FetchError) in bytes = [] }
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

    /// Keeps the last line of each URL, at most `entriesMax`.
    private static func shorten(_ bytes: inout [UInt8]) {
        guard bytes.count(where: { $0 == ASCII.lineFeed }) > 2 * entriesMax else { return }
        let old = bytes
        bytes = latest(in: old, entriesMax).reversed().flatMap { old[$0.line] + [ASCII.lineFeed] }
    }
}

extension Command {
    static let history = Command(
        "history [ACTION]",
        actions: [
            .action("list", options: ["json"]) { settings, _ throws(FetchError) in
                try settings.write(History.latest()) { writer, url in
                    writer.begin("visit")
                    writer.member("url", url)
                } text: {
                    $0 + "\n"
                }
            },
            .action("clear") { _, _ throws(FetchError) in
                try History.clear()
            },
        ])
}
