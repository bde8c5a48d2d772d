// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// The options for HTTP, as a user gives them.
@Suite struct HTTPCommandTests {
    /// The demo site, plain or over TLS.
    private struct Site {
        let server: LoopbackServer
        let noted = Recorder<WebRequest>()
        let place: String

        init(tls certificate: TestCertificate? = nil) throws {
            server = try LoopbackServer(tls: certificate, handler: DemoSites.web(noting: noted))
            place = (certificate == nil ? "http" : "https") + "://127.0.0.1:\(server.port)"
        }

        var requests: [WebRequest] { noted.values }
    }

    private let site: Site
    private let smallweb = Smallweb()

    init() throws { site = try Site() }

    // MARK: Output

    @Test func headPrintsTheHeaderAlone() throws {
        let result = try smallweb.run(["-I", site.place + "/1k"])
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.text.hasPrefix(site.place + "/1k\n  status       200 OK\n"))
        #expect(result.text.contains("\n  size         1024 bytes\n"), "\(result.text)")
        #expect(result.text.contains("\n\nHTTP/1.1 200 OK\r\n"))
        #expect(result.text.hasSuffix("Content-Type: text/plain\r\n\r\n"))
        #expect(site.requests.map(\.method) == ["HEAD"])
    }

    @Test func theHeaderIsShownBeforeTheBody() throws {
        let result = try smallweb.run(["-i", site.place + "/about"])
        #expect(result.text.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(result.text.hasSuffix("\r\n\r\nThis site is part of the tests of smallweb.\n"))
    }

    @Test func theHeaderIsDumpedAsItCame() throws {
        let result = try smallweb.run(["-D", "head", site.place + "/headers"])
        #expect(result.text == "")
        let header = String(decoding: smallweb.home.content("head") ?? [], as: UTF8.self)
        #expect(header.contains("Set-Cookie: a=1\r\nX-Between: yes\r\nset-cookie: b=2\r\n"))
        #expect(header.hasSuffix("\r\n\r\n"))
    }

    /// As `-i` shows them.
    @Test func theHeaderOfTheLastAttemptIsDumped() throws {
        let retry = ["--retry", "1", "--retry-delay", "0"]
        let result = try smallweb.run(retry + ["-D", "head", site.place + "/truncated"])
        #expect(result.status == 18)
        let header = String(decoding: smallweb.home.content("head") ?? [], as: UTF8.self)
        #expect(header.components(separatedBy: "HTTP/1.1 200").count == 2, "\(header)")
    }

    @Test func noHeaderLeavesThingsAsTheyWere() throws {
        let refusing = try RefusingPort()
        let url = "http://127.0.0.1:\(refusing.port)/"
        #expect(try smallweb.run(["-D", "head", url]).status == Outcome.connect.exitStatus)
        #expect(smallweb.home.names == [])
        try Data("as it was".utf8).write(to: URL(fileURLWithPath: smallweb.home.file("head")))
        #expect(try smallweb.run(["-D", "head", site.place + "/no-reply"]).status == 52)
        #expect(smallweb.home.content("head") == Array("as it was".utf8))
        #expect(try smallweb.run(["-D", "head", url, site.place + "/about"]).status == 7)
        #expect(smallweb.home.content("head")?.starts(with: Array("HTTP/1.1 200".utf8)) == true)
        #expect(smallweb.home.names == ["head"])
    }

    /// At the end 6 bytes are there, but the total in Content-Range counts, and it is larger.
    @Test func aShortRestIsNoWholeFile() throws {
        let short = try LoopbackServer { peer in
            guard WebRequest(from: peer) != nil else { return }
            peer.write("HTTP/1.1 206 Part\r\nContent-Range: bytes 4-5/100\r\n")
            peer.write("Content-Length: 2\r\n\r\nef")
        }
        try Data("abcd".utf8).write(to: URL(fileURLWithPath: smallweb.home.file("file")))
        let url = "http://127.0.0.1:\(short.port)/"
        let result = try smallweb.run(["-C", "-", "-o", "file", url])
        #expect(result.status == Outcome.truncated.exitStatus, "\(result.errors)")
        #expect(smallweb.home.content("file") == Array("abcdef".utf8))
        let wrong = try smallweb.run(["-C", "-", "-o", "file", url])
        #expect(wrong.status == Outcome.protocolError.exitStatus, "\(wrong.errors)")
        #expect(smallweb.home.content("file") == Array("abcdef".utf8))
    }

    @Test func theTraceShowsBothSides() throws {
        let result = try smallweb.run(["-v", site.place + "/about"])
        #expect(result.errors.contains("> GET /about HTTP/1.1\n"))
        #expect(result.errors.contains("< HTTP/1.1 200 OK\n"))
    }

    @Test func aFileIsWrittenWhenTheBodyIsWhole() throws {
        #expect(try smallweb.run(["-O", site.place + "/big/5000"]).status == 0)
        #expect(smallweb.home.content("5000")?.count == 5000)
        let cut = try smallweb.run(["-o", "cut", site.place + "/truncated"])
        #expect(cut.status == Outcome.truncated.exitStatus)
        #expect(smallweb.home.names == ["5000", "cut.part"])
    }

    /// A truncated fetch leaves one part file, and `-C -` continues it.
    @Test func aCutLeavesOnePartThatIsFinished() throws {
        let turns = Locked(0)
        let server = try LoopbackServer { peer in
            guard let request = WebRequest(from: peer) else { return }
            let isFirst = turns.withLock { turns in
                turns += 1
                return turns <= 2
            }
            if isFirst {
                peer.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabcd")
            } else {
                #expect(request.fields.contains { $0.value.contains("bytes=4-") })
                peer.write("HTTP/1.1 206 Part\r\nContent-Range: bytes 4-9/10\r\n")
                peer.write("Content-Length: 6\r\n\r\nefghij")
            }
        }
        let url = "http://127.0.0.1:\(server.port)/file"
        for _ in 1...2 {
            let cut = try smallweb.run(["-O", url])
            #expect(cut.status == Outcome.truncated.exitStatus)
            #expect(smallweb.home.names == ["file.part"])
        }
        #expect(try smallweb.run(["--continue", "-O", url]).status == 0)
        #expect(smallweb.home.names == ["file"])
        #expect(smallweb.home.content("file") == Array("abcdefghij".utf8))
    }

    @Test func rawBytesStayCompressed() throws {
        #expect(try smallweb.run([site.place + "/gzip"]).text == DemoSites.gzipText)
        let raw = try smallweb.run(["--raw", site.place + "/gzip"])
        #expect(raw.output == DemoSites.gzipBytes)
    }

    // MARK: Requests

    @Test func fieldsAreSentInTheirOrder() throws {
        try Data("X-Two: 2\n\nX-Three: 3\r\n".utf8)
            .write(to: URL(fileURLWithPath: smallweb.home.file("fields")))
        let result = try smallweb.run([
            "-H", "X-One: 1", "-H", "@fields", "-H", "Accept:", site.place + "/echo",
        ])
        #expect(result.status == 0, "\(result.errors)")
        let request = try #require(site.requests.first)
        let names = request.fields.map(\.name).filter { $0.hasPrefix("X-") }
        #expect(names == ["X-One", "X-Two", "X-Three"])
        #expect(request["x-two"] == ["2"])
        #expect(request["x-three"] == ["3"])
        #expect(request["accept"] == [])
    }

    @Test func agentAndRefererAreSent() throws {
        _ = try smallweb.run([
            "-A", "reader/1.0", "-e", "https://example.org/", site.place + "/echo",
        ])
        #expect(site.requests.first?["user-agent"] == ["reader/1.0"])
        #expect(site.requests.first?["referer"] == ["https://example.org/"])
        _ = try smallweb.run([site.place + "/echo"])
        #expect(site.requests.last?["user-agent"].first?.hasPrefix("smallweb") == true)
    }

    @Test func dataIsPostedAsItIs() throws {
        let result = try smallweb.run(["-d", "a=b&c d", site.place + "/echo"])
        #expect(result.text.hasSuffix("\n\na=b&c d"))
        #expect(site.requests.first?.method == "POST")
    }

    @Test func aFileIsPutAndOtherMethodsAreSent() throws {
        try Data("from a file".utf8).write(to: URL(fileURLWithPath: smallweb.home.file("data")))
        _ = try smallweb.run(["-X", "PUT", "-d", "@data", site.place + "/echo"])
        _ = try smallweb.run(["-X", "DELETE", site.place + "/echo"])
        #expect(site.requests.map(\.method) == ["PUT", "DELETE"])
        #expect(site.requests[0].body == Array("from a file".utf8))
        #expect(try smallweb.run(["-X", "GET /", site.place + "/"]).status == 2)
    }

    @Test func noOptionCanAddALine() throws {
        for options in [["-H", "X: a\r\nY: b"], ["-A", "a\r\nY: b"], ["-e", "a\r\nY: b"]] {
            let result = try smallweb.run(options + [site.place + "/echo"])
            #expect([2, 3].contains(result.status), "\(options)")
        }
        #expect(site.requests.isEmpty)
    }

    @Test(arguments: [
        ["-H", "A: b"], ["-X", "PUT"], ["-e", "x"], ["-C", "5"],
    ])
    func anotherSchemeRefusesTheOptions(_ options: [String]) throws {
        let capsule = try Capsule()
        let result = try smallweb.run(options + [capsule.place + "/about"])
        #expect(result.status == Outcome.usage.exitStatus)
        #expect(result.errors.contains("gemini"))
        capsule.server.stop()
        #expect(capsule.server.connections.isEmpty)
    }

    // MARK: Trust

    @Test func onlyAnAuthorityAPinOrCarelessnessOpensASecureSite() throws {
        let certificate = TestCertificate.make()
        let secure = try Site(tls: certificate)
        let url = secure.place + "/about"
        #expect(try smallweb.run([url]).status == Outcome.untrusted.exitStatus)
        #expect(try smallweb.run(["-k", url]).status == 0)
        let pin = "sha256:" + certificate.spkiSHA256.hex
        #expect(try smallweb.run(["--pin", pin, url]).status == 0)
        // As for every scheme, the pin is the answer, whatever the policy.
        #expect(try smallweb.run(["--pin", pin, "--trust", "locked", url]).status == 0)
        #expect(try smallweb.run(["--trust", "locked", url]).status == 2)
        let wrong = "sha256:" + certificate.sha256.hex
        let changed = try smallweb.run(["--pin", wrong, url])
        #expect(changed.status == Outcome.trustChanged.exitStatus)
        #expect(try smallweb.run(["--pin", "sha256:12", url]).status == 2)
        #expect(secure.requests.count == 3)
    }

    @Test func anAuthorityComesFromTheEnvironment() throws {
        let certificate = TestCertificate.make()
        let secure = try Site(tls: certificate)
        let smallweb = try smallweb.trusting(certificate)
        let result = try smallweb.run(["-v", secure.place + "/about"])
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.errors.contains("* trust: ca"))
        #expect(result.errors.contains("* public key sha256:" + certificate.spkiSHA256.hex))
        #expect(!smallweb.home.names.contains(".local"), "nothing is remembered")
    }

    // MARK: Where it connects

    @Test func namesCanBeResolvedByHand() throws {
        let port = site.server.port
        let result = try smallweb.run([
            "--resolve", "name.test:\(port):127.0.0.1", "http://name.test:\(port)/echo",
        ])
        #expect(result.status == 0, "\(result.errors)")
        #expect(site.requests.first?["host"] == ["name.test:\(port)"])
    }

    @Test func anotherPlaceCanBeConnectedTo() throws {
        let rule = "name.test:80:127.0.0.1:\(site.server.port)"
        let result = try smallweb.run(["--connect-to", rule, "http://name.test/echo"])
        #expect(result.status == 0, "\(result.errors)")
        #expect(site.requests.first?["host"] == ["name.test"])
    }

    @Test func aUnixSocketCanBeConnectedTo() throws {
        let server = try UnixSocketServer(
            path: smallweb.home.file("socket"), handler: DemoSites.web)
        let options = ["--unix-socket", server.path]
        let result = try smallweb.run(options + ["http://name.test/about"])
        #expect(result.text == "This site is part of the tests of smallweb.\n", "\(result.errors)")
        let missing = try smallweb.run(["--unix-socket", "none", "http://name.test/about"])
        #expect(missing.status == Outcome.connect.exitStatus)
    }

    @Test func proxiesAreUsedUnlessTheHostNeedsNone() throws {
        let refusing = try RefusingPort()
        let dead = "127.0.0.1:\(refusing.port)"
        let url = site.place + "/about"
        let connect = Outcome.connect.exitStatus
        #expect(try smallweb.run(["-x", "http://" + dead, url]).status == connect)
        #expect(try smallweb.run(["-x", "socks5h://" + dead, url]).status == connect)
        let direct = try smallweb.run(["-x", "http://" + dead, "--noproxy", "127.0.0.1", url])
        #expect(direct.status == 0)
        let proxied = try smallweb.run(["-x", site.place, "http://name.test/about"])
        #expect(proxied.status == Outcome.permanentFailure.exitStatus, "the site is no proxy")
        #expect(site.requests.last?.target == "http://name.test/about")
        let proxy = try smallweb.records(["-x", site.place, "http://name.test/about"])
        #expect(proxy.records.terminal[0]["remote"]?["proxy"]?.string == site.place)
        let tunnel = try smallweb.trusting().run(["-x", site.place, "https://name.test/"])
        #expect(tunnel.status == Outcome.proxy.exitStatus, "\(tunnel.errors)")
        var smallweb = smallweb
        smallweb.environment["http_proxy"] = "http://" + dead
        #expect(try smallweb.run([url]).status == connect)
        smallweb.environment["NO_PROXY"] = "127.0.0.1"
        #expect(try smallweb.run([url]).status == 0)
    }

    // MARK: Costs for other protocols

    /// Files mapped into the process while it waits for the server's answer.
    private func libraries(_ scheme: String, tls: Bool = false) throws -> String {
        let asked = Recorder<Bool>()
        let server = try LoopbackServer(tls: tls ? .make() : nil) { peer in
            asked.add(peer.readLine() != nil)
            peer.hang()
        }
        var maps = ""
        let url = "\(scheme)://127.0.0.1:\(server.port)/0/page"
        let result = try smallweb.run(["-k", url]) { process in
            try eventually("it has asked") { !asked.values.isEmpty }
            let file = FileHandle(forReadingAtPath: "/proc/\(process)/maps")
            maps = String(decoding: file?.readDataToEndOfFile() ?? Data(), as: UTF8.self)
            // Threads of the test may block every signal that can be blocked, and so may children.
            kill(process, SIGKILL)
        }
        #expect(result.status == -SIGKILL)
        #expect(maps.contains("libc.so"))
        return maps
    }

    @Test func onlyHTTPLoadsLibcurl() throws {
        for scheme in ["gopher", "finger"] {
            let maps = try libraries(scheme)
            for name in ["libcurl", "libssl", "libcrypto", "libnghttp2", "libz.", "libidn2"] {
                #expect(!maps.contains("/" + name), "\(scheme) loads \(name)")
            }
        }
        let gemini = try libraries("gemini", tls: true)
        #expect(gemini.contains("/libssl"))
        #expect(!gemini.contains("/libcurl"))
        #expect(try libraries("http").contains("/libcurl"))
    }
}
