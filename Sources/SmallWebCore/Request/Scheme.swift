// SPDX-License-Identifier: MIT

/// A URL scheme, as data: everything that the rest of smallweb needs to know about a protocol. No
/// other code compares the names of schemes.
public struct Scheme: Sendable, Hashable {
    /// The transport of the protocol's bytes.
    @nonexhaustive
    public enum Transport: String, Sendable, Hashable {
        /// A stream without encryption.
        case tcp
        /// A stream over TLS.
        case tls
        /// Datagrams, to and from one server.
        case udp
        /// No transport: no server is needed.
        case none
        /// The plugin's library opens its own connections.
        case own
    }

    /// The default rule for judging a server's key.
    @nonexhaustive
    public enum Trust: String, Sendable, Hashable {
        /// No key, so nothing to trust.
        case none
        /// Trust on first use: the key is pinned per host and port.
        case tofu
        /// Certificate authorities.
        case ca
    }

    /// The meaning of the part of a URL after the authority.
    @nonexhaustive
    public enum PathForm: String, Sendable, Hashable {
        /// A hierarchy: `.` and `..` segments are resolved.
        case hierarchical
        /// Bytes for the server, never normalised.
        case opaque
    }

    /// The form of the host in URLs.
    @nonexhaustive
    public enum HostForm: String, Sendable, Hashable {
        /// Every URL has one.
        case required
        /// A URL may have none; the path of `x:///a` is then `///a`.
        case optional
        /// None, or a name that only the plugin understands: it stays as it was written.
        case verbatim
    }

    /// Data that a request may carry beside its URL.
    @nonexhaustive
    public enum Input: Sendable, Hashable {
        /// One line that answers a prompt, without a line end.
        case line
        /// A body, byte for byte.
        case body
    }

    /// The properties of uploads.
    public struct Uploads: Sendable, Hashable {
        /// True if the scheme supports nothing but uploads.
        public var isOnlyUse: Bool
        /// The default media type, for files whose names do not imply one.
        public var mediaType: String
        /// Schemes that the reply to an upload may redirect to.
        public var replySchemes: Set<String>
        /// True if an empty upload deletes the resource.
        public var deletesWhenEmpty: Bool

        /// All properties of uploads.
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
    /// The transport of its bytes.
    public let transport: Transport
    /// One sentence without a full stop, with the specification's name; the protocol's comes first.
    public let summary: String

    /// The default rule for judging a server's key.
    public var trust = Trust.none
    /// The meaning of the part of a URL after the authority.
    public var pathForm = PathForm.hierarchical
    /// The form of the host in its URLs.
    public var hostForm = HostForm.required
    /// The meaning of `--data`; `nil` when it has none.
    public var input: Input?
    /// The properties of uploads; `nil` when there are none.
    public var uploads: Uploads?
    /// The scheme of the same protocol over TLS; redirects to it are always allowed.
    public var secureForm: String?
    /// The scheme whose client certificates are shown to its servers: its own name, or the name of
    /// a scheme with the same servers. `nil` when none are shown.
    public var identityScheme: String?
    /// True if a proxy can carry all its plugin's traffic: one connection, to the URL's own host.
    public var canUseProxy = true
    /// True if the rest of a body can be requested.
    public var canResume = false
    /// True if its URLs name repositories, whose references can be listed.
    public var hasReferences = false
    /// The web scheme of the same place: `https` for a repository that is reached over HTTPS.
    package var webScheme: String?
    /// The usual end of a repository's name in a URL before a path in it, with two slashes at the
    /// end. A URL of ``webScheme`` that has it was meant for this scheme, and one of this scheme
    /// with a single slash was meant to have two.
    package var pathMark: String?
    /// The scheme in which an upload's URL has the page; `nil` for this one, unless it supports
    /// nothing but uploads.
    package var pageScheme: String?
    /// The end of the path of an upload's URL that asks for the text to be edited; `nil` if the
    /// protocol has none.
    package var editMark: String?
    /// True if a line of its gemtext that begins with `=:` is a link that asks for input.
    package var hasPromptLines = false
    /// True if its plugin emits the lines of gopher menus as items; for other schemes, they are
    /// parsed from the body.
    package var readsMenus = false
    /// The facts for following its links; `nil` if they are not followed.
    package var crawling: Crawling?
    /// True if its plugin computes for more than 50 ms between two events, and checks ``LongWork``.
    package var computesForLong = false
    /// True if the user before the host is part of the address, and not a login.
    public var isUserPartOfAddress = false
    /// True if a desktop may open its links with smallweb.
    package var opensOnDesktop = false
    /// True if it is assumed for hosts without a scheme in stores of keys and identities.
    package var isDefaultForHosts = false
    /// The subtype of `application/` for its messages in archives; `nil` for its name.
    package var messageSubtype: String?
    /// The names of `Facts` that its replies can have.
    package var factNames: [String] = []

    /// A scheme whose other properties have their defaults, unless `facts` sets them.
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

    /// True if `text`, a URL of this scheme, has no host that smallweb interprets.
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

    /// True if `.` and `..` in its URLs are kept.
    package var keepsDotSegments: Bool { pathForm == .opaque || hostForm == .verbatim }

    /// True if its connections are encrypted.
    public var isSecure: Bool { transport == .tls || trust != .none }

    /// Ports of other services, which would take the lines of a request for commands: all that
    /// browsers refuse (WHATWG Fetch §2.9), one of file servers and some of databases.
    private static let foreignPorts: Set<UInt16> = [
        0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
        102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389,
        427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636,
        989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665,
        6666, 6667, 6668, 6669, 6679, 6697, 10_080,
        445, 3306, 5432, 6379, 9200, 11_211, 27_017,
    ]

    /// True if a plain request would go to another service's port. No server may choose it for us,
    /// by a link, a redirect or an address in its reply; a user may.
    package func isForeign(_ port: UInt16?) -> Bool {
        guard let port, port != defaultPort, !isSecure else { return false }
        return Self.foreignPorts.contains(port)
    }

    /// True if the plugin's library opens the connections, by its own options.
    public var dialsForItself: Bool {
        switch transport {
        case .own: true
        case .tcp, .tls, .udp, .none: false
        }
    }
}
