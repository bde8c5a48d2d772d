// SPDX-License-Identifier: MIT
public import SmallWebCore

/// A proxy server: its protocol, its address, and our credentials.
public struct Proxy: Sendable, Hashable, CustomStringConvertible {
    /// Protocols, by curl's names.
    @nonexhaustive
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// SOCKS 4. Names are resolved by us; IPv4 alone.
        case socks4
        /// SOCKS 4a. The proxy resolves names.
        case socks4a
        /// SOCKS 5. Names are resolved by us.
        case socks5
        /// SOCKS 5. The proxy resolves names.
        case socks5h
        /// CONNECT (RFC 9110 §9.3.6), and absolute URLs for plain HTTP.
        case http
        /// The same over TLS.
        case https
    }

    /// A user name and a password.
    public struct Credentials: Sendable, Hashable {
        /// Must not be empty for a proxy that requires a user.
        public var user: String
        /// May be empty.
        public var password: String

        /// Credentials for a proxy that requires them.
        public init(user: String, password: String) {
            self.user = user
            self.password = password
        }
    }

    /// Isolation: a SOCKS user name per host, so that hosts do not share the proxy's state per
    /// user.
    @nonexhaustive
    public enum Isolation: Sendable, Hashable {
        /// One user name for all hosts, if any.
        case none
        /// Used if the proxy supports it; else there is a note.
        case preferred
        /// Connections without it fail.
        case required
    }

    /// Protocol.
    public let kind: Kind
    /// A name, or an IP literal without brackets.
    public let host: String
    /// By default 1080, as in curl; 443 for `https`.
    public let port: UInt16
    /// From the URL; `nil` when there are none.
    public var credentials: Credentials?
    /// Isolation of hosts by SOCKS user name: Tor keeps their circuits apart.
    public var isolation = Isolation.none

    /// A proxy without credentials.
    public init(_ kind: Kind, host: String, port: UInt16) {
        self.kind = kind
        self.host = host
        self.port = port
    }

    /// Parses `KIND://[USER[:PASSWORD]@]HOST[:PORT]`, or `HOST:PORT` of an HTTP proxy. `tor://` is
    /// `socks5h://127.0.0.1:9050` with isolation.
    ///
    /// - Throws: `usage`; the message quotes nothing that may be a password.
    public init(parsing text: String) throws(FetchError) {
        let isTor = text.lowercased().hasPrefix("tor://")
        // By bytes: a combining mark after a slash is not part of the separator.
        let behind = text.utf8.drop { $0 != ASCII.colon }.dropFirst()
        var text = behind.starts(with: "//".utf8) ? text : "http://" + text
        if isTor {
            let place = text.dropFirst("tor://".count)
            text = "socks5h://" + (place.isEmpty ? "127.0.0.1" : place)
        }
        // An error of the parser may quote a part of it that holds a password.
        guard URI.scheme(of: text) != nil else {
            throw .usage("the proxy's URL: no scheme before ://")
        }
        let uri: URI
        do throws(FetchError) {
            uri = try URI(parsing: text)
        } catch {
            throw .usage("the proxy's URL: \(error.message)")
        }
        guard let kind = Kind(rawValue: uri.scheme) else {
            let names = Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw .usage("no proxy speaks \"\(uri.scheme)\": use \(names) or tor")
        }
        guard let host = uri.host, !host.isEmpty, ["", "/"].contains(uri.path), uri.query == nil
        else { throw .usage("a proxy's URL is \(kind.rawValue)://HOST:PORT, without a path") }
        self.init(kind, host: host, port: uri.port ?? (isTor ? 9050 : kind == .https ? 443 : 1080))
        isolation = isTor ? .required : .none
        guard let userinfo = uri.userinfo, !userinfo.isEmpty else { return }
        let parts = userinfo.split(
            separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let decoded = parts.map { String(decoding: PercentEncoding.decode($0), as: UTF8.self) }
        credentials = Credentials(user: decoded[0], password: decoded.count > 1 ? decoded[1] : "")
    }

    /// The URL without user and password.
    public var description: String { "\(kind.rawValue)://\(endpoint)" }

    var endpoint: Endpoint {
        Endpoint(host: host, port: port, security: kind == .https ? .tls : .none)
    }

    var isSOCKS: Bool { kind != .http && kind != .https }

    /// True if names are resolved by us.
    package var looksUpHere: Bool { kind == .socks4 || kind == .socks5 }
}

/// The way of a connection to its target.
package enum Route: Sendable, Hashable {
    case direct
    case proxy(Proxy)
    /// Standard input and output of a command, run by `sh -c`.
    case command(String)

    /// Shown in records and messages, without credentials; `nil` for none.
    package var name: String? {
        switch self {
        case .direct: nil
        case .proxy(let proxy): proxy.description
        // The command may hold a secret.
        case .command: "command"
        }
    }

    package var isDirect: Bool { self == .direct }
}

extension FetchError {
    static func usage(_ message: String) -> FetchError { FetchError(.usage, .proxy, message) }

    static func proxy(_ message: String, hint: String? = nil) -> FetchError {
        FetchError(.proxy, .proxy, message, hint: hint)
    }
}

extension Proxy.Credentials: TerminalText.Line {
    /// The user alone.
    public var description: String { "\(user):***" }
}

extension Proxy.Credentials {
    /// Value of an HTTP field (RFC 7617).
    var basic: String { "Basic " + Base64.encode(Array("\(user):\(password)".utf8)) }

    /// Replaces the password by `***`, alone or after the user, in all forms that ``SecretMask``
    /// knows.
    ///
    /// - Parameter masksUser: True to mask the user alone as well.
    func masked(_ text: [UInt8], masksUser: Bool = false) -> [UInt8] {
        var secrets = [Array(password.utf8)]
        if !password.isEmpty { secrets.append(Array("\(user):\(password)".utf8)) }
        if masksUser { secrets.append(Array(user.utf8)) }
        return SecretMask(secrets).masked(text)
    }

    func masked(_ text: String) -> String {
        String(decoding: masked(Array(text.utf8), masksUser: true), as: UTF8.self)
    }

    /// Masks a line of a reply's header, but keeps the field's name, or the version and status.
    func masked(headerLine line: [UInt8]) -> [UInt8] {
        let isStatus = line.starts(with: "HTTP/".utf8)
        let parts = line.split(
            separator: isStatus ? ASCII.space : ASCII.colon, maxSplits: isStatus ? 2 : 1,
            omittingEmptySubsequences: false)
        guard parts.count > 1, let text = parts.last else { return masked(line) }
        if isStatus && parts.count < 3 { return line }
        return line[..<text.startIndex] + masked(Array(text), masksUser: isStatus)
    }
}

/// A network that only its own proxy can reach. Its names must not reach a name server (RFC 7686
/// for .onion).
package enum HiddenNetwork: String, Sendable {
    case tor = "onion"
    case i2p

    /// `nil` for a host of the Internet.
    package init?(host: String) {
        let name = host.hasSuffix(".") ? host.dropLast() : host[...]
        guard let dot = name.lastIndex(of: ".") else { return nil }
        self.init(rawValue: name[dot...].dropFirst().lowercased())
    }

    func error(_ host: String) -> FetchError {
        FetchError(
            .connect, .resolve,
            "\(host) is not looked up: only a proxy into its network can reach it",
            remedy: .useProxy(self == .tor ? "tor://" : "http://127.0.0.1:4444"))
    }
}
