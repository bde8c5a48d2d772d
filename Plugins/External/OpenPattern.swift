// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// What a program may open: `tcp`, `tls` or `udp`, a host and a port, such as `tcp://{host}:*`.
/// `{host}` is the host of the URL, `*` any host or port, `*.example.org` every name below that.
package struct OpenPattern: Sendable, Hashable {
    /// What a program opens.
    struct Target: Sendable, Hashable {
        let kind: ProgramConnection
        let endpoint: Endpoint
    }

    private enum Host: Sendable, Hashable {
        case own, any
        case named(String)
        case below(String)
    }

    /// As it was written.
    package let text: String
    private let scheme: String
    private let host: Host
    /// `nil` for every port.
    private let port: UInt16?

    /// `nil` for another text.
    init?(_ text: String) {
        guard let (scheme, host, port) = Self.parts(text) else { return nil }
        switch host {
        case "{host}": self.host = .own
        case "*": self.host = .any
        default:
            let isBelow = host.hasPrefix("*.")
            let name = isBelow ? String(host.dropFirst(2)) : host
            guard Self.isHost(name) else { return nil }
            self.host = isBelow ? .below(name) : .named(name)
        }
        if port == "*" {
            self.port = nil
        } else {
            guard let number = Self.port(port) else { return nil }
            self.port = number
        }
        (self.text, self.scheme) = (text, scheme)
    }

    /// What `url` names: `tcp`, `tls` or `udp`, a host and a port, and nothing else.
    static func target(_ url: String) -> Target? {
        guard let (scheme, host, text) = parts(url), let number = port(text), isHost(host) else {
            return nil
        }
        return Target(
            kind: scheme == "udp" ? .udp : .tcp,
            endpoint: Endpoint(
                host: host, port: number, security: scheme == "tls" ? .tls : .none))
    }

    /// - Parameter own: The host of the URL; `nil` where it has none.
    func matches(_ target: Target, own: String?) -> Bool {
        let isTLS = target.endpoint.security == .tls
        guard scheme == (target.kind == .udp ? "udp" : isTLS ? "tls" : "tcp"),
            port.map({ $0 == target.endpoint.port }) ?? true
        else { return false }
        let name = target.endpoint.host
        return switch host {
        case .own: own == name
        case .any: true
        case .named(let host): host == name
        case .below(let host): name.hasSuffix("." + host)
        }
    }

    /// Scheme, host in lower case and without brackets, port.
    private static func parts(_ text: String) -> (String, String, String)? {
        guard text.utf8.count <= 512,
            let scheme = ["tcp", "tls", "udp"].first(where: { text.hasPrefix($0 + ":") })
        else { return nil }
        let rest = text.dropFirst(scheme.count)
        guard rest.hasPrefix("://"), let colon = rest.lastIndex(of: ":"),
            colon > rest.index(rest.startIndex, offsetBy: 2)
        else { return nil }
        let written = rest[..<colon].dropFirst(3)
        var host = written.lowercased()
        guard written == "{host}" || !host.contains("{") else { return nil }
        if host.hasPrefix("[") && host.hasSuffix("]") {
            host = String(host.dropFirst().dropLast())
            guard host.contains(":") else { return nil }
        } else if host.contains(":") {
            return nil
        }
        return (scheme, host, String(rest[colon...].dropFirst()))
    }

    /// A name of letters, digits, dots and hyphens, or an address.
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
    /// What `url` names, which the program opens.
    ///
    /// - Parameter own: The host of the URL that is fetched.
    /// - Throws: `plugin` for what is not allowed.
    func target(_ url: String, of own: String?) throws(FetchError) -> OpenPattern.Target {
        guard let target = OpenPattern.target(url) else {
            throw .plugin("the program opens \"\(url)\", which is not tcp, tls or udp with a port")
        }
        guard opens.contains(where: { $0.matches(target, own: own?.lowercased()) }) else {
            throw .plugin(
                "the program opens \(url), which its manifest does not allow in \"opens\"")
        }
        return target
    }
}
