// SPDX-License-Identifier: MIT
internal import Glibc
package import SmallWebCore

/// A proxy of every kind: it tells SOCKS 4, 4a and 5 and HTTP apart by the first byte, records the
/// requests, and connects to the same port of 127.0.0.1, whatever the name.
public final class DemoProxy: Sendable {
    /// A request by a client.
    public struct Order: Sendable, Hashable {
        /// `socks4`, `socks5`, `CONNECT`, or the method of a forwarded request.
        public let kind: String
        /// A name, or an address in text.
        public let host: String
        public let port: UInt16
        /// As SOCKS or the field of HTTP has it; `nil` for none.
        public let user: String?
    }

    /// Configuration of the proxy.
    public struct Manner: Sendable {
        /// Bytes of its reply per segment.
        public var step = Int.max
        /// True if SOCKS 5 takes user names; then it insists on them.
        public var takesUsers = false

        public init(step: Int = .max, takesUsers: Bool = false) {
            self.step = step
            self.takesUsers = takesUsers
        }
    }

    public let server: LoopbackServer
    private let noted: Recorder<Order>

    package init(tls: TestCertificate? = nil, _ manner: Manner = Manner()) throws(SystemError) {
        let noted = Recorder<Order>()
        self.noted = noted
        server = try LoopbackServer(tls: tls) { peer in
            Conversation(peer: peer, manner: manner, noted: noted).hold()
        }
    }

    public var orders: [Order] { noted.values }

    /// `KIND://127.0.0.1:PORT`
    public func url(_ kind: String, user: String = "") -> String {
        "\(kind)://\(user)\(server.address):\(server.port)"
    }
}

private struct Conversation {
    let peer: Peer
    let manner: DemoProxy.Manner
    let noted: Recorder<DemoProxy.Order>

    func hold() {
        let first = peer.read(1)
        switch first.first {
        case 4: socks4()
        case 5: socks5()
        case let byte?: http(byte)
        case nil: return
        }
    }

    private func say(_ bytes: [UInt8]) {
        peer.writeSlowly(bytes, step: max(1, min(manner.step, bytes.count)))
    }

    private func text(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: Array(bytes), as: UTF8.self)
    }

    private func port(_ bytes: [UInt8]) -> UInt16 {
        bytes.count == 2 ? UInt16(bytes[0]) << 8 | UInt16(bytes[1]) : 0
    }

    /// Up to a NUL, without it.
    private func string() -> [UInt8] {
        var bytes: [UInt8] = []
        while let byte = peer.read(1).first, byte != 0 { bytes.append(byte) }
        return bytes
    }

    private func socks4() {
        guard peer.read(1) == [1] else { return }
        let port = port(peer.read(2))
        let address = peer.read(4)
        let user = text(string())
        let isName = address.prefix(3) == [0, 0, 0]
        let host = isName ? text(string()) : Self.literal(address)
        noted.add(.init(kind: "socks4", host: host, port: port, user: user.isEmpty ? nil : user))
        connect(port, [0, 90, 0, 0, 0, 0, 0, 0], [0, 91, 0, 0, 0, 0, 0, 0])
    }

    private func socks5() {
        let methods = peer.read(Int(peer.read(1).first ?? 0))
        var user: String?
        guard methods.contains(manner.takesUsers ? 2 : 0) else { return say([5, 0xFF]) }
        say([5, manner.takesUsers ? 2 : 0])
        if manner.takesUsers {
            _ = peer.read(1)
            user = text(peer.read(Int(peer.read(1).first ?? 0)))
            _ = peer.read(Int(peer.read(1).first ?? 0))
            say([1, 0])
        }
        let head = peer.read(4)
        guard head.count == 4 else { return }
        let host =
            switch head[3] {
            case 1: Self.literal(peer.read(4))
            case 4: Self.literal(peer.read(16))
            default: text(peer.read(Int(peer.read(1).first ?? 0)))
            }
        let port = port(peer.read(2))
        noted.add(.init(kind: "socks5", host: host, port: port, user: user))
        connect(port, [5, 0, 0, 1, 127, 0, 0, 1, 0, 0], [5, 5, 0, 1, 0, 0, 0, 0, 0, 0])
    }

    private func http(_ first: UInt8) {
        guard let line = peer.readLine() else { return }
        let words = text([first] + line).split(whereSeparator: \.isWhitespace)
        var fields: [String] = []
        while let line = peer.readLine().map(text), line != "\r\n" { fields.append(line) }
        guard words.count == 3 else { return }
        let isTunnel = words[0] == "CONNECT"
        let uri = try? URI(parsing: isTunnel ? "x://" + words[1] : String(words[1]))
        let user = fields.first { $0.hasPrefix("Proxy-Authorization: ") }?.dropFirst(21).dropLast()
        let port = uri?.port ?? 80
        noted.add(
            .init(
                kind: String(words[0]), host: uri?.host ?? "", port: port,
                user: user.map(String.init)))
        let refusal = Array("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n".utf8)
        guard !isTunnel else {
            return connect(port, Array("HTTP/1.1 200 OK\r\nVia: demo\r\n\r\n".utf8), refusal)
        }
        // The target is a site and no proxy, so the request line has only the path.
        let path = (uri?.path ?? "/") + (uri?.query.map { "?" + $0 } ?? "")
        let request = ["\(words[0]) \(path) HTTP/1.1\r\n"] + fields + ["\r\n"]
        connect(port, [], refusal, first: Array(request.joined().utf8))
    }

    /// To the port, whatever the host.
    private func connect(
        _ port: UInt16, _ success: [UInt8], _ refusal: [UInt8], first: [UInt8] = []
    ) {
        let other = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(other) }
        var status: Int32 = -1
        withSocketAddress("127.0.0.1", port: port) { status = Glibc.connect(other, $0, $1) }
        guard status == 0 else { return say(refusal) }
        say(success)
        peer.relay(other, first: first)
    }

    private static func literal(_ bytes: [UInt8]) -> String {
        var text = [CChar](repeating: 0, count: 64)
        inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, &text, 64)
        return String(
            decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
