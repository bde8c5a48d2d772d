// SPDX-License-Identifier: MIT
internal import Glibc

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
        var text = [UInt8](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_pton(AF_INET6, literal, &address) == 1 else { return literal }
        let isWritten = text.withUnsafeMutableBytes { buffer in
            let start = buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
            return inet_ntop(AF_INET6, &address, start, socklen_t(buffer.count)) != nil
        }
        return isWritten ? String(decoding: text.prefix { $0 != 0 }, as: UTF8.self) : literal
    }
}
