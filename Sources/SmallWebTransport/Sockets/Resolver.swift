// SPDX-License-Identifier: MIT
package import SmallWebCore

/// Resolves host names to addresses.
///
/// All copies of a value share a cache: a name is looked up at most once a minute, also one without
/// an address. The system does not report how long its answers are valid.
public struct Resolver: Sendable {
    /// Fixed answers, IP literals: by `host:port`, as with curl's `--resolve`, or by `host` for
    /// every other port. Names are in lower case.
    public var overrides: [String: [String]]
    /// Address families to try.
    public var family: Resolver.Family
    /// Cache, shared by all copies of this value.
    package var names = HostNames()
    /// True to ask public addresses alone, also for the first URL; else the outcome is
    /// `refused-address`. A proxy may be anywhere, but is asked for no other by its literal.
    public var isPublicOnly = false { didSet { refusesPrivate = isPublicOnly } }
    /// True if private and loopback addresses are refused; only then ``isPublicOnly`` counts.
    package var refusesPrivate = false

    /// Uses the system's resolver, except for `overrides`.
    public init(overrides: [String: [String]] = [:], family: Resolver.Family = .any) {
        self.overrides = overrides
        self.family = family
    }

    /// The addresses of an endpoint in the order in which to try them.
    ///
    /// - Throws: `resolve`, `timeout`, `interrupted`; `connect` for names that must not reach a
    ///   name server; `connect` or `refused-address` for addresses that are refused.
    func addresses(
        of endpoint: Endpoint, on loop: EventLoop, by deadline: Instant
    ) async throws(FetchError) -> [SocketAddress] {
        let found = try await allAddresses(of: endpoint, on: loop, by: deadline)
        guard refusesPrivate else { return found }
        let usable = found.filter { !refuses($0) }
        guard usable.isEmpty else { return usable }
        throw refusal(of: endpoint.host, at: found.first?.host)
    }

    func refuses(_ address: SocketAddress) -> Bool {
        refusesPrivate && (isPublicOnly ? !address.isPublic : address.isPrivate)
    }

    /// The error for an address that is refused.
    ///
    /// - Parameter address: Without it, the host is a literal.
    func refusal(of host: String, at address: String? = nil) -> FetchError {
        guard isPublicOnly else { return .privateAddress(host) }
        let place = address.flatMap { $0 == host ? nil : "\(host) is at \($0), which" } ?? host
        return FetchError(
            .refusedAddress, .connect, "\(place) is not a public address",
            remedy: .allowAnyAddress)
    }

    /// Judges a host that something else looks up: a literal in any spelling, or this machine.
    ///
    /// - Throws: `refused-address`.
    package func check(unresolved host: String) throws(FetchError) {
        guard isPublicOnly, refusesPrivate else { return }
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        let address = SocketAddress(numeric: name)
        guard Self.isLocalhost(name) || address.map(refuses) ?? false else { return }
        throw refusal(of: host, at: address?.host)
    }

    func override(of endpoint: Endpoint) -> [String]? {
        overrides.isEmpty ? nil : overrides[endpoint.description] ?? overrides[endpoint.host]
    }

    /// Addresses that no name server is asked for; empty for the name of a host.
    ///
    /// - Throws: `resolve` if none is of the family asked for.
    func fixedAddresses(of endpoint: Endpoint) throws(FetchError) -> [SocketAddress] {
        let literals =
            override(of: endpoint)
            ?? (Self.isLocalhost(endpoint.host) ? ["127.0.0.1", "::1"] : [endpoint.host])
        let fixed = literals.compactMap { SocketAddress(literal: $0, port: endpoint.port) }
        let usable = fixed.filter { self.family == .any || $0.family == self.family.number }
        guard fixed.isEmpty || !usable.isEmpty else {
            throw FetchError(
                .resolve, .resolve,
                "\(endpoint.host) is not an address of the family asked for",
                remedy: .useAnyFamily)
        }
        return usable
    }

    private func allAddresses(
        of endpoint: Endpoint, on loop: EventLoop, by deadline: Instant
    ) async throws(FetchError) -> [SocketAddress] {
        let fixed = try fixedAddresses(of: endpoint)
        guard fixed.isEmpty else { return fixed }
        if let hidden = HiddenNetwork(host: endpoint.host) { throw hidden.error(endpoint.host) }
        let found = try await names.addresses(
            of: endpoint.host, family, on: loop, by: deadline)
        return Self.interleaved(found).map { $0.with(port: endpoint.port) }
    }

    /// True if one of the endpoint's addresses is private or loopback.
    ///
    /// - Throws: `resolve`, `timeout`, `interrupted`.
    package func isPrivate(
        _ endpoint: Endpoint, on loop: EventLoop, by deadline: Instant
    ) async throws(FetchError) -> Bool {
        try await addresses(of: endpoint, on: loop, by: deadline).contains { $0.isPrivate }
    }

    /// A copy for a server that a reply or a program has chosen: it leads to no private address.
    /// Where a proxy looks names up, only a literal is known here.
    ///
    /// - Throws: `connect` or `refused-address` for such an address.
    package func refusingPrivate(_ endpoint: Endpoint) throws(FetchError) -> Resolver {
        guard !Self.isPrivate(literal: endpoint.host) else { throw refusal(of: endpoint.host) }
        var resolver = self
        resolver.refusesPrivate = true
        return resolver
    }

    /// True if an IP literal is private or loopback; false for names.
    package static func isPrivate(literal host: String) -> Bool {
        SocketAddress(literal: host, port: 0)?.isPrivate ?? false
    }

    /// True for names that mean this machine everywhere, so that no name server is asked (RFC 6761
    /// §6.3).
    private static func isLocalhost(_ host: String) -> Bool {
        let name = (host.hasSuffix(".") ? host.dropLast() : host[...]).lowercased()
        return name == "localhost" || name.hasSuffix(".localhost")
    }

    /// ``addresses(of:on:by:)`` as text, IPv6 without brackets.
    ///
    /// - Throws: `resolve`, `timeout`, `interrupted`.
    package func numericHosts(
        of endpoint: Endpoint, on loop: EventLoop, by deadline: Instant
    ) async throws(FetchError) -> [String] {
        try await addresses(of: endpoint, on: loop, by: deadline).map(\.host)
    }

    /// Alternates between families, beginning with the resolver's first choice (RFC 8305 §4).
    static func interleaved(_ addresses: [SocketAddress]) -> [SocketAddress] {
        guard let first = addresses.first?.family else { return [] }
        var preferred = addresses.filter { $0.family == first }[...]
        var others = addresses.filter { $0.family != first }[...]
        var order: [SocketAddress] = []
        while !preferred.isEmpty || !others.isEmpty {
            if let next = preferred.popFirst() { order.append(next) }
            if let next = others.popFirst() { order.append(next) }
        }
        return order
    }
}

extension FetchError {
    /// The error for a private address that a program or a reply asks for.
    package static func privateAddress(_ host: String) -> FetchError {
        FetchError(
            .connect, .connect,
            "\(host) is at a private address, to which a program or a reply leads from a URL of"
                + " such a host alone", remedy: .fetchAlone)
    }
}
