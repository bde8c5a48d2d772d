// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Connections after the first.
extension ManifestReader {
    /// A number counts the first connection, too; a list has the kinds of the others.
    mutating func connections(_ name: String) throws(FetchError) -> [ProgramConnection] {
        switch members[name] {
        case nil: return []
        case .number?:
            let count = try number(name, in: 1...4) ?? 1
            return Array(repeating: .tcp, count: count - 1)
        case .array(let values)? where values.count <= 3:
            _ = take(name)
            var kinds: [ProgramConnection] = []
            for value in values {
                guard let kind = value.string.flatMap(ProgramConnection.init) else { break }
                kinds.append(kind)
            }
            if kinds.count == values.count { return kinds }
            fallthrough
        default:
            throw Self.problem(
                "has \"\(name)\" that are neither a number from 1 to 4 nor a list of up to 3 of"
                    + " tcp and udp")
        }
    }

    mutating func patterns(_ name: String) throws(FetchError) -> [OpenPattern] {
        guard let value = take(name) else { return [] }
        guard case .array(let values) = value, values.count <= 64 else {
            throw Self.problem("has \"\(name)\" that are not a list of up to 64 patterns")
        }
        var patterns: [OpenPattern] = []
        for value in values {
            guard let text = value.string, let pattern = OpenPattern(text) else {
                throw Self.problem(
                    "has in \"\(name)\" an entry that is not like tcp://{host}:*,"
                        + " tls://*.example.org:443 or https://example.org/*")
            }
            patterns.append(pattern)
        }
        return patterns
    }
}

extension ManifestReader {
    /// The member `crawl` of a scheme: how its links are followed.
    static func crawling(_ reader: ManifestReader) throws(FetchError) -> Crawling {
        var reader = reader
        try reader.refuseOthers(than: ["robots", "dialect"])
        let path = try reader.text("robots")
        guard path?.hasPrefix("/") ?? true else {
            throw reader.mistake(in: "robots", "that is not a path")
        }
        var crawling = Crawling(robots: path.map { [$0] } ?? [])
        let dialect = try reader.word("dialect", of: "1994", "9309")
        crawling.dialect = dialect.flatMap(Crawling.Dialect.init) ?? .original
        return crawling
    }
}
