// SPDX-License-Identifier: MIT
public import SmallWebCore
public import SmallWebTransport

/// Which client certificate goes to which URL.
public struct Identities: Sendable {
    /// Where an identity may be shown: a host and port, and a path with everything below it. Gemini
    /// and Titan are the same place.
    public struct Scope: Sendable, Hashable, CustomStringConvertible {
        public let place: String
        /// Without the slash at its end; empty for the whole host.
        public let path: String

        /// - Throws: `bad-url` for what is no URL of Gemini or Titan.
        public init(_ url: String) throws(FetchError) {
            let uri = try InternationalHostName.toASCII(URI(parsing: url)).removingDotSegments()
            guard let place = Self.place(uri) else {
                throw FetchError(
                    .badURL, .input, "identities are for gemini:// and titan://, not for \(url)")
            }
            self.place = place
            path = Self.trimmed(uri.path)
        }

        public var description: String { "gemini://\(place)\(path.isEmpty ? "/" : path)" }

        /// By path segment: `/alice` is not the beginning of `/alice-bob`.
        public func contains(_ uri: URI) -> Bool {
            guard Self.place(uri) == place else { return false }
            let other = Self.trimmed(uri.removingDotSegments().path)
            return path.isEmpty || other == path || other.hasPrefix(path + "/")
        }

        static func place(_ uri: URI) -> String? {
            guard uri.scheme == "gemini" || uri.scheme == "titan", let host = uri.host else {
                return nil
            }
            return Endpoint(host: host, port: uri.port ?? 1965, security: .tls).description
        }

        private static func trimmed(_ path: String) -> String {
            path.hasSuffix("/") ? String(path.dropLast()) : path
        }
    }

    /// The user's choice for this run, shown to the host and port of the URL that was asked for.
    public var chosen: ClientIdentity?
    /// The identity bound to a URI, loaded when it is needed.
    public var bound: (@Sendable (URI) throws(FetchError) -> ClientIdentity?)?

    public init() {}

    /// - Parameter origin: The URI that the user asked for, before redirects.
    func identity(for uri: URI, origin: URI) throws(FetchError) -> ClientIdentity? {
        guard let place = Scope.place(uri) else { return nil }
        if let chosen, place == Scope.place(origin) { return chosen }
        return try bound?(uri)
    }
}
