// SPDX-License-Identifier: MIT

extension URI {
    /// A URI reference (RFC 3986 §4.1): absolute, or relative to another URI.
    struct Reference: Hashable {
        var scheme: String?
        var authority: Authority?
        var path: String
        var query: String?
        var fragment: String?
    }

    /// Resolves `reference` against this URI (§5.2). A scheme with opaque paths keeps dot segments:
    /// `..` is not a step upwards there.
    ///
    /// - Throws: `bad-url` when the reference cannot be parsed.
    public func resolving(
        _ reference: String, keepsDotSegments: (_ scheme: String) -> Bool = { _ in false }
    ) throws(FetchError) -> URI {
        // A verbatim place, without a host, stays as it is.
        let (place, rest) = verbatimParts
        let lead = self.host == nil && self.path.hasPrefix("//") ? "//" + place : ""
        let isOfPlace = !place.isEmpty && Self.scheme(of: reference) == nil
        let reference = try Reference(parsing: reference, readsAuthority: !isOfPlace)
        var target = self
        target.fragment = reference.fragment
        target.query = reference.query
        if reference.scheme != nil || reference.authority != nil {
            target = URI(
                scheme: reference.scheme ?? self.scheme, authority: reference.authority,
                path: reference.path, query: reference.query, fragment: reference.fragment)
        } else if reference.path.isEmpty {
            target.query = reference.query ?? self.query
            return target
        } else if reference.path.hasPrefix("//") {
            target.path = reference.path
        } else if reference.path.hasPrefix("/") {
            target.path = lead + reference.path
        } else {
            // Everything of the base path up to its last slash comes first (§5.2.3).
            let hasPlace = self.host != nil || !lead.isEmpty
            let end = rest.utf8.lastIndex(of: ASCII.slash).map(rest.utf8.index(after:))
            let base = rest.isEmpty && hasPlace ? "/" : rest[..<(end ?? rest.startIndex)]
            target.path = lead + base + reference.path
        }
        return keepsDotSegments(target.scheme) ? target : target.removingDotSegments()
    }

    /// The scheme of an absolute reference, in lower case; `nil` for a relative one.
    public static func scheme(of reference: String) -> String? {
        let name = Array(reference.utf8.prefix { $0 != ASCII.colon })[...]
        guard name.count < reference.utf8.count, Reference.isScheme(name) else { return nil }
        return String(decoding: name, as: UTF8.self).lowercased()
    }

    /// §5.2.4.
    static func removeDotSegments(_ path: String) -> String {
        var previous = ASCII.slash
        let hasDots = path.utf8.contains { byte in
            defer { previous = byte }
            return byte == ASCII.dot && previous == ASCII.slash
        }
        guard hasDots else { return path }
        let isAbsolute = path.hasPrefix("/")
        var segments = path.utf8.split(separator: ASCII.slash, omittingEmptySubsequences: false)
            .map(Substring.init)
        if isAbsolute { segments.removeFirst() }
        var kept: [Substring] = []
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch segment {
            case ".":
                if isLast { kept.append("") }
            case "..":
                if !kept.isEmpty { kept.removeLast() }
                if isLast { kept.append("") }
            default:
                kept.append(segment)
            }
        }
        return (isAbsolute ? "/" : "") + kept.joined(separator: "/")
    }
}

extension URI.Reference {
    /// Parses and cleans every component.
    ///
    /// - Parameter readsAuthority: False to leave the authority in the path.
    init(parsing text: String, readsAuthority: Bool = true) throws(FetchError) {
        var rest = Array(text.utf8)[...]
        guard rest.count <= URI.lengthMax else {
            throw .badURL("longer than \(URI.lengthMax) bytes")
        }
        try Self.refuseDangerousBytes(rest)

        if let hash = rest.firstIndex(of: UInt8(ascii: "#")) {
            fragment = try Self.clean(rest[(hash + 1)...])
            rest = rest[..<hash]
        }
        if let mark = rest.firstIndex(of: ASCII.questionMark) {
            query = try Self.clean(rest[(mark + 1)...])
            rest = rest[..<mark]
        }
        if let colon = rest.firstIndex(of: ASCII.colon), Self.isScheme(rest[..<colon]) {
            scheme = String(decoding: rest[..<colon], as: UTF8.self).lowercased()
            rest = rest[(colon + 1)...]
        }
        if readsAuthority, rest.starts(with: [ASCII.slash, ASCII.slash]) {
            rest = rest.dropFirst(2)
            let end = rest.firstIndex(of: ASCII.slash) ?? rest.endIndex
            authority = try URI.Authority(parsing: rest[..<end])
            rest = rest[end...]
        }
        path = try Self.clean(rest)
    }

    /// `ALPHA *( ALPHA / DIGIT / "+" / "-" / "." )` (§3.1).
    fileprivate static func isScheme(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard let first = bytes.first, ASCII.isLetter(first) else { return false }
        return bytes.allSatisfy {
            ASCII.isLetter($0) || ASCII.isDigit($0) || $0 == UInt8(ascii: "+")
                || $0 == UInt8(ascii: "-") || $0 == ASCII.dot
        }
    }

    /// Bytes that could end a field on the wire, or make two programs read two different URLs.
    private static func refuseDangerousBytes(_ bytes: ArraySlice<UInt8>) throws(FetchError) {
        for byte in bytes {
            if byte < 0x20 || byte == 0x7F {
                throw .badURL("control character in the URL", hint: "percent-encode it")
            }
            if byte == ASCII.space {
                throw .badURL("space in the URL: write it as %20")
            }
            if byte == UInt8(ascii: "\\") {
                throw .badURL("backslash in the URL", hint: "write / or, if it is meant, %5C")
            }
        }
    }

    /// Encodes bytes that a component may not hold, and refuses a `%` without two digits.
    fileprivate static func clean(_ bytes: ArraySlice<UInt8>) throws(FetchError) -> String {
        var cleaned: [UInt8] = []
        cleaned.reserveCapacity(bytes.count)
        for (index, byte) in zip(bytes.indices, bytes) {
            if byte == ASCII.percent {
                guard index + 2 < bytes.endIndex, ASCII.hexValue(bytes[index + 1]) != nil,
                    ASCII.hexValue(bytes[index + 2]) != nil
                else {
                    throw .badURL(
                        "% without two hexadecimal digits", hint: "write a percent sign as %25")
                }
                cleaned.append(byte)
            } else if PercentEncoding.isUnreserved(byte) || byte == ASCII.slash
                || byte < 0x80 && !"\"<>[]^`{|}#".utf8.contains(byte)
            {
                cleaned.append(byte)
            } else {
                PercentEncoding.appendEscape(of: byte, to: &cleaned)
            }
        }
        return String(decoding: cleaned, as: UTF8.self)
    }
}

extension URI.Authority {
    /// `[ userinfo "@" ] host [ ":" port ]` (§3.2).
    init(parsing bytes: ArraySlice<UInt8>) throws(FetchError) {
        var rest = bytes
        if let at = rest.lastIndex(of: UInt8(ascii: "@")) {
            let info = rest[..<at]
            guard !info.contains(UInt8(ascii: "@")) else { throw .badURL("two @ in the URL") }
            userinfo = try URI.Reference.clean(info)
            rest = rest[(at + 1)...]
        }
        let hostEnd: Int
        if rest.first == UInt8(ascii: "[") {
            guard let bracket = rest.firstIndex(of: UInt8(ascii: "]")) else {
                throw .badURL("[ without ] in the host")
            }
            host = try Self.ipv6(rest[(rest.startIndex + 1)..<bracket])
            hostEnd = bracket + 1
        } else {
            hostEnd = rest.firstIndex(of: ASCII.colon) ?? rest.endIndex
            // A host and its port have one colon.
            if hostEnd != rest.lastIndex(of: ASCII.colon) ?? rest.endIndex,
                let address = shortestIPv6(String(decoding: rest, as: UTF8.self))
            {
                throw .badURL(
                    "an IPv6 address without brackets", hint: "write it as [\(address)]")
            }
            host = try Self.name(rest[..<hostEnd])
        }
        let portText = rest[hostEnd...]
        guard let colon = portText.first else { return }
        guard colon == ASCII.colon else { throw .badURL("text after ] in the host") }
        if portText.count > 1 {
            guard let number = ASCII.decimal(portText.dropFirst(), max: 65_535), number > 0 else {
                throw .badURL("the port is not a number from 1 to 65535")
            }
            port = UInt16(number)
        }
    }

    private static func ipv6(_ bytes: ArraySlice<UInt8>) throws(FetchError) -> String {
        guard let address = shortestIPv6(String(decoding: bytes, as: UTF8.self)) else {
            throw .badURL("not an IPv6 address between the brackets")
        }
        return address
    }

    /// A registered name: letters, digits, `-`, `_`, `.`, and everything outside ASCII.
    private static func name(_ bytes: ArraySlice<UInt8>) throws(FetchError) -> String {
        let isPlain = bytes.allSatisfy(isHostByte)
        let decoded =
            isPlain ? bytes : PercentEncoding.decode(String(decoding: bytes, as: UTF8.self))[...]
        guard !decoded.isEmpty else { throw .badURL("no host in the URL") }
        let name = String(decoding: decoded, as: UTF8.self)
        guard isPlain || name.utf8.elementsEqual(decoded) else {
            throw .badURL("the host is not UTF-8")
        }
        guard isPlain || decoded.allSatisfy({ $0 >= 0x80 || isHostByte($0) }) else {
            throw .badURL("a host cannot contain that character")
        }
        // A command would take such an argument for an option.
        guard decoded.first != UInt8(ascii: "-") else {
            throw .badURL("a host cannot begin with -")
        }
        // Letters outside ASCII may have a lower case within it, such as the Kelvin sign.
        let host = name.lowercased()
        guard host.utf8.contains(where: { $0 >= 0x80 }) || isWellSized(host.utf8) else {
            throw .badURL("the host has an empty label, or is longer than DNS allows")
        }
        return host
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        ASCII.isLetter(byte) || ASCII.isDigit(byte) || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: "_") || byte == ASCII.dot
    }

    /// Checks a name from another source than a URL's text, by the same rules.
    static func asciiName(_ name: String) throws(FetchError) -> String {
        guard name.utf8.allSatisfy({ $0 < 0x80 && $0 != ASCII.percent }) else {
            throw .badURL("a host cannot contain that character")
        }
        return try Self.name(Array(name.utf8)[...])
    }

    /// Labels of 1 to 63 bytes, 253 in all, one trailing dot allowed (RFC 1035 §2.3.4).
    private static func isWellSized(_ name: String.UTF8View) -> Bool {
        var count = 0
        for byte in name {
            if byte == ASCII.dot && count == 0 { return false }
            count = byte == ASCII.dot ? 0 : count + 1
            if count > 63 { return false }
        }
        return name.count <= 254
    }
}
