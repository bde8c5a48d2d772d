// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The client's side of a proxy handshake, without I/O: bytes in, the next step out, until the
/// connection is the target's.
///
/// It never asks for a byte that may belong to the target: ``ProxyStep/receive(_:)`` counts bytes
/// that certainly are the proxy's.
protocol ProxyConversation {
    /// - Parameter received: All bytes that the step before asked for; empty after `send` and at
    ///   the start.
    /// - Throws: `proxy`, with the reply in words.
    mutating func next(_ received: [UInt8]) throws(FetchError) -> ProxyStep
}

enum ProxyStep: Sendable, Hashable {
    case send([UInt8])
    /// Number of bytes, at least 1.
    case receive(Int)
    /// The connection is the target's.
    case done
}

enum ProxyTarget: Sendable, Hashable {
    case name(String, port: UInt16)
    /// 4 or 16 bytes in network order.
    case address([UInt8], port: UInt16)

    var port: UInt16 {
        switch self {
        case .name(_, let port), .address(_, let port): port
        }
    }

    /// Network order.
    fileprivate var portBytes: [UInt8] { [UInt8(port >> 8), UInt8(port & 0xFF)] }
}

/// SOCKS 5 (RFC 1928), with user and password (RFC 1929).
struct SOCKS5Conversation: ProxyConversation {
    private enum State {
        case start, sentMethods, method, sentCredentials, verdict, sentRequest, reply, length, rest
    }

    private let target: ProxyTarget
    private let credentials: Proxy.Credentials?
    private let insistsOnCredentials: Bool
    private var state = State.start
    private(set) var hasShownCredentials = false

    private static let none: UInt8 = 0
    private static let password: UInt8 = 2

    /// - Throws: `proxy` for a name, user or password that does not fit into SOCKS.
    init(
        to target: ProxyTarget, credentials: Proxy.Credentials?, insistsOnCredentials: Bool = false
    ) throws(FetchError) {
        self.target = target
        self.credentials = credentials
        self.insistsOnCredentials = insistsOnCredentials
        if case .name(let name, _) = target, !(1...255 ~= name.utf8.count) {
            throw .proxy("the host's name is too long for SOCKS")
        }
        guard let credentials else { return }
        guard 1...255 ~= credentials.user.utf8.count, 1...255 ~= credentials.password.utf8.count
        else { throw .proxy("SOCKS needs a user and a password of 1 to 255 bytes each") }
    }

    mutating func next(_ received: [UInt8]) throws(FetchError) -> ProxyStep {
        switch state {
        case .start:
            state = .sentMethods
            let methods =
                credentials == nil
                ? [Self.none] : insistsOnCredentials ? [Self.password] : [Self.none, Self.password]
            return .send([5, UInt8(methods.count)] + methods)
        case .sentMethods:
            state = .method
            return .receive(2)
        case .method: return try choose(received)
        case .sentCredentials:
            state = .verdict
            return .receive(2)
        case .verdict:
            // RFC 1929 §2: the version is 1, of the sub-negotiation, but some proxies send another.
            guard received[1] == 0 else {
                throw FetchError(
                    .proxy, .proxy, "the proxy does not accept the user and password",
                    remedy: .giveProxyCredentials)
            }
            return request()
        case .sentRequest:
            state = .reply
            return .receive(4)
        case .reply: return try read(reply: received)
        case .length:
            state = .rest
            return .receive(Int(received[0]) + 2)
        case .rest: return .done
        }
    }

    private mutating func choose(_ received: [UInt8]) throws(FetchError) -> ProxyStep {
        guard received[0] == 5 else { throw .proxy("the proxy does not speak SOCKS 5") }
        switch received[1] {
        case Self.none where credentials == nil || !insistsOnCredentials: return request()
        case Self.password:
            guard let credentials else { break }
            hasShownCredentials = true
            state = .sentCredentials
            let (user, password) = (Array(credentials.user.utf8), Array(credentials.password.utf8))
            return .send(
                [1, UInt8(user.count)] + user + [UInt8(password.count)] + password)
        case 0xFF where insistsOnCredentials, Self.none:
            throw .proxy("isolation is asked for, and the proxy takes no user names")
        case 0xFF:
            throw FetchError(
                .proxy, .proxy,
                credentials == nil
                    ? "the proxy asks for a user and password"
                    : "the proxy takes neither user and password nor a connection without",
                remedy: .giveProxyCredentials)
        default: break
        }
        throw .proxy("the proxy chose a way to log in that was not offered")
    }

    private mutating func request() -> ProxyStep {
        state = .sentRequest
        let address: [UInt8] =
            switch target {
            case .name(let name, _): [3, UInt8(name.utf8.count)] + name.utf8
            case .address(let bytes, _): [bytes.count == 4 ? 1 : 4] + bytes
            }
        return .send([5, 1, 0] + address + target.portBytes)
    }

    private mutating func read(reply: [UInt8]) throws(FetchError) -> ProxyStep {
        guard reply[0] == 5 else { throw .proxy("the proxy does not speak SOCKS 5") }
        guard reply[1] == 0 else {
            throw .proxy("the proxy could not connect: " + Self.words(reply[1]))
        }
        // The proxy's own address is read and ignored.
        state = reply[3] == 3 ? .length : .rest
        switch reply[3] {
        case 1: return .receive(4 + 2)
        case 3: return .receive(1)
        case 4: return .receive(16 + 2)
        default: throw .proxy("the proxy's reply has an unknown kind of address (\(reply[3]))")
        }
    }

    /// RFC 1928 §6, and Tor's extensions (proposal 304).
    private static func words(_ code: UInt8) -> String {
        let words: [UInt8: String] = [
            1: "general failure", 2: "not allowed by its rules", 3: "network unreachable",
            4: "host unreachable", 5: "connection refused", 6: "TTL expired",
            7: "command not supported", 8: "address type not supported",
            0xF0: "the onion service does not exist", 0xF1: "the onion service is invalid",
            0xF2: "the onion service's introduction failed",
            0xF3: "the onion service's rendezvous failed",
            0xF4: "the onion service wants client authorization",
            0xF5: "the onion service refused the client's authorization",
            0xF6: "the onion address is invalid",
            0xF7: "the onion service's introduction took too long",
        ]
        return words[code] ?? "reply code \(code)"
    }
}

/// SOCKS 4, and 4a for names.
struct SOCKS4Conversation: ProxyConversation {
    private let request: [UInt8]
    private var step = 0

    /// - Parameter user: The user id; empty for none.
    /// - Throws: `proxy` for an IPv6 address, or a name or user that does not fit.
    init(to target: ProxyTarget, user: String = "") throws(FetchError) {
        let (address, name): ([UInt8], [UInt8])
        switch target {
        case .address(let bytes, _):
            guard bytes.count == 4 else { throw .proxy("SOCKS 4 knows no IPv6 addresses") }
            (address, name) = (bytes, [])
        // 4a: an invalid address, and the name after the user.
        case .name(let host, _): (address, name) = ([0, 0, 0, 1], host.utf8 + [0])
        }
        guard user.utf8.count <= 255, name.count <= 256, !user.utf8.contains(0),
            !name.dropLast().contains(0)
        else { throw .proxy("the host's name or the user is too long for SOCKS") }
        request = [4, 1] + target.portBytes + address + user.utf8 + [0] + name
    }

    mutating func next(_ received: [UInt8]) throws(FetchError) -> ProxyStep {
        step += 1
        switch step {
        case 1: return .send(request)
        case 2: return .receive(8)
        case 3:
            guard received[0] == 0 else { throw .proxy("the proxy does not speak SOCKS 4") }
            let words: [UInt8: String] = [
                91: "request rejected or failed", 92: "it asks for identd, which is not there",
                93: "identd names another user",
            ]
            guard received[1] == 90 else {
                let reason = words[received[1]] ?? "reply code \(received[1])"
                throw .proxy("the proxy could not connect: " + reason)
            }
            return .done
        default: return .done
        }
    }
}

/// HTTP's CONNECT (RFC 9110 §9.3.6): only the header of the reply is the proxy's.
struct ConnectConversation: ProxyConversation {
    private let request: [UInt8]
    private let credentials: Proxy.Credentials?
    private var hasSent = false
    /// Bytes of the current header so far.
    private var header: [UInt8] = []
    /// Total of interim replies, which may never end.
    private var interimBytes = 0

    static let headerBytesMax = 16_384

    /// - Parameter place: `HOST:PORT`, IPv6 in brackets.
    init(to place: String, credentials: Proxy.Credentials?) {
        var text = "CONNECT \(place) HTTP/1.1\r\nHost: \(place)\r\n"
        self.credentials = credentials
        if let credentials { text += "Proxy-Authorization: \(credentials.basic)\r\n" }
        request = Array((text + "\r\n").utf8)
    }

    mutating func next(_ received: [UInt8]) throws(FetchError) -> ProxyStep {
        guard hasSent else {
            hasSent = true
            return .send(request)
        }
        header += received
        // A reply that is not HTTP may never end.
        guard zip(header, "HTTP/1.".utf8).allSatisfy({ $0 == $1 }), !received.contains(0) else {
            throw .proxy("the proxy does not speak HTTP")
        }
        let missing = Self.missingBytes(header)
        guard interimBytes + header.count + missing <= Self.headerBytesMax else {
            throw .proxy("the header of the proxy's reply is too long")
        }
        if missing > 0 { return .receive(missing) }
        let line = header.prefix { !ASCII.isLineEnd($0) }
        let words = line.split(separator: ASCII.space, maxSplits: 2)
        guard words.count > 1, words[1].count == 3, words[1].allSatisfy(ASCII.isDigit),
            let status = Int(String(decoding: words[1], as: UTF8.self)), words[0].count == 8
        else { throw .proxy("the proxy's reply has no status") }
        switch status {
        case 101: break
        case 100...199:
            interimBytes += header.count
            header = []
            return try next([])
        case 200...299: return .done
        default: break
        }
        var reason = words.count > 2 ? " " + String(decoding: words[2], as: UTF8.self) : ""
        // Some proxies quote the refused user.
        reason = credentials?.masked(reason) ?? reason
        throw FetchError(
            .proxy, .proxy, "the proxy refused the connection: \(status)\(reason)",
            remedy: status == 407 ? .giveProxyCredentials : nil)
    }

    /// Number of bytes that certainly follow until the empty line; 0 when it is there.
    private static func missingBytes(_ header: [UInt8]) -> Int {
        // A line may end without CR (RFC 9112 §2.2).
        if header.isEmpty { return "HTTP/1.1 200\n\n".utf8.count }
        var rest = header[...]
        guard rest.popLast() == ASCII.lineFeed else {
            return header.last == ASCII.carriageReturn && isAtLineStart(rest) ? 1 : 2
        }
        if rest.last == ASCII.carriageReturn { rest.removeLast() }
        return isAtLineStart(rest) ? 0 : 1
    }

    private static func isAtLineStart(_ header: ArraySlice<UInt8>) -> Bool {
        header.last == ASCII.lineFeed
    }
}
