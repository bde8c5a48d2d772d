// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The text of a known_hosts file, version 1: one line per pin.
///
///     example.org:1965 k sha256:6ad3… expires=1797805033 first=1795212233 last=1795299433 n=12
///
/// and then `via=first-use` or `via=renewed` on the same line, and `seen=` with the hashes of the
/// last certificate seen.
///
/// `k` pins the SubjectPublicKeyInfo, `c` the whole certificate, as other clients do. Lines of
/// other kinds, comments and unknown fields are kept as they are. Pure: bytes in, bytes out.
package struct KnownHosts: Sendable, Hashable {
    package struct Pin: Sendable, Hashable {
        package enum Kind: String, Sendable, Hashable {
            case key = "k"
            case certificate = "c"
        }

        package enum Algorithm: String, Sendable, Hashable {
            case sha256, sha512

            var digits: Int { self == .sha256 ? 64 : 128 }
        }

        /// `host:port`, in lower case and without a dot at the host's end.
        package var place: String
        /// Lower-case hexadecimal digest.
        package var key: String
        /// Unix seconds; `nil` when unknown.
        package var expires: Int?
        package var first: Int?
        package var last: Int?
        /// Days on which the key was met.
        package var days = 0
        package var via: String
        package var kind = Kind.key
        package var algorithm = Algorithm.sha256
        /// Digests of the last certificate met, so that every export is possible.
        package var seenSHA256: String?
        package var seenSHA512: String?
        /// Unknown fields, in order.
        var others: [[UInt8]] = []
    }

    static let header = "# smallweb known_hosts 1"
    /// The file, with a line feed at its end. Lines are parsed on demand.
    package private(set) var bytes: [UInt8]

    package init(parsing bytes: [UInt8]) {
        self.bytes = bytes.isEmpty ? Array(Self.header.utf8) : bytes
        endLastLine()
    }

    /// A last line without its line feed may have been cut off, and a date that lacks its last
    /// digits is long past: it must not make way for another key.
    private mutating func endLastLine() {
        guard let last = bytes.last, last != ASCII.lineFeed else { return }
        let line = bytes[((bytes.lastIndex(of: ASCII.lineFeed) ?? -1) + 1)...]
        let isDate = Self.fields(line).last?.starts(with: "expires=".utf8) ?? false
        if isDate && !ASCII.isSpace(last) { bytes.append(ASCII.questionMark) }
        bytes.append(ASCII.lineFeed)
    }

    /// All pins, in the order of the file.
    package var pins: [Pin] {
        var pins: [Pin] = []
        forEachLine { line in
            if let pin = Pin(parsing: line) { pins.append(pin) }
        }
        return pins
    }

    /// The pins of `host:port`: alternatives; any one is as good.
    package func pins(of place: String) -> [Pin] { lines(of: place).compactMap(\.pin) }

    struct Line: Sendable {
        /// Offset in the file, in bytes.
        let start: Int
        /// From 1; 0 for a line that was found without counting.
        let number: Int
        /// The bytes of the line, without the line feed.
        let text: ArraySlice<UInt8>
        /// `nil` if the line cannot be read.
        let pin: Pin?
    }

    func lines(of place: String) -> [Line] {
        var number = 0
        return lines(of: Self.canonical(place), from: 0, number: &number)
    }

    /// The lines about a place in a part of the file.
    ///
    /// - Parameters:
    ///   - place: In its canonical form.
    ///   - start: Offset of the part in the file.
    ///   - number: Number of lines before the part, and on return before its end.
    func lines(of place: String, from start: Int, number: inout Int) -> [Line] {
        var beginning = place
        return beginning.withUTF8 { beginning in
            var lines: [Line] = []
            bytes.withUnsafeBufferPointer { text in
                var next = 0
                // Slices of the array would be reference-counted, for a million lines.
                while let end = text.firstLineFeed(from: next) {
                    defer { next = end + 1 }
                    number += 1
                    let line = UnsafeBufferPointer(rebasing: text[next..<end])
                    guard Self.isAbout(beginning, line) else { continue }
                    let pin = Pin(parsing: bytes[next..<end])
                    lines.append(
                        Line(
                            start: start + next, number: number, text: bytes[next..<end],
                            pin: pin?.place == place ? pin : nil))
                }
            }
            return lines
        }
    }

    package mutating func add(_ pin: Pin) { bytes += pin.line + [ASCII.lineFeed] }

    /// Writes a line over another of the same length, which begins at `start`.
    mutating func overwrite(at start: Int, with line: [UInt8]) {
        bytes.replaceSubrange(start..<(start + line.count), with: line)
    }

    /// Removes all lines about `host:port`, damaged ones too, and returns their number.
    @discardableResult
    package mutating func remove(_ place: String) -> Int {
        let count = lines(of: place).count
        let beginning = Array(Self.canonical(place).utf8)
        if count > 0 { rewrite { line in Self.isAbout(beginning, line) ? nil : line } }
        return count
    }

    /// Adds the pins of another store.
    ///
    /// - Parameter replacing: True to replace the lines about their places, false to leave out pins
    ///   of places that have lines.
    /// - Returns: The added pins.
    package mutating func merge(_ more: [Pin], replacing: Bool) -> [Pin] {
        var known: Set<String> = []
        let places = Set(more.map(\.place))
        rewrite { line in
            guard let place = Self.place(ofLine: line), places.contains(place) else { return line }
            if replacing { return nil }
            known.insert(place)
            return line
        }
        var seen: Set<Pin> = []
        // A store may have the same line twice, and several for one place, which are alternatives.
        let added = more.filter { !known.contains($0.place) && seen.insert($0).inserted }
        added.forEach { add($0) }
        return added
    }

    enum Change: Sendable, Hashable {
        case add(Pin)
        case replace(Pin, by: Pin)
    }

    mutating func apply(_ change: Change) {
        switch change {
        case .add(let pin): add(pin)
        case .replace(let old, let new): replace(old, by: new)
        }
    }

    mutating func replace(_ old: Pin, by new: Pin) {
        let beginning = Array(old.place.utf8)
        rewrite { line in
            guard Self.isAbout(beginning, line), Pin(parsing: line) == old else { return line }
            return new.line[...]
        }
    }

    /// Replaces each line by the result of `change`; `nil` removes it.
    private mutating func rewrite(_ change: (ArraySlice<UInt8>) -> ArraySlice<UInt8>?) {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + 512)
        forEachLine { line in
            guard let next = change(line) else { return }
            result += next
            result.append(ASCII.lineFeed)
        }
        bytes = result
    }

    func forEachLine(_ body: (ArraySlice<UInt8>) -> Void) {
        var rest = bytes[...]
        while let end = rest.firstLineFeed {
            body(rest[..<end])
            rest = rest[(end + 1)...]
        }
    }

    // MARK: Places

    /// `host:port` in lower case; `x.example.` is the same host as `x.example`.
    static func canonical(_ place: String) -> String {
        let place = place.lowercased()
        guard let colon = place.utf8.lastIndex(of: ASCII.colon),
            place[..<colon].utf8.last == ASCII.dot
        else { return place }
        return String(place[..<colon].dropLast() + place[colon...])
    }

    /// True if a line begins with that place, whatever follows.
    ///
    /// - Parameter place: In its canonical form.
    static func isAbout(_ place: [UInt8], _ line: ArraySlice<UInt8>) -> Bool {
        place.withUnsafeBufferPointer { place in
            line.withUnsafeBufferPointer { isAbout(place, $0) }
        }
    }

    private static func isAbout(
        _ place: UnsafeBufferPointer<UInt8>, _ line: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        var text = withoutIndent(line)
        for byte in place {
            if byte == ASCII.colon, text.first == ASCII.dot { text = text.dropFirst() }
            guard let next = text.popFirst(), ASCII.lowercased(next) == byte else { return false }
        }
        return !(text.first.map(ASCII.isDigit) ?? false)
    }

    /// The place at the beginning of a line, in its canonical form; `nil` if there is none.
    private static func place(ofLine line: ArraySlice<UInt8>) -> String? {
        guard let field = fields(line).first, field.first != UInt8(ascii: "#"),
            let colon = field.lastIndex(of: ASCII.colon)
        else { return nil }
        let port = field[(colon + 1)...].prefix(while: ASCII.isDigit)
        return canonical(String(decoding: field[..<port.endIndex], as: UTF8.self))
    }

    /// Prefix of a place or of a line: the same for a place and all lines about it, and for few
    /// others.
    ///
    /// - Parameter text: A line, or a place in its canonical form.
    /// - Returns: `nil` without a port: no line has one then that is about a place with a port.
    static func key(of text: ArraySlice<UInt8>) -> [UInt8]? {
        let text = withoutIndent(text)
        var host = text.startIndex
        if text.first == UInt8(ascii: "[") {
            guard let end = text.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            host = end
        }
        guard let colon = text[host...].firstIndex(of: ASCII.colon) else { return nil }
        let port = text[(colon + 1)...].prefix(while: ASCII.isDigit)
        // Dots before colons do not count; the others make no difference here.
        return text[..<port.endIndex].filter { $0 != ASCII.dot }.map(ASCII.lowercased)
    }

    /// Indented lines are valid, and so are a byte order mark of some editors, and carriage returns
    /// at the ends of lines.
    private static func withoutIndent(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        line.withoutByteOrderMark.drop(while: ASCII.isSpace)
    }

    static func withoutIndent(
        _ line: UnsafeBufferPointer<UInt8>
    ) -> Slice<UnsafeBufferPointer<UInt8>> {
        let isMarked = line.first == 0xEF && line.starts(with: [0xEF, 0xBB, 0xBF])
        return line.dropFirst(isMarked ? 3 : 0).drop(while: ASCII.isSpace)
    }

    fileprivate static func fields(_ line: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        withoutIndent(line).split(whereSeparator: ASCII.isSpace)
    }
}

extension KnownHosts.Pin {
    /// A pin of a key that has not been met yet.
    ///
    /// - Parameters:
    ///   - digest: Hexadecimal of either case.
    ///   - via: Its origin, without spaces.
    /// - Returns: `nil` when `digest` is not a digest of that algorithm.
    package init?(
        place: String, _ kind: Kind, _ algorithm: Algorithm, digest: String, expires: Int? = nil,
        first: Int?, via: String
    ) {
        let digest = digest.lowercased()
        guard digest.utf8.count == algorithm.digits,
            digest.utf8.allSatisfy({ ASCII.hexValue($0) != nil })
        else { return nil }
        self.init(
            place: KnownHosts.canonical(place), key: digest, expires: expires, first: first,
            via: via)
        self.kind = kind
        self.algorithm = algorithm
    }

    /// `sha256:HEX` of the key or of the certificate, as a person reads and types it.
    package var digest: String { "\(algorithm.rawValue):\(key)" }

    /// True if the two differ at most in the last visit, the days, and the certificate seen.
    func saysTheSame(as other: Self) -> Bool {
        var copy = self
        (copy.last, copy.days) = (other.last, other.days)
        (copy.seenSHA256, copy.seenSHA512) = (other.seenSHA256, other.seenSHA512)
        return copy == other
    }

    /// True if `certificate` or its key was pinned.
    func matches(_ certificate: Connection.Certificate) -> Bool {
        switch (kind, algorithm) {
        case (.key, .sha256): key == certificate.spkiSHA256.hex
        case (.key, .sha512): false
        case (.certificate, .sha256): key == certificate.sha256.hex
        case (.certificate, .sha512): key == certificate.sha512.hex
        }
    }

    /// `nil` for anything that is not a pin of this version.
    init?(parsing line: ArraySlice<UInt8>) {
        let fields = KnownHosts.fields(line)
        let text = fields.prefix(3).map { String(decoding: $0, as: UTF8.self).lowercased() }
        guard text.count == 3, !text[0].hasPrefix("#"), let kind = Kind(rawValue: text[1]),
            let colon = text[2].utf8.firstIndex(of: ASCII.colon),
            let algorithm = Algorithm(rawValue: String(text[2][..<colon])),
            kind == .certificate || algorithm == .sha256
        else { return nil }
        let key = String(text[2][text[2].index(after: colon)...])
        self.init(place: text[0], kind, algorithm, digest: key, first: nil, via: "-")
        for bytes in fields.dropFirst(3) {
            let name = bytes.prefix { $0 != UInt8(ascii: "=") }
            let value = bytes[name.endIndex...].dropFirst()
            switch String(decoding: name, as: UTF8.self) {
            case "expires": expires = Self.number(value)
            case "first": first = Self.number(value)
            case "last": last = Self.number(value)
            case "n": days = Self.number(value) ?? 0
            case "via": via = name == bytes ? "-" : String(decoding: value, as: UTF8.self)
            case "seen":
                for hash in value.split(separator: UInt8(ascii: ",")) {
                    let digest = String(decoding: hash.dropFirst(9), as: UTF8.self)
                    if hash.starts(with: "c:sha256:".utf8) { seenSHA256 = digest }
                    if hash.starts(with: "c:sha512:".utf8) { seenSHA512 = digest }
                }
            default: others.append(Array(bytes))
            }
        }
    }

    /// Seconds until the year 9999, or a count of days; `nil` for other values.
    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        ASCII.decimal(digits, max: 253_402_300_799)
    }

    /// The line of the file, without a line feed.
    var line: [UInt8] {
        let number = { (value: Int?) in value.map(String.init) ?? "-" }
        let fields = [
            place, kind.rawValue, digest, "expires=\(number(expires))", "first=\(number(first))",
            "last=\(number(last))", "n=\(days)", "via=\(via)",
        ]
        let seen = [
            seenSHA256.map { "c:sha256:" + $0 }, seenSHA512.map { "c:sha512:" + $0 },
        ].compactMap(\.self).joined(separator: ",")
        let known = (fields + (seen.isEmpty ? [] : ["seen=" + seen])).joined(separator: " ")
        return others.reduce(into: Array(known.utf8)) { $0 += [ASCII.space] + $1 }
    }
}
