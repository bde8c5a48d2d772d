// SPDX-License-Identifier: MIT
package import SmallWebCore
internal import SmallWebPlugins
internal import SmallWebTransport

/// Where an exchange may lead: a URL of the internet, and what a server or a program makes of it,
/// to no private address. Carried out by ``Resolver/refusesPrivate``, also in libcurl's sockets.
/// And who may read a file of this machine: ``Fetcher/reachingFiles(of:)``.
package struct Reach {
    /// True while all servers that led here were at private addresses.
    var isPrivateSoFar = true
    /// True if the URL that was asked for led to a private address; `nil` before that is known, or
    /// where redirects may lead to one anyway.
    private var beganPrivate: Bool?

    /// Notes the first connection of a fetch, for `--no-private`. If the user has named a socket or
    /// host, no other is reached, and it counts as private.
    mutating func begin(_ origin: URI, _ connection: Connection?, _ options: Fetcher.Options) {
        guard options.redirects.refusesPrivate, beganPrivate == nil else { return }
        let address = connection.flatMap { $0.proxy == nil ? $0.address : nil }
        beganPrivate =
            options.http.isSpecial || Resolver.isPrivate(literal: address ?? origin.host ?? "")
    }

    /// Notes the server that a redirect leaves.
    mutating func leave(_ server: Connection?) {
        isPrivateSoFar = isPrivateSoFar && server?.isPrivate ?? true
    }

    /// The fetcher of the next exchange.
    func applied(to fetcher: Fetcher) -> Fetcher {
        beganPrivate == false ? fetcher.refusingPrivate() : fetcher
    }

    /// True if a redirect may not lead to `next`.
    ///
    /// - Parameter isDirect: False behind a proxy, which looks names up: only a literal address is
    ///   known here.
    func refuses(
        _ next: Request, isDirect: Bool, _ fetcher: Fetcher, by deadline: Instant
    ) async -> Bool {
        guard beganPrivate == false, let host = next.uri.host else { return false }
        if Resolver.isPrivate(literal: host) { return true }
        guard isDirect, let endpoint = try? next.endpoint else { return false }
        do throws(FetchError) {
            return try await fetcher.options.resolver.isPrivate(
                endpoint, on: fetcher.loop, by: deadline)
        } catch {
            // The connection finds out as well why a name has no address, and says more.
            return error.outcome == .refusedAddress
        }
    }
}

extension Fetcher {
    /// A copy that reaches no private address.
    package func refusingPrivate() -> Fetcher { changed { $0.resolver.refusesPrivate = true } }

    /// The fetcher for what a reply names: from the internet it leads to no private address.
    func onward(from connection: Connection?) -> Fetcher {
        // A proxy's own address says nothing of the page's.
        let isPrivate = connection.map { connection in
            connection.proxy == nil
                ? connection.isPrivate : Resolver.isPrivate(literal: connection.endpoint.host)
        }
        return isPrivate ?? false ? self : refusingPrivate()
    }

    /// The fetcher for a URL that a person has named for this request: if it is one of a file of
    /// this machine, the only fetcher that reads those. Whatever else leads to a URL (a list, a
    /// redirect, a link, a feed, a robots file, a program, a setting) has a fetcher whose registry
    /// does not know their scheme.
    package func reachingFiles(of url: String) -> Fetcher {
        guard let name = Reach.schemeOfFile(url) else { return self }
        var registry = registry
        // It is the handler of the scheme, or one that the user has named.
        for handler in Registry.files.handlers { _ = try? registry.register(handler, isOurs: true) }
        var options = options
        options.allowedSchemes?.insert(name)
        // Neither is a file recorded, nor does a recording answer.
        options.network = .live
        return Fetcher(registry: registry, options: options, loop: loop)
    }
}

extension Reach {
    /// The scheme of a URL of a file of this machine; `nil` for any other text.
    fileprivate static func schemeOfFile(_ url: String) -> String? {
        URI.scheme(of: url).flatMap { Registry.files[$0] == nil ? nil : $0 }
    }

    /// True for the URL of a file of this machine.
    package static func isFile(_ url: String) -> Bool { schemeOfFile(url) != nil }

    /// The refusal of a file of this machine, for every request that may not reach one.
    static let noFile = FetchError(
        .unsupportedScheme, .input, "files of this machine are read only where a person names them",
        remedy: .nameFile)
}

extension Connection {
    /// True if the peer is at a private address.
    fileprivate var isPrivate: Bool { Resolver.isPrivate(literal: address ?? endpoint.host) }
}

extension Request {
    /// True if its host is this machine or an address of a private network, by its name alone.
    package var isPrivate: Bool {
        let host = self.uri.host ?? ""
        return Resolver.isPrivate(literal: host) || host == "localhost"
            || host.hasSuffix(".localhost")
    }
}

extension Hop {
    /// The resolver for a server that a reply names. A reply from the internet leads to no private
    /// address.
    ///
    /// - Throws: `connect` where `endpoint` is at a private address, and must not be.
    func resolver(for endpoint: Endpoint) throws(FetchError) -> Resolver {
        let resolver = fetcher.options.resolver
        if let own = connection?.endpoint, !own.isSameServer(as: endpoint),
            endpoint.security == .none, scheme.isForeign(endpoint.port)
        {
            throw FetchError(.connect, .connect, "\(endpoint) is another service's port")
        }
        // No other server is reached if the user has named a socket or host.
        guard let connection, !(connection.isPrivate && reach.isPrivateSoFar),
            !fetcher.options.http.isSpecial
        else { return resolver }
        return try resolver.refusingPrivate(endpoint)
    }

    /// True if the recorded reply of a peer may be seen. Without an address it counts as ours.
    package func mayRecall(from peer: String?) -> Bool {
        (try? fetcher.options.resolver.check(unresolved: peer ?? "localhost")) != nil
    }

    /// The resolver for the server of a program's URL. A redirect is sent by a server, or the
    /// program: from the internet it leads to no private address.
    func resolver(ofProgramFor endpoint: Endpoint) async throws(FetchError) -> Resolver {
        let resolver = fetcher.options.resolver
        return try await beganPrivate() ? resolver : resolver.refusingPrivate(endpoint)
    }

    /// True if a program's URL itself leads to this machine or a private network, so that what the
    /// program opens may, too.
    ///
    /// - Parameter first: The connection to the URL's server, once it is made.
    func isPrivate(
        _ program: ProgramRequest, _ first: Connection?
    ) async throws(FetchError) -> Bool {
        if let address = first?.address { return Resolver.isPrivate(literal: address) }
        guard let host = program.host, try await beganPrivate() else { return false }
        let unserved = Endpoint(host: host, port: scheme.defaultPort, security: .none)
        return try await isPrivate(program.endpoint ?? unserved)
    }

    /// True if the first URL leads to a private address, or no redirect has led here.
    private func beganPrivate() async throws(FetchError) -> Bool {
        guard let origin else { return true }
        let endpoint = registry[origin.scheme]?.scheme.endpoint(of: origin)
        guard let endpoint else { return false }
        return try await isPrivate(endpoint)
    }

    private func isPrivate(_ endpoint: Endpoint) async throws(FetchError) -> Bool {
        guard try way(to: endpoint).route == .direct else {
            return Resolver.isPrivate(literal: endpoint.host)
        }
        return try await fetcher.options.resolver.isPrivate(
            endpoint, on: loop, by: connectDeadline)
    }
}
