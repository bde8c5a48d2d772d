// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// Values with secrets, printed, dumped and logged in every way there is.
@Suite struct DescriptionTests {
    private static let word = "s3cret-w0rd"
    private static let bytes = Array(word.utf8)
    /// The word as text, as bytes, and in Base64.
    private static let forms = [
        word, bytes.map(String.init).joined(separator: ", "), "s3cret", "c3Nl", "czNjcmV0",
        bytes.map { String($0, radix: 16) }.joined(),
    ]

    private struct Enclosing {
        let value: Any
        let list: [Any]
        let members: [String: Any]
        let result: Result<Any, FetchError>
        let pair: (Int, Any?)
    }

    /// Everything that shows a value, by its name.
    private static func shown(_ value: Any) -> [(way: String, text: String)] {
        let enclosing = Enclosing(
            value: value, list: [value], members: ["a": value], result: .success(value),
            pair: (1, value))
        func printed(_ value: Any) -> [(String, String)] {
            var (plain, debug, dumped) = ("", "", "")
            print(value, to: &plain)
            debugPrint(value, to: &debug)
            dump(value, to: &dumped)
            // It has one number a line.
            let numbers = dumped.matches(of: /- (\d+)\n/).map(\.output.1)
            dumped += numbers.joined(separator: ", ")
            return [
                ("print", plain), ("debugPrint", debug), ("dump", dumped),
                ("describing", String(describing: value)),
                ("reflecting", String(reflecting: value)), ("interpolation", "\(value)"),
            ]
        }
        return printed(value).map { ($0.0, $0.1) }
            + printed(enclosing).map { ("\($0.0) of what encloses it", $0.1) }
            + printed(Optional<Any>.some([value]) as Any)
            .map { ("\($0.0) of an optional array", $0.1) }
    }

    private static func values() throws -> [Any] {
        let uri = try URI(parsing: "gemini://me:\(word)@h.test/a")
        var options = Request.Options()
        options["token"] = .secret(bytes)
        options["header"] = .list(["Authorization: Basic \(word)", "X-Own: \(word)", "Accept: a/b"])
        options["referer"] = .text(uri.description)
        var request = Request(
            uri: uri, scheme: try #require(Registry.builtIn["gemini"]?.scheme), input: bytes)
        (request.options, request.isInputSecret) = (options, true)
        request.upload = .init(bytes)
        request.programSecrets = [bytes]
        request.validator = .init("tag", of: uri)
        var carried = Request.Carried(options)
        carried.input = bytes
        var run = RunRequest(uri.description, input: word)
        run.options = options
        run.upload = .init(bytes)
        run.identity = try identity()
        var http = HTTPOptions()
        http.fields = [HTTPField("Cookie", word)]
        http.body = bytes
        var reply = HTTPReply()
        reply.add(line: Array("Set-Cookie: \(word)\r\n".utf8))
        var head = reply.head(.success, method: "GET", factName: "http")
        head.header = reply.fields.bytes
        var redirect = Ending.Redirect(status: 30, from: uri, to: uri, isPermanent: false)
        redirect.header = head.header
        let ending = Ending(
            outcome: .ok, completeness: .complete, uri: uri, head: head, bodyBytes: 1)
        let proxy = try Proxy(parsing: "socks5://me:\(word)@h.test:1")
        var proxies = ProxySettings()
        (proxies.source, proxies.credentials) = (.proxy(proxy), proxy.credentials)
        proxies.environment = ["http_proxy": "http://me:\(word)@h.test"]
        var command = ProxySettings()
        command.source = .command("ssh \(word)")
        var client = Client.Options()
        client.trust = TrustStore(path: "/nowhere")
        (client.proxies, client.identities.chosen) = (proxies, run.identity)
        let error = FetchError(.timeout, .input, "late").of(uri.description)
        var item = Item(kind: .link, text: "a", url: uri.description)
        item.target = bytes
        item.facts["a"] = .text(word)
        var facts = Facts()
        facts["a"] = .text(word)
        let endpoint = Endpoint(host: "h.test", port: 1, security: .tls)
        let events: [Event] = [
            .connecting(endpoint, address: "192.0.2.1:1"), .sent(bytes, method: "GET"),
            .redirect(redirect), .head(head), .facts(facts), .item(item), .body(bytes[...]),
            .diagnostics(bytes), .note(Note("own", uri.description)), .end(ending),
        ]
        let queue = RunQueue()
        try queue.push(run)
        return [
            options, options["token"] as Any, options["header"] as Any, request, carried, run, http,
            http.fields[0], try HTTPRequest(request, options: http), reply, reply.fields, head,
            redirect, ending, events, item, try Link(uri.description), proxy,
            try #require(proxy.credentials), proxies, command, command.source, client,
            try Client(options: client), try identity(), error, queue,
            try Client(options: client).events(request), uri,
        ]
    }

    private static func identity() throws -> ClientIdentity {
        let pem = try ClientIdentity.make(name: "me", now: 0)
        return try ClientIdentity(certificate: pem, key: pem, now: 0)
    }

    @Test func noSecretIsShownInAnyWay() throws {
        for value in try Self.values() {
            for (way, text) in Self.shown(value) {
                // The text of a URI is the whole URI.
                if value is URI, ["print", "describing", "interpolation"].contains(way) {
                    continue
                }
                let found = Self.forms.filter(text.contains)
                #expect(found.isEmpty, "\(way) of \(type(of: value)): \(text.prefix(400))")
            }
        }
    }

    /// The forms are found where they are not masked: this test could fail.
    @Test func aSecretWouldBeFound() {
        for value in [Self.word, Self.bytes, ["a": [Self.bytes]]] as [Any] {
            for (way, text) in Self.shown(value) {
                #expect(Self.forms.contains(where: text.contains), "\(way): \(text)")
            }
        }
    }

    @Test func whatIsNoSecretIsShown() throws {
        var options = Request.Options()
        options["token"] = .secret(Self.bytes)
        options["header"] = .list(["Accept: a/b", "X-Own: a"])
        options["symref"] = .flag(true)
        let shown = #"[header: ["Accept: a/b", "X-Own: ***"], symref: true, token: ***]"#
        #expect("\(options)" == shown)
        var request = Request(
            uri: try URI(parsing: "nex://h.test/a"),
            scheme: try #require(Registry.builtIn["nex"]?.scheme), input: [1, 2])
        request.options = options
        #expect("\(request)" == "nex://h.test/a, 2 bytes of input, \(options)")
        #expect("\(Proxy.Credentials(user: "me", password: "x"))" == "me:***")
        #expect("\(try Self.identity())".contains("CN=me"))
    }

    /// Page, result, connection and request are one line each.
    @Test func pageResultAndConnectionAreALine() async throws {
        let server = try LoopbackServer.capsule()
        let web = try Bench().web()
        let page = try await web.fetch(server.url("/1k"))
        let connection = try #require(page.ending.connection)
        var results: [FetchResult] = []
        for try await result in web.run([server.url("/1k")]) { results.append(result) }
        for value in [page, connection, results[0], try web.request(server.url("/"))] as [Any] {
            for (way, text) in Self.shown(value) where !way.contains("encloses") {
                #expect(text.utf8.count < 500, "\(way) of \(type(of: value)): \(text)")
                let isLine = !text.trimmingCharacters(in: .newlines).contains("\n")
                #expect(isLine || way.hasPrefix("dump of"), "\(text)")
            }
        }
        #expect("\(page.ending)" == "ok \(page.url)")
        #expect("\(page)".contains("/1k, ok, ") && "\(page)".contains("\(page.body.count) bytes"))
        #expect("\(results[0])" == "0: \(page)")
        #expect("\(connection)".contains("TLSv1.3, first-use"))
    }

    /// A server's text reaches no terminal by a print.
    @Test func controlCharactersAreEscaped() throws {
        var head = Head(.permanentFailure, meta: "\u{1B}[2J\u{202E}")
        head.status = 51
        let uri = try URI(parsing: "gemini://h.test/")
        let ending = Ending(
            outcome: .permanentFailure, completeness: .complete, uri: uri, head: head, bodyBytes: 0)
        let item = Item(kind: .link, text: "\u{1B}[2J\n\u{202E}", url: "nex://h.test/\u{1B}")
        let link = try Link("nex://h.test/", label: item.text)
        let events: [Event] = [
            .head(head), .item(item), .note(Note("own", item.text)),
            .body(Array("\u{1B}".utf8)[...]),
        ]
        for value in [head, ending, item, link] + events as [Any] {
            #expect(!"\(value)".contains("\n"))
            for (way, text) in Self.shown(value) {
                #expect(!text.contains("\u{1B}") && !text.contains("\u{202E}"), "\(way): \(text)")
            }
        }
    }
}
