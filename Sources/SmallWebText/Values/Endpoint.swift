// SPDX-License-Identifier: MIT

/// A place to connect to, not yet resolved.
public struct Endpoint: Sendable, Hashable, CustomStringConvertible {
    /// The encryption of a connection.
    @nonexhaustive
    public enum Security: Sendable, Hashable {
        /// No encryption.
        case none
        /// TLS, from the beginning.
        case tls
    }

    /// An ASCII name, or an IP literal without brackets.
    public let host: String
    /// The port to connect to.
    public let port: UInt16
    /// The encryption of the connection.
    public let security: Security

    /// An endpoint from its parts.
    public init(host: String, port: UInt16, security: Security) {
        self.host = host
        self.port = port
        self.security = security
    }

    /// True for the same host and port, with or without TLS.
    package func isSameServer(as other: Endpoint) -> Bool {
        host == other.host && port == other.port
    }

    /// `host:port`, IPv6 in brackets: the key of trust and of connection rules.
    public var description: String {
        "\(host.bracketedHost):\(port)"
    }
}
