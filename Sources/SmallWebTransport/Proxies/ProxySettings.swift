// SPDX-License-Identifier: MIT
internal import Glibc
public import SmallWebCore

/// Proxy policy for the URLs of all schemes, by curl's rules.
public struct ProxySettings: Sendable {
    /// Source of the decision.
    @nonexhaustive
    public enum Source: Sendable {
        /// `SCHEME_proxy` and `ALL_PROXY`, with the exemptions of `NO_PROXY`; lower case first.
        case environment
        /// No proxy, whatever the environment says.
        case none
        /// This proxy, whatever the environment says.
        case proxy(Proxy)
        /// A command whose standard input and output are the connection: `%h` and `%p` stand for
        /// host and port, `%%` for `%`.
        case command(String)
    }

    /// Source of the decision.
    public var source = Source.environment
    /// Hosts that are reached directly, separated by commas. `nil` for the list in `NO_PROXY`,
    /// which counts only for proxies of the environment.
    public var exemptions: String?
    /// Credentials for a proxy whose URL has none.
    public var credentials: Proxy.Credentials?
    /// True to require a SOCKS user name per host, false for none. `nil` follows the proxy's URL,
    /// and prefers a user name of their own for `.onion` hosts.
    public var isolates: Bool?
    /// Variables of the environment, at least all whose names end in `_proxy` in either case.
    package var environment = Self.variables()

    /// Follows the environment, read now.
    public init() {}

    private static func variables() -> [String: String] {
        var variables: [String: String] = [:]
        var next = environ
        while let entry = next.pointee {
            next += 1
            let suffix = "_proxy"
            guard let equals = strchr(entry, Int32(UInt8(ascii: "="))),
                equals - entry > suffix.utf8.count,
                strncasecmp(equals - suffix.utf8.count, suffix, suffix.utf8.count) == 0
            else { continue }
            let name = UnsafeRawBufferPointer(start: entry, count: equals - entry)
            variables[String(decoding: name, as: UTF8.self)] = String(cString: equals + 1)
        }
        return variables
    }

    /// The setting that decided the route.
    package enum Reason: Sendable, Hashable {
        /// ``ProxySettings/source``.
        case settings
        /// Name of an environment variable.
        case variable(String)
        /// An entry of ``ProxySettings/exemptions``, or of a variable.
        case exemption(variable: String?, entry: String)
    }

    /// True if there may be processes to end.
    package var runsCommand: Bool {
        if case .command = source { true } else { false }
    }

    /// A route and its reason; `nil` without any setting.
    package struct Choice: Sendable, Hashable {
        package let route: Route
        package let reason: Reason?

        package init(route: Route, reason: Reason?) {
            self.route = route
            self.reason = reason
        }
    }

    /// The route to `endpoint` for a URL of `scheme`.
    ///
    /// - Throws: `usage` for a contradictory proxy setting, or a proxy that this scheme cannot use:
    ///   a setting is never ignored. `proxy` if the proxy cannot isolate hosts.
    package func choice(
        for scheme: Scheme, to endpoint: Endpoint
    ) throws(FetchError) -> Choice {
        var choice = try choice(scheme.name, endpoint.host)
        if case .proxy(var proxy) = choice.route {
            proxy.credentials = proxy.credentials ?? credentials
            if let isolates { proxy.isolation = isolates ? .required : .none }
            if proxy.isolation == .required && proxy.credentials != nil {
                throw .usage("isolation needs the SOCKS user name, which the proxy's user takes")
            }
            if proxy.isolation == .required && !proxy.isSOCKS {
                throw .proxy("isolation is asked for, and \(proxy) has no way to keep hosts apart")
            }
            // An onion service is often a person's own host.
            if isolates == nil, proxy.kind == .socks5h, proxy.credentials == nil,
                proxy.isolation == .none,
                HiddenNetwork(host: endpoint.host) == .tor
            {
                proxy.isolation = .preferred
            }
            choice = Choice(route: .proxy(proxy), reason: choice.reason)
        } else if isolates == true {
            throw .usage("isolation is asked for, but the way to \(endpoint) has no SOCKS proxy")
        }
        guard choice.route.isDirect || scheme.canUseProxy else {
            var because = "there is"
            if case .variable(let name) = choice.reason { because = "\(name) names" }
            throw .usage("\(scheme.name) cannot go through a proxy, and \(because) one")
        }
        return choice
    }

    private func choice(_ scheme: String, _ host: String) throws(FetchError) -> Choice {
        let (route, reason): (Route, Reason)
        switch source {
        case .none: return Choice(route: .direct, reason: nil)
        case .proxy(let proxy): (route, reason) = (.proxy(proxy), .settings)
        case .command(let command): (route, reason) = (.command(command), .settings)
        case .environment:
            guard let (name, value) = ofEnvironment(scheme) else {
                return Choice(route: .direct, reason: nil)
            }
            do throws(FetchError) {
                (route, reason) = (.proxy(try Proxy(parsing: value)), .variable(name))
            } catch {
                throw .usage("\(name): \(error.message)")
            }
        }
        if let exemption = exemption(for: host) {
            return Choice(route: .direct, reason: exemption)
        }
        return Choice(route: route, reason: reason)
    }

    /// The variable that names a proxy for `scheme`, and its value.
    private func ofEnvironment(_ scheme: String) -> (name: String, value: String)? {
        guard !environment.isEmpty else { return nil }
        // The first part names the protocol; the last is the scheme on the network.
        let carrier = scheme.split(separator: "+").last.map(String.init) ?? scheme
        var names = ["\(carrier)_proxy"]
        // A CGI server sets HTTP_PROXY from the client's Proxy field: it is not trusted.
        if carrier != "http" { names.append("\(carrier.uppercased())_PROXY") }
        return first(of: names + ["all_proxy", "ALL_PROXY"])
    }

    private func exemption(for host: String) -> Reason? {
        var list = exemptions.map { (name: String?.none, value: $0) }
        if list == nil, case .environment = source {
            list = first(of: ["no_proxy", "NO_PROXY"]).map { ($0.name, $0.value) }
        }
        guard let list, let entry = NoProxyList(list.value).entry(for: host) else { return nil }
        return .exemption(variable: list.name, entry: entry)
    }

    /// The first variable that is set; empty counts as unset.
    private func first(of names: [String]) -> (name: String, value: String)? {
        names.lazy.map { ($0, environment[$0] ?? "") }.first { !$0.1.isEmpty }
    }
}

/// Hosts that are reached without a proxy, by curl's rules: names, which include their subdomains,
/// with or without a leading dot; addresses; networks as `10.0.0.0/8`; `*` for every host.
struct NoProxyList: Sendable, Hashable {
    private let entries: [Substring]

    init(_ text: String) {
        entries = text.split { $0 == "," || $0.isWhitespace }
    }

    /// The entry that matches `host`, a name or an IP literal without brackets; `nil` for none.
    func entry(for host: String) -> String? {
        let address = Self.bytes(of: host)
        let name = Self.plain(host[...])
        return entries.first { entry in
            if entry == "*" { return true }
            if let address { return Self.network(entry, holds: address) }
            let suffix = Self.plain(entry)
            return !suffix.isEmpty && (name == suffix || name.hasSuffix("." + suffix))
        }.map(String.init)
    }

    /// Lower case, without leading dots and a dot at the end.
    private static func plain(_ name: Substring) -> String {
        var name = name.drop { $0 == "." }
        if name.hasSuffix(".") { name.removeLast() }
        return name.lowercased()
    }

    private static func network(_ entry: Substring, holds address: [UInt8]) -> Bool {
        let parts = entry.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let text = parts.first, let network = bytes(of: String(text)),
            network.count == address.count
        else { return false }
        var bits = address.count * 8
        if parts.count > 1 {
            guard let count = ASCII.decimal(parts[1].utf8, max: bits) else { return false }
            bits = count
        }
        return zip(network, address).enumerated().allSatisfy { index, pair in
            let count = min(8, max(0, bits - index * 8))
            return (pair.0 ^ pair.1) >> (8 - count) == 0
        }
    }

    /// Four or sixteen bytes; `nil` for a host that is not an IP literal.
    private static func bytes(of literal: String) -> [UInt8]? {
        var literal = literal[...]
        if literal.hasPrefix("["), literal.hasSuffix("]") {
            literal = literal.dropFirst().dropLast()
        }
        return addressBytes(String(literal))
    }
}

extension ProxySettings: TerminalText.Line {}
extension ProxySettings.Source: TerminalText.Line {}
