// SPDX-License-Identifier: MIT
public import SmallWebCore
public import SmallWebTransport

/// The client certificates to show, by URL.
public struct Identities: Sendable {
    /// The URLs that an identity may be shown to: a host and port, and a path with everything below
    /// it.
    package struct Scope: Sendable, Hashable, CustomStringConvertible {
        let server: Server
        /// Without slashes at its end; empty for the whole host.
        package let path: String

        /// - Throws: `bad-url` for a URL whose scheme has no client certificates.
        package init(_ url: String, in registry: Registry) throws(FetchError) {
            let uri = try URI(parsing: url).withASCIIHost().removingDotSegments()
            guard let server = Server(uri, registry) else {
                throw .badURL(
                    "no identity can be shown to \(url): its scheme has none",
                    hint: Identities.hint(registry))
            }
            self.server = server
            path = Self.trimmed(uri.path)
        }

        package var description: String {
            "\(server.scheme)://\(server.endpoint)\(path.isEmpty ? "/" : path)"
        }

        /// By path segment: `/alice` is not the beginning of `/alice-bob`.
        package func contains(_ uri: URI, in registry: Registry) -> Bool {
            guard Server(uri, registry) == server, !Self.mayLeadElsewhere(uri.path) else {
                return false
            }
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

    struct Server: Sendable, Hashable {
        /// Name of the scheme; schemes with the same servers share one.
        let scheme: String
        let endpoint: Endpoint

        /// `nil` for a scheme without client certificates.
        init?(_ uri: URI, _ registry: Registry) {
            guard let own = registry[uri.scheme]?.scheme, let name = own.identityScheme,
                let host = uri.host
            else { return nil }
            scheme = name
            endpoint = Endpoint(host: host, port: uri.port ?? own.defaultPort, security: .tls)
        }
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
        guard let server = Server(uri, registry) else { return nil }
        if let chosen, server == Server(origin, registry) { return chosen }
        return try bound?(uri)
    }
}
