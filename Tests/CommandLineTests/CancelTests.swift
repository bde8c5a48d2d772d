// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// Co-process mode: cancelling single requests, and uploads and proxies in request lines.
@Suite(.timeLimit(.minutes(30)))
struct CancelTests {
    private let smallweb = Smallweb()

    private func run(_ lines: [String], _ more: [String] = []) throws -> Records {
        let result = try smallweb.run(
            ["get", "--json", "-s", "-m", "300"] + more + ["-"],
            stdin: lines.joined(separator: "\n") + "\n")
        return try Records(result.output)
    }

    /// Accepts, and never answers.
    private func silent() throws -> LoopbackServer {
        try LoopbackServer { peer in _ = peer.read(.max) }
    }

    private func line(_ server: LoopbackServer, _ id: String) -> String {
        #"{"url":"gopher://127.0.0.1:\#(server.port)/9/a","id":\#(id)}"#
    }

    /// Requests under way, requests queued for their host, and two requests with the same id.
    @Test(arguments: [["-Z"], ["-j", "1"], ["-Z", "--ordered"], ["-Z", "--loops", "2"]])
    func endsWhatHasTheId(_ more: [String]) throws {
        let server = try silent()
        let began = Date()
        let records = try run(
            [line(server, "1"), line(server, #""a""#), line(server, #""a""#), line(server, "true")]
                + ["1", #""\u0061""#, "true"].map { #"{"type":"cancel","id":\#($0)}"# }, more)
        #expect(records.terminal.count == 4 && Date().timeIntervalSince(began) < 30)
        #expect(Set(records.terminal.compactMap { $0["n"]?.int }) == [0, 1, 2, 3])
        for record in records.terminal {
            #expect(record["outcome"]?.string == "interrupted")
            #expect(record["error"]?["retryable"]?.bool == false)
            #expect(Schema.shared.problems(record).isEmpty)
        }
        #expect(records["summary"].first?["requests"]?.int == 4)
    }

    /// Cancelling an unknown or a finished request has no effect and no record.
    @Test func whatIsNotThereIsNotAnswered() throws {
        let capsule = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write("text")
        }
        let silent = try silent()
        let records = try run([
            #"{"type":"cancel","id":1}"#, line(silent, "1"), #"{"type":"cancel","id":"1"}"#,
            line(capsule, "2"), #"{"type":"cancel","id":1,"x-why":"enough"}"#,
            #"{"type":"cancel","id":1}"#,
        ])
        #expect(records.terminal.count == 2)
        let first = records.terminal.first { $0["n"]?.int == 0 }
        #expect(first?["outcome"]?.string == "interrupted")
        #expect(records.terminal.first { $0["n"]?.int == 1 }?["ok"]?.bool == true)
    }

    /// It waits for its next attempt: that is not made.
    @Test func endsWhatWaitsForARetry() throws {
        let refusing = try RefusingPort()
        let began = Date()
        let records = try run(
            [
                #"{"url":"gopher://127.0.0.1:\#(refusing.port)/9/a","id":"r"}"#,
                #"{"type":"cancel","id":"r"}"#,
            ], ["--retry", "3", "--retry-delay", "60"])
        #expect(records.terminal.count == 1 && Date().timeIntervalSince(began) < 30)
        #expect(records.terminal.first?["id"]?.string == "r")
    }

    /// Never with the id of a request, whose record is another one.
    @Test(arguments: [
        (#"{"type":"response","id":7,"tag":8,"url":"gopher://h/"}"#, "a record"),
        (#"{"type":"stop","id":7}"#, "a record"), (#"{"type":null,"id":7}"#, "a record"),
        (#"{"type":"cancel"}"#, "needs"), (#"{"type":"cancel","id":null}"#, "needs"),
        (#"{"type":"cancel","id":[7]}"#, "needs"),
        (#"{"type":"cancel","id":7,"url":"gopher://h/"}"#, "no \"url\""),
    ])
    func whatIsNoRequestIsAnsweredWithoutAnId(_ line: String, _ word: String) throws {
        let records = try run([line])
        let record = try #require(records.terminal.first)
        #expect(records.terminal.count == 1 && record["error"]?["code"]?.string == "usage")
        #expect(record["error"]?["message"]?.string?.contains(word) ?? false)
        #expect(record["n"]?.int == 0 && record["tag"] == nil)
        if case .null? = record["id"] {} else { Issue.record("an id: \(line)") }
        #expect(Schema.shared.problems(record).isEmpty)
    }

    @Test func aLineHasTypeAndTokenOfAnUpload() throws {
        let server = try LoopbackServer(tls: .make()) { peer in
            let line = peer.readLine() ?? []
            _ = peer.read(2)
            peer.write(Array("20 text/plain\r\n".utf8) + line)
        }
        let file = smallweb.home.file("token")
        try Data("s3cret\n".utf8).write(to: URL(fileURLWithPath: file))
        let url = "titan://127.0.0.1:\(server.port)/a.gmi"
        let common = #"{"url":"\#(url)","put":"hi","mime":"text/x-own","token_file":"#
        let records = try run(
            [common + "\"\(file)\"}", common + "\"nosuch\"}"], ["-k", "-j", "1"])
        #expect(
            records.terminal.first?["body"]?["text"]?.string?.contains(
                ";mime=text/x-own;token=s3cret") ?? false)
        #expect(records.terminal.last?["outcome"]?.string == "read")
        #expect(records.terminal.count == 2)
    }

    @Test func aBadProxyIsTheEndOfItsRequestAlone() throws {
        let server = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write("text")
        }
        let refusing = try RefusingPort()
        let common = #"{"url":"gopher://127.0.0.1:\#(server.port)/9/a","proxy":"#
        let records = try run(
            [
                #""socks5h://127.0.0.1:\#(refusing.port)""#, #""nosuch://h""#, "7", #""""#,
            ].map { common + $0 + "}" }, ["-j", "1", "-x", "socks5h://127.0.0.1:1"])
        #expect(
            records.terminal.map { $0["outcome"]?.string ?? "" } == [
                "connect", "usage", "usage", "ok",
            ])
    }

    @Test func whatASchemeDoesNotKnowIsRefused() throws {
        let records = try run([
            #"{"url":"gopher://127.0.0.1:1/","mime":"text/plain"}"#,
            #"{"url":"gopher://127.0.0.1:1/","token_file":"/dev/null"}"#,
            #"{"url":"titan://127.0.0.1:1/","put":"a","mime":"no type"}"#,
        ])
        #expect(records.terminal.count == 3)
        #expect(records.terminal.allSatisfy { $0["outcome"]?.string == "usage" })
    }
}
