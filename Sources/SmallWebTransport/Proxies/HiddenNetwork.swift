// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// A network that only its own proxy can reach. Its names must not reach a name server (RFC 7686
/// for .onion).
package enum HiddenNetwork: String, Sendable {
    case tor = "onion"
    case i2p

    /// `nil` for a host of the Internet.
    package init?(host: String) {
        let name = host.hasSuffix(".") ? host.dropLast() : host[...]
        guard let dot = name.lastIndex(of: ".") else { return nil }
        self.init(rawValue: name[dot...].dropFirst().lowercased())
    }

    func error(_ host: String) -> FetchError {
        FetchError(
            .connect, .resolve,
            "\(host) is not looked up: only a proxy into its network can reach it",
            remedy: .useProxy(self == .tor ? "tor://" : "http://127.0.0.1:4444"))
    }
}
