// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// An author, committer or tagger, and a date: `NAME <MAIL> SECONDS ZONE`. Pure.
struct Ident: Hashable, Sendable {
    let name: ArraySlice<UInt8>
    let mail: ArraySlice<UInt8>
    /// `nil` if missing or malformed.
    let date: GitDate?

    /// - Returns: `nil` without an address in angle brackets. Git prints nothing in this case.
    init?(_ line: ArraySlice<UInt8>) {
        guard let open = line.firstIndex(of: UInt8(ascii: "<")),
            let close = line[open...].firstIndex(of: UInt8(ascii: ">")),
            let last = line.lastIndex(of: UInt8(ascii: ">"))
        else { return nil }
        name = line[..<open].dropLast(while: ASCII.isWhiteSpace)
        mail = line[(open + 1)..<close]
        date = GitDate(line[(last + 1)...].drop(while: ASCII.isWhiteSpace))
    }
}

/// A moment, and the time zone of the clock that it was read from.
struct GitDate: Hashable, Sendable {
    /// Unix seconds, 0 or more.
    let seconds: Int
    /// Offset as written: +0130 is 130.
    let zone: Int

    /// - Parameter text: `SECONDS ZONE`.
    init?(_ text: ArraySlice<UInt8>) {
        let digits = text.prefix(while: ASCII.isDigit)
        var rest = text[digits.endIndex...].drop(while: ASCII.isWhiteSpace)
        guard !digits.isEmpty, let sign = rest.popFirst(), "+-".utf8.contains(sign) else {
            return nil
        }
        let zone = rest.prefix(while: ASCII.isDigit)
        guard !zone.isEmpty else { return nil }
        // As Git does: a date out of range is 1970-01-01.
        let seconds = ASCII.decimal(digits, max: Self.secondsMax) ?? 0
        let number = ASCII.decimal(zone, max: 99_999) ?? 0
        self.seconds = seconds
        self.zone = sign == UInt8(ascii: "-") ? -number : number
    }

    init(seconds: Int, zone: Int) { (self.seconds, self.zone) = (seconds, zone) }

    private static let secondsMax = 1 << 55

    /// Offset from UTC in seconds.
    private var offset: Int {
        let minutes = abs(zone) / 100 * 60 + abs(zone) % 100
        return (zone < 0 ? -minutes : minutes) * 60
    }

    /// The date in UTC if the local time is before 1970, which Git does not write.
    private var shown: GitDate {
        seconds + offset < 0 ? GitDate(seconds: seconds, zone: 0) : self
    }

    /// The time that the clock shows.
    private var time: UTCDate { UTCDate(shown.seconds + shown.offset) }

    /// For example `+0100`.
    var zoneText: String {
        let date = shown
        return (date.zone < 0 ? "-" : "+") + "\(abs(date.zone))".padded(to: 4)
    }

    /// For example `2024-01-02T03:04:05+01:00`.
    var iso8601: String {
        let text = zoneText
        return "\(time)\(text.dropLast(2)):\(text.suffix(2))"
    }

    /// For example `2024-01-02 03:04:05 +0100`.
    var iso: String { "\(time.day) \(time.clock) \(zoneText)" }

    /// For example `2024-01-02`.
    var day: String { "\(time.day)" }

    /// For example `Tue Jan 2 03:04:05 2024 +0100`.
    var text: String {
        let (day, clock) = (time.day, time.clock)
        return "\(day.weekdayName) \(day.monthName) \(day.day) \(clock) \(day.year) \(zoneText)"
    }

    /// For example `Tue, 2 Jan 2024 03:04:05 +0100` (RFC 2822).
    var mail: String {
        let (day, clock) = (time.day, time.clock)
        return "\(day.weekdayName), \(day.day) \(day.monthName) \(day.year) \(clock) \(zoneText)"
    }
}

/// The header lines `name SP value LF` of commits and tags. Pure.
extension PackObject {
    /// The object in the first line of a commit or an annotated tag; `nil` for a tree or a file.
    ///
    /// - Throws: `protocol-error` without it, and for a tag without a type in its second line.
    func target() throws(FetchError) -> ObjectID? {
        var rest = content[...]
        switch type {
        case .tree, .blob: return nil
        case .commit: return try takeID("tree", from: &rest)
        case .tag:
            let target = try takeID("object", from: &rest)
            let name = try Self.takeLine("type", from: &rest)
            guard ObjectType.allCases.contains(where: { name.elementsEqual($0.name.utf8) }) else {
                throw Self.lacksLine("type")
            }
            return target
        }
    }

    /// Limit of a chain of tags.
    static let tagsMax = 16
    static let hasTooManyTags = FetchError(
        .protocolError, .body, "a chain of tags without an end")

    /// Author and date of an annotated tag; `nil` if missing.
    var tagger: Ident? {
        var rest = content[...]
        for _ in 0..<16 {
            guard let end = rest.firstIndex(of: ASCII.lineFeed) else { return nil }
            let line = rest[..<end]
            if line.isEmpty { return nil }
            if line.starts(with: "tagger ".utf8) { return Ident(line.dropFirst(7)) }
            rest = rest[(end + 1)...]
        }
        return nil
    }

    /// Takes the next line from `rest`; it must have this name and an id.
    fileprivate func takeID(
        _ name: String, from rest: inout ArraySlice<UInt8>
    ) throws(FetchError) -> ObjectID {
        let hex = try Self.takeLine(name, from: &rest)
        guard let target = ObjectID(hex: hex), target.format == id.format else {
            throw Self.lacksLine(name)
        }
        return target
    }

    private static func takeLine(
        _ name: String, from rest: inout ArraySlice<UInt8>
    ) throws(FetchError) -> ArraySlice<UInt8> {
        // Longer than any valid line, so that content without line feeds is not searched.
        guard let lineFeed = rest.prefix(128).firstIndex(of: ASCII.lineFeed),
            rest.starts(with: "\(name) ".utf8)
        else { throw lacksLine(name) }
        defer { rest = rest[(lineFeed + 1)...] }
        return rest[..<lineFeed].dropFirst(name.utf8.count + 1)
    }

    fileprivate static func lacksLine(_ name: String) -> FetchError {
        FetchError(.protocolError, .body, "malformed object: no line \"\(name)\"")
    }
}

/// The content of a commit (gitformat-commit): header lines, an empty line, the message. Pure.
struct Commit: Sendable {
    let id: ObjectID
    let tree: ObjectID
    let parents: [ObjectID]
    /// Unparsed; empty without such a line.
    let author: ArraySlice<UInt8>
    let committer: ArraySlice<UInt8>
    /// Encoding of author, committer and message; `nil` for UTF-8.
    let encoding: String?
    /// `openpgp`, `ssh`, `x509`; `nil` without a signature, `unknown` for any other.
    let signature: String?
    /// Unparsed, after the empty line.
    let message: ArraySlice<UInt8>

    /// Git cannot make commits with more parents.
    static let parentsMax = 65_536

    /// - Throws: `protocol-error` without a tree, or for a malformed parent.
    init(_ object: PackObject) throws(FetchError) {
        id = object.id
        var rest = object.content[...]
        tree = try object.takeID("tree", from: &rest)
        var parents: [ObjectID] = []
        while rest.starts(with: "parent ".utf8) {
            guard parents.count < Self.parentsMax else { throw PackObject.lacksLine("parent") }
            parents.append(try object.takeID("parent", from: &rest))
        }
        self.parents = parents
        var (author, committer) = ([] as ArraySlice<UInt8>, [] as ArraySlice<UInt8>)
        var (encoding, signature): (String?, String?)
        while !rest.isEmpty {
            let end = rest.firstIndex(of: ASCII.lineFeed) ?? rest.endIndex
            let line = rest[..<end]
            rest = end < rest.endIndex ? rest[(end + 1)...] : []
            if line.isEmpty { break }
            // A line that begins with a space continues the one before.
            if line.starts(with: "author ".utf8), author.isEmpty {
                author = line.dropFirst(7)
            } else if line.starts(with: "committer ".utf8), committer.isEmpty {
                committer = line.dropFirst(10)
            } else if line.starts(with: "encoding ".utf8), encoding == nil {
                encoding = String(validating: line.dropFirst(9), as: UTF8.self)
            } else if line.starts(with: "gpgsig".utf8), signature == nil {
                signature = Self.signatureKind(line)
            }
        }
        (self.author, self.committer) = (author, committer)
        (self.encoding, self.signature) = (encoding, signature)
        message = rest
    }

    private static func signatureKind(_ line: ArraySlice<UInt8>) -> String? {
        guard let space = line.firstIndex(of: ASCII.space) else { return nil }
        guard
            ["gpgsig", "gpgsig-sha256"].contains(where: { line[..<space].elementsEqual($0.utf8) })
        else { return nil }
        let mark = line[(space + 1)...]
        if mark.starts(with: "-----BEGIN PGP ".utf8) { return "openpgp" }
        if mark.starts(with: "-----BEGIN SSH ".utf8) { return "ssh" }
        if mark.starts(with: "-----BEGIN SIGNED MESSAGE".utf8) { return "x509" }
        return "unknown"
    }

    /// The committer's date in Unix seconds, by which Git orders commits; 0 if malformed.
    var date: Int {
        guard let close = committer.firstIndex(of: UInt8(ascii: ">")) else { return 0 }
        let digits = committer[(close + 1)...].drop(while: ASCII.isWhiteSpace)
            .prefix(while: ASCII.isDigit)
        return ASCII.decimal(digits, max: .max / 16) ?? 0
    }

    // MARK: Text

    /// Bytes of the commit in UTF-8; unchanged if they cannot be converted.
    func inUTF8(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        guard let encoding, !encoding.isEmpty else { return Array(bytes) }
        return Iconv.convert(Array(bytes), from: encoding, to: "UTF-8") ?? Array(bytes)
    }

    /// The reverse, which git-archive(1) does with text that it puts into files.
    func inItsEncoding(_ text: [UInt8]) -> [UInt8] {
        guard let encoding, !encoding.isEmpty else { return text }
        return Iconv.convert(text, from: "UTF-8", to: encoding) ?? text
    }

    /// The message in UTF-8, without leading empty lines. Like Git, ends at the first NUL.
    var text: ArraySlice<UInt8> {
        Self.withoutBlankLines(inUTF8(message.prefix { $0 != ASCII.nul })[...])
    }

    /// Removes leading lines of white space.
    static func withoutBlankLines(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var rest = text
        while !rest.isEmpty {
            let end = rest.firstIndex(of: ASCII.lineFeed).map { $0 + 1 } ?? rest.endIndex
            guard rest[..<end].allSatisfy(ASCII.isWhiteSpace) else { break }
            rest = rest[end...]
        }
        return rest
    }

    static func paragraph(
        _ text: ArraySlice<UInt8>
    ) -> (subject: [UInt8], rest: ArraySlice<UInt8>) {
        var (subject, rest) = ([UInt8](), text)
        var isFirst = true
        while !rest.isEmpty {
            let end = rest.firstIndex(of: ASCII.lineFeed).map { $0 + 1 } ?? rest.endIndex
            let line = rest[..<end]
            rest = rest[end...]
            guard let last = line.lastIndex(where: { !ASCII.isWhiteSpace($0) }) else { break }
            if !isFirst { subject.append(ASCII.space) }
            subject += line[...last]
            isFirst = false
        }
        return (subject, rest)
    }
}
