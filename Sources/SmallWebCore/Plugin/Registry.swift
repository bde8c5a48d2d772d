// SPDX-License-Identifier: MIT

/// The handlers of the schemes. A value: built once when a program is assembled.
public struct Registry: Sendable {
    /// A handler and the facts of one of its schemes.
    public final class Entry: Sendable {
        /// The facts of the scheme.
        public let scheme: Scheme
        /// The plugin.
        public let handler: any ProtocolHandler

        /// ``Scheme/keepsDotSegments``, without a copy of the scheme.
        package let keepsDotSegments: Bool
        /// True for a handler of this package, which leaves the loop of its fetch nowhere.
        package let isOurs: Bool

        init(_ scheme: Scheme, _ handler: any ProtocolHandler, isOurs: Bool) {
            self.isOurs = isOurs
            self.scheme = scheme
            keepsDotSegments = scheme.keepsDotSegments
            self.handler = handler
        }
    }

    private var entries: [String: Entry] = [:]
    private var fallback: (@Sendable (String) throws(FetchError) -> (any ProtocolHandler)?)?
    /// In the order in which they were registered.
    public private(set) var handlers: [any ProtocolHandler] = []

    /// Without any handler.
    public init() {}

    /// Adds a handler for all its schemes, or, replacing others, also for those that have one.
    ///
    /// - Throws: `usage` when a scheme is taken and `replacing` is false; then nothing is added.
    public mutating func register(
        _ handler: any ProtocolHandler, replacing: Bool = false
    ) throws(FetchError) {
        try register(handler, replacing: replacing, isOurs: false)
    }

    /// - Parameter isOurs: See ``Entry/isOurs``.
    package mutating func register(
        _ handler: any ProtocolHandler, replacing: Bool = false, isOurs: Bool
    ) throws(FetchError) {
        for scheme in handler.schemes where !replacing && entries[scheme.name] != nil {
            throw FetchError(
                .usage, .plugin, "the scheme \(scheme.name) already has a handler")
        }
        handlers.append(handler)
        for scheme in handler.schemes {
            entries[scheme.name] = Entry(scheme, handler, isOurs: isOurs)
        }
    }

    /// The entry of a scheme in lower case, or `nil`.
    public subscript(scheme: String) -> Entry? {
        if let entry = entries[scheme] { return entry }
        return try? found(scheme)
    }

    private func found(_ name: String) throws(FetchError) -> Entry? {
        guard let handler = try fallback?(name),
            let scheme = handler.schemes.first(where: { $0.name == name })
        else { return nil }
        return Entry(scheme, handler, isOurs: true)
    }

    /// Looks up schemes that are not registered. Called each time, so it must cache costly lookups.
    package mutating func setFallback(
        _ find:
            @escaping @Sendable (_ scheme: String) throws(FetchError) ->
            (any ProtocolHandler)?
    ) { fallback = find }

    /// The error of the fallback for a scheme that is not registered; `nil` if it throws none.
    package func problem(of scheme: String) -> FetchError? {
        guard entries[scheme] == nil else { return nil }
        do throws(FetchError) {
            _ = try found(scheme)
            return nil
        } catch {
            return error
        }
    }

    /// The scheme assumed for hosts without one in stores of keys and identities; `nil` when no
    /// plugin claims that.
    package var schemeOfHosts: Scheme? { schemes.first { $0.isDefaultForHosts } }

    /// All schemes, by name.
    public var schemes: [Scheme] {
        entries.values.map(\.scheme).sorted { $0.name < $1.name }
    }
}

extension URI {
    /// The target of `reference` as seen from this URI, by the rules of its scheme.
    ///
    /// - Throws: `bad-url` when the reference cannot be parsed.
    package func resolving(
        _ reference: String, in registry: Registry
    ) throws(FetchError) -> URI {
        let whole = reference.hasPrefix("//") ? "\(self.scheme):\(reference)" : reference
        if let name = URI.scheme(of: whole), registry[name]?.scheme.isVerbatim(whole) ?? false {
            return try URI(verbatim: whole)
        }
        return try resolving(reference) { registry[$0]?.scheme.pathForm == .opaque }
    }
}
