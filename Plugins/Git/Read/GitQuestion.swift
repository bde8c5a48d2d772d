// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The query of a Git URL. Pure.
enum GitQuestion: Hashable, Sendable {
    /// The references, or a file or directory where there is a path.
    case content
    case references(withDates: Bool)
    case tar(TarQuestion)
    case log(LogQuestion)
    case describe(DescribeQuestion)
    case difference(DifferenceQuestion)
    /// The content of an object by name or id; of a tag itself, not of its target.
    case object(String)
}

struct TarQuestion: Hashable, Sendable {
    /// Put before each name in the archive.
    var prefix: [UInt8] = []
    /// Number of leading directories to remove from each name.
    var strip = 0
    /// True to replace the pointers of Git LFS by their files.
    var takesLargeFiles = false

    /// A path without the leading directories; `nil` when nothing is left.
    func stripped(_ path: [UInt8]) -> [UInt8]? {
        var rest = path[...]
        for _ in 0..<strip {
            guard let slash = rest.firstIndex(of: ASCII.slash) else { return nil }
            rest = rest[(slash + 1)...]
        }
        return rest.isEmpty ? nil : Array(rest)
    }
}

struct LogQuestion: Hashable, Sendable {
    var range: VersionRange
    /// Limit of commits; `nil` for all.
    var count: Int?
    /// Earliest commit date, in Unix seconds.
    var since: Int?
    var isFull = false
    /// Limits the list to changes of these paths and all below; empty for everything.
    var paths: [[UInt8]] = []
}

struct DescribeQuestion: Hashable, Sendable {
    var version: String?
    var takesAllTags = false
    var isLong = false
    var patterns: [String] = []
    var digits = 10
    var isExact = false
}

struct DifferenceQuestion: Hashable, Sendable {
    var range: VersionRange
    var isRaw = false
    var isPatch = false
    var paths: [[UInt8]] = []
}

/// `A..B`, or one version alone.
struct VersionRange: Hashable, Sendable {
    /// Excluded, with all its ancestors; `nil` for nothing.
    var from: String?
    /// `nil` is `HEAD`.
    var to: String?

    /// - Throws: `bad-url` for `A...B`, and for names that cannot be versions.
    init(_ text: String) throws(FetchError) {
        let bytes = Array(text.utf8)
        let dots = bytes.indices.dropLast().first {
            bytes[$0] == ASCII.dot && bytes[$0 + 1] == ASCII.dot
        }
        guard let dots else {
            to = try Self.version(text)
            return
        }
        let first = String(decoding: bytes[..<dots], as: UTF8.self)
        let second = String(decoding: bytes[(dots + 2)...], as: UTF8.self)
        guard !second.hasPrefix("."), !second.contains(text: "..") else {
            throw .badURL("\"\(text)\" is not a range", hint: "write A..B for what B adds to A")
        }
        from = try Self.version(first) ?? "HEAD"
        to = try Self.version(second)
    }

    /// - Returns: `nil` for the empty text, and `HEAD`.
    static func version(_ text: String) throws(FetchError) -> String? {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            throw .badURL("\"\(text)\" names no version")
        }
        return text.isEmpty || text == "HEAD" ? nil : text
    }
}

extension GitQuestion {
    /// Keys that may accompany a question, by the question's key.
    static let keys: [(question: String, keys: [String])] = [
        ("tar", ["ref", "prefix", "strip", "lfs"]),
        ("log", ["n", "since", "format", "path"]),
        ("describe", ["tags", "long", "match", "abbrev", "exact-match"]),
        ("diff", ["raw", "patch", "path"]),
        ("refs", ["dates"]),
        ("object", []),
        ("", ["ref"]),
    ]

    /// Parses the version in `?ref=`, and the question.
    ///
    /// - Parameter query: Not decoded; `nil` without one.
    /// - Throws: `bad-url` for an unknown key or an invalid value.
    static func parse(
        _ query: String?
    ) throws(FetchError) -> (version: String?, question: GitQuestion) {
        guard let query else { return (nil, .content) }
        var fields = try Fields(query)
        let asked = keys.dropLast().map(\.question).filter { fields.has($0) }
        guard asked.count <= 1 else {
            throw .badURL("?\(asked[0]) and ?\(asked[1]) are two questions", hint: "ask one")
        }
        let kind = asked.first ?? ""
        let known = keys.first { $0.question == kind }?.keys ?? []
        if let foreign = fields.names.first(where: { $0 != kind && !known.contains($0) }) {
            let names = (kind.isEmpty ? keys.dropLast().map(\.question) : []) + known
            let list = names.map { "\"\($0)\"" }.joined(separator: ", ")
            throw .badURL(
                "the query \"?\(query)\" means nothing here: unknown key \"\(foreign)\"",
                hint: names.isEmpty
                    ? "?\(kind) goes alone"
                    : "\(kind.isEmpty ? "a query" : "?\(kind)") knows \(list)")
        }
        let version = try fields.version("ref")
        return (version, try question(kind, &fields))
    }

    private static func question(
        _ kind: String, _ fields: inout Fields
    ) throws(FetchError) -> GitQuestion {
        switch kind {
        case "tar":
            try fields.checkFlag("tar")
            return .tar(
                TarQuestion(
                    prefix: try fields.bytes("prefix") ?? [],
                    strip: try fields.number("strip", 0...1000) ?? 0,
                    takesLargeFiles: try fields.flag("lfs")))
        case "log":
            var log = LogQuestion(range: try VersionRange(try fields.text("log") ?? ""))
            log.count = try fields.number("n", 1...LogQuestion.countMax)
            log.since = try fields.date("since")
            log.isFull = try fields.choice("format", ["full", "line"]) == "full"
            log.paths = try fields.paths("path")
            return .log(log)
        case "describe":
            let name = try fields.text("describe") ?? ""
            var describe = DescribeQuestion(version: try VersionRange.version(name))
            describe.takesAllTags = try fields.flag("tags")
            describe.isLong = try fields.flag("long")
            describe.patterns = try fields.texts("match")
            describe.digits = try fields.number("abbrev", 0...64) ?? 10
            guard describe.digits == 0 || describe.digits >= 4 else {
                throw .badURL(
                    "&abbrev=\(describe.digits): an id has at least 4 digits, or 0 for none")
            }
            guard !describe.isLong || describe.digits > 0 else {
                throw .badURL("&long=1 and &abbrev=0 contradict each other")
            }
            describe.isExact = try fields.flag("exact-match")
            return .describe(describe)
        case "diff":
            let text = try fields.text("diff") ?? ""
            var difference = DifferenceQuestion(range: try VersionRange(text))
            guard difference.range.from != nil else {
                throw .badURL("\"?diff=\(text)\" is not a range", hint: "write ?diff=A..B")
            }
            difference.isRaw = try fields.flag("raw")
            difference.isPatch = try fields.flag("patch")
            guard !difference.isRaw || !difference.isPatch else {
                throw .badURL("&raw=1 and &patch=1 contradict each other")
            }
            difference.paths = try fields.paths("path")
            return .difference(difference)
        case "object": return .object(try fields.version("object") ?? "HEAD")
        case "refs":
            try fields.checkFlag("refs")
            return .references(withDates: try fields.flag("dates"))
        default: return .content
        }
    }

    /// The fields of a query, separated by ampersands.
    private struct Fields {
        private var fields: [(name: String, value: String?)] = []

        init(_ query: String) throws(FetchError) {
            for part in query.split(separator: "&", omittingEmptySubsequences: false) {
                let name = String(part.prefix { $0 != "=" })
                let value =
                    part.utf8.count > name.utf8.count
                    ? String(part.dropFirst(name.count + 1)) : nil
                let isRepeatable = ["path", "match"].contains(name)
                guard !name.isEmpty else {
                    throw .badURL("the query \"?\(query)\" means nothing here")
                }
                guard isRepeatable || !has(name) else {
                    throw .badURL("\"\(name)\" stands twice in the query \"?\(query)\"")
                }
                fields.append((name, value))
            }
        }

        var names: [String] { fields.map(\.name) }

        func has(_ name: String) -> Bool { fields.contains { $0.name == name } }

        /// Decoded; `nil` without the key.
        func bytes(_ name: String) throws(FetchError) -> [UInt8]? {
            guard let field = fields.first(where: { $0.name == name }) else { return nil }
            return try Self.decoded(field)
        }

        private static func decoded(
            _ field: (name: String, value: String?)
        ) throws(FetchError) -> [UInt8] {
            let bytes = PercentEncoding.decode(field.value ?? "")
            guard !bytes.contains(ASCII.nul) else {
                throw .badURL("a NUL in the value of \"\(field.name)\"")
            }
            return bytes
        }

        /// A value that goes into a request: without control characters.
        func text(_ name: String) throws(FetchError) -> String? {
            try bytes(name).map { bytes throws(FetchError) in try Self.text(bytes, name) }
        }

        func texts(_ name: String) throws(FetchError) -> [String] {
            var texts: [String] = []
            for field in fields where field.name == name {
                texts.append(try Self.text(try Self.decoded(field), name))
            }
            return texts
        }

        private static func text(_ bytes: [UInt8], _ name: String) throws(FetchError) -> String {
            guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }),
                let text = String(validating: bytes, as: UTF8.self)
            else { throw .badURL("a control character in the value of \"\(name)\"") }
            return text
        }

        /// A branch, tag, full reference or object id. If the key is there, it must have a value.
        func version(_ name: String) throws(FetchError) -> String? {
            guard let bytes = try bytes(name) else { return nil }
            let text = String(decoding: bytes, as: UTF8.self)
            guard !text.isEmpty, text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
                throw .badURL("\"\(name)=\" names no version")
            }
            return text
        }

        func checkFlag(_ name: String) throws(FetchError) { _ = try flag(name) }

        func flag(_ name: String) throws(FetchError) -> Bool {
            guard let field = fields.first(where: { $0.name == name }) else { return false }
            guard ["1", "", nil].contains(field.value) else {
                throw .badURL(
                    "\"\(name)=\(field.value ?? "")\" means nothing",
                    hint: "write &\(name)=1, or leave it out")
            }
            return true
        }

        func number(_ name: String, _ range: ClosedRange<Int>) throws(FetchError) -> Int? {
            guard let text = try text(name) else { return nil }
            guard let number = ASCII.decimal(text.utf8, max: range.upperBound),
                range.contains(number)
            else {
                throw .badURL(
                    "\"\(name)=\(text)\" is not a number from \(range.lowerBound) to "
                        + "\(range.upperBound)")
            }
            return number
        }

        func choice(_ name: String, _ words: [String]) throws(FetchError) -> String? {
            guard let text = try text(name) else { return nil }
            guard words.contains(text) else {
                throw .badURL(
                    "\"\(name)=\(text)\" means nothing",
                    hint: "it is one of \(words.joined(separator: ", "))")
            }
            return text
        }

        func date(_ name: String) throws(FetchError) -> Int? {
            guard let text = try text(name) else { return nil }
            guard let seconds = LogQuestion.seconds(text) else {
                throw .badURL(
                    "\"\(name)=\(text)\" is not a date",
                    hint: "write 2026-11-20 or 2026-11-20T22:17:13Z")
            }
            return seconds
        }

        /// Paths from the root, without a slash at their ends.
        func paths(_ name: String) throws(FetchError) -> [[UInt8]] {
            var paths: [[UInt8]] = []
            for field in fields where field.name == name {
                let bytes = try Self.decoded(field)
                let names = bytes.split(separator: ASCII.slash)
                guard !names.isEmpty,
                    !names.contains(where: { $0.count <= 2 && $0.allSatisfy { $0 == ASCII.dot } })
                else {
                    throw .badURL(
                        "\"\(name)=\(field.value ?? "")\" is not a path in a repository")
                }
                paths.append(Array(names.joined(separator: [ASCII.slash])))
            }
            return paths
        }
    }
}

extension LogQuestion {
    /// Limit of commits in an answer.
    static let countMax = 100_000

    /// Unix seconds of a date, at midnight in UTC, or of a time in RFC 3339 form; `nil` for others.
    static func seconds(_ text: String) -> Int? {
        if text.utf8.count == 10 { return UTCDate.seconds(text + "T00:00:00Z") }
        if text.hasSuffix("Z") { return UTCDate.seconds(text) }
        guard text.utf8.count == 25, let seconds = UTCDate.seconds(String(text.prefix(19)) + "Z")
        else { return nil }
        let zone = Array(text.utf8.suffix(6))
        guard zone[0] == UInt8(ascii: "+") || zone[0] == UInt8(ascii: "-"),
            zone[3] == UInt8(ascii: ":"), let hours = ASCII.decimal(zone[1...2], max: 23),
            let minutes = ASCII.decimal(zone[4...5], max: 59)
        else { return nil }
        let offset = (hours * 60 + minutes) * 60
        return zone[0] == UInt8(ascii: "+") ? seconds - offset : seconds + offset
    }
}
