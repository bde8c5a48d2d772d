// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

@Suite(.timeLimit(.minutes(30)))
struct PutTests {
    private let smallweb = Smallweb()

    private func put(
        _ server: LoopbackServer, _ arguments: [String], stdin: String? = nil
    ) throws -> Smallweb.Result {
        let url = "titan://127.0.0.1:\(server.port)/page.gmi"
        return try smallweb.run(
            ["put", url] + (stdin == nil ? [] : ["-"]) + arguments, stdin: stdin)
    }

    /// Only a pipe or a file is read without a word.
    @Test func withoutAFileNothingIsRead() throws {
        let url = "titan://127.0.0.1:1/a"
        #expect(try smallweb.run(["put", url], stdin: "a page\n").status == 7)
        let missing = try smallweb.run(["put", url])
        #expect(missing.status == 2 && missing.errors.contains("no file to upload"))
        let both = try smallweb.run(["put", "--delete", url, "/etc/hosts"])
        #expect(both.status == 2 && both.errors.contains("--delete sends nothing"))
    }

    /// A server asks for a token by the statuses for certificates.
    @Test(arguments: ["60 a token, please", "61 that token is not known"])
    func aTokenThatIsWantedIsNamed(_ reply: String) throws {
        let server = try LoopbackServer(tls: .make()) { peer in
            _ = peer.readLine()
            peer.write("\(reply)\r\n")
        }
        let result = try put(server, ["-k"], stdin: "x")
        #expect(result.status == 98, "\(result.errors)")
        let hint = PastedURLTests.hint(result.errors) ?? ""
        #expect(hint.hasPrefix("--token-file FILE or --ask-token sends a token; smallweb identity"))
        let page = try smallweb.run(["get", "-k", "gemini://127.0.0.1:\(server.port)/page.gmi"])
        #expect(!page.errors.contains("token-file"), "\(page.errors)")
    }

    @Test func theTypeComesFromTheFileOrElseFromTheURL() throws {
        let server = try LoopbackServer(tls: .make()) { peer in
            let line = peer.readLine() ?? []
            _ = peer.read(1)
            peer.write(Array("20 text/plain\r\n".utf8) + line)
        }
        let directory = smallweb.home.file("a.dir")
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        for name in ["a.dir/notes", "page.txt"] {
            try Data("x".utf8).write(to: URL(fileURLWithPath: smallweb.home.file(name)))
        }
        for (path, file, type) in [
            ("x.txt", "-", "text/plain"), ("x", "-", "text/gemini"),
            ("x.jpg", "page.txt", "text/plain"), ("x.txt", "a.dir/notes", "text/plain"),
        ] {
            let url = "titan://127.0.0.1:\(server.port)/\(path)"
            let result = try smallweb.run(["put", "-k", url, file], stdin: "x")
            #expect(result.text.contains(";mime=\(type)"), "\(path) \(file): \(result.text)")
        }
    }

    @Test func withJSONThereIsARecordOfWhatCannotBeSent() throws {
        for (url, file, status, word) in [
            ("titan://127.0.0.1/a", "nosuch", 26, "read"), ("titan://127.0.0.1/a", "-", 2, "usage"),
            ("gemini://127.0.0.1/a", "-", 2, "usage"), ("127.0.0.1/a", "-", 2, "usage"),
        ] as [(String, String, Int32, String)] {
            let result = try smallweb.run(["put", "-q", "--json", url, file], stdin: "")
            #expect(result.status == status, "\(url): \(result.errors)")
            let records = try Records(result.output)
            #expect(records.all.count == 1 && records.exits == [Int(status)])
            #expect(records["error"].first?["url"]?.string == url)
            let error = records["error"].first?["error"]
            #expect(error?["code"]?.string == word)
            #expect(result.errors == "smallweb: \(url): \(error?["message"]?.string ?? "?")\n")
            let plain = try smallweb.run(["put", url, file], stdin: "")
            #expect(plain.status == status && plain.output.isEmpty)
        }
    }

    /// Takes an upload and says so.
    private static func accepting(_ count: Int) throws -> LoopbackServer {
        try LoopbackServer(tls: .make()) { peer in
            _ = peer.readLine()
            _ = peer.read(count)
            peer.write("20 text/gemini\r\nstored\n")
        }
    }

    private func received(_ server: LoopbackServer) -> [String] {
        server.stop()
        return server.connections.map { String(decoding: $0.received, as: UTF8.self) }
    }

    @Test func aFileGoesOutWithItsSizeTypeAndToken() throws {
        let server = try Self.accepting(5)
        try Data("hello".utf8).write(to: URL(fileURLWithPath: smallweb.home.file("a.md")))
        try Data("a b\n".utf8).write(to: URL(fileURLWithPath: smallweb.home.file("token")))
        let result = try put(
            server, [smallweb.home.file("a.md"), "--token-file", smallweb.home.file("token")])
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.text == "stored\n")
        let place = "titan://127.0.0.1:\(server.port)/page.gmi"
        #expect(
            received(server) == ["\(place);size=5;mime=text/markdown;token=a%20b\r\nhello"])
    }

    @Test func standardInputIsMeasuredFirst() throws {
        let server = try Self.accepting(3)
        #expect(try put(server, ["--mime", "text/plain"], stdin: "abc").status == 0)
        #expect(received(server).first?.contains(";size=3;mime=text/plain\r\nabc") == true)
    }

    @Test func aMediaTypeAndATokenAddNoParameter() throws {
        let server = try Self.accepting(3)
        let token = smallweb.home.file("token")
        try Data("a;size=0/\n".utf8).write(to: URL(fileURLWithPath: token))
        let arguments = ["--mime", "text/gemini;size=0", "--token-file", token]
        #expect(try put(server, arguments, stdin: "abc").status == 0)
        let line = try #require(received(server).first)
        #expect(
            line.hasSuffix(
                "/page.gmi;size=3;mime=text/gemini%3Bsize%3D0;token=a%3Bsize%3D0%2F\r\nabc"))
    }

    @Test func nothingDeletesOnlyWhenAskedTo() throws {
        let server = try Self.accepting(0)
        #expect(try put(server, [], stdin: "").status == 2)
        #expect(try put(server, ["--delete"]).status == 0)
        #expect(received(server).count == 1)
    }

    @Test func anEarlyRefusalIsReportedWhileTheBodyIsStillGoingOut() throws {
        let server = try LoopbackServer(tls: .make()) { peer in
            _ = peer.readLine()
            peer.write("59 too large\r\n")
            peer.hangWithoutReading()
        }
        let big = smallweb.home.file("big")
        try Data(count: 32 << 20).write(to: URL(fileURLWithPath: big))
        let result = try put(server, [big])
        #expect(result.status == 22)
        #expect(result.errors.contains("59 too large"))
    }

    @Test func aRedirectNeverGetsTheBody() throws {
        let server = try LoopbackServer(tls: .make()) { peer in
            _ = peer.readLine()
            _ = peer.read(3)
            peer.write("30 titan://127.0.0.1/elsewhere.gmi\r\n")
        }
        #expect(try put(server, [], stdin: "abc").status == 102)
        #expect(received(server).count == 1)
    }

    @Test func whatHasNoBodyOrNoPlaceIsAMistake() throws {
        #expect(try smallweb.run(["get", "titan://127.0.0.1:1/a"]).status == 2)
        #expect(try smallweb.run(["put", "gemini://127.0.0.1:1/a", "/etc/hosts"]).status == 2)
        #expect(
            try smallweb.run(["put", "titan://127.0.0.1:1/a;size=4", "/etc/hosts"]).status == 3)
        #expect(try smallweb.run(["put", "titan://127.0.0.1:1/a", "/missing"]).status == 26)
    }
}
