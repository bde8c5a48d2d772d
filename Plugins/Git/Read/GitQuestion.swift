// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The query of a Git URL: one question, with the values of its keys. Pure.
struct GitQuestion: Hashable, Sendable {
    /// Raw values are the keys in the query.
    enum Kind: String, CaseIterable, Sendable {
        case tar, log, describe
        case difference = "diff"
        case references = "refs"
        /// The content of an object by name or id; of a tag itself, not of its target.
        case object
        /// The references, or a file or directory where there is a path.
        case content = ""

        /// The key of the question itself.
        var key: Key {
            switch self {
            case .tar: .tar
            case .references: Key(rawValue, .flag)
            case .object: Key(rawValue, .version)
            case .log, .describe, .difference, .content: Key(rawValue, .text)
            }
        }

        /// Keys that may accompany it.
        var keys: [Key] {
            switch self {
            case .tar: [.version, .prefix, .strip, .largeFiles]
            case .log: [.count, .since, .format, .path]
            case .describe: [.tags, .long, .match, .digits, .exact]
            case .difference: [.raw, .patch, .path]
            case .references: [.dates]
            case .object: []
            case .content: [.version]
            }
        }

        /// The options of its keys.
        var optionKeys: [(option: String, key: String)] {
            keys.compactMap { key in key.option.map { ($0.key, key.name) } }
        }
    }

    let kind: Kind
    /// The version in `?ref=`, or the one to describe, or the object; `nil` is `HEAD`.
    private(set) var version: String?
    /// The versions of a log or a difference.
    private(set) var range: VersionRange?
    /// By the names of keys, in their order in the query.
    private var values: [String: [[UInt8]]] = [:]

    /// - Parameter query: Not decoded; `nil` without one.
    /// - Throws: `bad-url` for an unknown key or an invalid value.
    init(_ query: String?) throws(FetchError) {
        let fields = try query.map(Self.fields) ?? []
        let asked = Kind.allCases.filter { kind in fields.contains { $0.name == kind.rawValue } }
        guard asked.count <= 1 else {
            throw .badURL(
                "?\(asked[0].rawValue) and ?\(asked[1].rawValue) are two questions",
                hint: "ask one")
        }
        kind = asked.first ?? .content
        let known = [kind.rawValue] + kind.keys.map(\.name)
        if let name = fields.map(\.name).first(where: { !known.contains($0) }) {
            throw foreign(name, query ?? "")
        }
        try setTarget(fields.first { $0.name == kind.rawValue }?.value)
        for key in kind.keys {
            for field in fields where field.name == key.name {
                values[key.name, default: []].append(try key.checked(field.value))
            }
        }
        version = text(.version) ?? version
        try checkTogether()
    }

    /// True for a key of any question.
    static func isKey(_ name: Substring) -> Bool {
        Kind.allCases.contains { kind in
            kind.rawValue == name || kind.keys.contains { $0.name == name }
        }
    }

    /// Adds a path in the repository to those that the answer is limited to.
    mutating func limit(to path: [[UInt8]]) {
        values[Key.path.name, default: []].append(Array(path.joined(separator: [ASCII.slash])))
    }

    private func foreign(_ name: String, _ query: String) -> FetchError {
        let isVersion = name == Key.version.name && kind != .references
        let questions = kind == .content ? Kind.allCases.dropLast().map(\.rawValue) : []
        let known = (questions + kind.keys.map(\.name)).map { "\"\($0)\"" }
        return .badURL(
            "the query \"?\(query)\" means nothing here: unknown key \"\(name)\"",
            hint: isVersion
                ? "write the version as a word behind the URL, or as ?\(kind.rawValue)=VERSION"
                : known.isEmpty
                    ? "?\(kind.rawValue) goes alone"
                    : (kind == .content ? "a query" : "?\(kind.rawValue)")
                        + " knows \(known.joined(separator: ", "))")
    }

    /// - Parameter value: The value of the question itself.
    private mutating func setTarget(_ value: String?) throws(FetchError) {
        let text = String(decoding: try kind.key.checked(value), as: UTF8.self)
        switch kind {
        case .log, .difference:
            range = try VersionRange(text)
            guard kind == .log || range?.from != nil else {
                throw .badURL(
                    "\"?diff=\(text)\" is not a range",
                    hint: text.isEmpty
                        ? "write A.. for what has changed since then"
                        : "\(text)^..\(text) is what it changed, \(text).. what has changed since")
            }
        case .describe: version = try VersionRange.version(text)
        case .object: version = text
        case .tar, .references, .content: break
        }
    }

    private func checkTogether() throws(FetchError) {
        if kind == .describe && flag(.long) && number(.digits) == 0 {
            throw .badURL("&long=1 and &abbrev=0 contradict each other")
        }
        if flag(.raw) && flag(.patch) {
            throw .badURL("&raw=1 and &patch=1 contradict each other")
        }
    }

    /// The fields of a query, separated by ampersands.
    private static func fields(
        _ query: String
    ) throws(FetchError) -> [(name: String, value: String?)] {
        var fields: [(name: String, value: String?)] = []
        for part in query.split(separator: "&", omittingEmptySubsequences: false) {
            let name = String(part.prefix { $0 != "=" })
            let value =
                part.utf8.count > name.utf8.count ? String(part.dropFirst(name.count + 1)) : nil
            let isRepeatable = [Key.path, .match].contains { $0.name == name }
            guard !name.isEmpty else {
                throw .badURL("the query \"?\(query)\" means nothing here")
            }
            guard isRepeatable || !fields.contains(where: { $0.name == name }) else {
                throw .badURL("\"\(name)\" stands twice in the query \"?\(query)\"")
            }
            fields.append((name, value))
        }
        return fields
    }

    // MARK: Values

    func flag(_ key: Key) -> Bool { values[key.name] != nil }

    func number(_ key: Key) -> Int? { text(key).flatMap { ASCII.decimal($0.utf8, max: .max) } }

    func text(_ key: Key) -> String? {
        bytes(key).first.map { String(decoding: $0, as: UTF8.self) }
    }

    func bytes(_ key: Key) -> [[UInt8]] { values[key.name] ?? [] }

    /// Earliest commit date, in Unix seconds.
    var since: Int? { text(.since).flatMap(Self.seconds) }

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
