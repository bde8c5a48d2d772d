// SPDX-License-Identifier: MIT
internal import SmallWebCore

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
