// SPDX-License-Identifier: MIT
internal import Glibc

/// Four or sixteen bytes in network order; `nil` for anything but an IP literal.
package func addressBytes(_ literal: String) -> [UInt8]? {
    var (v4, v6) = (in_addr(), in6_addr())
    if inet_pton(AF_INET, literal, &v4) == 1 { return withUnsafeBytes(of: v4) { Array($0) } }
    if inet_pton(AF_INET6, literal, &v6) == 1 { return withUnsafeBytes(of: v6) { Array($0) } }
    return nil
}

/// An IPv6 address in its shortest form (RFC 5952), equal for all its spellings; `nil` for anything
/// else.
package func shortestIPv6(_ literal: String) -> String? {
    var address = in6_addr()
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    guard inet_pton(AF_INET6, literal, &address) == 1,
        inet_ntop(AF_INET6, &address, &text, socklen_t(text.count)) != nil
    else { return nil }
    return String(buffer: text)
}

extension Endpoint {
    /// `host:port`, equal for all spellings of the host: a name without a trailing dot, IPv6 in its
    /// shortest form (RFC 5952) and in brackets. The key of the pace, and of shards.
    package var place: String {
        if host.utf8.last == ASCII.dot { return "\(host.dropLast()):\(port)" }
        let bracketed = host.holds(ASCII.colon) ? "[\(shortestIPv6(host) ?? host)]" : host
        return "\(bracketed):\(port)"
    }
}
