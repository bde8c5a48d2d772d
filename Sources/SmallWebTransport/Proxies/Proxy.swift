// SPDX-License-Identifier: MIT
public import SmallWebCore

/// A proxy server: what it speaks, where it is, and who we are to it.
public struct Proxy: Sendable, Hashable, CustomStringConvertible {
    /// What it speaks, by curl's names.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Names are looked up here; IPv4 alone.
        case socks4
        /// The proxy looks names up.
        case socks4a
        /// Names are looked up here.
        case socks5
        /// The proxy looks names up.
        case socks5h
        /// CONNECT (RFC 9110 §9.3.6), and absolute URLs for what is plain HTTP.
        case http
        /// The same over TLS.
        case https
    }

    /// A user name and a password.
    public struct Credentials: Sendable, Hashable {
        /// Not empty for a proxy that asks for one.
        public var user: String
        /// May be empty.
        public var password: String

        /// What a proxy may ask for.
        public init(user: String, password: String) {
            self.user = user
            self.password = password
        }
    }

    /// How much it matters that no host shares what the proxy keeps per user.
    public enum Isolation: Sendable, Hashable {
        case none
        /// Asked for where the proxy offers it; a note says where it does not.
        case preferred
        /// No connection without it.
        case required
    }

    /// What it speaks.
    public let kind: Kind
    /// A name, or an IP literal without brackets.
    public let host: String
    /// 1080 when the URL names none, as in curl; 443 for `https`.
    public let port: UInt16
    /// From the URL; `nil` when there are none.
    public var credentials: Credentials?
    /// Whether each host gets a SOCKS user name of its own: Tor keeps their circuits apart.
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
    /// - Throws: `usage`, without quoting what may be a password.
    public init(parsing text: String) throws(FetchError) {
        let isTor = text.lowercased().hasPrefix("tor://")
        // By bytes: a mark that combines with a slash is not a part of it.
        let behind = text.utf8.drop { $0 != ASCII.colon }.dropFirst()
        var text = behind.starts(with: "//".utf8) ? text : "http://" + text
        if isTor {
            let place = text.dropFirst("tor://".count)
            text = "socks5h://" + (place.isEmpty ? "127.0.0.1" : place)
        }
        // The error may quote a part of it, and that may hold a password.
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

    /// Its URL without user and password.
    public var description: String { "\(kind.rawValue)://\(endpoint)" }

    var endpoint: Endpoint {
        Endpoint(host: host, port: port, security: kind == .https ? .tls : .none)
    }

    var isSOCKS: Bool { kind != .http && kind != .https }

    /// Whether names are looked up here.
    package var looksUpHere: Bool { kind == .socks4 || kind == .socks5 }
}

/// How a connection gets to where it goes.
package enum Route: Sendable, Hashable {
    /// To the host itself.
    case direct
    case proxy(Proxy)
    /// Standard input and output of a command, run by `sh -c`.
    case command(String)

    /// For records and people, without credentials; `nil` for none.
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

    /// The proxy's fault, or its refusal.
    static func proxy(_ message: String, hint: String? = nil) -> FetchError {
        FetchError(.proxy, .proxy, message, hint: hint)
    }
}
