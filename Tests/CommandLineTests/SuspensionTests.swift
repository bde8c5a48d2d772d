// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

/// A process that is stopped for longer than its time limits, and then goes on.
@Suite(.timeLimit(.minutes(30)))
struct SuspensionTests {
    /// The part of the reply still to be sent when the client is stopped.
    enum Stage: CaseIterable, Sendable {
        case body, handshake, httpHeader, httpBody, httpsHandshake

        var isTLS: Bool { self == .handshake || self == .httpsHandshake }
        var scheme: String {
            switch self {
            case .body: "gopher"
            case .handshake: "gemini"
            case .httpHeader, .httpBody: "http"
            case .httpsHandshake: "https"
            }
        }
        var reply: (before: String, after: String) {
            switch self {
            case .body: ("first\r\n", "second\r\n.\r\n")
            case .handshake: ("", "20 text/plain\r\nfirst\r\nsecond\r\n")
            case .httpHeader, .httpsHandshake:
                ("", "HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\nfirst\r\nsecond\r\n")
            case .httpBody:
                ("HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\nfirst\r\n", "second\r\n")
            }
        }
    }

    private struct State {
        var isWaiting = false
        var isStopped = false
    }

    private struct Case: CustomStringConvertible {
        let stage: Stage
        let limits: [String]
        /// True if the server sends the rest only after the process goes on.
        let isLate: Bool

        var description: String { "\(stage) \(limits.joined(separator: " ")), late: \(isLate)" }
    }

    /// Enough for all of them to start at once on a busy machine.
    private static let seconds = "12"

    private static let cases = Stage.allCases.flatMap { stage in
        [["--read-timeout", seconds, "--connect-timeout", seconds], ["-m", seconds]].flatMap {
            limits in
            [false, true].map { Case(stage: stage, limits: limits, isLate: $0) }
        }
    }

    /// All at once, on threads of their own: each waits for long, and must not hold up other tests.
    @Test func aTransferOutlivesAStop() async {
        let failures = Monitor([String]())
        let group = DispatchGroup()
        for one in Self.cases {
            group.enter()
            Thread.detachNewThread {
                do {
                    let result = try Self.run(one)
                    if result.status != 0 || result.text != "first\r\nsecond\r\n" {
                        failures.update { $0.append("\(one): \(result.status) \(result.errors)") }
                    }
                } catch {
                    failures.update { $0.append("\(one): \(error)") }
                }
                group.leave()
            }
        }
        await withCheckedContinuation { ended in
            group.notify(queue: .global()) { ended.resume() }
        }
        #expect(failures.update { $0 } == [])
    }

    private static func run(_ one: Case) throws -> Smallweb.Result {
        let (stage, state) = (one.stage, Monitor(State()))
        let (before, after) = stage.reply
        let wait: @Sendable () -> Void = {
            state.update { $0.isWaiting = true }
            try? state.wait(for: "the process is stopped") { $0.isStopped ? () : nil }
        }
        let server = try LoopbackServer(
            tls: stage.isTLS ? .make() : nil, beforeHandshake: stage.isTLS ? wait : nil
        ) { peer in
            while let line = peer.readLine(), line != Array("\r\n".utf8) {
                if !stage.scheme.hasPrefix("http") { break }
            }
            peer.write(before)
            if !stage.isTLS { wait() }
            peer.write(after)
        }
        let url = "\(stage.scheme)://127.0.0.1:\(server.port)/0"
        return try Smallweb().run(["get", "-k"] + one.limits + [url]) { process in
            try state.wait(for: "the server waits") { $0.isWaiting ? () : nil }
            try eventually("it waits for the network") {
                Smallweb.waits(process, in: "poll")
            }
            kill(process, SIGSTOP)
            if !one.isLate { state.update { $0.isStopped = true } }
            // Longer than every limit.
            Thread.sleep(forTimeInterval: 13)
            kill(process, SIGCONT)
            state.update { $0.isStopped = true }
        }
    }
}
