// SPDX-License-Identifier: MIT
import SmallWebCore
import SmallWebTestSupport
import Testing

@testable import SmallWebTransport

/// A conversation with a proxy that says just these bytes.
private struct Exchange {
    var sent: [[UInt8]] = []
    /// Bytes taken from the reply, which are no longer there for the target.
    var taken = 0
    var isDone = false
    var error: FetchError?

    init(_ conversation: some ProxyConversation, _ reply: [UInt8]) {
        var conversation = conversation
        var received: [UInt8] = []
        do throws(FetchError) {
            while true {
                switch try conversation.next(received) {
                case .done:
                    isDone = true
                    return
                case .send(let bytes):
                    sent.append(bytes)
                    received = []
                case .receive(let count):
                    precondition(count > 0, "nothing is asked for")
                    guard taken + count <= reply.count else { return }
                    received = Array(reply[taken..<taken + count])
                    taken += count
                }
            }
        } catch {
            self.error = error
        }
    }

    init<Conversation: ProxyConversation>(
        _ reply: [UInt8], _ make: () throws(FetchError) -> Conversation
    ) {
        do throws(FetchError) {
            self.init(try make(), reply)
        } catch {
            self.init(Silent(), [])
            self.error = error
        }
    }

    private struct Silent: ProxyConversation {
        mutating func next(_ received: [UInt8]) throws(FetchError) -> ProxyStep { .receive(1) }
    }

    /// Neither done nor failed: it waits for more.
    var isWaiting: Bool { !isDone && error == nil }
}

private let joe = Proxy.Credentials(user: "joe", password: "secret")
private let name = ProxyTarget.name("a.test", port: 1965)

/// Requests of the three conversations with proxies, and their handling of replies.
@Suite(.timeLimit(.minutes(30)))
struct ProxyConversationTests {
    private func socks5(
        _ reply: [UInt8], to target: ProxyTarget = name, _ credentials: Proxy.Credentials? = nil,
        insists: Bool = false
    ) -> Exchange {
        Exchange(reply) { () throws(FetchError) in
            try SOCKS5Conversation(
                to: target, credentials: credentials, insistsOnCredentials: insists)
        }
    }

    private func socks4(
        _ reply: [UInt8], to target: ProxyTarget = name, user: String = ""
    ) -> Exchange {
        Exchange(reply) { () throws(FetchError) in try SOCKS4Conversation(to: target, user: user) }
    }

    private func connect(_ reply: String, _ credentials: Proxy.Credentials? = nil) -> Exchange {
        Exchange(
            ConnectConversation(to: "a.test:1965", credentials: credentials), Array(reply.utf8))
    }

    /// Replies that lead to the target, with and without a login.
    private static let successes: [String: [UInt8]] = [
        "IPv4": [5, 0, 5, 0, 0, 1, 127, 0, 0, 1, 7, 173],
        "IPv6": [5, 0, 5, 0, 0, 4] + [UInt8](repeating: 9, count: 16) + [7, 173],
        "an empty name": [5, 0, 5, 0, 0, 3, 0, 7, 173],
        "a name": [5, 0, 5, 0, 0, 3, 3, 97, 98, 99, 7, 173],
        "the longest name": [5, 0, 5, 0, 0, 3, 255] + [UInt8](repeating: 97, count: 257),
        "a reserved byte": [5, 0, 5, 0, 77, 1, 0, 0, 0, 0, 0, 0],
    ]

    // MARK: SOCKS 5

    @Test func asksForEveryKindOfTarget() {
        let reply = Self.successes["IPv4"] ?? []
        let targets: [(ProxyTarget, [UInt8])] = [
            (name, [3, 6] + "a.test".utf8),
            (.address([192, 0, 2, 7], port: 1965), [1, 192, 0, 2, 7]),
            (.address([UInt8](1...16), port: 1965), [4] + [UInt8](1...16)),
        ]
        for (target, bytes) in targets {
            let exchange = socks5(reply, to: target)
            #expect(exchange.isDone)
            #expect(exchange.sent == [[5, 1, 0], [5, 1, 0] + bytes + [7, 173]])
        }
        let longest = String(repeating: "a", count: 255)
        #expect(socks5(reply, to: .name(longest, port: 1)).sent.last?.count == 262)
        for wrong in ["", longest + "a"] {
            #expect(socks5([], to: .name(wrong, port: 1)).error?.outcome == .proxy)
        }
    }

    @Test func logsInWhereTheProxyWantsIt() {
        let request = [5, 1, 0, 3, 6] + Array("a.test".utf8) + [7, 173]
        let login = [1, 3] + Array("joe".utf8) + [6] + Array("secret".utf8)
        let rest: [UInt8] = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]
        #expect(socks5([5, 2, 1, 0] + rest, joe).sent == [[5, 2, 0, 2], login, request])
        #expect(socks5([5, 0] + rest, joe).sent == [[5, 2, 0, 2], request])
        #expect(socks5([5, 2, 1, 0] + rest, joe, insists: true).sent.first == [5, 1, 2])
        // Some servers send another version here.
        #expect(socks5([5, 2, 5, 0] + rest, joe).isDone)
        for verdict: UInt8 in 1...255 {
            let refused = socks5([5, 2, 1, verdict], joe)
            #expect(refused.error?.remedy == .giveProxyCredentials)
            #expect(refused.error?.outcome == .proxy && refused.sent.count == 2)
        }
    }

    @Test func everyWayToLogInHasItsEnd() {
        for way in UInt8.min...UInt8.max {
            let plain = socks5([5, way])
            #expect(plain.isWaiting == (way == 0), "\(way)")
            #expect((plain.error?.remedy == .giveProxyCredentials) == (way == 0xFF))
            #expect(socks5([5, way], joe).isWaiting == (way == 0 || way == 2), "\(way)")
            // Never shared in silence.
            let isolated = socks5([5, way], joe, insists: true)
            #expect(isolated.isWaiting == (way == 2), "\(way)")
            #expect(isolated.sent.count == (way == 2 ? 2 : 1))
        }
        for version in UInt8.min...UInt8.max where version != 5 {
            #expect(socks5([version, 0]).error?.outcome == .proxy)
            #expect(socks5([5, 0, version, 0, 0, 1]).error?.outcome == .proxy)
        }
    }

    @Test func everyReplyCodeOfSOCKS5HasItsWords() {
        var words: Set<String> = []
        for code: UInt8 in 1...255 {
            let refused = socks5([5, 0, 5, code, 0, 1])
            #expect(refused.error?.outcome == .proxy && refused.error?.phase == .proxy)
            words.insert(refused.error?.message ?? "")
            #expect(refused.taken == 6, "what follows a refusal is of no use")
        }
        #expect(words.count == 255 && words.contains { $0.hasSuffix(": connection refused") })
        for kind in UInt8.min...UInt8.max where ![1, 3, 4].contains(kind) {
            #expect(socks5([5, 0, 5, 0, 0, kind]).error?.outcome == .proxy, "\(kind)")
        }
    }

    @Test func credentialsThatDoNotFitAreNotSent() {
        let long = String(repeating: "a", count: 256)
        for (user, password) in [("", "x"), (long, "x"), ("x", long)] {
            let exchange = socks5([5, 2], .init(user: user, password: password))
            #expect(exchange.error?.outcome == .proxy && exchange.sent.isEmpty)
            #expect(exchange.error?.message.contains(long) == false)
        }
    }

    // MARK: SOCKS 4

    @Test func asksWithoutANameOrWithOne() {
        let yes: [UInt8] = [0, 90, 1, 2, 3, 4, 5, 6]
        let address = ProxyTarget.address([192, 0, 2, 7], port: 1965)
        #expect(socks4(yes, to: address).sent == [[4, 1, 7, 173, 192, 0, 2, 7, 0]])
        #expect(
            socks4(yes, to: address, user: "joe").sent
                == [[4, 1, 7, 173, 192, 0, 2, 7] + "joe".utf8 + [0]])
        #expect(
            socks4(yes, user: "joe").sent
                == [[4, 1, 7, 173, 0, 0, 0, 1] + Array("joe\0a.test\0".utf8)])
        let long = String(repeating: "a", count: 256)
        for wrong in [
            socks4(yes, to: .address([UInt8](1...16), port: 1)), socks4(yes, user: long),
            socks4(yes, to: .name(long, port: 1)), socks4(yes, user: "a\0b"),
            socks4(yes, to: .name("a\0b", port: 1)),
        ] {
            #expect(wrong.error?.outcome == .proxy && wrong.sent.isEmpty)
        }
    }

    @Test func everyReplyCodeOfSOCKS4HasItsWords() {
        var words: Set<String> = []
        for code in UInt8.min...UInt8.max {
            let exchange = socks4([0, code, 0, 0, 0, 0, 0, 0])
            #expect(exchange.isDone == (code == 90), "\(code)")
            if let error = exchange.error { words.insert(error.message) }
            #expect(exchange.error == nil || exchange.error?.outcome == .proxy)
            #expect(code == 0 || socks4([code, 90, 0, 0, 0, 0, 0, 0]).error?.outcome == .proxy)
        }
        #expect(words.count == 255)
    }

    // MARK: CONNECT

    @Test func asksForATunnel() {
        let plain = "CONNECT a.test:1965 HTTP/1.1\r\nHost: a.test:1965\r\n"
        #expect(connect("").sent == [Array((plain + "\r\n").utf8)])
        let login = "Proxy-Authorization: Basic am9lOnNlY3JldA==\r\n\r\n"
        #expect(connect("", joe).sent == [Array((plain + login).utf8)])
    }

    private static let tunnels = [
        "HTTP/1.1 200 Connection established\r\n\r\n", "HTTP/1.0 200\n\n",
        "HTTP/1.1 200 OK\r\nVia: 1.1 x\r\nContent-Length: 5\r\n\r\n", "HTTP/1.1 204 x\n\r\n",
        "HTTP/1.1 200 \nA: b\n\n", "HTTP/1.1 299 OK\r\nA: \r\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 x\nA: b\n\nHTTP/1.1 200 OK\r\n\r\n",
    ]

    @Test func aTunnelIsThereAfterTheHeader() {
        for reply in Self.tunnels {
            #expect(connect(reply).isDone, "\(reply)")
        }
    }

    @Test(arguments: [
        ("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "407 Proxy Authentication Required"),
        ("HTTP/1.1 301 Moved\r\nLocation: http://b.test/\r\n\r\n", "301 Moved"),
        ("HTTP/1.0 500\n\n", "500"), ("HTTP/1.1 403 Not here\nA: b\n\n", "403 Not here"),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n", "101 Switching Protocols"),
        ("HTTP/1.1 999 \r\n\r\n", "999"),
    ])
    func aRefusalHasItsStatusAndReason(_ reply: String, _ words: String) {
        let exchange = connect(reply)
        #expect(exchange.error?.outcome == .proxy)
        #expect(exchange.error?.message == "the proxy refused the connection: " + words)
        let isLogin = words.hasPrefix("407")
        #expect((exchange.error?.remedy == .giveProxyCredentials) == isLogin)
    }

    @Test(arguments: [
        "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/2 200 OK\r\n\r\n", "HTTQ/1.1 200\n\n", "FTP./1.1 200\n\n",
        "http/1.1 200\n\n", "HTTP/1.1 abc\n\n", "HTTP/1.1 20\r\n\r\n", "HTTP/1.1 2000\n\n",
        "HTTP/1.1\r\n\r\nHTTP/1.1 200\n\n", "HTTP/1.12 200\n\n", "HTTP/1.1 +20 OK\r\n\r\n",
        "\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 O\0K\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: \0\r\n\r\n", "HTTP/1.1 \u{0662}00\n\n",
        "\n\n\n\n\n\n\n\n\n\n\n\n\n\n",
        "HTTP/1.1 099 OK\r\n\r\n",
    ])
    func whatIsNoReplyIsAnError(_ reply: String) {
        #expect(connect(reply + reply).error?.outcome == .proxy, "\(reply)")
    }

    @Test func aHeaderHasABound() {
        let bound = ConnectConversation.headerBytesMax
        let start = "HTTP/1.1 200 OK\r\nA: "
        let fits = start + String(repeating: "a", count: bound - start.utf8.count - 4) + "\r\n\r\n"
        #expect(connect(fits).isDone)
        let endless =
            [
                String(repeating: "a", count: bound),
                String(repeating: "A: b\r\n", count: bound / 4),
                String(repeating: "\r", count: bound),
            ].map { start + $0 } + [
                // An interim reply announces another one, which may be the next interim one.
                String(repeating: "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n", count: bound / 16),
                String(repeating: "HTTP/1.1 100 \n\n", count: bound),
            ]
        for reply in endless {
            let exchange = connect(reply)
            #expect(exchange.error?.outcome == .proxy, "\(reply.prefix(40))")
            #expect(exchange.taken <= bound)
        }
    }

    // MARK: All

    private func exchanges(_ reply: [UInt8]) -> [Exchange] {
        [
            socks5(reply), socks5(reply, joe), socks5(reply, joe, insists: true), socks4(reply),
            Exchange(ConnectConversation(to: "a.test:1", credentials: joe), reply),
        ]
    }

    @Test func nothingOfTheTargetIsTaken() {
        let target = Array("20 text/gemini\r\n\r\nHTTP/1.1 200 OK\r\n\r\n\n\n".utf8) + [5, 0, 0]
        for (name, reply) in Self.successes {
            let exchange = socks5(reply + target)
            #expect(exchange.isDone && exchange.taken == reply.count, "\(name)")
            let login = [5, 2, 1, 0] + reply.dropFirst(2)
            #expect(socks5(login + target, joe).taken == login.count, "\(name)")
        }
        #expect(socks4([0, 90, 0, 0, 0, 0, 0, 0] + target).taken == 8)
        for reply in Self.tunnels {
            let bytes = Array(reply.utf8)
            for next in [target, [10], [13, 10], [10, 10, 10, 10]] {
                let exchange = Exchange(
                    ConnectConversation(to: "a.test:1", credentials: nil), bytes + next)
                #expect(exchange.isDone && exchange.taken == bytes.count, "\(reply)")
            }
        }
    }

    @Test func noCutIsASuccess() {
        let replies =
            Array(Self.successes.values) + [[0, 90, 0, 0, 0, 0, 0, 0]]
            + Self.tunnels.map { Array($0.utf8) }
        for reply in replies {
            for exchange in exchanges(reply) where exchange.isDone {
                #expect(exchange.taken == reply.count)
            }
            for count in reply.indices {
                for exchange in exchanges(Array(reply.prefix(count))) {
                    #expect(!exchange.isDone, "\(reply) cut after \(count)")
                }
            }
        }
    }

    @Test func randomBytesEndWithinBounds() {
        var random = SeededGenerator(seed: 17)
        let starts: [[UInt8]] = [
            [], [5, 0], [5, 2, 1, 0], [5, 0, 5, 0, 0, 3], Array("HTTP/1.1 ".utf8),
            Array("HTTP/1.1 200 OK\r\n".utf8), Array("HTTP/1.1 100 \n\n".utf8), [0, 90],
        ]
        for round in 0..<4000 {
            let start = starts[round % starts.count]
            let reply =
                start + random.bytes(upTo: 600, alphabet: "\u{5}\0\u{1}\u{3}HTP/1.\r\n 20:")
            for exchange in exchanges(reply) {
                #expect(exchange.taken <= reply.count && exchange.sent.count <= 3)
                #expect(exchange.error.map { $0.outcome == .proxy } ?? true)
            }
        }
    }

    // MARK: Credentials that a proxy repeats

    @Test(arguments: [
        ("no s:cr t", "no ***"), ("joe:s:cr t!", "***!"), ("s%3acr%20t", "***"),
        ("s:cr+t+", "***+"), ("s%3Acr+t", "***"), ("s+cr+t", "s+cr+t"),
        ("%73%3A%63%72%20%74.", "***."), ("x am9lOnM6Y3IgdA== y", "x *** y"),
        ("am9lOnM6Y3IgdEBob3N0", "***"), ("am9lOnM6Y3IgdA%3D%3D", "***%3D%3D"),
        ("czpjciB0", "***"), ("eHM6Y3IgdHk=", "e***"), ("Joe s:cr", "Joe s:cr"), ("%7", "%7"),
    ])
    func credentialsAreMasked(_ text: String, _ masked: String) {
        let credentials = Proxy.Credentials(user: "joe", password: "s:cr t")
        #expect(credentials.masked(text) == masked)
        let exchange = Exchange(
            ConnectConversation(to: "a.test:1", credentials: credentials),
            Array("HTTP/1.1 403 \(text)\r\n\r\n".utf8))
        #expect(exchange.error?.message == "the proxy refused the connection: 403 \(masked)")
    }

    @Test func aHeaderKeepsItsMeaning() {
        let credentials = Proxy.Credentials(user: "text", password: "200")
        for (line, masked) in [
            ("HTTP/1.1 200 OK 200 text\r\n", "HTTP/1.1 200 OK *** ***\r\n"),
            ("HTTP/1.1 200\r\n", "HTTP/1.1 200\r\n"),
            ("X-200: text 200\r\n", "X-200: text ***\r\n"), ("\r\n", "\r\n"),
        ] {
            #expect(credentials.masked(headerLine: Array(line.utf8)) == Array(masked.utf8))
        }
    }
}
