// SPDX-License-Identifier: MIT
import SmallWebCore
import SmallWebTestSupport
import Testing

@testable import SmallWebTransport

private let gemini = Scheme("gemini", plugin: "gemini", port: 1965, transport: .tls, summary: "")

/// Choice of the route for a URL, by curl's rules.
struct ProxySettingsTests {
    // MARK: Hosts without a proxy

    @Test(arguments: [
        ("a.test", "a.test", true), ("a.test", "A.TEST", true), ("A.Test", "a.test", true),
        ("a.test", "b.a.test", true), ("a.test", "ba.test", false), ("a.test", "test", false),
        (".a.test", "a.test", true), (".a.test", "b.a.test", true), (".a.test", "ba.test", false),
        ("a.test.", "a.test", true), ("a.test", "a.test.", true), (".a.test.", "b.a.test.", true),
        ("test", "a.test", true), ("est", "a.test", false), (".", "a.test", false),
        ("", "a.test", false), (" , ,, ", "a.test", false), ("x.test, a.test", "a.test", true),
        ("x.test a.test", "a.test", true), ("x.test,\ta.test ", "a.test", true),
        ("*", "a.test", true), ("*", "192.0.2.7", true), ("*", "::1", true),
        ("x, *", "a.test", true), ("*.test", "a.test", false), ("a.*", "a.test", false),
        ("192.0.2.7", "192.0.2.7", true), ("192.0.2.7", "192.0.2.70", false),
        ("2.7", "192.0.2.7", false), (".7", "192.0.2.7", false), ("7", "192.0.2.7", false),
        ("192.0.2.0/24", "192.0.2.255", true), ("192.0.2.0/24", "192.0.3.0", false),
        ("192.0.2.99/24", "192.0.2.1", true), ("192.0.2.7/32", "192.0.2.7", true),
        ("192.0.2.7/32", "192.0.2.6", false), ("192.0.2.6/31", "192.0.2.7", true),
        ("192.0.2.6/31", "192.0.2.8", false), ("10.0.0.0/7", "11.255.0.1", true),
        ("10.0.0.0/7", "12.0.0.0", false), ("172.16.0.0/12", "172.31.9.9", true),
        ("172.16.0.0/12", "172.32.0.0", false), ("128.0.0.0/1", "255.0.0.1", true),
        ("128.0.0.0/1", "127.0.0.1", false), ("0.0.0.0/0", "203.0.113.9", true),
        ("0.0.0.0/0", "::1", false), ("0.0.0.0/0", "a.test", false), ("::/0", "::1", true),
        ("::/0", "127.0.0.1", false), ("192.0.2.0/33", "192.0.2.0", false),
        ("192.0.2.0/-1", "192.0.2.0", false), ("192.0.2.0/", "192.0.2.0", false),
        ("192.0.2.0/x", "192.0.2.0", false), ("192.0.2.0/24/8", "192.0.2.0", false),
        ("192.0.2.0/+24", "192.0.2.0", false), ("192.0.2/24", "192.0.2.0", false),
        ("::1", "::1", true), ("[::1]", "::1", true), ("::1", "::2", false),
        ("0:0:0:0:0:0:0:1", "::1", true), ("2001:db8::/32", "2001:db8:9::1", true),
        ("2001:db8::/32", "2001:db9::1", false), ("2001:db8::/33", "2001:db8:8000::1", false),
        ("2001:db8::/33", "2001:db8:7fff::1", true), ("[2001:db8::]/32", "2001:db8::1", true),
        ("2001:DB8::/128", "2001:db8::", true), ("2001:db8::/129", "2001:db8::", false),
        ("2001:db8::/127", "2001:db8::1", true), ("fe80::/10", "febf::1", true),
        ("fe80::/10", "fec0::1", false), ("a.test:80", "a.test", false),
        ("xn--bcher-kva.test", "xn--bcher-kva.test", true),
    ])
    func aListHasAHost(_ list: String, _ host: String, _ isExempt: Bool) {
        #expect((NoProxyList(list).entry(for: host) != nil) == isExempt, "\(list) \(host)")
    }

    @Test func theEntryIsNamedAsItIsWritten() {
        let list = NoProxyList("x.test , .A.Test.,10.0.0.0/8")
        #expect(list.entry(for: "b.a.test") == ".A.Test.")
        #expect(list.entry(for: "10.9.9.9") == "10.0.0.0/8")
    }

    // MARK: URLs of proxies

    @Test(arguments: [
        ("socks5h://h", "socks5h://h:1080"), ("SOCKS5://H:9", "socks5://h:9"),
        ("socks4://h", "socks4://h:1080"), ("socks4a://h/", "socks4a://h:1080"),
        ("http://h", "http://h:1080"), ("https://h", "https://h:443"), ("h", "http://h:1080"),
        ("h:3128", "http://h:3128"), ("[::1]:3128", "http://[::1]:3128"),
        ("socks5://[2001:db8::1]", "socks5://[2001:db8::1]:1080"),
        ("tor://", "socks5h://127.0.0.1:9050"), ("TOR://", "socks5h://127.0.0.1:9050"),
        ("tor://h", "socks5h://h:9050"), ("tor://h:9", "socks5h://h:9"),
        ("tor:8118", "http://tor:8118"), ("tor", "http://tor:1080"),
        ("torhost:1", "http://torhost:1"), ("joe:secret@h:3128", "http://h:3128"),
        ("socks5://joe:secret@h", "socks5://h:1080"),
        // The slash and the mark are one character, but two bytes and more.
        ("http://\u{361}:1080", "http://\u{361}:1080"),
    ])
    func aURLNamesAProxy(_ text: String, _ expected: String) throws {
        let proxy = try Proxy(parsing: text)
        #expect(proxy.description == expected)
        #expect(proxy.isolation == (text.lowercased().hasPrefix("tor://") ? .required : .none))
    }

    @Test func credentialsAreDecoded() throws {
        let credentials = { (text: String) in try Proxy(parsing: text).credentials }
        #expect(
            try credentials("http://j%40e:p%3Aw%2F%25@h") == .init(user: "j@e", password: "p:w/%"))
        #expect(try credentials("http://joe@h") == .init(user: "joe", password: ""))
        #expect(try credentials("http://joe:@h") == .init(user: "joe", password: ""))
        #expect(try credentials("http://:pw@h") == .init(user: "", password: "pw"))
        #expect(try credentials("joe:a:b@h") == .init(user: "joe", password: "a:b"))
        #expect(try credentials("http://@h") == nil)
        #expect(try credentials("http://h") == nil)
    }

    private static let wrong = [
        "socks9://joe:secret@h", "http://joe:secret@h:0", "http://joe:secret@h:65536",
        "http://joe:secret@h:x", "http://joe:sec ret@h", "http://joe:secret@", "joe:secret@",
        "socks5://joe:secret@h/path", "socks5://joe:secret@h?query", "socks5://joe:secret@-h",
        "http://joe:secret@[::1", "://joe:secret@h", "http://joe:sec/ret@h",
        "http://joe:secret\n@h",
        "socks5://joe:sec%zret@h:x", "http://", "socks5://joe:secret@h..", "gopher://joe:secret@h",
    ]

    @Test(arguments: wrong)
    func whatIsNoProxyIsRefusedWithoutItsPassword(_ text: String) {
        let error = #expect(throws: FetchError.self) { try Proxy(parsing: text) }
        #expect(error?.outcome == .usage, "\(text)")
        for part in ["secret", "sec ret", "sec/ret", "sec%zret", "ret@"] {
            #expect(error?.message.contains(part) == false, "\(error?.message ?? "")")
        }
    }

    // MARK: Who decides

    private func scheme(_ name: String, canUseProxy: Bool = true) -> Scheme {
        Scheme(name, plugin: name, port: 1, transport: .tcp, summary: "") {
            $0.canUseProxy = canUseProxy
        }
    }

    private func choice(
        _ scheme: String, _ variables: [String: String], host: String = "a.test"
    ) throws -> ProxySettings.Choice {
        try ProxySettings.environment(variables).choice(
            for: self.scheme(scheme), to: Endpoint(host: host, port: 1, security: .none))
    }

    @Test(arguments: [
        ("gemini", "gemini_proxy", true), ("gemini", "GEMINI_PROXY", true),
        ("gemini", "Gemini_Proxy", false), ("gopher", "gemini_proxy", false),
        ("http", "http_proxy", true), ("http", "HTTP_PROXY", false),
        ("https", "https_proxy", true), ("https", "HTTPS_PROXY", true),
        ("https", "http_proxy", false), ("git+http", "http_proxy", true),
        ("git+http", "HTTP_PROXY", false), ("git+https", "https_proxy", true),
        ("git+https", "HTTPS_PROXY", true), ("git+https", "http_proxy", false),
        ("git", "git_proxy", true), ("git", "http_proxy", false),
        ("git+http", "git_proxy", false), ("finger", "FINGER_PROXY", true),
        ("titan", "all_proxy", true), ("nex", "ALL_PROXY", true), ("http", "ALL_PROXY", true),
        ("gemini", "all_Proxy", false),
    ])
    func aVariableIsForAScheme(_ scheme: String, _ variable: String, _ counts: Bool) throws {
        let choice = try choice(scheme, [variable: "socks5h://p.test"])
        #expect(choice.route.isDirect != counts)
        #expect(choice.reason == (counts ? .variable(variable) : nil))
    }

    @Test func variablesHaveAnOrder() throws {
        let order = ["gemini_proxy", "GEMINI_PROXY", "all_proxy", "ALL_PROXY"]
        for (index, name) in order.enumerated() {
            // Empty counts as unset.
            var variables = Dictionary(uniqueKeysWithValues: order.prefix(index).map { ($0, "") })
            for later in order[index...] { variables[later] = "http://\(later.lowercased()).test" }
            variables[name] = "socks5h://\(index).test"
            #expect(try choice("gemini", variables).reason == .variable(name))
            #expect(try choice("gemini", variables).route.name == "socks5h://\(index).test:1080")
        }
        #expect(try choice("gemini", ["all_proxy": ""]).route.isDirect)
    }

    @Test func exemptionsOfTheEnvironmentAreForItsProxies() throws {
        let proxy = ["all_proxy": "http://p.test"]
        for (variable, other) in [("no_proxy", "NO_PROXY"), ("NO_PROXY", "no_proxy")] {
            let exempted = try choice(
                "gemini", proxy.merging([variable: "x, a.test", other: ""]) { $1 })
            #expect(exempted.route.isDirect)
            #expect(exempted.reason == .exemption(variable: variable, entry: "a.test"))
        }
        // Lower case first, and it alone.
        let both = proxy.merging(["no_proxy": "b.test", "NO_PROXY": "a.test"]) { $1 }
        #expect(try choice("gemini", both).route.isDirect == false)
        var settings = ProxySettings.environment(["NO_PROXY": "*", "no_proxy": "*"])
        settings.source = .proxy(try Proxy(parsing: "http://p.test"))
        let place = Endpoint(host: "a.test", port: 1, security: .none)
        #expect(try settings.choice(for: gemini, to: place).reason == .settings)
        settings.source = .command("nc %h %p")
        #expect(try settings.choice(for: gemini, to: place).route == .command("nc %h %p"))
    }

    @Test func exemptionsOfTheSettingsAreForAllProxies() throws {
        let place = Endpoint(host: "a.test", port: 1, security: .none)
        var settings = ProxySettings.environment(["all_proxy": "http://p.test", "no_proxy": "*"])
        // Empty, they stand instead of the environment's.
        settings.exemptions = ""
        #expect(try settings.choice(for: gemini, to: place).route.isDirect == false)
        settings.exemptions = "b.test,a.test"
        for source in [
            ProxySettings.Source.environment, .command("x"),
            .proxy(Proxy(.http, host: "p.test", port: 1)),
        ] {
            settings.source = source
            let choice = try settings.choice(for: gemini, to: place)
            #expect(choice.reason == .exemption(variable: nil, entry: "a.test"))
            #expect(choice.route == .direct)
        }
        settings.source = .none
        #expect(try settings.choice(for: gemini, to: place).reason == nil)
    }

    @Test(arguments: wrong)
    func aVariableThatMakesNoSenseIsNamed(_ value: String) {
        let error = #expect(throws: FetchError.self) { try choice("gemini", ["ALL_PROXY": value]) }
        #expect(error?.outcome == .usage)
        #expect(error?.message.hasPrefix("ALL_PROXY: ") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("secret") == false)
    }

    @Test func whatCannotGoThroughAProxyIsRefused() throws {
        let place = Endpoint(host: "a.test", port: 1, security: .none)
        var settings = ProxySettings.environment(["all_proxy": "http://p.test"])
        let datagrams = scheme("udp", canUseProxy: false)
        let error = #expect(throws: FetchError.self) {
            try settings.choice(for: datagrams, to: place)
        }
        #expect(error?.outcome == .usage && error?.message.contains("all_proxy") == true)
        settings.exemptions = "a.test"
        #expect(try settings.choice(for: datagrams, to: place).route == .direct)
    }

    // MARK: Isolation

    @Test func isolationIsKeptOrRefused() throws {
        func isolation(
            _ url: String, _ host: String, _ change: (inout ProxySettings) -> Void
        ) throws -> Proxy.Isolation? {
            var settings = ProxySettings.through(url)
            change(&settings)
            let place = Endpoint(host: host, port: 1, security: .none)
            let choice = try settings.choice(for: gemini, to: place)
            guard case .proxy(let proxy) = choice.route else { return nil }
            return proxy.isolation
        }
        #expect(try isolation("socks5h://p", "a.test") { _ in } == Proxy.Isolation.none)
        #expect(try isolation("socks5h://p", "a.OnIoN.") { _ in } == .preferred)
        #expect(try isolation("socks5h://u:p@p", "a.onion") { _ in } == Proxy.Isolation.none)
        #expect(try isolation("socks5h://p", "a.i2p") { _ in } == Proxy.Isolation.none)
        #expect(try isolation("http://p", "a.onion") { _ in } == Proxy.Isolation.none)
        #expect(try isolation("tor://", "a.test") { _ in } == .required)
        for kind in ["socks4", "socks4a", "socks5", "socks5h"] {
            #expect(try isolation("\(kind)://p", "a.test") { $0.isolates = true } == .required)
        }
        let refusals: [(String, Outcome, @Sendable (inout ProxySettings) -> Void)] = [
            ("http://p", .proxy, { _ in }), ("https://p", .proxy, { _ in }),
            ("", .usage, { _ in }), ("socks5h://u:p@p", .usage, { _ in }),
            ("socks5h://p", .usage, { $0.credentials = .init(user: "u", password: "p") }),
            ("socks5h://p", .usage, { $0.exemptions = "*" }),
            ("socks5h://p", .usage, { $0.source = .command("x") }),
            ("socks5h://p", .usage, { $0.source = .none }),
        ]
        for (url, outcome, change) in refusals {
            let error = #expect(throws: FetchError.self) {
                try isolation(url, "a.test") {
                    $0.isolates = true
                    change(&$0)
                }
            }
            #expect(error?.outcome == outcome, "\(url)")
        }
    }

    @Test func credentialsOfTheURLCountMore() throws {
        var settings = ProxySettings.through("http://u:p@p")
        settings.credentials = .init(user: "joe", password: "secret")
        let place = Endpoint(host: "a.test", port: 1, security: .none)
        guard case .proxy(let own) = try settings.choice(for: gemini, to: place).route else {
            Issue.record("no proxy")
            return
        }
        #expect(own.credentials == .init(user: "u", password: "p"))
        settings.source = .proxy(Proxy(.http, host: "p", port: 1))
        guard case .proxy(let other) = try settings.choice(for: gemini, to: place).route else {
            Issue.record("no proxy")
            return
        }
        #expect(other.credentials == settings.credentials)
    }

    // MARK: Hidden networks

    @Test(arguments: [
        ("a.onion", HiddenNetwork.tor), ("a.ONION", .tor), ("a.Onion.", .tor), ("a.b.onion", .tor),
        ("a.i2p", .i2p), ("A.I2P.", .i2p), ("onion", nil), ("onion.", nil), ("a.onion.test", nil),
        ("aonion", nil), ("a.onionx", nil), ("i2p", nil), ("127.0.0.1", nil), ("::1", nil),
        ("", nil), (".", nil),
    ])
    func aNameTellsItsNetwork(_ host: String, _ network: HiddenNetwork?) {
        #expect(HiddenNetwork(host: host) == network)
    }

    // MARK: Commands

    @Test(arguments: [
        ("nc %h %p", "nc 'a.test' 70"), ("a%%b", "a%b"), ("%%h", "%h"), ("%h%p", "'a.test'70"),
        ("", ""), ("plain", "plain"), ("%%%h", "%'a.test'"),
    ])
    func aCommandGetsHostAndPort(_ command: String, _ expected: String) throws {
        let place = Endpoint(host: "a.test", port: 70, security: .none)
        #expect(try CommandCarrier.expanded(command, place) == expected)
    }

    @Test(arguments: ["%", "nc %", "%x", "%H", "% h", "a%"])
    func aCommandWithAnotherPercentSignIsRefused(_ command: String) {
        let place = Endpoint(host: "a.test", port: 70, security: .none)
        let error = #expect(throws: FetchError.self) {
            try CommandCarrier.expanded(command, place)
        }
        #expect(error?.outcome == .usage)
    }

    @Test(arguments: [
        "a'b", "$(id)", "`id`", "a;id", "a\nid", "'", "''", "\\'", "a b", "%p", "::1",
    ])
    func aHostIsOneWordForTheShell(_ host: String) throws {
        let place = Endpoint(host: host, port: 70, security: .none)
        let text = try CommandCarrier.expanded("%h", place)
        // All but the quotes themselves is within quotes.
        let expected = host.split(separator: "'", omittingEmptySubsequences: false)
        #expect(text == "'" + expected.joined(separator: "'\\''") + "'")
    }
}
