// SPDX-License-Identifier: MIT
public import SmallWebCore

/// The text of a known_hosts file, version 1: one line per pin.
///
///     example.org:1965 k sha256:6ad3… expires=1797805033 first=1795212233 last=1795299433 n=12
///
/// and then `via=first-use` or `via=renewed` on the same line, and `seen=` with the hashes of the
/// certificate that was met last.
///
/// `k` pins the SubjectPublicKeyInfo, `c` the whole certificate, as other clients do. Lines of
/// other kinds, comments and unknown fields are kept as they are. Pure: text in, text out.
public struct KnownHosts: Sendable, Hashable {
    public struct Pin: Sendable, Hashable {
        public enum Kind: String, Sendable, Hashable {
            case key = "k"
            case certificate = "c"
        }

        public enum Algorithm: String, Sendable, Hashable {
            case sha256, sha512

            var digits: Int { self == .sha256 ? 64 : 128 }
        }

        /// `host:port`, compared exactly.
        public var place: String
        /// Lower-case hexadecimal digest.
        public var key: String
        /// Unix seconds; `nil` when unknown.
        public var expires: Int?
        public var first: Int?
        public var last: Int?
        /// On how many days the key was met.
        public var days = 0
        public var via: String
        public var kind = Kind.key
        public var algorithm = Algorithm.sha256
        /// Digests of the certificate that was met last, so that every export is possible.
        public var seenSHA256: String?
        public var seenSHA512: String?
        /// Fields that this version does not know, in order.
        var others: [String] = []
    }

    private enum Line: Sendable, Hashable {
        case pin(Pin)
        case other(String)
    }

    static let header = "# smallweb known_hosts 1"
    private var lines: [Line]

    public init(parsing text: String) {
        // By scalars: CR LF is one Character, and would join the lines of a file that has it.
        var lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
            .map { line -> Line in
                let line = Substring(line)
                return Pin(parsing: line).map(Line.pin) ?? .other(String(line))
            }
        // The last line feed ends the last line; it does not begin another.
        if lines.last == .other("") { lines.removeLast() }
        self.lines = lines.isEmpty ? [.other(Self.header)] : lines
    }

    public var text: String {
        lines.reduce(into: "") { text, line in
            switch line {
            case .pin(let pin): text += pin.text + "\n"
            case .other(let line): text += line + "\n"
            }
        }
    }

    /// In the order of the file.
    public var pins: [Pin] {
        lines.compactMap { line in if case .pin(let pin) = line { pin } else { nil } }
    }

    /// The pins of `host:port`: alternatives, any of which is as good.
    public func pins(of place: String) -> [Pin] { pins.filter { $0.place == place } }

    public mutating func add(_ pin: Pin) { lines.append(.pin(pin)) }

    /// Removes all pins of `host:port`, and says how many there were.
    @discardableResult
    public mutating func remove(_ place: String) -> Int {
        let count = lines.count
        lines.removeAll { line in
            if case .pin(let pin) = line { pin.place == place } else { false }
        }
        return count - lines.count
    }

    /// Adds pins that another store has.
    ///
    /// - Parameter replacing: Whether they take the place of what is known of theirs; else they
    ///   are only for places of which nothing is known.
    /// - Returns: Those that were added.
    public mutating func merge(_ more: [Pin], replacing: Bool) -> [Pin] {
        var known = Set(pins.map(\.place))
        if replacing {
            let places = Set(more.map(\.place))
            lines.removeAll { line in
                if case .pin(let pin) = line { places.contains(pin.place) } else { false }
            }
            known = []
        }
        var seen: Set<Pin> = []
        // A store may have the same line twice, and several for one place, which are alternatives.
        let added = more.filter { !known.contains($0.place) && seen.insert($0).inserted }
        lines += added.map(Line.pin)
        return added
    }

    /// Replaces `old`, in its place.
    mutating func replace(_ old: Pin, by new: Pin) {
        guard let index = lines.firstIndex(of: .pin(old)) else { return }
        lines[index] = .pin(new)
    }
}

extension KnownHosts.Pin {
    /// A pin of something that nobody has met yet.
    ///
    /// - Parameters:
    ///   - digest: Hexadecimal of either case.
    ///   - via: How it came here, without spaces.
    /// - Returns: `nil` when `digest` is none of that algorithm.
    public init?(
        place: String, _ kind: Kind, _ algorithm: Algorithm, digest: String, expires: Int? = nil,
        first: Int?, last: Int? = nil, via: String
    ) {
        let digest = digest.lowercased()
        guard digest.utf8.count == algorithm.digits,
            digest.utf8.allSatisfy({ ASCII.hexValue($0) != nil })
        else { return nil }
        self.init(place: place, key: digest, expires: expires, first: first, last: last, via: via)
        self.kind = kind
        self.algorithm = algorithm
    }

    /// `sha256:HEX` of the key or of the certificate, as a person reads and types it.
    public var digest: String { "\(algorithm.rawValue):\(key)" }

    /// Whether it is `certificate` that was pinned.
    func matches(_ certificate: CertificateFacts) -> Bool {
        switch (kind, algorithm) {
        case (.key, .sha256): key == certificate.spkiSHA256.hex
        case (.key, .sha512): false
        case (.certificate, .sha256): key == certificate.sha256.hex
        case (.certificate, .sha512): key == certificate.sha512.hex
        }
    }

    /// `nil` for anything that is not a pin of this version.
    init?(parsing line: Substring) {
        let fields = line.split { $0 == " " || $0 == "\r" }
        guard fields.count >= 3, !line.hasPrefix("#"), let kind = Kind(rawValue: String(fields[1])),
            let colon = fields[2].firstIndex(of: ":"),
            let algorithm = Algorithm(rawValue: String(fields[2][..<colon])),
            kind == .certificate || algorithm == .sha256
        else { return nil }
        let key = fields[2][fields[2].index(after: colon)...]
        guard key.utf8.count == algorithm.digits,
            key.utf8.allSatisfy({ ASCII.hexValue($0) != nil && !(0x41...0x46 ~= $0) })
        else { return nil }
        self.init(place: String(fields[0]), key: String(key), via: "-")
        self.kind = kind
        self.algorithm = algorithm
        for field in fields.dropFirst(3) {
            let value = field.firstIndex(of: "=").map { field[field.index(after: $0)...] }
            switch field.prefix(while: { $0 != "=" }) {
            case "expires": expires = value.flatMap(Self.number)
            case "first": first = value.flatMap(Self.number)
            case "last": last = value.flatMap(Self.number)
            case "n": days = value.flatMap(Self.number) ?? 0
            case "via": via = value.map(String.init) ?? "-"
            case "seen":
                for hash in (value ?? "").split(separator: ",") {
                    if hash.hasPrefix("c:sha256:") { seenSHA256 = String(hash.dropFirst(9)) }
                    if hash.hasPrefix("c:sha512:") { seenSHA512 = String(hash.dropFirst(9)) }
                }
            default: others.append(String(field))
            }
        }
    }

    /// Seconds until the year 9999, or a count of days; `nil` for what no clock has said.
    private static func number(_ text: Substring) -> Int? {
        ASCII.decimal(text.utf8, max: 253_402_300_799)
    }

    public var text: String {
        let number = { (value: Int?) in value.map(String.init) ?? "-" }
        let fields = [
            place, kind.rawValue, digest, "expires=\(number(expires))", "first=\(number(first))",
            "last=\(number(last))", "n=\(days)", "via=\(via)",
        ]
        let seen = [
            seenSHA256.map { "c:sha256:" + $0 }, seenSHA512.map { "c:sha512:" + $0 },
        ].compactMap(\.self).joined(separator: ",")
        return (fields + (seen.isEmpty ? [] : ["seen=" + seen]) + others).joined(separator: " ")
    }
}
