// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// How the HTTP engine connects, for all requests of a fetcher.
public struct HTTPSettings: Sendable {
    /// The User-Agent field of requests that have none.
    public var userAgent = "smallweb"
    /// curl's `--connect-to`: `HOST1:PORT1:HOST2:PORT2`.
    public var connectTo: [String] = []
    /// Path of a Unix socket to connect to instead.
    public var unixSocket: String?
    /// A file of certificate authorities, as PEM; `nil` for the system's.
    public var authorityFile: String?
    /// A directory of certificate authorities, as PEM; `nil` for the system's.
    public var authorityDirectory: String?
    /// Whether the request's header is reported as an event.
    package var reportsRequests = false

    /// The defaults.
    public init() {}

    /// Whether connections are made in a way that other schemes cannot follow.
    package var isSpecial: Bool {
        unixSocket != nil || !connectTo.isEmpty
    }

    /// Where a connection to `endpoint` goes by ``connectTo``: the first rule that has its host and
    /// port, of which an empty one has all.
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

    /// What the colons part, but for those in brackets, which are left out.
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
