// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Formats of trust stores: other clients' and our own. Pure: text in, pins out, and back.
///
/// The text of a directory is one line per file: `PATH<TAB>its lines`, separated by tabs.
package enum TrustFormat: String, Sendable, CaseIterable {
    case gmni, gplaces, telescope, lagrange, chawan, amfora, agunua, ncgopher
    case av98 = "av-98"
    case offpunk
    /// The store of smallweb itself, with all its facts about a key.
    case smallweb

    /// True if the client keeps a directory of files.
    package var isDirectory: Bool { self == .agunua || self == .offpunk }

    /// The pins in `text`, and the number of lines that are neither pins nor comments.
    package func pins(in text: String) -> (pins: [KnownHosts.Pin], refused: Int) {
        var pins: [KnownHosts.Pin] = []
        var refused = 0
        let lines = text.unicodeScalars.split { $0 == "\n" || $0 == "\r" }
            .map { String($0).trimmed }
        let expiries = self == .amfora ? Self.amforaExpiries(lines) : [:]
        for line in lines where !line.isEmpty && !isComment(line) {
            guard var pin = pin(line) else {
                refused += self == .amfora && Self.expiry(line) != nil ? 0 : 1
                continue
            }
            if let expires = expiries[pin.place] { pin.expires = expires }
            pins.append(pin)
        }
        return (pins, refused)
    }

    /// Includes the headings of TOML. A directory has no comments: names of files may begin with
    /// any character.
    private func isComment(_ line: String) -> Bool {
        if line.hasPrefix("#") { return !isDirectory }
        let isTOML = self == .amfora || self == .ncgopher
        return isTOML && line.hasPrefix("[") && line.hasSuffix("]")
    }

    /// The only client whose store the text can be: all of its lines are pins in that format.
    package static func recognised(_ text: String, isDirectory: Bool) -> TrustFormat? {
        if text.hasPrefix(KnownHosts.header), !isDirectory { return .smallweb }
        let fitting = allCases.filter { format in
            guard format.isDirectory == isDirectory else { return false }
            let (pins, refused) = format.pins(in: text)
            return refused == 0 && !pins.isEmpty
        }
        return fitting.count == 1 ? fitting[0] : nil
    }

    private func pin(_ line: String) -> KnownHosts.Pin? {
        let words = line.split(separator: " ").map(String.init)
        switch self {
        case .gmni, .chawan:
            guard words.count >= 3, words[1] == (self == .gmni ? "SHA-512" : "sha256") else {
                return nil
            }
            return make(
                words[0], self == .gmni ? .certificate : .key, self == .gmni ? .sha512 : .sha256,
                words[2].filter { $0 != ":" }, expires: words.count > 3 ? words[3] : nil)
        case .gplaces:
            guard words.count == 2 else { return nil }
            return make(words[0], .certificate, .sha512, words[1])
        case .telescope:
            guard words.count >= 2, words[1].hasPrefix("SHA256:") else { return nil }
            return make(words[0], .certificate, .sha256, String(words[1].dropFirst(7)))
        case .lagrange:
            guard words.count == 3, let mark = words[0].lastIndex(of: ";") else { return nil }
            let (host, port) = (words[0][..<mark], words[0][mark...].dropFirst())
            return make(
                Self.joined(host, port), .key, .sha256, words[2], expires: words[1])
        case .amfora:
            guard let (name, value) = Self.assignment(line) else { return nil }
            return make(Self.dotted(name), .key, .sha256, value)
        case .ncgopher:
            guard let (name, value) = Self.assignment(line), let bytes = Base64.decode(value)
            else { return nil }
            return make(name, .certificate, .sha256, bytes.hex)
        case .agunua:
            let parts = line.split(separator: "\t").map(String.init)
            guard parts.count >= 2, let name = parts[0].split(separator: "/").last,
                let bytes = Base64.decode(parts[1])
            else { return nil }
            let expires = parts.count > 2 ? UTCDate.seconds(parts[2]).map(String.init) : nil
            return make(String(name), .key, .sha256, bytes.hex, expires: expires)
        case .av98:
            let parts = line.split(separator: "|", omittingEmptySubsequences: false)
            guard parts.count >= 3 else { return nil }
            let port = parts[1].isEmpty ? "1965" : parts[1]
            return make(Self.joined(parts[0], port), .certificate, .sha256, String(parts[2]))
        case .offpunk:
            let parts = line.prefix { $0 != "\t" }.split(separator: "/")
            guard parts.count >= 3 else { return nil }
            return make(
                String(parts[parts.count - 3]), .certificate, .sha256,
                String(parts[parts.count - 1]))
        case .smallweb:
            guard var pin = KnownHosts.Pin(parsing: Array(line.utf8)[...]),
                let place = KnownHosts.place(pin.place, port: 0), !place.hasSuffix(":0")
            else { return nil }
            pin.place = place
            pin.via = "import:\(rawValue)"
            return pin
        }
    }

    private func make(
        _ place: String, _ kind: KnownHosts.Pin.Kind, _ algorithm: KnownHosts.Pin.Algorithm,
        _ digest: String, expires: String? = nil
    ) -> KnownHosts.Pin? {
        guard let place = withPort(place).flatMap({ KnownHosts.place($0, port: 1965) })
        else { return nil }
        // 0 means that the date is unknown: an expired certificate could be replaced.
        let seconds = expires.flatMap { ASCII.decimal($0.utf8, max: Self.endOfTime) } ?? 0
        return KnownHosts.Pin(
            place: place, kind, algorithm, digest: digest, expires: seconds > 0 ? seconds : nil,
            first: nil, via: "import:\(rawValue)")
    }

    /// `host:port` of a client that keeps them apart.
    private static func joined(_ host: Substring, _ port: Substring) -> String {
        (host.hasPrefix("[") ? String(host) : String(host).bracketedHost) + ":\(port)"
    }

    /// A name as written, but with brackets around an IPv6 address that has a port.
    ///
    /// - Returns: `nil` if the port cannot be told from the address: another address would be
    ///   pinned.
    private func withPort(_ name: String) -> String? {
        let hasPorts = self != .gmni && self != .chawan && self != .offpunk
        guard hasPorts, !name.hasPrefix("["), let colon = name.lastIndex(of: ":"),
            shortestIPv6(String(name[..<colon])) != nil
        else { return name }
        if self != .gplaces, shortestIPv6(name) != nil { return nil }
        return Self.joined(name[..<colon], name[colon...].dropFirst())
    }

    /// The end of the year 9999.
    private static let endOfTime = 253_402_300_799

    /// The pins in the client's own format, and the places of pins that it cannot express, with
    /// the reason. `nil` for a client whose store is more than text.
    package func text(
        of pins: [KnownHosts.Pin]
    ) -> (text: String, left: [(place: String, why: String)])? {
        guard self != .av98 && self != .offpunk else { return nil }
        var text = ""
        if self == .ncgopher { text = "[certificate]\n" }
        if self == .smallweb { text = KnownHosts.header + "\n" }
        var left: [(String, String)] = []
        for pin in pins {
            if let line = line(of: pin) {
                text += line + "\n"
            } else if [.gmni, .chawan].contains(self), !pin.place.hasSuffix(":1965") {
                left.append((pin.place, "has no ports, and would take it for port 1965"))
            } else {
                left.append((pin.place, "wants another hash than the store has"))
            }
        }
        return (text, left)
    }

    private func line(of pin: KnownHosts.Pin) -> String? {
        let colon = pin.place.lastIndex(of: ":") ?? pin.place.endIndex
        let (host, port) = (pin.place[..<colon], pin.place[colon...].dropFirst())
        let short = port == "1965" ? String(host) : pin.place
        let key = pin.kind == .key ? pin.key : nil
        let sha256 =
            pin.kind == .certificate && pin.algorithm == .sha256 ? pin.key : pin.seenSHA256
        let sha512 =
            pin.kind == .certificate && pin.algorithm == .sha512 ? pin.key : pin.seenSHA512
        let expires = pin.expires.map(String.init)
        switch self {
        case .gmni, .chawan:
            guard port == "1965", let digest = self == .gmni ? sha512 : key else { return nil }
            let name = self == .gmni ? "SHA-512" : "sha256"
            return "\(host) \(name) \(Self.pairs(digest))" + (expires.map { " " + $0 } ?? "")
        case .gplaces: return sha512.map { "\(pin.place) \($0.uppercased())" }
        case .telescope: return sha256.map { "\(short) SHA256:\($0) 0" }
        case .lagrange:
            // The client takes a certificate without a date for an expired one.
            return key.map { "\(host);\(port) \(expires ?? "\(Self.endOfTime)") \($0)" }
        case .amfora:
            guard let key else { return nil }
            let name = String(host.map { $0 == "." ? "/" : $0 })
            let suffix = port == "1965" ? "" : ":\(port)"
            let expiry = pin.expires.map {
                "\n\"\(name)/expiry\(suffix)\" = \(UTCDate.second($0))"
            }
            return "\"\(name)\(suffix)\" = \"\(key.uppercased())\"" + (expiry ?? "")
        case .agunua:
            let end = pin.expires.map { "\t" + UTCDate.second($0) } ?? ""
            return key.map { "\(short)\t\(Base64.encode(Self.bytes($0)))\(end)" }
        case .ncgopher:
            return sha256.map { "\"\(short)\" = \"\(Base64.encode(Self.bytes($0)))\"" }
        case .smallweb: return String(decoding: pin.line, as: UTF8.self)
        case .av98, .offpunk: return nil
        }
    }

    /// `AA:BB:…`
    private static func pairs(_ hex: String) -> String {
        bytes(hex).map { [$0].hex.uppercased() }.joined(separator: ":")
    }

    private static func bytes(_ hex: String) -> [UInt8] { ASCII.bytes(hex: hex.utf8) ?? [] }

    /// `"name" = "value"`, with or without the quotes.
    private static func assignment(_ line: String) -> (String, String)? {
        guard let equals = line.firstIndex(of: "="), equals > line.startIndex else { return nil }
        let bare = { (text: Substring) in text.trimmed.filter { $0 != "\"" } }
        // A quoted name holds no `=`; Base64 does, behind the first one.
        return (bare(line[..<equals]), bare(line[line.index(after: equals)...]))
    }

    /// amfora writes a slash where a name has a dot.
    private static func dotted(_ name: String) -> String {
        String(name.map { $0 == "/" ? "." : $0 })
    }

    private static func amforaExpiries(_ lines: [String]) -> [String: Int] {
        var expiries: [String: Int] = [:]
        for line in lines {
            guard let (name, seconds) = expiry(line), 1...endOfTime ~= seconds else { continue }
            if let place = KnownHosts.place(name, port: 1965) { expiries[place] = seconds }
        }
        return expiries
    }

    /// Parses a line with a date, such as `"a/example/expiry:1966"`; 0 for an impossible date.
    private static func expiry(_ line: String) -> (name: String, seconds: Int)? {
        guard let (name, value) = assignment(line), value.dropFirst(4).first == "-" else {
            return nil
        }
        let end = name.hasSuffix("/expiry") ? nil : name.lastIndex(of: ":")
        let (path, port) = (name[..<(end ?? name.endIndex)], end.map { name[$0...].dropFirst() })
        guard path.hasSuffix("/expiry") else { return nil }
        let host = dotted(String(path.dropLast("/expiry".utf8.count)))
        return (joined(host[...], port ?? "1965"), UTCDate.seconds(value) ?? 0)
    }
}

extension KnownHosts {
    /// `host:port` in the form of the store: lower case, with a port.
    ///
    /// - Parameter port: Default for a place without one.
    /// - Returns: `nil` if the text is not a place.
    package static func place(_ text: String, port: UInt16) -> String? {
        var host = Substring(text.lowercased())
        var number = Int(port)
        let isBareLiteral = !host.hasPrefix("[") && host.filter { $0 == ":" }.count > 1
        if !isBareLiteral, let colon = host.lastIndex(of: ":"),
            !(host.hasPrefix("[") && host.hasSuffix("]"))
        {
            guard let value = ASCII.decimal(host[host.index(after: colon)...].utf8, max: 65_535)
            else { return nil }
            number = value
            host = host[..<colon]
        }
        let isClean = host.utf8.allSatisfy {
            // A number sign at its beginning would make a comment of a pin.
            $0 > 0x20 && $0 < 0x7F && $0 != ASCII.slash && $0 != UInt8(ascii: "#")
        }
        let hasEmptyLabel =
            host.hasPrefix(".") || zip(host, host.dropFirst()).contains { $0 == (".", ".") }
        guard !host.isEmpty, isClean, !hasEmptyLabel else { return nil }
        let literal = isBareLiteral ? host : host.hasPrefix("[") ? host.dropFirst().dropLast() : ""
        let address = shortestIPv6(String(literal)).map { "[\($0)]" }
        // Brackets and further colons belong to addresses alone.
        guard address != nil || literal.isEmpty && !host.hasPrefix("[") else { return nil }
        return (address ?? String(host)) + ":\(number)"
    }
}
