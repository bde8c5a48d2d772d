// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebFormats
internal import SmallWebRecords
internal import SmallWebTransport

/// Description of the request that a fetch would make.
struct Explanation {
    struct Trust {
        /// One of ``TrustPolicy/names``, `pin` or `none`.
        var policy: String
        /// True if the store has the server; `nil` if it is not consulted.
        var isKnown: Bool?
        var key: String?
        /// Unix seconds.
        var firstSeen: Int?
        var expires: Int?
    }

    let asked: RequestLine
    let url: String
    let scheme: Scheme
    let plugin: String
    var version: String?
    var endpoint: Endpoint?
    /// `nil` if unknown, or if another host is connected to.
    var addresses: [String]?
    var proxy: String?
    /// The reason for `proxy` or its absence.
    var proxyReason: String?
    /// Description of a connection to something other than the host.
    var detour: String?
    var trust: Trust?
    var identity: String?
    /// The line of the robots file that decides; the inner value is `nil` if none does.
    var robots: Robots.Rule??
    var redirects = RedirectPolicy()
    var output = ""
    /// `FILE:LINE` of each setting from a config file, by the option's long name.
    var origins: [(key: String, value: String)] = []
    /// The request without secrets.
    var request: [UInt8] = []
    /// Length of the request with its secrets.
    var requestBytes = 0

    mutating func note(_ way: ProxySettings.Choice?) {
        proxy = way?.route.name
        proxyReason = way?.words
        switch way?.route {
        case .proxy(let proxy):
            let isHidden = endpoint.flatMap { HiddenNetwork(host: $0.host) } != nil
            detour = proxy.looksUpHere && !isHidden ? nil : "for the proxy to look up"
        case .command: detour = "for the command to look up"
        case .direct, nil: break
        }
    }

    /// Notes another target of libcurl's connection.
    mutating func note(_ settings: HTTPSettings) {
        if let path = settings.unixSocket {
            detour = "the Unix socket \(path)"
        } else if let rule = settings.connectTo.first {
            detour = "by --connect-to \(rule)"
        }
    }

    private var proxySentence: String {
        let name = proxy ?? "none"
        let place = origins.first { "--" + $0.key == proxyReason }?.value
        return (place ?? proxyReason).map { proxy == nil ? "\(name): \($0)" : "\(name), by \($0)" }
            ?? name
    }
}

extension Explanation {
    /// One line for each property, then the request.
    var text: String {
        var rows = [("plugin", "\(plugin): \(scheme.summary)")]
        if let endpoint {
            let security = endpoint.security == .tls ? "TLS" : "no TLS"
            rows.append(("connect to", "\(endpoint), \(security)"))
            rows.append(("addresses", addresses?.joined(separator: " ") ?? detour ?? "unknown"))
            rows.append(("proxy", proxySentence))
            if let trust { rows.append(("trust", Self.sentence(trust))) }
            if trust != nil { rows.append(("identity", identity ?? "none")) }
            rows.append(("redirects", redirectsSentence))
        } else {
            rows.append(("connect to", "nothing: no connection is needed"))
        }
        if let robots {
            let word = robots?.isAllow ?? true ? "allowed" : "forbidden"
            rows.append(
                ("robots", robots.map { "\(word) by \($0)" } ?? "\(word): no line is about it"))
        }
        rows.append(("body goes to", output))
        rows += origins.map { ("setting", "\($0.key), from \($0.value)") }
        let isSilent = requestBytes == 0 && endpoint != nil
        rows.append(
            ("request", isSilent ? "none (the server speaks first)" : "\(requestBytes) bytes"))
        let lines = rows.map { "  \(Help.padded($0, 14))\(TerminalText.escapeLine($1))\n" }
        return TerminalText.escapeLine(url) + "\n" + lines.joined()
            + Self.escaped(request).map { "    \($0)\n" }.joined()
    }

    private static func sentence(_ trust: Trust) -> String {
        switch (trust.policy, trust.isKnown) {
        case ("none", _): return "any key is accepted, and nothing is stored"
        case ("pin", _): return "only the key \(trust.key ?? "")"
        case ("ca", _): return "ca: keys that certificate authorities have signed"
        case (let policy, true?):
            return "\(policy): known since \(UTCDate.day(trust.firstSeen, or: "?")), until "
                + "\(UTCDate.day(trust.expires, or: "?")) only \(trust.key ?? "?")"
        case ("locked", _): return "locked: not known, so it would be refused"
        case ("ask", _): return "ask: not known, so you would be asked"
        case (let policy, _): return "\(policy): not known, so its key would be pinned"
        }
    }

    private var redirectsSentence: String {
        guard redirects.follows else { return "none" }
        let others = [scheme.name] + (scheme.secureForm.map { [$0] } ?? [])
        let names = others + redirects.otherSchemes.sorted().filter { !others.contains($0) }
        return "at most \(redirects.limit), to \(names.joined(separator: ", "))"
    }

    /// Lines with C escapes for all bytes but printable ASCII.
    static func escaped(_ bytes: [UInt8]) -> [String] {
        var lines: [String] = []
        var line = ""
        for byte in bytes {
            switch byte {
            case ASCII.lineFeed:
                lines.append(line + "\\n")
                line = ""
            case ASCII.carriageReturn: line += "\\r"
            case UInt8(ascii: "\\"): line += "\\\\"
            case 0x20..<0x7F: line.unicodeScalars.append(Unicode.Scalar(byte))
            default: line += "\\x" + [byte].hex
            }
        }
        return line.isEmpty ? lines : lines + [line]
    }
}

extension JSONWriter {
    mutating func members(of explanation: Explanation) {
        begin("explanation", explanation.asked.subject)
        member("url", explanation.url)
        member("scheme", explanation.scheme.name)
        member("plugin", explanation.plugin)
        member("version", explanation.version)
        member("host", explanation.endpoint?.host)
        member("port", explanation.endpoint.map { Int($0.port) })
        member("tls", explanation.endpoint?.security == .tls)
        member("addresses", array: explanation.addresses) { $0.value($1) }
        member("proxy", explanation.proxy)
        member("proxy_reason", explanation.proxyReason)
        member("trust", object: explanation.trust) { writer, trust in
            writer.member("policy", trust.policy)
            writer.member("known", trust.isKnown)
            writer.member("key", trust.key)
            writer.member("first_seen", trust.firstSeen.map(UTCDate.second))
            writer.member("expires", trust.expires.map(UTCDate.second))
        }
        member("identity", explanation.identity)
        member("redirects", object: explanation.redirects) { writer, redirects in
            writer.member("max", redirects.follows ? redirects.limit : 0)
            writer.member("other_schemes", array: redirects.otherSchemes.sorted()) { $0.value($1) }
        }
        member("robots", object: explanation.robots) { writer, rule in
            writer.member("allowed", rule?.isAllow ?? true)
            writer.member("rule", rule?.text)
            writer.member("line", rule?.number)
        }
        member("output", explanation.output)
        member("origin", object: explanation.origins) { writer, origins in
            for (name, place) in origins { writer.member(named: name) { $0.value(place) } }
        }
        member(named: "raw", bytes: explanation.request)
        member("sends", explanation.requestBytes)
    }
}
