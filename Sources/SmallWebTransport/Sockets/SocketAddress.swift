// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWebCore

/// A numeric IPv4 or IPv6 address with its port, in the layout of the socket calls.
struct SocketAddress: Sendable, Hashable {
    /// A `sockaddr_in` or `sockaddr_in6`.
    let bytes: [UInt8]
    /// The address without port, IPv6 without brackets.
    let host: String

    /// `nil` when `text` is not an IP literal (IPv6 without brackets).
    init?(literal text: String, port: UInt16) {
        var v4 = sockaddr_in()
        var v6 = sockaddr_in6()
        if inet_pton(AF_INET, text, &v4.sin_addr) == 1 {
            v4.sin_family = sa_family_t(AF_INET)
            v4.sin_port = port.bigEndian
            bytes = Swift.withUnsafeBytes(of: v4) { Array($0) }
            host = text
        } else if inet_pton(AF_INET6, text, &v6.sin6_addr) == 1 {
            v6.sin6_family = sa_family_t(AF_INET6)
            v6.sin6_port = port.bigEndian
            bytes = Swift.withUnsafeBytes(of: v6) { Array($0) }
            host = Self.host(bytes)
        } else {
            return nil
        }
    }

    /// Copies a result of the resolver; `nil` for a family other than IP.
    init?(_ info: addrinfo) {
        guard info.ai_family == AF_INET || info.ai_family == AF_INET6, let address = info.ai_addr
        else { return nil }
        bytes = Array(UnsafeRawBufferPointer(start: address, count: Int(info.ai_addrlen)))
        host = Self.host(bytes)
    }

    /// Copies a `sockaddr_in` or `sockaddr_in6`; `nil` for another.
    init?(_ bytes: [UInt8]) {
        let size =
            switch bytes.count >= 2
                ? bytes.withUnsafeBytes({ Int32($0.loadUnaligned(as: sa_family_t.self)) }) : -1
            {
            case AF_INET: MemoryLayout<sockaddr_in>.size
            case AF_INET6: MemoryLayout<sockaddr_in6>.size
            default: Int.max
            }
        guard bytes.count >= size else { return nil }
        self.bytes = bytes
        host = Self.host(bytes)
    }

    private init(_ bytes: [UInt8], host: String) {
        self.bytes = bytes
        self.host = host
    }

    /// The same address with another port; both families have it at the same offset.
    func with(port: UInt16) -> SocketAddress {
        var bytes = bytes
        (bytes[2], bytes[3]) = (UInt8(port >> 8), UInt8(port & 0xFF))
        return SocketAddress(bytes, host: host)
    }

    var port: UInt16 { UInt16(bytes[2]) << 8 | UInt16(bytes[3]) }

    var family: Int32 {
        bytes.withUnsafeBytes { Int32($0.loadUnaligned(as: sa_family_t.self)) }
    }

    var isV4: Bool { family == AF_INET }

    /// The address alone, in network order.
    var addressBytes: [UInt8] { isV4 ? Array(bytes[4..<8]) : Array(bytes[8..<24]) }

    /// True if it is not a public unicast address: loopback, private or link-local (RFC 1918, 3927,
    /// 4193, 6598), multicast or reserved; also embedded in IPv6.
    var isPrivate: Bool {
        let bytes = addressBytes
        guard bytes.count == 16 else { return Self.isPrivate(v4: bytes[...]) }
        let (isMapped, isTranslated) = (
            bytes[..<12].elementsEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]),
            bytes[..<12].elementsEqual([0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0])
        )
        if isMapped || isTranslated { return Self.isPrivate(v4: bytes[12...]) }
        // 6to4 has an IPv4 address after its prefix.
        if bytes[0] == 0x20 && bytes[1] == 0x02 { return Self.isPrivate(v4: bytes[2..<6]) }
        return bytes[0] & 0xE0 != 0x20
    }

    private static func isPrivate(v4 bytes: ArraySlice<UInt8>) -> Bool {
        let bytes = Array(bytes)
        return switch (bytes[0], bytes[1]) {
        case (0, _), (10, _), (127, _), (169, 254), (192, 168), (224..., _): true
        case (100, 64...127), (172, 16...31), (198, 18...19): true
        case (192, 0): bytes[2] == 0
        default: false
        }
    }

    /// Four or sixteen bytes in network order as text.
    static func text(_ address: [UInt8]) -> String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = address.count == 4 ? AF_INET : AF_INET6
        guard inet_ntop(family, address, &text, socklen_t(text.count)) != nil else { return "" }
        return String(buffer: text)
    }

    private static func host(_ bytes: [UInt8]) -> String {
        withSocketAddress(bytes) { address, length in
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(NI_MAXHOST)) { text in
                guard let start = text.baseAddress,
                    getnameinfo(
                        address, length, start, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
                else { return "" }
                return String(cString: start)
            }
        }
    }

    func connect(_ socket: Int32) throws(SystemError) {
        _ = try Self.withSocketAddress(bytes) { pointer, length throws(SystemError) in
            try systemCall { Glibc.connect(socket, pointer, length) }
        }
    }

    static func withSocketAddress<Value, Failure>(
        _ bytes: [UInt8], _ body: (UnsafePointer<sockaddr>, socklen_t) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try bytes.span.bytes.withUnsafeBytes { bytes throws(Failure) in
            let storage = bytes.bindMemory(to: sockaddr.self)
            guard let address = storage.baseAddress else {
                preconditionFailure("a socket address is never empty")
            }
            return try body(address, socklen_t(bytes.count))
        }
    }
}

extension Resolver {
    /// Address families that may be used.
    public enum Family: Sendable, Hashable {
        case any, v4, v6

        var number: Int32 {
            switch self {
            case .any: AF_UNSPEC
            case .v4: AF_INET
            case .v6: AF_INET6
            }
        }
    }
}
