// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

/// The message names exactly the one of three time limits that ended a fetch. A busy machine may
/// reach a limit before the fetch is where it should end: then a longer one is tried.
@Suite struct TimeLimitTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let scheme: String
        /// Said at once, and then something every few milliseconds, or nothing at all.
        var opening = ""
        var keepsSending = false
        var isTLS = false
        let option: String
        let message: String
        var testDescription: String { "\(scheme) \(option) \(opening.prefix(4)) \(keepsSending)" }
    }

    private static let total = "the fetch took longer than"
    private static let silence = "the server was silent for too long"
    private static let web = "HTTP/1.1 200 OK\r\n\r\n"

    @Test(arguments: [
        Case(scheme: "gopher", keepsSending: true, option: "--max-time", message: total),
        Case(scheme: "gopher", option: "--max-time", message: total),
        Case(scheme: "gopher", opening: "hello", option: "--read-timeout", message: silence),
        Case(
            scheme: "gemini", opening: "20 text/plain\r\n", keepsSending: true, isTLS: true,
            option: "--max-time", message: total),
        Case(scheme: "gemini", isTLS: true, option: "--read-timeout", message: silence),
        // The handshake is not answered.
        Case(scheme: "gemini", option: "--max-time", message: total),
        Case(scheme: "gemini", option: "--connect-timeout", message: "the TLS handshake with"),
        Case(
            scheme: "http", opening: web, keepsSending: true, option: "--max-time", message: total),
        Case(scheme: "http", opening: web, option: "--max-time", message: total),
        Case(scheme: "http", option: "--max-time", message: total),
        Case(scheme: "http", opening: web, option: "--read-timeout", message: silence),
        Case(scheme: "http", option: "--read-timeout", message: silence),
        Case(scheme: "https", option: "--max-time", message: total),
        Case(scheme: "https", option: "--connect-timeout", message: ""),
    ])
    func theLimitThatEndedTheFetchIsNamed(_ given: Case) throws {
        let server = try LoopbackServer(tls: given.isTLS ? .make() : nil) { peer in
            // A client of TLS that is not answered sends no line.
            if given.isTLS || !given.scheme.hasSuffix("s") && given.scheme != "gemini" {
                _ = peer.readLine()
            }
            peer.write(given.opening)
            guard given.keepsSending else { return peer.hang() }
            peer.writeSlowly([UInt8](repeating: 0x61, count: 10_000), pauseMilliseconds: 5)
        }
        let url = "\(given.scheme)://127.0.0.1:\(server.port)/0/x"
        let hasBytes = given.keepsSending || !given.opening.isEmpty
        for seconds in ["0.4", "2", "10", "50"] {
            let (records, result) = try Smallweb().records([given.option, seconds, url])
            let error = records.all.first?["error"]
            let said = error?["message"]?.string ?? ""
            let actual = (error?["actual"]?.string ?? "").split(separator: " ")
            let isWhere = (actual.dropFirst(2).first != "0") == hasBytes
            if !(isWhere && said.hasPrefix(given.message)) && seconds != "50" { continue }
            #expect(result.status == 28)
            #expect(said.hasPrefix(given.message), "\(said)")
            #expect(given.message != Self.total || said == "\(Self.total) \(seconds) s", "\(said)")
            let hint = error?["hint"]?.string ?? ""
            #expect(hint.hasSuffix("allow more time with \(given.option)"), "\(hint)")
            #expect(error?["expected"]?.string == "\(given.option) \(seconds)")
            try #require(actual.count == 4 && actual[1] == "s," && actual[3] == "bytes")
            let took = try #require(Double(actual[0]))
            #expect(try took >= #require(Double(seconds)) - 0.01, "\(actual)")
            #expect((actual[2] != "0") == hasBytes, "\(actual)")
            return
        }
    }

    @Test func connectingThatTakesTooLongIsNamedToo() throws {
        let silent = try SilentPort()
        for (option, time, message) in [
            ("--max-time", "0.4", Self.total),
            ("--connect-timeout", "400ms", "connecting to 127.0.0.1:"),
        ] {
            let url = "gopher://127.0.0.1:\(silent.port)/"
            let error = try Smallweb().records([option, time, url]).records.all.first?["error"]
            #expect(error?["message"]?.string?.hasPrefix(message) == true, "\(message)")
            #expect(error?["phase"]?.string == "connect")
            #expect(error?["hint"]?.string == "allow more time with \(option)")
            #expect(error?["expected"]?.string == "\(option) 0.4")
        }
    }

    /// Every option that takes a time reads it in the same way.
    @Test(arguments: [
        "max-time", "connect-timeout", "read-timeout", "per-host-delay", "retry-delay",
        "retry-max-time",
    ])
    func timesHaveUnits(option: String) throws {
        for time in ["0", "3", "1.5", "1e2", "500ms", "2s", "1m", "0.5h", "1d", "1w"] {
            // Nothing is sent, so that no limit is met.
            let words = ["explain", "--\(option)=\(time)", "gopher://127.0.0.1/"]
            let isOfRuns = option.contains("retry") || option == "per-host-delay"
            let result = try Smallweb().run(
                isOfRuns ? ["get", words[1], "gopher://127.0.0.1:1/"] : words)
            #expect(result.status == (isOfRuns ? 7 : 0), "\(result.errors)")
        }
        for time in ["soon", "", "ms", "-1s", "2 s", "1m30s", "nan", "2S", "infs", "1e10w"] {
            let result = try Smallweb().run(["get", "--\(option)=\(time)", "gopher://127.0.0.1/"])
            #expect(
                result.errors == "smallweb: --\(option) wants a time such as 10, 500ms or 2m, "
                    + "not \"\(time)\"\n")
            #expect(result.status == 2)
        }
    }
}
