// SPDX-License-Identifier: MIT
public import SmallWebCore
public import SmallWebTransport

/// The client certificates to show, by URL.
public struct Identities: Sendable {
    /// The URLs that an identity may be shown to: a host and port, and a path with everything below
    /// it.
    package struct Scope: Sendable, Hashable, CustomStringConvertible {
        let server: String
        /// Without slashes at its end; empty for the whole host.
        package let path: String

        /// - Throws: `bad-url` for a URL whose scheme has no client certificates.
        package init(_ url: String, in registry: Registry) throws(FetchError) {
            let uri = try URI(parsing: url).withASCIIHost().removingDotSegments()
            guard let server = Identities.server(of: uri, registry) else {
                throw .badURL(
                    "no identity can be shown to \(url): its scheme has none",
                    hint: Identities.hint(registry))
            }
            self.server = server
            path = Self.trimmed(uri.path)
        }

        package var description: String {
            server + (path.isEmpty ? "/" : path)
        }

        /// By path segment: `/alice` is not the beginning of `/alice-bob`.
        package func contains(_ uri: URI, in registry: Registry) -> Bool {
            guard Identities.server(of: uri, registry) == server,
                !Self.mayLeadElsewhere(uri.path)
            else { return false }
            let other = Self.trimmed(uri.removingDotSegments().path)
            return path.isEmpty || other == path || other.hasPrefix(path + "/")
        }

        /// True if a server that decodes a path before it resolves its dots ends up elsewhere: a
        /// neighbour on the same host could have others call by such a link.
        private static func mayLeadElsewhere(_ path: String) -> Bool {
            guard path.utf8.contains(UInt8(ascii: "%")) else { return false }
            let decoded = PercentEncoding.decode(path)
            let segments = decoded.split { $0 == ASCII.slash || $0 == UInt8(ascii: "\\") }
            return segments.contains { $0.elementsEqual("..".utf8) }
        }

        private static func trimmed(_ path: String) -> String {
            var path = path[...]
            while path.last == "/" { path.removeLast() }
            return String(path)
        }
    }

    /// The server that a client certificate is for, as `scheme://host:port`: schemes with the same
    /// servers share the scheme of one; `nil` for a scheme without client certificates.
    private static func server(of uri: URI, _ registry: Registry) -> String? {
        guard let own = registry[uri.scheme]?.scheme, let name = own.identityScheme else {
            return nil
        }
        return own.endpoint(of: uri).map { "\(name)://\($0)" }
    }

    /// The user's choice for this run, shown to the host and port of the URL that was asked for.
    public var chosen: ClientIdentity?
    /// The identity bound to a URI, loaded when it is needed.
    public var bound: (@Sendable (URI) throws(FetchError) -> ClientIdentity?)?

    /// No identities.
    public init() {}

    package static func hint(_ registry: Registry) -> String {
        let names = registry.schemes.filter { $0.identityScheme != nil }.map(\.name)
        return "identities are for \(names.joined(separator: ", "))"
    }

    /// - Parameter origin: The URI that the user asked for, before redirects.
    func identity(
        for uri: URI, origin: URI, in registry: Registry
    ) throws(FetchError) -> ClientIdentity? {
        guard let server = Self.server(of: uri, registry) else { return nil }
        if let chosen, server == Self.server(of: origin, registry) { return chosen }
        return try bound?(uri)
    }
}
