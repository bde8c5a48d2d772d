// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// Data goes out once, unless the server says that it has not taken it.
@Suite(.timeLimit(.minutes(30)))
struct RetryDataTests {
    private let smallweb = Smallweb()
    private static let retries = ["--retry", "2", "--retry-delay", "0.01", "-m", "60"]

    /// Reads a request of `bytes` bytes behind its line, and says `reply`.
    private func server(
        _ bytes: Int, _ reply: String, tls: TestCertificate? = nil
    ) throws -> LoopbackServer {
        try LoopbackServer(tls: tls) { peer in
            _ = peer.readLine()
            if bytes > 0 { _ = peer.read(bytes) }
            if !reply.isEmpty { peer.write(reply) }
        }
    }

    private func bodies(_ server: LoopbackServer) -> [String] {
        server.stop()
        return server.connections.map { connection in
            String(decoding: connection.received, as: UTF8.self)
                .split(separator: "\r\n", maxSplits: 1, omittingEmptySubsequences: false).last
                .map(String.init) ?? ""
        }
    }

    private func put(
        _ server: LoopbackServer, _ more: [String], file: String = "-"
    ) throws -> Smallweb.Result {
        let url = "titan://127.0.0.1:\(server.port)/page.gmi"
        return try smallweb.run(
            ["put", "-k", "--json", url, file] + Self.retries + more, stdin: "hello")
    }

    /// The server says that it did nothing with it: all of it goes out again.
    @Test func whatIsRefusedForNowGoesOutAgainWhole() throws {
        let file = smallweb.home.file("a.txt")
        try Data("hello".utf8).write(to: URL(fileURLWithPath: file))
        for name in ["-", file] {
            let server = try server(5, "41 later\r\n", tls: .make())
            let result = try put(server, [], file: name)
            #expect(result.status == 75, "\(result.errors)")
            #expect(bodies(server) == ["hello", "hello", "hello"], "\(result.errors)")
        }
    }

    @Test func anUploadWithoutAnAnswerGoesOutOnce() throws {
        let server = try server(5, "", tls: .make())
        let result = try put(server, [])
        #expect(bodies(server) == ["hello"], "\(result.errors)")
        let record = try #require(try Records(result.output).terminal.first)
        #expect(record["error"]?["retryable"]?.bool == false, "\(result.text)")
        #expect(
            record["error"]?["message"]?.string?.hasSuffix("the data had been sent already")
                ?? false, "\(result.text)")
        #expect(Schema.shared.problems(record).isEmpty)
        let again = try self.server(5, "", tls: .make())
        #expect(try put(again, ["--retry-data"]).status != 0)
        #expect(bodies(again) == ["hello", "hello", "hello"])
    }

    /// Nothing has gone out where there was no connection.
    @Test func whatWasNotSentIsTriedAgain() throws {
        let refusing = try RefusingPort()
        for url in ["titan", "spartan"].map({ "\($0)://127.0.0.1:\(refusing.port)/a" }) {
            let result = try smallweb.run(
                ["put", "--json", url, "-"] + Self.retries, stdin: "hello")
            let record = try #require(try Records(result.output).terminal.first)
            #expect(record["attempts"]?.int == 3, "\(result.text)")
            #expect(record["error"]?["retryable"]?.bool == true)
        }
    }

    /// Bodies of get, too: data of Spartan, also as a query, and of HTTP.
    @Test(arguments: [
        ("spartan", "", ["-d", "hello"]), ("spartan", "?hello", []), ("http", "", ["-d", "hello"]),
    ])
    func dataOfARequestGoesOutOnce(
        _ scheme: String, _ query: String, _ more: [String]
    ) throws {
        func attempts(_ query: String, _ more: [String]) throws -> (Int, Smallweb.Result) {
            let server = try LoopbackServer { peer in
                while let line = peer.readLine(), scheme == "http" && line.count > 2 {}
                if !query.isEmpty || !more.isEmpty { _ = peer.read(5) }
            }
            let url = "\(scheme)://127.0.0.1:\(server.port)/a\(query)"
            let result = try smallweb.run(["get", "--json", url] + Self.retries + more)
            server.stop()
            return (server.connections.count, result)
        }
        let (once, result) = try attempts(query, more)
        #expect(once == 1, "\(result.text)")
        let record = try #require(try Records(result.output).terminal.first)
        #expect(record["error"]?["retryable"]?.bool == false, "\(result.text)")
        #expect(try attempts(query, more + ["--retry-data"]).0 == 3)
        #expect(try attempts("", []).0 == 3)
    }

    /// A server took it and led on: whatever happens there, it is not sent again.
    @Test func dataThatLedToARedirectIsNotSentAgain() throws {
        let busy = try LoopbackServer { peer in
            let line = String(decoding: peer.readLine() ?? [], as: UTF8.self)
            if line.contains(" /busy ") {
                peer.write("5 busy\r\n")
            } else {
                _ = peer.read(5)
                peer.write("3 /busy\r\n")
            }
        }
        let url = "spartan://127.0.0.1:\(busy.port)/a"
        let result = try smallweb.run(["get", "--json", url, "-d", "hello"] + Self.retries)
        #expect(result.status == 75, "\(result.text)")
        busy.stop()
        #expect(busy.connections.count == 2)
    }
}
