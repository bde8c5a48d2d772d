// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

/// A process that is stopped for longer than its time limits, and then goes on.
@Suite(.timeLimit(.minutes(5)))
struct SuspensionTests {
    /// What the server leaves to be sent when the client is stopped.
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

    /// - Parameter isLate: Whether the server sends the rest only after the process goes on.
    @Test(
        arguments: Stage.allCases,
        [["--read-timeout", "3", "--connect-timeout", "3"], ["-m", "3"]])
    func aTransferOutlivesAStop(_ stage: Stage, _ limits: [String]) throws {
        for isLate in [false, true] {
            let state = Monitor(State())
            let (before, after) = stage.reply
            let wait: @Sendable () -> Void = {
                state.update { $0.isWaiting = true }
                state.wait { $0.isStopped ? () : nil }
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
            let result = try Smallweb().run(["get", "-k"] + limits + [url]) { process in
                state.wait { $0.isWaiting ? () : nil }
                while !Smallweb.waits(process, in: "epoll", "ep_poll") { usleep(10_000) }
                kill(process, SIGSTOP)
                if !isLate { state.update { $0.isStopped = true } }
                // Longer than every limit.
                Thread.sleep(forTimeInterval: 5)
                kill(process, SIGCONT)
                state.update { $0.isStopped = true }
            }
            #expect(result.status == 0, "\(stage), late: \(isLate): \(result.errors)")
            #expect(result.text == "first\r\nsecond\r\n")
        }
    }
}
