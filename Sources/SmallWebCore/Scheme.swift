// SPDX-License-Identifier: MIT

/// What a URL scheme is, as data: the registry, `smallweb schemes` and the docs are made of it.
public struct Scheme: Sendable, Hashable {
    /// What carries the protocol's bytes.
    public enum Transport: String, Sendable, Hashable {
        case tcp, tls
        /// The plugin's library opens its own connections.
        case own
    }

    /// How a server's key is judged unless the user says otherwise.
    public enum Trust: String, Sendable, Hashable {
        /// No key, so nothing to trust.
        case none
        /// Trust on first use: the key is pinned per host and port.
        case tofu
        /// Certificate authorities.
        case ca
    }

    /// What the part of a URL after the authority means.
    public enum PathForm: String, Sendable, Hashable {
        /// A hierarchy: `.` and `..` segments are resolved.
        case hierarchical
        /// Bytes for the server, never normalised (gopher selectors, git paths).
        case opaque
    }

    /// Lower case, without `:`.
    public let name: String
    public let defaultPort: UInt16
    public let transport: Transport
    public let trust: Trust
    public let pathForm: PathForm
    /// Whether `--data` has a meaning: a query, search words.
    public let takesInput: Bool
    /// The scheme of the same protocol over TLS, to which a redirect may always lead.
    public let secureForm: String?
    /// One sentence without a full stop, with the specification's name.
    public let summary: String

    public init(
        _ name: String, port: UInt16, transport: Transport, trust: Trust = .none,
        path: PathForm = .hierarchical, takesInput: Bool = false, secureForm: String? = nil,
        summary: String
    ) {
        self.name = name
        self.defaultPort = port
        self.transport = transport
        self.trust = trust
        self.pathForm = path
        self.takesInput = takesInput
        self.secureForm = secureForm
        self.summary = summary
    }
}
