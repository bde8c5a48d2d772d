// SPDX-License-Identifier: MIT
package import SmallWebCore

/// How the HTTP engine connects, for all requests of a fetcher.
public struct HTTPSettings: Sendable {
    public var userAgent = "smallweb"
    /// Proxy URL; `nil` for libcurl's reading of the environment.
    public var proxy: String?
    /// Hosts that are reached without the proxy, separated by commas.
    public var noProxy: String?
    /// curl's `--connect-to`: `HOST1:PORT1:HOST2:PORT2`.
    public var connectTo: [String] = []
    /// Path of a Unix socket to connect to instead.
    public var unixSocket: String?
    /// Whether any certificate is accepted.
    public var skipsTrust = false
    /// A trust policy that was chosen and that libcurl cannot follow: every request is refused.
    package var refusedPolicy: TrustFacts.Policy?
    /// SHA-256 of the public key that the server must have, 32 bytes.
    public var pin: [UInt8]?
    /// Certificate authorities, as PEM: a file, a directory; `nil` for the system's.
    public var authorityFile: String?
    public var authorityDirectory: String?
    /// Shown if a server asks for a client certificate: this request's alone.
    package var identity: ClientIdentity?
    /// Whether the request's header is reported as an event.
    package var reportsRequests = false

    public init() {}

    /// Whether connections are made in a way that other schemes cannot follow.
    package var isSpecial: Bool {
        proxy != nil || unixSocket != nil || !connectTo.isEmpty
    }
}
