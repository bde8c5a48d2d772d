// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Connection settings of the HTTP engine, for all requests of a fetcher.
public struct HTTPSettings: Sendable {
    /// User-Agent of requests without such a field.
    public var userAgent = "smallweb"
    /// Rules of curl's `--connect-to`: `HOST1:PORT1:HOST2:PORT2`.
    public var connectTo: [String] = []
    /// Path of a Unix socket to connect to instead of the host.
    public var unixSocket: String?
    /// A file of certificate authorities, as PEM; `nil` for the system's.
    public var authorityFile: String?
    /// A directory of certificate authorities, as PEM; `nil` for the system's.
    public var authorityDirectory: String?
    /// True if the request's header is reported as an event.
    package var reportsRequests = false

    /// The defaults.
    public init() {}

    /// True if connections are made in a way that other schemes do not support.
    package var isSpecial: Bool {
        unixSocket != nil || !connectTo.isEmpty
    }

    /// The target of a connection to `endpoint` by ``connectTo``: the first rule with its host and
    /// port, where an empty part of a rule matches all.
    func target(of endpoint: Endpoint) -> Endpoint {
        for rule in connectTo {
            let parts = Self.parts(rule)
            guard parts.count == 4, parts[0].isEmpty || parts[0].lowercased() == endpoint.host,
                parts[1].isEmpty || UInt16(parts[1]) == endpoint.port
            else { continue }
            return Endpoint(
                host: parts[2].isEmpty ? endpoint.host : parts[2],
                port: UInt16(parts[3]) ?? endpoint.port, security: endpoint.security)
        }
        return endpoint
    }

    /// Splits at colons outside of brackets. The brackets are removed.
    private static func parts(_ rule: String) -> [String] {
        var parts = [""]
        var isBracketed = false
        for character in rule {
            switch character {
            case "[", "]": isBracketed = character == "["
            case ":" where !isBracketed: parts.append("")
            default: parts[parts.count - 1].append(character)
            }
        }
        return parts
    }
}
