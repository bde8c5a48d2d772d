// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebCore
import SmallWebPlugins
import SmallWebTestSupport
import SmallWebTesting
import Testing

@testable import SmallWebArchive

/// What is recorded of each way to ask, for other programs and for `plugin test`.
@Suite(.timeLimit(.minutes(30))) struct OtherReadersTests {
    private typealias Way = (url: String, change: (inout Request) -> Void)

    private static let upload = { @Sendable (request: inout Request) in
        request.upload = Request.Upload(Array("hello\n".utf8), mediaType: "text/plain")
    }

    /// Each way to ask each server, recorded into an archive.
    private func record(_ name: String) async throws -> (path: String, count: Int) {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID())-\(name)").path
        let writer = try ArchiveWriter(path, software: "test", commandLine: "")
        var options = Client.Options()
        options.trust = TrustStore(path: path + ".pins", policy: .skip)
        let client = try Client(options: options, network: .live.recorded(in: writer))
        let certificate = TestCertificate.make()
        let gemini = try LoopbackServer(tls: certificate, handler: DemoSites.gemini())
        let gopher = try LoopbackServer(handler: DemoSites.gopher)
        let gophers = try LoopbackServer(tls: certificate, handler: DemoSites.gopher)
        let finger = try LoopbackServer(handler: DemoSites.finger)
        let nex = try LoopbackServer(handler: DemoSites.nex)
        let spartan = try LoopbackServer(handler: DemoSites.spartan)
        let titan = try LoopbackServer(tls: certificate, handler: DemoSites.titan)
        let git = try LoopbackServer(handler: DemoSites.git)
        let http = try LoopbackServer(handler: DemoSites.web)
        let https = try LoopbackServer(tls: certificate, handler: DemoSites.web)
        func place(_ server: LoopbackServer) -> String { "127.0.0.1:\(server.port)" }
        let input = { (request: inout Request) in request.input = Array("two words".utf8) }
        let ways: [Way] = [
            ("gemini://\(place(gemini))/about", { _ in }),
            ("gemini://\(place(gemini))/about", { $0.wantsHeadAlone = true }),
            ("gemini://\(place(gemini))/input", input),
            ("gemini://\(place(gemini))/status/51", { _ in }),
            ("gemini://\(place(gemini))/truncated", { _ in }),
            ("gopher://\(place(gopher))/0/dots.txt", { _ in }),
            ("gopher://\(place(gopher))/0/about.txt", { $0.wantsRawBody = true }),
            ("gopher://\(place(gopher))/", { _ in }),
            ("gopher://\(place(gopher))/1/", { $0.wantsItems = false }),
            ("gopher://\(place(gopher))/7/search", input),
            ("gopher://\(place(gopher))/9/big/3000", { _ in }),
            ("gophers://\(place(gophers))/0/about.txt", { _ in }),
            ("finger://\(place(finger))/ada", { _ in }), ("nex://\(place(nex))/", { _ in }),
            ("spartan://\(place(spartan))/", { _ in }),
            ("spartan://\(place(spartan))/echo", input),
            ("spartan://\(place(spartan))/echo?words", { _ in }),
            ("spartan://\(place(spartan))/echo", Self.upload),
            ("titan://\(place(titan))/a", Self.upload),
            (
                "titan://\(place(titan))/b",
                { $0.upload = Request.Upload([], mediaType: "text/gemini") }
            ),
            (
                "titan://\(place(titan))/c",
                { request in
                    Self.upload(&request)
                    request.options["mime"] = .text("text/x-own")
                }
            ),
            ("git://\(place(git))/demo.git", { _ in }),
            ("git://\(place(git))/demo.git", { $0.referencePatterns = [] }),
            ("git://\(place(git))/demo.git//docs/guide.md?ref=v1", { _ in }),
            ("git://\(place(git))/demo.git//docs/guide.md?ref=v1", { _ in }),
            ("git://\(place(git))/demo.git//docs/", { _ in }),
            ("git://\(place(git))/demo.git?log", { _ in }),
            ("http://\(place(http))/about", { _ in }), ("https://\(place(https))/about", { _ in }),
            ("http://\(place(http))/redirect/1", { _ in }),
            ("git+http://\(place(http))/demo.git//docs/guide.md?ref=v1", { _ in }),
            ("gemini://127.0.0.1:1/refused", { _ in }), ("http://127.0.0.1:1/refused", { _ in }),
        ]
        for way in ways {
            var request = try client.request(way.url)
            way.change(&request)
            _ = try? await client.fetch(request)
        }
        return (path, ways.count { !$0.url.contains("http") && !$0.url.contains("refused") })
    }

    /// For pywb and cdxj-indexer metadata are a page unless their media type is this one, exactly.
    @Test(arguments: ["a.warc", "a.warc.gz"])
    func metadataAreNotPages(_ name: String) async throws {
        let path = try await record(name).path
        let reader = try WarcReader(path)
        var kinds: [String: Int] = [:]
        while let header = try reader.next() {
            guard !["request", "response", "revisit"].contains(header.type) else { continue }
            #expect(header["content-type"] == "application/warc-fields", "\(header.fields)")
            let text = String(decoding: try reader.block(upTo: 1 << 20), as: UTF8.self)
            for line in text.split(separator: "\r\n") {
                #expect(line.wholeMatch(of: /[A-Za-z]+: .*/) != nil, "\(line)")
            }
            kinds[header.kind ?? "", default: 0] += 1
            #expect(text.hasSuffix("\r\n") && !text.contains("\n\r\n"))
            guard let kind = header["smallweb-kind"] else { continue }
            #expect(text.hasPrefix("\(kind): "))
            let json = WarcHeader.json(of: Array(text.utf8))
            #expect(throws: Never.self) { try JSONValue.parse(json) }
        }
        #expect(
            Set(kinds.keys) == ["application/warc-fields", "turns", "exchange", "certificates"])
        #expect(kinds["exchange"] ?? 0 > 30 && kinds["certificates"] == 4, "\(kinds)")
        #expect(throws: Never.self) { try ArchiveCheck(path) }
    }

    /// Also those of an archive without requests, as others write it.
    @Test(arguments: [false, true])
    func everyWayBecomesAFixtureThatPasses(_ isForeign: Bool) async throws {
        let (path, count) = try await record("a.warc")
        if isForeign {
            let text = String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
            let records = text.components(separatedBy: "WARC/1.1\r\n").filter {
                $0.contains("WARC-Type: response") && !$0.contains("/git")
                    && !$0.contains("titan:") && !$0.contains("/input") && !$0.contains("/search")
                    && !$0.contains("/echo") && !$0.contains("git:")
            }
            #expect(records.count > 10)
            try Data(records.map { "WARC/1.1\r\n" + $0 }.joined().utf8).write(
                to: URL(filePath: path))
        }
        let loop = try LoopThread()
        var (fixtures, skipped) = ([(String, [UInt8])](), [String]())
        try await WireConversion(.builtIn).forEachFixture(of: path, on: loop.loop) {
            skipped.append($0)
        } _: { name, text in
            fixtures.append((name, text))
        }
        #expect(skipped.allSatisfy { $0.hasPrefix("http") }, "\(skipped)")
        if !isForeign { #expect(fixtures.count == count, "\(fixtures.map(\.0))") }
        for (name, text) in fixtures {
            let words = String(decoding: text, as: UTF8.self)
            let scheme = try #require(words.firstMatch(of: /url +([a-z]+):/)).1
            // It has seen the same objects before, which must not matter.
            let plugin = try #require(Registry.builtIn[String(scheme)]?.handler)
            #expect(
                await FixtureTest(plugin: plugin).passes(name, text, on: loop.loop), "\(words)")
        }
    }

    /// The reply of an old server is recorded as it came.
    @Test(arguments: ["1.0", "1.1"])
    func aReplyKeepsItsVersion(_ version: String) async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).warc").path
        let reply = "HTTP/\(version) 200 Fine\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc"
        let server = try LoopbackServer { peer in
            _ = WebRequest(from: peer)
            peer.write(reply)
        }
        let url = "http://127.0.0.1:\(server.port)/"
        do {
            let writer = try ArchiveWriter(path, software: "test", commandLine: "")
            let client = try Client(network: .live.recorded(in: writer))
            #expect(try await client.fetch(url).text == "abc")
        }
        let archive = String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
        #expect(archive.contains("\r\n\r\n" + reply + "\r\n\r\n"))
        #expect(archive.contains("WARC-Protocol: http/\(version)\r\n"))
        let page = try await Client(network: .replaying([path])).fetch(url)
        #expect(page.text == "abc")
        #expect(throws: Never.self) { try ArchiveCheck(path) }
    }

    // MARK: Dates

    @Test(arguments: [
        ("2026-11-27T22:11:48Z", 1_795_817_508_000_000),
        ("2026-11-27T22:11:48.5Z", 1_795_817_508_500_000),
        ("2026-11-27T22:11:48.000042Z", 1_795_817_508_000_042),
        ("2026-11-27T22:11:48.123456789Z", 1_795_817_508_123_456),
        ("2026-11-27", 1_795_737_600_000_000), ("2026-11-27T22:11Z", 1_795_817_460_000_000),
        ("2026-11", 1_793_491_200_000_000), ("2026", 1_767_225_600_000_000), ("", nil),
        ("yesterday", nil), ("2026-13-01T00:00:00Z", nil),
    ])
    func datesOfAnyPrecisionAreTimes(_ date: String, _ time: Int?) throws {
        let text = TestArchive.record("response", "http://h.test/", "", date: date)
        let header = try #require(try WarcHeader.parse(Array(text.utf8)[...])).header
        #expect(header.time == time)
    }

    /// The last played, and played again, is the latest, wherever it is.
    @Test func recordingsArePlayedInTheOrderOfTheirTimes() async throws {
        let url = "gopher://h.test/0/a"
        func page(_ text: String, _ date: String) -> String {
            TestArchive.record("request", url, "/a\r\n", id: "q\(text)", date: date)
                + TestArchive.record(
                    "response", url, "\(text)\r\n.\r\n", id: text,
                    ["WARC-Concurrent-To: <urn:uuid:q\(text)>"], date: date)
        }
        let archive = try TestArchive(
            page("c", "2026-01-01T00:00:00.9Z") + page("a", "2025-12-31T00:00:00Z")
                + page("b", "2026-01-01T00:00:00.85Z"))
        for _ in 0..<2 {
            let client = try archive.client()
            var texts = ""
            for _ in 0..<4 { texts += try await client.fetch(url).text.prefix(1) }
            #expect(texts == "abcc")
            _ = try CaptureIndex.update(archive.path)
        }
    }

    // MARK: Padding

    /// Blank lines and zeros hide no record: a list and an index are whole all the same.
    @Test(
        arguments: ["\r\n", "\n\n\n", "\0", String(repeating: "\0", count: 70_000)], [false, true])
    func paddingIsNoLoss(_ padding: String, _ isCompressed: Bool) async throws {
        let urls = ["a", "b"].map { "http://h.test/\($0)" }
        let records = try urls.map { url in
            let page = Array(TestArchive.page(url, String(url.suffix(1))).utf8)
            return isCompressed ? try TestArchive.gzip(page) : page
        }
        let pad = Array(padding.utf8)
        for bytes in [records[0] + pad + records[1], records[0] + records[1] + pad] {
            let archive = try TestArchive(bytes)
            let reader = try WarcReader(archive.path)
            var targets: [String?] = []
            while let header = try reader.nextWhole() { targets.append(header.target) }
            #expect(targets == urls && reader.damage != nil && !reader.hasLoss)
            #expect(try CaptureIndex.update(archive.path) == 2)
            #expect(try await archive.get(urls[0], urls[1]) == ["a", "b"])
            #expect(archive.fault?.contains("at byte ") ?? false)
        }
        let torn = try WarcReader(try TestArchive(records[0] + records[1].dropLast(9)).path)
        while try torn.nextWhole() != nil {}
        #expect(torn.hasLoss)
    }

    /// A record that ends with one line end, as some programs write it, is whole.
    @Test func oneLineEndBehindARecordIsPassedOver() async throws {
        let pages = ["a", "b"].map { TestArchive.page("http://h.test/\($0)", $0) }
        let archive = try TestArchive(String(pages[0].dropLast(1)) + pages[1])
        #expect(try await archive.get("http://h.test/a", "http://h.test/b") == ["a", "b"])
        #expect(archive.complaints.count == 1 && archive.fault != nil)
    }
}
