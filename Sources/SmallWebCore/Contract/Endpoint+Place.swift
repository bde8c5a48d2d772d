// SPDX-License-Identifier: MIT
internal import Glibc

/// Four or sixteen bytes in network order; `nil` for anything but an IP literal.
package func addressBytes(_ literal: String) -> [UInt8]? {
    var (v4, v6) = (in_addr(), in6_addr())
    if inet_pton(AF_INET, literal, &v4) == 1 { return withUnsafeBytes(of: v4) { Array($0) } }
    if inet_pton(AF_INET6, literal, &v6) == 1 { return withUnsafeBytes(of: v6) { Array($0) } }
    return nil
}

extension Endpoint {
    /// `host:port`, the same however the host is written: a name without the dot at its end, IPv6
    /// in its shortest form (RFC 5952) and in brackets. The key of the pace, and of shards.
    package var place: String {
        if host.utf8.last == ASCII.dot { return "\(host.dropLast()):\(port)" }
        let bracketed = host.holds(ASCII.colon) ? "[\(Self.shortest(host))]" : host
        return "\(bracketed):\(port)"
    }

    /// An IPv6 address as the system writes it; what is not one, as it is.
    private static func shortest(_ literal: String) -> String {
        var address = in6_addr()
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_pton(AF_INET6, literal, &address) == 1,
            inet_ntop(AF_INET6, &address, &text, socklen_t(text.count)) != nil
        else { return literal }
        return String(buffer: text)
    }
}
