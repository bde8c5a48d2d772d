// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The text of a known_hosts file, version 1: one line per pin.
///
///     example.org:1965 k sha256:6ad3… expires=1797805033 first=1795212233 last=1795299433 n=12
///
/// and then `via=first-use` or `via=renewed` on the same line, and `seen=` with the hashes of the
/// certificate that was met last.
///
/// `k` pins the SubjectPublicKeyInfo, `c` the whole certificate, as other clients do. Lines of
/// other kinds, comments and unknown fields are kept as they are. Pure: bytes in, bytes out.
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

    static let header = "# smallweb known_hosts 1"
    /// The file, with a line feed at its end. A line is parsed when somebody asks for its pin: a
    /// fetch needs one of thousands.
    public private(set) var bytes: [UInt8]

    public init(parsing bytes: [UInt8]) {
        self.bytes = bytes.isEmpty ? Array(Self.header.utf8) : bytes
        if self.bytes.last != ASCII.lineFeed { self.bytes.append(ASCII.lineFeed) }
    }

    /// In the order of the file.
    public var pins: [Pin] {
        var pins: [Pin] = []
        forEachLine { line in
            if let pin = Pin(parsing: line) { pins.append(pin) }
        }
        return pins
    }

    /// The pins of `host:port`: alternatives, any of which is as good.
    public func pins(of place: String) -> [Pin] {
        let beginning = Array(place.utf8)
        var pins: [Pin] = []
        forEachLine { line in
            // A line that a person has indented counts as much as any other, and so does one of a
            // file whose line ends are the wrong way round.
            let text = line.drop { $0 == ASCII.space || $0 == ASCII.carriageReturn }
            guard text.starts(with: beginning),
                let pin = Pin(parsing: line), pin.place == place
            else { return }
            pins.append(pin)
        }
        return pins
    }

    public mutating func add(_ pin: Pin) { bytes += Array(pin.text.utf8) + [ASCII.lineFeed] }

    /// Removes all pins of `host:port`, and says how many there were.
    @discardableResult
    public mutating func remove(_ place: String) -> Int {
        let count = pins(of: place).count
        if count > 0 { rewrite { $0.place == place ? nil : $0 } }
        return count
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
            rewrite { places.contains($0.place) ? nil : $0 }
            known = []
        }
        var seen: Set<Pin> = []
        // A store may have the same line twice, and several for one place, which are alternatives.
        let added = more.filter { !known.contains($0.place) && seen.insert($0).inserted }
        added.forEach { add($0) }
        return added
    }

    /// Replaces `old`, in its place.
    mutating func replace(_ old: Pin, by new: Pin) { rewrite { $0 == old ? new : $0 } }

    /// Puts other pins into the place of those that `change` wants changed, and leaves every other
    /// line as it is, byte by byte.
    private mutating func rewrite(_ change: (Pin) -> Pin?) {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + 512)
        forEachLine { line in
            let pin = Pin(parsing: line)
            let next = pin.flatMap(change)
            if next == pin {
                result += line
            } else if let next {
                result += next.text.utf8
            } else {
                return
            }
            result.append(ASCII.lineFeed)
        }
        bytes = result
    }

    private func forEachLine(_ body: (ArraySlice<UInt8>) -> Void) {
        var rest = bytes[...]
        while let end = rest.firstLineFeed {
            body(rest[..<end])
            rest = rest[(end + 1)...]
        }
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
    init?(parsing line: ArraySlice<UInt8>) {
        guard let line = String(validating: line, as: UTF8.self) else { return nil }
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
