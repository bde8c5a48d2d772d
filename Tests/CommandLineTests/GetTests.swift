// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

@Suite struct GetTests {
    @Test func deliversExactlyTheBytesOfABody() throws {
        let hole = try Hole()
        let result = try Smallweb().run(["get", hole.place + "/9/big/300000"])
        #expect(result.status == 0)
        #expect(result.output.count == 300_000)
        #expect(DemoSites.isBlock(result.output[...], at: 0))
    }

    @Test func theCommandGetMayBeLeftOut() throws {
        let hole = try Hole()
        let result = try Smallweb().run([hole.place + "/0/about.txt"])
        #expect(result.text == "This hole is part of the tests of smallweb.\r\n")
    }

    @Test func habitsFromCurlWork() throws {
        let capsule = try Capsule()
        let smallweb = Smallweb()
        let result = try smallweb.run(["get", "-fsSL", capsule.place + "/redirect/1", "-o", "FILE"])
        #expect(result.status == 0, "\(result.errors)")
        #expect(smallweb.home.content("FILE") == Array("# About\r\nNothing much.\r\n".utf8))
    }

    @Test func rawKeepsTheDots() throws {
        let hole = try Hole()
        let plain = try Smallweb().run([hole.place + "/0/dots.txt"]).text
        let raw = try Smallweb().run(["--raw", hole.place + "/0/dots.txt"]).text
        #expect(plain == "one\r\n.two begins with a dot\r\n..\r\nthree\r\n")
        #expect(raw == "one\r\n..two begins with a dot\r\n...\r\nthree\r\n.\r\n")
    }

    @Test func dataIsEncodedAndMayComeFromStandardInput() throws {
        let capsule = try Capsule()
        let url = capsule.place + "/input"
        #expect(try Smallweb().run(["-d", "a b&c", url]).text == "you said: a%20b%26c\r\n")
        let piped = try Smallweb().run(["-d", "@-", url], stdin: "secret\n")
        #expect(piped.text == "you said: secret\r\n")
    }

    @Test func dataForASchemeWithoutInputIsAMistake() throws {
        let result = try Smallweb().run(["-d", "x", "finger://127.0.0.1/"])
        #expect(result.status == Outcome.usage.exitStatus)
    }

    @Test func showsAndDumpsTheReplyHeader() throws {
        let capsule = try Capsule()
        let smallweb = Smallweb()
        let result = try smallweb.run(["-i", "-D", "head", capsule.place + "/about"])
        #expect(result.text.hasPrefix("20 text/gemini; lang=en\r\n# About\r\n"))
        #expect(smallweb.home.content("head") == Array("20 text/gemini; lang=en\r\n".utf8))
    }

    @Test func theTraceShowsBothSidesAndTrust() throws {
        let capsule = try Capsule()
        let result = try Smallweb().run(["-v", capsule.place + "/about"])
        #expect(result.errors.contains("> \(capsule.place)/about\n"))
        #expect(result.errors.contains("< 20 text/gemini; lang=en\n"))
        #expect(result.errors.contains("* trust: first-use"))
        #expect(result.text.hasPrefix("# About"))
    }

    @Test func aRefusalsBodyIsDeliveredOnRequest() throws {
        let hole = try Hole()
        let url = hole.place + "/0/missing"
        let plain = try Smallweb().run([url])
        #expect(plain.status == 22 && plain.output.isEmpty)
        #expect(plain.errors.contains("'/missing' does not exist"))
        let withBody = try Smallweb().run(["--fail-with-body", url])
        #expect(withBody.status == 22 && withBody.text.hasPrefix("3'/missing'"))
        let accepted = try Smallweb().run(["--no-fail", url])
        #expect(accepted.status == 0 && accepted.text.hasPrefix("3'/missing'"))
    }

    @Test func silenceIsObeyed() throws {
        let capsule = try Capsule()
        let url = capsule.place + "/status/51"
        #expect(try Smallweb().run(["-s", url]).errors.isEmpty)
        #expect(!(try Smallweb().run(["-sS", url]).errors.isEmpty))
        #expect(!(try Smallweb().run(["-q", url]).errors.isEmpty))
    }

    @Test func schemesAreRestrictedAndRedirectsAllowed() throws {
        let hole = try Hole()
        let server = try LoopbackServer(
            tls: .make(), handler: DemoSites.gemini(elsewhere: hole.place + "/0/about.txt"))
        let url = "gemini://127.0.0.1:\(server.port)/cross-scheme"
        #expect(try Smallweb().run(["--proto", "gopher", url]).status == 1)
        #expect(try Smallweb().run(["--proto", "-gemini", url]).status == 1)
        let refused = try Smallweb().run([url])
        #expect(refused.status == 102 && refused.errors.contains(hole.place))
        let followed = try Smallweb().run(["--proto-redir", "gopher", url])
        #expect(followed.status == 0 && followed.text.hasPrefix("This hole"))
        let reported = try Smallweb().run(["--no-location", url])
        #expect(reported.status == 102)
    }

    @Test func resolveConnectsElsewhereAndKeepsTheName() throws {
        let capsule = try Capsule()
        let port = capsule.server.port
        let result = try Smallweb().run([
            "--resolve", "capsule.example:\(port):127.0.0.1",
            "gemini://capsule.example:\(port)/about",
        ])
        #expect(result.status == 0, "\(result.errors)")
        #expect(try capsule.server.waitForConnections(1)[0].serverName == "capsule.example")
    }

    @Test func insecureWritesNothing() throws {
        let capsule = try Capsule()
        let smallweb = Smallweb()
        #expect(try smallweb.run(["-k", capsule.place + "/about"]).status == 0)
        #expect(smallweb.home.names.isEmpty)
        #expect(try smallweb.run([capsule.place + "/about"]).status == 0)
        #expect(smallweb.home.names == [".local"])
    }

    @Test func serverTextCannotDriveTheTerminal() throws {
        let server = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write("3\u{1B}]0;owned\u{7}\u{202E}\tx\th\t70\r\n.\r\n")
        }
        let result = try Smallweb().run(["gopher://127.0.0.1:\(server.port)/0/x"])
        #expect(result.status == 22)
        #expect(result.errors.contains("\\x1B]0;owned\\x07\\u{202E}"))
    }

    @Test func mistypedNamesGetASuggestion() throws {
        var smallweb = Smallweb()
        smallweb.environment["COLUMNS"] = "80"
        #expect(try smallweb.run(["--ouptut", "x"]).status == 2)
        #expect(try smallweb.run(["gte"]).status == 2)
        #expect(try smallweb.run([]).status == 2)
    }

    @Test func helpAndVersionGoToStandardOutput() throws {
        let help = try Smallweb().run(["get", "--help"])
        #expect(help.status == 0 && help.text.contains("--max-filesize SIZE"))
        #expect(help.text.split(separator: "\n").allSatisfy { $0.count <= 100 })
        #expect(try Smallweb().run(["-V"]).text.hasPrefix("smallweb "))
        let schemes = try Smallweb().run(["schemes"]).text
        #expect(schemes.contains("gemini\t1965\ttls\ttofu\t"))
    }

    @Test(arguments: ["gopher", "gemini"])
    func oneFetchOfAnAddressNeedsOneThread(_ scheme: String) throws {
        let asked = Recorder<Bool>()
        let server = try LoopbackServer(tls: scheme == "gemini" ? .make() : nil) { peer in
            asked.add(peer.readLine() != nil)
            peer.hang()
        }
        var threads: [String] = []
        _ = try Smallweb().run(["-k", "\(scheme)://127.0.0.1:\(server.port)/0/page"]) { process in
            try eventually("it has asked") { !asked.values.isEmpty }
            let names = try? FileManager.default.contentsOfDirectory(
                atPath: "/proc/\(process)/task")
            threads = names ?? []
            kill(process, SIGKILL)
        }
        #expect(threads.count == 1)
    }
}
