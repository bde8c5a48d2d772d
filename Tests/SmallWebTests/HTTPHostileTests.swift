// SPDX-License-Identifier: MIT
import SmallWeb
import SmallWebTesting
import SmallWebTestSupport
import SmallWebTransport
import Synchronization
import Testing

/// Servers that break HTTP's rules, or whose replies do not fit the request.
@Suite(.timeLimit(.minutes(30)))
struct HTTPHostileTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    /// A server that answers each request with the same bytes and closes.
    private func server(_ reply: String) throws -> LoopbackServer {
        try LoopbackServer { peer in
            guard WebRequest(from: peer) != nil else { return }
            peer.write(reply)
        }
    }

    private func play(
        _ reply: String, request change: (inout Request) -> Void = { _ in }
    ) async throws -> Played {
        let server = try server(reply)
        defer { server.stop() }
        return await bench.play(server.url("/", scheme: "http"), request: change)
    }

    private static let chunked =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"

    // MARK: Without end

    /// Bounds the data that libcurl buffers until a transfer ends, or reads in one go.
    @Test(arguments: [
        (chunked + "0\r\n", "X-T: y\r\n"), (chunked + "0\r\nX-T: y\r\n", " folded\r\n"),
        (chunked + "0\r\nX-T: ", "y"), ("HTTP/1.1 200 OK\r\nX: y\r\n", " folded\r\n"),
        ("", "HTTP/1.1 100 Continue\r\n\r\n"), ("", "HTTP/1.1 103 Hints\r\nLink: </a>\r\n\r\n"),
    ])
    func noHeaderAndNoTrailersGoOnForEver(_ start: String, _ rest: String) async throws {
        let piece = Array(String(repeating: rest, count: 65_536 / rest.utf8.count).utf8)
        let written = Mutex(0)
        let endless = try LoopbackServer { peer in
            guard WebRequest(from: peer) != nil else { return }
            peer.write(start)
            while peer.write(piece) { written.withLock { $0 += piece.count } }
        }
        let played = await bench.play(endless.url("/", scheme: "http"))
        #expect(played.error?.outcome == .protocolError, "\(played.result)")
        // More than the kernel's buffers hold.
        #expect(written.withLock { $0 } < 64 << 20)
        #expect(endless.clientSockets == 0)
    }

    @Test func trailersWithinTheBoundsOfAHeaderAreFine() async throws {
        let trailers = (0..<500).map { "X-\($0): y\r\n" }.joined()
        let played = try await play(Self.chunked + "0\r\n" + trailers + "\r\n")
        #expect(played.outcome == .ok, "\(played.result)")
        #expect(played.text == "hello")
    }

    // MARK: Never a bug of ours

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nA\rB: c\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 101 Other\r\nA\rB: c\r\n\r\n", "HTTP/1.1 103 Hints\r\nA\rB: c\r\n\r\n",
        chunked + "0\r\nA\rB: c\r\n\r\n", chunked + "0\r\nno field\r\n\r\n",
        chunked + "0\r\n\rX: y\r\n\r\n", chunked + "5\r\nhelloxy",
        chunked + "0\r\nX\0: y\r\n\r\n", chunked + "ffffffffffffffffff\r\n",
    ])
    func aBrokenReplyIsTheServersFault(_ reply: String) async throws {
        let broken = try server(reply)
        let played = await bench.play(broken.url("/", scheme: "http"))
        #expect(played.outcome == .protocolError, "\(played.result)")
        #expect(played.error?.message.contains("libcurl function") != true)
        let proxied = await bench.play("http://name.test/") { _ in
        } options: {
            $0.proxies = .through(broken.url("", scheme: "http"))
        }
        #expect(proxied.outcome == played.outcome, "\(proxied.result)")
        let tunnelled = await bench.play("https://name.test/") { _ in
        } options: {
            $0.proxies = .through(broken.url("", scheme: "http"))
        }
        #expect(tunnelled.error != nil && tunnelled.outcome != .internal, "\(tunnelled.result)")
    }

    /// For the address sanitizer: nothing is left of a transfer that was never begun.
    @Test func aConsumerMayRefuseBeforeTheTransferBegins() async throws {
        let fetcher = bench.fetcher()
        let request = try fetcher.request("http://127.0.0.1:1/")
        for _ in 0..<100 {
            let error = await #expect(throws: FetchError.self) {
                try await fetcher.run(request) { _ throws(FetchError) in throw .cancelled }
            }
            #expect(error?.outcome == .interrupted)
        }
    }

    // MARK: Ranges

    private func resume(_ header: String, _ body: String, from offset: Int?) async throws -> Played
    {
        let reply = "HTTP/1.1 206 Partial Content\r\n\(header)\r\n\r\n\(body)"
        return try await play(reply) {
            $0.http.resumeOffset = offset
        }
    }

    @Test(arguments: [
        "X-No: range", "Content-Range: bytes 5-6/7", "Content-Range: bytes 4-3/100",
        "Content-Range: bytes 3-4/5", "Content-Range: bytes 4-6/6", "Content-Range: bytes 4-/7",
        "Content-Range: bytes 4", "Content-Range: bytes 4-6", "Content-Range: bytes 4-6/",
        "Content-Range: bytes 4-6/7/8", "Content-Range: bytes -4-6/7", "Content-Range: 4-6/7",
        "Content-Range: lines 4-6/7", "Content-Range: bytes 4-99999999999999999999/*",
        "Content-Range: bytes */7", "Content-Type: multipart/byteranges; boundary=x",
        "Content-Range: bytes 4-5/7\r\nContent-Length: 3",
    ])
    func aPartThatDoesNotFitIsAProtocolError(_ header: String) async throws {
        let played = try await resume(header, "efg", from: 4)
        #expect(played.error?.outcome == .protocolError, "\(played.result)")
        #expect(played.body == [], "a file would be spoilt")
    }

    @Test func aPartThatTurnsOutTooLongEndsWhereItsRangeDoes() async throws {
        let chunked = "Content-Range: bytes 4-5/6\r\nTransfer-Encoding: chunked"
        let played = try await resume(chunked, "2\r\nef\r\n1\r\ng\r\n0\r\n\r\n", from: 4)
        #expect(played.error?.outcome == .protocolError, "\(played.result)")
        #expect(played.body.count <= 2)
    }

    @Test(arguments: [
        ("bytes 4-5/100", "ef", Outcome.truncated), ("bytes 4-6/7", "ef", .truncated),
        ("bytes 4-6/7", "efg", .ok), ("Bytes 4-6/*", "efg", .ok),
        ("bytes 4-7/*", "efg", .truncated),
    ])
    func aPartIsTheRestOnlyIfItReachesTheEnd(
        _ range: String, _ body: String, _ outcome: Outcome
    ) async throws {
        for length in ["Content-Length: \(body.utf8.count)", "Connection: close"] {
            let header = "Content-Range: \(range)\r\n\(length)"
            let played = try await resume(header, body, from: 4)
            #expect(played.outcome == outcome, "\(played.result)")
            #expect(played.text == body)
        }
    }

    /// A 206 that was not asked for may be the whole all the same, as a few servers send it.
    @Test(arguments: [
        ("Content-Range: bytes 0-2/3", Outcome.ok), ("Content-Range: bytes 0-2/9", .truncated),
        ("Content-Range: bytes 6-8/9", .protocolError), ("X-No: range", .protocolError),
    ])
    func aPartThatWasNotAskedForIsNotTheWhole(_ header: String, _ outcome: Outcome) async throws {
        let played = try await resume(header, "abc", from: nil)
        #expect(played.outcome == outcome, "\(played.result)")
    }

    @Test func aRangeByFieldIsTheUsersOwn() async throws {
        let reply = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 6-8/9\r\n\r\nghi"
        let played = try await play(reply) {
            $0.http.fields = [HTTPField("Range", "bytes=-3")]
        }
        #expect(played.outcome == .ok)
    }

    @Test func aServerThatBeginsAnewRefuses() async throws {
        let whole = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"
        let played = try await play(whole) { $0.http.resumeOffset = 2 }
        #expect(played.error?.outcome == .permanentFailure)
        #expect(played.body == [])
    }

    // MARK: Several at once

    /// Each answer waits for all requests.
    @Test func plainFetchesDoNotWaitForEachOther() async throws {
        let count = 4
        let asked = Monitor(0)
        let slow = try LoopbackServer { peer in
            guard WebRequest(from: peer) != nil else { return }
            asked.update { $0 += 1 }
            try? asked.wait(for: "all have asked") { $0 >= count ? () : nil }
            peer.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
        }
        let (bench, url) = (bench, slow.url("/", scheme: "http"))
        let outcomes = await withTaskGroup(of: Outcome?.self) { group in
            for _ in 0..<count { group.addTask { await bench.play(url).outcome } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        asked.update { $0 = count }
        #expect(outcomes == Array(repeating: .ok, count: count))
    }
}
