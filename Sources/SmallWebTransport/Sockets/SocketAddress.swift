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

    /// An IP literal in any spelling that a look-up takes without a name server: `127.1`,
    /// `0x7f000001`, or with a zone.
    init?(numeric text: String) {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(text, nil, &hints, &list) == 0, let info = list?.pointee else {
            return nil
        }
        defer { freeaddrinfo(list) }
        self.init(info)
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
        let bytes = innerBytes
        return bytes.count == 4 ? Self.isPrivate(v4: bytes) : bytes[0] & 0xE0 != 0x20
    }

    /// True for a unicast address of the Internet alone: not ``isPrivate``, not one of this
    /// machine, and not of a network for documentation or for protocols (RFC 2928, 5737, 7526,
    /// 9637).
    var isPublic: Bool {
        let bytes = innerBytes
        let isReserved =
            switch (bytes[0], bytes[1], bytes[2]) {
            case (192, 0, 2), (198, 51, 100), (203, 0, 113), (192, 88, 99): bytes.count == 4
            case (0x20, 0x01, 0...1), (0x3F, 0xFF, 0...0x0F): bytes.count == 16
            case (0x20, 0x01, 0x0D): bytes.count == 16 && bytes[3] == 0xB8
            default: false
            }
        return !isPrivate && !isReserved && !isOwn
    }

    /// True if an interface of this machine has the address, or that cannot be known.
    private var isOwn: Bool {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return true }
        defer { freeifaddrs(list) }
        var next = list
        while let entry = next?.pointee {
            let size = MemoryLayout<sockaddr_in6>.size  // glibc has room for more.
            let bytes = entry.ifa_addr.map { UnsafeRawBufferPointer(start: $0, count: size) }
            let own = bytes.flatMap { SocketAddress(Array($0)) }
            if own?.addressBytes == innerBytes { return true }
            next = entry.ifa_next
        }
        return false
    }

    /// The address alone, or the IPv4 address that it embeds.
    private var innerBytes: [UInt8] {
        let bytes = addressBytes
        guard bytes.count == 16 else { return bytes }
        let (isMapped, isTranslated) = (
            bytes[..<12].elementsEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]),
            bytes[..<12].elementsEqual([0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0])
        )
        if isMapped || isTranslated { return Array(bytes[12...]) }
        // 6to4 has an IPv4 address after its prefix.
        return bytes[0] == 0x20 && bytes[1] == 0x02 ? Array(bytes[2..<6]) : bytes
    }

    private static func isPrivate(v4 bytes: [UInt8]) -> Bool {
        switch (bytes[0], bytes[1]) {
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
    @nonexhaustive
    public enum Family: Sendable, Hashable {
        /// Both.
        case any
        /// IPv4 alone.
        case v4
        /// IPv6 alone.
        case v6

        var number: Int32 {
            switch self {
            case .any: AF_UNSPEC
            case .v4: AF_INET
            case .v6: AF_INET6
            }
        }
    }
}
