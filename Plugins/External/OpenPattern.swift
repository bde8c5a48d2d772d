// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// A pattern for URLs that a program may open: `tcp`, `tls` or `udp`, a host and a port, such as
/// `tcp://{host}:*`; or URLs of another scheme, such as `https://doi.org/*`. `{host}` is the host
/// of the URL that is fetched, `*` any host or port, `*.example.org` every name below this one, and
/// `*` at the end of a path every continuation.
package struct OpenPattern: Sendable {
    struct Target: Sendable {
        let kind: ProgramConnection
        let endpoint: Endpoint
    }

    private enum Host: Sendable {
        case own, any
        case named(String)
        case below(String)

        init?(_ text: String) {
            switch text {
            case "{host}": self = .own
            case "*": self = .any
            default:
                let isBelow = text.hasPrefix("*.")
                let name = isBelow ? String(text.dropFirst(2)) : text
                guard OpenPattern.isHost(name) else { return nil }
                self = isBelow ? .below(name) : .named(name)
            }
        }

        func matches(_ name: String, own: String?) -> Bool {
            switch self {
            case .own: own == name
            case .any: true
            case .named(let host): host == name
            case .below(let host): name.hasSuffix("." + host)
            }
        }
    }

    private enum Port: Sendable, Equatable {
        case any
        /// The default port of the scheme.
        case usual
        case number(UInt16)
    }

    private static let connections: Set<String> = ["tcp", "tls", "udp"]
    private static let lengthMax = 512

    /// The pattern as written.
    package let text: String
    private let scheme: String
    private let host: Host
    private let port: Port
    /// Path and query; `nil` for a connection.
    private let path: (beginning: String, isWhole: Bool)?

    /// `nil` if the text is not a pattern.
    init?(_ text: String) {
        guard text.utf8.count <= Self.lengthMax, let parts = Self.parts(text),
            let host = Host(parts.host)
        else { return nil }
        switch parts.port {
        case nil: port = .usual
        case "*": port = .any
        case let text?:
            guard let number = Self.port(text) else { return nil }
            port = .number(number)
        }
        if Self.connections.contains(parts.scheme) {
            guard port != .usual, parts.path.isEmpty else { return nil }
            path = nil
        } else {
            let isWhole = parts.path.last != "*"
            let beginning = isWhole ? parts.path : parts.path.dropLast()
            guard beginning.first == "/",
                beginning.utf8.allSatisfy({ 0x21...0x7E ~= $0 && !"*#".utf8.contains($0) })
            else { return nil }
            path = (String(beginning), isWhole)
        }
        (self.text, self.scheme, self.host) = (text, parts.scheme, host)
    }

    /// True if a URL stands for a connection, and not for a resource to fetch.
    static func isConnection(_ url: String) -> Bool {
        connections.contains(URI.scheme(of: url) ?? "")
    }

    /// The connection that `url` stands for: `tcp`, `tls` or `udp`, a host and a port, nothing
    /// else.
    static func target(_ url: String) -> Target? {
        guard url.utf8.count <= lengthMax, let parts = parts(url),
            connections.contains(parts.scheme), parts.path.isEmpty, isHost(parts.host),
            let number = parts.port.flatMap(port)
        else { return nil }
        return Target(
            kind: parts.scheme == "udp" ? .udp : .tcp,
            endpoint: Endpoint(
                host: parts.host, port: number, security: parts.scheme == "tls" ? .tls : .none))
    }

    /// - Parameter own: The host of the fetched URL; `nil` if it has none.
    func matches(_ target: Target, own: String?) -> Bool {
        let isTLS = target.endpoint.security == .tls
        guard scheme == (target.kind == .udp ? "udp" : isTLS ? "tls" : "tcp") else { return false }
        return (port == .any || port == .number(target.endpoint.port))
            && host.matches(target.endpoint.host, own: own)
    }

    /// - Parameters:
    ///   - uri: Normalised.
    ///   - port: The URI's port, or the default of its scheme.
    ///   - isUsualPort: True if the port is the default of its scheme.
    ///   - own: The host of the fetched URL; `nil` if it has none.
    func matches(_ uri: URI, port: UInt16, isUsualPort: Bool, own: String?) -> Bool {
        guard let path, uri.scheme == scheme, uri.userinfo == nil, let name = uri.host,
            self.port == .any || self.port == (isUsualPort ? .usual : .number(port))
                || self.port == .number(port),
            host.matches(name, own: own)
        else { return false }
        // A server may decode the path, so encoded dots count as well.
        let segments = PercentEncoding.decode(uri.path).split { "/\\".utf8.contains($0) }
        guard !segments.contains(where: { $0.elementsEqual("..".utf8) }) else { return false }
        let asked = (uri.path.isEmpty ? "/" : uri.path) + (uri.query.map { "?" + $0 } ?? "")
        return path.isWhole ? asked == path.beginning : asked.hasPrefix(path.beginning)
    }

    private struct Parts {
        let scheme: String
        /// In lower case, without brackets.
        let host: String
        let port: String?
        /// With the query; may be empty.
        let path: Substring
    }

    private static func parts(_ text: String) -> Parts? {
        guard let mark = text.firstIndex(of: ":"), text[mark...].hasPrefix("://") else {
            return nil
        }
        let scheme = String(text[..<mark])
        guard let first = scheme.utf8.first, ASCII.isLetter(first), scheme == scheme.lowercased(),
            scheme.utf8.allSatisfy({
                ASCII.isLetter($0) || ASCII.isDigit($0) || "+-.".utf8.contains($0)
            })
        else { return nil }
        let rest = text[mark...].dropFirst(3)
        let place = rest.prefix { $0 != "/" }
        let bracket = place.lastIndex(of: "]") ?? place.startIndex
        let colon = place[bracket...].firstIndex(of: ":")
        let written = place[..<(colon ?? place.endIndex)]
        var host = written.lowercased()
        guard written == "{host}" || !host.contains("{") else { return nil }
        if host.hasPrefix("[") && host.hasSuffix("]") {
            host = String(host.dropFirst().dropLast())
            guard host.contains(":") else { return nil }
        } else if host.contains(":") {
            return nil
        }
        return Parts(
            scheme: scheme, host: host, port: colon.map { String(place[$0...].dropFirst()) },
            path: rest[place.endIndex...])
    }

    /// True for a name of letters, digits, dots and hyphens, or an address.
    private static func isHost(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= 255
            && name.utf8.allSatisfy {
                ASCII.isLetter($0) || ASCII.isDigit($0) || ".-_:".utf8.contains($0)
            }
    }

    private static func port(_ text: String) -> UInt16? {
        guard text.first != "0", text.utf8.allSatisfy(ASCII.isDigit), let number = UInt16(text)
        else { return nil }
        return number
    }
}

extension Manifest {
    /// The connection that `url` stands for; `nil` for a URL to fetch, which is checked after
    /// normalisation.
    ///
    /// - Parameter own: The host of the fetched URL.
    /// - Throws: `plugin` for a malformed or forbidden connection.
    func target(_ url: String, of own: String?) throws(FetchError) -> OpenPattern.Target? {
        guard OpenPattern.isConnection(url) else { return nil }
        guard let target = OpenPattern.target(url) else {
            throw .plugin("the program opens \"\(url)\", which is not a host with a port")
        }
        guard opens.contains(where: { $0.matches(target, own: own) }) else {
            throw .plugin(
                "the program opens \(url), which its manifest does not allow in \"opens\"")
        }
        return target
    }
}
