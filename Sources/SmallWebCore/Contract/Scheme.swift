// SPDX-License-Identifier: MIT

/// What a URL scheme is, as data. Everything that the rest of smallweb needs to know about a
/// protocol is here: no other code compares the names of schemes.
public struct Scheme: Sendable, Hashable {
    /// What carries the protocol's bytes.
    public enum Transport: String, Sendable, Hashable {
        case tcp, tls
        /// Datagrams, to and from one server.
        case udp
        /// Nothing: no server is needed.
        case none
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
        /// Bytes for the server, never normalised.
        case opaque
    }

    /// Whether URLs name a server.
    public enum HostForm: String, Sendable, Hashable {
        case required
        /// A URL may have none.
        case optional
        /// None, or a name that only the plugin understands: it stays as it was written.
        case verbatim
    }

    /// What a request may carry beside its URL.
    public enum Input: Sendable, Hashable {
        /// One line that answers a prompt, without a line end.
        case line
        /// A body, byte for byte.
        case body
    }

    /// What an upload means.
    public struct Uploads: Sendable, Hashable {
        /// Whether the scheme can do nothing else.
        public var isOnlyUse: Bool
        /// The media type of a file whose name does not say it.
        public var mediaType: String
        /// Schemes to which the reply to an upload may redirect.
        public var replySchemes: Set<String>
        /// Whether an upload of nothing deletes what is there.
        public var deletesWhenEmpty: Bool

        /// What an upload means, in full.
        public init(
            isOnlyUse: Bool, mediaType: String, replySchemes: Set<String>,
            deletesWhenEmpty: Bool = false
        ) {
            self.isOnlyUse = isOnlyUse
            self.mediaType = mediaType
            self.replySchemes = replySchemes
            self.deletesWhenEmpty = deletesWhenEmpty
        }
    }

    /// Lower case, without `:`.
    public let name: String
    /// The stable name of the plugin, for records.
    public let plugin: String
    /// The port of a URL that names none.
    public let defaultPort: UInt16
    /// What carries its bytes.
    public let transport: Transport
    /// One sentence without a full stop, with the specification's name; the protocol's comes first.
    public let summary: String

    /// How a server's key is judged unless the user says otherwise.
    public var trust = Trust.none
    /// What the part of a URL after the authority means.
    public var pathForm = PathForm.hierarchical
    /// Whether URLs name a server.
    public var hostForm = HostForm.required
    /// What `--data` means; `nil` when it has no meaning.
    public var input: Input?
    /// `nil` when nothing can be uploaded.
    public var uploads: Uploads?
    /// The scheme of the same protocol over TLS, to which a redirect may always lead.
    public var secureForm: String?
    /// The scheme whose client certificates are shown to its servers: its own name, or that of a
    /// scheme with the same servers. `nil` when none are shown.
    public var identityScheme: String?
    /// Whether a proxy can carry all that its plugin says: one connection, to the URL's own host.
    public var canUseProxy = true
    /// Whether it can be asked for the rest of a body.
    public var canResume = false
    /// Whether its URLs name repositories, whose references can be listed.
    public var hasReferences = false
    /// The scheme under which people know the same place: an `https` URL for a repository that is
    /// reached over HTTPS.
    public var webScheme: String?
    /// What stands before a path in a repository that has the usual name, with two slashes at the
    /// end. A URL of ``webScheme`` with it was meant for this scheme, and one of this scheme with a
    /// single slash was meant to have two.
    public var pathMark: String?
    /// Whether a line of its gemtext that begins with `=:` is a link that asks for input.
    public var hasPromptLines = false
    /// Whether its plugin gives the lines of gopher menus as items; those of other schemes are read
    /// from the body.
    public var readsMenus = false
    /// Whether its plugin computes for more than 50 ms between two events, and looks at ``LongWork``.
    package var computesForLong = false
    /// Whether the user before the host is part of the address, and no login.
    public var isUserPartOfAddress = false
    /// Whether a desktop may open its links with smallweb.
    public var opensOnDesktop = false
    /// Whether a host without a scheme means it where keys and identities are kept.
    public var isDefaultForHosts = false
    /// In archives, the subtype of `application/` that its messages have; `nil` for its name.
    public var messageSubtype: String?
    /// The names of ``Facts`` that its replies can have.
    public var factNames: [String] = []

    /// - Parameter facts: Sets what is not the default.
    public init(
        _ name: String, plugin: String, port: UInt16, transport: Transport, summary: String,
        _ facts: (inout Scheme) -> Void = { _ in }
    ) {
        self.name = name
        self.plugin = plugin
        self.defaultPort = port
        self.transport = transport
        self.summary = summary
        facts(&self)
    }

    /// Whether `text`, a URL of this scheme, has no host for smallweb to understand.
    package func isVerbatim(_ text: String) -> Bool {
        switch hostForm {
        case .required: return false
        case .verbatim: return true
        case .optional:
            guard let colon = text.firstIndex(of: ":") else { return false }
            let rest = text[colon...].dropFirst()
            guard rest.hasPrefix("//") else { return true }
            // An empty host counts as missing.
            return rest.dropFirst(2).first.map { "/?#".contains($0) } ?? true
        }
    }

    /// Whether `.` and `..` in its URLs stay.
    package var keepsDotSegments: Bool { pathForm == .opaque || hostForm == .verbatim }

    /// Whether its connections are encrypted.
    public var isSecure: Bool { transport == .tls || trust != .none }

    /// Whether the plugin's library opens the connections, by options of its own.
    public var dialsForItself: Bool {
        switch transport {
        case .own: true
        case .tcp, .tls, .udp, .none: false
        }
    }
}
