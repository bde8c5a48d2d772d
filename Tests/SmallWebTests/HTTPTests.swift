// SPDX-License-Identifier: MIT
import Glibc
import SmallWeb
import SmallWebTesting
import SmallWebTestSupport
import SmallWebTransport
import Testing

/// The demo site, plain or over TLS, with the requests it received.
final class Web: Sendable {
    let server: LoopbackServer
    let certificate: TestCertificate?
    private let noted = Recorder<WebRequest>()
    /// The certificate as an authority; empty without TLS.
    let authorityFile: String

    init(
        tls certificate: TestCertificate? = nil, versions: ClosedRange<Int32>? = nil
    ) throws {
        self.certificate = certificate
        server = try LoopbackServer(
            tls: certificate, versions: versions ?? TLSVersion.two...TLSVersion.three,
            handler: DemoSites.web(noting: noted))
        guard let certificate else {
            authorityFile = ""
            return
        }
        var template = Array("/tmp/smallweb-authority-XXXXXX".utf8CString)
        let file = mkstemp(&template)
        guard file >= 0 else { throw SystemError(number: errno) }
        let bytes = Array(certificate.certificatePEM.utf8)
        write(file, bytes, bytes.count)
        close(file)
        authorityFile = String(decoding: template.dropLast().map(UInt8.init), as: UTF8.self)
    }

    deinit { if !authorityFile.isEmpty { unlink(authorityFile) } }

    var requests: [WebRequest] { noted.values }

    func url(_ path: String, host: String = "127.0.0.1") -> String {
        server.url(path, scheme: certificate == nil ? "http" : "https", host: host)
    }

    /// `/to/URL` for a redirect to `target`.
    func url(to target: String) -> String {
        url("/to/" + PercentEncoding.encode(Array(target.utf8)))
    }

    /// Options that trust this site's certificate.
    func trust(_ options: inout Fetcher.Options) { options.http.authorityFile = authorityFile }
}

/// Reads a sequence until the condition holds, then cancels its reader.
///
/// - Returns: The outcome of the error that ended it; nil when it ended without one.
func cancelling<Elements: AsyncSequence & Sendable>(
    _ elements: Elements, once condition: () -> Bool
) async throws -> Outcome? where Elements.Failure == FetchError {
    let task = Task { () -> Outcome? in
        do throws(FetchError) {
            for try await _ in elements {}
            return nil
        } catch {
            return error.outcome
        }
    }
    try await eventually("the condition of the reader's end holds", condition)
    task.cancel()
    return await task.value
}

extension Played {
    var text: String { String(decoding: body, as: UTF8.self) }
}

/// HTTP through the real engine, as long as the server behaves.
@Suite(.timeLimit(.minutes(30)))
struct HTTPTests {
    private let bench: Bench
    private let web: Web

    init() throws {
        bench = try Bench()
        web = try Web()
    }

    // MARK: Bodies

    @Test func aPageArrivesWithItsHead() async {
        let played = await bench.play(web.url("/1k"))
        #expect(played.outcome == .ok)
        #expect(played.body == DemoSites.page)
        #expect(played.heads.map(\.status) == [200])
        #expect(played.heads.first?.meta == "OK")
        #expect(played.heads.first?.mediaType?.description == "text/plain")
        #expect(played.ending?.completeness == .complete)
        #expect(played.ending?.bodyBytes == 1024)
        #expect(web.requests.map(\.target) == ["/1k"])
        #expect(web.requests.first?["user-agent"] == ["smallweb"])
    }

    @Test func eventsComeInTheirOrder() async {
        let played = await bench.play(
            web.url("/about"), options: { $0.http.reportsRequests = true })
        let names = played.events.map { event in
            switch event {
            case .connecting: "connecting"
            case .connected: "connected"
            case .sent: "sent"
            case .head: "head"
            case .body: "body"
            default: "other"
            }
        }
        #expect(names == ["connecting", "connected", "sent", "head", "body"])
        #expect(played.connections.first?.address == "127.0.0.1")
        #expect(played.connections.first?.port == web.server.port)
        let sent = played.events.compactMap {
            if case .sent(let bytes, _) = $0 { bytes } else { nil }
        }
        #expect(sent.first?.starts(with: Array("GET /about HTTP/1.1\r\n".utf8)) == true)
    }

    @Test func aLargeBodyIsByteForByteWhatWasSent() async {
        let played = await bench.play(web.url("/big/5000000"))
        #expect(played.ending?.bodyBytes == 5_000_000)
        #expect(DemoSites.isBlock(played.body[...], at: 0))
    }

    @Test(arguments: [
        ("/1k", Completeness.complete), ("/chunked", .complete), ("/empty", .complete),
        ("/status/204", .complete), ("/close-delimited", .unverified), ("/slow", .complete),
    ])
    func theEndIsAsGoodAsItsProof(_ path: String, _ completeness: Completeness) async {
        let played = await bench.play(web.url(path))
        #expect(played.outcome == .ok)
        #expect(played.ending?.completeness == completeness)
        let isEmpty = path == "/empty" || path == "/status/204"
        #expect(played.body == (isEmpty ? [] : DemoSites.page))
        #expect(played.heads.count == 1)
    }

    @Test(arguments: ["/1k", "/head-with-body", "/close-delimited", "/chunked"])
    func anAnswerToHeadHasNoBody(_ path: String) async {
        let played = await bench.play(web.url(path)) { $0.http.method = "HEAD" }
        #expect(played.outcome == .ok)
        #expect(played.body == [])
        #expect(played.ending?.completeness == .complete)
        #expect(web.requests.map(\.method) == ["HEAD"])
    }

    @Test func compressedBodiesAreDecodedAndRawOnesAreNot() async {
        let decoded = await bench.play(web.url("/gzip"))
        #expect(decoded.text == DemoSites.gzipText)
        #expect(decoded.ending?.completeness == .complete)
        #expect(web.requests.last?["accept-encoding"].first?.contains("gzip") == true)
        let raw = await bench.play(web.url("/gzip")) { $0.wantsRawBody = true }
        #expect(raw.body == DemoSites.gzipBytes)
        #expect(raw.ending?.completeness == .complete)
        #expect(web.requests.last?["accept-encoding"] == [])
    }

    @Test(arguments: ["/1xx", "/trickle"])
    func onlyTheFinalReplyCounts(_ path: String) async {
        let played = await bench.play(web.url(path))
        #expect(played.heads.map(\.status) == [200])
        #expect(played.heads.first?.fields?.all.contains { $0.name == "Link" } == false)
        #expect(played.heads.first?.header.starts(with: Array("HTTP/1.1 200".utf8)) == true)
        #expect(played.text == (path == "/1xx" ? "after the hints\n" : "hey"))
    }

    @Test func fieldsKeepTheirOrderAndRepeatedOnesAreKept() async {
        let played = await bench.play(web.url("/headers"))
        #expect(
            played.heads.first?.fields?.all.map { HTTPField($0.name, $0.value) } == [
                HTTPField("Set-Cookie", "a=1"), HTTPField("X-Between", "yes"),
                HTTPField("set-cookie", "b=2"), HTTPField("Set-Cookie", "a=3"),
                HTTPField("Content-Length", "0"),
            ])
    }

    // MARK: Requests

    @Test func methodFieldsAndBodyReachTheServer() async throws {
        _ = await bench.play(web.url("/echo?a=b")) {
            $0.http.method = "PUT"
            $0.http.body = Array("a body".utf8)
            $0.http.fields = [HTTPField("X-One", "1"), HTTPField("X-One", "2")]
        }
        let request = try #require(web.requests.first)
        #expect(request.method == "PUT")
        #expect(request.target == "/echo?a=b")
        #expect(request["x-one"] == ["1", "2"])
        #expect(request.body == Array("a body".utf8))
        #expect(request["expect"] == [])
    }

    @Test func inputIsPosted() async {
        let body = [UInt8](repeating: 0, count: 3) + DemoSites.block.prefix(300_000)
        let played = await bench.play(web.url("/echo")) { $0.input = body }
        #expect(played.outcome == .ok)
        #expect(web.requests.first?.method == "POST")
        #expect(web.requests.first?.body == body)
    }

    @Test func anEmptyInputIsAnEmptyPost() async {
        _ = await bench.play(web.url("/echo")) { $0.input = [] }
        #expect(web.requests.first?.method == "POST")
        #expect(web.requests.first?["content-length"] == ["0"])
    }

    @Test func aFieldWithoutValueRemovesOurs() async {
        _ = await bench.play(web.url("/echo")) {
            $0.http.fields = [HTTPField("User-Agent", ""), HTTPField("Accept", "")]
        }
        #expect(web.requests.first?["user-agent"] == [])
        #expect(web.requests.first?["accept"] == [])
    }

    @Test func aBodyIsResumedWhereItWasCut() async {
        let played = await bench.play(web.url("/big/5000")) { $0.http.resumeOffset = 2000 }
        #expect(played.heads.map(\.status) == [206])
        #expect(played.body.count == 3000)
        #expect(DemoSites.isBlock(played.body[...], at: 2000))
        #expect(web.requests.first?["range"] == ["bytes=2000-"])
        #expect(web.requests.first?["accept-encoding"] == [])
    }

    // MARK: Many at once

    @Test func oneConnectionServesSeveralFetches() async throws {
        for path in ["/1k", "/about", "/redirect/3", "/status/404", "/chunked", "/gzip", "/empty"] {
            _ = await bench.play(web.url(path))
        }
        #expect(web.requests.count == 10)
        #expect(web.server.clientSockets == 1)
        web.server.stop()
        #expect(web.server.connections.count == 1)
    }

    @Test func factsOfAReusedConnectionAreTheSame() async throws {
        let secure = try Web(tls: .make())
        let first = await bench.play(secure.url("/1k"), options: secure.trust)
        let second = await bench.play(secure.url("/1k"), options: secure.trust)
        #expect(first.connections.map(\.address) == second.connections.map(\.address))
        #expect(
            first.connections.map(\.tls?.version) == second.connections.map(\.tls?.version)
        )
        #expect(
            first.connections.map(\.tls?.certificate)
                == second.connections.map(\.tls?.certificate))
        #expect(first.connections.map(\.trust) == second.connections.map(\.trust))
        secure.server.stop()
        #expect(secure.server.connections.count == 1)
    }

    @Test func aThousandFetchesRunAtOnce() async throws {
        let web = web
        let door = try bench.web()
        // Each takes a descriptor at either end.
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let count = min(1000, Int(clamping: limit.rlim_cur) / 2 - 200)
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<count {
                group.addTask { try await door.fetch(web.url("/1k")).body }
            }
            for try await body in group { #expect(body == DemoSites.page) }
        }
        #expect(web.requests.count == count)
    }

    // MARK: Slow consumers

    @Test func aConsumerThatWaitsMakesTheServerWait() async throws {
        let (written, report) = AsyncStream<Int>.makeStream()
        let stalling = try LoopbackServer { peer in
            while peer.readLine().map({ $0.count > 2 }) == true {}
            peer.write("HTTP/1.0 200 OK\r\n\r\n")
            report.yield(peer.writeUntilBlocked(most: 1 << 30))
        }
        let limits = Limits(idle: .seconds(10), bodyBytesMax: nil)
        let iterator = try bench.web().events(stalling.url("/", scheme: "http"), limits: limits)
            .makeAsyncIterator()
        var received = 0
        while received == 0, let event = try await iterator.next() {
            if case .body(let bytes) = event { received += bytes.count }
        }
        var total = 0
        for await count in written {
            total = count
            break
        }
        // More than the kernel's buffers hold.
        #expect(total < 64 << 20)
        // And then it goes on to the very end.
        while let event = try await iterator.next() {
            if case .body(let bytes) = event { received += bytes.count }
        }
        #expect(received == total)
    }

    @Test func leavingTheSequenceClosesTheConnection() async throws {
        let events = try bench.web().events(web.url("/endless"), limits: .init(bodyBytesMax: nil))
        for try await event in events {
            if case .body = event { break }
        }
        try await eventually("the connection is over") { web.server.connections.count == 1 }
        #expect(web.server.clientSockets == 0)
    }

    // MARK: TLS

    @Test func theConnectionTellsWhatTLSAgreedOn() async throws {
        let certificate = TestCertificate.make(names: ["site.test"])
        let secure = try Web(tls: certificate)
        let played = await bench.play(secure.url("/1k", host: "site.test")) { _ in
        } options: {
            secure.trust(&$0)
            $0.resolver.overrides["site.test:\(secure.server.port)"] = ["127.0.0.1"]
        }
        #expect(played.outcome == .ok, "\(String(describing: played.error))")
        let connection = try #require(played.connections.first)
        let facts = try #require(connection.tls)
        #expect(connection.endpoint.host == "site.test")
        #expect(connection.address == "127.0.0.1")
        #expect(connection.trust?.verdict == .ca && connection.tls?.authority == .vouched)
        #expect(facts.version == "TLSv1.3")
        #expect(facts.serverName == "site.test")
        #expect(facts.certificate.sha256 == certificate.sha256)
        #expect(facts.certificate.spkiSHA256 == certificate.spkiSHA256)
        #expect(facts.certificate.matchesHost)
        secure.server.stop()
        #expect(secure.server.connections.first?.serverName == "site.test")
    }

    @Test func aPinStandsForAnAuthority() async throws {
        let certificate = TestCertificate.make()
        let secure = try Web(tls: certificate)
        let played = await bench.play(secure.url("/1k")) { _ in
        } options: {
            $0.judge(.pin(certificate.spkiSHA256))
        }
        #expect(played.outcome == .ok)
        #expect(played.connections.first?.trust?.verdict == .pinned)
    }

    @Test func trustCanBeSkipped() async throws {
        let secure = try Web(tls: .make(names: ["other.test"], ips: [], notAfter: 1_000_000_000))
        let played = await bench.play(secure.url("/1k"), options: { $0.judge(.skip) })
        #expect(played.outcome == .ok)
        #expect(played.connections.first?.trust?.verdict == .skipped)
        #expect(played.connections.first?.tls?.certificate.matchesHost == false)
    }
}
