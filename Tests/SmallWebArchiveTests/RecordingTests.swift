// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

@testable import SmallWebArchive

/// Fetches that are recorded, and replayed when the servers are gone.
@Suite(.timeLimit(.minutes(30))) struct RecordingTests {
    /// A client that records into `path`, until it is forgotten.
    private func recorder(
        _ path: String, _ change: (inout Client.Options) -> Void = { _ in }
    ) throws -> Client {
        let writer = try ArchiveWriter(path, software: "test", commandLine: "")
        var options = Client.Options()
        options.trust = TrustStore(path: path + ".pins")
        change(&options)
        return try Client(options: options, network: .live.recorded(in: writer))
    }

    private func replayer(
        _ path: String, _ change: (inout Client.Options) -> Void = { _ in }
    ) throws -> Client {
        var options = Client.Options()
        options.trust = TrustStore(path: path + ".known_hosts")
        change(&options)
        return try Client(options: options, network: .replaying([path]))
    }

    /// All that a page or a failure says.
    private func fetch(_ url: String, _ client: Client, bodyBytesMax: Int = 16 << 20) async
        -> String
    {
        do throws(FetchError) {
            let limits = Limits(bodyBytesMax: bodyBytesMax)
            let page = try await client.fetch(url, limits: limits)
            let head = "\(page.outcome.rawValue) \(page.url) \(String(describing: page.mediaType)) "
            return head + "\(page.items) \(page.body.hashValue)"
        } catch {
            return "\(error.outcome.rawValue) \(error.message)"
        }
    }

    private func newPath(_ name: String) throws -> String {
        let path = try TestArchive("").path
        try FileManager.default.removeItem(atPath: path)
        return String(path.dropLast("x.warc".count)) + name
    }

    private func content(_ path: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
    }

    @Test(arguments: ["a.warc", "a.warc.gz"])
    func aReplayIsTheSameWithoutServers(_ name: String) async throws {
        let (path, certificate) = (try newPath(name), TestCertificate.make())
        let gemini = try LoopbackServer(tls: certificate, handler: DemoSites.gemini())
        let gopher = try LoopbackServer(handler: DemoSites.gopher)
        let gophers = try LoopbackServer(tls: certificate, handler: DemoSites.gopher)
        let finger = try LoopbackServer(handler: DemoSites.finger)
        let nex = try LoopbackServer(handler: DemoSites.nex)
        let spartan = try LoopbackServer(handler: DemoSites.spartan)
        let git = try LoopbackServer(handler: DemoSites.git)
        let http = try LoopbackServer(handler: DemoSites.web)
        let urls = [
            "gemini://127.0.0.1:\(gemini.port)/redirect/2",
            "gemini://127.0.0.1:\(gemini.port)/status/51",
            "gopher://127.0.0.1:\(gopher.port)/0/dots.txt",
            "gopher://127.0.0.1:\(gopher.port)/9/big/3000000",
            "gophers://127.0.0.1:\(gophers.port)/", "finger://127.0.0.1:\(finger.port)/ada",
            "nex://127.0.0.1:\(nex.port)/", "spartan://127.0.0.1:\(spartan.port)/",
            "spartan://127.0.0.1:\(spartan.port)/status/5",
            // Only a list: requests for contents depend on the objects that the process has cached.
            "git://127.0.0.1:\(git.port)/demo.git",
            "http://127.0.0.1:\(http.port)/about", "http://127.0.0.1:\(http.port)/status/503",
            "gopher://127.0.0.1:1/0/refused",
        ]
        var live: [String] = []
        do {
            let recorder = try recorder(path)
            for url in urls { live.append(await fetch(url, recorder)) }
        }
        for server in [gemini, gopher, gophers, finger, nex, spartan, git, http] { server.stop() }
        #expect(throws: Never.self) { try ArchiveCheck(path) }
        let replayer = try replayer(path)
        for (url, found) in zip(urls, live) {
            let again = await fetch(url, replayer)
            #expect(again == found, "\(url)")
        }
        #expect(await fetch(urls[0] + "/other", replayer).hasPrefix("not-recorded no recording"))
        #expect(!FileManager.default.fileExists(atPath: path + ".known_hosts"))
    }

    @Test(arguments: ["http", "socks5h"])
    func whatIsSaidToAProxyIsNotRecorded(_ kind: String) async throws {
        let path = try newPath("a.warc")
        let proxy = try DemoProxy(.init(takesUsers: kind != "http"))
        let hole = try LoopbackServer(handler: DemoSites.gopher)
        let web = try LoopbackServer(handler: DemoSites.web)
        let urls = [
            "gopher://127.0.0.1:\(hole.port)/0/about.txt", "http://example.org:\(web.port)/about",
        ]
        let through = { (options: inout Client.Options) in
            options.proxies = .through(proxy.url(kind, user: "joe:hidden@"))
        }
        var live: [String] = []
        do {
            let recorder = try recorder(path, through)
            for url in urls { live.append(await fetch(url, recorder)) }
        }
        #expect(live.allSatisfy { $0.hasPrefix("ok ") }, "\(live)")
        web.stop()
        let archive = try content(path)
        for word in ["hidden", "CONNECT", "Proxy-", "GET http", "am9lOmhpZGRlbg"] {
            #expect(!archive.contains(word), "\(word)")
        }
        #expect(archive.contains("GET /about HTTP/1.1"))
        // The proxy has looked up the name of the second one.
        #expect(archive.components(separatedBy: "WARC-IP-Address: ").count <= 3)
        #expect(!archive.components(separatedBy: "example.org").last!.contains("WARC-IP-Address"))
        for client in [try replayer(path), try replayer(path, through)] {
            for (url, found) in zip(urls, live) { #expect(await fetch(url, client) == found) }
        }
    }

    @Test func failuresAndCutsAreReplayed() async throws {
        let path = try newPath("a.warc")
        let capsule = try LoopbackServer(tls: .make(), handler: DemoSites.gemini())
        let silent = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write(Array("half".utf8))
            peer.hang()
        }
        let big = "gemini://127.0.0.1:\(capsule.port)/1k"
        let slow = "gopher://127.0.0.1:\(silent.port)/9/x"
        do {
            let recorder = try recorder(path)
            #expect(await fetch(big, recorder, bodyBytesMax: 100).hasPrefix("too-large"))
            var limits = Limits()
            limits.idleSeconds = 0.3
            let most = limits
            let error = await #expect(throws: FetchError.self) {
                try await recorder.fetch(slow, limits: most)
            }
            #expect(error?.outcome == .timeout)
        }
        silent.stop()
        capsule.stop()
        let archive = try content(path)
        #expect(archive.contains("WARC-Truncated: length"))
        #expect(archive.contains("WARC-Truncated: time"))
        let replayer = try replayer(path)
        #expect(await fetch(big, replayer).hasPrefix("too-large"))
        let body = Locked<[UInt8]>([])
        let error = await #expect(throws: FetchError.self) {
            for try await event in replayer.events(slow) {
                if case .body(let bytes) = event { body.withLock { $0 += bytes } }
            }
        }
        #expect(error?.outcome == .timeout && body.withLock { $0 } == Array("half".utf8))
    }

    @Test func theSamePageIsWrittenOnce() async throws {
        let path = try newPath("a.warc")
        let hole = try LoopbackServer(handler: DemoSites.gopher)
        let url = "gopher://127.0.0.1:\(hole.port)/9/big/100000"
        for _ in 1...2 { _ = try await recorder(path).fetch(url) }
        let archive = try content(path)
        #expect(try Data(contentsOf: URL(filePath: path)).count < 150_000)
        #expect(archive.contains("WARC-Type: revisit"))
        #expect(throws: Never.self) { try ArchiveCheck(path) }
        let replayer = try replayer(path)
        let bodies = [try await replayer.fetch(url).body, try await replayer.fetch(url).body]
        #expect(bodies[0].count == 100_000 && bodies[0] == bodies[1])
    }

    /// A server's fault, as one file, becomes a test that sees the same.
    @Test(arguments: [
        ("20 text/gemini; charset=utf-8\nline end\r\n", "protocol-error", "error  protocol-error"),
        ("2\r\n", "protocol-error", "error  protocol-error"),
        ("", "empty-reply", "error  empty-reply"),
        ("20 text/gemini\r\n# cut", "truncated", #""completeness":"truncated""#),
        ("44 soon\r\n", "temporary-failure", #""status":44"#),
    ])
    func aBugReportBecomesAFixture(_ reply: String, _ what: String, _ sign: String) async throws {
        let path = try newPath("bug.warc.gz")
        let server = try LoopbackServer(tls: .make()) { peer in
            _ = peer.readLine()
            peer.write(reply)
            if what == "truncated" { peer.reset() }
        }
        let url = "gemini://127.0.0.1:\(server.port)/x"
        let live = await fetch(url, try recorder(path))
        server.stop()
        #expect(live.hasPrefix(what), "\(live)")
        #expect(await fetch(url, try replayer(path)).hasPrefix(what))
        let (loop, conversion) = (try LoopThread(), WireConversion(.builtIn))
        func fixtures(_ path: String) async throws -> [(name: String, text: [UInt8])] {
            var found: [(String, [UInt8])] = []
            try await conversion.forEachFixture(of: path, on: loop.loop) { _ in
            } _: { name, text in
                found.append((name, text))
            }
            return found
        }
        let made = try await fixtures(path)
        let fixture = try #require(made.first)
        #expect(made.count == 1 && String(decoding: fixture.text, as: UTF8.self).contains(sign))
        // And back: the fixture is in the archive as it stands.
        let other = try newPath("b.warc.gz")
        do {
            let writer = try ArchiveWriter(other, software: "test", commandLine: "")
            try conversion.add(name: fixture.name, fixture.text, to: writer)
        }
        let again = try await fixtures(other)
        #expect(again.map(\.name) == [fixture.name] && again.map(\.text) == [fixture.text])
    }
}
