// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Connects to a target over a route: the returned carrier is the target's connection.
struct RouteConnector {
    let loop: EventLoop
    let resolver: Resolver
    let route: Route
    let deadline: Instant
    /// Called before each attempt to connect, with the address.
    var onAttempt: (_ address: String) async throws(FetchError) -> Void = { _ in }

    struct Connected {
        let carrier: any Carrier
        /// The target's numeric address; `nil` when the proxy resolves the name.
        var address: String?
        var notes: [Note] = []
    }

    /// - Parameters:
    ///   - isForwarded: True if an HTTP proxy gets the request itself, instead of a tunnel.
    ///   - moments: Gets the times of the finished steps.
    ///   - meanwhile: Work to do while the first attempt is under way.
    /// - Throws: `resolve`, `connect`, `refused-address`, `timeout`, `interrupted`, `send`; with a
    ///   proxy `proxy-resolve`, `proxy`, and `untrusted` for its certificate.
    func connect(
        to endpoint: Endpoint, isForwarded: Bool = false, _ moments: inout Connection.Moments,
        meanwhile: () throws(FetchError) -> Void = {}
    ) async throws(FetchError) -> Connected {
        switch route {
        case .direct:
            let addresses = try await resolver.addresses(of: endpoint, on: loop, by: deadline)
            moments.resolved = .now
            let socket = try await connect(
                to: addresses, at: endpoint, named: endpoint.description, meanwhile: meanwhile)
            moments.connected = .now
            return Connected(carrier: socket, address: socket.address.host)
        case .command(let command):
            try resolver.check(unresolved: endpoint.host)
            try await onAttempt("the proxy command")
            let carrier = try CommandCarrier(command, to: endpoint, on: loop)
            try meanwhile()
            moments.connected = .now
            moments.proxied = .now
            return Connected(carrier: carrier)
        case .proxy(let proxy):
            return try await connect(
                to: endpoint, isForwarded: isForwarded, through: proxy, &moments,
                meanwhile: meanwhile)
        }
    }

    private func connect(
        to addresses: [SocketAddress], at place: Endpoint, named name: String,
        meanwhile: () throws(FetchError) -> Void
    ) async throws(FetchError) -> TCPSocket {
        let onAttempt = onAttempt
        var connector = TCPConnector(loop: loop, deadline: deadline) {
            address async throws(FetchError) in
            try await onAttempt("\(address.host.bracketedHost):\(place.port)")
        }
        return try await connector.connect(to: addresses, named: name, meanwhile: meanwhile)
    }

    private func connect(
        to endpoint: Endpoint, isForwarded: Bool, through proxy: Proxy,
        _ moments: inout Connection.Moments, meanwhile: () throws(FetchError) -> Void
    ) async throws(FetchError) -> Connected {
        try resolver.check(unresolved: endpoint.host)
        let isForwarded = isForwarded && !proxy.isSOCKS
        let targets = isForwarded ? [] : try await targets(endpoint, of: proxy)
        // Separate from the target's look-up: an unknown proxy has its own outcome. The user has
        // chosen the proxy, so it may be at a private address.
        let addresses: [SocketAddress]
        var ofProxy = resolver
        ofProxy.refusesPrivate = false
        do throws(FetchError) {
            addresses = try await ofProxy.addresses(of: proxy.endpoint, on: loop, by: deadline)
        } catch  where error.outcome == .resolve {
            throw FetchError(
                .proxyResolve, .resolve, "the proxy \(proxy): \(error.message)",
                hint: "check the spelling of the proxy's name")
        }
        moments.resolved = .now
        var rest = targets[...]
        while true {
            let target = rest.popFirst()
            let socket = try await connect(
                to: addresses, at: proxy.endpoint, named: "the proxy \(proxy)",
                meanwhile: meanwhile)
            moments.connected = .now
            do throws(FetchError) {
                let carrier = try await secured(socket, proxy)
                var connected = Connected(carrier: carrier, address: target?.literal)
                if let target {
                    connected.notes = try await shakeHands(
                        carrier, with: proxy, target, for: endpoint.host)
                }
                moments.proxied = .now
                return connected
            } catch {
                let error = error.ofHandshake(with: proxy)
                // The proxy may be able to reach another address of the same host.
                guard error.outcome == .proxy, error.remedy == nil, !rest.isEmpty else {
                    throw error
                }
            }
        }
    }

    /// Targets to ask the proxy for, in the order in which to try them.
    private func targets(
        _ endpoint: Endpoint, of proxy: Proxy
    ) async throws(FetchError) -> [ProxyTarget] {
        let isFixed =
            SocketAddress(literal: endpoint.host, port: 0) != nil
            || resolver.override(of: endpoint) != nil
        // The name of a hidden service must not reach a name server.
        let looksUp = proxy.looksUpHere && HiddenNetwork(host: endpoint.host) == nil
        guard isFixed || looksUp else { return [.name(endpoint.host, port: endpoint.port)] }
        let addresses = try await resolver.addresses(of: endpoint, on: loop, by: deadline)
        let takesV6 = proxy.kind != .socks4 && proxy.kind != .socks4a
        let usable = addresses.filter { takesV6 || $0.isV4 }
        guard !usable.isEmpty else {
            throw .proxy("\(endpoint.host) has IPv6 addresses alone, which SOCKS 4 does not know")
        }
        return usable.map { .address($0.addressBytes, port: endpoint.port) }
    }

    /// TLS to the proxy itself, for an HTTPS proxy: its certificate is verified by authorities and
    /// name, independently of the target's trust rule.
    private func secured(
        _ socket: TCPSocket, _ proxy: Proxy
    ) async throws(FetchError) -> any Carrier {
        guard proxy.kind == .https else { return socket }
        let isLiteral = SocketAddress(literal: proxy.host, port: 0) != nil
        let session = try TLSSession(
            over: socket, serverName: isLiteral ? nil : proxy.host, isOfProxy: true)
        while let readiness = try session.handshake() {
            try await socket.wait(for: readiness, by: deadline)
        }
        let facts = try session.facts(host: proxy.host, asksAuthorities: true)
        if let problem = facts.problems(at: UTCDate.now).first {
            throw FetchError(
                .untrusted, .proxy,
                "the certificate of the proxy \(proxy) is not trusted: \(facts.describe(problem))",
                remedy: .nameProxyAuthority)
        }
        return session
    }

    private func shakeHands(
        _ carrier: any Carrier, with proxy: Proxy, _ target: ProxyTarget, for host: String
    ) async throws(FetchError) -> [Note] {
        // By name, even if the proxy gets an address, as hosts may share an address.
        let isolated = Proxy.Credentials(user: host, password: "isolated")
        let isIsolated = proxy.isolation != .none && proxy.credentials == nil
        let credentials = isIsolated ? isolated : proxy.credentials
        switch proxy.kind {
        case .socks5, .socks5h:
            var conversation = try SOCKS5Conversation(
                to: target, credentials: credentials,
                insistsOnCredentials: proxy.isolation == .required)
            try await hold(&conversation, carrier)
            guard isIsolated && !conversation.hasShownCredentials else { return [] }
            return [
                Note(
                    "not-isolated",
                    "the proxy takes no user names, so that this host may share its circuits")
            ]
        case .socks4, .socks4a:
            var conversation = try SOCKS4Conversation(to: target, user: credentials?.user ?? "")
            try await hold(&conversation, carrier)
        case .http, .https:
            var conversation = ConnectConversation(
                to: "\(target.host.bracketedHost):\(target.port)", credentials: credentials)
            try await hold(&conversation, carrier)
        }
        return []
    }

    private func hold(
        _ conversation: inout some ProxyConversation, _ carrier: any Carrier
    ) async throws(FetchError) {
        var received: [UInt8] = []
        var isReplying = false
        while true {
            switch try conversation.next(received) {
            case .done: return
            case .send(let bytes):
                try await carrier.writeAll(bytes, by: deadline)
                (received, isReplying) = ([], false)
            case .receive(let count):
                received = try await carrier.read(upTo: count, by: deadline)
                isReplying = isReplying || !received.isEmpty
                guard received.count == count else {
                    throw .proxy(
                        "the proxy closed the connection "
                            + (isReplying ? "in the middle of its reply" : "before it had replied"))
                }
            }
        }
    }
}

extension ProxyTarget {
    /// A name, or a numeric address without brackets.
    var host: String {
        switch self {
        case .name(let name, _): name
        case .address(let bytes, _): SocketAddress.text(bytes)
        }
    }

    fileprivate var literal: String? {
        if case .address = self { host } else { nil }
    }
}

extension FetchError {
    /// Blames the proxy for all errors from its TCP connection to the end of the handshake, except
    /// for timeouts and an untrusted certificate.
    fileprivate func ofHandshake(with proxy: Proxy) -> FetchError {
        switch outcome {
        case .timeout:
            return FetchError(
                .timeout, .proxy, "the proxy \(proxy) was silent for too long",
                remedy: .raise(.connectTime))
        case .interrupted, .untrusted, .notBuiltIn: return self
        default:
            var error = FetchError(
                .proxy, .proxy, "\(proxy): \(message)", errnoName: errnoName, remedy: remedy)
            error.hint = remedy == nil ? hint : nil
            return error
        }
    }
}

extension Carrier {
    /// - Throws: `send`, `timeout`, `interrupted`.
    func writeAll(_ bytes: [UInt8], by deadline: Instant) async throws(FetchError) {
        var sent = 0
        while sent < bytes.count {
            switch try bytes.span.extracting(sent...).bytes.withUnsafeBytes(send) {
            case .bytes(let count): sent += count
            case .wouldBlock(let readiness): try await wait(for: readiness, by: deadline)
            }
        }
    }

    /// Receives exactly `count` bytes; fewer if the stream ends before.
    ///
    /// - Throws: `receive`, `timeout`, `interrupted`.
    func read(upTo count: Int, by deadline: Instant) async throws(FetchError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            var room = bytes.mutableSpan
            let read = try room.withUnsafeMutableBytes { buffer throws(FetchError) in
                try receive(into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]))
            }
            switch read {
            case .bytes(let count): filled += count
            case .wouldBlock(let readiness): try await wait(for: readiness, by: deadline)
            case .ended: return Array(bytes[..<filled])
            }
        }
        return bytes
    }
}
