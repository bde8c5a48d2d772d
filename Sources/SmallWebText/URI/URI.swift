// SPDX-License-Identifier: MIT

/// An absolute URI (RFC 3986), or an IRI turned into one.
///
/// Strict where laxness is dangerous (control characters, spaces, backslashes, ports, broken
/// escapes are refused) and otherwise faithful: path and query keep the bytes as typed, apart from
/// characters that no URI may hold, which become `%XX`. Dot segments stay until
/// ``removingDotSegments()``, because they are significant in a gopher selector or a git path.
@dynamicMemberLookup
public struct URI: Sendable, Hashable, CustomStringConvertible {
    /// The components of a URI, which are those of a parsed one: another URI is made by
    /// ``resolving(_:keepsDotSegments:)``, ``replacingHost(_:)`` or ``init(parsing:)``, which check
    /// it.
    public struct Properties: Sendable, Hashable {
        /// Lower case.
        public package(set) var scheme: String
        /// As written, still percent-encoded; `nil` when there is no `@`.
        public package(set) var userinfo: String?
        /// Lower case, decoded, IPv6 without its brackets; `nil` when there is no authority. May
        /// hold non-ASCII letters until the fetcher replaces it by its A-labels.
        public package(set) var host: String?
        /// 1 to 65535; `nil` when absent or empty.
        public package(set) var port: UInt16?
        /// Percent-encoded, empty or beginning with `/` whenever there is a host.
        public package(set) var path: String
        /// Percent-encoded, without `?`; `nil` differs from empty.
        public package(set) var query: String?
        /// Percent-encoded, without `#`.
        public package(set) var fragment: String?
    }

    @usableFromInline var parts: Shared<Properties>

    /// A property.
    @inlinable
    public subscript<Value>(dynamicMember path: KeyPath<Properties, Value>) -> Value {
        @inline(__always) _read { yield parts.value[keyPath: path] }
    }

    /// A property, or its change, which is not checked.
    @inlinable
    package subscript<Value>(dynamicMember path: WritableKeyPath<Properties, Value>) -> Value {
        @inline(__always) _read { yield parts.value[keyPath: path] }
        @inline(__always) _modify { yield &parts.value[keyPath: path] }
    }

    /// Longest text accepted, in bytes.
    public static let lengthMax = 65_536

    /// Parses an absolute URI or IRI.
    ///
    /// - Throws: `bad-url` with a message that names the broken rule.
    public init(parsing text: String) throws(FetchError) {
        guard !text.hasSystemEscapes else {
            throw .badURL("the URL is not UTF-8", hint: "write its bytes as %XX")
        }
        let reference = try Reference(parsing: text)
        guard let scheme = reference.scheme else {
            throw .badURL(
                "no scheme in \"\(text)\"",
                hint: "a URL begins with its scheme, such as gemini://")
        }
        self.init(
            scheme: scheme, authority: reference.authority, path: reference.path,
            query: reference.query, fragment: reference.fragment)
    }

    /// Parses an absolute URI whose authority, if any, only its plugin interprets: it stays as
    /// written, at the beginning of ``path``, and there is no ``host``.
    ///
    /// - Throws: `bad-url` with a message that names the broken rule.
    package init(verbatim text: String) throws(FetchError) {
        guard !text.hasSystemEscapes else {
            throw .badURL("the URL is not UTF-8", hint: "write its bytes as %XX")
        }
        let reference = try Reference(parsing: text, readsAuthority: false)
        guard let scheme = reference.scheme else { throw .badURL("no scheme in \"\(text)\"") }
        self.init(
            scheme: scheme, authority: nil, path: reference.path, query: reference.query,
            fragment: reference.fragment)
    }

    /// The place and the path of a URI parsed by ``init(verbatim:)``.
    package var verbatimParts: (place: String, path: String) {
        guard self.host == nil, self.path.hasPrefix("//") else { return ("", self.path) }
        let place = self.path.dropFirst(2).prefix { $0 != "/" }
        return (String(place), String(self.path.dropFirst(2 + place.count)))
    }

    init(
        scheme: String, authority: Authority?, path: String, query: String?, fragment: String?
    ) {
        parts = Shared(
            Properties(
                scheme: scheme, userinfo: authority?.userinfo, host: authority?.host,
                port: authority?.port, path: path, query: query, fragment: fragment))
    }

    /// The URI in its normal form (§5.3): as parsed, with scheme and host in lower case.
    public var description: String {
        // Built from bytes: appending to a string costs as much per piece as all of them here.
        var text: [UInt8] = []
        text.reserveCapacity(128)
        text.append(self.scheme)
        text.append(ASCII.colon)
        if let authority {
            text.append("//")
            authority.write(to: &text)
        }
        text.append(self.path)
        if let query = self.query { text.append("?" + query) }
        if let fragment = self.fragment { text.append("#" + fragment) }
        return String(decoding: text, as: UTF8.self)
    }

    /// A copy without the fragment: the form that is sent, compared and stored.
    public var withoutFragment: URI {
        guard self.fragment != nil else { return self }
        var copy = self
        copy.fragment = nil
        return copy
    }

    /// A copy with `.` and `..` segments resolved (§5.2.4).
    public func removingDotSegments() -> URI {
        // The place is not one of the segments.
        let (place, rest) = self.host == nil ? verbatimParts : ("", self.path)
        let lead = self.host == nil && self.path.hasPrefix("//") ? "//" + place : ""
        var resolved = lead + Self.removeDotSegments(rest)
        // Nor may a path begin with //, which would be read as a place (§3.3).
        if self.host == nil && lead.isEmpty && resolved.hasPrefix("//") {
            resolved = "/." + resolved
        }
        guard resolved != self.path else { return self }
        var copy = self
        copy.path = resolved
        return copy
    }

    /// A copy with another host: an ASCII name, checked as in a parsed URL.
    ///
    /// - Throws: `bad-url`.
    public func replacingHost(_ name: String) throws(FetchError) -> URI {
        var copy = self
        copy.host = try Authority.asciiName(name)
        return copy
    }

    /// The URI without its password, for people and logs.
    public var display: String {
        guard let userinfo = self.userinfo, let colon = userinfo.firstIndex(of: ":")
        else { return description }
        var copy = self
        copy.userinfo = userinfo[..<colon] + ":***"
        return copy.description
    }

    /// A URL as typed, without its password, for people and logs; also for an invalid URL.
    public static func display(_ text: String) -> String {
        guard text.holds(UInt8(ascii: "@")) else { return text }
        let bytes = text.utf8
        guard let at = bytes.lastIndex(of: UInt8(ascii: "@")) else { return text }
        if let uri = try? URI(parsing: text) {
            return uri.userinfo?.contains(":") ?? false ? uri.display : text
        }
        // The invalid part may be the password, which ends at the last possible @.
        guard let colon = bytes.firstIndex(of: ASCII.colon),
            bytes[colon...].starts(with: "://".utf8)
        else { return text }
        let rest = bytes[bytes.index(colon, offsetBy: 3)...]
        guard let secret = rest.firstIndex(of: ASCII.colon), secret < at else { return text }
        let authority = rest.prefix { !"/?#".utf8.contains($0) }
        let end = authority.lastIndex(of: UInt8(ascii: "@"))
        // The digits are a port, and the @ is in the path.
        if end == nil, secret < authority.endIndex,
            authority[secret...].dropFirst().allSatisfy(ASCII.isDigit)
        {
            return text
        }
        return secret < end ?? at ? text[...secret] + "***" + text[(end ?? at)...] : text
    }

    /// `host`, or `host:port` when the URI names a port; IPv6 in brackets.
    public var hostAndPort: String? {
        guard var authority = authority else { return nil }
        authority.userinfo = nil
        return authority.description
    }

    var authority: Authority? {
        guard let host = self.host else { return nil }
        return Authority(userinfo: self.userinfo, host: host, port: self.port)
    }

    struct Authority: Sendable, Hashable, CustomStringConvertible {
        var userinfo: String?
        var host: String
        var port: UInt16?

        var description: String {
            var text: [UInt8] = []
            write(to: &text)
            return String(decoding: text, as: UTF8.self)
        }

        func write(to text: inout [UInt8]) {
            if let userinfo { text.append(userinfo + "@") }
            text.append(host.bracketedHost)
            if let port {
                text.append(ASCII.colon)
                text.append(String(port))
            }
        }
    }
}

extension String {
    /// The form of a host before a port: an IPv6 address in brackets.
    package var bracketedHost: String { holds(ASCII.colon) ? "[\(self)]" : self }
}
