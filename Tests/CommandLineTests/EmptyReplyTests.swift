// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

@testable import SmallWebCLI

/// A reply without a single byte, where nothing but its bytes says that there is one.
@Suite(.timeLimit(.minutes(30)))
struct EmptyReplyTests {
    private let smallweb = Smallweb()

    /// One that takes the request, answers with `reply`, and closes.
    private func server(_ reply: String = "") throws -> LoopbackServer {
        try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write(reply)
        }
    }

    @Test(arguments: [
        ("finger", "/ada", true), ("nex", "/page.txt", true), ("nex", "/", true),
        ("gopher", "/0/text", true), ("gopher", "/", true), ("gopher", "/1/menu", true),
        ("gopher", "/7/search?words", true), ("gopher", "/9/binary", false),
        ("gopher", "/I/image.png", false), ("gopher", "/h/page", false),
    ])
    func itIsAFailureUnlessItIsAllowed(_ scheme: String, _ path: String, _ fails: Bool) throws {
        let server = try server()
        let url = "\(scheme)://127.0.0.1:\(server.port)\(path)"
        let refused = try smallweb.run(["get", "-q", url])
        #expect(refused.status == (fails ? 52 : 0), "\(refused.errors)")
        let message = "smallweb: \(url): the server closed without a reply\n"
        #expect(refused.errors == (fails ? message : ""))
        let allowed = try smallweb.run(["get", "--json", "--allow-empty", url])
        let record = try Records(allowed.output).terminal[0]
        #expect(allowed.status == 0 && allowed.errors == "", "\(allowed.errors)")
        #expect(record["ok"]?.bool == true && record["size"]?.int == 0)
        #expect(try smallweb.run(["head", url]).status == refused.status)
        #expect(try smallweb.run(["links", "--allow-empty", url]).status == 0)
    }

    /// The hint names an option that the command takes.
    @Test(arguments: ["get", "head", "links", "open", "feed", "watch", "crawl"])
    func everyCommandThatFailsForItTakesTheOption(_ command: String) throws {
        let path = command == "crawl" ? "/1/empty" : "/0/empty"
        let run = { (options: [String]) throws in
            // A server of its own: watch leaves one alone that has failed.
            let server = try server()
            return try smallweb.run(
                [command] + options + ["gopher://127.0.0.1:\(server.port)\(path)"])
        }
        let refused = try run([])
        #expect(refused.status == (command == "crawl" ? 75 : 52), "\(refused.errors)")
        let allowed = try run(["--allow-empty"])
        #expect(allowed.status == 0, "\(allowed.errors)")
        guard command != "crawl" else { return }
        #expect(refused.errors.contains("accept it with --allow-empty"), "\(refused.errors)")
    }

    @Test func aReplyThatSaysItsEndOrItsStatusMayBeEmpty() throws {
        for (url, reply) in [
            ("gopher://H/0/text", ".\r\n"), ("gopher://H/1/menu", ".\r\n"),
            ("gopher://H/7/search?words", ".\r\n"), ("spartan://H/", "2 text/plain\r\n"),
        ] {
            let server = try server(reply)
            let url = url.replacing("H", with: "127.0.0.1:\(server.port)")
            let result = try smallweb.run(["get", url])
            #expect(result.status == 0 && result.output.isEmpty, "\(url): \(result.errors)")
        }
        let page = try Capsule(page: Array("20 text/gemini\r\n".utf8))
        #expect(try smallweb.run(["get", page.place + "/"]).status == 0)
    }

    @Test func whatAServerResetsIsNeverAllowed() throws {
        for url in ["finger://H/ada", "nex://H/", "gopher://H/0/text", "gopher://H/9/binary"] {
            let server = try LoopbackServer { peer in
                _ = peer.readLine()
                peer.reset()
            }
            let url = url.replacing("H", with: "127.0.0.1:\(server.port)")
            let result = try smallweb.run(["get", "--allow-empty", url])
            #expect(result.status == Outcome.connect.exitStatus, "\(url): \(result.errors)")
        }
    }

    @Test func theConfigFileMayAllowIt() throws {
        let server = try server()
        let text = "[host 127.0.0.1:\(server.port)]\nallow-empty = true\n"
        try Data(text.utf8).write(to: URL(fileURLWithPath: smallweb.home.file("config")))
        let url = "finger://127.0.0.1:\(server.port)/ada"
        #expect(try smallweb.run(["get", "-K", "config", url]).status == 0)
        let refused = try smallweb.run(["get", "-K", "config", "--no-allow-empty", url])
        #expect(refused.status == 52)
    }

    /// Nothing may be there because the server is busy.
    @Test func itIsTriedAgainWhichTheTraceSays() throws {
        let server = try server()
        let url = "finger://127.0.0.1:\(server.port)/ada"
        let words = ["get", "-v", "--retry", "2", "--retry-delay", "0.01", url]
        let result = try smallweb.run(words)
        #expect(result.status == 52)
        #expect(try server.waitForConnections(3).count == 3)
        let lines = result.errors.split(separator: "\n").filter { $0.hasPrefix("* attempt ") }
        #expect(
            lines
                == (1...2).map { number in
                    "* attempt \(number) of 3 failed, trying again in 0.1 s: "
                        + "the server closed without a reply"
                }, "\(result.errors)")
        let quiet = try smallweb.run(["get", "-q", "--retry", "1", "--retry-delay", "0.01", url])
        #expect(quiet.errors == "smallweb: \(url): the server closed without a reply\n")
    }
}
