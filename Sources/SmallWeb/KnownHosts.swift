// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The text of a known_hosts file, version 1: one line per pin.
///
///     example.org:1965 k sha256:6ad3… expires=1797805033 first=1795212233 last=1795299433 n=12
///
/// and then `via=first-use` or `via=renewed` on the same line.
///
/// `k` pins the SHA-256 of the SubjectPublicKeyInfo. Lines of other kinds, comments and unknown
/// fields are kept as they are. Pure: text in, text out.
struct KnownHosts: Hashable {
    struct Pin: Hashable {
        /// `host:port`, compared exactly.
        var place: String
        /// Lower-case hexadecimal SHA-256 of the public key.
        var key: String
        /// Unix seconds; `nil` when unknown.
        var expires: Int?
        var first: Int?
        var last: Int?
        /// On how many days the key was met.
        var days = 0
        var via: String
        /// Fields that this version does not know, in order.
        var others: [String] = []
    }

    private enum Line: Hashable {
        case pin(Pin)
        case other(String)
    }

    static let header = "# smallweb known_hosts 1"
    private var lines: [Line]

    init(parsing text: String) {
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

    var text: String {
        lines.reduce(into: "") { text, line in
            switch line {
            case .pin(let pin): text += pin.text + "\n"
            case .other(let line): text += line + "\n"
            }
        }
    }

    /// The pins of `host:port`: alternatives, any of which is as good.
    func pins(of place: String) -> [Pin] {
        lines.compactMap { line in
            if case .pin(let pin) = line, pin.place == place { pin } else { nil }
        }
    }

    mutating func add(_ pin: Pin) { lines.append(.pin(pin)) }

    /// Replaces `old`, in its place.
    mutating func replace(_ old: Pin, by new: Pin) {
        guard let index = lines.firstIndex(of: .pin(old)) else { return }
        lines[index] = .pin(new)
    }
}

extension KnownHosts.Pin {
    /// `nil` for anything that is not a key pin of this version.
    init?(parsing line: Substring) {
        let fields = line.split { $0 == " " || $0 == "\r" }
        guard fields.count >= 3, fields[1] == "k", fields[2].hasPrefix("sha256:") else {
            return nil
        }
        let key = fields[2].dropFirst("sha256:".count)
        guard key.utf8.count == 64,
            key.utf8.allSatisfy({ ASCII.hexValue($0) != nil && !(0x41...0x46 ~= $0) })
        else { return nil }
        self.init(place: String(fields[0]), key: String(key), via: "-")
        for field in fields.dropFirst(3) {
            let value = field.firstIndex(of: "=").map { field[field.index(after: $0)...] }
            switch field.prefix(while: { $0 != "=" }) {
            case "expires": expires = value.flatMap(Self.number)
            case "first": first = value.flatMap(Self.number)
            case "last": last = value.flatMap(Self.number)
            case "n": days = value.flatMap(Self.number) ?? 0
            case "via": via = value.map(String.init) ?? "-"
            default: others.append(String(field))
            }
        }
    }

    /// Seconds until the year 9999, or a count of days; `nil` for what no clock has said.
    private static func number(_ text: Substring) -> Int? {
        ASCII.decimal(text.utf8, max: 253_402_300_799)
    }

    var text: String {
        let number = { (value: Int?) in value.map(String.init) ?? "-" }
        let fields = [
            place, "k", "sha256:\(key)", "expires=\(number(expires))", "first=\(number(first))",
            "last=\(number(last))", "n=\(days)", "via=\(via)",
        ]
        return (fields + others).joined(separator: " ")
    }
}
